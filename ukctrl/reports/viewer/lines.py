"""Curves, arrows and texts of a scene in the browser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.reports.scene.arrow_shapes import COLORS, HEAD, THICK, largest, shape
from ukctrl.reports.scene.moments import mixed
from ukctrl.reports.scene.page_data import color_of
from ukctrl.reports.scene.stage import Arrow, Curve
from ukctrl.reports.viewer.smooth import creased
from ukctrl.robot.look import meshes

BODY, MUTED = "#b7c1cc", "#5b6672"
"""Colours of what has none, as in the page."""


class Line:
    """The handles of a curve: its line, and the dot that runs along it."""

    def __init__(self, server: Any, place: int, curve: Curve, size: float) -> None:
        self._scene, self._name, self._size = server.scene, f"/curve-{place}", size
        self._trail = curve.kind == "trail"
        self._color = rgb(curve.color or MUTED)
        pale = {} if self._trail else {"opacity": 0.4, "cast_shadow": False}
        radius = (0.009 if self._trail else 0.0125) * size
        self.dot = self._scene.add_icosphere(f"{self._name}/dot", radius, color=self._color, **pale)
        self.line: Any = None
        self.name = None
        if self._trail:
            self.name = label(self._scene, f"{self._name}/dot/name", curve.name, visible=False)
        self._count = 0

    def place(self, curve: Curve, k: int, share: float, seen: bool, named: bool) -> None:
        """Draw it up to a moment, or whole where it is a reference."""
        (now,) = mixed(curve.points, np.array([k]), np.array([share]))
        there = bool(np.isfinite(now).all())
        self.dot.visible = seen and there
        if there:
            self.dot.position = now
        if self.name is not None:
            self.name.visible = named
        if self._trail:
            self._draw_trail(np.concatenate([curve.points[: k + 1], now[None]]))
        elif len(curve.points) != self._count:
            self._count = len(curve.points)
            tube = creased(meshes.tube(curve.points, 0.0085 * self._size))
            self.line = self._scene.add_mesh_simple(
                self._name + "/line", *tube, color=self._color, opacity=0.28, cast_shadow=False
            )
        if self.line is not None:
            self.line.visible = seen

    def _draw_trail(self, points: Array) -> None:
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
        if not len(pieces):
            pieces = np.zeros((1, 2, 3)) if self.line is None else pieces
            pieces = (
                np.repeat(points[:1][None], 2, axis=1) if np.isfinite(points[0]).all() else pieces
            )
        if self.line is None:
            self.line = self._scene.add_line_segments(
                self._name + "/line", pieces, self._color, thickness=3.0, thickness_units="screen"
            )
        elif len(pieces):
            self.line.points = pieces.astype(np.float32)


class Arrows:
    """The handles of all arrows of a group: straight for forces, arcs for torques."""

    def __init__(self, server: Any, group: str, size: float, every: Iterable[Arrow]) -> None:
        self._group, self._size = group, size
        self._largest = largest(every)
        color, some = rgb(COLORS[group]), np.zeros((1, 2, 3))
        thick = THICK * size
        looks = {"shaft_radius": thick, "head_radius": 2.6 * thick, "head_length": 6.0 * thick}
        add = server.scene
        self._straight = add.add_arrows(f"/{group}/forces", some, color, visible=False, **looks)
        looks["shaft_radius"] = 0.5 * thick
        self._heads = add.add_arrows(f"/{group}/heads", some, color, visible=False, **looks)
        self._arcs = add.add_line_segments(
            f"/{group}/arcs", some, color, thickness=1.6 * thick, visible=False
        )

    def place(self, every: Iterable[Arrow], k: int, seen: bool) -> None:
        """Draw those of a moment."""
        forces, heads, arcs = [], [], []
        for arrow in every if seen else ():
            if arrow.group != self._group:
                continue
            most = self._largest[arrow.group, arrow.unit]
            look = shape(arrow.tail[k], arrow.vector[k], arrow.unit, most, self._size)
            if look is None:
                continue
            arc = look.shaft
            if arrow.unit == "N":
                forces.append(arc)
                continue
            arcs += list(np.stack([arc[:-1], arc[1:]], axis=1))
            ahead = HEAD * self._size * look.ahead
            heads.append([arc[-1] - 0.1 * ahead, arc[-1] + ahead])
        for handle, points in ((self._straight, forces), (self._heads, heads), (self._arcs, arcs)):
            handle.visible = bool(points)
            if points:
                handle.points = np.array(points, np.float32)


def rgb(color: str) -> tuple[int, int, int]:
    """Return a colour as numbers; that of a body for what is none."""
    known = color if color_of(color) else BODY
    return int(known[1:3], 16), int(known[3:5], 16), int(known[5:7], 16)


def label(scene: Any, name: str, text: str, visible: bool) -> Any:
    """Add a text, at the origin of the node that it is below."""
    # Other letters than these the page would ask a server for.
    plain = "".join(letter if 32 <= ord(letter) < 256 else "?" for letter in text)
    return scene.add_label(name, plain[:60], visible=visible, anchor="bottom-left")
