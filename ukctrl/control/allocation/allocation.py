"""What an allocation is: a description that attaches to a task and then gives inputs."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.control.allocation.input_metric import AnyMetric
from ukctrl.control.task import NO_MEMORY, Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, NotFinite, UkctrlError, quoted
from ukctrl.core.fields import spec
from ukctrl.core.program import KernelStep, RobotBuffers
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

SINGULAR_RTOL = 1e-9
"""A singular value below this fraction of the largest is none."""
OVERDEMAND_FACTOR = 1e3
"""How far beyond the motors' limits it is asked for, to see whether they are kept."""
PROBE_DISTANCE = 1e-2
"""How far from the start it is asked for nothing [rad or m, and per second]."""
LIMIT_RTOL = 1e-9
"""An input within this fraction of a limit, or of the load, is rounding."""


@spec
class Allocation(abc.ABC):
    """How a servo controller shares its demand among the motors."""

    @abc.abstractmethod
    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        """Bind to a robot and a task; ``rows`` are the names that a refusal mentions."""

    def behaviour(self, task: Task) -> AllocationBehaviour:
        """Return what it does where it is asked for too much, or for nothing.

        It is measured, on the task itself: so a part of one's own gets the verdicts of one with
        the same formula.
        """
        return _BehaviourProbe(self, task).behaviour()

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


class AllocationBehaviour(NamedTuple):
    """What an allocation does where a task asks for too much, or for nothing."""

    raises_if_infeasible: bool
    """Whether the run ends where a row asks for what no input gives, whichever row it is."""
    respects_limits: bool
    """Whether its inputs stay within the motors' limits, and the task gives way instead."""
    idle_without_demand: bool
    """Whether it gives no input where the rows ask for none, so that gravity, or what else acts,
    moves what the task leaves free."""


class Allocator:
    """An allocation bound to a task: it offers `input`, or the `steps` of one."""

    memory: Vector = NO_MEMORY
    """Memory at the start of a run, which the law carries; empty unless it looks back."""
    _buffers: RobotBuffers[Dynamics, tuple[Rows, Vector, Vector]] | None = None

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        """Return the input that makes the rows accelerate as demanded, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: No input does.
        """
        if self._buffers is None:
            self._buffers = RobotBuffers(lambda robot: self._build(len(demand), robot))
        (rows_in, demand_in, u), _ = self._buffers.steps(dynamics)
        for array, values in zip((*rows_in, demand_in), (*rows, demand), strict=True):
            array[:] = values
        self._buffers(dynamics)
        return u.copy()

    def _build(
        self, m: int, dynamics: Dynamics
    ) -> tuple[tuple[Rows, Vector, Vector], Iterable[KernelStep]]:
        rows, demand, u = Rows.zeros(m, dynamics.robot.nv), np.zeros(m), np.zeros(dynamics.robot.nu)
        return (rows, demand, u), self.steps(rows, demand, dynamics, u)

    def steps(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector
    ) -> Iterable[KernelStep]:
        """Return what writes the input for the rows and the demand that are there then."""
        if type(self).input is Allocator.input:
            raise NotImplementedError(f"{type(self).__name__} must have an input.")

        def ask() -> None:
            inputs = self.input(rows, demand, dynamics)
            if np.shape(inputs) != u.shape:
                raise NotFinite(
                    f"allocation '{type(self).__name__}' must return {len(u)} inputs; got {inputs}."
                )
            u[:] = inputs

        return (ask,)

    def look_back(self, memory: Vector) -> None:
        """Take the memory as it is now, for the next `input`."""

    def look_back_steps(self, memory: Vector) -> Sequence[KernelStep]:
        """Return what takes the memory as it is then."""
        return (lambda: self.look_back(memory),)

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the time derivative of the memory, where ``u`` is applied; none by itself."""
        return np.zeros(len(memory))

    def memory_steps(self, u: Vector, memory: Vector, rate: Vector) -> Sequence[KernelStep]:
        """Return what writes the time derivative of the memory, where ``u`` is applied."""
        return (lambda: copy_into(self.memory_rate(u, memory), rate),)

    def signals(self) -> Mapping[str, Signal]:
        """Return what is worth recording of the last `input`."""
        return {}


def require_task_rows(task: Task, rows: tuple[str, ...], kind: str) -> Stack:
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


def row_acceleration_unit(task: Task, rows: tuple[str, ...]) -> str:
    """Return the unit of the rows' accelerations, ``1/s^2`` where they have no common one."""
    stack = Stack(task.servo, task.robot)
    units = set(stack.units) if stack.names == rows else set[str]()
    return f"{units.pop() if len(units) == 1 else '1'}/s^2"


