"""The rows of a scenario with its optimised paths worked out.

As a timing, the motion belongs to the task: it is that of the robot as the scenario names it, and
keeps what the scenario keeps.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.control.keep import Keep
from ukctrl.control.keep.keeper import Keeper
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.files.toml import blaming
from ukctrl.core.remembered import Remembered
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference.compiled_paths import GivenPieces
from ukctrl.mechanics.reference.optimised import OptimalWish
from ukctrl.mechanics.reference.timing_wish import agreed
from ukctrl.robot import Robot
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.loop.start_state import start_state
from ukctrl.simulation.scenario import Scenario

if TYPE_CHECKING:
    from ukctrl.mechanics.optimal import OptimalMotion, Quantities

STEPS = {"effort": 12, "time": 30}
STAGES = {"effort": 5, "time": 2}
"""Without other wishes: smooth motions are worth a high order, and inputs that jump are not."""


def optimised_servo(scenario: Scenario, robot: Robot | None = None) -> tuple[Constraint, ...]:
    """Return the servo constraints of a scenario, its optimised paths worked out.

    Args:
        scenario: The scenario.
        robot: Its robot, without any effect on it, where it has been loaded before.

    Raises:
        InputError: No such motion was found.
    """
    motion = optimum_of(scenario, robot)
    if motion is None:
        return scenario.servo
    return tuple(_followed(part, motion) for part in scenario.servo)


def optimum_of(scenario: Scenario, robot: Robot | None = None) -> OptimalMotion | None:
    """Return the motion of the optimised paths of a scenario; None where it has none.

    Raises:
        InputError: No such motion was found.
    """
    if not _paths(scenario.servo):
        return None
    robot = robot or true_robot(scenario.robot)
    asked = robot, scenario.servo, scenario.keep, scenario.start, scenario.seed, scenario.rank
    return _MOTION.get(asked, lambda: _worked_out(scenario, robot))


_MOTION: Remembered[OptimalMotion] = Remembered()


def _paths(servo: Sequence[Constraint]) -> list[tuple[tuple[str, ...], Any]]:
    """Return the joints that have optimised paths, and these."""
    return [part.optimised for part in servo if part.optimised is not None]


def _followed(part: Any, motion: OptimalMotion) -> Constraint:
    """Return a constraint with its part of the motion as its path."""
    path = GivenPieces(motion.of(part.joints), motion.miss)
    followed: Constraint = dc.replace(part, path=path)
    return followed


def _worked_out(scenario: Scenario, robot: Robot) -> OptimalMotion:
    from ukctrl.mechanics.optimal import Freedoms, Wanted, optimal_motion

    paths = _paths(scenario.servo)
    with blaming("servo: optimised path"):
        if len(paths) < len(scenario.servo):
            raise InputError(
                "must be the whole task, beside other optimised paths: its motion knows nothing of "
                "other rows. Drop them."
            )
        said = agreed([path for _, path in paths], OptimalWish, "optimised")
        cost = said.cost or "effort"
        if cost == "effort" and said.duration is None:
            raise InputError(
                "must come with its duration, since the effort only falls the longer it takes; "
                'give one, or cost = "time".'
            )
        at = scenario.start.t, scenario.seed, scenario.rank
        q, v, _ = start_state(scenario.start, robot, passive_constraints(robot), *at[1:])
        goal = np.full(robot.nv, np.nan)
        for joints, path in paths:
            if path.size != len(joints):
                raise InputError(
                    f"must have one component for each of {quoted(joints)}; got {path.size}."
                )
            for joint, place in zip(joints, path.to, strict=True):
                if np.isfinite(goal[dof_index(robot, joint)]):
                    raise InputError(f"must name each joint once; '{joint}' stands twice.")
                goal[dof_index(robot, joint)] = place
        freedoms = Freedoms(robot, scenario.rank, at[0], q, np.flatnonzero(np.isfinite(goal)))
        wanted = Wanted(
            t=at[0],
            rate=v[freedoms.chosen],
            goal=goal[freedoms.chosen],
            duration=said.duration,
            fastest=cost == "time",
            share=1.0 if said.share is None else said.share,
        )
        steps, stages = said.steps or STEPS[cost], said.stages or STAGES[cost]
        kept = _kept(scenario, robot, q, v)
        given = steps, stages, kept, said.starts, scenario.seed
        return optimal_motion(freedoms, wanted, *given)


def _kept(scenario: Scenario, robot: Robot, q: Vector, v: Vector) -> Quantities | None:
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
    return quantities(scenario.keep, task)


def quantities(keeps: Sequence[Keep], task: Task) -> Quantities:
    """Return what of things to keep goes by the motion: forces of contacts and rates of inputs do
    not.
    """
    from ukctrl.mechanics.optimal import Quantities

    keeper = Keeper(keeps, task, Stack((), task.robot))
    of = keeper.barriers
    names, units = keeper.names[: len(of.row)], keeper.units[: len(of.row)]
    return Quantities(keeper.stack, names, units, of.row, of.sign, of.shift, of.margin, of.degree)
