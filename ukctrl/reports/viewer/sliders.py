"""A robot at rest in the browser: a slider for each of its freedoms, its frames on request."""

from __future__ import annotations

import dataclasses as dc
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import StartError, UkctrlError
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.start import solve_start
from ukctrl.reports.scene.from_robot import of_robot
from ukctrl.reports.viewer.display import Display
from ukctrl.reports.viewer.lines import label
from ukctrl.reports.viewer.timeline import add_words
from ukctrl.robot import Robot


class AtRest:
    """A robot that sliders move; where it has loops, the other joints follow."""

    def __init__(self, server: Any, robot: Robot) -> None:
        self.robot, self._lock = robot, threading.Lock()
        self.q = closed(robot, home(robot))
        self._base = np.array(self.q)  # where sliders are at zero
        for block in robot.blocks:
            if block.shape == "line":
                self._base[block.iq : block.iq + len(block.coordinates)] = 0.0
        self._stack = Stack(passive_constraints(robot), robot) if robot.passive else None
        scene = of_robot(robot, self.q)
        self.display = Display(server, scene)
        gui = server.gui
        add_words(server, scene.title, scene.notes)
        self.sliders: dict[int, Any] = {}
        motors = [dof for block in robot.blocks if block.rotor for dof in _dofs(block)]
        for title, dofs in (("Joints", range(robot.nv)), ("Motors of elastic joints", motors)):
            own = [dof for dof in dofs if title != "Joints" or dof not in motors]
            if own:
                with gui.add_folder(title, expand_by_default=title == "Joints"):
                    self._add(gui, own)
        back = gui.add_button("Back home", icon="home")
        back.on_click(lambda _: self.move(closed(robot, home(robot))))
        with gui.add_folder("Show"):
            self._frames = _Frames(server, robot, self.display.size)
            if self._frames.names:
                axes = gui.add_checkbox("frames", False)
                names = gui.add_checkbox("names", False)
                for box in (axes, names):
                    box.on_update(
                        lambda _: self._frames.reveal(bool(axes.value), bool(names.value), self.q)
                    )
            dark = gui.add_checkbox("dark", False)
            dark.on_update(lambda event: self.display.set_dark(bool(event.target.value)))

    def move(self, q: Vector) -> None:
        """Go to a configuration, and set the sliders to it."""
        self.q = q
        look = self.display.scene.actors[0].look
        poses, scene = look.poses(q[None], np.zeros(1)), self.display.scene
        actor = dc.replace(scene.actors[0], poses=poses)
        self.display.extend(dc.replace(scene, actors=(actor,)))
        self.display.show(0.0)
        self._frames.place(q)
        for dof, value in zip(self.sliders, self._values(q), strict=True):
            slider = self.sliders[dof]
            slider.value = round(float(np.clip(value, slider.min, slider.max)), 4)

    def set(self, dof: int, value: float) -> None:
        """Move one freedom; of a robot with loops the others follow, as far as they can."""
        with self._lock:
            step = np.array(self.robot.difference(self._base, self.q))
            step[dof] = value
            q = self.robot.integrate(self._base, step)
            if self._stack is not None:
                at_rest = np.zeros(self.robot.nv)
                try:
                    q = solve_start(self._stack, q, at_rest, held=[dof], home=self.q).q
                except StartError:  # no further
                    q = self.q
            self.move(q)

    def _moved(self, event: Any, dof: int) -> None:
        if event.client is not None:  # else it was set here
            self.set(dof, float(event.target.value))

    def _add(self, gui: Any, dofs: Sequence[int]) -> None:
        values = self._values(self.q, dofs)
        for dof, value in zip(dofs, values, strict=True):
            low, high = self._range(dof)
            low, high = min(low, round(float(value), 4)), max(high, round(float(value), 4))
            step = min(10.0 ** np.floor(np.log10((high - low) / 200.0)), 1e-3)
            unit = self.robot.dof_units[dof].removesuffix("/s")
            slider = gui.add_slider(
                f"{self.robot.dofs[dof]} [{unit}]", low, high, float(step), round(float(value), 4)
            )
            slider.on_update(lambda event, dof=dof: self._moved(event, dof))
            self.sliders[dof] = slider

    def _range(self, dof: int) -> tuple[float, float]:
        """Return a freedom's limits; half a turn, or the robot's size, where there are none."""
        wide = (
            np.pi
            if self.robot.dof_units[dof] == "rad/s"
            else max(0.5, round(2.0 * self.display.size, 1))
        )
        low, high = -wide, wide
        for block in self.robot.blocks:
            if block.shape == "line" and dof in _dofs(block):
                at = block.iq + dof - block.iv
                lower, upper = self.robot.q_lower[at], self.robot.q_upper[at]
                low = float(lower) if np.isfinite(lower) else min(low, float(upper) - wide)
                high = float(upper) if np.isfinite(upper) else max(high, float(lower) + wide)
        low, high = round(low, 4), round(high, 4)
        return (low, high) if low < high else (low, low + 1e-3)

    def _values(self, q: Vector, dofs: Sequence[int] | None = None) -> Vector:
        """Return where the sliders are at a configuration."""
        step = np.array(self.robot.difference(self._base, np.ascontiguousarray(q)))
        return step[list(self.sliders if dofs is None else dofs)]


def _dofs(block: Any) -> range:
    return range(block.iv, block.iv + len(block.dofs))


def _place(robot: Robot, frame: str) -> tuple[float, ...]:
    """Return which joint carries a frame, and where on it."""
    site = robot.site(frame)
    return (float(site.joint), *np.round(site.translation, 6).tolist())


class _Frames:
    """The frames that a robot's file names, made when they are first asked for."""

    def __init__(self, server: Any, robot: Robot, size: float) -> None:
        self._server, self._robot, self._size = server, robot, size
        self.names = [name for name in robot.frames if name != "world"]
        self._handles: list[Any] = []
        self._labels: list[Any] = []
        self._seen = False

    def reveal(self, axes: bool, names: bool, q: Vector) -> None:
        """Show or hide axes and names."""
        if not self._handles and (axes or names):
            alike: dict[tuple[float, ...], list[str]] = {}  # one text where frames coincide
            for name in self.names:
                alike.setdefault(_place(self._robot, name), []).append(name)
            for k, name in enumerate(self.names):
                looks = {"axes_length": 0.08 * self._size, "axes_radius": 0.0025 * self._size}
                frame = self._server.scene.add_frame(f"/frame-{k}", show_axes=axes, **looks)
                frame.origin_radius = 0.005 * self._size
                self._handles.append(frame)
                words = alike.pop(_place(self._robot, name), None)
                if words is not None:
                    text = label(self._server.scene, f"/frame-{k}/name", ", ".join(words), names)
                    self._labels.append(text)
        self._seen = axes or names
        for frame in self._handles:
            frame.show_axes = axes
        for text in self._labels:
            text.visible = names
        self.place(q)

    def place(self, q: Vector) -> None:
        """Put them where they are."""
        if not self._seen:
            return
        from scipy.spatial.transform import Rotation

        snapshot = self._robot.snapshot(q)
        for name, frame in zip(self.names, self._handles, strict=True):
            try:
                at = snapshot.frame(name)
            except UkctrlError:
                continue
            x, y, z, w = Rotation.from_matrix(at.rotation).as_quat()
            frame.position, frame.wxyz = np.array(at.position), np.array([w, x, y, z])
