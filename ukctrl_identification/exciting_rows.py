"""The rows of a scenario with its exciting paths worked out.

As a timing, the motion belongs to the task: it is that of the robot as the scenario names it, and
keeps what the scenario keeps.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Any

from ukctrl.control.task import Task
from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference.reference import MotionPlan
from ukctrl.mechanics.reference.timing_options import merge_options
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import Scenario
from ukctrl_identification.design_options import SAMPLE_PERIOD, DesignOptions
from ukctrl_identification.exciting_motion import ExcitingMotion, exciting_motion
from ukctrl_identification.exciting_options import ExcitingOptions
from ukctrl_identification.exciting_refusals import refuse_unfit
from ukctrl_identification.independent_joints import IndependentJoints


def exciting_servo(scenario: Scenario, robot: Robot) -> MotionPlan:
    """Return the motion of a scenario with exciting paths, and its constraints that follow it.

    Args:
        scenario: The scenario.
        robot: Its robot, without any effect on it.

    Raises:
        InputError: There is no such motion.
    """
    motion = exciting_path_motion(scenario, robot)
    rows: tuple[Any, ...] = scenario.servo
    servo = tuple(dc.replace(row, path=motion.path(row.joints, scenario.start.t)) for row in rows)
    return MotionPlan(servo, scenario.start.t + motion.series.period, motion.sentence())


def exciting_path_motion(scenario: Scenario, robot: Robot | None = None) -> ExcitingMotion:
    """Return the motion of the exciting paths of a scenario, which make its whole task.

    Raises:
        InputError: There is no such motion.
    """
    robot = robot or true_robot(scenario.robot)
    # all that decides the motion: a search takes seconds, and each reader of the rows asks for it
    key = (
        robot, scenario.servo, scenario.keep, scenario.start, scenario.timing.control,
        scenario.seed, scenario.rank,
    )  # fmt: skip
    return _MOTION.get(key, lambda: _solve_motion(scenario, robot))


_MOTION: LastValueCache[ExcitingMotion] = LastValueCache()


def _solve_motion(scenario: Scenario, robot: Robot) -> ExcitingMotion:
    rows: list[Any] = [row for row in scenario.servo if isinstance(row.planned, ExcitingOptions)]
    control, start = scenario.timing.control, scenario.start
    with error_context("servo: exciting path"):
        if len(rows) < len(scenario.servo):
            raise InputError(
                "must be the whole task, beside other exciting paths: its motion knows nothing of "
                "other rows. Drop them."
            )
        options = merge_options([row.path for row in rows], ExcitingOptions, "exciting")
        if options.duration is None:
            raise InputError("must come with its duration; give one, such as duration = 10.0.")
        refuse_unfit(robot)
        # closures alone: servo rows have no values before their motion is found
        q, v, _ = start_state(
            start, robot, passive_constraints(robot), scenario.seed, scenario.rank
        )
        if v.any():
            raise InputError("must begin at rest; start.v is not zero. Leave it out.")
        joints = IndependentJoints(robot, q, [name for row in rows for name in row.joints])
        task = Task(
            robot=robot, servo=scenario.servo, q=q, v=v, start=start.t, duration=options.duration,
            period=control, rank=scenario.rank,
        )  # fmt: skip
        wishes = DesignOptions.of(
            options, options.duration, scenario.seed, control or SAMPLE_PERIOD
        )
        return exciting_motion(joints, wishes, scenario.keep, task)
