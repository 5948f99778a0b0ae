"""The joint motion that keeps a task, for controllers that follow joints."""

from __future__ import annotations

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix
from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import JointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import independent_velocities
from ukctrl.mechanics.reference import Spline
from ukctrl.mechanics.relative_degree import SERVO_ADVICE
from ukctrl.robot import Robot
from ukctrl.robot.manifold_kernels import configuration_from_angles

MAX_KNOTS = 1_000_000
"""More configurations than this along one motion are a typing error."""


def require_plannable(
    duration: float, step: float, key: str = "plan_step", knots: int = 1, label: str = "motion"
) -> None:
    """Refuse to plan a motion without an end, or with too many configurations.

    Args:
        duration: Length of the run [s].
        step: Length of a step [s].
        key: What gives it, within the controller.
        knots: Configurations in a step.
        label: What messages call the motion.

    Raises:
        InputError: It is refused.
    """
    if not np.isfinite(duration):
        raise InputError(f"task must have a finite duration to plan its {label}; got inf.")
    min_step = duration * knots / MAX_KNOTS
    if duration * knots / step > MAX_KNOTS:
        raise InputError(f"controller.{key} must be at least {min_step:.1e} s; got {step:g} s.")


def independent_joints(task: Task, instead: str = SERVO_ADVICE) -> tuple[str, ...]:
    """Return the joints that a joint-space controller moves: all, or those that are free.

    Passive constraints leave fewer freedoms than joints. As many joints as they leave are chosen,
    those that determine the others best at the start; the others then follow by physics.

    Raises:
        InputError: A joint is no angle or position, or velocities are constrained.
    """
    robot = task.robot
    odd = [block.name for block in robot.blocks if block.shape not in ("line", "circle")]
    if odd:
        raise InputError(
            f"robot '{robot.name}' must have joints of one freedom only for a joint-space "
            f"controller; {quoted(odd)} {'is' if len(odd) == 1 else 'are'} not. Use {instead}."
        )
    if not robot.passive:
        return robot.dofs
    dynamics = Dynamics(robot, task.rank, task.gains)
    _require_positions(dynamics.passive, "passive", instead)
    dynamics.move(task.start, task.q, task.v)
    return tuple(robot.dofs[i] for i in independent_velocities(dynamics))


def joint_motion(
    task: Task,
    step: float,
    joints: tuple[str, ...] = (),
    instead: str = f"{SERVO_ADVICE}, or give the controller a path",
) -> JointFollows:
    r"""Return the joint motion that keeps the servo constraints, as a constraint itself.

    At every ``step`` the configuration is moved by Newton's method, along the smallest joint
    motion, onto $\phi(q, t) = 0$ of the servo rows and the passive ones; a quintic spline joins
    them. With $h$ = ``step`` the spline keeps the constraints to $O(h^6)$.

    Args:
        task: The task.
        step: Time between knots [s].
        joints: The joints whose motion is returned; absent: `independent_joints`.
        instead: What complaints about rows without a position level advise to use.

    Raises:
        InputError: The task has no end, or has rows without a position level; or the robot has
            coordinates that are no joint angles.
        StartError: The constraints cannot be reached at some time.
    """
    state, when = task.q.tobytes() + task.v.tobytes(), (task.start, task.duration, step)
    key = task.robot, state, when, joints, tuple(task.servo), task.rank, task.gains
    return _MOTION_CACHE.get(key, lambda: _plan_joint_motion(task, step, joints, instead))


_MOTION_CACHE: LastValueCache[JointFollows] = LastValueCache()


def _plan_joint_motion(
    task: Task, step: float, joints: tuple[str, ...], instead: str
) -> JointFollows:
    robot = task.robot
    joints = joints or independent_joints(task)
    stack = Stack((*passive_constraints(robot), *task.servo), robot)
    _require_positions(Stack(task.servo, robot), "servo", instead)
    require_plannable(task.duration, step, label="joint motion")
    # One step further than the run, because a spline stands still from its last knot on.
    # and a quintic spline with given ends needs six knots
    count = max(6, int(np.ceil(task.duration / step)) + 2)
    times = (task.start + step * np.arange(count)).tolist()
    snapshot = robot.snapshot(task.q)
    q, knots = task.q, []
    for t in times:
        q = consistent_configuration(stack, snapshot, q, t)
        knots.append(q)
        task.reached(t)
    angles = np.hstack([block.angles(np.array(knots)) for block in robot.blocks])
    angles = angles[:, [robot.structure.dof(name) for name in joints]]
    points = tuple(tuple(row) for row in angles.tolist())
    path = Spline(times=tuple(times), points=points, degree="quintic", ends="free")
    return JointFollows(joints=tuple(joints), path=path)


def configurations_of_angles(robot: Robot, angles: Matrix) -> Matrix:
    """Return configurations from joint angles, one a velocity; shape ``(k, nq)``."""
    q = np.empty((len(angles), robot.nq))
    for row, configuration in zip(angles, q, strict=True):
        configuration_from_angles(robot.structure.manifold_table, row, configuration)
    return q


def _require_positions(stack: Stack, label: str, instead: str) -> None:
    if not stack.holonomic.all():
        row = stack.names[int(np.flatnonzero(~stack.holonomic)[0])]
        rewrite = "Write it as phi if it is the rate of one, or u" if label == "servo" else "U"
        raise InputError(
            f"{label} row '{row}' must have a position level for a joint-space controller; it "
            f"holds a velocity alone. {rewrite}se {instead}."
        )
