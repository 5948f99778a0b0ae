"""What a run keeps, in space: walls, balls, hulls of bodies, the feet's polygon, friction cones."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ukctrl.control.keep import AnyKeep, Keep
from ukctrl.control.keep.keep import MASS, WORLD, Sight, Solid
from ukctrl.control.task import Task
from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.toml import read_spec
from ukctrl.mechanics.constraints.ground import unit
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.reports.plot import style
from ukctrl.reports.scene.stage import Actor
from ukctrl.robot import Robot
from ukctrl.robot.look import meshes
from ukctrl.robot.look.parts import Look, Part, Poses
from ukctrl.robot.look.pose_kernels import make_continuous
from ukctrl.robot.look.rotations import quaternions, towards
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result

KINDS: Any = AnyKeep
"""To a type checker one class, which is abstract; else all of its kinds."""
GROUP = "limits"
LOOKS = {
    "free": (style.PALETTE[2], 0.34),
    "barred": (style.ALERT, 0.34),
    "mark": (style.PALETTE[6], 0.5),
}
"""Colour and opacity of a solid by its role."""
LARGEST = 2.5
"""What is larger than so many times the robot's scene is left out: it would hide all else."""
CONE = 0.12
"""Height of a friction cone, as a fraction of the scene."""

Carrier = tuple[str, str]
"""A frame, and the one whose axes what it carries has."""


def kept(result: Result, robot: Robot, q: Matrix, at: Indices, size: float) -> Iterator[Actor]:
    """Yield what is to be seen of what a run keeps.

    Args:
        result: The run.
        robot: Its robot.
        q: Its configurations at the scene's times, shape ``(n, nq)``.
        at: Which samples these are.
        size: How large the scene is [m].
    """
    t = result.time[at]
    looks = {"limits": limits(result.scenario, robot, q, t, size)}
    cones = list(_cones(robot, size))
    if cones:
        looks["friction"] = Shapes.of(robot, cones)
    for name, look in looks.items():
        if look is not None:
            poses = look.poses(q, t)
            if name == "friction":
                _lift(poses, look, result, robot, at)
            yield Actor(name=name, look=look, poses=poses, group=GROUP)


def limits(
    scenario: Mapping[str, Any], robot: Robot, q: Matrix, t: Vector, size: float
) -> Shapes | None:
    """Return how what a scenario keeps looks; None where there is nothing to be seen.

    Args:
        scenario: Its table.
        robot: Its robot.
        q: Configurations that the robot goes through, shape ``(n, nq)``.
        t: When, shape ``(n,)`` [s].
        size: How large the scene is [m].
    """
    task = Task(robot=robot, servo=(), q=q[0], v=np.zeros(robot.nv), start=float(t[0]))

    @functools.cache
    def middle(frame: str) -> Vector:
        way = _ways(robot, [(frame, WORLD)], q, t).position[:, 0]
        return np.asarray(0.5 * (way.min(axis=0) + way.max(axis=0)))

    sight, solids = Sight(task, size, middle), list[Solid]()
    for table in scenario.get("keep") or ():
        with contextlib.suppress(UkctrlError):  # as of a file that somebody has changed
            keep: Keep = read_spec(KINDS, table, "scenario", key="keep")
            solids += keep.solids(sight)
    shown = [one for one in solids if np.ptp(one.mesh.vertices, axis=0).max() <= LARGEST * size]
    return Shapes.of(robot, shown) if shown else None


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Shapes(Look):
    """Shapes that frames of a robot carry along, or its centre of mass."""

    robot: Robot
    carried: tuple[Carrier, ...]

    @staticmethod
    def of(robot: Robot, solids: Sequence[Solid]) -> Shapes:
        """Return how solids look."""
        places = [(one.carrier, one.carrier if one.axes is None else one.axes) for one in solids]
        carried = tuple(dict.fromkeys(places))
        parts = tuple(
            Part(
                name="limit",
                mesh=one.mesh,
                carrier=carried.index(place),
                color=LOOKS[one.role][0],
                opacity=LOOKS[one.role][1],
            )
            for one, place in zip(solids, places, strict=True)
        )
        unnamed = ("",) * len(carried)  # the robot's carriers have the names already
        return Shapes(parts=parts, carriers=unnamed, robot=robot, carried=carried)

    def poses(self, q: Matrix, t: Vector) -> Poses:
        """Return where the carriers are; see `Look.poses`."""
        return _ways(self.robot, self.carried, q, t)


def _ways(robot: Robot, carried: Sequence[Carrier], q: Matrix, t: Vector) -> Poses:
    """Return where frames are, and the centre of mass.

    Raises:
        UkctrlError: The robot has no such frame, or does not know of bodies.
    """
    shape = len(t), len(carried)
    position, turns = np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))
    turns[:] = np.eye(3)
    snapshot, rest = robot.snapshot(q[0], None, float(t[0])), np.zeros(robot.nv)
    for k in range(len(t)):
        snapshot.move(q[k], rest, float(t[k]))
        for c, (name, axes) in enumerate(carried):
            if name == MASS:
                position[k, c] = snapshot.com().position
            elif name != WORLD:
                position[k, c] = snapshot.frame(name).position
            if axes != WORLD:
                turns[k, c] = snapshot.frame(axes).rotation
    quaternion: Array = quaternions(turns)
    make_continuous(quaternion)
    return Poses(position, quaternion, np.ones(shape))


def _cones(robot: Robot, size: float) -> Iterator[Solid]:
    """Yield the friction cones of contacts that only push, on what they touch."""
    specs: tuple[Any, ...] = passive_constraints(robot)
    for spec in specs:
        if getattr(spec, "kind", "") != "contact" or not spec.mu:
            continue
        height = CONE * size / math.hypot(1.0, spec.mu)
        cone = meshes.turned([(0.0, 0.0), (spec.mu * height, height)])
        if spec.on is None:
            cone = cone.moved(towards(unit(spec.ground.normal)), np.zeros(3))
        yield Solid(spec.frame, cone, "free", axes=spec.on or WORLD)


def _lift(poses: Poses, look: Shapes, result: Result, robot: Robot, at: Indices) -> None:
    """Take away the cones of contacts while they are open."""
    forces = {force.block: force.closed[at] for force in measures.ground_forces(result.samples)}
    for table in robot.passive:
        closed = forces.get(str(table.get("name") or f"{table.get('frame')}_contact"))
        place = (str(table.get("frame")), str(table.get("on") or WORLD))
        if closed is not None and place in look.carried:
            poses.position[~closed, look.carried.index(place)] = np.nan
