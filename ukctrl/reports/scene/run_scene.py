"""The scene of a run, and that of several runs beside each other."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.toml import read_spec
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.force_arrows import force_arrows
from ukctrl.reports.scene.limits_in_space import limit_actors
from ukctrl.reports.scene.payloads import payloads
from ukctrl.reports.scene.pedestals import add_pedestals
from ukctrl.reports.scene.robot_scene import gravity_of, robot_scene
from ukctrl.reports.scene.scene import Actor, Arrow, Scene, SceneCurve
from ukctrl.reports.scene.trails import frame_trails, particle_trails
from ukctrl.reports.visual.build_visuals import build_visuals
from ukctrl.reports.visual.visual_model import VisualModel
from ukctrl.robot import Robot
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.simulation.result.result import Result

MOMENTS = 600
"""A scene of a run has so many moments at most; between them a viewer goes evenly."""
MAX_POSES = 60_000
"""And so many poses of all its carriers together."""
GHOST_OFFSET = 5e-3
"""What is believed is drawn where it is off by more than this fraction of the scene's size."""
GHOST_ANGLE = 0.03
"""Or by more than this angle [rad]."""
SMALLEST_BALL = 0.03
"""Balls are no smaller than this fraction of the scene: larger than the dot of a trail."""
PARTICLE_CROWDING = 0.25
"""This divided by the root of their number is enough."""
COMPARISON_OPACITY = 0.6
"""Opacity of robots that are compared, which may stand in the same place."""
GHOST = "#d55e00"


def run_scene(result: Result, robot: Robot | None = None) -> Scene | None:
    """Return what there is to see of a run; None where nothing is.

    Args:
        result: The run.
        robot: Its robot, where it is at hand; absent: loaded as the result's scenario names it.
            Where that cannot be any more, only curves are left, and a note says why.
    """
    return runs_scene({"": result}, {"": robot} if robot is not None else {})


