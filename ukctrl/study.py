"""Tables of runs: the same scenario under several controllers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ukctrl.comparison import Comparison
from ukctrl.control import Controller
from ukctrl.errors import InputError
from ukctrl.loop import Progress
from ukctrl.result import Result
from ukctrl.scenario import Scenario
from ukctrl.simulation import simulate


def compare(
    scenario: Scenario,
    controllers: Sequence[str | Controller],
    *,
    beside: Path | None = None,
    trust: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run several controllers on the same plant, start, timing and seed.

    Args:
        scenario: What all of them run; its own controller does not take part.
        controllers: Names of cards, or controllers.
        beside: File that the names are relative to; absent: the catalogue and the working
            folder.
        trust: Whether Python code that a card names may run.
        progress: Called with the time reached and the duration [s], run by run.

    Raises:
        InputError: There is nothing to compare, or two controllers share a name.
    """
    if not controllers:
        raise InputError("compare needs at least one controller; got none.")
    results: dict[str, Result] = {}
    for controller in controllers:
        value = {"use": controller} if isinstance(controller, str) else controller
        variant = scenario.replace({"controller": value}, beside=beside, trust=trust)
        name = variant.controller.name or type(variant.controller).__name__
        if name in results:
            raise InputError(f"two controllers are named '{name}'; give each its own name.")
        results[name] = simulate(variant, progress=progress)
        if results[name].status == "interrupted":
            break  # the user wants to stop, and to see what there is
    return Comparison.of(results)
