"""The rows of a scenario with its optimised paths worked out.

As a timing, the motion belongs to the task: it is that of the robot as the scenario names it, and
keeps what the scenario keeps.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

import numpy as np

from ukctrl.control.safety import Inequality
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePath
from ukctrl.mechanics.reference.reference import MotionPlan
from ukctrl.mechanics.reference.timing_options import merge_options
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import Scenario
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.independent_coordinates import IndependentCoordinates
from ukctrl_optimal.optimal_motion import OptimalMotion, optimal_motion
from ukctrl_optimal.optimisation_options import OptimisationOptions
from ukctrl_optimal.path_inequalities import InequalityTable

STEPS = {"effort": 12, "time": 30}
STAGES = {"effort": 5, "time": 2}
"""Without other wishes: smooth motions are worth a high order, and inputs that jump are not."""


def optimised_servo(scenario: Scenario, robot: Robot) -> MotionPlan:
    """Return the motion of a scenario with optimised paths, and its constraints that follow it.

    Args:
        scenario: The scenario.
        robot: Its robot, without any effect on it.

    Raises:
        InputError: No such motion was found.
    """
    motion = optimal_path_motion(scenario, robot)
    servo = tuple(
        dc.replace(row, path=PiecewisePath(motion.select(row.joints), motion.residual))
        for row in _rows(scenario)
    )
    return MotionPlan(servo, float(motion.pieces.times[-1]), motion.sentence())


def optimal_path_motion(scenario: Scenario, robot: Robot | None = None) -> OptimalMotion:
    """Return the motion of the optimised paths of a scenario, which make its whole task.

    Raises:
        InputError: No such motion was found.
    """
    robot = robot or true_robot(scenario.robot)
    # all that decides the motion: a search takes seconds, and each reader of the rows asks for it
    key = robot, scenario.servo, scenario.keep, scenario.start, scenario.seed, scenario.rank
    return _MOTION.get(key, lambda: _solve_motion(scenario, robot))


_MOTION: LastValueCache[OptimalMotion] = LastValueCache()


def _rows(scenario: Scenario) -> list[Any]:
    """Return the constraints that have optimised paths."""
    return [row for row in scenario.servo if isinstance(row.planned, OptimisationOptions)]


def _solve_motion(scenario: Scenario, robot: Robot) -> OptimalMotion:
    paths = [(row.joints, row.path) for row in _rows(scenario)]
    with error_context("servo: optimised path"):
        if len(paths) < len(scenario.servo):
            raise InputError(
                "must be the whole task, beside other optimised paths: its motion knows nothing of "
                "other rows. Drop them."
            )
        options = merge_options([path for _, path in paths], OptimisationOptions, "optimised")
        cost = options.cost or "effort"
        if cost == "effort" and options.duration is None:
            raise InputError(
                "must come with its duration, since the effort only falls the longer it takes; "
                'give one, or cost = "time".'
            )
        at = scenario.start.t, scenario.seed, scenario.rank
        # closures alone: servo rows have no values before their motion is found
        q, v, _ = start_state(scenario.start, robot, passive_constraints(robot), *at[1:])
        goal = np.full(robot.nv, np.nan)
        for joints, path in paths:
            if path.size != len(joints):
                raise InputError(
                    f"must have one component for each of {quoted(joints)}; got {path.size}."
                )
            for joint, target in zip(joints, path.to, strict=True):
                if np.isfinite(goal[dof_index(robot, joint)]):
                    raise InputError(f"must name each joint once; '{joint}' stands twice.")
                goal[dof_index(robot, joint)] = target
        freedoms = IndependentCoordinates(
            robot, scenario.rank, at[0], q, np.flatnonzero(np.isfinite(goal))
        )
        problem = MotionProblem(
            t=at[0],
            rate=v[freedoms.dofs],
            goal=goal[freedoms.dofs],
            duration=options.duration,
            minimises_time=cost == "time",
            limit_share=1.0 if options.share is None else options.share,
        )
        steps, stages = options.steps or STEPS[cost], options.stages or STAGES[cost]
        inequalities = _path_inequalities(scenario, robot, q, v)
        settings = steps, stages, inequalities, options.starts, scenario.seed
        return optimal_motion(freedoms, problem, *settings)


def _path_inequalities(
    scenario: Scenario, robot: Robot, q: Vector, v: Vector
) -> InequalityTable | None:
    """Return what a motion of a scenario is to keep; None where that is nothing."""
    if not scenario.keep:
        return None
    timing = scenario.timing
    task = Task(
        robot=robot,
        servo=scenario.servo,
        q=q,
        v=v,
        start=scenario.start.t,
        duration=timing.duration,
        period=timing.control,
        rank=scenario.rank,
    )
    return state_inequalities(scenario.keep, task)


def state_inequalities(keeps: Sequence[Inequality], task: Task) -> InequalityTable:
    """Return what of things to keep goes by the motion: forces of contacts and rates of inputs do
    not.
    """
    keeper = SafetyFilter(keeps, task, Stack((), task.robot))
    of = keeper.barriers
    # barriers stand first; behind them what depends on reactions or jumping inputs stays with the
    # law (decision 0155)
    names, units = keeper.names[: len(of.row)], keeper.units[: len(of.row)]
    return InequalityTable(
        keeper.stack, names, units, of.row, of.sign, of.offset, of.margin, of.degree
    )
