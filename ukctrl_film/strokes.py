"""Lines of a picture, before an eye that does not move: the scene's curves, and its arrows."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Matrix
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.scene import Arrow, Scene, SceneCurve
from ukctrl_film import light_kernels, raster_kernels
from ukctrl_film.light_kernels import Pinhole
from ukctrl_film.pose_interpolation import bracket, interpolate
from ukctrl_film.raster_kernels import Depths
from ukctrl_film.triangle_set import linear_rgb

WIDTHS = {"reference": (0.0085, 0.0125, 0.3), "trail": (0.0032, 0.009, 1.0)}
"""Half the width of a curve and of its dot, as fractions of the scene, and its opacity."""
DOT_DEPTH_BIAS = 1e3
"""Dots of trails are drawn as if they were so many times nearer."""
CONE = 12
"""Pieces of an arrow's head."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class RenderBuffers:
    """Room for drawing one picture at a time."""

    depth: NDArray[np.float32]
    layer: NDArray[np.float32]
    triangle: NDArray[np.int32]
    light: NDArray[np.float32]
    coverage: NDArray[np.float32]
    shadow_depth: NDArray[np.float32]
    shadow_triangle: NDArray[np.int32]
    world: Matrix
    screen_points: Matrix


class RenderTarget(Protocol):
    """What is drawn on: what an eye sees, and how large that is."""

    scene: Scene
    plain: Pinhole
    height: int
    extent: float
    """The longest side of the scene's box [m]."""
    finer: int
    """So many points of the canvas along each axis are one of the picture."""

    def points(self, world: Array) -> Array:
        """Return where points of the world are in the picture; see `SceneRenderer.points`."""
        ...


class CurveStroke:
    """A curve."""

    def __init__(self, curve: SceneCurve, sheet: RenderTarget) -> None:
        self.curve = curve
        width, dot, self.opacity = WIDTHS[curve.kind]
        reach = sheet.extent * sheet.plain.focal
        self.width, self.dot = width * reach, dot * reach
        self.color = linear_rgb(curve.color)
        self.places = sheet.points(curve.points)

    def draw(self, time: float, canvas: RenderBuffers, sheet: RenderTarget) -> None:
        """Draw it as it is at a time [s]."""
        lower, share = bracket(sheet.scene.time, np.array([time]))
        tip = sheet.points(interpolate(self.curve.points, lower, share))
        trail = self.curve.kind == "trail"
        line = np.concatenate([self.places[: lower[0] + 1], tip]) if trail else self.places
        nearer = DOT_DEPTH_BIAS if trail else 1.0  # a dot is seen through the gripper that holds it
        dot = tip * [1.0, 1.0, nearer], self.dot / nearer, 2.2
        for points, radius, min_radius in ((line, self.width, 0.9), dot):
            _cover(points, radius, min_radius, canvas.depth, canvas, sheet)
        light_kernels.blend_line(canvas.coverage, self.opacity, self.color, canvas.light)


class ArrowStroke:
    """An arrow, which is seen through bodies; red where its input is at its limit."""

    def __init__(
        self, arrow: Arrow, sheet: RenderTarget, largest: Mapping[tuple[str, str], float]
    ) -> None:
        self.arrow, self.most = arrow, largest[arrow.group, arrow.unit]
        self.colors = (
            linear_rgb(arrow_shapes.COLORS[arrow.group]),
            linear_rgb(arrow_shapes.AT_LIMIT),
        )

    def draw(self, time: float, canvas: RenderBuffers, sheet: RenderTarget) -> None:
        """Draw it as it is at a time [s]."""
        arrow, size = self.arrow, sheet.extent
        lower, share = bracket(sheet.scene.time, np.array([time]))
        tail, vector = (
            interpolate(values, lower, share)[0] for values in (arrow.tail, arrow.vector)
        )
        shape = arrow_shapes.arrow_shape(tail, vector, arrow.unit, self.most, size)
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
        light_kernels.blend_line(canvas.coverage, 1.0, color, canvas.light)

    def _stroke(
        self, points: Array, radius: float, canvas: RenderBuffers, sheet: RenderTarget
    ) -> None:
        screen_points = sheet.points(points)
        _cover(screen_points, radius * sheet.plain.focal, 0.5, canvas.layer, canvas, sheet)


def _cover(
    points: Array,
    radius: float,
    min_radius: float,
    depth: Depths,
    canvas: RenderBuffers,
    sheet: RenderTarget,
) -> None:
    min_radius *= sheet.height / 900.0
    raster_kernels.line_coverage(points, radius, min_radius, sheet.finer, depth, canvas.coverage)
