"""Threads or processes? Threads, where machine code runs all, and nothing is a user's own."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any, final

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.plugins import loaded_files
from ukctrl.robot import Robot
from ukctrl.simulation.loop.simulation import Simulation
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.scenario import PARTS, table_of
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.task import Care, Lost, Progress, Watch

LONGEST_SECONDS = 60.0
"""Scenarios that need longer to begin do not suit [s]."""


def suits_threads(
    scenarios: Sequence[Scenario], crew: Crew, progress: Progress | None = None
) -> bool:
    """Return whether threads can compute scenarios.

    What machine code runs does not hold the interpreter, and ends where it is asked to. Python of
    a user's own may do neither, and may take its process along.

    Args:
        scenarios: Those that stand for all.
        crew: Whoever will compute them.
        progress: Called now and then; raises where the user wants to stop.

    Raises:
        KeyboardInterrupt: The user has stopped it.
    """
    if any(_is_own(table_of(scenario, objects=True)) for scenario in scenarios):
        return False
    found: list[bool | Lost] = []
    task, care = _AreCompiled(tuple(scenarios)), Care(compiled=True, timeout=LONGEST_SECONDS)
    try:
        going = crew.gather([task], lambda _, answer: found.append(answer), progress, care=care)
    except UkctrlError:
        return False  # whoever runs it says why
    if not going:
        raise KeyboardInterrupt
    return found == [True]


def _is_own(part: object) -> bool:
    """Return whether a part of a scenario's table is Python of a user's own."""
    if isinstance(part, Mapping):
        return any(map(_is_own, part.values()))
    if isinstance(part, list | tuple):
        return any(map(_is_own, part))
    return isinstance(part, PARTS) or (isinstance(part, Robot) and bool(loaded_files()))


@final
@dc.dataclass(frozen=True)
class _AreCompiled:
    """Whether machine code runs scenarios from sample to sample: a task for `Crew.gather`."""

    scenarios: tuple[Scenario, ...]

    def __call__(self, watch: Watch) -> bool:
        compiled: list[dict[str, Any]] = [Simulation(one).compiled() for one in self.scenarios]
        return all(one["compiled"] for one in compiled)
