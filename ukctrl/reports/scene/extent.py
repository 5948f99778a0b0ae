"""How much of space a scene takes: what a camera must show, where the floor is, what is upwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Array, Vector
from ukctrl.reports.plot import panels
from ukctrl.reports.scene.scene import Actor, Scene, SceneCurve
from ukctrl.reports.visual.visual_model import Poses

FARTHEST = 1e6
"""What is further away is not shown [m]."""
RUNAWAY = 5.0
"""A camera does not follow further than so many times what is reached four fifths of the time."""
SMALLEST = 1e-3
"""A scene is never smaller than this [m]."""
FLAT = 0.15
"""A scene is flat along an axis where it takes less than this fraction of its largest size."""
_VIEW_DIRECTIONS = ((0.0, 0.6, 1.0), (0.6, 0.0, 1.0), (0.6, -1.0, 0.0))
"""From where an eye looks, by the axis that is upwards."""
HIGHEST = 5.0
"""What is higher than so many times its size is too far from the world's floor to see it."""
MOMENTS = 40
"""So many moments tell where a robot goes."""


def rotation_matrices(quaternion: Array) -> Array:
    """Return the rotation matrices of quaternions ``w x y z``, shape ``(..., 3, 3)``."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def to_world(points: Array, poses: Poses, carrier: int | Sequence[int]) -> Array:
    """Return points of carriers in the world, shape ``(n, ..., k, 3)``.

    Args:
        points: In the carriers' axes, shape ``(..., k, 3)`` [m].
        poses: Where carriers are at ``n`` moments.
        carrier: One carrier, or one for each entry of the first axis of the points.
    """
    stretched = np.repeat(points[None], len(poses.position), axis=0)
    stretched[..., 2] *= poses.stretch[:, carrier][..., None]
    turned: Array = stretched @ np.swapaxes(rotation_matrices(poses.quaternion[:, carrier]), -1, -2)
    turned += poses.position[:, carrier][..., None, :]
    return turned


def bounding_box(actors: Sequence[Actor], curves: Sequence[SceneCurve]) -> tuple[Vector, Vector]:
    """Return the corners of what a camera must show, never flatter than `SMALLEST`."""
    tracks = [actor.reshape(len(actor), -1, 3) for actor in map(_corners, actors)]
    tracks += [curve.points[:, None] for curve in curves]
    at_first = [track[0] for track in tracks]
    references = [curve.points for curve in curves if curve.kind == "reference"]
    start = _ends([*at_first, *references]) or _ends([track.reshape(-1, 3) for track in tracks])
    if start is None:
        return np.full(3, -0.5), np.full(3, 0.5)
    middle, far = 0.5 * (start[0] + start[1]), float((start[1] - start[0]).max())
    away = [np.abs(track - middle).max(axis=2) for track in tracks]
    for distances in away:
        farthest = np.where(distances < FARTHEST, distances, 0.0).max(axis=1)
        far = max(far, RUNAWAY * float(np.quantile(farthest, 0.8)))
    low, high = _ends([track[d <= far] for track, d in zip(tracks, away, strict=True)]) or start
    lacking = np.maximum(SMALLEST - (high - low), 0.0)
    return low - 0.5 * lacking, high + 0.5 * lacking


def camera_points(scene: Scene) -> Array:
    """Return points that a camera must show, within the scene's box, shape ``(k, 3)`` [m]."""
    bodies = [_corners(actor).reshape(-1, 3) for actor in scene.actors]
    lines = [curve.points for curve in scene.curves]
    points = np.concatenate([np.empty((0, 3)), *bodies, *lines])
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        points = np.stack([scene.low, scene.high])
    visible: Array = np.clip(points, scene.low, scene.high)
    return visible


def floor_height(
    gravity: Vector | None, low: Vector, high: Vector, robots: Sequence[Actor] = ()
) -> float | None:
    """Return the height of the floor: that of the world, or the lowest point that is below it.

    What robots without feet stand on at the start is the world's, whatever goes below it later.

    Args:
        gravity: Shape ``(3,)`` [m/s^2]; None where a plant does not know of one.
        low: The lowest corner of what is shown.
        high: The highest.
        robots: The robots that are shown.
    """
    size = float((high - low).max())
    level = gravity is None or np.abs(gravity[:2]).max() <= 1e-6 * abs(gravity[2])
    if gravity is not None and not level:
        return None if gravity.any() else float(low[2])
    at_start = [_corners(actor)[0, ..., 2].min() for actor in robots if not actor.visuals.mounts]
    stands = bool(at_start) and abs(min(at_start)) < 0.02 * size
    near = -0.02 * size <= low[2] <= HIGHEST * size
    return 0.0 if stands or near else float(low[2])


def up_axis(gravity: Vector | None) -> tuple[float, float, float]:
    """Return z, or x or y where gravity acts along those."""
    up = [0.0, 0.0, 1.0]
    if gravity is not None and np.abs(gravity[:2]).max() > abs(gravity[2]):
        axis = int(np.abs(gravity).argmax())
        up = [0.0, 0.0, 0.0]
        up[axis] = -float(np.sign(gravity[axis]))
    return up[0], up[1], up[2]


def view_axes(
    low: Vector, high: Vector, up: tuple[float, float, float]
) -> tuple[Vector, Vector, Vector]:
    """Return the axes of a picture in the world: to the right, upwards, and towards the eye.

    Of a flat scene the eye is in front of it, a little aside; else it looks over a corner.

    Args:
        low: The lowest corner of what is shown, shape ``(3,)`` [m].
        high: The highest.
        up: What is upwards.
    """
    above, size = np.array(up), high - low
    flat = int(size.argmin())
    lying = bool(above[flat])
    toward = np.array(_VIEW_DIRECTIONS[int(np.abs(above).argmax())])
    if size[flat] < FLAT * size.max() and not lying:
        front = np.zeros(3)
        front[flat] = -1.0 if flat == 1 else 1.0
        toward = front + 0.3 * np.cross(above, front)
        lift = 0.22
    else:
        lift = 0.85 if lying and size[flat] < FLAT * size.max() else 0.42
    toward /= np.linalg.norm(toward)
    toward += lift * above
    toward /= np.linalg.norm(toward)
    right = np.cross(above, toward)
    right /= np.linalg.norm(right)
    return right, np.cross(toward, right), toward


def _corners(actor: Actor) -> Array:
    """Return the corners of all parts at some moments, shape ``(n, parts, 8, 3)``."""
    look, poses = actor.visuals, actor.poses
    some = np.unique(np.linspace(0, len(poses.position) - 1, MOMENTS).astype(int))
    poses = Poses(*(array[some] for array in poses))
    ends: dict[int, Array] = {}
    for visual in look.parts:  # many parts share a mesh
        if id(visual.mesh) not in ends:
            points = visual.mesh.vertices if len(visual.mesh.vertices) else np.zeros((1, 3))
            low, high = points.min(axis=0), points.max(axis=0)
            ends[id(visual.mesh)] = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(
                3, 8
            )
    if not look.parts:
        return poses.position[:, :, None, :]
    corners = np.stack([ends[id(visual.mesh)].T for visual in look.parts])
    return to_world(corners, poses, [visual.frame for visual in look.parts])


def _ends(several: Sequence[Array]) -> tuple[Vector, Vector] | None:
    return panels.bounding_box([points[None] for points in several], FARTHEST)
