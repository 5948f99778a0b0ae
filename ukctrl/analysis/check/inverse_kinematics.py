"""Inverse kinematics along the path of a task, on any manifold, and which rows end it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.algebra.differences import shortened
from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import StartError, quoted
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.start import least_change, met_elsewhere, solve_positions, solve_start

HALVINGS = 12
"""How often a step of time is halved before the path counts as ended."""
LEAP = 0.3
"""A longer step from one knot to the next is halved: it may be another branch [rad, m]."""
WINDOW = 7
"""Knots that a derivative with respect to time is taken from."""


class Walk(NamedTuple):
    """Configurations that keep the rows, at evenly spaced times."""

    t: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    end: float | None
    """When the rows can be kept no longer [s]; None where the walk has reached its goal."""


def walk(stack: Stack, q: Vector, times: Vector, rank: RankPolicy = RANK) -> Walk:
    """Follow holonomic rows from configuration to configuration, by the smallest joint motion.

    Args:
        stack: The rows of the task and the passive ones.
        q: Configuration near the first one, shape ``(nq,)``.
        times: When to stop by, evenly spaced, shape ``(n,)`` [s].
        rank: When rows count as dependent.
    """
    robot, first = stack.robot, float(times[0])
    try:
        here = solve_start(stack, q, np.zeros(robot.nv), first, rank=rank).q
    except StartError:
        return Walk(times[:0], np.zeros((0, robot.nq)), first)
    snapshot = robot.snapshot(here)
    found, t = [here], first
    for goal in times[1:].tolist():
        least = (goal - t) * 0.5**HALVINGS
        step = goal - t
        while t < goal:
            target = min(t + step, goal)
            try:
                ahead = solve_positions(stack, snapshot, here, target, rank=rank)
                leapt = max_abs(robot.difference(here, ahead)) > LEAP
            except StartError:
                leapt = True
            if not leapt:
                here, t = ahead, target
            elif step > least:
                step *= 0.5
            else:
                return Walk(times[: len(found)], np.array(found), target)
        found.append(here)
    return Walk(times, np.array(found), None)


def rates(stack: Stack, path: Walk, rank: RankPolicy = RANK) -> tuple[Matrix, Matrix]:
    r"""Return the velocities and accelerations of a walk, shape ``(k, nv)`` each.

    Near a knot $q(t) = q_k \oplus \xi(t)$, and there $v = \dot\xi$ and $a = \ddot\xi$ exactly,
    since the bracket of $\dot\xi$ with itself is zero. Both are taken from seven knots, and then
    moved by the smallest change onto $A v = c$ and $A a = b$: along the rows they are exact.
    """
    robot, count = stack.robot, len(path.t)
    v, a = np.zeros((count, robot.nv)), np.zeros((count, robot.nv))
    snapshot = robot.snapshot(robot.neutral)
    for k, near, first, second, step in _windows(path.t):
        xi = np.array([robot.difference(path.q[k], q) for q in path.q[near]])
        v[k], a[k] = first @ xi / step, second @ xi / step**2
    for k, t in enumerate(path.t.tolist()):
        snapshot.move(path.q[k], v[k], t)
        rows = stack.write(snapshot)
        v[k] -= least_change(rows.A, rows.beta, rank)
        snapshot.move(path.q[k], v[k], t)
        rows = stack.write(snapshot)
        a[k] -= least_change(rows.A, rows.A @ a[k] - rows.b, rank)
    return v, a


def _windows(t: Vector) -> Iterator[tuple[int, slice, Vector, Vector, float]]:
    """Yield every knot, those around it, the weights of both derivatives there, and the step."""
    count, wide = len(t), min(WINDOW, len(t))
    for k in range(count) if wide > 2 else ():
        begin = min(max(k - wide // 2, 0), count - wide)
        yield k, slice(begin, begin + wide), *_derivatives(begin - k, wide), float(t[1] - t[0])


def _derivatives(first: int, count: int) -> tuple[Vector, Vector]:
    """Return weights of the first and the second derivative at 0 of values at integers."""
    at = np.arange(first, first + count, dtype=np.float64)
    powers = np.vander(at, increasing=True).T
    unit = np.eye(count)
    return np.linalg.solve(powers, unit[1]), np.linalg.solve(powers, 2.0 * unit[2])


def time_derivatives(t: Vector, values: Matrix) -> tuple[Matrix, Matrix]:
    """Return the first and the second derivative of evenly spaced values, column by column."""
    first, second = np.zeros_like(values), np.zeros_like(values)
    for k, near, once, twice, step in _windows(t):
        first[k] = once @ values[near] / step
        second[k] = twice @ values[near] / step**2
    return first, second


class Clash(NamedTuple):
    """Rows that no configuration nearby meets together."""

    rows: tuple[str, ...]
    """Names, the worst first."""
    blocks: tuple[str, ...]
    """The constraints that they belong to."""
    left: float
    """By how much the worst of them is missed [its unit]."""
    unit: str


MAX_TRIALS = 200
STRIDE = 1.0
"""The longest step of a search [rad or m]."""
SHARE = 0.05
"""A row with less than this of the largest error has no part in a clash."""


def clash(stack: Stack, q: Vector, t: float) -> Clash:
    r"""Return which rows stand against each other at a time: those of the nearest miss.

    Where $|\phi|^2$ is least and not zero, $A^\top \phi = 0$: the errors themselves are the weights
    with which the rows contradict each other, and a row with none of them has no part in it.
    """
    robot = stack.robot
    snapshot, rest = robot.snapshot(q), np.zeros(robot.nv)

    def errors(q: Vector) -> tuple[Matrix, Vector]:
        snapshot.move(q, rest, t)
        rows = stack.write(snapshot)
        return rows.A[stack.holonomic].copy(), rows.phi[stack.holonomic].copy()

    A, phi = errors(q)
    damping = 1e-3
    for _ in range(MAX_TRIALS):
        normal = A.T @ A
        scale = damping * (np.trace(normal) / len(normal) + 1e-12)
        step = np.linalg.solve(normal + scale * np.eye(len(normal)), A.T @ phi)
        trial = robot.integrate(q, -shortened(step, STRIDE))
        trial_errors = errors(trial)
        if trial_errors[1] @ trial_errors[1] < phi @ phi:
            gained = 1.0 - (trial_errors[1] @ trial_errors[1]) / (phi @ phi)
            q, (A, phi), damping = trial, trial_errors, max(0.1 * damping, 1e-9)
            if gained < 1e-10:
                break
        elif damping > 1e9:
            break
        else:
            damping *= 10.0
    size = np.zeros(len(stack))
    size[stack.holonomic] = np.abs(phi)
    order = [i for i in np.argsort(-size).tolist() if size[i] >= SHARE * max_abs(size)]
    return Clash(
        rows=tuple(stack.names[i] for i in order),
        blocks=tuple(dict.fromkeys(stack.blocks[i] for i in order)),
        left=float(size[order[0]]),
        unit=stack.units[order[0]],
    )


LOOKS = tuple(2.0**-k for k in range(8, 3, -1)) + tuple(k / 12.0 for k in range(1, 13))
"""Parts of the time from the end of a motion to that of the run, when it is looked at again."""
SOON = 6
"""The first of them say whether rows can be met or not; the others by how much they are missed."""
MET = 1e-9
"""Rows that miss by less can be met [unit]."""


@dc.dataclass(frozen=True, kw_only=True)
class Stop:
    """Where a motion ends before the run does."""

    t: float
    """[s]."""
    why: Literal["reach", "conflict", "branch", "law"]
    """No configuration meets one constraint; or several together; or they can be met, but only by a
    leap; or the law that moves the robot gives up."""
    rows: tuple[str, ...]
    """The rows that are to blame, the worst first."""
    text: str
    """The same as a sentence."""


def blamed(stack: Stack, q: Vector, t: float, end: float, own: int, text: str = "") -> Stop:
    """Say which rows end a motion at a time.

    Args:
        stack: The passive rows, and then those of the task.
        q: The last configuration that met them, shape ``(nq,)``.
        t: When they could be met no longer [s].
        end: End of the run [s].
        own: The number of passive rows.
        text: What to say where no row is to blame.
    """
    if not stack.holonomic.any():
        return Stop(t=t, why="law", rows=(), text=text)
    looks = [(t, clash(stack, q, t))]
    for part in LOOKS:
        later = t + part * max(end - t, 0.0)
        looks.append((later, clash(stack, q, later)))
    # What grows too slowly to be seen at once has been seen a little later.
    seen = [found for _, found in looks[:SOON] if found.left > MET]
    at, worst = looks[first_largest([found.left for _, found in looks])]
    if not seen:
        text = text or (
            f"at t = {t:.4g} s the joints would have to leap: the motion cannot be continued past "
            "a singular position."
        )
        return Stop(t=t, why="branch", rows=(), text=text)
    passive = set(stack.names[:own])
    found = seen[first_largest([clash.left for clash in seen])]
    rows = tuple(row for row in found.rows if row not in passive) or found.rows
    blocks = {stack.blocks[stack.names.index(row)] for row in rows}
    named = quoted(rows)
    missed = f"by up to {f'{worst.left:.2g} {worst.unit}'.strip()} (t = {at:.4g} s)"
    if len(blocks) == 1:
        which = f"row {named} is" if len(rows) == 1 else f"rows {named} are"
        if met_elsewhere(stack, at) is not None:
            text = (
                f"{which.rpartition(' ')[0]} cannot be kept from t = {t:.4g} s on: the motion runs "
                f"into a dead end, {missed}, though other positions meet it. Start in another."
            )
            return Stop(t=t, why="branch", rows=rows, text=text)
        text = f"{which} out of reach from t = {t:.4g} s on, {missed}."
        return Stop(t=t, why="reach", rows=rows, text=text)
    text = f"rows {named} contradict each other from t = {t:.4g} s on; they are missed {missed}."
    return Stop(t=t, why="conflict", rows=rows, text=text)