def runs_scene(
    results: Mapping[str, Result], robots: Mapping[str, Robot] | None = None
) -> Scene | None:
    """Return what there is to see of several runs of one task, in step; None where nothing is.

    A run that ended early stays where it ended.

    Args:
        results: By the names of their controllers; of a single one the colours are the robot's own.
        robots: Their robots, where they are at hand.
    """
    shown = {name: result for name, result in results.items() if len(result.samples)}
    if not shown:
        return next(
            (_start_scene(run, (robots or {}).get(name)) for name, run in results.items()), None
        )
    notes: dict[str, None] = {}
    cast = _LoadedRobots(dict(robots or {}), notes)
    longest = max(shown.values(), key=lambda run: float(run.time[-1]))
    bodies = {name: cast.body(name, result) for name, result in shown.items()}
    carriers = sum(len(body[1].frame_names) for body in bodies.values() if body is not None)
    count = int(np.clip(MAX_POSES // max(carriers, 1), 60, MOMENTS))
    time = longest.time[_spread(len(longest.time), count)]
    alone = len(shown) == 1
    actors: list[Actor] = []
    curves: list[SceneCurve] = []
    pushes: tuple[Arrow, ...] = ()
    gravity: Vector | None = None
    keeps: Callable[[float], Iterable[Actor]] | None = None
    for index, (name, result) in enumerate(shown.items()):
        color = "" if alone else style.PALETTE[index % len(style.PALETTE)]
        body, at = bodies[name], _samples_at(result, time)
        if body is not None:
            robot, look = body
            actor = _actor(result, robot, look, at, name, color)
            actor = dc.replace(actor, opacity=1.0 if alone else COMPARISON_OPACITY)
            actors.append(actor)
            gravity = gravity_of(robot) if gravity is None else gravity
            if len(actors) == 1:  # all keep the same
                keeps = functools.partial(_kept, result, robot, at)
            if alone:
                actors += cast.ghost(result, robot, look, actor, at)
                actors += payloads(result, robot, time, _configuration_function(result, robot))
                pushes = force_arrows(robot, result.samples, at)
        curves += frame_trails(result, at, name, color, first=not curves)
    if not curves and not any(actor.visuals.parts for actor in actors):
        return None
    curves = curves or [trail for actor in actors for trail in particle_trails(actor)]
    low, high = extent.bounding_box(actors, curves)
    bodies_shown = [actor for actor in actors if actor.name != "payload"]
    ground = extent.floor_height(gravity, low, high, bodies_shown)
    limits = list(keeps(float((high - low).max()))) if keeps is not None else []
    if limits:
        low, high = extent.bounding_box([*actors, *limits], curves)
    size = float((high - low).max())
    return Scene(
        title=longest.title,
        time=time,
        actors=(
            *(add_pedestals(_enlarge_particles(actor, size), ground) for actor in actors),
            *limits,
        ),
        curves=tuple(curves),
        arrows=pushes,
        low=low,
        high=high,
        ground=ground,
        up=extent.up_axis(gravity),
        notes=tuple(notes),
    )


@dc.dataclass(frozen=True)
class _LoadedRobots:
    """Robots and their looks, each loaded once."""

    robots: dict[str, Robot]
    notes: dict[str, None]
    loaded: list[tuple[Any, Robot, VisualModel]] = dc.field(default_factory=list)

    def body(self, name: str, result: Result) -> tuple[Robot, VisualModel] | None:
        """Return the robot of a run and its look; None, and a note, where there is none."""
        reference = self.robots.get(name, result.scenario.get("robot"))
        for cached, robot, look in self.loaded:
            if cached is reference or cached == reference:
                return robot, look
        if reference is None:
            return None
        try:
            robot = _loaded(reference)
            if robot.coordinates != result.labels.coordinates:
                raise UkctrlError("its coordinates are not those of the run")
            look = build_visuals(robot)
        except (UkctrlError, OSError) as error:
            self.notes[f"The robot itself is not shown: {str(error).rstrip('.')}."] = None
            return None
        self.loaded.append((reference, robot, look))
        self.notes.update(dict.fromkeys(look.notes))
        return robot, look

    def ghost(
        self, result: Result, robot: Robot, look: VisualModel, actor: Actor, at: Indices
    ) -> list[Actor]:
        """Return the robot as the controller believes it to be, where that can be told apart."""
        q, table = _configurations(result, robot, at), result.scenario.get("believed")
        measured = "q_measured" in result.samples
        if measured:
            q_measured = result["q_measured"][at]
            q = np.where(np.isfinite(q_measured), q_measured, q)
        if table:
            look = self._believed(robot, table) or look
        if not table and not measured:
            return []
        poses = look.poses(q, result.time[at])
        true = actor.poses
        if poses.position.shape == true.position.shape:
            size = max(float(np.ptp(true.position, axis=(0, 1)).max()), extent.SMALLEST)
            off = np.abs(poses.position - true.position).max(initial=0.0) / size
            cosine = np.abs((poses.quaternion * true.quaternion).sum(axis=-1))
            turned = 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)).max(initial=0.0)
            if not (off > GHOST_OFFSET or turned > GHOST_ANGLE):
                return []
        name = "as measured" if measured else "as believed"
        ghost = Actor(
            name=name, visuals=look, poses=poses, color=GHOST, opacity=0.3, group="believed"
        )
        return [ghost]

    def _believed(self, robot: Robot, table: Mapping[str, Any]) -> VisualModel | None:
        from ukctrl.simulation.assemble.scenario_robots import believed_robot
        from ukctrl.simulation.scenario import BelievedRobot

        try:
            belief = believed_robot(
                robot, read_spec(BelievedRobot, table, "scenario", key="believed")
            )
            return None if belief is robot else build_visuals(belief)
        except (UkctrlError, OSError) as error:
            self.notes[f"The believed robot is not shown: {str(error).rstrip('.')}."] = None
            return None


def _loaded(reference: Any) -> Robot:
    """Return the robot that a scenario names, or holds; Python code of strangers does not run."""
    if isinstance(reference, Robot):
        return reference
    from ukctrl.simulation.assemble.scenario_robots import true_robot

    return true_robot(reference)


