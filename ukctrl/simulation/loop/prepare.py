"""From what a scenario says to what the loop needs: robots, start, times, integrator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.expression import constant
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import Dynamics, Gains
from ukctrl.mechanics.integrate import Adaptive, FixedStep, Held, HeldStep, Integrator, System
from ukctrl.mechanics.projection import Projector
from ukctrl.mechanics.start import solve_start
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import Believed, Scenario, Stabilisation, StartState
from ukctrl.simulation.scenario import Integrator as Integration

NOT_UNIT = 1e-3
"""A quaternion off unit length by less than this is rounded, not wrong."""
MAX_SAMPLES = 10_000_000
"""More samples than this are a typing error."""
STEP_SAMPLES = 10.0
"""The longest step of an adaptive method, in output intervals, unless max_step says otherwise."""
MIN_STEPS = 50.0
"""The fewest steps that an adaptive method takes for a run."""


def true_robot(given: str | Mapping[str, Any] | Robot) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds."""
    if isinstance(given, Mapping):
        return Robot.load(given["use"], override={k: v for k, v in given.items() if k != "use"})
    return given if isinstance(given, Robot) else Robot.load(given)


def believed_robot(robot: Robot, believed: Believed | None) -> Robot:
    """Return the believed robot; the very same object when belief is truth."""
    if believed is None or believed == Believed():
        return robot
    base = robot if believed.robot is None else true_robot(believed.robot)
    for what in ("coordinates", "dofs", "actuators"):
        wanted, came = getattr(robot, what), getattr(base, what)
        if wanted != came:
            raise InputError(
                f"believed robot '{base.name}' must have the {what} of the true one, "
                f"{', '.join(wanted)}; got {', '.join(came)}."
            )
    return believed.apply(base)


def start_state(
    start: StartState, robot: Robot, constraints: Sequence[Constraint], seed: int = 0
) -> tuple[Vector, Vector, dict[str, float]]:
    """Return ``q``, ``v``, and how far they were moved onto the constraints, where asked for.

    Raises:
        InputError: The state does not fit the robot.
        StartError: The constraints cannot be met from there.
    """
    home = robot.neutral if robot.home is None else robot.home
    q = _state("q", _angles(start.q, robot), robot.coordinates, robot.coordinate_units, home)
    for block in robot.blocks:  # a rotation is given by numbers without unit: (cos, sin) or xyzw
        at = [block.iq + i for i, unit in enumerate(block.coordinate_units) if unit in ("", "1")]
        if at and not abs(np.linalg.norm(q[at]) - 1.0) < NOT_UNIT:
            names = ", ".join(robot.coordinates[i] for i in at)
            raise InputError(f"start.q: {names} must have unit length; got {q[at].tolist()}.")
    if not robot.is_euclidean:
        q = robot.normalize(q)
    if start.spread:
        step = np.random.default_rng(seed).uniform(-start.spread, start.spread, robot.nv)
        q = robot.integrate(q, step)
    v = _state("v", start.v, robot.dofs, robot.dof_units, np.zeros(robot.nv))
    _relax(robot, start, q, v)
    if not start.solve:
        return q, v, {}
    with blaming("start.hold"):
        held = [dof_index(robot, name) for name in start.hold]
    stack = Stack(constraints, robot)
    solved = solve_start(stack, q, v, start.t, held, home)
    _relax(robot, start, solved.q, solved.v, np.asarray(stack.rows.A.any(axis=0)))
    return solved.q, solved.v, solved.moved(robot)


