"""A scene as a still picture in a page: what is seen where nothing moves, such as on paper.

Each part is the outline of its shadow on the picture, filled; those further away come first.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.page_data import color_of, is_drawable
from ukctrl.reports.scene.scene import Scene

WIDTH, HEIGHT = 640.0, 480.0
"""Of the picture, in its own units."""
SIDES = 40
"""An outline has so many corners at most."""
MOST_PARTS = 400
"""Of more parts of a robot only so many are drawn."""


def svg_still(scene: Scene, moment: int = -1) -> str:
    """Return an ``<svg>`` of a scene at one of its moments."""
    right, upward, toward = extent.view_axes(scene.low, scene.high, scene.up)
    plane = np.stack([right, upward], axis=1)
    middle = 0.5 * (scene.low + scene.high)
    corners = np.array(np.meshgrid(*zip(scene.low, scene.high, strict=True))).reshape(3, 8).T
    half = np.abs((corners - middle) @ plane).max(axis=0)
    scale = 0.46 * min(WIDTH / max(half[0], 1e-9), HEIGHT / max(half[1], 1e-9))
    offset = np.array([0.5 * WIDTH, 0.5 * HEIGHT])

    def on_paper(points: Array) -> Array:
        paper: Array = (points - middle) @ plane * np.array([scale, -scale]) + offset
        return paper

    shapes: list[tuple[float, str]] = []
    for actor in scene.actors:
        poses = type(actor.poses)(*(array[moment][None] for array in actor.poses))
        for visual in [visual for visual in actor.visuals.parts if is_drawable(visual)][
            :MOST_PARTS
        ]:
            points = extent.to_world(visual.mesh.vertices, poses, visual.frame)[0]
            if not np.isfinite(points).all():  # a cone of a contact that is open
                continue
            fill = _paint(actor.color or visual.color)
            opacity = actor.opacity * visual.opacity
            depth = float((points @ toward).mean())
            outline = _outline(on_paper(points))
            shapes.append((depth, _polygon(outline, fill, opacity)))
    shapes.sort(key=lambda shape: shape[0])
    behind = [
        _line(on_paper(curve.points), _paint(curve.color), 7.0, 0.3)
        for curve in scene.curves
        if curve.kind == "reference"
    ]
    trails = [
        _line(on_paper(curve.points[: moment % len(scene.time) + 1]), _paint(curve.color), 1.8, 1.0)
        for curve in scene.curves
        if curve.kind == "trail"
    ]
    drawn = "".join([*behind, *(text for _, text in shapes), *trails])
    return f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" class="still">{drawn}</svg>'


def _outline(points: Array) -> Array:
    """Return the corners of the convex outline that lie furthest in some directions."""
    across = float(np.ptp(points, axis=0).max())
    sides = int(np.clip(across, 6, SIDES))
    angle = 2.0 * np.pi * np.arange(sides) / sides
    furthest = (points @ np.stack([np.cos(angle), np.sin(angle)])).argmax(axis=0)
    corners: Array = points[furthest[np.r_[True, np.diff(furthest) != 0]]]
    return corners


def _paint(text: str) -> str:
    color = color_of(text) or "--robot"
    return f"var({color})" if color.startswith("--") else color


def _polygon(points: Array, fill: str, opacity: float) -> str:
    look = f' fill-opacity="{opacity:.2g}"' if opacity < 1.0 else ""
    return f'<polygon points="{_text(points)}" fill="{fill}"{look}/>'


def _line(points: Array, color: str, width: float, opacity: float) -> str:
    stroke = f'stroke="{color}" stroke-width="{width}" opacity="{opacity}"'
    breaks = np.flatnonzero(~np.isfinite(points).all(axis=1))
    pieces = [piece[np.isfinite(piece).all(axis=1)] for piece in np.split(points, breaks)]
    return "".join(
        f'<polyline points="{_text(piece)}" fill="none" {stroke}/>'
        for piece in pieces
        if len(piece) > 1
    )


def _text(points: Array) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points.tolist())
