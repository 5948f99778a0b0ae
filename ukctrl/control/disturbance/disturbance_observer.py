"""What a disturbance observer is: a description that binds to a task and then estimates."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.task import NO_MEMORY, Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import spec
from ukctrl.core.program import KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot


@spec
class DisturbanceObserver(abc.ABC):
    """How a servo controller learns of what its believed robot does not explain."""

    assumed: ClassVar[tuple[str, ...]] = ()
    """Fields that are no gains but what it takes as known: a search for gains leaves them."""

    @abc.abstractmethod
    def attach(self, task: Task) -> BoundObserver:
        """Bind to a robot and a task.

        Raises:
            GainError: It does not fit the task.
        """

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        """Return gains beside a feedback of two poles with these terms; none where none follow."""
        return {}


class BoundObserver:
    """An observer bound to a task: it offers `acceleration` and `memory_rate`, or their steps."""

    memory: Vector = NO_MEMORY
    """Memory at the start of a run; empty unless it remembers."""

    def begin(self, snapshot: Snapshot) -> Vector:
        """Return the memory of a start at a state of the believed robot."""
        return self.memory

    def acceleration(self, dynamics: Dynamics, memory: Vector) -> Vector:
        """Return the acceleration by what is unknown, shape ``(nv,)``."""
        delta: Vector = np.zeros(dynamics.robot.nv)
        KernelSequence(self.steps(dynamics, memory, delta))()
        return delta

    def memory_rate(self, dynamics: Dynamics, memory: Vector, u: Vector) -> Vector:
        """Return the time derivative of the memory, where ``u`` is commanded; none by itself."""
        rate: Vector = np.zeros(len(memory))
        if type(self).memory_steps is not BoundObserver.memory_steps:
            KernelSequence(self.memory_steps(dynamics, memory, u, rate))()
        return rate

    def steps(self, dynamics: Dynamics, memory: Vector, delta: Vector) -> Iterable[KernelStep]:
        """Return what writes `acceleration` at the state and the memory that are there then."""
        if type(self).acceleration is BoundObserver.acceleration:
            raise NotImplementedError(f"{type(self).__name__} must have an acceleration.")
        return (lambda: copy_into(self.acceleration(dynamics, memory), delta),)

    def memory_steps(
        self, dynamics: Dynamics, memory: Vector, u: Vector, rate: Vector
    ) -> Iterable[KernelStep]:
        """Return what writes `memory_rate` for the input that is there then."""
        return (lambda: copy_into(self.memory_rate(dynamics, memory, u), rate),)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what is worth recording."""
        return {}


@compiled
def subtract_disturbance(demand: Vector, A: Matrix, delta: Vector, net_demand: Vector) -> None:
    """Write a demand of rows less what an acceleration gives them by itself, ``A delta``."""
    for i in range(len(demand)):
        net_demand[i] = demand[i]
        for c in range(len(delta)):
            net_demand[i] -= A[i, c] * delta[c]
