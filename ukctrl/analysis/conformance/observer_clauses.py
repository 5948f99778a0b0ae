"""What every observer must do, on the robot and the task of a scenario."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import Suite, require, require_array, require_equal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.extremes import max_abs
from ukctrl.simulation.effects import Noise
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.observers import Corrected, Estimate, Filter, Moment, Observer
from ukctrl.simulation.observers.estimator import Estimator
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

TICKS = 6
PERIOD = 0.002
"""Period of the hold under which an observer is tried [s]."""
STD = 1e-4
"""Noise of the readings [rad or m]."""
SAME = 1e-6
"""How far an estimate may go of what stands still, of its size."""
NEGATIVE = 1e-9
"""How far below zero rounding may put an eigenvalue of a covariance, of the largest."""


class Watched(NamedTuple):
    """An observer and the scenario that it is tried on."""

    observer: Observer
    scenario: Scenario

    @property
    def run(self) -> Scenario:
        """The scenario with this observer of all positions, short and under a hold."""
        timing = dc.replace(
            self.scenario.timing, duration=TICKS * PERIOD, sample=PERIOD, control=PERIOD
        )
        return dc.replace(
            self.scenario,
            observer=self.observer,
            sensing=None,
            effect=(Noise(std=STD),),
            timing=timing,
        )


OBSERVER = Suite[Watched]("observer")
"""The clauses for observers."""
OBSERVER.record("An observer", lambda watched: watched.observer)


class Trial:
    """An observer bound to a run, and what it may be asked there."""

    def __init__(self, watched: Watched) -> None:
        loop = Loop(watched.run)
        assert loop.estimator is not None  # the run has one
        self.estimator: Estimator = loop.estimator
        self.filter: Filter = self.estimator.filter
        self.loop, rng = loop, np.random.default_rng(4)
        self.start = Moment(loop.t0, loop.state._replace(memory=np.zeros(0)), self._input(rng))
        n, nv = (TICKS, loop.robot.nv)
        self.inputs = [self._input(rng) for _ in range(n)]
        self.readings = [
            (loop.robot.integrate(loop.state.q, STD * rng.standard_normal(nv)), loop.state.v.copy())
            for _ in range(n)
        ]

    def _input(self, rng: np.random.Generator) -> Vector:
        u: Vector = rng.uniform(-1.0, 1.0, self.loop.robot.nu)
        return u

    def steps(self) -> Iterator[tuple[Estimate, Corrected]]:
        """Yield what it predicts and then makes of a reading, at one tick after the other."""
        estimate, joints = self.filter.first(self.start), self.estimator.joints
        for k, (u, y) in enumerate(zip(self.inputs, self.readings, strict=True)):
            if k:
                estimate = self.filter.predicted(estimate, self.start.t + k * PERIOD, u)
            corrected = self.filter.corrected(estimate, joints, y)
            yield estimate, corrected
            estimate = corrected.estimate


def _arrays(part: Any, name: str) -> Iterator[tuple[str, Matrix]]:
    """Yield the arrays of an estimate, or of any tuple, by name."""
    if isinstance(part, np.ndarray):
        yield name, part
    elif isinstance(part, tuple):
        fields = getattr(part, "_fields", range(len(part)))
        for field, each in zip(fields, part, strict=True):
            yield from _arrays(each, f"{name}.{field}")


def _copies(part: Any, name: str) -> list[tuple[str, Matrix]]:
    return [(where, array.copy()) for where, array in _arrays(part, name)]


def _require_same(what: str, part: Any, before: list[tuple[str, Matrix]]) -> None:
    for (name, now), (_, then) in zip(_arrays(part, what), before, strict=True):
        require_equal(f"'{name}'", now, then)


@OBSERVER.clause
def answers_in_shape(watched: Watched) -> None:
    """Estimates are states of the robot, finite; a covariance is symmetric and not negative."""
    trial = Trial(watched)
    robot, m = trial.loop.robot, len(trial.estimator.joints.names)
    for predicted, (estimate, innovation, S) in trial.steps():
        for at, P in (predicted, estimate):
            require_array("the configuration", at.state.q, robot.nq)
            require_array("the velocity", at.state.v, robot.nv)
            _require_covariance("P", P, trial.filter.motion.known)
        require_array("the innovation", innovation, m)
        _require_covariance("S", S, m)


def _require_covariance(name: str, P: Matrix, size: int) -> None:
    if not len(P):
        return
    require(P.shape == (size, size), f"{name} must have shape {(size, size)}; got {P.shape}.")
    require(bool(np.isfinite(P).all()), f"{name} must be finite.")
    lopsided = max_abs(P - P.T)
    require(
        lopsided <= NEGATIVE * max_abs(P), f"{name} must be symmetric; it is {lopsided:.1e} off."
    )
    least = float(np.linalg.eigvalsh(P)[0])
    require(
        least >= -NEGATIVE * max_abs(P),
        f"{name} must not be negative; an eigenvalue is {least:.1e}.",
    )


@OBSERVER.clause
def leaves_its_arguments_alone(watched: Watched) -> None:
    """Neither an estimate, an input nor a reading are changed, then or later."""
    trial = Trial(watched)
    kept: list[tuple[Any, list[tuple[str, Matrix]]]] = []
    for given in (*zip(trial.inputs, trial.readings, strict=True), trial.start):
        kept.append((given, _copies(given, "given")))
    for predicted, corrected in trial.steps():
        for part in (predicted, corrected):
            kept.append((part, _copies(part, "given")))
    for part, before in kept:
        _require_same("given", part, before)


@OBSERVER.clause
def remembers_in_its_estimates_alone(watched: Watched) -> None:
    """From one estimate it goes on alike, whatever was asked in between."""
    trial = Trial(watched)
    joints, y, t = trial.estimator.joints, trial.readings[0], trial.start.t + PERIOD
    first = trial.filter.corrected(trial.filter.first(trial.start), joints, y).estimate

    def on() -> list[tuple[str, Matrix]]:
        later = trial.filter.predicted(first, t, trial.inputs[1])
        return _copies(trial.filter.corrected(later, joints, trial.readings[1]), "estimate")

    before = on()
    for _ in trial.steps():
        pass
    for (name, now), (_, then) in zip(on(), before, strict=True):
        require_equal(f"two times '{name}' from one estimate", now, then)


@OBSERVER.clause
def begins_anew(watched: Watched) -> None:
    """Bound a second time it gives the same bits."""
    for one, two in zip(Trial(watched).steps(), Trial(watched).steps(), strict=True):
        for (name, a), (_, b) in zip(_arrays(one, "step"), _arrays(two, "step"), strict=True):
            require_equal(f"'{name}' of two runs", a, b)


@OBSERVER.clause
def stays_where_nothing_moves(watched: Watched) -> None:
    """A robot at rest that is read without error is left where it is."""
    trial = Trial(watched)
    motion, (t, state, _) = trial.filter.motion, trial.start
    rest = state._replace(v=np.zeros(len(state.v)))
    u = motion.resting_input(t, rest.q, rest.v)
    if max_abs(motion.advanced(t, rest, u, t + PERIOD).v) > SAME:
        return  # nothing holds it there
    estimate, joints = trial.filter.first(Moment(t, rest, u)), trial.estimator.joints
    for k in range(TICKS):
        if k:
            estimate = trial.filter.predicted(estimate, t + k * PERIOD, u)
        estimate = trial.filter.corrected(estimate, joints, (rest.q, rest.v)).estimate
    off = max_abs(motion.robot.difference(rest.q, estimate.at.state.q))
    fast = max_abs(estimate.at.state.v)
    require(off <= SAME, f"it must stay where nothing moves; it goes {off:.1e} away.")
    require(fast <= SAME / PERIOD, f"it must stay at rest; it has a speed of {fast:.1e}.")


@OBSERVER.clause
def answers_what_an_analysis_asks(watched: Watched) -> None:
    """Near a moment it is linear, with finite matrices; or it says why it is not."""
    trial = Trial(watched)
    n, joints = len(trial.filter.motion.chart.A), trial.estimator.joints
    try:
        near = trial.filter.near(trial.start, PERIOD, joints)
    except InputError:
        return
    sizes = {"A": (n, n), "B": (n, trial.loop.robot.nu), "K": (n, len(joints.names))}
    for name, size in sizes.items():
        came = getattr(near, name)
        require(came.shape == size, f"{name} must have shape {size}; got {came.shape}.")
        require(bool(np.isfinite(came).all()), f"{name} must be finite.")


@OBSERVER.clause
def runs(watched: Watched) -> None:
    """A short run with it completes, and repeats its bits."""
    first, second = simulate(watched.run), simulate(watched.run)
    require(first.status == "completed", f"a short run {first.status}: {first.message}")
    for name in ("q", "v", "u", "q_estimated", "v_estimated"):
        require_equal(f"'{name}' of two runs", first[name], second[name])
