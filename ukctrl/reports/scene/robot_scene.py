"""The scene of a robot that nothing moves."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.home_configuration import close_loops, home_configuration
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.joint_sliders import joint_sliders
from ukctrl.reports.scene.pedestals import add_pedestals
from ukctrl.reports.scene.scene import Actor, Scene
from ukctrl.reports.visual.build_visuals import build_visuals
from ukctrl.robot import Robot


def robot_scene(robot: Robot, q: Vector | None = None) -> Scene:
    """Return what there is to see of a robot at a configuration.

    Args:
        robot: The robot.
        q: Where it is, shape ``(nq,)``; absent: at home, with its loops closed.

    Raises:
        ShapeError: The configuration is not the robot's.
        InputError: It holds what is no number.
    """
    at = close_loops(robot, home_configuration(robot)) if q is None else robot.checked_q(q)
    look, time = build_visuals(robot), np.zeros(1)
    poses = look.poses(at[None], time)
    actor = Actor(name=robot.name, visuals=look, poses=poses)
    low, high = extent.bounding_box([actor], [])
    gravity = gravity_of(robot)
    ground = extent.floor_height(gravity, low, high, [actor])
    joints, note = joint_sliders(robot, look, at, float((high - low).max()))
    return Scene(
        title=robot.title or robot.name,
        time=time,
        actors=(add_pedestals(actor, ground),),
        low=low,
        high=high,
        ground=ground,
        up=extent.up_axis(gravity),
        notes=(*look.notes, note) if note else look.notes,
        joints=joints,
    )


def gravity_of(robot: Robot) -> Vector | None:
    """Return the acceleration of gravity, shape ``(3,)`` [m/s^2]; None where there is none."""
    try:
        return robot.gravity
    except UkctrlError:  # a plant of formulas does not know of one
        return None