def _relax(
    robot: Robot,
    start: StartState,
    q: Vector,
    v: Vector,
    held: NDArray[np.bool_] | None = None,
) -> None:
    """Put motors of elastic joints that the start leaves out where their springs are relaxed.

    Or where they carry the load at rest. Motors that some constraint holds (``held``, by
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
        angles = angles + (s.gravity - s.f)[joints.links] / joints.stiffness
    for k, (motor, link) in enumerate(zip(joints.motors, joints.links, strict=True)):
        name = robot.dofs[motor]
        if held is not None and held[motor]:
            continue
        if not start.q or (isinstance(start.q, Mapping) and name not in start.q):
            q[joints.motor_coordinates[k]] = angles[k]
        if not start.v or (isinstance(start.v, Mapping) and name not in start.v):
            v[motor] = v[link]


def _angles(
    given: Mapping[str, float | str] | Sequence[float | str], robot: Robot
) -> Mapping[str, float | str] | Sequence[float | str]:
    """Return the state with angles of continuous joints as their cosine and sine."""
    if not isinstance(given, Mapping):
        return given
    state = dict(given)
    for name in [name for name in given if f"{name}_cos" in robot.coordinates]:
        with blaming(f"start.q.{name}"):
            angle = constant(state.pop(name), "rad")
        state[f"{name}_cos"], state[f"{name}_sin"] = math.cos(angle), math.sin(angle)
    return state


def _state(
    what: str,
    given: Mapping[str, float | str] | Sequence[float | str],
    names: tuple[str, ...],
    units: tuple[str, ...],
    default: Vector,
) -> Vector:
    state = default.copy()
    if not isinstance(given, Mapping):
        if given and len(given) != len(names):
            raise InputError(
                f"start.{what} must have {len(names)} numbers, {', '.join(names)}; "
                f"got {len(given)}."
            )
        given = dict(zip(names, given, strict=False))
    for name, value in given.items():
        if name not in names:
            raise unknown_name(f"coordinate (in start.{what})", name, names)
        at = names.index(name)
        with blaming(f"start.{what}.{name}"):
            state[at] = constant(value, units[at])
    return state


def grid(t0: float, t1: float, interval: float) -> list[float]:
    """Return output times: every interval, and the end."""
    if (t1 - t0) / interval > MAX_SAMPLES:
        raise InputError(
            f"timing.sample must leave at most {MAX_SAMPLES} samples; got "
            f"{(t1 - t0) / interval:.1e}. Lengthen it."
        )
    count = math.floor((t1 - t0) / interval * (1.0 + 1e-12) + 1e-9)
    times = [t0 + k * interval for k in range(count + 1)]
    if t1 - times[-1] <= 1e-9 * interval:
        times[-1] = t1
    else:
        times.append(t1)
    return times


def _longest_step(scenario: Scenario) -> float:
    """Return the longest step of an adaptive method that may not jump over what happens.

    A robot at rest gives error control nothing to see: without a bound it would step over a
    motion that begins and ends within one step.
    """
    timing = scenario.timing
    return min(STEP_SAMPLES * timing.sample, timing.duration / MIN_STEPS)


MAX_RATE = 100.0
"""Errors of passive constraints decay no faster than this unless asked to [1/s]."""
MIN_RATE = 5.0
"""Nor slower: an unstabilised closure drifts apart by a factor of six a second and more."""
RATE_STEP = 0.2
"""Decay rate times the length of a fixed step: far inside the stable region of every method."""
USUAL_RATE, USUAL_RTOL = 20.0, 1e-9
"""Decay rate [1/s] at the usual tolerance; a DOP853 step is proportional to its eighth root."""


def passive_gains(stabilisation: Stabilisation, chosen: Integration) -> Gains:
    r"""Return the gains on errors of passive rows, chosen where the scenario does not say.

    Critical damping at a rate $w$, $\alpha = 2w$ and $\beta = w^2$. With steps of length $h$,
    $w = \min(0.2/h, 100\,\mathrm{s}^{-1})$; under error control
    $w = 20\,(10^{-9}/\mathrm{rtol})^{1/8}\,\mathrm{s}^{-1}$, between 5 and 100: faster decay costs
    shorter steps, and a coarse tolerance has bought long ones.
    """
    if stabilisation.kind != "baumgarte":
        return Gains(0.0, 0.0)
    if stabilisation.alpha is not None and stabilisation.beta is not None:
        return Gains(stabilisation.alpha, stabilisation.beta)
    rate = stabilisation.rate
    if rate is None and chosen.step is not None:
        rate = min(RATE_STEP / chosen.step, MAX_RATE)
    elif rate is None:
        rate = USUAL_RATE * (USUAL_RTOL / (chosen.rtol or USUAL_RTOL)) ** 0.125
        rate = min(max(rate, MIN_RATE), MAX_RATE)
    return Gains(2.0 * rate, rate * rate)


def integrator(
    scenario: Scenario, system: System, truth: Dynamics, held: Held | None = None
) -> Integrator:
    """Return the integrator that a scenario asks for.

    Args:
        scenario: What asks.
        system: The closed loop.
        truth: The plant.
        held: Where an input is held and nothing comes between it and the motors, what returns it.
    """
    chosen, robot = scenario.integrator, truth.robot
    projected = scenario.stabilisation.kind == "projection" and len(truth.passive) > 0
    correction = Projector(truth) if projected else None
    if chosen.step is not None:
        quick = None
        if held is not None and HeldStep.suits(truth):
            quick = HeldStep(truth, held, chosen.method)
        return FixedStep(system, robot, chosen.method, chosen.step, correction, quick)
    return Adaptive(
        system,
        robot,
        chosen.method,
        rtol=chosen.rtol or USUAL_RTOL,
        atol=chosen.atol or 1e-11,
        max_step=chosen.max_step or _longest_step(scenario),
        correction=correction,
    )
