"""From a file of one's own to what conforms in it."""

from __future__ import annotations

import dataclasses as dc
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.analysis.conformance.allocation_clauses import ALLOCATION
from ukctrl.analysis.conformance.clauses import Conformance
from ukctrl.analysis.conformance.constraint_clauses import CONSTRAINT, Placed
from ukctrl.analysis.conformance.controller_clauses import CONTROLLER, Trial
from ukctrl.analysis.conformance.disturbance_clauses import DISTURBANCE
from ukctrl.analysis.conformance.effect_clauses import EFFECT, Exposed
from ukctrl.analysis.conformance.feedback_clauses import FEEDBACK
from ukctrl.analysis.conformance.observer_clauses import OBSERVER, Watched
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.controller import Controller
from ukctrl.control.disturbance.observer import DisturbanceObserver
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.plugins import classes_in, load_module
from ukctrl.core.files.toml import read_spec
from ukctrl.mechanics.constraints import Constraint
from ukctrl.simulation.effects import Effect
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.observers import Observer
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.cards import load_code, resolve_card

EXAMPLE = 1.0
"""What a setting gets that has no default and is not given."""
KINDS = (Controller, Feedback, Allocation, DisturbanceObserver, Constraint, Effect, Observer)
"""What a file may define."""


def examine_file(
    path: Path, settings: Mapping[str, object], on: Scenario, *, trust: bool
) -> tuple[Conformance, ...]:
    """Try every part that a Python file defines, or the controller of a card.

    Args:
        path: A file ending in ``.py``, or a card ending in ``.toml``.
        settings: Values of settings by name, ``rate`` or ``MyLaw.rate``; others without a default
            are 1.
        on: The scenario on which controllers are tried; constraints are on its robot.
        trust: Whether the Python code may run.

    Raises:
        InputError: The file cannot be read or run, or has nothing to try.
    """
    if path.suffix == ".toml":
        label = path.name
        table = resolve_card({"use": str(path), **settings}, path, label)
        card = load_code(table, path, label, trust)
        chosen = on.replace({"controller": card}, beside=path, trust=trust)
        return (_examined(chosen.controller, on, path.stem),)
    if not trust:
        raise InputError(
            f"'{path.name}' is Python code, which is not run unasked; read it, then say --trust."
        )
    parts = _parts(path, settings)
    return tuple(_examined(part, on, name) for name, part in parts.items())


def _parts(path: Path, settings: Mapping[str, object]) -> dict[str, Any]:
    classes = {
        name: made
        for name, made in classes_in(load_module(path)).items()
        if issubclass(made, KINDS) and not inspect.isabstract(made)
    }
    if not classes:
        kinds = ", ".join(kind.__name__ for kind in KINDS)
        raise InputError(f"'{path.name}' must define a class derived from one of {kinds}.")
    _refuse_unknown(path, classes, settings)
    return {name: _example(made, name, settings, path) for name, made in classes.items()}


def _refuse_unknown(
    path: Path, classes: Mapping[str, type], settings: Mapping[str, object]
) -> None:
    known = {f.name for made in classes.values() for f in dc.fields(made)}
    known |= {f"{name}.{f.name}" for name, made in classes.items() for f in dc.fields(made)}
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting in '{path.name}'", name, known)


def _example(made: type, name: str, settings: Mapping[str, object], path: Path) -> object:
    """Return a part with the settings that are given, and 1 where one must be."""
    values: dict[str, object] = {}
    for field in dc.fields(made):
        given = settings.get(f"{name}.{field.name}", settings.get(field.name))
        if given is not None:
            values[field.name] = given
        elif field.default is dc.MISSING and field.default_factory is dc.MISSING:
            values[field.name] = EXAMPLE
    try:
        return read_spec(made, values, path, label=path.name, key=name)
    except InputError as error:
        raise InputError(
            f"{error} Give settings with --set, as in --set {name}.NAME=VALUE."
        ) from error


def _examined(part: Any, on: Scenario, name: str) -> Conformance:
    match part:
        case Controller():
            return CONTROLLER.examine(Trial(part, on), name)
        case Feedback():
            return FEEDBACK.examine(part, name)
        case Allocation():
            return ALLOCATION.examine(part, name)
        case DisturbanceObserver():
            return DISTURBANCE.examine(part, name)
        case Effect():
            return EFFECT.examine(Exposed(part, on), name)
        case Observer():
            return OBSERVER.examine(Watched(part, on), name)
        case _:  # a constraint
            return CONSTRAINT.examine(Placed(part, Loop(on).robot), name)
