"""The rows of a scenario, its planned paths and the common clock of its retimed ones worked out.

Motion and timing belong to the task: they are those of the robot as the scenario names it, whatever
a controller believes, so that all controllers are asked for the same.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError, StartError
from ukctrl.core.files.toml import error_context
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.path_inverse_kinematics import follow_path, joint_rates
from ukctrl.mechanics.reference import (
    Constant,
    OrientationReference,
    Reference,
    Retimed,
    RetimedOrientation,
)
from ukctrl.mechanics.reference.composite_paths import time_hull
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePath
from ukctrl.mechanics.reference.reference import MotionPlan, TimeFunction
from ukctrl.mechanics.reference.timing_options import TimingOptions, merge_options
from ukctrl.mechanics.timing import (
    GeometricPath,
    OptimalTiming,
    PathLimits,
    TimingLimits,
    time_optimal,
)
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import Scenario

POINTS, SMOOTHING = 200, 0.02
"""Intervals of the grid, and time over which a change of acceleration is spread [s]."""
END_CLUSTERING = 0.97
"""Part by which points are closer to each other at the ends, where motions are slow, than even."""
STANDSTILL = 1e-4
"""A path that moves less at a place, beside its fastest, stands still there."""
CORNER = 0.05
"""A velocity that changes so much more than its derivatives say, beside the fastest, jumps."""
PROBE_FRACTIONS = (0.1, 0.37, 0.71, 1.0)
"""Parts of a path at which it is looked whether other rows change with the time."""
TIME_INVARIANCE = 1e-9
"""Rows that change less with the time do not."""


Replacement = Callable[[Any], Any]


def servo_constraints(scenario: Scenario, robot: Robot | None = None) -> tuple[Constraint, ...]:
    """Return the servo constraints of a scenario, its retimed paths on their common clock, and its
    planned ones worked out.

    Args:
        scenario: The scenario.
        robot: Its robot, without any effect on it, where it has been loaded before.

    Raises:
        InputError: The paths cannot be timed, or no such motion was found.
    """
    motion = planned_motion(scenario, robot)
    timing = retimed_path_timing(scenario, robot)
    if timing is None:
        return scenario.servo if motion is None else motion.servo
    # optimised paths are a whole task, so beside retimed ones there are none to keep
    return _on_clock(scenario.servo, PiecewisePath(timing.clock))


def planned_motion(scenario: Scenario, robot: Robot | None = None) -> MotionPlan | None:
    """Return the motion of the paths that `Reference.plan` works out; None where there is none.

    Raises:
        InputError: No such motion was found.
    """
    for constraint in scenario.servo:
        if constraint.planned is not None:
            return constraint.planned.plan(scenario, robot or true_robot(scenario.robot))
    return None


def retimed_path_timing(scenario: Scenario, robot: Robot | None = None) -> OptimalTiming | None:
    """Return the timing of the retimed paths of a scenario; None where it has none.

    Raises:
        InputError: The paths cannot be timed.
    """
    wishes = [wish for constraint in scenario.servo for wish in _retimed_paths(constraint)]
    if not wishes:
        return None
    robot = robot or true_robot(scenario.robot)
    # all that decides the clock: the loop, `check` and pages ask for it, and a UR5 takes 0.25 s
    key = robot, scenario.servo, scenario.start, scenario.seed, scenario.rank
    return _TIMING.get(key, lambda: _solve_timing(scenario, robot, wishes))


def retime_paths(scenario: Scenario, span: tuple[float, float]) -> Scenario:
    """Return a scenario with its paths and orientations retimed over a span of their time [s]."""

    def retimed(constraint: Any) -> Any:
        changes: dict[str, Any] = {}
        for field in dc.fields(constraint):
            path = getattr(constraint, field.name)
            if isinstance(path, Reference):
                changes[field.name] = Retimed(of=path, span=span)
            elif isinstance(path, OrientationReference):
                changes[field.name] = RetimedOrientation(of=path, span=span)
        return dc.replace(constraint, **changes)

    return dc.replace(scenario, servo=tuple(map(retimed, scenario.servo)))


_TIMING: LastValueCache[OptimalTiming] = LastValueCache()


def _solve_timing(
    scenario: Scenario, robot: Robot, wishes: Sequence[Retimed | RetimedOrientation]
) -> OptimalTiming:
    """Work a timing out."""
    with error_context("servo"):
        # one clock: by several, rows that share joints would have no joint path (decision 0146)
        wish = merge_options(wishes, TimingOptions, "retimed")
    span = wish.span or time_hull(request.of.extent for request in wishes)
    if span is None:
        raise InputError(
            "servo: retimed path: must have ends; this one goes on for ever. Say from where to "
            "where, such as span = [0.0, 3.0], in the time of the path that it is of."
        )
    servo = _replace_retimed(scenario.servo, lambda part: part.of)
    _require_one_clock(scenario.servo, robot, span)
    path = _joint_path(scenario, robot, servo, span, wish.points or POINTS)
    if wish.limits == "speed" and wish.acceleration is None:
        raise InputError(
            "servo: retimed path: limits = 'speed' must come with accelerations, which nothing "
            "else bounds without the motors; give some, such as acceleration = 10.0."
        )
    bounds = TimingLimits(
        motors=wish.limits != "speed",
        share=1.0 if wish.share is None else wish.share,
        acceleration=np.inf if wish.acceleration is None else wish.acceleration,
        reaction=np.inf if wish.reaction is None else wish.reaction,
    )
    dynamics = Dynamics(robot, scenario.rank)
    # the fastest clock jumps in acceleration, which springs, observers and servo laws bear badly
    smoothing = SMOOTHING if wish.smoothing is None else wish.smoothing
    try:
        limits = PathLimits(path, lambda t: dynamics, bounds)
        return time_optimal(limits, rounding=smoothing, begin=scenario.start.t)
    except InputError as error:
        raise type(error)(f"servo: retimed path: {error}") from None


def _require_one_clock(servo: Sequence[Constraint], robot: Robot, span: Sequence[float]) -> None:
    """Refuse rows that follow the time beside those that follow the common clock."""
    constraints = [item for item in servo if not list(_retimed_paths(item))]
    if not constraints:
        return
    stack = Stack(constraints, robot)
    snapshot, at_rest = robot.snapshot(robot.neutral), np.zeros(robot.nv)
    phi0 = None
    for item in (0.0, *PROBE_FRACTIONS):
        snapshot.move(robot.neutral, at_rest, span[0] + item * (span[1] - span[0]))
        rows = stack.write(snapshot)
        # nonholonomic rows have no phi
        phi = np.nan_to_num(rows.phi)
        phi0 = phi.copy() if phi0 is None else phi0
        # at rest beta is what the time alone makes of a row
        moves = np.maximum(np.abs(phi - phi0), np.abs(rows.beta))
        if moves.max(initial=0.0) > TIME_INVARIANCE:
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
) -> GeometricPath:
    """Return the joint motion along the paths, from the scenario's start on.

    Raises:
        InputError: The paths have none, or one that no timing passes.
    """
    stack = Stack((*passive_constraints(robot), *servo), robot, passive=len(robot.passive))
    if not stack.holonomic.all():
        row = stack.names[int(np.flatnonzero(~stack.holonomic)[0])]
        raise InputError(
            f"row '{row}' must have a position level for a retimed path; it holds a velocity "
            "alone. Write it as phi if it is the rate of one, or let paths keep their own timing."
        )
    # the clock stands at the path's begin: what it will be is worked out of this very start
    at_begin = _on_clock(scenario.servo, Constant(value=(span[0],)))
    resting = (*passive_constraints(robot), *at_begin)
    q, _, _ = start_state(scenario.start, robot, resting, scenario.seed, scenario.rank)
    fraction = np.linspace(0.0, 1.0, points + 1)
    fraction -= END_CLUSTERING * np.sin(2.0 * np.pi * fraction) / (2.0 * np.pi)
    grid = span[0] + (span[1] - span[0]) * fraction
    try:
        reached = follow_path(stack, q, grid, scenario.rank)
    except StartError as error:
        raise InputError(f"servo: retimed path: {error}") from None
    if reached.end_time is not None:
        raise InputError(
            "servo: retimed path: must be within reach from end to end; from s = "
            f"{reached.end_time:.4g} on its rows cannot be kept, or only by a leap of the joints. "
            "Move "
            "the path or the start."
        )
    dq, ddq = joint_rates(stack, reached, scenario.rank)
    path = GeometricPath(grid, reached.q, dq, ddq)
    _require_regular(path)
    return path


def _require_regular(path: GeometricPath) -> None:
    """Refuse paths that stand still or have corners: no clock moves or rounds them.

    Raises:
        InputError: It does.
    """
    size = np.linalg.norm(path.dq, axis=1)
    fastest = float(size.max())
    gone = max_abs(path.dq) * (path.s[-1] - path.s[0])
    if gone < TIME_INVARIANCE:
        raise InputError("servo: retimed path: must have a length; no joint moves along it.")
    if size.min() <= STANDSTILL * fastest:
        k = int(np.argmin(size))
        raise InputError(
            f"servo: retimed path: must move all the way; it stands still at s = {path.s[k]:.4g}, "
            "where no clock can hurry it. Take a path that does not stop: profile = 'uniform' of "
            "a line or of orientations, a spline with ends = 'natural' in place of min_jerk."
        )
    step = np.diff(path.s)[:, None]
    # trapezoidal rule: what second derivatives do not explain of a change of velocity is a corner
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
    return _replace_retimed(servo, lambda part: part.on_clock(clock))


def _replace_retimed(servo: Sequence[Constraint], change: Replacement) -> tuple[Constraint, ...]:
    """Return constraints with something else in place of their retimed paths."""
    return tuple(_replace_in(constraint, change) for constraint in servo)


def _replace_in(node: Any, change: Replacement) -> Any:
    if isinstance(node, TimingOptions):
        return change(node)
    if isinstance(node, tuple):
        items = tuple(_replace_in(item, change) for item in node)
        return items if any(a is not b for a, b in zip(items, node, strict=True)) else node
    holds = isinstance(node, Constraint) or (isinstance(node, TimeFunction) and node.shares_time)
    if not holds or not dc.is_dataclass(node):
        return node
    table: Any = node
    changes = {
        field.name: new
        for field in dc.fields(node)
        if (new := _replace_in(old := getattr(node, field.name), change)) is not old
    }
    return dc.replace(table, **changes) if changes else node


def _retimed_paths(node: Any) -> Iterator[Retimed | RetimedOrientation]:
    """Yield what retimed paths within something say of their timing."""
    wishes: list[Retimed | RetimedOrientation] = []

    def note(wish: Any) -> Any:
        wishes.append(wish)
        return wish

    _replace_in(node, note)
    return iter(wishes)
