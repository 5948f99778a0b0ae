"""A scenario's law, started on the robot that it believes in."""

from __future__ import annotations

from collections.abc import Callable

from ukctrl.control.controller import Law, law_name
from ukctrl.control.keep.keeper import Keeper
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Stack
from ukctrl.robot import Robot
from ukctrl.simulation.loop.law_checks import started
from ukctrl.simulation.loop.plants_over_time import passive_gains
from ukctrl.simulation.loop.timed_rows import timed_servo
from ukctrl.simulation.scenario import Scenario


def started_law(
    scenario: Scenario,
    believed: Robot,
    q: Vector,
    v: Vector,
    planning: Callable[[float, float], None] | None = None,
) -> Law:
    """Start the law of a scenario.

    Args:
        scenario: Of its robot nothing is looked at.
        believed: The robot that the law believes in.
        q: Configuration at the start, or where the search for a planned one begins.
        v: Velocity there.
        planning: Called while a motion is worked out before the run; see `Task`.
    """
    timing = scenario.timing
    task = Task(
        robot=believed,
        servo=timed_servo(scenario),
        q=q,
        v=v,
        start=scenario.start.t,
        duration=timing.duration,
        period=timing.control,
        rank=scenario.rank,
        gains=passive_gains(scenario.stabilisation, scenario.integrator),
        planning=planning,
        planned=scenario.start.planned,
    )
    law = started(scenario.controller, task)
    if scenario.keep:
        law.keeper = _keeper(scenario, task, law)
    return law


def _keeper(scenario: Scenario, task: Task, law: Law) -> Keeper:
    """Return what keeps the limits of a scenario beside its servo rows, in the law's own order."""
    allocation = scenario.controller.row_allocation
    servo = Stack(task.servo, task.robot)
    if allocation is None:
        return Keeper(scenario.keep, task, servo)
    levels = allocation.levels(servo)
    order = levels if len(levels) > 1 else None
    return Keeper(scenario.keep, task, servo, order, allocation.nearness)


def start_of(scenario: Scenario, law: Law) -> tuple[Vector, Vector]:
    """Return the state in which the task of a law begins, on its own motion where asked for.

    Raises:
        InputError: It is asked for, and the law has no motion that is worked out before the run.
    """
    if not scenario.start.planned:
        return law.task.q, law.task.v
    planned = law.planned_state(scenario.start.t)
    if planned is None:
        raise InputError(
            "start.planned: the controller must follow a motion that is worked out before the "
            f"run; '{law_name(scenario.controller)}' has none. Use kind = 'tvlqr' or "
            "'feedforward', or give the state."
        )
    return planned
