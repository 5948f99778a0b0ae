"""A scene as a picture, on a machine without a display or a graphics card.

A `Painter` knows what a scene's triangles are and where the eye is; it draws any moment. Machine
code does the work, without Python's lock, so that several threads draw at the same time, each on
a canvas of its own.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent, light_kernels, raster_kernels
from ukctrl.reports.scene.camera import Camera, view_of
from ukctrl.reports.scene.light_kernels import Bodies, Floor, Lamp, Lens
from ukctrl.reports.scene.moments import between, mixed, poses_at
from ukctrl.reports.scene.page_data import usable
from ukctrl.reports.scene.stage import Curve, Scene
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.look.parts import Poses

Picture = NDArray[np.uint8]
"""Red, green and blue, shape ``(height, width, 3)``."""
SMALLEST, LARGEST = 16, 4096
"""How wide and high a picture may be, in points."""
ROBOT, SQUARES = "#b7c1cc", "#c3cbd4"
"""The page's colours of bodies without one, and of the floor's lines."""
PAPER = ("#ffffff", "#ffffff")
"""What is behind everything, above and below."""
FINER = 2
"""So many points of the canvas along each axis are one of the picture."""
SHADOW = 1024
"""Points of the sun's picture along each axis."""
SUN = (0.55, -0.4, 1.0)
"""Where the sun stands, where z is upwards; the page's too."""
CREASE = 0.6
"""Triangles that meet at a larger angle have an edge between them [rad]; the page's too."""
WIDTHS = {"reference": (0.0085, 0.0125, 0.3), "trail": (0.0032, 0.009, 1.0)}
"""Half the width of a curve and of its dot, as fractions of the scene, and its opacity."""
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def picture(
    scene: Scene,
    time: float | None = None,
    *,
    size: tuple[int, int] = (1280, 720),
    camera: Camera | None = None,
) -> Picture:
    """Return what a scene looks like, without words.

    Args:
        scene: The scene.
        time: At which time [s]; absent: at its end.
        size: Width and height, in points.
        camera: From where; absent: as the page does.

    Raises:
        InputError: A picture cannot have that size.
    """
    painter = Painter(scene, size, camera)
    return painter.draw([scene.time[-1] if time is None else time])


def light_of(color: str, otherwise: str = ROBOT) -> Vector:
    """Return how much light a colour of a screen is, red, green and blue from 0 to 1."""
    text = color if _COLOR.fullmatch(color) else otherwise
    level = np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)


def _levels() -> NDArray[np.uint8]:
    light = np.linspace(0.0, 1.0, 4096)
    level = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.round(255.0 * level).astype(np.uint8)


@dc.dataclass(frozen=True, eq=False)
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


