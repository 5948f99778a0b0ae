r"""Disturbance estimate beside the state: a force that the believed robot does not explain.

A disturbance observer of the catalogue, run on the estimate and the input that was held: at a tick
it gets what was known at the one before, with the input of the time between, and then says

$$ \hat d = M\,\hat\delta, \qquad d = M\,\big(a - \bar a(q, v, u)\big), $$

beside the true one at the true state, with the believed mass matrix and acceleration.
"""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.control.task import Task
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.robot import Robot
from ukctrl.simulation.effects.effect import RunContext
from ukctrl.simulation.observers.frame_sensors import TrueMotion
from ukctrl.simulation.observers.measurements import TimedState
from ukctrl.simulation.observers.observer import Observer


def attach_disturbance_estimate(
    observer: Observer,
    believed: Robot,
    rank: RankPolicy,
    at: tuple[float, Vector, Vector],
    context: RunContext,
) -> DisturbanceEstimate | None:
    """Return what estimates the force that is not explained, where an observer does."""
    if observer.disturbance is None:
        return None
    t, q, v = at
    task = Task(
        robot=believed,
        servo=(),
        q=q,
        v=v,
        start=t,
        duration=context.duration,
        period=context.period,
        rank=rank,
        gains=StabilisationGains(0.0, 0.0),
    )
    try:
        return DisturbanceEstimate(observer.disturbance, task)
    except (GainError, InputError) as error:
        raise InputError(f"disturbance: {error}") from None


@final
class DisturbanceEstimate:
    """A disturbance observer on the estimates of a run.

    Attributes:
        recorded_values: Estimate and error at the last tick, by the names of their record.
    """

    def __init__(self, observer: DisturbanceObserver, task: Task) -> None:
        self._bound = observer.attach(task)
        self._dynamics = Dynamics(task.robot, task.rank, task.gains)
        self._before: TimedState | None = None
        self._memory: Vector = np.zeros(0)
        nv = task.robot.nv
        self.recorded_values = {
            "disturbance_estimated": np.zeros(nv),
            "disturbance_error": np.zeros(nv),
        }

    def tick(self, at: TimedState, true: TrueMotion) -> None:
        """Estimate at a tick, and compare with the truth."""
        d, (t, (q, v, _), u), last_moment = self._dynamics, at, self._before
        if last_moment is not None:
            d.move(last_moment.t, last_moment.state.q, last_moment.state.v)
            rate = self._bound.memory_rate(d, self._memory, u)
            # an Euler step from tick to tick, as the memory of a sampled law advances
            self._memory = self._memory + (t - last_moment.t) * rate
        d.move(t, q, v)
        if last_moment is None:
            self._memory = self._bound.begin(d.snapshot).copy()
        estimated = d.snapshot.M @ self._bound.acceleration(d, self._memory)
        self._before = at
        d.move(true.t, true.q, true.v)
        force = d.snapshot.M @ (true.a - d.acceleration(u))
        self.recorded_values["disturbance_estimated"][:] = estimated
        self.recorded_values["disturbance_error"][:] = force - estimated