def row_residual(miss: Vector, rows: tuple[str, ...], unit: str) -> Signal:
    """Return ``H u - d`` as a signal, row by row."""
    return Signal(miss.copy(), unit, "row acceleration missed", rows)


class _BehaviourProbe:
    """An allocation bound to a task, asked at states near its start."""

    def __init__(self, allocation: Allocation, task: Task) -> None:
        self._stack = Stack(task.servo, task.robot)
        self._allocator = allocation.attach(task, self._stack.names)
        self._dynamics = Dynamics(task.robot, task.rank, task.gains)
        self._task = task

    def behaviour(self) -> AllocationBehaviour:
        task = self._task
        rows = self._rows_without_demand(task.q, task.v)
        return AllocationBehaviour(
            # one row that is given up without a word is enough to say that it gives way
            raises_if_infeasible=all(self._raises_for_row(rows, i) for i in range(len(rows.b))),
            respects_limits=self._respects_limits(rows),
            idle_without_demand=self._is_idle(),
        )

    def _rows_without_demand(self, q: Vector, v: Vector) -> Rows:
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

    def _raises_for_row(self, rows: Rows, i: int) -> bool:
        """Return whether a row that nothing moves, and that asks for something, is refused."""
        A, b = rows.A.copy(), rows.b.copy()
        A[i], b[i] = 0.0, 1.0
        return self._input(rows._replace(A=A, b=b)) is None

    def _respects_limits(self, rows: Rows) -> bool:
        """Return whether inputs stay within limits however much more is asked for."""
        s, G = self._dynamics.snapshot, self._dynamics.G
        low, high = self._task.robot.input_bounds(s.v @ s.B)
        # a motor with a limit one way alone counts as unlimited
        limit = np.where(np.isfinite(high - low), np.maximum(np.abs(low), np.abs(high)), np.inf)
        _, sigma, Vt = np.linalg.svd(rows.A @ G)
        # a direction that no row feels asks for nothing more, and tests no limit
        strong = Vt[: int(np.sum(sigma > SINGULAR_RTOL * max_abs(sigma)))]
        is_tested = False
        for u in strong:
            share = float(np.max(np.abs(u) / limit, initial=0.0))
            if share <= 0.0:
                continue
            inputs = self._input(
                rows._replace(b=rows.b + rows.A @ G @ u * (OVERDEMAND_FACTOR / share))
            )
            if inputs is None or (inputs > high + LIMIT_RTOL * limit).any():
                return False
            if (inputs < low - LIMIT_RTOL * limit).any():
                return False
            is_tested = True
        return is_tested

    def _is_idle(self) -> bool:
        """Return whether nothing is given for nothing, also off the start and in motion."""
        task, A_p = self._task, self._dynamics.passive.rows.A
        _, sigma, Vt = np.linalg.svd(A_p) if len(A_p) else (None, np.zeros(0), np.eye(A_p.shape[1]))
        rank = int(np.sum(sigma > SINGULAR_RTOL * max_abs(sigma)))
        along: Vector = PROBE_DISTANCE * Vt[rank:].sum(axis=0)
        moved = np.ascontiguousarray(task.robot.integrate(task.q, along))
        for q, v in ((moved, task.v + along), (task.q, task.v + along), (task.q, task.v)):
            try:
                rows = self._rows_without_demand(q, v)
            except (UkctrlError, ArithmeticError):
                continue  # closures that leave no room nearby
            u = self._input(rows)
            load = max_abs(self._dynamics.snapshot.gravity)
            # the first state that can be evaluated decides; the others are for closures that cannot
            # be moved
            return u is not None and bool(max_abs(u) <= LIMIT_RTOL * (1.0 + load))
        return False
