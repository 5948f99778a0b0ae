"""From a file of one's own to what conforms in it."""

from __future__ import annotations

import dataclasses as dc
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.analysis.conformance.allocation_clauses import ALLOCATION
from ukctrl.analysis.conformance.clauses import Conformance
from ukctrl.analysis.conformance.constraint_clauses import CONSTRAINT, ConstraintCase
from ukctrl.analysis.conformance.controller_clauses import CONTROLLER, ControllerCase
from ukctrl.analysis.conformance.disturbance_clauses import DISTURBANCE
from ukctrl.analysis.conformance.effect_clauses import EFFECT, EffectCase
from ukctrl.analysis.conformance.feedback_clauses import FEEDBACK
from ukctrl.analysis.conformance.observer_clauses import OBSERVER, ObserverCase
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.controller import Controller
from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.plugins import classes_in, load_module
from ukctrl.core.files.toml import read_spec
from ukctrl.mechanics.constraints import Constraint
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects import Effect
from ukctrl.simulation.observers import Observer
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.resolve_table import load_code, resolve_card

DEFAULT_SETTING = 1.0
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
        return (_examine(chosen.controller, on, path.stem),)
    if not trust:
        raise InputError(
            f"'{path.name}' is Python code, which is not run unasked; read it, then say --trust."
        )
    components = _parts(path, settings)
    return tuple(_examine(component, on, name) for name, component in components.items())


def _parts(path: Path, settings: Mapping[str, object]) -> dict[str, Any]:
    classes = {
        name: cls
        for name, cls in classes_in(load_module(path)).items()
        if issubclass(cls, KINDS) and not inspect.isabstract(cls)
    }
    if not classes:
        kinds = ", ".join(kind.__name__ for kind in KINDS)
        raise InputError(f"'{path.name}' must define a class derived from one of {kinds}.")
    _refuse_unknown(path, classes, settings)
    return {name: _build_part(cls, name, settings, path) for name, cls in classes.items()}


def _refuse_unknown(
    path: Path, classes: Mapping[str, type], settings: Mapping[str, object]
) -> None:
    setting_names = {f.name for cls in classes.values() for f in dc.fields(cls)}
    setting_names |= {f"{name}.{f.name}" for name, cls in classes.items() for f in dc.fields(cls)}
    for name in settings:
        if name not in setting_names:
            raise unknown_name(f"setting in '{path.name}'", name, setting_names)


def _build_part(cls: type, name: str, settings: Mapping[str, object], path: Path) -> object:
    """Return a part with the settings that are given, and 1 where one must be."""
    values: dict[str, object] = {}
    for field in dc.fields(cls):
        value = settings.get(f"{name}.{field.name}", settings.get(field.name))
        if value is not None:
            values[field.name] = value
        elif field.default is dc.MISSING and field.default_factory is dc.MISSING:
            values[field.name] = DEFAULT_SETTING
    try:
        return read_spec(cls, values, path, label=path.name, key=name)
    except InputError as error:
        raise InputError(
            f"{error} Give settings with --set, as in --set {name}.NAME=VALUE."
        ) from error


def _examine(component: Any, on: Scenario, name: str) -> Conformance:
    match component:
        case Controller():
            return CONTROLLER.examine(ControllerCase(component, on), name)
        case Feedback():
            return FEEDBACK.examine(component, name)
        case Allocation():
            return ALLOCATION.examine(component, name)
        case DisturbanceObserver():
            return DISTURBANCE.examine(component, name)
        case Effect():
            return EFFECT.examine(EffectCase(component, on), name)
        case Observer():
            return OBSERVER.examine(ObserverCase(component, on), name)
        case _:  # a constraint
            return CONSTRAINT.examine(ConstraintCase(component, Loop(on).robot), name)
