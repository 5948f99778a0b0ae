"""Entries of a comparison: each a card or a law, its name, and what it alone believes."""

from __future__ import annotations

import dataclasses as dc
import itertools
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ukctrl.control.controller import Controller, law_name
from ukctrl.control.function_controller import Function, as_controller
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import argument_error
from ukctrl.core.errors import InputError, UkctrlError, did_you_mean
from ukctrl.core.files import AnyPath
from ukctrl.core.files.table_paths import parse_value, split_list
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import Scenario

SCENARIO_CONTROLLER = "own"
"""The entry that is the scenario's own controller."""
DEFAULT_CARDS = (
    "servo-baumgarte", "servo-pid", "computed-torque", "operational-space", "pd-gravity",
    "io-linearisation", "elastic-tracking", "feedforward-flat",
)  # fmt: skip
"""One card of each way to follow a task, in the order in which they are tried."""
MAX_DEFAULT_CARDS = 3
"""So many of them are compared with the scenario's own."""
CONTROLLER_PARTS = ("controller", "believed")
"""Parts of a scenario that belong to a controller; the others are the same for all."""


ACCEPTED = "the name or path of a card, a controller, a function f(t, q, v), or an Entry"


@explain_argument_errors
@dc.dataclass(frozen=True, kw_only=True)
class Entry:
    """One controller of a comparison.

    As text it is a card, with changes in braces and a name before it where they are wanted:

        servo-baumgarte
        servo-baumgarte{believed.mass_scale=0.8}
        light=servo-baumgarte{believed.mass_scale=0.8, controller.feedback.alpha=40}
        own
        damped=own{controller.allocation.null_space.gain=2}

    ``own`` is the scenario's own controller, as written.
    The changes are paths and values as after `--set`. They reach into `controller` and
    `believed` alone: everything else is the same for all.
    """

    controller: str | os.PathLike[str] | Controller | Function
    """Name or path of a card, the law itself, or a function ``f(t, q, v)`` that returns the
    inputs."""
    name: str = ""
    """What it is called on the page; absent: the card's name, with the changes, or the
    law's kind."""
    changes: Mapping[str, object] = dc.field(default_factory=dict)
    """Values by their path."""

    def __post_init__(self) -> None:
        law = as_controller(self.controller, "the controller of an entry")
        if isinstance(law, os.PathLike):
            law = os.fspath(law)
        if not isinstance(law, ONE_CONTROLLER):
            raise argument_error("the controller of an entry", ACCEPTED, law)
        object.__setattr__(self, "controller", law)
        for path in self.changes:
            section = path.split(".")[0]
            if section not in CONTROLLER_PARTS or path == "controller":
                shown = self.name or (law_name(law) if isinstance(law, Controller) else str(law))
                allowed = section in CONTROLLER_PARTS
                advice = "." if allowed else did_you_mean(section, CONTROLLER_PARTS)
                raise InputError(
                    f"entry '{shown}' may change what is below controller and believed; got "
                    f"'{path}'{advice} What is the same for all is changed with --set, or in the "
                    "scenario."
                )

    @staticmethod
    def parse(text: str) -> Entry:
        """Read an entry from text.

        Raises:
            InputError: It is not written as an entry is.
        """
        head, brace, body = text.partition("{")
        name, equals, card = (piece.strip() for piece in head.rpartition("="))
        changes: dict[str, object] = {}
        if brace:
            if not body.rstrip().endswith("}"):
                raise InputError(f"entry '{text}': the brace '{{' is not closed.")
            for pair in split_list(body.rstrip()[:-1], ",", f"entry '{text}'"):
                key, sign, value = (piece.strip() for piece in pair.partition("="))
                if not (key and sign and value):
                    raise InputError(
                        f"entry '{text}': must have KEY=VALUE in its braces; got '{pair.strip()}'."
                    )
                if key in changes:
                    raise InputError(f"entry '{text}': '{key}' is given twice.")
                changes[key] = parse_value(value)
        if not card or (equals and not name):
            item = "a name before '='" if card else "the name of a card"
            raise InputError(f"entry '{text}': {item} is missing; write NAME=CARD{{KEY=VALUE}}.")
        return Entry(
            controller=card, name=name or (text.strip() if changes else ""), changes=changes
        )

    def apply(
        self, scenario: Scenario, *, beside: AnyPath | None = None, trust: bool = False
    ) -> Scenario:
        """Return the scenario with this controller in it.

        Raises:
            InputError: There is no such card, or the changes do not fit.
        """
        use = self.controller
        if use == SCENARIO_CONTROLLER:
            return scenario.replace(dict(self.changes), beside=beside, trust=trust)
        value = {"use": use} if isinstance(use, str) else use
        changed: dict[str, object] = {"controller": value, **self.changes}
        return scenario.replace(changed, beside=beside, trust=trust)

    def called(self, variant: Scenario) -> str:
        """Return what it is called, given the scenario with it."""
        is_scenarios = self.controller == SCENARIO_CONTROLLER
        return self.name or (SCENARIO_CONTROLLER if is_scenarios else law_name(variant.controller))

    def renamed(self, name: str, used_names: Container[str]) -> str:
        """Return how this entry, called ``name``, is written with one that is not taken."""
        stem = name.partition("{")[0]
        free = next(new for k in itertools.count(2) if (new := f"{stem}-{k}") not in used_names)
        if not isinstance(self.controller, str):
            return f"Entry(controller=..., name='{free}')"
        changes = ", ".join(f"{key}={_inline(value)}" for key, value in self.changes.items())
        return f"'{free}={self.controller}{f'{{{changes}}}' if changes else ''}'"


