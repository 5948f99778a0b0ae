"""What an allocation is: a description that attaches to a task and then gives inputs."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.control.allocation.metric import AnyMetric
from ukctrl.control.task import NO_MEMORY, Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, NotFinite, UkctrlError, quoted
from ukctrl.core.extremes import max_abs
from ukctrl.core.fields import spec
from ukctrl.core.program import Kept, Step, Steps
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

SINGULAR = 1e-9
"""A singular value below this fraction of the largest is none."""
BEYOND = 1e3
"""How far beyond the motors' limits it is asked for, to see whether they are kept."""
AWAY = 1e-2
"""How far from the start it is asked for nothing [rad or m, and per second]."""
ROUNDING = 1e-9
"""An input within this fraction of a limit, or of the load, is rounding."""


@spec
class Allocation(abc.ABC):
    """How a servo controller shares its demand among the motors."""

    @abc.abstractmethod
    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        """Bind to a robot and a task; ``rows`` are the names that a refusal mentions."""

    def behaviour(self, task: Task) -> Behaviour:
        """Return what it does where it is asked for too much, or for nothing.

        It is measured, on the task itself: so a part of one's own gets the verdicts of one with
        the same formula.
        """
        return _Trial(self, task).behaviour()

    def exact(self) -> Allocation:
        """Return what it is where nothing stands in the way: without limits and damping.

        The internal dynamics are those of rows that hold exactly. One that gives way, and is not
        the same without that, says here what it is.
        """
        return self

    @property
    def nearness(self) -> AnyMetric:
        """The metric in which one input is near to another."""
        return "effort"

    def levels(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        """Return the blocks of rows, the level that gives way last first; one level: all alike."""
        return (tuple(dict.fromkeys(stack.blocks)),)


class Behaviour(NamedTuple):
    """What an allocation does where a task asks for too much, or for nothing."""

    stops: bool
    """Whether the run ends where a row asks for what no input gives, whichever row it is."""
    keeps_limits: bool
    """Whether its inputs stay within the motors' limits, and the task gives way instead."""
    leaves_motors_idle: bool
    """Whether it gives no input where the rows ask for none, so that gravity, or what else acts,
    moves what the task leaves free."""


class Allocator:
    """An allocation bound to a task: it offers `input`, or the `steps` of one."""

    memory: Vector = NO_MEMORY
    """Memory at the start of a run, which the law carries; empty unless it looks back."""
    _by_robot: Kept[Dynamics, _Asked] | None = None

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        """Return the input that makes the rows accelerate as demanded, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: No input does.
        """
        if self._by_robot is None:
            self._by_robot = Kept(lambda robot: _Asked(self, len(demand), robot))
        return self._by_robot(dynamics)(rows, demand)

    def steps(self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector) -> Iterable[Step]:
        """Return what writes the input for the rows and the demand that are there then."""
        if type(self).input is Allocator.input:
            raise NotImplementedError(f"{type(self).__name__} must have an input.")

        def ask() -> None:
            given = self.input(rows, demand, dynamics)
            if np.shape(given) != u.shape:
                raise NotFinite(
                    f"allocation '{type(self).__name__}' must return {len(u)} inputs; got {given}."
                )
            u[:] = given

        return (ask,)

    def look_back(self, memory: Vector) -> None:
        """Take the memory as it is now, for the next `input`."""

    def look_back_steps(self, memory: Vector) -> Sequence[Step]:
        """Return what takes the memory as it is then."""
        return (lambda: self.look_back(memory),)

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the time derivative of the memory, where ``u`` is applied; none by itself."""
        return np.zeros(len(memory))

    def memory_steps(self, u: Vector, memory: Vector, rate: Vector) -> Sequence[Step]:
        """Return what writes the time derivative of the memory, where ``u`` is applied."""
        return (lambda: copy_into(self.memory_rate(u, memory), rate),)

    def signals(self) -> Mapping[str, Signal]:
        """Return what is worth recording of the last `input`."""
        return {}


class _Asked:
    """The steps of an allocation, and what they read and write."""

    def __init__(self, allocator: Allocator, m: int, dynamics: Dynamics) -> None:
        self._rows, self._demand = Rows.zeros(m, dynamics.robot.nv), np.zeros(m)
        self._u = np.zeros(dynamics.robot.nu)
        self._steps = Steps(allocator.steps(self._rows, self._demand, dynamics, self._u))

    def __call__(self, rows: Rows, demand: Vector) -> Vector:
        for array, given in zip(self._rows, rows, strict=True):
            array[:] = given
        self._demand[:] = demand
        self._steps()
        return self._u.copy()


def own_stack(task: Task, rows: tuple[str, ...], kind: str) -> Stack:
    """Return the task's rows, for an allocation that tells them apart.

    Raises:
        GainError: The feedback asks for other rows.
    """
    stack = Stack(task.servo, task.robot)
    if stack.names != rows:
        raise GainError(
            f'allocation "{kind}" needs a feedback that asks for the rows of the task; this one '
            f'asks for {quoted(rows)}. Use it with kind = "least_norm".'
        )
    return stack


def row_unit(task: Task, rows: tuple[str, ...]) -> str:
    """Return the unit of the rows' accelerations, ``1/s^2`` where they have no common one."""
    stack = Stack(task.servo, task.robot)
    units = set(stack.units) if stack.names == rows else set[str]()
    return f"{units.pop() if len(units) == 1 else '1'}/s^2"


def row_miss(miss: Vector, rows: tuple[str, ...], unit: str) -> Signal:
    """Return ``H u - d`` as a signal, row by row."""
    return Signal(miss.copy(), unit, "row acceleration missed", rows)


class _Trial:
    """An allocation bound to a task, asked at states near its start."""

    def __init__(self, allocation: Allocation, task: Task) -> None:
        self._stack = Stack(task.servo, task.robot)
        self._allocator = allocation.attach(task, self._stack.names)
        self._dynamics = Dynamics(task.robot, task.rank, task.gains)
        self._task = task

    def behaviour(self) -> Behaviour:
        task = self._task
        rows = self._unasked(task.q, task.v)
        return Behaviour(
            stops=all(self._refuses(rows, i) for i in range(len(rows.b))),
            keeps_limits=self._keeps_limits(rows),
            leaves_motors_idle=self._is_idle(),
        )

    def _unasked(self, q: Vector, v: Vector) -> Rows:
        """Return the rows at a state, as if they asked for what they do without inputs."""
        self._dynamics.move(self._task.start, q, v)
        rows = self._stack.write(self._dynamics.snapshot)
        return rows._replace(b=rows.A @ self._dynamics.a_free)

    def _input(self, rows: Rows) -> Vector | None:
        """Return the input for the rows' own ``b``; None where it is refused."""
        if self._allocator.memory.size:
            self._allocator.look_back(self._allocator.memory)
        try:
            return self._allocator.input(rows, rows.b, self._dynamics)
        except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
            return None

    def _refuses(self, rows: Rows, i: int) -> bool:
        """Return whether a row that nothing moves, and that asks for something, is refused."""
        A, b = rows.A.copy(), rows.b.copy()
        A[i], b[i] = 0.0, 1.0
        return self._input(rows._replace(A=A, b=b)) is None

    def _keeps_limits(self, rows: Rows) -> bool:
        """Return whether inputs stay within limits however much more is asked for."""
        s, G = self._dynamics.snapshot, self._dynamics.G
        low, high = self._task.robot.input_bounds(s.v @ s.B)
        limit = np.where(np.isfinite(high - low), np.maximum(np.abs(low), np.abs(high)), np.inf)
        _, sigma, Vt = np.linalg.svd(rows.A @ G)
        strong = Vt[: int(np.sum(sigma > SINGULAR * max_abs(sigma)))]
        asked = False
        for u in strong:
            share = float(np.max(np.abs(u) / limit, initial=0.0))
            if share <= 0.0:
                continue
            given = self._input(rows._replace(b=rows.b + rows.A @ G @ u * (BEYOND / share)))
            if given is None or (given > high + ROUNDING * limit).any():
                return False
            if (given < low - ROUNDING * limit).any():
                return False
            asked = True
        return asked

    def _is_idle(self) -> bool:
        """Return whether nothing is given for nothing, also off the start and in motion."""
        task, A_p = self._task, self._dynamics.passive.rows.A
        _, sigma, Vt = np.linalg.svd(A_p) if len(A_p) else (None, np.zeros(0), np.eye(A_p.shape[1]))
        rank = int(np.sum(sigma > SINGULAR * max_abs(sigma)))
        along: Vector = AWAY * Vt[rank:].sum(axis=0)
        moved = np.ascontiguousarray(task.robot.integrate(task.q, along))
        for q, v in ((moved, task.v + along), (task.q, task.v + along), (task.q, task.v)):
            try:
                rows = self._unasked(q, v)
            except (UkctrlError, ArithmeticError):
                continue  # closures that leave no room nearby
            u = self._input(rows)
            load = max_abs(self._dynamics.snapshot.gravity)
            return u is not None and bool(max_abs(u) <= ROUNDING * (1.0 + load))
        return False