class Painter:
    """Draws moments of a scene.

    Args:
        scene: The scene.
        size: Width and height of the pictures, in points.
        camera: From where; absent: as the page does.
        paper: Colours behind everything, at the upper and at the lower edge.

    Raises:
        InputError: A picture cannot have that size.
    """

    def __init__(
        self,
        scene: Scene,
        size: tuple[int, int],
        camera: Camera | None = None,
        paper: tuple[str, str] = PAPER,
    ) -> None:
        self.width, self.height = checked_size(size)
        self.scene = scene
        view = view_of(scene, camera, self.width, self.height)
        self.near = view.near
        self.plain = Lens(view.axes, view.focal, view.middle)
        self.lens = Lens(view.axes, FINER * view.focal, FINER * view.middle)
        self._gather()
        self._curves = [_Line(curve, self) for curve in scene.curves]
        self._curves.sort(key=lambda line: line.curve.kind == "trail")
        self._sun()
        middle, reach = 0.5 * (scene.low + scene.high), float((scene.high - scene.low).max())
        ground = scene.ground
        self.floor = Floor(
            ground is not None,
            0.0 if ground is None else ground - 0.0015 * reach,
            nice(reach / 6.0),
            middle,
            2.2 * float(np.linalg.norm(scene.high - scene.low)),
            light_of(SQUARES),
        )
        self.backdrop = np.empty((self.height, self.width, 3), np.float32)
        light_kernels.write_backdrop(
            self.plain, self.floor, light_of(paper[0]), light_of(paper[1]), self.backdrop
        )
        self.levels = _levels()

    def canvas(self) -> Canvas:
        """Return room for drawing; each thread needs its own."""
        fine, size = (FINER * self.height, FINER * self.width), (self.height, self.width)
        return Canvas(
            *(np.empty(fine, np.float32) for _ in range(2)),
            np.empty(fine, np.int32),
            np.empty((*size, 3), np.float32),
            np.zeros(size, np.float32),
            np.empty((SHADOW, SHADOW), np.float32),
            np.empty((SHADOW, SHADOW), np.int32),
            *(np.empty((len(self._local), 3)) for _ in range(2)),
        )

    def draw(
        self, times: Sequence[float], canvas: Canvas | None = None, faintest: float = 0.2
    ) -> Picture:
        """Return the picture of a moment; of several, those before the last shine through.

        Args:
            times: Which [s], ascending.
            canvas: Room for it; absent: new.
            faintest: Opacity of the first of several; the others' grow from it evenly.
        """
        canvas = self.canvas() if canvas is None else canvas
        bodies = self._placed(times[-1], canvas)
        canvas.depth[:], canvas.seen[:] = 0.0, -1
        raster_kernels.fill_seen(
            canvas.places, canvas.world, bodies.faces, 0, self._opaque, self.lens.axes,
            self.lens.focal, self.lens.middle, self.near, canvas.depth, canvas.seen,
        )  # fmt: skip
        lamp = self._lit(canvas)
        light_kernels.write_light(
            canvas.depth, canvas.seen, FINER, bodies, self.lens, lamp, self.floor, self.backdrop,
            canvas.light,
        )  # fmt: skip
        canvas.seen[:] = -1
        for first, last, opacity in self._clear:
            self._blend(canvas, bodies, lamp, first, last, opacity)
        for k, time in enumerate(times[:-1]):
            earlier = self._placed(time, canvas)
            opacity = faintest + (0.75 - faintest) * k / len(times)
            self._blend(canvas, earlier, lamp, 0, len(earlier.faces), opacity)
        for line in self._curves:
            line.draw(times[-1], canvas, self)
        out = np.empty((self.height, self.width, 3), np.uint8)
        light_kernels.write_screen(canvas.light, self.levels, out)
        return out

    def points(self, world: Array) -> Array:
        """Return where points of the world are in the picture, and their inverse distances.

        Args:
            world: Shape ``(k, 3)`` [m].

        Returns:
            To the right, downwards and inverse distance [1/m], which is -1 behind the eye or
            nowhere, shape ``(k, 3)``.
        """
        world = np.ascontiguousarray(world, dtype=np.float64)
        out = np.zeros_like(world)
        raster_kernels.project(
            world, self.plain.axes, self.plain.focal, self.plain.middle, self.near, out
        )
        return out

    def _gather(self) -> None:
        """Collect the triangles of all parts: first those that hide what is behind them."""
        entries, start, normals = [], 0, _Normals()
        for order, actor in enumerate(self.scene.actors):
            for part in actor.look.parts:
                if usable(part) and (opacity := part.opacity * actor.opacity) > 0.0:
                    color = actor.color or part.color
                    at = start + part.carrier
                    entries.append((opacity < 1.0, order, opacity, color, at, part.mesh))
            start += len(actor.look.carriers)
        self._carriers = start
        entries.sort(key=lambda entry: entry[:3])
        self._local = np.concatenate([np.empty((0, 3)), *(entry[-1].vertices for entry in entries)])
        counts = [len(entry[-1].vertices) for entry in entries]
        sides = [len(entry[-1].faces) for entry in entries]
        starts = np.cumsum([0, *counts])
        moved = [entry[-1].faces + start for entry, start in zip(entries, starts, strict=False)]
        self._faces = np.concatenate([np.empty((0, 3), np.int64), *moved]).astype(np.int64)
        carriers = np.array([entry[4] for entry in entries], dtype=np.int64)
        self._owners = np.repeat(carriers, counts)
        self._face_owners = np.repeat(carriers, sides)
        self._paints = np.repeat(np.arange(len(entries)), sides)
        colors = [light_of(entry[3]) for entry in entries]
        self._colors = np.array(colors).reshape(-1, 3)
        self._normals = np.concatenate(
            [np.empty((0, 3, 3), np.float32), *(normals.of(entry[-1]) for entry in entries)]
        )
        ends = np.cumsum([0, *sides])
        hiding = sum(not entry[0] for entry in entries)
        self._opaque = int(ends[hiding])
        self._clear: list[tuple[int, int, float]] = []
        for k in range(hiding, len(entries)):
            last = self._clear[-1] if self._clear else None
            if last and entries[k][1:3] == entries[k - 1][1:3]:
                self._clear[-1] = (last[0], int(ends[k + 1]), last[2])
            else:
                self._clear.append((int(ends[k]), int(ends[k + 1]), entries[k][2]))

    def _sun(self) -> None:
        scene = self.scene
        up = np.array(scene.up)
        vertical = int(np.abs(up).argmax())
        toward = np.roll(np.array(SUN), vertical - 2) * np.where(up < 0.0, -1.0, 1.0)
        toward /= np.linalg.norm(toward)
        right = np.cross(up, toward)
        right /= np.linalg.norm(right)
        middle = 0.5 * (scene.low + scene.high)
        self._sun_axes = np.stack([middle, right, np.cross(toward, right), toward])
        reach = float(np.linalg.norm(scene.high - scene.low))
        self._sun_scale = 0.5 * SHADOW / (0.55 * reach)
        self._bias = 0.006 * reach
        self._up = up

    def _placed(self, time: float, canvas: Canvas) -> Bodies:
        """Put all vertices where they are at a time."""
        before, share = between(self.scene.time, np.array([time]))
        every = [poses_at(actor.poses, before, share) for actor in self.scene.actors]
        position = np.concatenate([np.empty((0, 3)), *(each.position[0] for each in every)])
        turns = np.concatenate(
            [np.empty((0, 3, 3)), *(extent.rotations(each.quaternion[0]) for each in every)]
        )
        stretch = np.concatenate([np.empty(0), *(each.stretch[0] for each in every)])
        raster_kernels.place(self._local, self._owners, turns, position, stretch, canvas.world)
        raster_kernels.project(
            canvas.world, self.lens.axes, self.lens.focal, self.lens.middle, self.near,
            canvas.places,
        )  # fmt: skip
        return Bodies(
            canvas.world, self._faces, self._face_owners, self._paints, self._normals, turns,
            stretch, self._colors,
        )  # fmt: skip

    def _lit(self, canvas: Canvas) -> Lamp:
        """Let the sun look at what hides; its places stand where the eye's did."""
        places, solid = canvas.places, self._faces[: self._opaque]
        raster_kernels.project_level(
            canvas.world, self._sun_axes, self._sun_scale, 0.5 * SHADOW, places
        )
        canvas.nearest[:] = -np.inf
        raster_kernels.fill_all(places, solid, 0, len(solid), canvas.nearest, canvas.unseen)
        used = places[: int(solid.max(initial=-1)) + 1, :2]
        used = used[np.isfinite(used).all(axis=1)]
        low = used.min(axis=0, initial=np.inf)
        high = used.max(axis=0, initial=-np.inf)
        edges = np.array([low[0], high[0], low[1], high[1]])
        return Lamp(
            self._sun_axes, self._sun_scale, canvas.nearest, edges, self._bias, self._up
        )  # fmt: skip

    def _blend(
        self, canvas: Canvas, bodies: Bodies, lamp: Lamp, first: int, last: int, opacity: float
    ) -> None:
        raster_kernels.project(
            canvas.world, self.lens.axes, self.lens.focal, self.lens.middle, self.near,
            canvas.places,
        )  # fmt: skip
        canvas.layer[:] = canvas.depth
        raster_kernels.fill_seen(
            canvas.places, canvas.world, bodies.faces, first, last, self.lens.axes,
            self.lens.focal, self.lens.middle, self.near, canvas.layer, canvas.seen,
        )  # fmt: skip
        light_kernels.blend_bodies(
            canvas.layer, canvas.seen, FINER, opacity, bodies, self.lens, lamp, canvas.light
        )


