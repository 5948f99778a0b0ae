"""An exciting motion of a robot alone, and the files with which it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.control.safety import Inequality
from ukctrl.control.task import Task
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.robot import Robot
from ukctrl.simulation.export.robot_files import copy_robot_files
from ukctrl.simulation.export.ros_trajectory import SampledMotion, trajectory_message
from ukctrl.simulation.result.atomic_files import (
    output_folder,
    to_plain_data,
    toml_text,
    write_atomically,
)
from ukctrl.simulation.result.column_files import Columns, write_csv
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.scenario import table_of
from ukctrl_identification.design_options import SAMPLE_PERIOD, DesignOptions
from ukctrl_identification.exciting_motion import ExcitingMotion, exciting_motion
from ukctrl_identification.exciting_options import ExcitingOptions
from ukctrl_identification.exciting_refusals import refuse_unfit
from ukctrl_identification.independent_joints import IndependentJoints
from ukctrl_identification.passive_motion import passive_stack

DURATION = 10.0
"""Period without another wish [s]."""
POINT_PERIOD = 0.01
"""Time between the points of ``trajectory.yaml`` [s]: drives interpolate."""
START_SHARE = 0.7
"""Part of half its range within which zero lies where a joint without a home starts at zero."""
MAX_SAMPLES = 1_000_000
"""A motion of more samples is a typing error."""


@explain_argument_errors
def design(
    robot: Robot,
    options: ExcitingOptions | None = None,
    *,
    start: ArrayLike | None = None,
    keep: Sequence[Inequality] = (),
    sample_period: float = SAMPLE_PERIOD,
) -> ExcitingMotion:
    """Return the motion that tells most of a robot's parameters, within its limits.

    Args:
        robot: The robot.
        options: What the motion shall be; absent: one of 10 s.
        start: Where it begins and ends, shape ``(nq,)``; absent: at home, else in the middle of the
            ranges of those joints that cannot be at zero.
        keep: What it keeps at or above zero, such as walls.
        sample_period: Time between the samples of a log [s].

    Raises:
        InputError: There is no such motion.
        StartError: The passive constraints are not met near the start.
    """
    refuse_unfit(robot)
    options = options or ExcitingOptions()
    q = _start(robot) if start is None else robot.checked_q(start)
    stack = passive_stack(robot)
    if stack is not None:
        q = consistent_state(stack, q, np.zeros(robot.nv)).q
    joints = IndependentJoints(robot, q)
    wishes = DesignOptions.of(options, DURATION, sample_period=sample_period)
    task = Task(
        robot=robot, servo=(), q=q, v=np.zeros(robot.nv), duration=wishes.duration,
        period=sample_period,
    )  # fmt: skip
    return exciting_motion(joints, wishes, keep, task)


def _start(robot: Robot) -> Vector:
    """Return home; without one, where joints keep their margins."""
    if robot.home is not None:
        return robot.home.copy()
    q = robot.neutral.copy()
    for block in robot.blocks:
        low, high = robot.q_lower[block.iq], robot.q_upper[block.iq]
        if block.shape == "line" and np.isfinite(high - low):
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            if abs(q[block.iq] - middle) > START_SHARE * half:
                q[block.iq] = middle
    return q


@explain_argument_errors
def write_design(
    motion: ExcitingMotion,
    folder: AnyPath,
    *,
    reference: str | None = None,
    period: float = SAMPLE_PERIOD,
    trust: bool = False,
) -> dict[str, str]:
    """Write a motion as a scenario and as tables; return what each file is, by its name.

    Args:
        motion: The motion.
        folder: Where to write.
        reference: What the robot is called; absent: the file that it was loaded from.
        period: Time between the rows of ``motion.csv`` and the controller's ticks [s].
        trust: Whether Python code that the robot's files name may run.

    Raises:
        InputError: The robot has no file, the period does not fit, or the folder cannot be written
            to.
    """
    duration, folder = motion.series.period, Path(folder)
    if not 0.0 < period <= duration or duration / period > MAX_SAMPLES:
        raise InputError(
            f"period must be positive, at most the duration, {duration:g} s, and at least "
            f"{duration / MAX_SAMPLES:g} s; got {period:g} s."
        )
    times = np.linspace(0.0, duration, round(duration / period) + 1)
    states = motion.states(times)
    table = SampledMotion(times, states.q, states.v, states.a, motion.equations.rows(states)[1])
    files = {
        "scenario.toml": "the motion as a run, with its path as data",
        "motion.csv": f"positions, velocities, accelerations and inputs every {period:g} s",
        "trajectory.yaml": "ROS 2 trajectory_msgs/JointTrajectory of the driven joints",
    }
    with output_folder("the motion", folder):
        settings = copy_robot_files(_scenario(motion, reference, period), folder, trust=trust)
        text = f"# {motion.sentence()}\n\n{toml_text(settings)}"
        write_atomically(folder / "scenario.toml", text.encode())
        Scenario.load(folder / "scenario.toml", trust=trust)  # what is refused is not left behind
        write_csv(motion_columns(motion.robot, table), folder / "motion.csv")
        stride = max(1, round(POINT_PERIOD / period))
        yaml = trajectory_message(table, motion.robot, stride)
        write_atomically(folder / "trajectory.yaml", yaml.encode())
    return files


def motion_columns(robot: Robot, motion: SampledMotion) -> Columns:
    """Return a motion as a table: ``time``, ``q.<coordinate>``, ``v.<velocity>``, ``u.<motor>``."""
    names = {"q": robot.coordinates, "v": robot.dofs, "a": robot.dofs, "u": robot.actuators}
    columns = {"time": motion.time}
    for quantity, entries in names.items():
        values = getattr(motion, quantity)
        columns |= {f"{quantity}.{name}": values[:, k] for k, name in enumerate(entries)}
    return columns


def _scenario(motion: ExcitingMotion, reference: str | None, period: float) -> dict[str, Any]:
    """Return the table of the scenario."""
    robot, names = motion.robot, motion.joints.names
    closed = motion.joints.k < robot.nv
    path: Any = motion.path(names)
    table = {
        "title": f"An exciting motion of {robot.title or robot.name}",
        "robot": _robot_entry(robot, reference),
        "start": {"q": motion.joints.start.tolist(), "solve": closed},
        "servo": [{"kind": "joint_follows", "joints": list(names), "path": table_of(path)}],
        "keep": [table_of(one) for one in motion.keep],
        "controller": {"use": "servo-baumgarte" if closed else "computed-torque"},
        "timing": {"duration": motion.series.period, "control": period},
    }
    return {key: value for key, value in table.items() if value != []}


def _robot_entry(robot: Robot, reference: str | None) -> str | Mapping[str, Any]:
    """Return what a scenario calls the robot."""
    name = reference if reference is not None else robot.path
    if name is None:
        raise InputError(
            f"robot '{robot.name}' must have a file for a scenario; it was made in Python. Write "
            "it to one, and load that."
        )
    use = str(Path(name).resolve()) if Path(name).exists() else str(name)
    override = to_plain_data(robot.override, "robot")
    return {"use": use, **override} if override else use
