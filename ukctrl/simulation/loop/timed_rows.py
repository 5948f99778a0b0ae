"""The rows of a scenario, with the common clock of its retimed paths worked out.

The timing belongs to the task: it is that of the robot as the scenario names it, whatever a
controller believes, so that all controllers are asked for the same.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ukctrl.core.errors import InputError, StartError
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.core.files.toml import blaming
from ukctrl.core.remembered import Remembered
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.reference import Constant, Reference, Retimed, RetimedOrientation
from ukctrl.mechanics.reference.combined import hull
from ukctrl.mechanics.reference.compiled_paths import GivenPieces
from ukctrl.mechanics.reference.reference import Compiled
from ukctrl.mechanics.reference.timing_wish import TimingWish, agreed
from ukctrl.mechanics.timing import JointPath, Kept, PathLimits, Timed, time_optimal
from ukctrl.mechanics.walk import rates, walk
from ukctrl.robot import Robot
from ukctrl.simulation.loop.optimised_rows import optimised_servo
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.loop.start_state import start_state
from ukctrl.simulation.scenario import Scenario

POINTS, SMOOTHING = 200, 0.02
"""Intervals of the grid, and time over which a change of acceleration is spread [s]."""
CLOSER = 0.97
"""Part by which points are closer to each other at the ends, where motions are slow, than even."""
SLOW = 1e-4
"""A path that moves less at a place, beside its fastest, stands still there."""
CORNER = 0.05
"""A velocity that changes so much more than its derivatives say, beside the fastest, jumps."""
LATER = (0.1, 0.37, 0.71, 1.0)
"""Parts of a path at which it is looked whether other rows change with the time."""
UNCHANGED = 1e-9
"""Rows that change less with the time do not."""


Change = Callable[[Any], Any]


def timed_servo(scenario: Scenario, robot: Robot | None = None) -> tuple[Constraint, ...]:
    """Return the servo constraints of a scenario, its retimed paths on their common clock, and its
    optimised ones worked out.

    Args:
        scenario: The scenario.
        robot: Its robot, without any effect on it, where it has been loaded before.

    Raises:
        InputError: The paths cannot be timed.
    """
    servo = optimised_servo(scenario, robot)
    timing = timing_of(scenario, robot)
    if timing is None:
        return servo
    return _on_clock(scenario.servo, GivenPieces(timing.clock))


def timing_of(scenario: Scenario, robot: Robot | None = None) -> Timed | None:
    """Return the timing of the retimed paths of a scenario; None where it has none.

    Raises:
        InputError: The paths cannot be timed.
    """
    wishes = [wish for part in scenario.servo for wish in _wishes(part)]
    if not wishes:
        return None
    robot = robot or true_robot(scenario.robot)
    asked = robot, scenario.servo, scenario.start, scenario.seed, scenario.rank
    return _TIMING.get(asked, lambda: _timed(scenario, robot, wishes))


_TIMING: Remembered[Timed] = Remembered()


def _timed(
    scenario: Scenario, robot: Robot, wishes: Sequence[Retimed | RetimedOrientation]
) -> Timed:
    """Work a timing out."""
    with blaming("servo"):
        wish = agreed(wishes, TimingWish, "retimed")
    span = wish.span or hull(every.of.extent for every in wishes)
    if span is None:
        raise InputError(
            "servo: retimed path: must have ends; this one goes on for ever. Say from where to "
            "where, such as span = [0.0, 3.0], in the time of the path that it is of."
        )
    servo = _changed(scenario.servo, lambda part: part.of)
    _require_one_clock(scenario.servo, robot, span)
    path = _joint_path(scenario, robot, servo, span, wish.points or POINTS)
    if wish.limits == "speed" and wish.acceleration is None:
        raise InputError(
            "servo: retimed path: limits = 'speed' must come with accelerations, which nothing "
            "else bounds without the motors; give some, such as acceleration = 10.0."
        )
    kept = Kept(
        motors=wish.limits != "speed",
        share=1.0 if wish.share is None else wish.share,
        acceleration=np.inf if wish.acceleration is None else wish.acceleration,
        reaction=np.inf if wish.reaction is None else wish.reaction,
    )
    dynamics = Dynamics(robot, scenario.rank)
    smoothing = SMOOTHING if wish.smoothing is None else wish.smoothing
    try:
        limits = PathLimits(path, lambda t: dynamics, kept)
        return time_optimal(limits, rounding=smoothing, begin=scenario.start.t)
    except InputError as error:
        raise type(error)(f"servo: retimed path: {error}") from None


def _require_one_clock(servo: Sequence[Constraint], robot: Robot, span: Sequence[float]) -> None:
    """Refuse rows that follow the time beside those that follow the common clock."""
    others = [part for part in servo if not list(_wishes(part))]
    if not others:
        return
    stack = Stack(others, robot)
    snapshot, at_rest = robot.snapshot(robot.neutral), np.zeros(robot.nv)
    before = None
    for part in (0.0, *LATER):
        snapshot.move(robot.neutral, at_rest, span[0] + part * (span[1] - span[0]))
        rows = stack.write(snapshot)
        phi = np.nan_to_num(rows.phi)
        before = phi.copy() if before is None else before
        moves = np.maximum(np.abs(phi - before), np.abs(rows.beta))
        if moves.max(initial=0.0) > UNCHANGED:
            row = stack.names[first_largest(moves)]
            raise InputError(
                f"servo row '{row}' must follow the same clock as the retimed ones; its path goes "
                "by the time. Retime it too, or let it be constant."
            )


def _joint_path(
    scenario: Scenario,
    robot: Robot,
    servo: Sequence[Constraint],
    span: tuple[float, float],
    points: int,
) -> JointPath:
    """Return the joint motion along the paths, from the scenario's start on.

    Raises:
        InputError: The paths have none, or one that no timing passes.
    """
    every = Stack((*passive_constraints(robot), *servo), robot)
    if not every.holonomic.all():
        row = every.names[int(np.flatnonzero(~every.holonomic)[0])]
        raise InputError(
            f"row '{row}' must have a position level for a retimed path; it is nonholonomic."
        )
    at_begin = _on_clock(scenario.servo, Constant(value=(span[0],)))
    resting = (*passive_constraints(robot), *at_begin)
    q, _, _ = start_state(scenario.start, robot, resting, scenario.seed, scenario.rank)
    part = np.linspace(0.0, 1.0, points + 1)
    part -= CLOSER * np.sin(2.0 * np.pi * part) / (2.0 * np.pi)
    grid = span[0] + (span[1] - span[0]) * part
    try:
        reached = walk(every, q, grid, scenario.rank)
    except StartError as error:
        raise InputError(f"servo: retimed path: {error}") from None
    if reached.end is not None:
        raise InputError(
            "servo: retimed path: must be within reach from end to end; from s = "
            f"{reached.end:.4g} on its rows cannot be kept, or only by a leap of the joints. Move "
            "the path or the start."
        )
    dq, ddq = rates(every, reached, scenario.rank)
    path = JointPath(grid, reached.q, dq, ddq)
    _require_regular(path)
    return path


def _require_regular(path: JointPath) -> None:
    """Refuse paths that stand still or have corners: no clock moves or rounds them.

    Raises:
        InputError: It does.
    """
    size = np.linalg.norm(path.dq, axis=1)
    fastest = float(size.max())
    gone = max_abs(path.dq) * (path.s[-1] - path.s[0])
    if gone < UNCHANGED:
        raise InputError("servo: retimed path: must have a length; no joint moves along it.")
    if size.min() <= SLOW * fastest:
        k = int(np.argmin(size))
        raise InputError(
            f"servo: retimed path: must move all the way; it stands still at s = {path.s[k]:.4g}, "
            "where no clock can hurry it. Take a path that does not stop: profile = 'uniform' of "
            "a line or of orientations, a spline with ends = 'natural' in place of min_jerk."
        )
    step = np.diff(path.s)[:, None]
    jump = np.diff(path.dq, axis=0) - 0.5 * step * (path.ddq[1:] + path.ddq[:-1])
    off = np.abs(jump).max(axis=1)
    k = int(np.argmax(off))
    if off[k] > CORNER * fastest:
        raise InputError(
            f"servo: retimed path: must be without corners; near s = {path.s[k]:.4g} the joints "
            "would have to change their velocity at once. Round the corner, keep away from "
            "singular positions, or take more points."
        )


def _on_clock(servo: Sequence[Constraint], clock: Reference) -> tuple[Constraint, ...]:
    """Return constraints with their retimed paths on a clock."""
    return _changed(servo, lambda part: part.on_clock(clock))


def _changed(servo: Sequence[Constraint], change: Change) -> tuple[Constraint, ...]:
    """Return constraints with something else in place of their retimed paths."""
    return tuple(_replaced(part, change) for part in servo)


def _replaced(part: Any, change: Change) -> Any:
    if isinstance(part, TimingWish):
        return change(part)
    if isinstance(part, tuple):
        items = tuple(_replaced(item, change) for item in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    holds = isinstance(part, Constraint) or (isinstance(part, Compiled) and part.hands_time_on)
    if not holds or not dc.is_dataclass(part):
        return part
    table: Any = part
    changes = {
        field.name: new
        for field in dc.fields(part)
        if (new := _replaced(old := getattr(part, field.name), change)) is not old
    }
    return dc.replace(table, **changes) if changes else part


def _wishes(part: Any) -> Iterator[Retimed | RetimedOrientation]:
    """Yield what retimed paths within something say of their timing."""
    found: list[Retimed | RetimedOrientation] = []

    def note(wish: Any) -> Any:
        found.append(wish)
        return wish

    _replaced(part, note)
    return iter(found)
