"""Twists of the four joints, and what (15) to (30) of the paper build from them."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.reference.rotations import hat
from ukctrl_papers.scara.formulas import INERTIAS, L1, L2, MASSES, R1, R2

TWISTS = np.array(
    [[0, 0, 0, 0, 0, 1], [L1, 0, 0, 0, 0, 1], [L1 + L2, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]],
    dtype=float,
)
BODIES = [
    np.diag([m, m, m, 1.0, 1.0, inertia]) for m, inertia in zip(MASSES, INERTIAS, strict=True)
]
"""Inertia matrices; what a turn about a horizontal axis costs does not matter."""


def pose_on_y(y: float) -> Matrix:
    """Return a pose on the y axis."""
    g = np.eye(4)
    g[1, 3] = y
    return g


AT_REST = [pose_on_y(y) for y in (R1, L1 + R2, L1 + L2, L1 + L2)]


def wedge(twist: Vector) -> Matrix:
    """Return a twist (v, w) as an element of se(3)."""
    H = np.zeros((4, 4))
    H[:3, :3], H[:3, 3] = hat(twist[3:]), twist[:3]
    return H


def adjoint(g: Matrix) -> Matrix:
    """Return the adjoint transformation of a pose, for twists (v, w)."""
    R, A = g[:3, :3], np.zeros((6, 6))
    A[:3, :3] = A[3:, 3:] = R
    A[:3, 3:] = hat(g[:3, 3]) @ R
    return A


def twist_bracket(a: Vector, b: Vector) -> Vector:
    """Return the Lie bracket of two twists."""
    w = wedge(a) @ wedge(b) - wedge(b) @ wedge(a)
    return np.array([*w[:3, 3], w[2, 1], w[0, 2], w[1, 0]])


def exponential(twist: Vector, angle: float) -> Matrix:
    """Return the motion by (37), for an axis that the twist does not also slide along."""
    H = wedge(twist)
    if not twist[3:].any():
        return np.asarray(np.eye(4) + angle * H)
    return np.asarray(np.eye(4) + np.sin(angle) * H + (1.0 - np.cos(angle)) * H @ H)


def exponential_product(first: int, last: int, q: Vector) -> Matrix:
    """Return the product of the exponentials of joints ``first`` to ``last``."""
    g = np.eye(4)
    for k in range(first, last + 1):
        g = g @ exponential(TWISTS[k], float(q[k]))
    return g


def link_adjoint(i: int, j: int, q: Vector) -> Matrix:
    """Return A_ij of (25)."""
    if i < j:
        return np.zeros((6, 6))
    return np.asarray(np.linalg.inv(adjoint(exponential_product(j + 1, i, q))), dtype=float)
