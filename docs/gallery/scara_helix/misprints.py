"""Evaluate the misprinted formulas of Xu & Liu (2017) beside the corrected ones.

The paper's Coriolis and mass matrices (34), (35) are right. Each formula that should lead to
them is evaluated as printed and as corrected, at one configuration.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from paper import L1, L2
from scipy.linalg import expm

Matrix = NDArray[np.float64]
Q = np.array([0.3, -0.8, 0.5, 0.1])
"""Where the formulas are evaluated [rad, m]."""

MASS, R1, R2 = (20.0, 15.0, 15.0, 0.5), 0.1, 0.125
TURN = (0.27, 0.31, 0.02, 0.0001)
TWISTS = np.array(
    [[0, 0, 0, 0, 0, 1], [L1, 0, 0, 0, 0, 1], [L1 + L2, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]],
    dtype=float,
)
BODIES = [np.diag([m, m, m, 1.0, 1.0, inertia]) for m, inertia in zip(MASS, TURN, strict=True)]


def place(y: float) -> Matrix:
    """Return a pose on the y axis."""
    g = np.eye(4)
    g[1, 3] = y
    return g


AT_REST = [place(y) for y in (R1, L1 + R2, L1 + L2, L1 + L2)]


def cross(w: Matrix) -> Matrix:
    """Return the matrix of the cross product."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def hat(twist: Matrix) -> Matrix:
    """Return a twist (v, w) as an element of se(3)."""
    H = np.zeros((4, 4))
    H[:3, :3], H[:3, 3] = cross(twist[3:]), twist[:3]
    return H


def adjoint(g: Matrix) -> Matrix:
    """Return the adjoint transformation of a pose, for twists (v, w)."""
    R, A = g[:3, :3], np.zeros((6, 6))
    A[:3, :3] = A[3:, 3:] = R
    A[:3, 3:] = cross(g[:3, 3]) @ R
    return A


def bracket(a: Matrix, b: Matrix) -> Matrix:
    """Return the Lie bracket of two twists."""
    w = hat(a) @ hat(b) - hat(b) @ hat(a)
    return np.array([*w[:3, 3], w[2, 1], w[0, 2], w[1, 0]])


def turned(first: int, last: int, q: Matrix) -> Matrix:
    """Return the product of the exponentials of joints ``first`` to ``last``."""
    g = np.eye(4)
    for k in range(first, last + 1):
        g = g @ expm(hat(TWISTS[k]) * q[k])
    return g


def A_(i: int, j: int, q: Matrix) -> Matrix:
    """Return A_ij of (25)."""
    return np.linalg.inv(adjoint(turned(j + 1, i, q))) if i >= j else np.zeros((6, 6))


def mass(q: Matrix) -> Matrix:
    """Return M of (34)."""
    m1, m2, m3, m4 = MASS
    alpha = TURN[0] + R1**2 * m1 + L1**2 * (m2 + m3 + m4)
    beta = sum(TURN[1:]) + L2**2 * (m3 + m4) + m2 * R2**2
    gamma, delta, c2 = L1 * L2 * (m3 + m4) + L1 * m2 * R2, TURN[2] + TURN[3], np.cos(q[1])
    return np.array(
        [
            [alpha + beta + 2 * gamma * c2, beta + gamma * c2, delta, 0],
            [beta + gamma * c2, beta, delta, 0],
            [delta, delta, delta, 0],
            [0, 0, 0, m4],
        ]
    )


def kinetic(jacobian: Callable[[int], Matrix]) -> Matrix:
    """Return the mass matrix that body Jacobians give."""
    return sum(jacobian(i).T @ BODIES[i] @ jacobian(i) for i in range(4))


def eq_17(first: Callable[[int], int]) -> float:
    """Return how far (17) misses M, when the product of column j starts at joint ``first(j)``."""

    def jacobian(i: int) -> Matrix:
        J = np.zeros((6, 4))
        for j in range(i + 1):
            J[:, j] = np.linalg.inv(adjoint(turned(first(j), i, Q) @ AT_REST[i])) @ TWISTS[j]
        return J

    return float(np.abs(kinetic(jacobian) - mass(Q)).max())


def eq_24(pose: Callable[[int], Matrix]) -> float:
    """Return how far (24) misses M, with the adjoint of ``pose(i)``."""

    def jacobian(i: int) -> Matrix:
        columns = [A_(i, j, Q) @ TWISTS[j] for j in range(4)]
        return np.linalg.inv(adjoint(pose(i))) @ np.column_stack(columns)

    return float(np.abs(kinetic(jacobian) - mass(Q)).max())


def reflected(i: int) -> Matrix:
    """Return M'_i of (26), corrected."""
    back = np.linalg.inv(adjoint(AT_REST[i]))
    return back.T @ BODIES[i] @ back


def as_printed_26(i: int) -> Matrix:
    """Return M'_i of (26), as printed."""
    Ad = adjoint(turned(0, i, Q) @ AT_REST[i])
    return Ad.T @ BODIES[i] @ np.linalg.inv(Ad)


def eq_26(inertia: Callable[[int], Matrix]) -> float:
    """Return how far (27) misses M, with the reflected inertia of (26)."""
    M = np.zeros((4, 4))
    for i, j in np.ndindex(4, 4):
        for k in range(max(i, j), 4):
            M[i, j] += TWISTS[i] @ A_(k, i, Q).T @ inertia(k) @ A_(k, j, Q) @ TWISTS[j]
    return float(np.abs(M - mass(Q)).max())


def eq_30(link: Callable[[int, int], int]) -> float:
    """Return how far (30) misses dM_ij/dq_k; ``link(l, k)`` is the first index of its first A."""
    worst, h = 0.0, 1e-6
    for i, j, k in np.ndindex(4, 4, 4):
        step = h * np.eye(4)[k]
        wanted = (mass(Q + step) - mass(Q - step))[i, j] / (2.0 * h)
        found = 0.0
        for body in range(max(i, j), 4):
            inner = reflected(body)
            left = bracket(A_(link(body, k), i, Q) @ TWISTS[i], TWISTS[k])
            right = bracket(A_(k, j, Q) @ TWISTS[j], TWISTS[k])
            found += left @ A_(body, k, Q).T @ inner @ A_(body, j, Q) @ TWISTS[j]
            found += TWISTS[i] @ A_(body, i, Q).T @ inner @ A_(body, k, Q) @ right
        worst = max(worst, abs(found - wanted))
    return worst


def misses() -> dict[str, tuple[float, float]]:
    """Return how far each formula misses, as printed and as corrected."""
    return {
        "17": (eq_17(lambda j: 0), eq_17(lambda j: j)),
        "24": (eq_24(lambda i: turned(0, i, Q) @ AT_REST[i]), eq_24(lambda i: AT_REST[i])),
        "26": (eq_26(as_printed_26), eq_26(reflected)),
        "30": (eq_30(lambda body, k: body), eq_30(lambda body, k: k)),
    }


if __name__ == "__main__":
    for number, (printed, corrected) in misses().items():
        print(f"({number})  as printed {printed:.1e}, corrected {corrected:.1e}")
