"""A scene as a picture, on a machine without a display or a graphics card.

A `SceneRenderer` knows what a scene's triangles are and where the eye is; it draws any moment.
Machine code does the work, without Python's lock, so that several threads draw at the same time,
each on a canvas of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, quoted, unknown_name
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.scene import Scene
from ukctrl_film import light_kernels, raster_kernels
from ukctrl_film.camera import Camera, camera_pose
from ukctrl_film.light_kernels import FloorGrid, Pinhole, ShadedTriangles, SunLight
from ukctrl_film.strokes import ArrowStroke, CurveStroke, RenderBuffers
from ukctrl_film.triangle_set import TriangleSet, linear_rgb

Picture = NDArray[np.uint8]
"""Red, green and blue, shape ``(height, width, 3)``."""
SMALLEST, LARGEST = 16, 4096
"""How wide and high a picture may be, in points."""
MOST_POINTS = 10_000_000
"""And so many in all."""
SQUARES = "#c3cbd4"
"""The page's colour of the floor's lines."""
BACKGROUND = ("#ffffff", "#ffffff")
"""What is behind everything, above and below."""
SUPERSAMPLING = 2
"""So many points of the canvas along each axis are one of the picture."""
SHADOW = 1024
"""Points of the sun's picture along each axis."""
SUN = (0.55, -0.4, 1.0)
"""Where the sun stands, where z is upwards; the page's too."""


def _levels() -> NDArray[np.uint8]:
    light = np.linspace(0.0, 1.0, 4096)
    level = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.round(255.0 * level).astype(np.uint8)


