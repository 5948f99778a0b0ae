"""What looks at every input of a law, whichever it is, and changes it where it must."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ukctrl.control.allocation.input_limits import InputLimits
from ukctrl.control.allocation.metric import AnyMetric, InputMetric
from ukctrl.control.allocation.row_order import Order, Ordered, row_scale
from ukctrl.control.allocation.within_limits import Box
from ukctrl.control.keep.barriers import (
    Account,
    Barriers,
    held_share,
    left_of,
    look_back,
    nothing_binds,
)
from ukctrl.control.keep.contact_forces import Loads
from ukctrl.control.keep.keep import Keep, Kept
from ukctrl.control.keep.kept_input import CONTRADICTED, Served, kept_input
from ukctrl.control.keep.prediction import Ahead, Asked, Moved, Place
from ukctrl.control.keep.program import Yielding, conflicting_set
from ukctrl.control.task import Task
from ukctrl.control.tick import Tick
from ukctrl.core.algebra import separate
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, NotFinite, UkctrlError, quoted
from ukctrl.core.files.toml import blaming
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.contacts import Contacts
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot, Snapshot


class CannotBeKept(InfeasibleConstraint):
    """No input within the motors' limits keeps everything that may not give way."""

    def __init__(self, kept: Sequence[str], motors: Sequence[str]) -> None:
        self.rows, self.miss, self.rank, self.count, self.advice = (), (), 0, 0, None
        limits = f" and the limits of {quoted(motors)}" if motors else ""
        UkctrlError.__init__(
            self,
            f"rows to keep {quoted(kept)}{limits} contradict each other, and none may give way. "
            "Let one (gives_way = true), or start further from these limits, or slower.",
        )


