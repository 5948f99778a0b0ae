"""The scene of a run, and that of several runs beside each other."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.arrows import arrows
from ukctrl.reports.scene.payloads import payloads
from ukctrl.reports.scene.stage import Actor, Arrow, Curve, Scene
from ukctrl.robot import Robot
from ukctrl.robot.look.parts import Look
from ukctrl.simulation.result.result import Result

MOMENTS = 600
"""A scene of a run has so many moments at most; between them a viewer goes evenly."""
CARRIED = 60_000
"""And so many poses of all its carriers together."""
SEEN = 5e-3
"""What is believed is drawn where it is off by more than this fraction of the scene's size."""
SEEN_TURN = 0.03
"""Or by more than this angle [rad]."""
SMALLEST_BALL = 0.018
"""Bodies without a size of their own are no smaller than this fraction of the scene."""
GHOST = "#d55e00"
SPECK = 0.05
"""What is smaller than this part of its way leaves a trail, where no frame does."""
MOST_WAYS = 12
"""Unless there are more of them."""


def of_result(result: Result, robot: Robot | None = None) -> Scene | None:
    """Return what there is to see of a run; None where nothing is.

    Args:
        result: The run.
        robot: Its robot, where it is at hand; absent: loaded as the result's scenario names it.
            Where that cannot be any more, only curves are left, and a note says why.
    """
    return of_results({"": result}, {"": robot} if robot is not None else {})


