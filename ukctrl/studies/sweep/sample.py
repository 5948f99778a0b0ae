"""One sample of a study, as a task."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
import time
from collections.abc import Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import NamedTuple, final, overload

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.plugins import blame
from ukctrl.core.own_processes import machine_failed
from ukctrl.robot import Robot
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_outcome import Outcome, Run
from ukctrl.studies.batch.task import Shared, Watch
from ukctrl.studies.sweep.journal import FAILED, TIMED_OUT, Row
from ukctrl.studies.sweep.plan import Plan
from ukctrl.studies.sweep.point import Points
from ukctrl.studies.sweep.study_table import UNTIMED


@final
@dc.dataclass(frozen=True, kw_only=True)
class Base(Shared):
    """What all samples share."""

    scenario: Scenario
    plan: Plan
    beside: Path | None = None
    """File that names among the values are relative to."""
    trust: bool = False
    """Whether Python code that the values name may run."""
    timeout: float | None = None
    """How long a sample may take [s]."""
    keep_all: bool = False
    """Whether the results of all samples are wanted whole."""
    keep_failed: bool = False
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
        return self.points.scenario(self.plan.changes(sample))

    @functools.cached_property
    def points(self) -> Points:
        """The scenarios of the study, by the values of a sample."""
        return Points(self.scenario, self.beside, self.trust)


class Finished(NamedTuple):
    """What came of a sample."""

    row: Row
    result: Result | None = None
    """All of it, where that is wanted."""


@final
class Samples(Sequence["Sample"]):
    """Some samples of a study, each made when it is asked for."""

    def __init__(self, base: Base, numbers: Sequence[int] | NDArray[np.intp]) -> None:
        self._base, self._numbers = base, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, k: int) -> Sample: ...
    @overload
    def __getitem__(self, k: slice) -> Samples: ...
    def __getitem__(self, k: int | slice) -> Sample | Samples:
        if isinstance(k, slice):
            return Samples(self._base, self._numbers[k])
        return Sample(self._base, int(self._numbers[k]))


@final
@dc.dataclass(frozen=True)
class Sample:
    """A sample to run: a task for [`Crew.gather`][ukctrl.studies.batch.Crew.gather]."""

    base: Base
    number: int

    def __str__(self) -> str:
        return f"sample {self.number}"

    def __call__(self, watch: Watch) -> Finished | None:
        """Run it; None where the user has stopped it.

        Raises:
            MachineFailure: There was no memory for it, or no disk; so do MemoryError, OSError.
        """
        base = self.base
        try:
            scenario = base.scenario_of(self.number)
        except Exception as error:  # a fault in a user's code must not cost the other samples
            if machine_failed(error):
                raise
            fault = blame(error) or f"{type(error).__name__}: {error}"
            return Finished(self.failed(str(error) if isinstance(error, UkctrlError) else fault))
        since: float | None = None
        late = asked = False

        def watched(fraction: float) -> None:
            nonlocal since, late, asked
            now = time.monotonic()
            since = now if since is None else since  # what comes before is loading and compiling
            if base.timeout is not None and now - since > base.timeout:
                late = True
                raise KeyboardInterrupt
            try:
                watch(fraction)
            except KeyboardInterrupt:
                asked = True
                raise

        keeping = base.keep_all or base.keep_failed
        run = Run(
            scenario=scenario, entry="", curves=False, keep=keeping, timed=False, robot=base.robot
        )
        try:
            outcome = run(watched)
        except KeyboardInterrupt:
            if not late:
                raise
            return Finished(self.overdue())
        if late:
            return Finished(self.overdue())
        if outcome.stopped:
            if asked or parent_process() is None:
                return None
            # Ctrl-C does not reach a worker: the user's code has raised it.
            return Finished(self.failed("it raised KeyboardInterrupt."))
        wanted = base.keep_all or (base.keep_failed and not outcome.completed)
        return Finished(self._row(outcome), outcome.result if wanted else None)

    def _row(self, outcome: Outcome) -> Row:
        if not outcome.metrics:  # there was no run
            return self.failed(outcome.message)
        every = outcome.metrics.items()
        metrics = {name: value for name, value in every if name.partition(".")[0] in UNTIMED}
        made = self._made(outcome.status, outcome.message, outcome.reached, metrics)
        return made._replace(verdict=outcome.belief.verdict)

    def failed(self, message: str) -> Row:
        """Return the row of a sample that could not be run."""
        return self._made(FAILED, message, math.nan, {})

    def overdue(self) -> Row:
        """Return the row of a sample that took too long."""
        return self._made(TIMED_OUT, f"it took longer than {self.base.timeout:g} s.", math.nan, {})

    def _made(self, status: str, message: str, reached: float, metrics: dict[str, float]) -> Row:
        plan = self.base.plan
        return Row(
            sample=self.number,
            values=plan.values(self.number),
            seed=plan.seed_of(self.number),
            status=status,
            message=" ".join(message.split()),
            reached=reached,
            metrics=metrics,
        )
