"""A motion as a ROS 2 message `trajectory_msgs/msg/JointTrajectory`, in YAML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.robot import Robot
from ukctrl.robot.joint_layout import JointBlock

if TYPE_CHECKING:
    from ukctrl.simulation.result.result import Result

NANO = 1_000_000_000


def driven_joints(robot: Robot) -> tuple[JointBlock, ...]:
    """Return the joints of one freedom that a motor acts on, in the robot's order."""
    snapshot = robot.snapshot(robot.neutral if robot.home is None else robot.home)
    driven = np.abs(snapshot.B).max(axis=1, initial=0.0) > 0.0
    return tuple(
        block for block in robot.blocks if block.shape in ("line", "circle") and driven[block.iv]
    )


class SampledMotion(NamedTuple):
    """A motion of a robot at ``n`` instants."""

    time: Vector
    """[s]."""
    q: Matrix
    """Shape ``(n, nq)``."""
    v: Matrix
    """Shape ``(n, nv)``."""
    a: Matrix
    """Shape ``(n, nv)``."""
    u: Matrix
    """Inputs, shape ``(n, nu)``."""


def joint_trajectory(result: Result, robot: Robot, stride: int = 1) -> str:
    """Return a run as a `trajectory_msgs/msg/JointTrajectory` in YAML; see `trajectory_message`.

    Args:
        result: The run.
        robot: Its robot.
        stride: Take each so-manieth sample, from the first on.

    Raises:
        InputError: No joint of one freedom is driven, or there are no samples.
    """
    if not len(result.time):
        require_driven_joint(robot)
        raise InputError("the run must have samples for a joint trajectory; it has none.")
    motion = SampledMotion(result.time, *(result[name] for name in ("q", "v", "a", "u")))
    return trajectory_message(motion, robot, stride)


def require_driven_joint(robot: Robot) -> tuple[JointBlock, ...]:
    """Return the driven joints of one freedom.

    Raises:
        InputError: There is none.
    """
    joints = driven_joints(robot)
    if not joints:
        raise InputError(
            f"robot '{robot.name}' must have a driven joint of one freedom for a joint trajectory; "
            "its motors act on none."
        )
    return joints


def trajectory_message(motion: SampledMotion, robot: Robot, stride: int = 1) -> str:
    """Return a motion as a `trajectory_msgs/msg/JointTrajectory` in YAML.

    It is what ``ros2 topic pub`` takes, and, below the key ``trajectory``, the goal of
    ``control_msgs/action/FollowJointTrajectory``. Continuous joints count their turns; the effort
    is what the motors do at the joints, ``B u``.

    Args:
        motion: The motion.
        robot: Its robot.
        stride: Take each so-manieth sample, from the first on.

    Raises:
        InputError: No joint of one freedom is driven.
    """
    joints, q = require_driven_joint(robot), motion.q
    columns = [block.iv for block in joints]
    efforts, snapshot = [], robot.snapshot(q[0])
    for t, at, v, u in zip(motion.time, q, motion.v, motion.u, strict=True):
        snapshot.move(at, v, float(t))
        efforts.append((snapshot.B @ u)[columns])
    quantities = {
        "positions": np.hstack([block.angles(q) for block in joints]),
        "velocities": motion.v[:, columns],
        "accelerations": motion.a[:, columns],
        "effort": np.array(efforts),
    }
    lines = [
        "header:",
        "  stamp: {sec: 0, nanosec: 0}",
        '  frame_id: ""',
        f"joint_names: [{', '.join(_text(block.name) for block in joints)}]",
        "points:",
    ]
    for k in range(0, len(q), stride):
        numbers = [
            f"{name}: [{', '.join(map(_number, values[k].tolist()))}]"
            for name, values in quantities.items()
        ]
        # one rounding for both, so that nanoseconds never come to a second
        sec, nanosec = divmod(round(float(motion.time[k] - motion.time[0]) * NANO), NANO)
        numbers.append(f"time_from_start: {{sec: {sec}, nanosec: {nanosec}}}")
        lines += [f"{'  ' if n else '- '}{number}" for n, number in enumerate(numbers)]
    return "\n".join(lines) + "\n"


def _text(name: str) -> str:
    """Return a name as a text in double quotes, with all but plain characters as YAML escapes."""
    escaped = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08x}" for c in name)
    return f'"{"".join(escaped)}"'


def _number(value: float) -> str:
    """Return a number that every reader of YAML takes for one: ``1e-05`` is text to some."""
    if not math.isfinite(value):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan")
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}" if e else text
