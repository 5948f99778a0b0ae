r"""The recursion of Orsino (2017) as printed, the answers at one stroke that it must equal, and a
general system to try both on: full matrices, levels, redundant rows.

Everything is in mass-weighted coordinates, $a = M^{1/2} \alpha$ and $H = A M^{-1/2}$, so that
the covariance before any constraint is $P_0 = I$.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

RTOL = 1e-10
"""Rows and singular values below this fraction of the others are rounding."""


class KalmanEstimate(NamedTuple):
    """Acceleration and covariance at a level."""

    a: Vector
    P: Matrix


def mass_weighted(M: Matrix, Q: Vector, A: Matrix) -> tuple[Matrix, Matrix, Vector]:
    r"""Return $M^{-1/2}$, $H = A M^{-1/2}$ and $a_0 = M^{-1/2} Q$."""
    values, axes = np.linalg.eigh(M)
    root = (axes / np.sqrt(values)) @ axes.T
    return root, A @ root, root @ Q


def single_stage(H: Matrix, b: Vector, a_0: Vector) -> Vector:
    r"""Return (4.9): $a = a_0 + H^+ (b - H a_0)$."""
    return a_0 + np.linalg.pinv(H, rcond=RTOL) @ (b - H @ a_0)


def batch_estimate(H: Matrix, b: Vector, a_0: Vector, R: Matrix) -> KalmanEstimate:
    r"""Return the estimate from all noisy rows: $P = (I + H^\top R^{-1} H)^{-1}$,
    $a = P (a_0 + H^\top R^{-1} b)$.
    """
    P = np.linalg.inv(np.eye(len(a_0)) + H.T @ np.linalg.solve(R, H))
    return KalmanEstimate(P @ (a_0 + H.T @ np.linalg.solve(R, b)), np.asarray(P, dtype=np.float64))


def kalman_gain(P: Matrix, H: Matrix, R: Matrix | None = None, pseudo: bool = True) -> Matrix:
    r"""Return $K$: $(H P)^+$, or (4.16), or (4.17) with the clearance covariance ``R``."""
    if R is not None:
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T + R), dtype=np.float64)
    if not pseudo:
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T), dtype=np.float64)
    product = H @ P
    size = np.linalg.norm(H, 2)
    rounding = RTOL * size / max(np.linalg.norm(product, 2), RTOL * size)
    return np.asarray(np.linalg.pinv(product, rcond=rounding), dtype=np.float64)


def measurement_update(
    prior: KalmanEstimate, H: Matrix, b: Vector, R: Matrix | None = None, star: bool = True
) -> KalmanEstimate:
    r"""Return the next level by (4.14) and (4.15), or (4.18) where there is a clearance.

    Without the star, $(I - K H) P (I - K H)$ takes the place of
    $(I - K H) P (I - K H)^\top$.
    """
    a, P = prior
    K = kalman_gain(P, H, R)
    projector = np.eye(len(a)) - K @ H
    P_next = projector @ P @ (projector.T if star else projector)
    if R is not None:
        P_next = P_next + K @ R @ K.T
    return KalmanEstimate(a + K @ (b - H @ a), P_next)


COORDINATES = 12
SIZES = (3, 4, 2)
"""Rows of each level."""


class RandomSystem(NamedTuple):
    """Mass, force, and the rows of each level with their right-hand sides."""

    M: Matrix
    Q: Vector
    A: tuple[Matrix, ...]
    b: tuple[Vector, ...]

    def mass_weighted(self) -> tuple[Matrix, tuple[Matrix, ...], Vector]:
        """Return $M^{-1/2}$, the rows of each level in mass-weighted coordinates, and $a_0$."""
        root, _, a_0 = mass_weighted(self.M, self.Q, self.A[0])
        return root, tuple(A @ root for A in self.A), a_0


@functools.cache
def random_system(redundant: bool = False) -> RandomSystem:
    """Return a system drawn once and for all.

    Args:
        redundant: Let the last row of level 2 follow from level 1, and level 3 from both.
    """
    rng = np.random.default_rng(2017)
    root = rng.standard_normal((COORDINATES, COORDINATES))
    M = root @ root.T + COORDINATES * np.eye(COORDINATES)
    A = [rng.standard_normal((m, COORDINATES)) for m in SIZES]
    if redundant:
        A[1][-1] = rng.standard_normal(SIZES[0]) @ A[0]
        A[2] = rng.standard_normal((SIZES[2], SIZES[0] + SIZES[1])) @ np.vstack(A[:2])
    a = rng.standard_normal(COORDINATES)
    return RandomSystem(
        M, rng.standard_normal(COORDINATES), tuple(A), tuple(rows @ a for rows in A)
    )
