"""What every law for elastic joints asks of them, and the way to their motors and springs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.arrays import Flags, Indices, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.program import Call, Step
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.interface import RobotInterface
from ukctrl.robot.push_kernels import stretches

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


class Springs(NamedTuple):
    """What springs are like at a state, each of shape ``(k,)``."""

    stretch: Vector
    """By how much the motors are ahead of their joints."""
    rate: Vector
    """How fast they run ahead."""
    other: Vector
    """What acts on the motors beside inputs and springs, such as friction."""


@compiled
def write_springs(
    links: Indices,
    motors: Indices,
    link_coordinates: Indices,
    motor_coordinates: Indices,
    continuous: Flags,
    q: Vector,
    v: Vector,
    f: Vector,
    stiffness: Vector,
    damping: Vector,
    springs: Springs,
) -> None:
    """Write what springs are like."""
    stretches(link_coordinates, motor_coordinates, continuous, q, springs.stretch)
    for i in range(len(links)):
        springs.rate[i] = v[motors[i]] - v[links[i]]
        torque = stiffness[i] * springs.stretch[i] + damping[i] * springs.rate[i]
        springs.other[i] = f[motors[i]] + torque


@compiled
def placed(places: Indices, values: Vector, out: Vector) -> None:
    """Write values at their places."""
    for i in range(len(places)):
        out[places[i]] = values[i]


@final
class Motors:
    """The inputs that push the motors of elastic joints as asked."""

    def __init__(self, task: Task, joints: ElasticJoints) -> None:
        self._inverse = InverseActuation(task)
        self._joints = joints
        if self._inverse.rank < len(joints.motors):
            raise InputError(
                f"robot '{task.robot.name}' must have an input for each of its "
                f"{len(joints.motors)} motors; its inputs reach {self._inverse.rank}."
            )

    def springs(self, s: Snapshot) -> tuple[Springs, Step]:
        """Return room for what the springs are like, and what writes it."""
        joints, springs = self._joints, Springs(*np.zeros((3, len(self._joints.links))))
        return springs, Call(write_springs, *joints.places, s.q, s.v, s.f, *joints.law, springs)

    def steps(self, snapshot: Snapshot, push: Vector, u: Vector) -> tuple[Step, ...]:
        """Return what writes the least-norm input that pushes the motors so, ``(k,)``."""
        force: Vector = np.zeros(len(snapshot.v))
        every = (
            Call(placed, self._joints.motors, push, force),
            self._inverse.step(snapshot, force, u),
        )
        return every


def units_at(robot: RobotInterface, joints: ElasticJoints) -> tuple[str, str]:
    """Return the units of the joints' positions and efforts; of mixed ones, one a joint."""
    angles = [robot.dof_units[i].removesuffix("/s") for i in joints.motors]
    efforts = ["N m" if unit == "rad" else "N" for unit in angles]
    if len(set(angles)) == 1:
        return angles[0], efforts[0]
    return ", ".join(angles), ", ".join(efforts)
