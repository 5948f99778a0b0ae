"""The entries of a comparison: those that suit, each on the scenario, and what they drop of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ukctrl.control.controller import Controller
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.comparison.entry import AS_WRITTEN, Entry, not_taken_over

CARDS = (
    "servo-baumgarte", "servo-pid", "computed-torque", "operational-space", "pd-gravity",
    "io-linearisation", "elastic-tracking", "feedforward-flat",
)  # fmt: skip
"""One card of each way to follow a task, in the order in which they are tried."""
MOST_CARDS = 3
"""So many of them are compared with the scenario's own."""


def suited(scenario: Scenario, *, beside: AnyPath | None = None, trust: bool = False) -> list[str]:
    """Return ``own`` and the cards that can take a first step of a scenario, another law each."""
    names = [AS_WRITTEN]
    for card in CARDS if scenario.servo else ():
        if len(names) > MOST_CARDS:
            break
        try:
            variant = Entry(controller=card).apply(scenario, beside=beside, trust=trust)
            loop = Loop(variant)
            loop.truth.move(loop.t0, loop.state.q, loop.state.v)
            loop.command(loop.t0, *loop.state)
        except (UkctrlError, ArithmeticError):
            continue
        if variant.controller != scenario.controller:
            names.append(card)
    return names


def variants_of(
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
    for given in controllers:
        entry = Entry.parse(given) if isinstance(given, str) else given
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


def dropped_settings(
    scenario: Scenario, variants: Mapping[str, Scenario]
) -> dict[str, tuple[str, ...]]:
    """Return which settings of the scenario's own controller each entry does not take over."""
    found = {
        name: tuple(not_taken_over(scenario.controller, variant.controller))
        for name, variant in variants.items()
    }
    return {name: settings for name, settings in found.items() if settings}
