"""Start states: moving a guess onto the constraints, at position and at velocity level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.certify import RANK
from ukctrl.constraints import Stack
from ukctrl.errors import StartError
from ukctrl.factor import Matrix, Vector, least_norm_into
from ukctrl.robot import Snapshot

TOLERANCE = 1e-12
"""Largest position error that counts as none, relative to 1 + |A| |q|."""
MAX_ITERATIONS = 50


class Start(NamedTuple):
    """A state on the constraints, and how far it is from the guess."""

    q: Vector
    v: Vector
    moved_q: float
    """Length of the tangent step from the guess."""
    moved_v: float
    """Length of the velocity correction."""


def solve_start(stack: Stack, q: Vector, v: Vector, t: float = 0.0) -> Start:
    r"""Move a guess onto all constraints: $\phi(q, t) = 0$, then $A v = c$.

    Gauss-Newton along the smallest motion, $q \leftarrow q \oplus (-A^+ \phi)$; then the
    smallest velocity correction, $v \leftarrow v - A^+ \beta$. Redundant rows are allowed.

    Args:
        stack: The constraints.
        q: Guess of the configuration, shape ``(nq,)``.
        v: Guess of the velocity, shape ``(nv,)``.
        t: Time [s].

    Raises:
        StartError: The constraints cannot be met from here; the worst row is named.
    """
    robot = stack.robot
    snapshot = robot.snapshot(q, v, t)
    solved = solve_positions(stack, snapshot, q, t)
    velocity = v
    for _ in range(MAX_ITERATIONS):  # more than once only where psi is not linear in v
        snapshot.move(solved, velocity, t)
        rows = stack.write(snapshot)
        scale = 1.0 + np.abs(velocity).max(initial=0.0)
        if np.abs(rows.beta).max(initial=0.0) <= TOLERANCE * scale:
            break
        velocity = velocity - _least_norm(rows.A, rows.beta)
    else:
        _refuse(stack, rows.beta, t, "velocity")
    moved = robot.difference(np.ascontiguousarray(q), solved)
    return Start(
        solved, velocity, float(np.linalg.norm(moved)), float(np.linalg.norm(velocity - v))
    )


def solve_positions(stack: Stack, snapshot: Snapshot, q: Vector, t: float) -> Vector:
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
        step = _least_norm(rows.A[stack.holonomic], rows.phi[stack.holonomic])
        length = np.abs(step).max()
        if not np.isfinite(length):
            break
        q = robot.integrate(q, -step / max(1.0, length))  # at most one radian or metre at a time
    _refuse(stack, phi, t, "position")
    raise AssertionError  # _refuse always raises


def _least_norm(A: Matrix, d: Vector) -> Vector:
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
