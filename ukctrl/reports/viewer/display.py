"""A scene in the browser, at one of its moments."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.arrow_shapes import COLORS
from ukctrl.reports.scene.moments import poses_at
from ukctrl.reports.scene.page_data import usable
from ukctrl.reports.scene.stage import Actor, Scene
from ukctrl.reports.viewer.lines import BODY, Arrows, Line, label, rgb
from ukctrl.reports.viewer.server import set_dark
from ukctrl.reports.viewer.smooth import creased
from ukctrl.robot.look.meshes import Mesh

SQUARES = {False: ((212, 218, 225), (176, 186, 197)), True: ((44, 50, 57), (66, 74, 84))}
"""Lines of the floor, and every fifth of them: on light, and on dark."""
FIELD = 0.49
"""Opening of the camera, upwards [rad]."""


class Display:
    """What a server shows of a scene; windows that open later see the same.

    What may be hidden is told by the names of `groups`.
    """

    def __init__(self, server: Any, scene: Scene) -> None:
        self.server, self.scene = server, scene
        self._lock = threading.RLock()
        self._hidden: set[str] = {"names", "frames", "inputs", "reactions"}
        self._meshes: dict[int, Mesh] = {}
        self.size = float((scene.high - scene.low).max())
        server.scene.reset()
        server.scene.set_up_direction(scene.up)
        self._aim(scene.low, scene.high)
        self._add_lights()
        self._add_floor()
        self.actors = [self._add_actor(k, actor) for k, actor in enumerate(scene.actors)]
        self.curves: dict[int, Line] = {}
        self._arrows = {
            group: Arrows(server, group, self.size, scene.arrows)
            for group in COLORS
            if any(arrow.group == group for arrow in scene.arrows)
        }
        self.time = float(scene.time[0])
        self.show(self.time)

    @property
    def groups(self) -> dict[str, bool]:
        """What may be hidden, and whether it is seen now."""
        scene, names = self.scene, dict.fromkeys(actor.group for actor in self.scene.actors)
        names = {name: None for name in names if name != "robot"}
        names |= {
            curve.group: None for curve in scene.curves if curve.group not in ("robot", "reference")
        }
        names |= {curve.kind: None for curve in scene.curves}
        names |= {arrow.group: None for arrow in scene.arrows}
        return {name: name not in self._hidden for name in [*names, "names", "frames"]}

    def set_visible(self, group: str, visible: bool) -> None:
        """Show or hide what is of a group."""
        with self._lock, self.server.atomic():
            (self._hidden.discard if visible else self._hidden.add)(group)
            for shown, actor in zip(self.actors, self.scene.actors, strict=True):
                shown.reveal(self._seen(actor.group), self._seen("names"), self._seen("frames"))
            self.show(self.time)

    def set_dark(self, dark: bool) -> None:
        """Show light on dark, or dark on light."""
        set_dark(self.server, dark)
        if self._floor is not None:
            self._floor.cell_color, self._floor.section_color = SQUARES[dark]

    def extend(self, scene: Scene) -> None:
        """Take a scene with the same actors at other moments, such as more of them."""
        with self._lock:
            self.scene = scene

    def show(self, time: float) -> None:
        """Show a moment; between two that are known what moves goes evenly [s]."""
        with self._lock, self.server.atomic():
            self.time = time
            k, share = self._moment(time)
            for shown, actor in zip(self.actors, self.scene.actors, strict=True):
                shown.place(actor, k, share)
            for place, curve in enumerate(self.scene.curves):
                if place not in self.curves:
                    self.curves[place] = Line(self.server, place, curve, self.size)
                seen = self._seen(curve.group) and self._seen(curve.kind)
                self.curves[place].place(curve, k, share, seen, self._seen("names"))
            for group, arrows in self._arrows.items():
                arrows.place(self.scene.arrows, k, self._seen(group))

    def _seen(self, group: str) -> bool:
        return group not in self._hidden

    def _moment(self, time: float) -> tuple[int, float]:
        """Return the last moment up to a time, and how far it is to the next, from 0 to 1."""
        known = self.scene.time
        k = int(np.clip(np.searchsorted(known, time, side="right") - 1, 0, len(known) - 1))
        if k + 1 == len(known) or time <= known[k]:
            return k, 0.0
        return k, float((time - known[k]) / (known[k + 1] - known[k]))

    def look_at(self, low: Vector, high: Vector) -> None:
        """Let windows, those that are open as well, look at what is between two corners."""
        self._aim(low, high)
        camera = self.server.initial_camera
        for client in self.server.get_clients().values():
            with client.atomic():
                client.camera.up_direction = self.scene.up
                client.camera.position, client.camera.look_at = camera.position, camera.look_at
                client.camera.fov = camera.fov

    def _aim(self, low: Vector, high: Vector) -> None:
        camera, up = self.server.initial_camera, self.scene.up
        right, above, toward = extent.view(low, high, up)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        wide = max(float(np.abs(right) @ half) / 1.3, float(np.abs(above) @ half))
        far = 1.03 * (wide / np.tan(0.5 * FIELD) + float(np.abs(toward) @ half))
        camera.up, camera.fov = up, FIELD
        camera.near, camera.far = 0.01 * far, 200.0 * far
        camera.look_at, camera.position = middle, middle + far * toward

    def _add_lights(self) -> None:
        """Light the scene from above and aside, as the page does."""
        add = self.server.scene
        add.configure_default_lights(enabled=False)
        add.configure_environment_map(None)
        add.add_light_hemisphere("/sky", ground_color=(160, 168, 178), intensity=3.0)
        add.add_light_directional("/sun", intensity=2.4, cast_shadow=True)

    def _add_floor(self) -> None:
        scene = self.scene
        self._floor: Any = None
        if scene.ground is None:
            return
        cell = 10.0 ** np.floor(np.log10(self.size / 3.0))
        cell *= max(step for step in (1.0, 2.0, 5.0) if step * cell <= self.size / 3.0)
        middle = 0.5 * (scene.low + scene.high)
        at = np.round(middle[:2] / cell) * cell
        self._floor = self.server.scene.add_grid(
            "/floor",
            infinite_grid=True,
            cell_size=cell,
            section_size=5.0 * cell,
            cell_color=SQUARES[False][0],
            section_color=SQUARES[False][1],
            fade_distance=12.0 * self.size,
            shadow_opacity=0.2,
            position=(float(at[0]), float(at[1]), scene.ground - 2e-3 * self.size),
        )

    def _add_actor(self, number: int, actor: Actor) -> _Shown:
        scene, looks = self.server.scene, actor.look
        top, size = f"/actor-{number}", self.size
        frames, bodies, labels = [], [], []
        root = scene.add_frame(top, show_axes=False)
        for c, name in enumerate(looks.carriers):
            frames.append(
                scene.add_frame(
                    f"{top}/{c}",
                    show_axes=False,
                    axes_length=0.1 * size,
                    axes_radius=0.003 * size,
                    origin_radius=0.006 * size,
                )
            )
            if name not in ("", "world"):
                labels.append(label(scene, f"{top}/{c}/name", name, visible=False))
        for k, part in enumerate(looks.parts):
            at = f"{top}/{part.carrier}/{k}"
            if part.text:
                label(scene, f"{at}/text", part.text, visible=True)
            if not usable(part):
                continue
            mesh = self._meshes.setdefault(id(part.mesh), creased(part.mesh))
            opacity = actor.opacity * part.opacity
            body = scene.add_mesh_simple(
                f"{at}/mesh",
                mesh.vertices,
                mesh.faces,
                color=rgb(actor.color or part.color or BODY),
                opacity=opacity if opacity < 1.0 else None,
                side="double",
                cast_shadow=opacity > 0.6,
            )
            bodies.append((part.carrier, body))
        return _Shown(root, frames, bodies, labels)


class _Shown:
    """The handles of an actor."""

    def __init__(
        self,
        root: Any,
        frames: Sequence[Any],
        bodies: Sequence[tuple[int, Any]],
        labels: Sequence[Any],
    ) -> None:
        self.root, self.frames, self.bodies, self.labels = root, frames, bodies, labels
        self._stretch = np.ones(len(frames))

    def place(self, actor: Actor, k: int, share: float) -> None:
        """Put the carriers where they are."""
        at = poses_at(actor.poses, np.array([k]), np.array([share]))
        position, turn, stretch = (array[0] for array in at)
        for c, frame in enumerate(self.frames):
            frame.visible = bool(np.isfinite(position[c]).all())
            if frame.visible:
                frame.position, frame.wxyz = position[c], turn[c]
        for c, body in self.bodies:
            if stretch[c] != self._stretch[c]:
                body.scale = (1.0, 1.0, max(float(stretch[c]), 1e-6))
        self._stretch = stretch

    def reveal(self, seen: bool, names: bool, axes: bool) -> None:
        """Show or hide it, its carriers' names and their axes."""
        self.root.visible = seen
        for text in self.labels:
            text.visible = names
        for frame in self.frames:
            frame.show_axes = axes