class _Line:
    """A curve in the picture of an eye that does not move."""

    def __init__(self, curve: Curve, painter: Painter) -> None:
        self.curve = curve
        width, dot, self.opacity = WIDTHS[curve.kind]
        reach = float((painter.scene.high - painter.scene.low).max()) * painter.plain.focal
        self.width, self.dot = width * reach, dot * reach
        self.least = painter.height / 900.0
        self.color = light_of(curve.color)
        self.places = painter.points(curve.points)

    def draw(self, time: float, canvas: Canvas, painter: Painter) -> None:
        before, share = between(painter.scene.time, np.array([time]))
        now = painter.points(mixed(self.curve.points, before, share))
        trail = self.curve.kind == "trail"
        line = np.concatenate([self.places[: before[0] + 1], now]) if trail else self.places
        for places, radius, least in ((line, self.width, 0.9), (now, self.dot, 2.2)):
            raster_kernels.cover(
                places, radius, least * self.least, FINER, canvas.depth, canvas.part
            )
        light_kernels.blend_line(canvas.part, self.opacity, self.color, canvas.light)


class _Normals:
    """Normals of the corners of meshes, each mesh once."""

    def __init__(self) -> None:
        self._known: dict[int, Array] = {}

    def of(self, mesh: Mesh) -> Any:
        if id(mesh) not in self._known:
            self._known[id(mesh)] = corner_normals(mesh)
        return self._known[id(mesh)]


def corner_normals(mesh: Mesh) -> NDArray[np.float32]:
    """Return the normal of each corner of each triangle, shape ``(m, 3, 3)``; see `CREASE`.

    Vertices in the same place are one.
    """
    faces = np.asarray(mesh.faces, dtype=np.int64)
    _, same = np.unique(np.asarray(mesh.vertices, dtype=np.float64), axis=0, return_inverse=True)
    vertices = same.reshape(-1)[faces].reshape(-1)
    corners = np.argsort(vertices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(vertices))]).astype(np.int64)
    a, b, c = (mesh.vertices[faces[:, k]] for k in range(3))
    out = np.zeros((len(faces), 3, 3), np.float32)
    raster_kernels.write_normals(corners, starts, np.cross(b - a, c - a), float(np.cos(CREASE)), out)
    return out


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return width and height of a picture, if it can have them.

    Raises:
        InputError: It cannot.
    """
    width, height = size
    if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
        raise InputError(
            f"a picture must be {SMALLEST} to {LARGEST} points wide and high; "
            f"got {width} x {height}."
        )
    return int(width), int(height)


def nice(value: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    rest = value / power
    return float(power * (1.0 if rest < 1.5 else 2.0 if rest < 3.5 else 5.0 if rest < 7.5 else 10.0))
