"""What looks at every input of a law, whichever it is, and changes it where it must."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ukctrl.control.allocation.bounded_input import LinearBounds
from ukctrl.control.allocation.input_limits import InputLimits
from ukctrl.control.allocation.input_metric import AnyMetric, InputMetric
from ukctrl.control.allocation.priority_levels import PriorityLevels, PriorityOrder, row_scale
from ukctrl.control.command import LawBuffers
from ukctrl.control.safety.barriers import (
    Barriers,
    FilterDiagnostics,
    check_barriers,
    hold_factor,
    recall_input,
    write_inequalities,
)
from ukctrl.control.safety.contact_forces import ContactForceRows
from ukctrl.control.safety.filtered_input import INFEASIBLE, ServoRows, filter_input
from ukctrl.control.safety.inequality import BoundInequality, Inequality
from ukctrl.control.safety.relaxation import RelaxationOrder, irreducible_infeasible_set
from ukctrl.control.safety.tick_prediction import (
    InputResponse,
    QpBounds,
    StateArrays,
    TickPredictor,
)
from ukctrl.control.task import Task
from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, NotFinite, UkctrlError, quoted
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.unilateral_contacts import UnilateralContacts
from ukctrl.robot import Robot, Snapshot


class InfeasibleInequalities(InfeasibleConstraint):
    """No input within the motors' limits keeps everything that may not give way."""

    def __init__(self, names: Sequence[str], motors: Sequence[str]) -> None:
        self.rows, self.miss, self.rank, self.count, self.advice = (), (), 0, 0, None
        limits = f" and the limits of {quoted(motors)}" if motors else ""
        UkctrlError.__init__(
            self,
            f"rows to keep {quoted(names)}{limits} contradict each other, and none may give way. "
            "Let one (gives_way = true), or start further from these limits, or slower.",
        )


