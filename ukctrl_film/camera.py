"""From where a scene is looked at, in a picture and in a film."""

from __future__ import annotations

import dataclasses as dc
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.message_text import one_line
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.scene import Scene

FIELD = 28.0
"""How wide a camera sees, the page's too [deg]."""
FRAMING, TITLE = 1.08, 0.07
"""A camera stands so much further away than where it just sees everything below a title, which has
this much of the picture's height."""
NAMES = {"front": (0.0, 0.0), "side": (90.0, 0.0), "top": (0.0, 90.0), "iso": (45.0, 35.26)}
"""Azimuth and elevation of the cameras with a name [deg]."""


@dc.dataclass(frozen=True, kw_only=True)
class Camera:
    """Where a camera stands; how far away follows from what it must show."""

    azimuth: float
    """About the vertical [deg]: 0 stands in front, looking along y with x to the right; 90 stands
    on the side of x."""
    elevation: float
    """Above the horizon [deg], from -90 to 90."""
    zoom: float = 1.0
    """How much larger than what shows the whole scene."""
    target: tuple[float, float, float] | None = None
    """What is in the middle [m]; absent: the middle of the scene."""

    def __post_init__(self) -> None:
        values = (self.azimuth, self.elevation, self.zoom, *(self.target or ()))
        if not np.isfinite(values).all():
            raise InputError(f"a camera needs finite numbers; got {values}.")
        if abs(self.elevation) > 90.0:
            raise InputError(
                f"the elevation of a camera must lie between -90 and 90 degrees; "
                f"got {self.elevation:g}."
            )
        if not 0.01 <= self.zoom <= 100.0:
            raise InputError(
                f"the zoom of a camera must lie between 0.01 and 100; got {self.zoom:g}."
            )

    @classmethod
    def parse(cls, text: str) -> Camera:
        """Return the camera that a text means.

        Args:
            text: ``front``, ``side``, ``top`` or ``iso``, or azimuth and elevation in degrees with
                a comma between them, such as ``45,20``; behind a second comma the zoom.

        Raises:
            InputError: It means none.
        """
        if text.strip() in NAMES:
            azimuth, elevation = NAMES[text.strip()]
            return cls(azimuth=azimuth, elevation=elevation)
        try:
            azimuth, elevation, *zoom = (float(field) for field in text.split(","))
            (factor,) = zoom or (1.0,)
        except ValueError:
            raise InputError(
                f"a camera is {quoted(NAMES)}, or azimuth and elevation in degrees, such as "
                f"'45,20', or with a zoom '45,20,1.5'; got '{one_line(text, 60)}'."
            ) from None
        return cls(azimuth=azimuth, elevation=elevation, zoom=factor)


class CameraPose(NamedTuple):
    """What a picture shows, in numbers."""

    axes: Matrix
    """The eye, and unit vectors to the right, upwards and towards the eye, shape ``(4, 3)``."""
    focal: float
    """So many points of a picture are a metre wide a metre away from the eye."""
    middle: Vector
    """Of the picture, in its points: to the right, and downwards, shape ``(2,)``."""
    near: float
    """What is closer to the eye than this is not seen [m]."""


def camera_pose(
    scene: Scene, camera: Camera | None, width: int, height: int, extra_points: Array | None = None
) -> CameraPose:
    """Return what a picture of a scene shows.

    Args:
        scene: The scene.
        camera: Absent: as the page does, over a corner, or in front of what is flat.
        width: Of the picture, in its points.
        height: Of the picture.
        extra_points: What else it must show, shape ``(k, 3)`` [m].
    """
    size = float(np.linalg.norm(scene.high - scene.low))
    if camera is None:
        right, above, toward = extent.view_axes(scene.low, scene.high, scene.up)
        zoom, target = 1.0, None
    else:
        right, above, toward = _camera_axes(camera, np.array(scene.up))
        zoom, target = camera.zoom, camera.target
    middle = 0.5 * (scene.low + scene.high)
    points = extent.camera_points(scene)
    points = points if extra_points is None else np.concatenate([points, extra_points])
    at = np.array([right, above, toward]) @ (points - middle).T
    # The picture's shorter side sees the field.
    tangent = (
        np.tan(np.radians(0.5 * FIELD))
        * np.array([width, (1.0 - TITLE) * height])
        / min(width, height)
    )
    extent_plus, behind = (
        (tangent[:, None] * at[2] + sign * at[:2]).max(axis=1) for sign in (1.0, -1.0)
    )
    if target is None:
        aside = 0.5 * (extent_plus - behind)
        far = float((0.5 * (extent_plus + behind) / tangent).max())
    else:
        offset = np.array([right, above, toward]) @ (np.array(target) - middle)
        aside, deep = offset[:2], float(offset[2])
        far = float((np.maximum(extent_plus - aside, behind + aside) / tangent).max())
        middle, far = middle + deep * toward, far - deep
    eye = middle + aside[0] * right + aside[1] * above + (FRAMING * far) * toward
    return CameraPose(
        np.stack([eye, right, above, toward]),
        0.5 * min(width, height) / np.tan(np.radians(0.5 * FIELD)) * zoom,
        np.array([0.5 * width, 0.5 * (1.0 + TITLE) * height]),
        size / 400.0,
    )


def _camera_axes(camera: Camera, up: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the axes of a picture: to the right, upwards, and towards the eye."""
    vertical = int(np.abs(up).argmax())
    front = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])[vertical]
    side = np.cross(up, front)
    a, e = np.radians(camera.azimuth), np.radians(camera.elevation)
    level = np.cos(a) * front + np.sin(a) * side
    right = np.cos(a) * side - np.sin(a) * front
    toward = np.cos(e) * level + np.sin(e) * up
    return right, np.cross(toward, right), toward
