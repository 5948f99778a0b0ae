"""A scene between its moments: places go evenly, orientations turn evenly."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.robot.look.parts import Poses


def between(time: Vector, asked: Vector) -> tuple[Indices, Vector]:
    """Return the moment before each time asked for, and how far it is towards the next, 0 to 1."""
    last = max(len(time) - 2, 0)
    before = np.clip(np.searchsorted(time, asked, side="right") - 1, 0, last)
    after = np.minimum(before + 1, len(time) - 1)
    step = time[after] - time[before]
    share = (asked - time[before]) / np.where(step > 0.0, step, 1.0)
    return before, np.clip(share, 0.0, 1.0)


def mixed(values: Array, before: Indices, share: Vector) -> Array:
    """Return values between moments, evenly; where one end has none, there is none.

    Args:
        values: At the moments, shape ``(n, ...)``.
        before: See `between`, shape ``(k,)``.
        share: Of the same shape.
    """
    after = np.minimum(before + 1, len(values) - 1)
    s = share.reshape(-1, *(1,) * (values.ndim - 1))
    # A moment itself needs no neighbour, which may have no value.
    start = np.where(s >= 1.0, 0.0, (1.0 - s) * values[before])
    end = np.where(s <= 0.0, 0.0, s * values[after])
    total: Array = start + end
    return total


def poses_at(poses: Poses, before: Indices, share: Vector) -> Poses:
    """Return where carriers are between moments; quaternions along the shorter arc."""
    after = np.minimum(before + 1, len(poses.position) - 1)
    start, end = poses.quaternion[before], poses.quaternion[after]
    cosine = (start * end).sum(axis=-1, keepdims=True)
    end = np.where(cosine < 0.0, -end, end)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine, s = np.sin(angle), share[:, None, None]
    near = sine < 1e-6
    whole = np.where(near, 1.0, sine)
    turned = np.where(near, 1.0 - s, np.sin((1.0 - s) * angle) / whole) * start
    turned = turned + np.where(near, s, np.sin(s * angle) / whole) * end
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    position, stretch = (mixed(each, before, share) for each in (poses.position, poses.stretch))
    return Poses(position, turned, stretch)
