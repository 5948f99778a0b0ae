"""Lines of a picture, before an eye that does not move: the scene's curves, and its arrows."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Matrix
from ukctrl.reports.scene import arrow_shapes, light_kernels, raster_kernels
from ukctrl.reports.scene.light_kernels import Lens
from ukctrl.reports.scene.moments import between, mixed
from ukctrl.reports.scene.raster_kernels import Depths
from ukctrl.reports.scene.stage import Arrow, Curve, Scene
from ukctrl.reports.scene.triangles import light_of

WIDTHS = {"reference": (0.0085, 0.0125, 0.3), "trail": (0.0032, 0.009, 1.0)}
"""Half the width of a curve and of its dot, as fractions of the scene, and its opacity."""
NEARER = 1e3
"""Dots of trails are drawn as if they were so many times nearer."""
CONE = 12
"""Pieces of an arrow's head."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Canvas:
    """Room for drawing one picture at a time."""

    depth: NDArray[np.float32]
    layer: NDArray[np.float32]
    seen: NDArray[np.int32]
    light: NDArray[np.float32]
    part: NDArray[np.float32]
    nearest: NDArray[np.float32]
    unseen: NDArray[np.int32]
    world: Matrix
    places: Matrix


class Sheet(Protocol):
    """What is drawn on: what an eye sees, and how large that is."""

    scene: Scene
    plain: Lens
    height: int
    reach: float
    """The longest side of the scene's box [m]."""
    finer: int
    """So many points of the canvas along each axis are one of the picture."""

    def points(self, world: Array) -> Array:
        """Return where points of the world are in the picture; see `picture.Painter.points`."""
        ...


class Line:
    """A curve."""

    def __init__(self, curve: Curve, sheet: Sheet) -> None:
        self.curve = curve
        width, dot, self.opacity = WIDTHS[curve.kind]
        reach = sheet.reach * sheet.plain.focal
        self.width, self.dot = width * reach, dot * reach
        self.color = light_of(curve.color)
        self.places = sheet.points(curve.points)

    def draw(self, time: float, canvas: Canvas, sheet: Sheet) -> None:
        """Draw it as it is at a time [s]."""
        before, share = between(sheet.scene.time, np.array([time]))
        now = sheet.points(mixed(self.curve.points, before, share))
        trail = self.curve.kind == "trail"
        line = np.concatenate([self.places[: before[0] + 1], now]) if trail else self.places
        nearer = NEARER if trail else 1.0  # a dot is seen through the gripper that holds it
        dot = now * [1.0, 1.0, nearer], self.dot / nearer, 2.2
        for places, radius, least in ((line, self.width, 0.9), dot):
            _cover(places, radius, least, canvas.depth, canvas, sheet)
        light_kernels.blend_line(canvas.part, self.opacity, self.color, canvas.light)


class Push:
    """An arrow, which is seen through bodies; red where its input is at its limit."""

    def __init__(
        self, arrow: Arrow, sheet: Sheet, largest: Mapping[tuple[str, str], float]
    ) -> None:
        self.arrow, self.most = arrow, largest[arrow.group, arrow.unit]
        self.colors = light_of(arrow_shapes.COLORS[arrow.group]), light_of(arrow_shapes.AT_LIMIT)

    def draw(self, time: float, canvas: Canvas, sheet: Sheet) -> None:
        """Draw it as it is at a time [s]."""
        arrow, size = self.arrow, sheet.reach
        before, part = between(sheet.scene.time, np.array([time]))
        tail, vector = (mixed(each, before, part)[0] for each in (arrow.tail, arrow.vector))
        shape = arrow_shapes.shape(tail, vector, arrow.unit, self.most, size)
        if shape is None:
            return
        canvas.layer[:] = 0.0  # nothing is in front of it
        thick, head = arrow_shapes.THICK * size, min(1.0, 0.3 + 4.0 * shape.share)
        self._stroke(shape.shaft, thick, canvas, sheet)
        along = np.linspace(0.0, 1.0, CONE + 1)
        ends = shape.shaft[-1] + head * arrow_shapes.HEAD * size * along[:, None] * shape.ahead
        for k in range(CONE):
            self._stroke(ends[k : k + 2], 2.6 * thick * head * (1.0 - along[k]), canvas, sheet)
        color = self.colors[arrow.is_limited(time, sheet.scene.time)]
        light_kernels.blend_line(canvas.part, 1.0, color, canvas.light)

    def _stroke(self, points: Array, radius: float, canvas: Canvas, sheet: Sheet) -> None:
        places = sheet.points(points)
        _cover(places, radius * sheet.plain.focal, 0.5, canvas.layer, canvas, sheet)


def _cover(
    places: Array, radius: float, least: float, depth: Depths, canvas: Canvas, sheet: Sheet
) -> None:
    least *= sheet.height / 900.0
    raster_kernels.cover(places, radius, least, sheet.finer, depth, canvas.part)
