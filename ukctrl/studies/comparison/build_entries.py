"""The entries of a comparison: those that suit, each on the scenario, and what they drop of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ukctrl.control.controller import Controller
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.comparison.entry import SCENARIO_CONTROLLER, Entry, missing_settings

DEFAULT_CARDS = (
    "servo-baumgarte", "servo-pid", "computed-torque", "operational-space", "pd-gravity",
    "io-linearisation", "elastic-tracking", "feedforward-flat",
)  # fmt: skip
"""One card of each way to follow a task, in the order in which they are tried."""
MAX_DEFAULT_CARDS = 3
"""So many of them are compared with the scenario's own."""


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
        except (UkctrlError, ArithmeticError):
            continue
        if variant.controller != scenario.controller:
            names.append(card)
    return names


def entry_scenarios(
    scenario: Scenario,
    controllers: Sequence[str | Controller | Entry],
    *,
    beside: AnyPath | None = None,
    trust: bool = False,
) -> dict[str, Scenario]:
    """Return the scenario with each controller in it, by name.

    Raises:
        InputError: There are none, one does not fit, or two share a name.
    """
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
