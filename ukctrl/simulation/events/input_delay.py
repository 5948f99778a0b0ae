"""Inputs on their way from a sampled law to the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.core.program import BoundKernel, KernelStep

PUSHED, POPPED = range(2)
"""Places of the counts."""


@compiled
def push_input(u: Vector, waiting: Matrix, counts: Indices) -> bool:
    """Put an input behind those that wait in a ring; return whether there was room."""
    has_space = counts[PUSHED] - counts[POPPED] < len(waiting)
    if has_space:
        for i in range(len(u)):
            waiting[counts[PUSHED] % len(waiting), i] = u[i]
        counts[PUSHED] += 1
    return bool(has_space)


@deferred
def pop_input(waiting: Matrix, counts: Indices, u: Vector) -> bool:
    """Write the input that waits longest; return whether there was one."""
    some = counts[POPPED] < counts[PUSHED]
    if some:
        for i in range(len(u)):
            u[i] = waiting[counts[POPPED] % len(waiting), i]
        counts[POPPED] += 1
    return bool(some)


@final
class InputDelayLine:
    """Input delay line: inputs that arrive some time after their ticks.

    Args:
        delay: How much later [s].
        near: Up to how far apart two moments count as one [s].
        ticks: When the law ticks [s].
        nu: How many inputs there are.
    """

    def __init__(self, delay: float, near: float, ticks: Sequence[float], nu: int) -> None:
        sent, times = np.arange(1, len(ticks) + 1), np.asarray(ticks)
        # twice: arrival and tick may each be off by one; so the ring has room for all that wait
        arrived = np.searchsorted(times + delay + 2.0 * near, times)
        capacity = int((sent - arrived).max(initial=0))
        self._waiting, self._counts = np.zeros((capacity, nu)), np.zeros(2, dtype=np.int64)

    def send(self, u: Vector) -> KernelStep:
        """Return what has a copy of an input wait."""
        return BoundKernel(push_input, u, self._waiting, self._counts)

    def arrive(self, u: Vector) -> KernelStep:
        """Return what writes the input that waits longest."""
        return BoundKernel(pop_input, self._waiting, self._counts, u)
