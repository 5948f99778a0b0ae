"""Start states: moving a guess onto the constraints, at position and at velocity level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.certify import RANK
from ukctrl.constraints import Stack
from ukctrl.errors import StartError
from ukctrl.factor import Matrix, Vector, least_norm_into
from ukctrl.robot import Robot, Snapshot

TOLERANCE = 1e-12
"""Largest position error that counts as none, relative to 1 + |A| |q|."""
MAX_ITERATIONS = 50
STRIDE = 0.2
"""How far held coordinates move at a time on their way to where they are wanted [rad, m]."""


class Start(NamedTuple):
    """A state on the constraints, and how far it is from the guess."""

    q: Vector
    v: Vector
    moved_q: float
    """Length of the tangent step from the guess."""
    moved_v: float
    """Length of the velocity correction."""


def solve_start(
    stack: Stack,
    q: Vector,
    v: Vector,
    t: float = 0.0,
    held: Sequence[int] = (),
    home: Vector | None = None,
) -> Start:
    r"""Move a guess onto all constraints: $\phi(q, t) = 0$, then $A v = c$.

    Gauss-Newton along the smallest motion, $q \leftarrow q \oplus (-A^+ \phi)$; then the
    smallest velocity correction, $v \leftarrow v - A^+ \beta$. Redundant rows are allowed.

    Args:
        stack: The constraints.
        q: Guess of the configuration, shape ``(nq,)``.
        v: Guess of the velocity, shape ``(nv,)``.
        t: Time [s].
        held: Indices of velocities along which nothing may be moved.
        home: A configuration near the constraints, shape ``(nq,)``. From there the held ones go
            to where the guess has them in small strides, and the others follow.

    Raises:
        StartError: The constraints cannot be met from here; the worst row is named.
    """
    robot = stack.robot
    snapshot = robot.snapshot(q, v, t)
    solved = q
    if held and home is not None:
        way = np.zeros(robot.nv)
        way[held] = robot.difference(home, np.ascontiguousarray(q))[held]
        strides = math.ceil(np.abs(way).max() / STRIDE)
        solved = robot.integrate(q, -way)
        for _ in range(strides):
            solved = solve_positions(stack, snapshot, solved, t, held)
            solved = robot.integrate(solved, way / strides)
        solved = _with(robot, solved, q, held)
    solved = solve_positions(stack, snapshot, solved, t, held)
    velocity = v
    for _ in range(MAX_ITERATIONS):  # more than once only where psi is not linear in v
        snapshot.move(solved, velocity, t)
        rows = stack.write(snapshot)
        scale = 1.0 + np.abs(velocity).max(initial=0.0)
        if np.abs(rows.beta).max(initial=0.0) <= TOLERANCE * scale:
            break
        velocity = velocity - _least_norm(rows.A, rows.beta, held)
    else:
        _refuse(stack, rows.beta, t, "velocity")
    moved = robot.difference(np.ascontiguousarray(q), solved)
    return Start(
        solved, velocity, float(np.linalg.norm(moved)), float(np.linalg.norm(velocity - v))
    )


def _with(robot: Robot, q: Vector, given: Vector, held: Sequence[int]) -> Vector:
    """Return ``q`` with the held coordinates as given, to the last digit."""
    step = np.zeros(robot.nv)
    step[held] = robot.difference(q, given)[held]
    return robot.integrate(q, step)


def solve_positions(
    stack: Stack, snapshot: Snapshot, q: Vector, t: float, held: Sequence[int] = ()
) -> Vector:
    """Return the configuration near ``q`` that meets the holonomic rows at time ``t``.

    ``snapshot`` is moved about; the other arguments and errors are those of `solve_start`.
    """
    robot, at_rest = stack.robot, np.zeros(stack.robot.nv)
    for _ in range(MAX_ITERATIONS):
        snapshot.move(q, at_rest, t)
        rows = stack.write(snapshot)
        phi = np.where(stack.holonomic, rows.phi, 0.0)
        # Rounding leaves each row as much as its largest term has.
        scale = 1.0 + np.abs(q).max(initial=0.0) * np.abs(rows.A).max(initial=0.0)
        if np.abs(phi).max(initial=0.0) <= TOLERANCE * scale:
            return q
        step = _least_norm(rows.A[stack.holonomic], rows.phi[stack.holonomic], held)
        length = np.abs(step).max()
        if not np.isfinite(length):
            break
        q = robot.integrate(q, -step / max(1.0, length))  # at most one radian or metre at a time
    _refuse(stack, phi, t, "position")
    raise AssertionError  # _refuse always raises


def _least_norm(A: Matrix, d: Vector, held: Sequence[int]) -> Vector:
    if held:
        A = A.copy()
        A[:, held] = 0.0  # a column of zeros gets no part of the least-norm solution
    x: Vector = np.empty(A.shape[1])
    least_norm_into(A, d, RANK.passive, x)
    return x


def _refuse(stack: Stack, error: Vector, t: float, level: str) -> None:
    worst = int(np.argmax(np.abs(np.nan_to_num(error, nan=np.inf))))
    raise StartError(
        f"no {level} near the start meets all constraints at t = {t:g} s; worst row "
        f"'{stack.names[worst]}' is off by {abs(error[worst]):.1e} {stack.units[worst]}. "
        "Start closer, or check that the path is within reach."
    )