@final
class SafetyFilter:
    """Things to keep, bound to a believed robot and its task.

    Attributes:
        names: Of the quantities, ``block.side``.
        units: Of the quantities.
        blocks: Which block each belongs to.
        barriers: What each asks.
        diagnostics: Values, margins and relaxations at the last tick.

    Args:
        keeps: What is kept, as in a file.
        task: The task, with the believed robot.
        servo: The servo rows that give way to it.
        order: The order in which they do, the last first; absent: block by block.
        metric: In which an input is near to another.
    """

    def __init__(
        self,
        keeps: Sequence[Inequality],
        task: Task,
        servo: Stack,
        order: PriorityOrder | None = None,
        metric: AnyMetric = "effort",
    ) -> None:
        self._task, self.servo, self._inequalities = task, servo, tuple(keeps)
        self._bound_inequalities = tuple(self._bind_inequalities(keeps, task))
        self.period = float(task.period or 0.0)
        sides = [
            (k, side)
            for k, inequality in enumerate(self._bound_inequalities)
            for side in inequality.sides
        ]
        self.stack = self.stack_on(task.robot)
        starts = np.cumsum([0, *(len(constraint.names) for constraint in self.stack.attached)])
        self.contact_rows = ContactForceRows(
            [
                (k, cone)
                for k, inequality in enumerate(self._bound_inequalities)
                for cone in inequality.cones
            ]
        )
        owner = np.array([*(k for k, _ in sides), *self.contact_rows.table_index], dtype=np.intp)
        names = (*(side.name for _, side in sides), *self.contact_rows.names)
        self.blocks = tuple(self._bound_inequalities[k].block for k in owner)
        self.names = tuple(
            f"{block}.{name}".removesuffix(".")
            for block, name in zip(self.blocks, names, strict=True)
        )
        self.units = (*(side.unit for _, side in sides), *self.contact_rows.units)
        missed = (derivative_unit(side.unit, side.relative_degree) for _, side in sides)
        self.relaxation_units = (*missed, *self.contact_rows.units)
        poles = np.array([1.0 / keeps[k].decay for k, _ in sides])
        self.barriers = Barriers(
            np.array([starts[k] + side.row for k, side in sides], dtype=np.int64),
            np.array([side.sign for _, side in sides]),
            np.array([side.offset for _, side in sides]),
            np.array([side.margin for _, side in sides]),
            np.array([side.relative_degree for _, side in sides], dtype=np.int64),
            poles,
            np.array([side.deceleration for _, side in sides]),
            np.array([hold_factor(pole * self.period) for pole in poles]),
        )
        self._relaxation_order = _relaxation_order(keeps, owner)
        buffers, count = np.zeros((5, len(owner))), len(sides)
        losses = np.zeros(len(servo)), np.zeros(task.robot.nv)
        row_buffers = *losses, *np.zeros((2, len(self.stack)))
        self.diagnostics = FilterDiagnostics(*buffers, *row_buffers)
        self.diagnostics.lower_bound[count:] = self.contact_rows.lower_bound
        self._row_diagnostics, self._contact_margins = (
            FilterDiagnostics(*buffers[:, :count], *row_buffers),
            buffers[0, count:],
        )
        self._limits, self._metric = self._limits_of(task), InputMetric(metric, task)
        self._order = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(servo):
            levels = PriorityLevels(order, servo)
            scale = row_scale(servo, self._metric, task)[levels.rows]
            self._order = levels.rows, levels.ends, scale
        self._end_dynamics = Dynamics(task.robot, task.rank, task.gains) if self.period else None
        self._end_stack = self.stack_on(task.robot)

    @property
    def predicted_robots(self) -> tuple[Dynamics, ...]:
        """What it works with beside the robot of a tick, whose contacts follow that one's."""
        return () if self._end_dynamics is None else (self._end_dynamics,)

    def _bind_inequalities(
        self, keeps: Sequence[Inequality], task: Task
    ) -> Iterator[BoundInequality]:
        counts: dict[str, int] = {}
        if not task.robot.nu:
            raise InputError(
                f"keep needs motors; robot '{task.robot.name}' has none, and nothing can be kept."
            )
        for number, keep in enumerate(keeps):
            with error_context(f"keep[{number}]"):
                if keep.decay < (task.period or 0.0):
                    raise InputError(
                        f"decay must be at least the control period, {task.period:g} s; got "
                        f"{keep.decay:g} s. No input holds for less."
                    )
                inequality: object = keep.keeps(task)
                if not isinstance(inequality, BoundInequality):
                    raise InputError(f"keeps must return a Kept; got {type(inequality).__name__}.")
            counts[inequality.block] = counts.get(inequality.block, 0) + 1
            if counts[inequality.block] > 1 and keep.name:
                raise InputError(f"keep[{number}]: name '{keep.name}' is another block's already.")
            times = counts[inequality.block]
            yield (
                inequality
                if times == 1
                else inequality._replace(block=f"{inequality.block}_{times}")
            )

    def _limits_of(self, task: Task) -> InputLimits:
        """Return the limits of inputs, and those of their rates that anything to keep has."""
        rates: dict[str, float] = {}
        for inequality in self._bound_inequalities:
            for motor, rate in inequality.input_rates.items():
                rates[motor] = min(rate, rates.get(motor, np.inf))
        return InputLimits(None, task, rates)

    def stack_on(self, robot: Robot) -> Stack:
        """Return the rows of which the quantities are made, on a robot of the same freedoms."""
        return Stack(
            [inequality.constraint for inequality in self._bound_inequalities], robot, key="keep"
        )

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        """Yield what changes the input of a tick where it must, after the law has written it."""
        d, u = dynamics, tick.u
        a, low, high = np.zeros(d.robot.nv), np.zeros(len(u)), np.zeros(len(u))
        yield from self.stack.steps(d.snapshot).items
        # a rate of inputs means something only where an input holds
        slow = self.period > 0.0 and bool(self._limits.rate_limited)
        last, held_inputs = np.zeros(len(u) + 1 if slow else 0), np.full((2, len(u) + 1), -np.inf)
        if slow:
            yield BoundKernel(recall_input, d.snapshot.clock, held_inputs, last)
        yield from self._limits.steps(d.snapshot, last, low, high)
        yield BoundKernel(block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, u, a)
        D, forces = self.contact_rows.steps(d, a, u, self._contact_margins)
        yield from forces
        # most inputs break nothing, and no program is solved for them
        alert = np.zeros(1)
        args = self.stack.rows, self.barriers, self.period, a, u, low, high, self._row_diagnostics
        yield BoundKernel(check_barriers, *args, alert)
        if forces:
            yield self.contact_rows.alert_step(self._contact_margins, alert)
        yield KernelSequence(self._solve_steps(d, D, u, low, high)).when_equal(alert, 1)
        if slow:
            # after the filter: what moves the robot counts, not what the law wanted
            yield BoundKernel(copy_into, u, held_inputs[1, :-1])
            yield BoundKernel(copy_into, d.snapshot.clock, held_inputs[1, -1:])

    def _solve_steps(
        self, dynamics: Dynamics, D: Matrix, u: Vector, low: Vector, high: Vector
    ) -> Iterator[KernelStep]:
        """Yield what writes the input that keeps what is to be kept; ``D`` is of forces."""
        d, s, (nu, m, k) = dynamics, dynamics.snapshot, (len(u), len(self.stack), len(self.names))
        C, force, gains = self.contact_rows.input_map(d, D, nu + m)
        C[:nu] = np.eye(nu)
        yield from gains
        S, steps = self._metric.root_inverse_steps(d)
        yield from steps
        yield from self.servo.steps(s).items
        row = np.append(nu + self.barriers.row, nu + m + np.arange(len(self.contact_rows)))
        sign = np.append(self.barriers.sign, np.ones(len(self.contact_rows)))
        served = ServoRows(self.servo.rows.A, *self._order, S, float(self._task.rank.servo))
        bounds = QpBounds(low, high, C, force, row, sign, np.zeros(k))
        robot = InputResponse(d.ties, d.a_free, d.G, d.L, d.motors)
        predictor, inside = self._predictor(s, u)
        tick_args = self.stack.rows, self.barriers, self.diagnostics, robot, predictor, served

        def failed(code: int) -> Exception:
            if code == INFEASIBLE:
                return self._conflict_error(bounds)
            return NotFinite("rows to keep must be finite; they are not at this state.")

        args = *tick_args, self._relaxation_order, bounds, u
        yield BoundKernel(filter_input, *args, fault=failed, inside=inside)

    def _predictor(self, s: Snapshot, u: Vector) -> tuple[TickPredictor, KernelSequence]:
        """Return what predicts the end of a tick that begins at a state."""
        tick_start, blocks = (
            StateArrays(s.clock, s.q, s.v),
            self._task.robot.structure.manifold_table,
        )
        rows, a, steps = self._end_stack.rows, np.zeros(len(s.v)), KernelSequence(())
        tick_end = tick_start
        if self._end_dynamics is not None:
            end = self._end_dynamics.snapshot
            tick_end = StateArrays(end.clock, end.q, end.v)
            a, end_steps = self._end_dynamics.under(u, self._end_stack.steps(end).items)
            steps = KernelSequence(end_steps)
        return TickPredictor(self.period, tick_start, tick_end, blocks, steps.lines, a, rows), steps

    def _conflict_error(self, bounds: QpBounds) -> InfeasibleInequalities:
        firm = np.flatnonzero(self._relaxation_order.is_hard)
        limits, C = (
            LinearBounds(np.eye(len(bounds.low)), bounds.low, bounds.high),
            bounds.C[bounds.row],
        )
        rows = (bounds.sign[:, None] * C)[firm], bounds.lower_bound[firm]
        motors, among = irreducible_infeasible_set(limits, *rows)
        return InfeasibleInequalities(
            [self.names[firm[i]] for i in among], [self._limits.names[i] for i in motors]
        )

    def warnings(self) -> Iterator[str]:
        """Yield what is worth knowing before a run of what can be kept."""
        for keep, inequality in zip(self._inequalities, self._bound_inequalities, strict=True):
            yield from (f"'{inequality.block}': {text}" for text in keep.doubts(self._task))

    def margins_at(self, rows: Rows, a: Vector | None = None) -> tuple[Vector, Vector]:
        """Return what is left of every quantity, and a number that is not negative where it can be
        kept from there on: where it does not shrink too fast.

        Args:
            rows: Of `stack_on` some robot, written at a state.
            a: Its acceleration; without one, both are NaN of quantities that go by it.
        """
        h, b = np.zeros(len(self.barriers.row)), self.barriers
        write_inequalities(rows, b, np.full(rows.A.shape[1], np.nan) if a is None else a, h)
        free, rate = h - b.margin, np.where(b.degree == 2, b.sign * rows.beta[b.row], 0.0)
        slow = b.deceleration / b.pole
        # v with v tau + v^2 / (2 d) = what is free: braking may begin a decay late
        fastest = np.sqrt(slow * slow + 2.0 * b.deceleration * np.maximum(free, 0.0)) - slow
        inward = rate + np.where(b.deceleration > 0.0, fastest, b.pole * free)
        unknown = np.full(len(self.contact_rows), np.nan)  # forces are not those of a state alone
        return np.append(h, unknown), np.append(inward, unknown)

    def labels(self) -> dict[str, tuple[Any, ...]]:
        """Return names, units and margins of the quantities, by what a result calls them."""
        return {
            "keep_rows": self.names,
            "keep_row_units": self.units,
            "keep_row_blocks": self.blocks,
            "keep_row_missed_units": self.relaxation_units,
            "keep_row_margins": (
                *self.barriers.margin.tolist(),
                *self.contact_rows.margin.tolist(),
            ),
        }

    def margin_steps(
        self,
        rows: Rows,
        a: Vector,
        contacts: UnilateralContacts | None,
        reaction: Vector,
        h: Vector,
    ) -> Iterator[KernelStep]:
        """Yield what writes what is left of every quantity at a sample of the true robot.

        Args:
            rows: Of `stack_on` that robot.
            a: Its acceleration.
            contacts: Its own.
            reaction: Of its passive rows.
            h: Receives it.
        """
        count = len(self.barriers.row)
        yield BoundKernel(write_inequalities, rows, self.barriers, a, h[:count])
        yield from self.contact_rows.true_margin_steps(contacts, reaction, h[count:])

    def recorded_arrays(self) -> Mapping[str, Vector]:
        """Return arrays that the next tick overwrites, by what a result calls them."""
        diagnostics = self.diagnostics
        return {
            "keep_binding": diagnostics.active,
            "keep_missed": diagnostics.relaxation,
            "keep_given_up": diagnostics.task_relaxation,
        }


def derivative_unit(unit: str, degree: int) -> str:
    """Return the unit of a derivative: of `m` the second has `m/s^2`, of `m/s` the first has it."""
    base, _, per = (unit or "1").partition("/s")
    power = degree + (int(per.removeprefix("^") or 1) if "/s" in unit else 0)
    return f"{base}/s^{power}".removesuffix("^1") if power else unit


def _relaxation_order(keeps: Sequence[Inequality], owner: Indices) -> RelaxationOrder:
    """Return the order in which quantities give way, the one that gives way last first."""
    orders = [index if keep.order is None else keep.order for index, keep in enumerate(keeps)]
    # firm ones sort before all others
    last = [(keep.gives_way, order) for keep, order in zip(keeps, orders, strict=True)]
    levels = np.array([sorted(set(last)).index(last[k]) for k in owner], dtype=np.int64)
    firm = np.array([not keeps[k].gives_way for k in owner], dtype=bool)
    return RelaxationOrder(np.argsort(levels, kind="stable"), np.cumsum(np.bincount(levels)), firm)
