"""The scene of a robot that nothing moves."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.stage import Actor, Scene
from ukctrl.reports.scene.stands import standing
from ukctrl.robot import Robot


def of_robot(robot: Robot, q: Vector | None = None) -> Scene:
    """Return what there is to see of a robot at a configuration.

    Args:
        robot: The robot.
        q: Where it is, shape ``(nq,)``; absent: at home, with its loops closed.

    Raises:
        ShapeError: The configuration is not the robot's.
        InputError: It holds what is no number.
    """
    at = closed(robot, home(robot)) if q is None else robot.checked_q(q)
    look, time = robot.look(), np.zeros(1)
    poses = look.poses(at[None], time)
    actor = Actor(name=robot.name, look=look, poses=poses)
    low, high = extent.box([actor], [])
    gravity = gravity_of(robot)
    ground = extent.floor(gravity, low, high, [actor])
    return Scene(
        title=robot.title or robot.name,
        time=time,
        actors=(standing(actor, ground),),
        low=low,
        high=high,
        ground=ground,
        up=extent.upwards(gravity),
        notes=look.notes,
    )


def gravity_of(robot: Robot) -> Vector | None:
    """Return the acceleration of gravity, shape ``(3,)`` [m/s^2]; None where there is none."""
    try:
        return robot.gravity
    except UkctrlError:  # a plant of formulas does not know of one
        return None
