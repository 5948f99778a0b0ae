"""The scene of a robot that nothing moves."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.from_results import gravity_of
from ukctrl.reports.scene.stage import Actor, Scene
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
    at = closed(robot, home(robot)) if q is None else np.asarray(q, dtype=float)
    if not np.isfinite(at).all():
        raise InputError(f"q must be numbers; got {at.tolist()}.")
    look, time = robot.look(), np.zeros(1)
    poses = look.poses(at[None], time)
    actor = Actor(name=robot.name, look=look, poses=poses)
    low, high = extent.box([actor], [])
    gravity = gravity_of(robot)
    return Scene(
        title=robot.title or robot.name,
        time=time,
        actors=(actor,),
        low=low,
        high=high,
        ground=extent.floor(gravity, low, high),
        up=extent.upwards(gravity),
        notes=look.notes,
    )