def of_results(
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
        return None
    notes: dict[str, None] = {}
    cast = _Cast(dict(robots or {}), notes)
    longest = max(shown.values(), key=lambda each: float(each.time[-1]))
    bodies = {name: cast.body(name, result) for name, result in shown.items()}
    carriers = sum(len(body[1].carriers) for body in bodies.values() if body is not None)
    count = int(np.clip(CARRIED // max(carriers, 1), 60, MOMENTS))
    time = longest.time[_spread(len(longest.time), count)]
    alone = len(shown) == 1
    actors: list[Actor] = []
    curves: list[Curve] = []
    pushes: tuple[Arrow, ...] = ()
    gravity: Vector | None = None
    for place, (name, result) in enumerate(shown.items()):
        color = "" if alone else style.PALETTE[place % len(style.PALETTE)]
        body, at = bodies[name], _samples_at(result, time)
        if body is not None:
            robot, look = body
            actor = _actor(result, robot, look, at, name, color)
            actors.append(actor)
            gravity = gravity_of(robot) if gravity is None else gravity
            if alone:
                actors += cast.ghost(result, robot, look, actor, at)
                actors += payloads(result, robot, time, _course(result, robot))
                pushes = arrows(robot, result.samples, at)
        curves += _curves(result, at, name, color, first=not curves)
    if not curves and not any(actor.look.parts for actor in actors):
        return None
    curves = curves or [way for actor in actors for way in _ways(actor)]
    low, high = extent.box(actors, curves)
    size = float((high - low).max())
    return Scene(
        title=longest.title,
        time=time,
        actors=tuple(_seen_from_afar(actor, size) for actor in actors),
        curves=tuple(curves),
        arrows=pushes,
        low=low,
        high=high,
        ground=extent.floor(gravity, low, high),
        up=extent.upwards(gravity),
        notes=tuple(notes),
    )


@dc.dataclass(frozen=True)
class _Cast:
    """Robots and their looks, each loaded once."""

    robots: dict[str, Robot]
    notes: dict[str, None]
    loaded: list[tuple[Any, Robot, Look]] = dc.field(default_factory=list)

    def body(self, name: str, result: Result) -> tuple[Robot, Look] | None:
        """Return the robot of a run and its look; None, and a note, where there is none."""
        given = self.robots.get(name, result.scenario.get("robot"))
        for known, robot, look in self.loaded:
            if known is given or known == given:
                return robot, look
        if given is None:
            return None
        try:
            robot = _loaded(given)
            if robot.coordinates != result.labels.coordinates:
                raise UkctrlError("its coordinates are not those of the run")
            look = robot.look()
        except (UkctrlError, OSError) as error:
            self.notes[f"The robot itself is not shown: {str(error).rstrip('.')}."] = None
            return None
        self.loaded.append((given, robot, look))
        self.notes.update(dict.fromkeys(look.notes))
        return robot, look

    def ghost(
        self, result: Result, robot: Robot, look: Look, actor: Actor, at: Indices
    ) -> list[Actor]:
        """Return the robot as the controller believes it to be, where that can be told apart."""
        q, table = _configurations(result, robot, at), result.scenario.get("believed")
        measured = "q_measured" in result.samples
        if measured:
            seen = result["q_measured"][at]
            q = np.where(np.isfinite(seen), seen, q)
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
            if not (off > SEEN or turned > SEEN_TURN):
                return []
        name = "as measured" if measured else "as believed"
        ghost = Actor(name=name, look=look, poses=poses, color=GHOST, opacity=0.3, group="believed")
        return [ghost]

    def _believed(self, robot: Robot, table: Mapping[str, Any]) -> Look | None:
        from ukctrl.core.files.toml import read_spec
        from ukctrl.simulation.loop.closed_loop import believed_robot
        from ukctrl.simulation.scenario import Believed

        try:
            other = believed_robot(robot, read_spec(Believed, table, "scenario", key="believed"))
            return None if other is robot else other.look()
        except (UkctrlError, OSError) as error:
            self.notes[f"What is believed is not shown: {str(error).rstrip('.')}."] = None
            return None


def _loaded(given: Any) -> Robot:
    """Return the robot that a scenario names, or holds; Python code of strangers does not run."""
    if isinstance(given, Robot):
        return given
    from ukctrl.simulation.loop.closed_loop import true_robot

    return true_robot(given)


def _spread(length: int, count: int) -> Indices:
    return np.unique(np.linspace(0, length - 1, min(length, count)).round().astype(int))


def _samples_at(result: Result, time: Vector) -> Indices:
    """Return which sample of a run is the nearest at each time; the last one after its end."""
    own = result.time
    after = np.minimum(np.searchsorted(own, time), len(own) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(time - own[before] < own[after] - time, before, after)


def _configurations(result: Result, robot: Robot, at: Indices) -> Array:
    """Return the configurations at some samples; where a run has none any more, the last."""
    q: Array = result["q"][at]
    known = np.flatnonzero((np.abs(q) < extent.FARTHEST).all(axis=1))
    if not len(known):
        return np.broadcast_to(robot.neutral, q.shape)
    last = np.searchsorted(known, np.arange(len(q)), side="right") - 1
    return q[known[np.maximum(last, 0)]]


def _course(result: Result, robot: Robot) -> Callable[[Vector], Array]:
    """Return what gives the configurations of a run at some times."""
    return lambda time: _configurations(result, robot, _samples_at(result, time))


def _actor(result: Result, robot: Robot, look: Look, at: Indices, name: str, color: str) -> Actor:
    poses = look.poses(_configurations(result, robot, at), result.time[at])
    return Actor(
        name=name or robot.name, look=look, poses=poses, color=color, group=name or "robot"
    )


def _seen_from_afar(actor: Actor, size: float) -> Actor:
    """Return an actor of equal balls, such as a swarm, with balls that can be seen in the scene."""
    meshes = {id(part.mesh): part.mesh for part in actor.look.parts if len(part.mesh.faces)}
    if len(meshes) != 1:
        return actor
    (mesh,) = meshes.values()
    factor = SMALLEST_BALL * size / max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-12)
    if not factor > 1.0:
        return actor
    larger = mesh._replace(vertices=factor * mesh.vertices)
    parts = tuple(
        dc.replace(part, mesh=larger) if part.mesh is mesh else part for part in actor.look.parts
    )
    return dc.replace(actor, look=dc.replace(actor.look, parts=parts))


def gravity_of(robot: Robot) -> Vector | None:
    """Return the acceleration of gravity, shape ``(3,)`` [m/s^2]; None where there is none."""
    try:
        return robot.gravity
    except UkctrlError:  # a plant of formulas does not know of one
        return None


def _curves(result: Result, at: Indices, name: str, color: str, *, first: bool) -> list[Curve]:
    """Return the trails of the recorded frames, and their references for the first of runs."""
    if not np.isfinite(result["frame_position"]).any():
        return []
    position = _visible(result["frame_position"][at])
    wanted = result["frame_reference"][at] if "frame_reference" in result.samples else None
    found = []
    for k, frame in enumerate(result.labels.frames):
        own = color or style.PALETTE[k % len(style.PALETTE)]
        if first and wanted is not None:
            # A frame that is held along some axes only is shown where it went along the others.
            reference = np.where(np.isnan(wanted[:, k]), position[:, k], wanted[:, k])
            reference[np.isnan(wanted[:, k]).all(axis=1)] = np.nan
            if np.isfinite(_visible(reference)).all(axis=1).any():
                shade = style.MUTED if color else own
                found.append(
                    Curve(
                        name=frame,
                        points=_visible(reference),
                        kind="reference",
                        color=shade,
                        group="reference",
                    )
                )
        found.append(
            Curve(name=frame, points=position[:, k], kind="trail", color=own, group=name or "robot")
        )
    return found


def _ways(actor: Actor) -> list[Curve]:
    """Return the trails of what is small beside its own way, such as particles."""
    position = _visible(actor.poses.position)
    own: dict[int, float] = {}
    for part in actor.look.parts:
        size = float(np.ptp(part.mesh.vertices, axis=0).max(initial=0.0))
        own[part.carrier] = max(own.get(part.carrier, 0.0), size)
    way = np.nan_to_num(np.ptp(position, axis=0).max(axis=-1))
    still = np.ptp(actor.poses.stretch, axis=0) == 0.0  # what is stretched is a rope or a rod
    least = SPECK * way.max(initial=0.0)
    moving = [c for c, size in own.items() if still[c] and size < least and way[c] > 0.0]
    small = list({position[:, c].tobytes(): c for c in moving[::-1]}.values())[::-1]  # each once
    if len(small) > MOST_WAYS:
        return []
    return [
        Curve(
            name=actor.look.carriers[c],
            points=position[:, c],
            kind="trail",
            color=actor.color or style.PALETTE[k % len(style.PALETTE)],
            group=actor.group,
        )
        for k, c in enumerate(small)
    ]


def _visible(points: Array) -> Array:
    """Return points with NaN for those that are nowhere."""
    near = (np.abs(points) < extent.FARTHEST).all(axis=-1, keepdims=True)
    return np.where(near, points, np.nan)
