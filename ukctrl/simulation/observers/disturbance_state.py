r"""Disturbance estimate beside the state: a force that the believed robot does not explain.

A disturbance observer of the catalogue, run on the estimate and the input that was held: at a tick
it gets what was known at the one before, with the input of the time between, and then says

$$ \hat d = M\,\hat\delta, \qquad d = M\,\big(a - \bar a(q, v, u)\big), $$

beside the true one at the true state, with the believed mass matrix and acceleration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.control.task import Task
from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import add_scaled_into, matvec
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, InputError
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.integrate.ode_system import advance_memory, copy_state
from ukctrl.robot import Robot
from ukctrl.simulation.effects.effect import RunContext
from ukctrl.simulation.observers.estimates import EstimateArrays
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
        nv = task.robot.nv
        self.recorded_values = {
            "disturbance_estimated": np.zeros(nv),
            "disturbance_error": np.zeros(nv),
        }

    def steps(
        self, x: EstimateArrays, true: tuple[Vector, Vector, Vector, Vector]
    ) -> Iterator[KernelStep]:
        """Yield what estimates at a tick, and compares with the truth.

        Args:
            x: The estimate.
            true: Time, state and acceleration.
        """
        d, s, bound, recorded = (
            self._dynamics,
            self._dynamics.snapshot,
            self._bound,
            self.recorded_values,
        )
        memory, started = np.array(bound.memory), np.zeros(1)
        last = tuple(map(np.zeros_like, x[:3]))
        rate, delta, force, a = np.zeros(len(memory)), *np.zeros((3, len(s.v)))
        estimated, error = recorded["disturbance_estimated"], recorded["disturbance_error"]

        def begin(code: int) -> None:
            memory[:], started[0] = bound.begin(s), 1.0

        followed = KernelSequence(
            (
                BoundKernel(copy_state, *last, s.clock, s.q, s.v),
                *d.steps.items,
                *bound.memory_steps(d, memory, x.u, rate),
                # an Euler step from tick to tick, as the memory of a sampled law advances
                BoundKernel(advance_memory, x.clock, last[0], memory, rate),
            )
        )
        yield followed.when_equal(started, 1)
        yield BoundKernel(copy_state, *x[:3], s.clock, s.q, s.v)
        yield from d.steps.items
        yield BoundKernel(has_started, started, fault=begin)
        yield from bound.steps(d, memory, delta)
        yield BoundKernel(matvec, s.M, delta, estimated)
        yield BoundKernel(copy_state, *x[:3], *last)
        yield BoundKernel(copy_state, *true[:3], s.clock, s.q, s.v)
        yield from d.steps.items
        yield BoundKernel(block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, x.u, a)
        yield BoundKernel(add_scaled_into, true[3], -1.0, a, delta)
        yield BoundKernel(matvec, s.M, delta, force)
        yield BoundKernel(add_scaled_into, force, -1.0, estimated, error)


@compiled
def has_started(started: Vector) -> bool:
    """Return whether there was a tick."""
    return bool(started[0] == 1.0)
