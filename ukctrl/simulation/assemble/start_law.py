"""A scenario's law, started on the robot that it believes in."""

from __future__ import annotations

from collections.abc import Callable

from ukctrl.control.controller import Law, law_name
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.law_checks import start_controller
from ukctrl.simulation.assemble.plant_sequence import stabilisation_gains
from ukctrl.simulation.scenario import Scenario


def start_law(
    scenario: Scenario,
    believed: Robot,
    servo: tuple[Constraint, ...],
    q: Vector,
    v: Vector,
    planning: Callable[[float, float], None] | None = None,
) -> Law:
    """Start the law of a scenario.

    Args:
        scenario: Of its robot nothing is looked at.
        believed: The robot that the law believes in.
        servo: The servo constraints, with their paths worked out on the true robot.
        q: Configuration at the start, or where the search for a planned one begins.
        v: Velocity there.
        planning: Called while a motion is worked out before the run; see `Task`.
    """
    timing = scenario.timing
    task = Task(
        robot=believed,
        servo=servo,
        q=q,
        v=v,
        start=scenario.start.t,
        duration=timing.duration,
        period=timing.control,
        rank=scenario.rank,
        gains=stabilisation_gains(scenario.stabilisation, scenario.integrator),
        planning=planning,
        planned=scenario.start.planned,
    )
    law = start_controller(scenario.controller, task)
    if scenario.keep:
        # part of the law: as an allocation other laws would lack it, as an effect an exported law
        # would (decision 0157)
        law.keeper = _safety_filter(scenario, task, law)
    return law


def _safety_filter(scenario: Scenario, task: Task, law: Law) -> SafetyFilter:
    """Return what keeps the limits of a scenario beside its servo rows, in the law's own order."""
    allocation = scenario.controller.row_allocation
    servo = Stack(task.servo, task.robot)
    if allocation is None:
        return SafetyFilter(scenario.keep, task, servo)
    levels = allocation.levels(servo)
    # rows give way to limits in the law's own order of priorities, if it has one
    order = levels if len(levels) > 1 else None
    return SafetyFilter(scenario.keep, task, servo, order, allocation.nearness)


def planned_start(scenario: Scenario, law: Law) -> tuple[Vector, Vector]:
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
