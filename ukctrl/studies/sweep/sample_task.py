"""One sample of a study, as a task."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
import time
from collections.abc import Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, NamedTuple, final, overload

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.plugins import plugin_fault
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask
from ukctrl.studies.batch.task import SharedTaskInput, TaskCallback
from ukctrl.studies.sweep.point_scenarios import PointScenarios
from ukctrl.studies.sweep.sample_record import FAILED_STATUS, TIMED_OUT, SampleRecord
from ukctrl.studies.sweep.sampling_plan import SamplingPlan
from ukctrl.studies.sweep.study_table import DETERMINISTIC_METRICS


@final
@dc.dataclass(frozen=True, kw_only=True)
class SweepInput(SharedTaskInput):
    """What all samples share."""

    scenario: Scenario
    plan: SamplingPlan
    base_file: Path | None = None
    """File that names among the values are relative to."""
    trust: bool = False
    """Whether Python code that the values name may run."""
    timeout: float | None = None
    """How long a sample may take [s]."""
    save_all: bool = False
    """Whether the results of all samples are wanted whole."""
    save_failed: bool = False
    """Whether those of samples that did not complete are."""

    @functools.cached_property
    def robot(self) -> Robot | None:
        """The robot of all samples, loaded once; None where it varies, or cannot be loaded."""
        if any(factor.path.split(".")[0] == "robot" for factor in self.plan.factors):
            return None
        try:
            return true_robot(self.scenario.robot)
        except UkctrlError:
            return None  # each sample says why

    def scenario_of(self, sample: int) -> Scenario:
        """Return the scenario of a sample.

        Raises:
            InputError: Its values do not go together.
        """
        return self.point_scenarios.scenario(self.plan.scenario_changes(sample))

    @functools.cached_property
    def point_scenarios(self) -> PointScenarios:
        """The scenarios of the study, by the values of a sample."""
        return PointScenarios(self.scenario, self.base_file, self.trust)


class SampleOutput(NamedTuple):
    """What came of a sample."""

    row: SampleRecord
    result: Result | None = None
    """All of it, where that is wanted."""


@final
class SampleTasks(Sequence["SampleTask"]):
    """Some samples of a study, each made when it is asked for."""

    def __init__(self, base: SweepInput, numbers: Sequence[int]) -> None:
        self._base, self._numbers = base, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, k: int) -> SampleTask: ...
    @overload
    def __getitem__(self, k: slice) -> SampleTasks: ...
    def __getitem__(self, k: int | slice) -> SampleTask | SampleTasks:
        if isinstance(k, slice):
            return SampleTasks(self._base, self._numbers[k])
        return SampleTask(self._base, self._numbers[k])


@final
@dc.dataclass(frozen=True)
class SampleTask:
    """A sample to run: a task for [`TaskRunner.run`][ukctrl.studies.batch.Crew.gather]."""

    base: SweepInput
    number: int

    def __str__(self) -> str:
        return f"sample {self.number}"

    def __call__(self, watch: TaskCallback) -> SampleOutput | None:
        """Run it; None where the user has stopped it.

        Raises:
            MachineFailure: There was no memory for it, or no disk; so do MemoryError, OSError.
        """
        base = self.base
        try:
            scenario = base.scenario_of(self.number)
        except Exception as error:  # a fault in a user's code must not cost the other samples
            if is_machine_failure(error):
                raise
            fault = plugin_fault(error) or f"{type(error).__name__}: {error}"
            is_ours = isinstance(error, UkctrlError)
            return SampleOutput(self.failure_row(str(error) if is_ours else fault))
        since: float | None = None
        late = interrupt = False

        def watched(fraction: float) -> None:
            nonlocal since, late, interrupt
            timestamp = time.monotonic()
            since = timestamp if since is None else since  # before it: loading, compiling
            if base.timeout is not None and timestamp - since > base.timeout:
                late = True
                raise KeyboardInterrupt
            try:
                watch(fraction)
            except KeyboardInterrupt:
                interrupt = True
                raise

        keeping = base.save_all or base.save_failed
        less: dict[str, Any] = {"with_curves": False, "measure_law_time": False}
        less |= {"with_result": keeping, "robot": base.robot}
        run = SimulationTask(scenario=scenario, controller="", **less)
        try:
            outcome = run(watched)
        except KeyboardInterrupt:
            if not late:
                raise
            return SampleOutput(self.timeout_row())
        if late:
            return SampleOutput(self.timeout_row())
        if outcome.stopped:
            if interrupt or parent_process() is None:
                return None
            # Ctrl-C does not reach a worker: the user's code has raised it.
            return SampleOutput(self.failure_row("it raised KeyboardInterrupt."))
        keep_result = base.save_all or (base.save_failed and not outcome.completed)
        return SampleOutput(self._row(outcome), outcome.result if keep_result else None)

    def _row(self, outcome: RunSummary) -> SampleRecord:
        if not outcome.metrics:  # there was no run
            return self.failure_row(outcome.message)
        names = (n for n in outcome.metrics if n.partition(".")[0] in DETERMINISTIC_METRICS)
        metrics = {name: outcome.metrics[name] for name in names}
        record = self._new_row(outcome.status, outcome.message, outcome.end_time, metrics)
        return record._replace(verdict=outcome.validity.verdict)

    def failure_row(self, message: str) -> SampleRecord:
        """Return the row of a sample that could not be run."""
        return self._new_row(FAILED_STATUS, message, math.nan, {})

    def timeout_row(self) -> SampleRecord:
        """Return the row of a sample that took too long."""
        message = f"it took longer than {self.base.timeout:g} s."
        return self._new_row(TIMED_OUT, message, math.nan, {})

    def _new_row(
        self, status: str, message: str, reached: float, metrics: dict[str, float]
    ) -> SampleRecord:
        plan = self.base.plan
        return SampleRecord(
            sample=self.number,
            values=plan.values(self.number),
            seed=plan.seed_of(self.number),
            status=status,
            message=" ".join(message.split()),
            reached=reached,
            metrics=metrics,
        )
