"""A scene between its moments: places go evenly, orientations turn evenly."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.reports.visual.visual_model import Poses


def bracket(time: Vector, query: Vector) -> tuple[Indices, Vector]:
    """Return the moment before each time asked for, and how far it is towards the next, 0 to 1."""
    last = max(len(time) - 2, 0)
    lower = np.clip(np.searchsorted(time, query, side="right") - 1, 0, last)
    upper = np.minimum(lower + 1, len(time) - 1)
    step = time[upper] - time[lower]
    share = (query - time[lower]) / np.where(step > 0.0, step, 1.0)
    return lower, np.clip(share, 0.0, 1.0)


def interpolate(values: Array, lower: Indices, share: Vector) -> Array:
    """Return values between moments, evenly; where one end has none, there is none.

    Args:
        values: At the moments, shape ``(n, ...)``.
        lower: See `bracket`, shape ``(k,)``.
        share: Of the same shape.
    """
    upper = np.minimum(lower + 1, len(values) - 1)
    s = share.reshape(-1, *(1,) * (values.ndim - 1))
    # A moment itself needs no neighbour, which may have no value.
    start = np.where(s >= 1.0, 0.0, (1.0 - s) * values[lower])
    end = np.where(s <= 0.0, 0.0, s * values[upper])
    total: Array = start + end
    return total


def interpolate_poses(poses: Poses, lower: Indices, share: Vector) -> Poses:
    """Return where carriers are between moments; quaternions along the shorter arc."""
    upper = np.minimum(lower + 1, len(poses.position) - 1)
    start, end = poses.quaternion[lower], poses.quaternion[upper]
    cosine = (start * end).sum(axis=-1, keepdims=True)
    end = np.where(cosine < 0.0, -end, end)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine, s = np.sin(angle), share[:, None, None]
    near = sine < 1e-6
    whole = np.where(near, 1.0, sine)
    turned = np.where(near, 1.0 - s, np.sin((1.0 - s) * angle) / whole) * start
    turned = turned + np.where(near, s, np.sin(s * angle) / whole) * end
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    position, stretch = (
        interpolate(values, lower, share) for values in (poses.position, poses.stretch)
    )
    return Poses(position, turned, stretch)
