"""The closed loop as integrators see it: a state goes in, and its rates come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import NotFinite
from ukctrl.core.program import KernelSequence, run
from ukctrl.robot import Robot
from ukctrl.robot.manifold_kernels import coordinate_rate, normalize


class IntegratorState(NamedTuple):
    """What is integrated."""

    q: Vector
    v: Vector
    memory: Vector


class System(NamedTuple):
    """Where kernels write a state and find its rates."""

    clock: Vector
    """Time, shape ``(1,)`` [s]."""
    q: Vector
    v: Vector
    memory: Vector
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    memory_rate: Vector
    """Shape of the memory."""
    blocks: Indices
    """How configurations move; see `Structure.manifold_table`."""
    lines: Indices
    """The table of `ukctrl.core.program` that writes the rates."""


@final
class OdeSystem:
    """A closed loop: arrays for a state and its rates, and the steps from one to the other.

    Args:
        robot: Whose configurations are integrated.
        state: Time, q, v and memory, arrays that the steps read.
        rates: Acceleration and rate of the memory, arrays that they write.
        steps: Those steps.
    """

    def __init__(
        self,
        robot: Robot,
        state: tuple[Vector, Vector, Vector, Vector],
        rates: tuple[Vector, Vector],
        steps: KernelSequence,
    ) -> None:
        self.robot, self.steps = robot, steps
        self.arrays = System(*state, *rates, robot.structure.manifold_table, steps.lines)

    @staticmethod
    def from_function(
        rates: Callable[[float, Vector, Vector, Vector], tuple[Vector, Vector]],
        robot: Robot,
        start: IntegratorState,
    ) -> OdeSystem:
        """Return the system whose rates a function of Python returns."""
        q, v, memory = (np.zeros(len(component)) for component in start)
        clock, a, memory_rate = np.zeros(1), np.zeros(len(v)), np.zeros(len(memory))

        def ask() -> None:
            a[:], memory_rate[:] = rates(float(clock[0]), q.copy(), v.copy(), memory.copy())

        return OdeSystem(robot, (clock, q, v, memory), (a, memory_rate), KernelSequence((ask,)))

    def write(self, t: float, state: IntegratorState) -> None:
        """Write a state into the port."""
        port = self.arrays
        port.clock[0] = t
        port.q[:], port.v[:], port.memory[:] = state

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate at a state, in the arrays of the port."""
        self.write(t, IntegratorState(q, v, memory))
        self.steps()
        return self.arrays.a, self.arrays.memory_rate

    def time_derivative(self, t: float, y: Vector) -> Vector:
        """Return the time derivative of ``y``: q, v and memory one behind the other.

        NaN where numbers are not finite; ``steps.fault`` says which. All other faults are raised.
        """
        f: Vector = np.empty(len(y))
        if state_rates(self.arrays, t, y, f) < 0 and not isinstance(self.steps.fault, NotFinite):
            self.steps.raise_fault()
        return f


@compiled
def advance_memory(clock: Vector, last_clock: Vector, memory: Vector, rate: Vector) -> None:
    """Advance a memory from one tick to the next, whose rate was that of the first of them."""
    for i in range(len(memory)):
        memory[i] += (clock[0] - last_clock[0]) * rate[i]


@compiled
def copy_state(
    clock: Vector, q: Vector, v: Vector, other_clock: Vector, other_q: Vector, other_v: Vector
) -> None:
    """Copy a state from one snapshot to another."""
    other_clock[0] = clock[0]
    for i in range(len(q)):
        other_q[i] = q[i]
    for i in range(len(v)):
        other_v[i] = v[i]


@compiled
def write_state(port: System, t: float, y: Vector) -> None:
    """Write ``y``, which has q, v and memory one behind the other; q is made a configuration."""
    nq, nv = len(port.q), len(port.v)
    port.clock[0] = t
    for i in range(nq):
        port.q[i] = y[i]
    normalize(port.blocks, port.q, port.q)
    for i in range(nv):
        port.v[i] = y[nq + i]
    for i in range(len(port.memory)):
        port.memory[i] = y[nq + nv + i]


@compiled
def state_rates(port: System, t: float, y: Vector, f: Vector) -> int:
    """Write the time derivative of ``y``; NaN where there is none.

    Returns 0, or what `ukctrl.core.program.run` does where it fails.
    """
    nq, nv = len(port.q), len(port.v)
    write_state(port, t, y)
    code = run(port.lines)
    if code < 0:
        for i in range(len(f)):
            f[i] = np.nan
        return code
    coordinate_rate(port.blocks, port.q, port.v, f)
    for i in range(nv):
        f[nq + i] = port.a[i]
    for i in range(len(port.memory)):
        f[nq + nv + i] = port.memory_rate[i]
    return 0
