"""Rotation matrices: the cross product, Rodrigues, roll-pitch-yaw, quaternions, axis and angle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector


def hat(w: Sequence[float] | Vector) -> Matrix:
    """Return the matrix of the cross product with w, ``hat(w) @ x = w x x``, shape (3, 3)."""
    x, y, z = (float(component) for component in w)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def from_axis_angle(axis: Sequence[float] | Vector, angle: float) -> Matrix:
    """Return the rotation by an angle [rad] about a unit axis (Rodrigues), shape (3, 3)."""
    K = hat(axis)
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)


def from_rpy(rpy: Sequence[float]) -> Matrix:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)``, the URDF convention, angles in [rad]."""
    roll, pitch, yaw = rpy
    x, y, z = np.eye(3)
    return from_axis_angle(z, yaw) @ from_axis_angle(y, pitch) @ from_axis_angle(x, roll)


def from_quaternion(quaternion: Sequence[float]) -> Matrix:
    """Return the rotation of a quaternion ``[x, y, z, w]``, which is normalised first."""
    norm = math.hypot(*quaternion)
    x, y, z, w = (component / norm for component in quaternion)
    K = hat((x, y, z))
    return np.eye(3) + 2.0 * w * K + 2.0 * (K @ K)


def to_axis_angle(R: Matrix) -> tuple[Vector, float]:
    """Return the unit axis and the angle in [0, pi] of a rotation.

    Without rotation the axis is z. At half a turn the axis is one of two, chosen by sign.
    """
    twice_sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = math.atan2(float(np.linalg.norm(twice_sine)), float(np.trace(R)) - 1.0)
    if angle == 0.0:
        return np.array([0.0, 0.0, 1.0]), 0.0
    if angle < 3.0:
        return twice_sine / np.linalg.norm(twice_sine), angle
    # near half a turn the skew part vanishes; the symmetric part still knows the axis
    squares = (R + R.T) / 2.0 - math.cos(angle) * np.eye(3)
    column = squares[:, int(np.argmax(np.diag(squares)))]
    axis = column / np.linalg.norm(column)
    return (-axis if axis @ twice_sine < 0.0 else axis), angle
