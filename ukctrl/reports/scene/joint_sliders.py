"""Sliders of a robot at rest: how each joint displaces what it carries from the home pose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.reports.visual.visual_frames import RobotVisualModel
from ukctrl.reports.visual.visual_model import Poses, VisualModel
from ukctrl.robot import Robot
from ukctrl.robot.geometry import quaternions
from ukctrl.robot.rigid.tree_kernels import CIRCLE, IQ, IV, KIND, NV, PARENT


class JointSlider(NamedTuple):
    """A joint of one freedom, in world axes at the home pose.

    A page needs no more for forward kinematics: a joint's displacement from home is that of its
    parent after its own, a turn about a fixed axis and a shift along a fixed direction.
    """

    name: str
    unit: str
    parent: int
    """Index of the slider of the next joint towards the world; -1: none."""
    carriers: list[int]
    """Rows of the actor's poses that this joint moves directly."""
    point: list[float]
    """On the axis [m]."""
    turn: list[float]
    """Axis of the turn, of unit length; zeros where it does not turn."""
    slide: list[float]
    """Shift per unit of the joint's coordinate."""
    home: float
    low: float
    high: float


def joint_sliders(
    robot: Robot, look: VisualModel, q: Vector, size: float
) -> tuple[tuple[JointSlider, ...], str]:
    """Return the sliders of a robot, and a note on what has none.

    Args:
        robot: The robot.
        look: Its visuals.
        q: The home pose, shape ``(nq,)``.
        size: Size of the scene: how far a sliding joint without limits goes [m].
    """
    if not isinstance(look, RobotVisualModel) or look.tree is None or look.frames:
        return (), "No joint sliders: formulas place what is drawn."
    if robot.passive:
        return (), "No joint sliders: passive constraints tie the joints to each other."
    joints, poses = look.tree.joints, _joint_poses(look, q)
    sliders: list[JointSlider] = []
    nearest = {0: -1}  # slider of each joint, or of the next one towards the world
    for j, joint in enumerate(joints[1:], 1):
        nearest[j] = nearest[int(joint[PARENT])]
        carriers = np.flatnonzero(look.joints == j).tolist()
        if joint[NV] == 1:
            axes = np.reshape(look.tree.subspace[joint[IV]], (2, 3))
            slide, turn = quaternions.rotated(poses.quaternion[0, j], axes)
            home, low, high = _range(robot, joint[IQ], joint[IV], joint[KIND] == CIRCLE, q, size)
            sliders.append(
                JointSlider(
                    robot.dofs[joint[IV]],
                    robot.dof_units[joint[IV]].removesuffix("/s"),
                    nearest[j],
                    carriers,
                    poses.position[0, j].tolist(),
                    turn.tolist(),
                    slide.tolist(),
                    home,
                    low,
                    high,
                )
            )
            nearest[j] = len(sliders) - 1
        elif nearest[j] >= 0:
            sliders[nearest[j]].carriers.extend(carriers)
    several = int((joints[1:, NV] > 1).sum())
    rest = "A joint of several freedoms has no slider." if several else ""
    return tuple(sliders), rest


def _joint_poses(look: RobotVisualModel, q: Vector) -> Poses:
    """Return the poses of all joints, also of those that carry no visual."""
    assert look.tree is not None
    every = np.arange(len(look.tree.joints))
    bare = RobotVisualModel(parts=(), frame_names=(), nq=look.nq, tree=look.tree, joints=every)
    return bare.poses(q[None], np.zeros(1))


def _range(
    robot: Robot, iq: int, iv: int, circle: bool, q: Vector, size: float
) -> tuple[float, float, float]:
    """Return a coordinate's home and limits; half a turn, or the scene, where there are none."""
    wide = np.pi if robot.dof_units[iv] == "rad/s" else max(0.5, 2.0 * size)
    if circle:
        return float(np.arctan2(q[iq + 1], q[iq])), -wide, wide
    lower, upper, home = float(robot.q_lower[iq]), float(robot.q_upper[iq]), float(q[iq])
    low = lower if np.isfinite(lower) else min(-wide, upper - wide)
    high = upper if np.isfinite(upper) else max(wide, lower + wide)
    return home, min(low, home), max(high, home)
