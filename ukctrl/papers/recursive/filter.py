r"""The recursion of Orsino (2017) as printed, and the answers at one stroke that it must equal.

Everything is in mass-weighted coordinates, $a = M^{1/2} \alpha$ and $H = A M^{-1/2}$, so that
the covariance before any constraint is $P_0 = I$.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

RTOL = 1e-10
"""Rows and singular values below this fraction of the others are rounding."""


class Estimate(NamedTuple):
    """Acceleration and covariance at a level."""

    a: Vector
    P: Matrix


def weighted(M: Matrix, Q: Vector, A: Matrix) -> tuple[Matrix, Matrix, Vector]:
    r"""Return $M^{-1/2}$, $H = A M^{-1/2}$ and $a_0 = M^{-1/2} Q$."""
    values, axes = np.linalg.eigh(M)
    root = (axes / np.sqrt(values)) @ axes.T
    return root, A @ root, root @ Q


def one_shot(H: Matrix, b: Vector, a_0: Vector) -> Vector:
    r"""Return (4.9): $a = a_0 + H^+ (b - H a_0)$."""
    return a_0 + np.linalg.pinv(H, rcond=RTOL) @ (b - H @ a_0)


def batch(H: Matrix, b: Vector, a_0: Vector, R: Matrix) -> Estimate:
    r"""Return the estimate from all noisy rows: $P = (I + H^\top R^{-1} H)^{-1}$,
    $a = P (a_0 + H^\top R^{-1} b)$.
    """
    P = np.linalg.inv(np.eye(len(a_0)) + H.T @ np.linalg.solve(R, H))
    return Estimate(P @ (a_0 + H.T @ np.linalg.solve(R, b)), np.asarray(P, dtype=np.float64))


def gain(P: Matrix, H: Matrix, R: Matrix | None = None, pseudo: bool = True) -> Matrix:
    r"""Return $K$: $(H P)^+$, or (4.16), or (4.17) with the clearance covariance ``R``."""
    if R is not None:
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T + R), dtype=np.float64)
    if not pseudo:
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T), dtype=np.float64)
    left = H @ P
    size = np.linalg.norm(H, 2)
    rounding = RTOL * size / max(np.linalg.norm(left, 2), RTOL * size)
    return np.asarray(np.linalg.pinv(left, rcond=rounding), dtype=np.float64)


def step(
    before: Estimate, H: Matrix, b: Vector, R: Matrix | None = None, star: bool = True
) -> Estimate:
    r"""Return the next level by (4.14) and (4.15), or (4.18) where there is a clearance.

    Without the star, $(I - K H) P (I - K H)$ takes the place of
    $(I - K H) P (I - K H)^\top$.
    """
    a, P = before
    K = gain(P, H, R)
    left = np.eye(len(a)) - K @ H
    P_next = left @ P @ (left.T if star else left)
    if R is not None:
        P_next = P_next + K @ R @ K.T
    return Estimate(a + K @ (b - H @ a), P_next)