class SceneRenderer:
    """Draws moments of a scene.

    Args:
        scene: The scene.
        size: Width and height of the pictures, in points.
        camera: From where; absent: as the page does.
        paper: Colours behind everything, at the upper and at the lower edge.
        show: Which arrows: ``inputs``, ``reactions``.

    Raises:
        InputError: A picture cannot have that size; the scene has no such arrows.
    """

    finer = SUPERSAMPLING

    def __init__(
        self,
        scene: Scene,
        size: tuple[int, int],
        camera: Camera | None = None,
        paper: tuple[str, str] = BACKGROUND,
        show: Collection[str] = (),
    ) -> None:
        self.width, self.height = checked_size(size)
        self.scene, self.arrow_groups = scene, checked_groups(scene, show)
        self.extent = reach = float((scene.high - scene.low).max())
        shown = [arrow for arrow in scene.arrows if arrow.group in self.arrow_groups]
        tips = arrow_shapes.arrow_tips(shown, reach)
        view = camera_pose(scene, camera, self.width, self.height, tips)
        self.near = view.near
        self.plain = Pinhole(view.axes, view.focal, view.middle)
        self.lens = Pinhole(view.axes, SUPERSAMPLING * view.focal, SUPERSAMPLING * view.middle)
        self.triangles = TriangleSet(scene)
        middle = 0.5 * (scene.low + scene.high)
        curves = [CurveStroke(curve, self) for curve in scene.curves]
        curves.sort(key=lambda line: line.curve.kind == "trail")
        largest = arrow_shapes.largest_by_kind(shown)
        self._strokes: list[CurveStroke | ArrowStroke] = [
            *curves,
            *(ArrowStroke(wrench, self, largest) for wrench in shown),
        ]
        self._sun()
        ground = scene.ground
        self.floor = FloorGrid(
            ground is not None,
            0.0 if ground is None else ground - 0.0015 * reach,
            round_step(reach / 6.0),
            middle,
            2.2 * float(np.linalg.norm(scene.high - scene.low)),
            linear_rgb(SQUARES),
        )
        self.backdrop = np.empty((self.height, self.width, 3), np.float32)
        light_kernels.write_backdrop(
            self.plain, self.floor, linear_rgb(paper[0]), linear_rgb(paper[1]), self.backdrop
        )
        self.levels = _levels()

    def canvas(self) -> RenderBuffers:
        """Return room for drawing; each thread needs its own."""
        fine, size = (
            (SUPERSAMPLING * self.height, SUPERSAMPLING * self.width),
            (self.height, self.width),
        )
        return RenderBuffers(
            depth=np.empty(fine, np.float32),
            layer=np.empty(fine, np.float32),
            triangle=np.empty(fine, np.int32),
            light=np.empty((*size, 3), np.float32),
            coverage=np.zeros(size, np.float32),
            shadow_depth=np.empty((SHADOW, SHADOW), np.float32),
            shadow_triangle=np.empty((SHADOW, SHADOW), np.int32),
            world=np.empty((len(self.triangles.local), 3)),
            screen_points=np.empty((len(self.triangles.local), 3)),
        )

    def draw(
        self, times: Sequence[float], canvas: RenderBuffers | None = None, faintest: float = 0.2
    ) -> Picture:
        """Return the picture of a moment; of several, those before the last shine through.

        Args:
            times: Which [s], ascending.
            canvas: Room for it; absent: new.
            faintest: Opacity of the first of several; the others' grow from it evenly.
        """
        canvas = self.canvas() if canvas is None else canvas
        triangles = self.triangles
        bodies = triangles.at_time(times[-1], canvas.world)
        self._project(canvas)
        canvas.depth[:], canvas.triangle[:] = 0.0, -1
        raster_kernels.fill_clipped(
            canvas.screen_points, canvas.world, bodies.faces, 0, triangles.opaque_count,
            self.lens.axes,
            self.lens.focal, self.lens.middle, self.near, canvas.depth, canvas.triangle,
        )  # fmt: skip
        lamp = self._shadow_map(canvas)
        light_kernels.write_light(
            canvas.depth, canvas.triangle, SUPERSAMPLING, bodies, self.lens, lamp, self.floor,
            self.backdrop,
            canvas.light,
        )  # fmt: skip
        canvas.triangle[:] = -1
        if triangles.transparent_layers:
            self._project(canvas)
        for first, last, opacity in triangles.transparent_layers:
            self._blend(canvas, bodies, lamp, first, last, opacity)
        for k, time in enumerate(times[:-1]):
            earlier = triangles.at_time(time, canvas.world)
            self._project(canvas)
            opacity = faintest + (0.75 - faintest) * k / len(times)
            self._blend(canvas, earlier, lamp, 0, len(earlier.faces), opacity)
        for stroke in self._strokes:
            stroke.draw(times[-1], canvas, self)
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

    def _project(self, canvas: RenderBuffers) -> None:
        """Let the eye look at the vertices as they are now."""
        raster_kernels.project(
            canvas.world, self.lens.axes, self.lens.focal, self.lens.middle, self.near,
            canvas.screen_points,
        )  # fmt: skip

    def _shadow_map(self, canvas: RenderBuffers) -> SunLight:
        """Let the sun look at what hides; its places stand where the eye's did."""
        points, solid = canvas.screen_points, self.triangles.faces[: self.triangles.opaque_count]
        raster_kernels.project_parallel(
            canvas.world, self._sun_axes, self._sun_scale, 0.5 * SHADOW, points
        )
        canvas.shadow_depth[:] = -np.inf
        raster_kernels.fill_all(
            points, solid, 0, len(solid), canvas.shadow_depth, canvas.shadow_triangle
        )
        used = points[: int(solid.max(initial=-1)) + 1, :2]
        used = used[np.isfinite(used).all(axis=1)]
        low = used.min(axis=0, initial=np.inf)
        high = used.max(axis=0, initial=-np.inf)
        edges = np.array([low[0], high[0], low[1], high[1]])
        return SunLight(
            self._sun_axes, self._sun_scale, canvas.shadow_depth, edges, self._bias, self._up
        )  # fmt: skip

    def _blend(
        self,
        canvas: RenderBuffers,
        bodies: ShadedTriangles,
        lamp: SunLight,
        first: int,
        last: int,
        opacity: float,
    ) -> None:
        canvas.layer[:] = canvas.depth
        raster_kernels.fill_clipped(
            canvas.screen_points, canvas.world, bodies.faces, first, last, self.lens.axes,
            self.lens.focal, self.lens.middle, self.near, canvas.layer, canvas.triangle,
        )  # fmt: skip
        light_kernels.blend_bodies(
            canvas.layer,
            canvas.triangle,
            SUPERSAMPLING,
            opacity,
            bodies,
            self.lens,
            lamp,
            canvas.light,
        )


def checked_groups(scene: Scene, show: Collection[str]) -> tuple[str, ...]:
    """Return the groups of arrows that are asked for, if the scene has them.

    Raises:
        InputError: It has not.
    """
    groups = tuple(dict.fromkeys(arrow.group for arrow in scene.arrows))
    for group in show:
        if group not in arrow_shapes.COLORS:
            raise unknown_name("arrows to show", group, arrow_shapes.COLORS)
        if group not in groups:
            has = f"it has {quoted(groups)}" if groups else "it has no arrows"
            raise InputError(f"no {group} can be shown in this scene; {has}.")
    return tuple(dict.fromkeys(show))


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return width and height of a picture, if it can have them.

    Raises:
        InputError: It cannot.
    """
    width, height = size
    fits = min(size) >= SMALLEST and max(size) <= LARGEST and width * height <= MOST_POINTS
    if not fits:
        raise InputError(
            f"a picture must be {SMALLEST} to {LARGEST} points wide and high, and have at most "
            f"{MOST_POINTS:.0e} in all; got {width} x {height}."
        )
    return int(width), int(height)


def round_step(value: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = ((1.5, 1.0), (3.5, 2.0), (7.5, 5.0))
    return float(power * next((step for upper, step in steps if value / power < upper), 10.0))
