"""What every observer must do, on the robot and the task of a scenario."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import Suite, require, require_array, require_equal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects import Noise
from ukctrl.simulation.observers import (
    Filter,
    MeasurementUpdate,
    Observer,
    StateEstimate,
    TimedState,
)
from ukctrl.simulation.observers.estimator import Estimator
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

TICKS = 6
PERIOD = 0.002
"""Period of the hold under which an observer is tried [s]."""
STD = 1e-4
"""Noise of the readings [rad or m]."""
DRIFT_TOLERANCE = 1e-6
"""How far an estimate may go of what stands still, of its size."""
EIGENVALUE_RTOL = 1e-9
"""How far below zero rounding may put an eigenvalue of a covariance, of the largest."""


class ObserverCase(NamedTuple):
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


OBSERVER = Suite[ObserverCase]("observer")
"""The clauses for observers."""
OBSERVER.record("An observer", lambda watched: watched.observer)


class ObserverRun:
    """An observer bound to a run, and what it may be asked there."""

    def __init__(self, watched: ObserverCase) -> None:
        loop = Loop(watched.run)
        assert loop.estimator is not None  # the run has one
        self.estimator: Estimator = loop.estimator
        self.filter: Filter = self.estimator.filter
        self.loop, rng = loop, np.random.default_rng(4)
        self.start = TimedState(loop.t0, loop.state._replace(memory=np.zeros(0)), self._input(rng))
        n, nv = (TICKS, loop.robot.nv)
        self.inputs = [self._input(rng) for _ in range(n)]
        self.readings = [
            (loop.robot.integrate(loop.state.q, STD * rng.standard_normal(nv)), loop.state.v.copy())
            for _ in range(n)
        ]

    def _input(self, rng: np.random.Generator) -> Vector:
        u: Vector = rng.uniform(-1.0, 1.0, self.loop.robot.nu)
        return u

    def steps(self) -> Iterator[tuple[StateEstimate, MeasurementUpdate]]:
        """Yield what it predicts and then makes of a reading, at one tick after the other."""
        estimate, joints = self.filter.first(self.start), self.estimator.joints
        for k, (u, y) in enumerate(zip(self.inputs, self.readings, strict=True)):
            if k:
                estimate = self.filter.predicted(estimate, self.start.t + k * PERIOD, u)
            corrected = self.filter.corrected(estimate, joints, y)
            yield estimate, corrected
            estimate = corrected.estimate


def _arrays(value: Any, name: str) -> Iterator[tuple[str, Matrix]]:
    """Yield the arrays of an estimate, or of any tuple, by name."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", range(len(value)))
        for field, item in zip(fields, value, strict=True):
            yield from _arrays(item, f"{name}.{field}")


def _array_copies(value: Any, name: str) -> list[tuple[str, Matrix]]:
    return [(where, array.copy()) for where, array in _arrays(value, name)]


def _require_same(label: str, value: Any, copies: list[tuple[str, Matrix]]) -> None:
    for (name, array), (_, then) in zip(_arrays(value, label), copies, strict=True):
        require_equal(f"'{name}'", array, then)


@OBSERVER.clause
def answers_in_shape(watched: ObserverCase) -> None:
    """Estimates are states of the robot, finite; a covariance is symmetric and not negative."""
    trial = ObserverRun(watched)
    robot, m = trial.loop.robot, len(trial.estimator.joints.names)
    for predicted, (estimate, innovation, S) in trial.steps():
        for at, P in (predicted, estimate):
            require_array("the configuration", at.state.q, robot.nq)
            require_array("the velocity", at.state.v, robot.nv)
            _require_covariance("P", P, trial.filter.motion.state_count)
        require_array("the innovation", innovation, m)
        _require_covariance("S", S, m)


