"""Threads or processes? Threads, where machine code runs all, and nothing is a user's own."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, final

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.plugins import loaded_files
from ukctrl.robot import Robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.scenario import PARTS, table_of
from ukctrl.simulation.step.simulation_run import SimulationRun
from ukctrl.studies.batch.task import ProgressCallback, RetryPolicy, TaskCallback, TaskFailure

if TYPE_CHECKING:
    from ukctrl.studies.batch.task_runner import TaskRunner

MAX_START_SECONDS = 60.0
"""Scenarios that need longer to begin do not suit [s]."""


def are_thread_safe(
    scenarios: Sequence[Scenario], crew: TaskRunner, progress: ProgressCallback | None = None
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
    if any(_is_user_code(table_of(scenario, objects=True)) for scenario in scenarios):
        return False
    answers: list[bool | TaskFailure] = []
    task = _CompiledCheck(tuple(scenarios))
    care = RetryPolicy(thread_safe=True, timeout=MAX_START_SECONDS)
    try:
        going = crew.run([task], lambda _, answer: answers.append(answer), progress, care=care)
    except UkctrlError:
        return False  # whoever runs it says why
    if not going:
        raise KeyboardInterrupt
    return answers == [True]


def _is_user_code(node: object) -> bool:
    """Return whether a part of a scenario's table is Python of a user's own."""
    if isinstance(node, Mapping):
        return any(map(_is_user_code, node.values()))
    if isinstance(node, list | tuple):
        return any(map(_is_user_code, node))
    return isinstance(node, PARTS) or (isinstance(node, Robot) and bool(loaded_files()))


@final
@dc.dataclass(frozen=True)
class _CompiledCheck:
    """Whether machine code runs scenarios from sample to sample: a task for `TaskRunner.run`."""

    scenarios: tuple[Scenario, ...]

    def __call__(self, watch: TaskCallback) -> bool:
        loops = map(Loop, self.scenarios)
        compiled = [SimulationRun(loop, Recorder(loop)).compiled() for loop in loops]
        return all(one["compiled"] for one in compiled)
