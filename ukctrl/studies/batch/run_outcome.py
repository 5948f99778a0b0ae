"""One run of many: what to run, and what is kept of it when its arrays are not."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.plugins import blame
from ukctrl.core.own_processes import machine_failed
from ukctrl.robot import Robot
from ukctrl.simulation.loop.simulation import MACHINE_FAILED
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.record import STOPPED, Status
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts import Belief
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import measure, simulate
from ukctrl.studies.batch.task import Watch

_REPEATS, _TRAINING, _SAMPLES, _POINTS, _HELD_OUT = range(5)


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; that of the first, number 0, is the scenario's own."""
    return seed if repeat == 0 else _drawn(seed, _REPEATS, repeat)


def training_seed(seed: int, number: int = 0) -> int:
    """Return the seed of one of the plants that gains are tuned on, which no repeat has."""
    return _drawn(seed, _TRAINING, number)


def held_out_seed(seed: int, number: int) -> int:
    """Return the seed of a plant that tuned gains are judged on, on which none were tuned."""
    return _drawn(seed, _HELD_OUT, number)


def sample_seed(seed: int, sample: int) -> int:
    """Return the seed of a sample of a study, given the study's."""
    return _drawn(seed, _SAMPLES, sample)


def point_generator(seed: int, point: int) -> np.random.Generator:
    """Return the random numbers that a point of a study is drawn from, given the study's seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_POINTS, point)))


def _drawn(seed: int, purpose: int, number: int) -> int:
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1)[0])


CURVE_POINTS = 240
"""Instants at which the error of every run is kept, to draw bands over them."""


class Curves(NamedTuple):
    """The error norms of a run at a few instants."""

    time: Array
    """Instants, the same for all runs of one timing [s]."""
    norms: Mapping[str, Array]
    """By name: ``phi``, ``beta``, and of a servo block ``phi.tool``; NaN after an early end."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What is kept of one run."""

    entry: str
    """Whose run it is."""
    repeat: int
    seed: int
    level: float | None
    """Mismatch between the true robot and the file's; None: the scenario as it is."""
    status: Status
    message: str
    reached: float
    """Time of the last sample since the start [s]."""
    metrics: Mapping[str, float]
    belief: Belief = dc.field(default_factory=lambda: Belief("ok", ()))
    """Whether it is to be believed."""
    random: bool = False
    """Whether a seed had a part in it."""
    curves: Curves | None = None
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
    def of(result: Result, entry: str, *, curves: bool = True, keep: bool = True) -> Outcome:
        """Return what to keep of a result, as the first repeat of the scenario as it is."""
        time = result.time
        return Outcome(
            entry=entry,
            repeat=0,
            seed=0,
            level=None,
            status=result.status,
            message=result.message,
            belief=result.belief,
            reached=float(time[-1] - time[0]) if len(time) else 0.0,
            metrics=dict(result.metrics),
            random=bool(result.provenance.get("random")),
            curves=_curves(result) if curves and len(time) else None,
            result=result if keep else None,
        )


@dc.dataclass(frozen=True, kw_only=True)
class Run:
    """One run to make: a task for [`Crew.gather`][ukctrl.studies.batch.Crew.gather]."""

    scenario: Scenario
    entry: str
    repeat: int = 0
    level: float | None = None
    curves: bool = True
    keep: bool = False
    """Whether the whole result is kept."""
    timed: bool = True
    """Whether it is told how long the law takes."""
    robot: Robot | None = None
    """The scenario's robot, where it has been loaded before."""
    search: int = 0
    """Which of several searches its gains are from."""
    strict: bool = False
    """Whether a scenario that does not fit its robot is an error, and no run that failed."""

    def __str__(self) -> str:
        off = "" if self.level is None else f" with a mismatch of {self.level:g}"
        return f"'{self.entry}', repeat {self.repeat}{off}"

    def __call__(self, watch: Watch) -> Outcome:
        """Simulate.

        Raises:
            InputError: It is strict, and the scenario does not fit its robot.
            MachineFailure: There was no memory for it, or no disk.
        """
        run = simulate if self.keep else functools.partial(measure, timed=self.timed)
        try:
            result = run(
                self.scenario, progress=lambda at, duration: watch(at / duration), robot=self.robot
            )
        except Exception as error:  # a fault in a user's law must not cost the other runs
            if machine_failed(error):
                raise
            if not isinstance(error, UkctrlError):
                fault = f"{type(error).__name__}: {error}"
                return self.failed("interrupted", blame(error) or fault)
            if self.strict:
                raise InputError(f"{self.entry}: {error}") from None
            return self.failed("infeasible", str(error))
        if result.status == "interrupted" and result.message.startswith(MACHINE_FAILED):
            raise MachineFailure(result.message)
        outcome = Outcome.of(result, self.entry, curves=self.curves, keep=self.keep)
        repeat, seed, level = self.repeat, self.scenario.seed, self.level
        return dc.replace(outcome, repeat=repeat, seed=seed, level=level, search=self.search)

    def failed(self, status: Status, message: str) -> Outcome:
        """Return the outcome of a run that did not even start."""
        return Outcome(
            entry=self.entry,
            repeat=self.repeat,
            seed=self.scenario.seed,
            level=self.level,
            search=self.search,
            status=status,
            message=message,
            reached=0.0,
            metrics={},
        )


def _curves(result: Result) -> Curves:
    samples = result.samples
    first = float(result.time[0])
    timing = result.scenario.get("timing")
    planned = timing.get("duration") if isinstance(timing, Mapping) else None
    end = first + float(planned) if planned is not None else float(result.time[-1])
    time = np.linspace(first, end, CURVE_POINTS)
    # An early end leaves NaN, and no value that was never reached.
    blocks = result.labels.blocks
    wanted: list[str | None] = [None, *(blocks if len(blocks) > 1 else ())]
    norms: dict[str, Array] = {}
    for block in wanted:
        for name in ("phi", "beta"):
            norm = measures.error_norm(samples, name, block)
            key = name if block is None else f"{name}.{block}"
            with np.errstate(all="ignore"):
                norms[key] = np.interp(time, result.time, norm, right=np.nan)
    return Curves(time, norms)
