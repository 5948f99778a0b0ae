"""What every law for elastic joints asks of them, and the way to their motors."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.control.actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.interface import RobotInterface

Refusal = Callable[[ElasticJoints], str]
"""Says why a law cannot serve some joints; empty where it can."""


def serves_any(joints: ElasticJoints) -> str:
    """Refuse nothing."""
    return ""


def elastic_joints(task: Task, kind: str, refused: Refusal) -> ElasticJoints:
    """Return the elastic joints of a task's robot, all of which must be such.

    Args:
        task: The task.
        kind: The kind of the law, for the complaint.
        refused: What else the law cannot serve.

    Raises:
        InputError: The law cannot serve this robot.
    """
    robot, joints = task.robot, task.robot.elastic
    why = ""
    if joints is None:
        why = 'it has none; use kind = "servo"'
    elif 2 * len(joints.links) != robot.nv or (joints.links != np.arange(len(joints.links))).any():
        why = "some are rigid"
    elif robot.passive:
        why = "passive constraints tie them together"
    else:
        why = refused(joints)
    if joints is None or why:
        raise InputError(
            f"robot '{robot.name}' must have elastic joints alone, each with a motor, "
            f'for kind = "{kind}"; {why}.'
        )
    return joints


@final
class Motors:
    """The inputs that push the motors of elastic joints as asked."""

    def __init__(self, task: Task, joints: ElasticJoints) -> None:
        self._inverse = InverseActuation(task)
        self._at, self._force = joints.motors, np.zeros(task.robot.nv)
        if self._inverse.rank < len(joints.motors):
            raise InputError(
                f"robot '{task.robot.name}' must have an input for each of its "
                f"{len(joints.motors)} motors; its inputs reach {self._inverse.rank}."
            )

    def input(self, snapshot: Snapshot, push: Vector) -> Vector:
        """Return the least-norm input that pushes the motors with ``push``, shape ``(k,)``."""
        self._force[self._at] = push
        return self._inverse.input(snapshot, self._force)


def units_at(robot: RobotInterface, joints: ElasticJoints) -> tuple[str, str]:
    """Return the units of the joints' positions and efforts; of mixed ones, one a joint."""
    angles = [robot.dof_units[i].removesuffix("/s") for i in joints.motors]
    efforts = ["N m" if unit == "rad" else "N" for unit in angles]
    if len(set(angles)) == 1:
        return angles[0], efforts[0]
    return ", ".join(angles), ", ".join(efforts)
