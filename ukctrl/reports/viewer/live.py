"""A run in the browser while it computes."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import time
from typing import Any, final

import numpy as np

from ukctrl.core.arrays import Array, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.from_robot import of_robot
from ukctrl.reports.scene.kept import GROUP, limits
from ukctrl.reports.scene.stage import Actor, Curve, Scene
from ukctrl.reports.viewer.display import Display
from ukctrl.reports.viewer.server import clear_controls
from ukctrl.reports.viewer.timeline import Timeline, add_switches, add_words, show_scene
from ukctrl.robot.look.parts import Poses
from ukctrl.simulation.loop.recorder import Recorder
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.scenario import Scenario

SHARE = 0.03
"""Showing takes no more than this part of the time of the run."""
SHORTEST = 0.1
"""And is done no more often [s]."""
MOST = 1500
"""So many moments are kept; of more, every second one."""
BEYOND = 0.15
"""Where the motion leaves what is seen by this part of its size, the camera follows."""
FAR_GROWN = 5.0
"""Where it needs so much more space than at the start, all is drawn anew."""
NAMES = ("time", "q", "frame_position")


@final
class Live:
    """What is recorded of a run, shown as it comes; a `ukctrl.simulation.simulate.Watch`.

    Args:
        server: Where.
        scenario: What runs.
    """

    def __init__(self, server: Any, scenario: Scenario) -> None:
        self._server, self._end = server, scenario.start.t + scenario.timing.duration
        self._seen, self._next = 0, 0.0
        self._rows: dict[str, Array] = {}
        self._poses: list[Poses] = []
        robot = true_robot(scenario.robot)
        q = closed(robot, home(robot))
        scene = dc.replace(of_robot(robot, q), title=scenario.title)
        with contextlib.suppress(UkctrlError):  # the run itself will say what is wrong with them
            size = float((scene.high - scene.low).max())
            look = limits(scenario.to_table(), robot, q[None], scene.time, size)
            if look is not None:
                kept = Actor(
                    name="limits", look=look, poses=look.poses(q[None], scene.time), group=GROUP
                )
                scene = dc.replace(scene, actors=(*scene.actors, kept))
        self._display, self._timeline = self._begun(scene)
        self.spent = 0.0
        """Time that showing has taken [s]."""
        self.fault = ""
        """Why nothing more is shown, where that is so."""

    def __call__(self, recorder: Recorder) -> None:
        """Show what has come, unless it is too early for that."""
        began = time.perf_counter()
        if began < self._next or recorder.count == self._seen:
            return
        before, rows = self._seen, recorder.since(self._seen, NAMES)
        self._seen = recorder.count
        if len(rows["time"]) < self._seen - before:  # some went to the store between two looks
            rows["frame_position"][:1] = np.nan
        try:
            self._take(rows, recorder.frames)
        except Exception as error:  # whatever is wrong with the picture, the run goes on
            self.fault, self._next = str(error), np.inf
            return
        took = time.perf_counter() - began
        self.spent += took
        self._next = time.perf_counter() + max(SHORTEST, took / SHARE)

    def finish(self, scene: Scene | None) -> None:
        """Show the whole run in place of what came of it."""
        self._timeline.close()
        if scene is not None:
            show_scene(self._server, scene)

    def _take(self, rows: dict[str, Array], frames: tuple[str, ...]) -> None:
        known = np.isfinite(rows["q"]).all(axis=1)
        rows = {name: array[known] for name, array in rows.items()}
        if not len(rows["time"]):
            return
        if len(rows["time"]) > MOST:
            some = np.linspace(0, len(rows["time"]) - 1, MOST).astype(int)
            rows = {name: array[some] for name, array in rows.items()}
        actors = self._display.scene.actors
        poses = [actor.look.poses(rows["q"], rows["time"]) for actor in actors]
        if self._poses:
            rows = {name: np.concatenate([self._rows[name], rows[name]]) for name in NAMES}
            poses = [
                Poses(*(np.concatenate(pair) for pair in zip(before, now, strict=True)))
                for before, now in zip(self._poses, poses, strict=True)
            ]
        if len(rows["time"]) > MOST:
            rows = {name: array[::2] for name, array in rows.items()}
            poses = [Poses(*(array[::2] for array in each)) for each in poses]
        self._rows, self._poses = rows, poses
        self._show(frames)

    def _show(self, frames: tuple[str, ...]) -> None:
        rows, before = self._rows, self._display.scene
        pairs = zip(before.actors, self._poses, strict=True)
        actors = tuple(dc.replace(actor, poses=poses) for actor, poses in pairs)
        curves = _trails(rows, frames)
        scene = dc.replace(before, time=rows["time"], actors=actors, curves=curves)
        low, high = extent.box(actors[:1], curves)
        grown = float((high - low).max()) / self._display.size
        if grown > FAR_GROWN:  # lines and dots would be too thin
            self._timeline.close()
            self._display, self._timeline = self._begun(dc.replace(scene, low=low, high=high))
            return
        self._display.extend(scene)
        seen_low, seen_high = self._seen_box
        beyond = max(float((seen_low - low).max()), float((high - seen_high).max()))
        if beyond > BEYOND * float((seen_high - seen_low).max()):
            self._look_at(np.minimum(low, seen_low), np.maximum(high, seen_high))
        self._timeline.grow()

    def _begun(self, scene: Scene) -> tuple[Display, Timeline]:
        clear_controls(self._server)
        display = Display(self._server, scene)
        add_words(self._server, scene.title, ["The run is being computed."])
        timeline = Timeline(display, self._server, live=True, end=self._end)
        add_switches(self._server, display, "trail")
        self._display = display
        self._look_at(scene.low, scene.high)
        return display, timeline

    def _look_at(self, low: Vector, high: Vector) -> None:
        self._seen_box = low, high
        self._display.look_at(low, high)


def _trails(rows: dict[str, Array], frames: tuple[str, ...]) -> tuple[Curve, ...]:
    trails = []
    for k, frame in enumerate(frames):
        points = rows["frame_position"][:, k]
        near = (np.abs(points) < extent.FARTHEST).all(axis=1, keepdims=True)
        color = style.PALETTE[k % len(style.PALETTE)]
        points = np.where(near, points, np.nan)
        trails.append(Curve(name=frame, points=points, kind="trail", color=color, group="robot"))
    return tuple(trails)
