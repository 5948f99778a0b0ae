"""The state in which a run starts: what the scenario says, and what it leaves to the robot."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, StartError, unknown_name
from ukctrl.core.expression.units import constant_value
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.consistent_state import consistent_state, random_consistent_configuration
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import StartState


def start_state(
    start: StartState,
    robot: Robot,
    constraints: Sequence[Constraint],
    seed: int = 0,
    rank: RankPolicy = RANK,
) -> tuple[Vector, Vector, dict[str, float]]:
    """Return ``q``, ``v``, and how far they were moved onto the constraints, where asked for.

    Raises:
        InputError: The state does not fit the robot.
        StartError: The constraints cannot be met from there.
    """
    home, moving = _default_state(start, robot)
    _refuse_degrees(start, robot)
    q = _state("q", _angles(start.q, robot), robot.coordinates, robot.coordinate_units, home)
    fault = robot.unit_norm_fault(q)
    if fault:
        raise InputError(f"start.q: {fault}.")
    # a typed quaternion has a norm of one to its few digits
    if not robot.is_euclidean:
        q = robot.normalize(q)
    if start.spread:
        # a tangent step, so that angles and quaternions stay what they are
        step = np.random.default_rng(seed).uniform(-start.spread, start.spread, robot.nv)
        q = robot.integrate(q, step)
    v = _state("v", start.v, robot.dofs, robot.dof_units, moving)
    _place_motors(robot, start, q, v)
    if not start.solve:
        return q, v, {}
    with error_context("start.hold"):
        locked = [dof_index(robot, name) for name in start.hold]
    stack = Stack(constraints, robot, passive=len(robot.passive))
    try:
        # held joints walk from home in strides, so that a linkage stays in the assembly in which it
        # was drawn (decision 0026)
        solved = consistent_state(stack, q, v, start.t, locked, home, rank)
    except StartError as error:
        raise StartError(f"{error}{_suggested_start(stack, start, q)}") from None
    # again: solving has moved the links, and motors that no row holds go along
    _place_motors(robot, start, solved.q, solved.v, np.asarray(stack.rows.A.any(axis=0)))
    return solved.q, solved.v, solved.correction_sizes(robot)


def _default_state(start: StartState, robot: Robot) -> tuple[Vector, Vector]:
    """Return configuration and velocity where nothing else is said: a keyframe's, or home at rest.

    Motors of elastic joints, which a model file does not know, are where home has them.
    """
    q = np.array(robot.neutral if robot.home is None else robot.home)
    v: Vector = np.zeros(robot.nv)
    if start.keyframe is None:
        return q, v
    with error_context("start.keyframe"):
        if not robot.keyframes:
            raise InputError(
                f"robot '{robot.name}' has no keyframes; only MJCF files have, in <keyframe>."
            )
        if start.keyframe not in robot.keyframes:
            raise unknown_name("keyframe", start.keyframe, robot.keyframes)
    own_q, own_v = robot.keyframes[start.keyframe]
    q[: len(own_q)], v[: len(own_v)] = own_q, own_v
    return q, v


def _suggested_start(stack: Stack, start: StartState, q: Vector) -> str:
    """Return a start from which the constraints are met, in words; empty where none was found."""
    if start.hold:
        with contextlib.suppress(StartError):
            consistent_state(stack, q, np.zeros(stack.robot.nv), start.t)
            return " They are met without start.hold."
        return ""
    robot, solution = stack.robot, random_consistent_configuration(stack, start.t)
    # a quaternion, or a cosine and a sine, of two decimals is none
    if solution is None or any(block.shape != "line" for block in robot.blocks):
        return ""
    # a start as a user would type it, which is solved again from there
    rounded = np.round(solution, 2)
    try:
        consistent_state(stack, rounded, np.zeros(robot.nv), start.t)
    except StartError:
        return ""
    entries = ", ".join(f"{n} = {x:g}" for n, x in zip(robot.coordinates, rounded, strict=True))
    return f" They are met from start.q = {{ {entries} }}."


def angles_without_unit(start: StartState, robot: Robot) -> Iterator[tuple[str, float]]:
    """Yield the coordinates that are given more than a turn, without a unit, and by how much."""
    named = start.q
    if not isinstance(named, Mapping):
        named = dict(zip(robot.coordinates, named, strict=False))
    units = dict(zip(robot.coordinates, robot.coordinate_units, strict=True))
    for name, value in named.items():
        angle = units.get(name, "rad" if f"{name}_cos" in units else "") == "rad"
        if angle and not isinstance(value, str) and abs(value) > 2.0 * math.pi:
            yield name, float(value)


def _refuse_degrees(start: StartState, robot: Robot) -> None:
    """Refuse an angle of more than a turn beyond its limits, which is one in degrees."""
    for name, value in angles_without_unit(start, robot):
        if name not in robot.coordinates:
            continue
        at = robot.coordinates.index(name)
        low, high = float(robot.q_lower[at]), float(robot.q_upper[at])
        # more than a turn is meant where the range of the joint has it
        if not low <= value <= high:
            meant = low <= math.radians(value) <= high
            write = f'; for degrees write "{value:g}*deg"' if meant else ""
            raise InputError(
                f"start.q.{name}: must be within {low:g} and {high:g} rad; got {value:g}{write}."
            )


def _place_motors(
    robot: Robot, start: StartState, q: Vector, v: Vector, locked: NDArray[np.bool_] | None = None
) -> None:
    """Put motors of elastic joints that the start leaves out where their springs are relaxed.

    Or where they carry the load at rest. Motors that some constraint holds (``locked``, by
    velocity) stay where it put them.
    """
    joints = robot.elastic
    if joints is None:
        if start.springs == "loaded":
            raise InputError(
                f"start.springs = 'loaded' needs elastic joints; robot '{robot.name}' has none."
            )
        return
    angles = joints.angles(q)
    if start.springs == "loaded":
        relaxed = q.copy()
        relaxed[joints.motor_coordinates] = angles
        s = robot.snapshot(relaxed, None, start.t)
        # static balance of the links: K (theta - q) = g - f of all other forces
        angles = angles + (s.gravity - s.f)[joints.links] / joints.stiffness
    for k, (motor, link) in enumerate(zip(joints.motors, joints.links, strict=True)):
        name = robot.dofs[motor]
        if locked is not None and locked[motor]:
            continue
        if not start.q or (isinstance(start.q, Mapping) and name not in start.q):
            q[joints.motor_coordinates[k]] = angles[k]
        if not start.v or (isinstance(start.v, Mapping) and name not in start.v):
            v[motor] = v[link]


def _angles(
    values: Mapping[str, float | str] | Sequence[float | str], robot: Robot
) -> Mapping[str, float | str] | Sequence[float | str]:
    """Return the state with angles of continuous joints as their cosine and sine."""
    if not isinstance(values, Mapping):
        return values
    state = dict(values)
    for name in [name for name in values if f"{name}_cos" in robot.coordinates]:
        with error_context(f"start.q.{name}"):
            angle = constant_value(state.pop(name), "rad")
        state[f"{name}_cos"], state[f"{name}_sin"] = math.cos(angle), math.sin(angle)
    return state


def _state(
    symbol: str,
    values: Mapping[str, float | str] | Sequence[float | str],
    names: tuple[str, ...],
    units: tuple[str, ...],
    default: Vector,
) -> Vector:
    state = default.copy()
    if not isinstance(values, Mapping):
        if values and len(values) != len(names):
            raise InputError(
                f"start.{symbol} must have {len(names)} numbers, {', '.join(names)}; "
                f"got {len(values)}."
            )
        values = dict(zip(names, values, strict=False))
    for name, value in values.items():
        if name not in names:
            raise unknown_name(f"coordinate (in start.{symbol})", name, names)
        at = names.index(name)
        with error_context(f"start.{symbol}.{name}"):
            state[at] = constant_value(value, units[at])
    return state
