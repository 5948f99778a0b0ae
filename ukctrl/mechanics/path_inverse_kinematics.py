"""Inverse kinematics along the path of a task, on any manifold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import StartError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.consistent_state import (
    consistent_configuration,
    consistent_state,
    least_norm_change,
)
from ukctrl.mechanics.constraints import Stack

MAX_HALVINGS = 12
"""How often a step of time is halved before the path counts as ended."""
MAX_JOINT_STEP = 0.3
"""A longer step from one knot to the next is halved: it may be another branch [rad, m]."""
STENCIL_SIZE = 7
"""Knots that a derivative with respect to time is taken from."""


class JointPath(NamedTuple):
    """Configurations that keep the rows, at increasing times."""

    t: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    end_time: float | None
    """When the rows can be kept no longer [s]; None where the walk has reached its goal."""


def follow_path(stack: Stack, q: Vector, times: Vector, rank: RankPolicy = RANK) -> JointPath:
    """Follow holonomic rows from configuration to configuration, by the smallest joint motion.

    Args:
        stack: The rows of the task and the passive ones.
        q: Configuration near the first one, shape ``(nq,)``.
        times: When to stop by, increasing, shape ``(n,)`` [s].
        rank: When rows count as dependent.
    """
    robot, first = stack.robot, float(times[0])
    try:
        q_last = consistent_state(stack, q, np.zeros(robot.nv), first, rank=rank).q
    except StartError:
        return JointPath(times[:0], np.zeros((0, robot.nq)), first)
    snapshot = robot.snapshot(q_last)
    path, t = [q_last], first
    for goal in times[1:].tolist():
        min_step = (goal - t) * 0.5**MAX_HALVINGS
        step = goal - t
        while t < goal:
            target = min(t + step, goal)
            try:
                q_next = consistent_configuration(stack, snapshot, q_last, target, rank=rank)
                # a leap may lead to another branch of the inverse kinematics
                leapt = max_abs(robot.difference(q_last, q_next)) > MAX_JOINT_STEP
            except StartError:
                leapt = True
            if not leapt:
                q_last, t = q_next, target
            elif step > min_step:
                step *= 0.5
            else:
                return JointPath(times[: len(path)], np.array(path), target)
        path.append(q_last)
    return JointPath(times, np.array(path), None)


def joint_rates(stack: Stack, path: JointPath, rank: RankPolicy = RANK) -> tuple[Matrix, Matrix]:
    r"""Return the velocities and accelerations of a walk, shape ``(k, nv)`` each.

    Near a knot $q(t) = q_k \oplus \xi(t)$, and there $v = \dot\xi$ and $a = \ddot\xi$ exactly,
    since the bracket of $\dot\xi$ with itself is zero. Both are taken from seven knots, and then
    moved by the smallest change onto $A v = c$ and $A a = b$: along the rows they are exact.
    """
    robot, count = stack.robot, len(path.t)
    v, a = np.zeros((count, robot.nv)), np.zeros((count, robot.nv))
    snapshot = robot.snapshot(robot.neutral)
    for k, near, first, second in _stencils(path.t):
        xi = np.array([robot.difference(path.q[k], q) for q in path.q[near]])
        v[k], a[k] = first @ xi, second @ xi
    for k, t in enumerate(path.t.tolist()):
        snapshot.move(path.q[k], v[k], t)
        rows = stack.write(snapshot)
        v[k] -= least_norm_change(rows.A, rows.beta, rank)
        snapshot.move(path.q[k], v[k], t)
        rows = stack.write(snapshot)
        a[k] -= least_norm_change(rows.A, rows.A @ a[k] - rows.b, rank)
    return v, a


def _stencils(t: Vector) -> Iterator[tuple[int, slice, Vector, Vector]]:
    """Yield every knot, those around it, and the weights of both derivatives there."""
    count, wide = len(t), min(STENCIL_SIZE, len(t))
    # fewer than three knots have no second derivative: both stay zero
    for k in range(count) if wide > 2 else ():
        begin = min(max(k - wide // 2, 0), count - wide)
        near = slice(begin, begin + wide)
        step = float(t[begin + wide - 1] - t[begin]) / (wide - 1)
        powers = np.vander((t[near] - t[k]) / step, increasing=True).T
        unit = np.eye(wide)
        first, second = np.linalg.solve(powers, unit[1]), np.linalg.solve(powers, 2.0 * unit[2])
        yield k, near, first / step, second / step**2


def time_derivatives(t: Vector, values: Matrix) -> tuple[Matrix, Matrix]:
    """Return the first and the second derivative of values, column by column."""
    first, second = np.zeros_like(values), np.zeros_like(values)
    for k, near, once, twice in _stencils(t):
        first[k], second[k] = once @ values[near], twice @ values[near]
    return first, second
