"""How a frame touches a plane, compiled."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints.kinematics import cross


@compiled
def contact_rows(
    R: Matrix,
    p: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    point: Vector,
    axes: Matrix,
    flat: bool,
    sticks: bool,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> None:
    """Write the rows of a contact with a plane; the last of ``axes`` is its normal.

    Height; where it is flat, the tilt of the z axis about both tangents; where it sticks, the
    slip along them; and where it does both, the spin.
    """
    n = J.shape[1]
    gap = np.empty(3)
    for k in range(3):
        gap[k] = p[k] - point[k]
    _along(axes[2], J, velocity, drift, 0, A[0], b, beta, 0)
    phi[0] = _dot(axes[2], gap)
    at = 1
    if flat:
        z, z_dot, z_drift, lever = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
        for k in range(3):
            z[k] = R[k, 2]
        cross(velocity[3:], z, z_dot)
        cross(drift[3:], z, z_drift)
        cross(velocity[3:], z_dot, lever)
        for k in range(3):
            z_drift[k] += lever[k]
        for i in range(2):
            cross(z, axes[i], lever)
            for c in range(n):
                A[at, c] = lever[0] * J[3, c] + lever[1] * J[4, c] + lever[2] * J[5, c]
            phi[at], beta[at] = _dot(axes[i], z), _dot(axes[i], z_dot)
            b[at] = -_dot(axes[i], z_drift)
            at += 1
    if sticks:
        for i in range(2):
            _along(axes[i], J, velocity, drift, 0, A[at], b, beta, at)
            phi[at] = np.nan
            at += 1
        if flat:
            _along(axes[2], J, velocity, drift, 3, A[at], b, beta, at)
            phi[at] = np.nan


@compiled
def _along(
    axis: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    first: int,
    row: Vector,
    b: Vector,
    beta: Vector,
    at: int,
) -> None:
    """Write the row that holds the velocity, from entry ``first`` on, still along an axis."""
    for c in range(J.shape[1]):
        row[c] = axis[0] * J[first, c] + axis[1] * J[first + 1, c] + axis[2] * J[first + 2, c]
    beta[at] = _dot(axis, velocity[first:])
    b[at] = -_dot(axis, drift[first:])


@compiled
def _dot(a: Vector, b: Vector) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
