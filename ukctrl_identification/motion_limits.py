"""What is left of limits along a motion: joints, speeds, motors, things to keep, closed chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.safety import Inequality
from ukctrl.control.safety.barriers import (
    Barriers,
    FilterDiagnostics,
    check_barriers,
    hold_factor,
)
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.mechanics.constraints import Stack
from ukctrl_identification.effort_information import input_matrices
from ukctrl_identification.independent_joints import IndependentJoints, States

MAX_LEVERAGE = 3.0
"""Joints that follow move at most so many times faster than at the start, for the same speed of the
independent ones: where they would move infinitely faster, the closed chain is singular."""


class MotionUsage(NamedTuple):
    """How near a motion comes to one limit."""

    limit: str
    """Such as ``speed of 'joint2'``."""
    used: float
    """Largest part of it; of things to keep the least distance, margins left out."""
    allowed: float
    """Largest part that may be used; of things to keep the least distance that there may be."""
    unit: str
    """Of a distance; empty of parts."""
    time: float
    """When that is [s]."""


class _Limit(NamedTuple):
    """One limit, and what it is left of where its slack is zero."""

    name: str
    allowed: float = 0.0
    unit: str = ""
    is_distance: bool = False
    is_reported: bool = True

    def refusal(self, slack: float, margin: float) -> str:
        """Return why the start is refused whose slack is below zero."""
        if self.is_distance:
            return (
                f"the start must keep {self.name} with its margin, {self.allowed:g} {self.unit}; "
                f"it misses that by {-slack:.3g} {self.unit}. Start elsewhere, or move the limit."
            )
        return (
            f"the start must use at most {self.allowed:.0%} of a limit, {self.name}, so that a "
            f"margin of {margin:g} is left; at rest it uses {self.allowed - slack:.0%}. Start "
            "elsewhere, or take a smaller margin."
        )


@final
class MotionLimits:
    """The limits of a robot, and of what it is to keep.

    Args:
        joints: Its independent joints.
        margin: Share of each limit of the robot that stays unused.
        travel: How far independent joints may go from the start, shape ``(k,)`` [rad or m];
            infinite where their own limits decide.
        keep: What stays at or above zero beside.
        task: What these are bound to.

    Raises:
        InputError: A joint has no range, or something to keep does not fit the robot.
    """

    def __init__(
        self,
        joints: IndependentJoints,
        margin: float,
        travel: Vector,
        keep: Sequence[Inequality] = (),
        task: Task | None = None,
    ) -> None:
        robot = joints.robot
        self.joints, self.margin, self.travel = joints, margin, travel
        lines = [block for block in robot.blocks if block.shape == "line"]
        self._lines = np.array([block.iq for block in lines], dtype=np.int64)
        self._names = [block.dofs[0] for block in lines]
        self._bounds, self.rate_limit = robot.actuation.bounds, robot.input_rate_limit
        self._filter = None
        if keep and task is not None:
            self._filter = SafetyFilter(keep, task, Stack((), robot))
            self._barriers = _slower(self._filter.barriers, margin, self._filter.period)
            self._snapshot = robot.snapshot(joints.start)
            for inequality in keep:
                for motor, rate in inequality.keeps(task).input_rates.items():
                    at = robot.actuators.index(motor)
                    self.rate_limit[at] = min(self.rate_limit[at], rate)
        self.rated = np.flatnonzero(np.isfinite(self.rate_limit))
        """Motors whose inputs have a fastest change."""
        self._require_ranges()
        self.limits = tuple(self._named())

    def reach(self) -> Vector:
        """Return how far each independent joint may go to either side, the larger, ``(k,)``."""
        low, high = self._room()
        return np.asarray(np.maximum(low, high))

    def _room(self) -> tuple[Vector, Vector]:
        """Return how far each independent joint may go to either side, margins left out."""
        robot, at = self.joints.robot, self.joints.positions()
        low, high = np.full((2, self.joints.k), np.inf)
        for j, name in enumerate(self.joints.names):
            if name in self._names:
                iq = self._lines[self._names.index(name)]
                low[j], high[j] = at[j] - robot.q_lower[iq], robot.q_upper[iq] - at[j]
        return np.minimum(low, self.travel), np.minimum(high, self.travel)

    def _require_ranges(self) -> None:
        for name, sides in zip(self.joints.names, zip(*self._room(), strict=True), strict=True):
            if not np.isfinite(sides).all():
                raise InputError(
                    f"joint '{name}' must have a range for an exciting motion; it has no limits. "
                    f"Say how far it may go from the start, such as range = {{ {name} = 0.5 }}."
                )

    def _named(self) -> Iterator[_Limit]:
        """Yield the limits in the order of the columns of `slack`."""
        robot, share = self.joints.robot, 1.0 - self.margin
        for side in ("lower", "upper"):
            for iq, name in zip(self._lines, self._names, strict=True):
                if np.isfinite(getattr(robot, f"q_{side}")[iq]):
                    yield _Limit(f"{side} end of '{name}'", share)
        for name, far in zip(self.joints.names, self.travel, strict=True):
            if np.isfinite(far):
                yield _Limit(f"range of '{name}'", 1.0)
        for name, fast in zip(robot.dofs, robot.velocity_limit, strict=True):
            if np.isfinite(fast):
                yield _Limit(f"speed of '{name}'", share)
        for side, limits in (("lowest", self._bounds.lower), ("highest", self._bounds.upper)):
            for name, most in zip(robot.actuators, limits, strict=True):
                if np.isfinite(most):
                    yield _Limit(f"{side} input of motor '{name}'", share)
        if self._has_followers:
            for name in self.joints.names:
                yield _Limit(f"way of '{name}' to a singular position", 1.0 - 1.0 / MAX_LEVERAGE)
        if self._filter is not None:
            of = zip(
                self._filter.names, self._filter.units, self._filter.barriers.margin, strict=False
            )
            for name, unit, margin in of:
                yield _Limit(f"'{name}'", float(margin), unit, is_distance=True)
            for name in self._filter.names[: len(self._filter.barriers.margin)]:
                yield _Limit(f"approach of '{name}'", 0.0, is_reported=False)
        for at in self.rated:
            yield _Limit(f"rate of motor '{robot.actuators[at]}'", share)

    @property
    def _has_followers(self) -> bool:
        return self.joints.k < self.joints.robot.nv

    def slack(self, states: States, u: Matrix) -> Matrix:
        """Return what is left of each limit above its margin, shape ``(n, m)``.

        Args:
            states: The motion.
            u: Inputs of the motors, shape ``(n, nu)``.
        """
        robot, share, columns = self.joints.robot, 1.0 - self.margin, list[Matrix]()
        q, start = states.q[:, self._lines], self.joints.start[self._lines]
        low, high = robot.q_lower[self._lines], robot.q_upper[self._lines]
        # parts of half the range from its middle; of one end alone, of the way to it
        half = np.where(np.isfinite(high - low), 0.5 * (high - low), np.inf)
        for limit, sign in ((low, 1.0), (high, -1.0)):
            some = np.isfinite(limit)
            size = np.where(np.isfinite(half), half, np.maximum(sign * (start - limit), 1e-9))[some]
            columns.append(sign * (q[:, some] - limit[some]) / size - self.margin)
        some = np.isfinite(self.travel)
        columns.append(1.0 - np.abs(states.y[:, some]) / self.travel[some])
        some = np.isfinite(robot.velocity_limit)
        columns.append(share - np.abs(states.v[:, some]) / robot.velocity_limit[some])
        columns += self._motor_slack(states, u)
        if states.tangent is not None:
            lever = np.linalg.norm(states.tangent, axis=1)
            columns.append(self.joints.leverage / lever - 1.0 / MAX_LEVERAGE)
        if self._filter is not None:
            columns.append(self._kept_slack(states))
        return np.hstack(columns)

    def _motor_slack(self, states: States, u: Matrix) -> list[Matrix]:
        """Return what is left of the highest and the lowest inputs, at the speed of each motor."""
        bounds, share = self._bounds, 1.0 - self.margin
        B = input_matrices(self.joints.robot, states.q)
        speed = (states.v[:, None] @ B)[:, 0]
        size = np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))
        columns = []
        for limit, sign in ((bounds.lower, -1.0), (bounds.upper, 1.0)):
            some = np.isfinite(limit)
            left = np.ones((len(u), int(some.sum())))
            falls = np.isfinite(bounds.no_load[some])
            fall = (bounds.no_load - bounds.corner)[some][falls]
            at = (bounds.no_load[some][falls] - sign * speed[:, some][:, falls]) / fall
            left[:, falls] = np.clip(at, 0.0, 1.0)
            columns.append(sign * (share * left * limit[some] - u[:, some]) / size[some])
        return columns

    def _kept_slack(self, states: States) -> Matrix:
        """Return what is left of what is kept, and of how hard the law lets it change."""
        assert self._filter is not None
        stack, barriers, period = self._filter.stack, self._barriers, self._filter.period
        count, none = len(barriers.row), np.zeros(0)
        h, rate, bound, active, relaxed = np.zeros((5, count))
        of_stack = np.zeros((2, len(stack)))
        found = FilterDiagnostics(h, rate, bound, active, relaxed, none, none, *of_stack)
        slack = np.zeros((len(states.q), 2 * count))
        for n, t in enumerate(states.time.tolist()):
            self._snapshot.move(states.q[n], states.v[n], t)
            rows = stack.write(self._snapshot)
            check_barriers(
                rows, barriers, period, states.a[n], none, none, none, found, np.zeros(1)
            )
            gained = barriers.sign * found.row_residual[barriers.row]
            slack[n] = np.append(found.h - barriers.margin, gained - found.lower_bound)
        return slack

    def rate_slack(self, u: Matrix, step: float) -> tuple[Matrix, Matrix]:
        """Return what is left of the rates of inputs over a period, and its derivative with them.

        Args:
            u: Inputs at even instants of one period, shape ``(n, nu)``.
            step: Time between them [s].

        Returns:
            Both of shape ``(n, r)`` for the ``r`` motors that have a limit.
        """
        rate, limit = rate_of_change(u[:, self.rated], step), self.rate_limit[self.rated]
        return 1.0 - self.margin - np.abs(rate) / limit, -np.sign(rate) / limit

    def whole_slack(self, states: States, u: Matrix) -> Matrix:
        """Return what is left of all limits at even instants of one period, shape ``(n, m)``."""
        step = float(states.time[1] - states.time[0])
        return np.hstack([self.slack(states, u), self.rate_slack(u, step)[0]])

    def usage(self, states: States, u: Matrix) -> tuple[MotionUsage, ...]:
        """Return how near a motion comes to each limit, at even instants of one period."""
        result = []
        for limit, slack in zip(self.limits, self.whole_slack(states, u).T, strict=True):
            if limit.is_reported:
                n = first_smallest(slack)
                used = slack[n] + limit.allowed if limit.is_distance else limit.allowed - slack[n]
                named = limit.name, float(used), limit.allowed, limit.unit
                result.append(MotionUsage(*named, float(states.time[n])))
        return tuple(result)


def _slower(barriers: Barriers, margin: float, period: float) -> Barriers:
    """Return barriers that are approached more gently: a law has to change nothing near them."""
    pole = (1.0 - margin) * barriers.pole
    return barriers._replace(
        pole=pole,
        deceleration=(1.0 - margin) * barriers.deceleration,
        hold_factor=np.array([hold_factor(x) for x in pole * period]),
    )


def rate_of_change(x: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return the derivative of periodic samples, time first, by central differences."""
    return np.asarray((np.roll(x, -1, axis=0) - np.roll(x, 1, axis=0)) / (2.0 * step))
