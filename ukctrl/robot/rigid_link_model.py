"""A robot with elastic joints as its links see it."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.robot.robot_base import R


def rigid_link_robot(robot: R) -> R:
    """Return the robot whose inputs push the links, as the springs of an elastic one do.

    Its coordinates are the same; the motors have no part in it and turn freely. So a law for it
    says which torques the springs should have.

    Raises:
        InputError: The robot has no elastic joints, or an input pushes a link past its spring.
    """
    joints = robot.elastic
    if joints is None:
        raise InputError(f"robot '{robot.name}' must have elastic joints; it has none.")
    actuation = robot.actuation
    link_dofs = np.setdiff1d(np.arange(robot.nv), joints.motors)
    past = np.flatnonzero(actuation.constant[link_dofs].any(axis=0)).tolist()
    past += [index for index, _ in actuation.varying_columns]
    if past:
        raise InputError(
            f"input '{actuation.names[past[0]]}' of robot '{robot.name}' must push motors of "
            "elastic joints alone; it pushes bodies past their springs."
        )
    constant = actuation.constant.copy()
    constant[joints.links] = constant[joints.motors]
    constant[joints.motors] = 0.0
    terms = tuple(term for term in robot.forces.terms if term is not joints)
    return dc.replace(
        robot,
        name=f"{robot.name}, links alone",
        actuation=dc.replace(actuation, constant=constant),
        forces=dc.replace(robot.forces, terms=terms),
        elastic=None,
        path=None,
    )
