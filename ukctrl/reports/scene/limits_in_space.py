"""What a run keeps, in space: walls, balls, hulls of bodies, the feet's polygon, friction cones."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ukctrl.control.safety import AnyKeep, Inequality
from ukctrl.control.task import Task
from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.toml import read_spec
from ukctrl.mechanics.constraints.ground import unit_vector
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.reports.plot import style
from ukctrl.reports.scene.limit_shapes import (
    CENTRE_OF_MASS,
    WORLD,
    LimitShape,
    SceneContext,
    limit_shapes,
)
from ukctrl.reports.scene.scene import Actor
from ukctrl.reports.visual.pose_kernels import make_continuous
from ukctrl.reports.visual.visual_model import Poses, VisualModel, VisualPart
from ukctrl.robot import Robot
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.quaternions import quaternions_from_matrices, rotation_towards
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.result import Result

KINDS: Any = AnyKeep
"""To a type checker one class, which is abstract; else all of its kinds."""
GROUP = "limits"
ROLE_STYLES = {
    "free": (style.PALETTE[2], 0.34),
    "barred": (style.ALERT, 0.34),
    "mark": (style.PALETTE[6], 0.5),
}
"""Colour and opacity of a shape by its role."""
LARGEST = 2.5
"""What is larger than so many times the robot's scene is left out: it would hide all else."""
CONE = 0.12
"""Height of a friction cone, as a fraction of the scene."""

FrameAxes = tuple[str, str]
"""A frame, and the one whose axes what it carries has."""


def limit_actors(
    result: Result, robot: Robot, q: Matrix, at: Indices, size: float
) -> Iterator[Actor]:
    """Yield what is to be seen of what a run keeps.

    Args:
        result: The run.
        robot: Its robot.
        q: Its configurations at the scene's times, shape ``(n, nq)``.
        at: Which samples these are.
        size: How large the scene is [m].
    """
    t = result.time[at]
    looks = {"limits": limit_visuals(result.scenario, robot, q, t, size)}
    cones = list(_cones(robot, size))
    if cones:
        looks["friction"] = LimitVisuals.of(robot, cones)
    for name, look in looks.items():
        if look is not None:
            poses = look.poses(q, t)
            if name == "friction":
                _hide_open_cones(poses, look, result, robot, at)
            yield Actor(name=name, visuals=look, poses=poses, group=GROUP)


def limit_visuals(
    scenario: Mapping[str, Any], robot: Robot, q: Matrix, t: Vector, size: float
) -> LimitVisuals | None:
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
        track = _frame_poses(robot, [(frame, WORLD)], q, t).position[:, 0]
        return np.asarray(0.5 * (track.min(axis=0) + track.max(axis=0)))

    scene, shapes = SceneContext(task, size, middle), list[LimitShape]()
    for table in scenario.get("keep") or ():
        with contextlib.suppress(UkctrlError):  # as of a file that somebody has changed
            keep: Inequality = read_spec(KINDS, table, "scenario", key="keep")
            shapes += limit_shapes(keep, scene)
    shown = [one for one in shapes if np.ptp(one.mesh.vertices, axis=0).max() <= LARGEST * size]
    return LimitVisuals.of(robot, shown) if shown else None


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class LimitVisuals(VisualModel):
    """Shapes that frames of a robot carry along, or its centre of mass."""

    robot: Robot
    carried: tuple[FrameAxes, ...]

    @staticmethod
    def of(robot: Robot, shapes: Sequence[LimitShape]) -> LimitVisuals:
        """Return how shapes look."""
        frames = [
            (one.frame, one.frame if one.axes_frame is None else one.axes_frame) for one in shapes
        ]
        carried = tuple(dict.fromkeys(frames))
        visuals = tuple(
            VisualPart(
                name="limit",
                mesh=one.mesh,
                frame=carried.index(frame),
                color=ROLE_STYLES[one.role][0],
                opacity=ROLE_STYLES[one.role][1],
            )
            for one, frame in zip(shapes, frames, strict=True)
        )
        unnamed = ("",) * len(carried)  # the robot's carriers have the names already
        return LimitVisuals(parts=visuals, frame_names=unnamed, robot=robot, carried=carried)

    def poses(self, q: Matrix, t: Vector) -> Poses:
        """Return where the carriers are; see `VisualModel.poses`."""
        return _frame_poses(self.robot, self.carried, q, t)


def _frame_poses(robot: Robot, carried: Sequence[FrameAxes], q: Matrix, t: Vector) -> Poses:
    """Return where frames are, and the centre of mass.

    Raises:
        UkctrlError: The robot has no such frame, or does not know of bodies.
    """
    shape = len(t), len(carried)
    position, turns = np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))
    turns[:] = np.eye(3)
    snapshot, zero_v = robot.snapshot(q[0], None, float(t[0])), np.zeros(robot.nv)
    for k in range(len(t)):
        snapshot.move(q[k], zero_v, float(t[k]))
        for c, (name, axes) in enumerate(carried):
            if name == CENTRE_OF_MASS:
                position[k, c] = snapshot.com().position
            elif name != WORLD:
                position[k, c] = snapshot.frame(name).position
            if axes != WORLD:
                turns[k, c] = snapshot.frame(axes).rotation
    quaternion: Array = quaternions_from_matrices(turns)
    make_continuous(quaternion)
    return Poses(position, quaternion, np.ones(shape))


def _cones(robot: Robot, size: float) -> Iterator[LimitShape]:
    """Yield the friction cones of contacts that only push, on what they touch."""
    specs: tuple[Any, ...] = passive_constraints(robot)
    for spec in specs:
        if getattr(spec, "kind", "") != "contact" or not spec.mu:
            continue
        height = CONE * size / math.hypot(1.0, spec.mu)
        cone = primitive_meshes.revolve([(0.0, 0.0), (spec.mu * height, height)])
        if spec.on is None:
            cone = cone.moved(rotation_towards(unit_vector(spec.ground.normal)), np.zeros(3))
        yield LimitShape(spec.frame, cone, "free", axes_frame=spec.on or WORLD)


def _hide_open_cones(
    poses: Poses, look: LimitVisuals, result: Result, robot: Robot, at: Indices
) -> None:
    """Take away the cones of contacts while they are open."""
    forces = {
        force.block: force.closed[at] for force in sample_measures.ground_forces(result.samples)
    }
    for table in robot.passive:
        closed = forces.get(str(table.get("name") or f"{table.get('frame')}_contact"))
        frame = (str(table.get("frame")), str(table.get("on") or WORLD))
        if closed is not None and frame in look.carried:
            poses.position[~closed, look.carried.index(frame)] = np.nan
