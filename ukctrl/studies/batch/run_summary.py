"""One run of many: what to run, and what is kept of it when its arrays are not."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.plugins import plugin_fault
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.robot import Robot
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.atomic_files import attributes_of
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.run_record import STOPPED, Status
from ukctrl.simulation.result.verdicts import RunVerdict
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate, simulate_for_metrics
from ukctrl.simulation.step.simulation_run import MACHINE_FAILED
from ukctrl.studies.batch.mismatch_level import MismatchLevel
from ukctrl.studies.batch.task import TaskCallback

_REPEATS, _TRAINING, _STUDY_SAMPLES, _DESIGN_POINTS, _HELD_OUT = range(5)


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; that of the first, number 0, is the scenario's own."""
    return seed if repeat == 0 else _derived_seed(seed, _REPEATS, repeat)


def training_seed(seed: int, number: int = 0) -> int:
    """Return the seed of one of the plants that gains are tuned on, which no repeat has."""
    return _derived_seed(seed, _TRAINING, number)


def held_out_seed(seed: int, number: int) -> int:
    """Return the seed of a plant that tuned gains are judged on, on which none were tuned."""
    return _derived_seed(seed, _HELD_OUT, number)


def sample_seed(seed: int, sample: int) -> int:
    """Return the seed of a sample of a study, given the study's."""
    return _derived_seed(seed, _STUDY_SAMPLES, sample)


def point_rng(seed: int, point: int) -> np.random.Generator:
    """Return the random numbers that a point of a study is drawn from, given the study's seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_DESIGN_POINTS, point)))


def _derived_seed(seed: int, purpose: int, number: int) -> int:
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1)[0])


CURVE_POINTS = 240
"""Instants at which the error of every run is kept, to draw bands over them."""


class ErrorCurves(NamedTuple):
    """The error norms of a run at a few instants."""

    time: Array
    """Instants, the same for all runs of one timing [s]."""
    norms: Mapping[str, Array]
    """By name: ``phi``, ``beta``, and of a servo block ``phi.tool``; NaN after an early end."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class RunSummary:
    """What is kept of one run."""

    controller: str
    """Whose run it is."""
    repeat: int = 0
    seed: int = 0
    mismatch: MismatchLevel | None = None
    """Mismatch between the true robot and the file's; None: the scenario as it is."""
    status: Status
    message: str
    end_time: float = 0.0
    """Time of the last sample since the start [s]."""
    metrics: Mapping[str, float] = dc.field(default_factory=dict)
    validity: RunVerdict = dc.field(default_factory=lambda: RunVerdict("ok", ()))
    """Whether it is to be believed."""
    is_random: bool = False
    """Whether a seed had a part in it."""
    curves: ErrorCurves | None = None
    result: Result | None = None
    """All of it, where that was asked for."""
    search: int = 0
    """Which of several searches its gains are from."""

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    @property
    def stopped(self) -> bool:
        """Whether the user has stopped it, and with it what would have followed."""
        return self.message.startswith(STOPPED)

    @staticmethod
    def of(result: Result, entry: str, *, curves: bool = True, keep: bool = True) -> RunSummary:
        """Return what to keep of a result, as the first repeat of the scenario as it is."""
        time = result.time
        return RunSummary(
            controller=entry,
            status=result.status,
            message=result.message,
            validity=result.belief,
            end_time=float(time[-1] - time[0]) if len(time) else 0.0,
            metrics=dict(result.metrics),
            is_random=bool(result.provenance.get("random")),
            curves=_error_curves(result) if curves and len(time) else None,
            result=result if keep else None,
        )


@dc.dataclass(frozen=True, kw_only=True)
class SimulationTask:
    """One run to make: a task for [`TaskRunner.run`][ukctrl.studies.batch.Crew.gather]."""

    scenario: Scenario
    controller: str
    repeat: int = 0
    mismatch: MismatchLevel | None = None
    with_curves: bool = True
    with_result: bool = False
    """Whether the whole result is kept."""
    measure_law_time: bool = True
    """Whether it is told how long the law takes."""
    robot: Robot | None = None
    """The scenario's robot, where it has been loaded before."""
    search: int = 0
    """Which of several searches its gains are from."""
    strict: bool = False
    """Whether a scenario that does not fit its robot is an error, and no run that failed."""

    def __str__(self) -> str:
        off = "" if self.mismatch is None else f" with a mismatch of {self.mismatch}"
        return f"'{self.controller}', repeat {self.repeat}{off}"

    def __call__(self, watch: TaskCallback) -> RunSummary:
        """Simulate.

        Raises:
            InputError: It is strict, and the scenario does not fit its robot.
            MachineFailure: There was no memory for it, or no disk.
        """
        run = (
            simulate
            if self.with_result
            else functools.partial(simulate_for_metrics, timed=self.measure_law_time)
        )
        try:
            result = run(
                self.scenario, progress=lambda at, duration: watch(at / duration), robot=self.robot
            )
        except Exception as error:  # a fault in a user's law must not cost the other runs
            if is_machine_failure(error):
                raise
            if not isinstance(error, UkctrlError):
                fault = f"{type(error).__name__}: {error}"
                return self.failure_summary("interrupted", plugin_fault(error) or fault)
            if self.strict:
                raise InputError(f"{self.controller}: {error}") from None
            return self.failure_summary("infeasible", str(error))
        if result.status == "interrupted" and result.message.startswith(MACHINE_FAILED):
            raise MachineFailure(result.message)
        outcome = RunSummary.of(
            result, self.controller, curves=self.with_curves, keep=self.with_result
        )
        key = attributes_of(self, "repeat", "mismatch", "search")
        return dc.replace(outcome, **key, seed=self.scenario.seed)

    def failure_summary(self, status: Status, message: str) -> RunSummary:
        """Return the outcome of a run that did not even start."""
        key = attributes_of(self, "controller", "repeat", "mismatch", "search")
        return RunSummary(**key, seed=self.scenario.seed, status=status, message=message)


def _error_curves(result: Result) -> ErrorCurves:
    samples = result.samples
    first = float(result.time[0])
    timing = result.scenario.get("timing")
    planned = timing.get("duration") if isinstance(timing, Mapping) else None
    end = first + float(planned) if planned is not None else float(result.time[-1])
    time = np.linspace(first, end, CURVE_POINTS)
    # An early end leaves NaN, and no value that was never reached.
    blocks = result.labels.blocks
    block_names: list[str | None] = [None, *(blocks if len(blocks) > 1 else ())]
    norms: dict[str, Array] = {}
    for block in block_names:
        for name in ("phi", "beta"):
            norm = sample_measures.error_norm(samples, name, block)
            key = name if block is None else f"{name}.{block}"
            with np.errstate(all="ignore"):
                norms[key] = np.interp(time, result.time, norm, right=np.nan)
    return ErrorCurves(time, norms)