def default_controllers(
    scenario: Scenario, *, beside: AnyPath | None = None, trust: bool = False
) -> list[str]:
    """Return ``own`` and the cards that can take a first step of a scenario, another law each."""
    names = [SCENARIO_CONTROLLER]
    for card in DEFAULT_CARDS if scenario.servo else ():
        if len(names) > MAX_DEFAULT_CARDS:
            break
        try:
            variant = Entry(controller=card).apply(scenario, beside=beside, trust=trust)
            loop = Loop(variant)
            loop.plant.move(loop.t0, loop.state.q, loop.state.v)
            loop.command(loop.t0, *loop.state)
        except (UkctrlError, ArithmeticError) as error:
            if is_machine_failure(error):
                raise
            continue
        if variant.controller != scenario.controller:
            names.append(card)
    return names


AnyEntry = str | os.PathLike[str] | Controller | Function | Entry
"""What may be compared."""
ONE_CONTROLLER = str, os.PathLike, Controller, Entry, Mapping
"""Of what types one of it may be, beside a function."""


def entry_scenarios(
    scenario: Scenario,
    controllers: AnyEntry | Sequence[AnyEntry],
    *,
    beside: AnyPath | None = None,
    trust: bool = False,
) -> dict[str, Scenario]:
    """Return the scenario with each controller in it, by name.

    Raises:
        InputError: There are none, one does not fit, or two share a name.
    """
    if isinstance(controllers, ONE_CONTROLLER) or callable(controllers):
        controllers = [controllers]
    if not isinstance(controllers, Iterable):
        raise argument_error("controllers", f"a list, each {ACCEPTED}", controllers)
    if not controllers:
        raise InputError("compare needs at least one controller; got none.")
    variants: dict[str, Scenario] = {}
    for controller in controllers:
        entry = Entry.parse(controller) if isinstance(controller, str) else controller
        entry = entry if isinstance(entry, Entry) else Entry(controller=entry)
        variant = entry.apply(scenario, beside=beside, trust=trust)
        name = entry.called(variant)
        if name in variants:
            raise InputError(
                f"two controllers are named '{name}'; give each its own name, as in "
                f"{entry.renamed(name, variants)}."
            )
        variants[name] = variant
    return variants


def ignored_settings(
    scenario: Scenario, variants: Mapping[str, Scenario]
) -> dict[str, tuple[str, ...]]:
    """Return which settings of the scenario's own controller each entry does not take over."""
    gaps = {
        name: tuple(missing_settings(scenario.controller, variant.controller))
        for name, variant in variants.items()
    }
    return {name: settings for name, settings in gaps.items() if settings}


CARD_LABELS = ("name", "title", "source")
"""What a card says of itself."""


def missing_settings(base: object, variant: object, path: str = "controller") -> Iterator[str]:
    """Yield the settings of one controller that another has not, or has otherwise.

    What a law of another kind needs besides is its own affair: told are settings that both have,
    and those that may be left out and are there, such as ``allocation.null_space``.

    Args:
        base: The scenario's own controller, or a part of it.
        variant: What stands there in the other one; None where it has no such part.
        path: Where that is.
    """
    if not dc.is_dataclass(base):
        return
    alike = type(base) is type(variant)
    for field in dc.fields(base):
        value, key_path = getattr(base, field.name), f"{path}.{field.name}"
        counterpart = getattr(variant, field.name, None)
        if field.name in ("kind", *CARD_LABELS) or value is None or value == counterpart:
            continue
        usual = None if field.default is dc.MISSING else field.default
        if dc.is_dataclass(value) and (dc.is_dataclass(counterpart) or field.default is not None):
            yield from missing_settings(value, counterpart, key_path)
        elif alike or (field.default is not dc.MISSING and value != usual):
            yield f"{key_path} = {_setting_text(value)}"


def _setting_text(value: object) -> str:
    """Return a setting as a file would write it, in short."""
    if not dc.is_dataclass(value):
        return _inline(value)
    inside = [f"{field.name} = {_inline(getattr(value, field.name))}" for field in dc.fields(value)]
    return f"{{ {', '.join(inside)} }}"


def _inline(value: object) -> str:
    """Return a value as text that `parse` reads again; dots for one of several parts."""
    return json.dumps(value) if isinstance(value, bool | int | float | str) else "..."