@final
class Keeper:
    """Things to keep, bound to a believed robot and its task.

    Attributes:
        names: Of the quantities, ``block.side``.
        units: Of the quantities.
        blocks: Which block each belongs to.
        barriers: What each asks.
        account: What was found at the last tick.

    Args:
        keeps: What is kept, as in a file.
        task: The task, with the believed robot.
        servo: The servo rows that give way to it.
        order: The order in which they do, the last first; absent: block by block.
        metric: In which an input is near to another.
    """

    def __init__(
        self,
        keeps: Sequence[Keep],
        task: Task,
        servo: Stack,
        order: Order | None = None,
        metric: AnyMetric = "effort",
    ) -> None:
        self._task, self.servo, self._keeps = task, servo, tuple(keeps)
        self._kept = tuple(self._read(keeps, task))
        self.period = float(task.period or 0.0)
        sides = [(k, side) for k, kept in enumerate(self._kept) for side in kept.sides]
        self.stack = self.stack_on(task.robot)
        starts = np.cumsum([0, *(len(part.names) for part in self.stack.attached)])
        self.loads = Loads([(k, own) for k, kept in enumerate(self._kept) for own in kept.cones])
        owner = np.array([*(k for k, _ in sides), *self.loads.owner], dtype=np.intp)
        names = (*(side.name for _, side in sides), *self.loads.names)
        self.blocks = tuple(self._kept[k].block for k in owner)
        self.names = tuple(
            f"{block}.{name}".removesuffix(".")
            for block, name in zip(self.blocks, names, strict=True)
        )
        self.units = (*(side.unit for _, side in sides), *self.loads.units)
        missed = (after(side.unit, side.degree) for _, side in sides)
        self.missed_units = (*missed, *self.loads.units)
        poles = np.array([1.0 / keeps[k].decay for k, _ in sides])
        self.barriers = Barriers(
            np.array([starts[k] + side.row for k, side in sides], dtype=np.int64),
            np.array([side.sign for _, side in sides]),
            np.array([side.shift for _, side in sides]),
            np.array([side.margin for _, side in sides]),
            np.array([side.degree for _, side in sides], dtype=np.int64),
            poles,
            np.array([side.brake for _, side in sides]),
            np.array([held_share(pole * self.period) for pole in poles]),
        )
        self._yielding = _yielding(keeps, owner)
        found, count = np.zeros((5, len(owner))), len(sides)
        others = np.zeros(len(servo)), *np.zeros((2, len(self.stack)))
        self.account = Account(*found, *others)
        self.account.least[count:] = self.loads.least
        self._of_rows, self._forces = Account(*found[:, :count], *others), found[0, count:]
        self._limits, self._metric = self._limits_of(task), InputMetric(metric, task)
        self._order = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(servo):
            levels = Ordered(order, servo)
            scale = row_scale(servo, self._metric, task)[levels.rows]
            self._order = levels.rows, levels.ends, scale
        self._ahead = Dynamics(task.robot, task.rank, task.gains) if self.period else None
        self._there = self.stack_on(task.robot)

    @property
    def robots(self) -> tuple[Dynamics, ...]:
        """What it works with beside the robot of a tick, whose contacts follow that one's."""
        return () if self._ahead is None else (self._ahead,)

    def _read(self, keeps: Sequence[Keep], task: Task) -> Iterator[Kept]:
        taken: dict[str, int] = {}
        if not task.robot.nu:
            raise InputError(
                f"keep needs motors; robot '{task.robot.name}' has none, and nothing can be kept."
            )
        for number, keep in enumerate(keeps):
            with blaming(f"keep[{number}]"):
                if keep.decay < (task.period or 0.0):
                    raise InputError(
                        f"decay must be at least the control period, {task.period:g} s; got "
                        f"{keep.decay:g} s. No input holds for less."
                    )
                kept: object = keep.keeps(task)
                if not isinstance(kept, Kept):
                    raise InputError(f"keeps must return a Kept; got {type(kept).__name__}.")
            taken[kept.block] = taken.get(kept.block, 0) + 1
            if taken[kept.block] > 1 and keep.name:
                raise InputError(f"keep[{number}]: name '{keep.name}' is another block's already.")
            times = taken[kept.block]
            yield kept if times == 1 else kept._replace(block=f"{kept.block}_{times}")

    def _limits_of(self, task: Task) -> InputLimits:
        """Return the limits of inputs, and those of their rates that anything to keep has."""
        rates: dict[str, float] = {}
        for kept in self._kept:
            for motor, rate in kept.input_rates.items():
                rates[motor] = min(rate, rates.get(motor, np.inf))
        return InputLimits(None, task, rates)

    def stack_on(self, robot: Robot) -> Stack:
        """Return the rows of which the quantities are made, on a robot of the same freedoms."""
        return Stack([kept.constraint for kept in self._kept], robot, key="keep")

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        """Yield what changes the input of a tick where it must, after the law has written it."""
        d, u = dynamics, tick.u
        a, low, high = np.zeros(d.robot.nv), np.zeros(len(u)), np.zeros(len(u))
        yield from self.stack.steps(d.snapshot).every
        slow = self.period > 0.0 and bool(self._limits.slow)
        last, held = np.zeros(len(u) + 1 if slow else 0), np.full((2, len(u) + 1), -np.inf)
        if slow:
            yield Call(look_back, d.snapshot.clock, held, last)
        yield from self._limits.steps(d.snapshot, last, low, high)
        yield Call(separate.acceleration, d.ties, d.a_free, d.G, u, a)
        D, forces = self.loads.steps(d, a, u, self._forces)
        yield from forces
        alert = np.zeros(1)
        given = self.stack.rows, self.barriers, self.period, a, u, low, high, self._of_rows
        yield Call(nothing_binds, *given, alert)
        if forces:
            yield self.loads.look_step(self._forces, alert)
        yield Steps(self._careful(d, D, u, low, high)).where(alert, 1)
        if slow:
            yield Call(copy_into, u, held[1, :-1])
            yield Call(copy_into, d.snapshot.clock, held[1, -1:])

    def _careful(
        self, dynamics: Dynamics, D: Matrix, u: Vector, low: Vector, high: Vector
    ) -> Iterator[Step]:
        """Yield what writes the input that keeps what is to be kept; ``D`` is of forces."""
        d, s, (nu, m, k) = dynamics, dynamics.snapshot, (len(u), len(self.stack), len(self.names))
        C, force, gains = self.loads.gains(d, D, nu + m)
        C[:nu] = np.eye(nu)
        yield from gains
        S, steps = self._metric.freedom_steps(d)
        yield from steps
        yield from self.servo.steps(s).every
        row = np.append(nu + self.barriers.row, nu + m + np.arange(len(self.loads)))
        sign = np.append(self.barriers.sign, np.ones(len(self.loads)))
        served = Served(self.servo.rows.A, *self._order, S, float(self._task.rank.servo))
        asked = Asked(low, high, C, force, row, sign, np.zeros(k))
        robot = Moved(d.ties, d.a_free, d.G, d.L, d.motors)
        ahead, inside = self._predicting(s, u)
        given = self.stack.rows, self.barriers, self.account, robot, ahead, served

        def failed(code: int) -> Exception:
            if code == CONTRADICTED:
                return self._conflict(asked)
            return NotFinite("rows to keep must be finite; they are not at this state.")

        found = *given, self._yielding, asked, u
        yield Call(kept_input, *found, fault=failed, inside=inside)

    def _predicting(self, s: Snapshot, u: Vector) -> tuple[Ahead, Steps]:
        """Return what predicts the end of a tick that begins at a state."""
        here, blocks = Place(s.clock, s.q, s.v), self._task.robot.structure.configurations
        rows, a, steps = self._there.rows, np.zeros(len(s.v)), Steps(())
        there = here
        if self._ahead is not None:
            end = self._ahead.snapshot
            there = Place(end.clock, end.q, end.v)
            a, every = self._ahead.under(u, self._there.steps(end).every)
            steps = Steps(every)
        return Ahead(self.period, here, there, blocks, steps.lines, a, rows), steps

    def _conflict(self, asked: Asked) -> CannotBeKept:
        firm = np.flatnonzero(self._yielding.firm)
        limits, C = Box(np.eye(len(asked.low)), asked.low, asked.high), asked.C[asked.row]
        rows = (asked.sign[:, None] * C)[firm], asked.least[firm]
        motors, among = conflicting_set(limits, *rows)
        return CannotBeKept(
            [self.names[firm[i]] for i in among], [self._limits.names[i] for i in motors]
        )

    def doubts(self) -> Iterator[str]:
        """Yield what is worth knowing before a run of what can be kept."""
        for keep, kept in zip(self._keeps, self._kept, strict=True):
            yield from (f"'{kept.block}': {text}" for text in keep.doubts(self._task))

    def state_of(self, rows: Rows, a: Vector | None = None) -> tuple[Vector, Vector]:
        """Return what is left of every quantity, and a number that is not negative where it can be
        kept from there on: where it does not shrink too fast.

        Args:
            rows: Of `stack_on` some robot, written at a state.
            a: Its acceleration; without one, both are NaN of quantities that go by it.
        """
        h, b = np.zeros(len(self.barriers.row)), self.barriers
        left_of(rows, b, np.full(rows.A.shape[1], np.nan) if a is None else a, h)
        free, rate = h - b.margin, np.where(b.degree == 2, b.sign * rows.beta[b.row], 0.0)
        slow = b.brake / b.pole
        fastest = np.sqrt(slow * slow + 2.0 * b.brake * np.maximum(free, 0.0)) - slow
        inward = rate + np.where(b.brake > 0.0, fastest, b.pole * free)
        unknown = np.full(len(self.loads), np.nan)  # forces are not those of a state alone
        return np.append(h, unknown), np.append(inward, unknown)

    def labels(self) -> dict[str, tuple[Any, ...]]:
        """Return names, units and margins of the quantities, by what a result calls them."""
        return {
            "keep_rows": self.names,
            "keep_row_units": self.units,
            "keep_row_blocks": self.blocks,
            "keep_row_missed_units": self.missed_units,
            "keep_row_margins": (*self.barriers.margin.tolist(), *self.loads.margin.tolist()),
        }

    def left_steps(
        self, rows: Rows, a: Vector, contacts: Contacts | None, reaction: Vector, h: Vector
    ) -> Iterator[Step]:
        """Yield what writes what is left of every quantity at a sample of the true robot.

        Args:
            rows: Of `stack_on` that robot.
            a: Its acceleration.
            contacts: Its own.
            reaction: Of its passive rows.
            h: Receives it.
        """
        count = len(self.barriers.row)
        yield Call(left_of, rows, self.barriers, a, h[:count])
        yield from self.loads.seen_steps(contacts, reaction, h[count:])

    def told(self) -> Mapping[str, Vector]:
        """Return arrays that the next tick overwrites, by what a result calls them."""
        account = self.account
        return {
            "keep_binding": account.binding,
            "keep_missed": account.missed,
            "keep_given_up": account.given_up,
        }


def after(unit: str, degree: int) -> str:
    """Return the unit of a derivative: of `m` the second has `m/s^2`, of `m/s` the first has it."""
    base, _, per = (unit or "1").partition("/s")
    power = degree + (int(per.removeprefix("^") or 1) if "/s" in unit else 0)
    return f"{base}/s^{power}".removesuffix("^1") if power else unit


def _yielding(keeps: Sequence[Keep], owner: Indices) -> Yielding:
    """Return the order in which quantities give way, the one that gives way last first."""
    orders = [place if keep.order is None else keep.order for place, keep in enumerate(keeps)]
    last = [(keep.gives_way, order) for keep, order in zip(keeps, orders, strict=True)]
    levels = np.array([sorted(set(last)).index(last[k]) for k in owner], dtype=np.int64)
    firm = np.array([not keeps[k].gives_way for k in owner], dtype=bool)
    return Yielding(np.argsort(levels, kind="stable"), np.cumsum(np.bincount(levels)), firm)
