"""Rotations at many moments at a time, as quaternions ``w x y z`` along the last axis."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.spatial_kernels import dot, row3
from ukctrl.robot.twist_kernels import cross, quaternion_product, rotate_by_quaternion


def _cross(a: Array, b: Array) -> Array:
    """Return ``a x b`` (several times faster than `numpy.cross`)."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1)


def multiply_quaternions(a: Array, b: Array) -> Array:
    """Return the quaternion of the turn ``b`` and then, in the outer axes, ``a``."""
    aw, a_ = a[..., :1], a[..., 1:]
    bw, b_ = b[..., :1], b[..., 1:]
    scalar = aw * bw - np.sum(a_ * b_, axis=-1, keepdims=True)
    return np.concatenate([scalar, aw * b_ + bw * a_ + _cross(a_, b_)], axis=-1)


def rotated(a: Array, x: Array) -> Array:
    """Return vectors that quaternions turn."""
    twice = 2.0 * _cross(a[..., 1:], x)
    return x + a[..., :1] * twice + _cross(a[..., 1:], twice)


def quaternions_from_rpy(rpy: Array) -> Array:
    """Return quaternions of roll, pitch and yaw about fixed axes [rad]."""
    c, s = np.cos(0.5 * rpy), np.sin(0.5 * rpy)
    zero = 0.0 * c[..., 0]
    roll = np.stack([c[..., 0], s[..., 0], zero, zero], -1)
    pitch = np.stack([c[..., 1], zero, s[..., 1], zero], -1)
    yaw = np.stack([c[..., 2], zero, zero, s[..., 2]], -1)
    return multiply_quaternions(yaw, multiply_quaternions(pitch, roll))


def matrix(quaternion: Array) -> Matrix:
    """Return the rotation of one quaternion."""
    return np.stack([rotated(quaternion, axis) for axis in np.eye(3)], axis=1)


def quaternions_from_matrices(rotation: Array) -> Array:
    """Return the quaternions of rotations, shape ``(..., 3, 3)``."""
    if np.array_equal(rotation, np.eye(3)):
        return np.array([1.0, 0.0, 0.0, 0.0])
    from scipy.spatial.transform import Rotation

    turns: Array = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat()
    return np.roll(turns, 1, axis=-1).reshape(*rotation.shape[:-2], 4)


def rpy_matrix(rpy: Array) -> Matrix:
    """Return the rotation of roll, pitch and yaw about fixed axes [rad]."""
    return matrix(quaternions_from_rpy(np.asarray(rpy, dtype=np.float64)))


def rotation_towards(direction: Vector) -> Matrix:
    """Return a rotation that turns the z axis into a direction, nearly by the shortest way."""
    quaternion = np.zeros((1, 4))
    align_z_axis(np.array(direction, dtype=np.float64)[None], quaternion, np.zeros(1))
    return matrix(quaternion[0])


@compiled
def align_z_axis(along: Matrix, quaternion: Matrix, stretch: Vector) -> None:
    """Write turns of the z axis into directions, each by the shortest way from the one before.

    So that what lies along them does not spin. The first is the shortest way from z, or from -z
    after half a turn about x.

    Args:
        along: The directions, shape ``(n, 3)``; where one is zero, the last turn stays.
        quaternion: Receives the turns, ``w x y z``, shape ``(n, 4)``.
        stretch: Receives the lengths, shape ``(n,)``.
    """
    turn = (0.0, 0.0, 0.0, 1.0)
    for i in range(len(along)):
        to = row3(along, i)
        length = np.sqrt(dot(to, to))
        stretch[i] = length
        if length > 0.0:
            if i == 0 and to[2] < 0.0:
                turn = (1.0, 0.0, 0.0, 0.0)  # half a turn about x
            to = (to[0] / length, to[1] / length, to[2] / length)
            z_axis = rotate_by_quaternion(turn, (0.0, 0.0, 1.0))
            axis, w = cross(z_axis, to), 1.0 + dot(z_axis, to)
            if w < 1e-12:
                turn = quaternion_product(turn, (1.0, 0.0, 0.0, 0.0))
            else:
                turn = quaternion_product((axis[0], axis[1], axis[2], w), turn)
            x, y, z, w = turn
            size = np.sqrt(x * x + y * y + z * z + w * w)
            turn = (x / size, y / size, z / size, w / size)
        quaternion[i, 0] = turn[3]
        for c in range(3):
            quaternion[i, c + 1] = turn[c]
