"""What every law for elastic joints asks of them, and the way to their motors and springs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.inverse_actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.relative_degree import SERVO_ADVICE
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.applied_force_kernels import ElasticIndices, write_spring_stretches
from ukctrl.robot.robot_base import RobotBase

UnsupportedReason = Callable[[ElasticJoints], str]
"""Says why a law cannot serve some joints; empty where it can."""


def supports_all_joints(joints: ElasticJoints) -> str:
    """Refuse nothing."""
    return ""


def require_elastic_joints(task: Task, kind: str, refused: UnsupportedReason) -> ElasticJoints:
    """Return the elastic joints of a task's robot, all of which must be such.

    Args:
        task: The task.
        kind: The kind of the law, for the complaint.
        refused: What else the law cannot serve.

    Raises:
        InputError: The law cannot serve this robot.
    """
    robot, joints = task.robot, task.robot.elastic
    reason = ""
    if joints is None:
        reason = f"it has none; use {SERVO_ADVICE}"
    # laws take the first half of everything for the links
    elif 2 * len(joints.links) != robot.nv or (joints.links != np.arange(len(joints.links))).any():
        reason = "some are rigid"
    elif robot.passive:
        reason = "passive constraints tie them together"
    else:
        reason = refused(joints)
    if joints is None or reason:
        raise InputError(
            f"robot '{robot.name}' must have elastic joints alone, each with a motor, "
            f'for kind = "{kind}"; {reason}.'
        )
    return joints


class SpringState(NamedTuple):
    """What springs are like at a state, each of shape ``(k,)``."""

    stretch: Vector
    """By how much the motors are ahead of their joints."""
    stretch_rate: Vector
    """How fast they run ahead."""
    other_force: Vector
    """What acts on the motors beside inputs and springs, such as friction."""


@compiled
def write_spring_state(
    at: ElasticIndices,
    q: Vector,
    v: Vector,
    f: Vector,
    stiffness: Vector,
    damping: Vector,
    springs: SpringState,
) -> None:
    """Write what springs are like."""
    write_spring_stretches(
        at.link_coordinates, at.motor_coordinates, at.continuous, q, springs.stretch
    )
    links, motors = at.links, at.motors
    for i in range(len(links)):
        springs.stretch_rate[i] = v[motors[i]] - v[links[i]]
        torque = stiffness[i] * springs.stretch[i] + damping[i] * springs.stretch_rate[i]
        # f has the springs' pull in it, -torque
        springs.other_force[i] = f[motors[i]] + torque


@compiled
def scatter(indices: Indices, values: Vector, out: Vector) -> None:
    """Write values at their places."""
    for i in range(len(indices)):
        out[indices[i]] = values[i]


@final
class ElasticMotors:
    """The inputs that push the motors of elastic joints as asked."""

    def __init__(self, task: Task, joints: ElasticJoints) -> None:
        self._inverse = InverseActuation(task)
        self._joints = joints
        if self._inverse.rank < len(joints.motors):
            raise InputError(
                f"robot '{task.robot.name}' must have an input for each of its "
                f"{len(joints.motors)} motors; its inputs reach {self._inverse.rank}."
            )

    def spring_state(self, s: Snapshot) -> tuple[SpringState, KernelStep]:
        """Return room for what the springs are like, and what writes it."""
        joints, springs = self._joints, SpringState(*np.zeros((3, len(self._joints.links))))
        return springs, BoundKernel(
            write_spring_state, joints.indices, s.q, s.v, s.f, *joints.stiffness_damping, springs
        )

    def steps(self, snapshot: Snapshot, push: Vector, u: Vector) -> tuple[KernelStep, ...]:
        """Return what writes the least-norm input that pushes the motors so, ``(k,)``."""
        force: Vector = np.zeros(len(snapshot.v))
        steps = (
            BoundKernel(scatter, self._joints.motors, push, force),
            self._inverse.step(snapshot, force, u),
        )
        return steps


def joint_units(robot: RobotBase, joints: ElasticJoints) -> tuple[str, str]:
    """Return the units of the joints' positions and efforts; of mixed ones, one a joint."""
    angles = [robot.dof_units[i].removesuffix("/s") for i in joints.motors]
    efforts = ["N m" if unit == "rad" else "N" for unit in angles]
    if len(set(angles)) == 1:
        return angles[0], efforts[0]
    return ", ".join(angles), ", ".join(efforts)