def _spread(length: int, count: int) -> Indices:
    return np.unique(np.linspace(0, length - 1, min(length, count)).round().astype(int))


def _samples_at(result: Result, time: Vector) -> Indices:
    """Return which sample of a run is the nearest at each time; the last one after its end."""
    sample_times = result.time
    upper = np.minimum(np.searchsorted(sample_times, time), len(sample_times) - 1)
    lower = np.maximum(upper - 1, 0)
    return np.where(time - sample_times[lower] < sample_times[upper] - time, lower, upper)


def _configurations(result: Result, robot: Robot, at: Indices) -> Array:
    """Return the configurations at some samples; where a run has none any more, the last."""
    q: Array = result["q"][at]
    indices = np.flatnonzero((np.abs(q) < extent.FARTHEST).all(axis=1))
    if not len(indices):
        return np.broadcast_to(robot.neutral, q.shape)
    last = np.searchsorted(indices, np.arange(len(q)), side="right") - 1
    return q[indices[np.maximum(last, 0)]]


def _configuration_function(result: Result, robot: Robot) -> Callable[[Vector], Array]:
    """Return what gives the configurations of a run at some times."""
    return lambda time: _configurations(result, robot, _samples_at(result, time))


def _actor(
    result: Result, robot: Robot, look: VisualModel, at: Indices, name: str, color: str
) -> Actor:
    poses = look.poses(_configurations(result, robot, at), result.time[at])
    return Actor(
        name=name or robot.name, visuals=look, poses=poses, color=color, group=name or "robot"
    )


def _kept(result: Result, robot: Robot, at: Indices, size: float) -> Iterator[Actor]:
    with contextlib.suppress(UkctrlError):  # such as of a frame that is gone
        yield from limit_actors(result, robot, _configurations(result, robot, at), at, size)


def _enlarge_particles(actor: Actor, size: float) -> Actor:
    """Return an actor whose balls, such as particles, can be seen in the scene."""
    visuals, look = [], actor.visuals
    larger: dict[int, Mesh] = {}  # many share a mesh
    count = Counter(
        visual.name for visual in look.parts
    )  # a rod with balls at its ends is one thing
    min_size = min(SMALLEST_BALL, PARTICLE_CROWDING / np.sqrt(max(len(look.parts), 1))) * size
    for visual in look.parts:
        mesh, wide = visual.mesh, _ball_diameter(visual.mesh)
        factor = min_size / wide if wide > 0.0 and count[visual.name] == 1 else 0.0
        if factor > 1.0:
            grown = mesh._replace(vertices=factor * mesh.vertices)
            visual = dc.replace(visual, mesh=larger.setdefault(id(mesh), grown))
        visuals.append(visual)
    return dc.replace(actor, visuals=dc.replace(look, parts=tuple(visuals))) if larger else actor


def _ball_diameter(mesh: Mesh) -> float:
    """Return the diameter of a ball about the origin of its carrier; 0 for what is none."""
    if len(mesh.vertices) < 20:
        return 0.0
    far = np.linalg.norm(mesh.vertices, axis=1)
    return float(far.max() + far.min()) if far.min() > (1.0 - 1e-6) * far.max() else 0.0


def _start_scene(result: Result, robot: Robot | None) -> Scene | None:
    """Return the robot where a run would have begun, and why it did not; None where it is gone."""
    from ukctrl.mechanics.dynamics import passive_constraints
    from ukctrl.simulation.assemble.start_state import start_state
    from ukctrl.simulation.scenario import StartState

    try:
        robot = robot or _loaded(result.scenario.get("robot"))
        start = read_spec(StartState, result.scenario.get("start", {}), "scenario", key="start")
        scene = robot_scene(robot, start_state(start, robot, passive_constraints(robot))[0])
    except (UkctrlError, OSError):
        return None
    message = result.message.rstrip(".") or "it has no samples"
    reason = f"The run ended as it began ({result.status}): {message}."
    return dc.replace(scene, title=result.title, notes=(reason, *scene.notes))