def _require_covariance(name: str, P: Matrix, size: int) -> None:
    if not len(P):
        return
    require(P.shape == (size, size), f"{name} must have shape {(size, size)}; got {P.shape}.")
    require(bool(np.isfinite(P).all()), f"{name} must be finite.")
    lopsided = max_abs(P - P.T)
    require(
        lopsided <= EIGENVALUE_RTOL * max_abs(P),
        f"{name} must be symmetric; it is {lopsided:.1e} off.",
    )
    min_eigenvalue = float(np.linalg.eigvalsh(P)[0])
    require(
        min_eigenvalue >= -EIGENVALUE_RTOL * max_abs(P),
        f"{name} must not be negative; an eigenvalue is {min_eigenvalue:.1e}.",
    )


@OBSERVER.clause
def leaves_its_arguments_alone(watched: ObserverCase) -> None:
    """Neither an estimate, an input nor a reading are changed, then or later."""
    trial = ObserverRun(watched)
    records: list[tuple[Any, list[tuple[str, Matrix]]]] = []
    for argument in (*zip(trial.inputs, trial.readings, strict=True), trial.start):
        records.append((argument, _array_copies(argument, "given")))
    for predicted, corrected in trial.steps():
        for value in (predicted, corrected):
            records.append((value, _array_copies(value, "given")))
    for value, copies in records:
        _require_same("given", value, copies)


@OBSERVER.clause
def remembers_in_its_estimates_alone(watched: ObserverCase) -> None:
    """From one estimate it goes on alike, whatever was asked in between."""
    trial = ObserverRun(watched)
    joints, y, t = trial.estimator.joints, trial.readings[0], trial.start.t + PERIOD
    first = trial.filter.corrected(trial.filter.first(trial.start), joints, y).estimate

    def on() -> list[tuple[str, Matrix]]:
        later = trial.filter.predicted(first, t, trial.inputs[1])
        return _array_copies(trial.filter.corrected(later, joints, trial.readings[1]), "estimate")

    copies = on()
    for _ in trial.steps():
        pass
    for (name, array), (_, then) in zip(on(), copies, strict=True):
        require_equal(f"two times '{name}' from one estimate", array, then)


@OBSERVER.clause
def begins_anew(watched: ObserverCase) -> None:
    """Bound a second time it gives the same bits."""
    for one, two in zip(ObserverRun(watched).steps(), ObserverRun(watched).steps(), strict=True):
        for (name, a), (_, b) in zip(_arrays(one, "step"), _arrays(two, "step"), strict=True):
            require_equal(f"'{name}' of two runs", a, b)


@OBSERVER.clause
def stays_where_nothing_moves(watched: ObserverCase) -> None:
    """A robot at rest that is read without error is left where it is."""
    trial = ObserverRun(watched)
    motion, (t, state, _) = trial.filter.motion, trial.start
    rest_state = state._replace(v=np.zeros(len(state.v)))
    u = motion.resting_input(t, rest_state.q, rest_state.v)
    if max_abs(motion.predict(t, rest_state, u, t + PERIOD).v) > DRIFT_TOLERANCE:
        return  # nothing holds it there
    estimate, joints = trial.filter.first(TimedState(t, rest_state, u)), trial.estimator.joints
    for k in range(TICKS):
        if k:
            estimate = trial.filter.predicted(estimate, t + k * PERIOD, u)
        estimate = trial.filter.corrected(estimate, joints, (rest_state.q, rest_state.v)).estimate
    off = max_abs(motion.robot.difference(rest_state.q, estimate.at.state.q))
    fast = max_abs(estimate.at.state.v)
    require(off <= DRIFT_TOLERANCE, f"it must stay where nothing moves; it goes {off:.1e} away.")
    require(
        fast <= DRIFT_TOLERANCE / PERIOD, f"it must stay at rest; it has a speed of {fast:.1e}."
    )


@OBSERVER.clause
def answers_what_an_analysis_asks(watched: ObserverCase) -> None:
    """Near a moment it is linear, with finite matrices; or it says why it is not."""
    trial = ObserverRun(watched)
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
def runs(watched: ObserverCase) -> None:
    """A short run with it completes, and repeats its bits."""
    first, second = simulate(watched.run), simulate(watched.run)
    require(first.status == "completed", f"a short run {first.status}: {first.message}")
    for name in ("q", "v", "u", "q_estimated", "v_estimated"):
        require_equal(f"'{name}' of two runs", first[name], second[name])
