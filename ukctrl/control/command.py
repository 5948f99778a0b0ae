"""What a law answers at a state, and the steps that write the answer into arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import KernelSequence


class Command(NamedTuple):
    """What a law answers at one state."""

    u: Vector
    """Input, shape ``(nu,)`` [N m or N]."""
    memory_rate: Vector
    """Time derivative of the law's memory, shape as the memory."""
    demand: Vector | None = None
    """Row acceleration that the law asked for, shape ``(m,)``; None where it asks for none."""
    memory: Vector | None = None
    """Memory to go on from, where `Law.command` found that the law has switched; else None."""


@final
class LawBuffers:
    """A law at the states of one robot: it reads its memory there, and writes what it answers.

    Attributes:
        memory: The law's memory, shape ``(k,)``; whoever runs the steps writes it.
        u: Input, shape ``(nu,)``.
        memory_rate: Shape ``(k,)``.
        demand: Row acceleration that the law asked for, shape ``(m,)``.
        has_demand: Whether it asked for one, as a number, shape ``(1,)``.
        steps: What writes all of it at the state of the robot.
        check_command: Called with every command of a law that is a function of Python.
    """

    steps: KernelSequence

    def __init__(self, memory: Vector, nu: int, m: int) -> None:
        k = len(memory)
        self._has_memory = k > 0
        self.memory, self.u = np.array(memory, dtype=np.float64), np.zeros(nu)
        self.memory_rate, self.demand = np.zeros(k), np.zeros(m)
        self.has_demand = np.zeros(1)
        asks: Any = self.has_demand
        self._has_demand = memoryview(asks)  # which Python reads in half of the time
        self.check_command: Callable[[Command], None] = _accept_command

    def write_command(self, command: Command) -> None:
        """Write a command of a law that is a function of Python."""
        self.check_command(command)
        self.u[:], self.memory_rate[:] = command.u, command.memory_rate
        self.has_demand[0] = command.demand is not None
        if command.demand is not None:
            self.demand[:] = command.demand

    def command(self, memory: Vector) -> Command:
        """Run the steps with a memory; return what they write, in arrays of its own."""
        self.memory[:] = memory
        self.steps()
        return self.read_command()

    def read_command(self) -> Command:
        """Return what the steps wrote last, in arrays of its own."""
        rate, demand = self.memory_rate, self.demand.copy() if self._has_demand[0] else None
        return Command(self.u.copy(), rate.copy() if self._has_memory else rate, demand)


def _accept_command(command: Command) -> None:
    """Take a command as it comes."""


@compiled
def write_row_acceleration(A: Matrix, a_free: Vector, G: Matrix, u: Vector, demand: Vector) -> None:
    """Write the row acceleration that an input brings about, ``A (a_free + G u)``."""
    n, nu = G.shape
    for i in range(len(demand)):
        demand[i] = 0.0
    for c in range(n):
        a = a_free[c]
        for k in range(nu):
            a += G[c, k] * u[k]
        for i in range(len(demand)):
            demand[i] += A[i, c] * a
