r"""What a motion takes of motors, joints and ground, against their limits.

The smallest input that gives the motion's acceleration is $u = G^+ (a - a_\mathrm{free})$; through
elastic joints the torque of the springs is that of the links, $\tau = M a + \mathrm{nle} - f$, and
the motors turn by $\tau/K$ further, $u = J (\ddot q + \ddot\tau/K) + \tau$. Where there are more
motors than freedoms and the smallest input is beyond a limit, another one may serve: that is asked
of a bounded least-squares problem.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.analysis.check.limit_usage import (
    NEGLIGIBLE,
    LimitUsage,
    larger_usages,
    limit_usages,
    max_usage_fraction,
)
from ukctrl.analysis.check.task_motion import InitialTransient, TaskMotion
from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.tie_breaking import first_largest, first_smallest, max_abs
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.path_inverse_kinematics import time_derivatives
from ukctrl.robot import rigid_link_robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.result.sample_measures import ALONG_THE_GROUND

PULL_TOLERANCE = 1e-6
"""A pull of the ground below this fraction of the largest force is rounding."""

ACTUATION_RTOL = 1e-5
"""Part of an acceleration that may be beyond the motors, in the measure of mass."""
REST_RTOL = 1e-3
"""Where a robot rests, what rounding leaves of its closures is measured by this part of the largest
acceleration."""


@dc.dataclass(frozen=True, kw_only=True)
class AccelerationResidual:
    """What the motors cannot give."""

    dof: str
    """The velocity whose acceleration is missed most."""
    t: float
    """When first [s]."""
    share: float
    """Part of the acceleration that is missed at worst, in the measure of mass."""


@dc.dataclass(frozen=True, kw_only=True)
class LawFailure:
    """Where the law itself gives up, on a state that keeps the task."""

    t: float
    rows: tuple[str, ...]
    text: str


@dc.dataclass(frozen=True, kw_only=True)
class ContactLoad:
    """How the ground bears one contact."""

    name: str
    least: float
    """Smallest force along the normal; below zero the ground would have to pull [N]."""
    t: float
    """When [s]."""
    lifts: float | None
    """When it would pull first [s]; None where it never does."""
    friction: float
    """Largest coefficient of friction that it needs while it pushes."""
    mu: float | None = None
    """The one that it has; None where it holds both ways."""

    @property
    def exceeds_contact(self) -> bool:
        """Whether a contact that may open and slide would do so."""
        return self.mu is not None and (self.lifts is not None or self.friction > self.mu)


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class InputCurves:
    """Inputs along a motion, for figures; arrays of ``k`` knots."""

    needed: Matrix
    """The smallest input, shape ``(k, nu)``; NaN where it is not known."""
    law: Matrix
    """What the law itself asks for, shape ``(k, nu)``; NaN where it is not known."""
    low: Matrix
    high: Matrix
    """Limits of the inputs at the motion's speed, shape ``(k, nu)``."""
    used: Matrix
    """Largest part of a limit that is used: of inputs, velocities, positions, shape ``(k, 3)``;
    NaN where there are no limits."""
    approach: InitialTransient | None = None
    """The way from a start off the rows back to them; None from a start on them."""


@dc.dataclass(frozen=True, kw_only=True)
class Feasibility:
    """Whether motors, joints and ground can do what the task asks."""

    inputs: tuple[LimitUsage, ...]
    """Of the smallest input, motor by motor, and of the law's on the way to the motion from a start
    off the rows; empty where inputs cannot be told."""
    law: tuple[LimitUsage, ...]
    """Of the input of the law itself, from the start on; empty where it is no servo law, but for
    a start off the rows without a motion."""
    rates: tuple[LimitUsage, ...]
    """Of the input's rate of change, for motors that limit it."""
    velocities: tuple[LimitUsage, ...]
    """Of joints with a velocity limit."""
    positions: tuple[LimitUsage, ...]
    """Of joints with position limits."""
    elsewhere: bool
    """Whether another input keeps all limits where the smallest one does not."""
    missed: AccelerationResidual | None
    """What the motors cannot give at all; None where they can."""
    refused: LawFailure | None
    """Where the law gives up; None where it never does."""
    ground: tuple[ContactLoad, ...]
    """Of contacts and wheels that touch the ground."""

    @property
    def limited(self) -> tuple[LimitUsage, ...]:
        """Everything that has a limit."""
        usages = (*self.inputs, *self.rates, *self.velocities, *self.positions)
        return tuple(use for use in usages if use.share is not None)

    @property
    def beyond(self) -> tuple[LimitUsage, ...]:
        """Everything that is beyond a limit."""
        return tuple(use for use in self.limited if use.since is not None)

    @property
    def most_used(self) -> LimitUsage | None:
        """What uses the largest part of its limit, the first among equals; None without limits."""
        fractions = [use.share or 0.0 for use in self.limited]
        return self.limited[first_largest(fractions, NEGLIGIBLE)] if fractions else None


def input_feasibility(
    loop: Loop, motion: TaskMotion, approach: InitialTransient | None = None
) -> tuple[Feasibility, InputCurves]:
    """Return what a motion takes, with the way to it from the start, and the inputs along it."""
    robot = loop.robot
    task_inputs, missed = required_inputs(loop, motion)
    law, refused = law_inputs(loop, motion)
    has_inputs = bool(len(motion.t)) and bool(np.isfinite(task_inputs).all())
    has_law = bool(len(motion.t)) and bool(np.isfinite(law).all())
    low, high = input_bounds_along(loop, motion)
    inputs, rates = input_usage(loop, motion.t, task_inputs, low, high)
    lawful, _ = input_usage(loop, motion.t, law, low, high)
    broken = any(use.since is not None for use in inputs)
    # Another input is asked for only where the motors give all of the acceleration.
    elsewhere = (
        broken and missed is None and alternative_input_exists(loop, motion, task_inputs, low, high)
    )
    velocities, positions = joint_usage(loop, motion)
    if approach is not None:
        inputs, lawful, rates, velocities, positions = _merge_transient(
            loop, approach, (inputs, lawful, rates, velocities, positions)
        )
    moving = motion.v if motion.has_dynamics else np.full_like(motion.v, np.nan)
    used = np.column_stack(
        [
            max_usage_fraction(task_inputs if has_inputs else law, low, high, False),
            max_usage_fraction(moving, -robot.velocity_limit, robot.velocity_limit, False),
            max_usage_fraction(motion.q, robot.q_lower, robot.q_upper, True),
        ]
    )
    loads = InputCurves(
        needed=task_inputs, law=law, low=low, high=high, used=used, approach=approach
    )
    demands = Feasibility(
        inputs=inputs,
        law=lawful,
        rates=rates,
        velocities=velocities,
        positions=positions,
        elsewhere=elsewhere,
        missed=missed,
        refused=refused,
        ground=contact_loads(loop, motion, law if has_law else task_inputs)
        if has_inputs or has_law
        else (),
    )
    return demands, loads


def required_inputs(loop: Loop, motion: TaskMotion) -> tuple[Matrix, AccelerationResidual | None]:
    """Return the smallest input along a motion, shape ``(k, nu)``, and what motors cannot give."""
    count, nu = len(motion.t), loop.robot.nu
    task_inputs = np.full((count, nu), np.nan)
    if not motion.has_dynamics or not count or not nu:
        return task_inputs, None
    if loop.robot.elastic is not None:
        return _elastic_inputs(loop, motion), None
    missed, whole, dof = np.zeros(count), np.zeros(count), np.zeros(count, dtype=int)
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.plant_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        task_inputs[k], missed[k], whole[k], dof[k] = _inverse_dynamics(dynamics, motion.a[k])
    share = missed / (np.maximum(whole, REST_RTOL * whole.max()) + 1e-6)
    violations = np.flatnonzero(share > ACTUATION_RTOL)
    if not violations.size:
        return task_inputs, None
    first = int(violations[0])
    miss = AccelerationResidual(
        dof=loop.robot.dofs[int(dof[first_largest(share)])],
        t=float(motion.t[first]),
        share=float(share.max()),
    )
    task_inputs[:] = np.nan  # at any knot a least-squares input would look like a demand
    return task_inputs, miss


def _inverse_dynamics(dynamics: Dynamics, a: Vector) -> tuple[Vector, float, float, int]:
    """Return the smallest input for an acceleration, what it misses of how much, and where."""
    u, L = dynamics.least_input(a), dynamics.L
    residual = a - dynamics.a_free - dynamics.G @ u
    whole = float(np.linalg.norm(L.T @ a) + np.linalg.norm(L.T @ dynamics.a_free))
    return u, float(np.linalg.norm(L.T @ residual)), whole, first_largest(np.abs(L.T @ residual))


def _elastic_inputs(loop: Loop, motion: TaskMotion) -> Matrix:
    """Return the inputs that move the links of an elastic robot."""
    robot, joints = loop.robot, loop.robot.elastic
    assert joints is not None
    none = np.full((len(motion.t), robot.nu), np.nan)
    try:
        dynamics = Dynamics(rigid_link_robot(robot))
    except UkctrlError:
        return none
    torque = np.zeros((len(motion.t), len(joints.links)))
    snapshot = dynamics.snapshot
    for k, t in enumerate(motion.t.tolist()):
        snapshot.move(motion.q[k], motion.v[k], t)
        whole = snapshot.M @ motion.a[k] + snapshot.nle - snapshot.f
        torque[k] = whole[joints.links]
    stretch = torque / joints.stiffness
    rate, _ = time_derivatives(motion.t, stretch)
    stretch -= joints.damping * rate / joints.stiffness
    _, bend = time_derivatives(motion.t, stretch)
    push = joints.inertia * (motion.a[:, joints.links] + bend) + torque
    B = robot.actuation.constant[joints.motors]
    return column_space(B, np.linalg.norm(B, axis=0), loop.scenario.rank.servo).solve(push.T).T


def law_inputs(loop: Loop, motion: TaskMotion) -> tuple[Matrix, LawFailure | None]:
    """Return what the scenario's own law asks for along the motion, where it is a servo law.

    What is kept beside it changes that, and is told of the motion itself.
    """
    law = np.full((len(motion.t), loop.robot.nu), np.nan)
    plan = loop.law.planned_motion
    if plan is not None and motion.kind == "plan":
        return np.array([plan.input(t) for t in motion.t.tolist()]), None
    if loop.scenario.controller.row_allocation is None or not motion.has_dynamics:
        return law, None
    if loop.robot.elastic is not None:
        return law, None
    if loop.scenario.keep:
        # the rows as they are: a path that is planned within what is kept is another without it
        servo = servo_constraints(loop.scenario, loop.robot)
        loop = Loop(dc.replace(loop.scenario, keep=(), servo=servo), loop.robot)
    memory = loop.state.memory
    for k, t in enumerate(motion.t.tolist()):
        q, v = motion.q[k], motion.v[k]
        loop.plant.move(t, q, v)
        try:
            law[k] = loop.command(t, q, v, memory).u
        except (UkctrlError, ArithmeticError) as error:
            rows = tuple(error.rows) if isinstance(error, InfeasibleConstraint) else ()
            return law, LawFailure(t=t, rows=rows, text=str(error))
    return law, None


def alternative_input_exists(
    loop: Loop, motion: TaskMotion, task_inputs: Matrix, low: Matrix, high: Matrix
) -> bool:
    """Return whether some input within the limits serves wherever the smallest one does not."""
    from scipy.optimize import lsq_linear

    robot = loop.robot
    if robot.elastic is not None:
        return False
    broken = np.flatnonzero(((task_inputs > high) | (task_inputs < low)).any(axis=1))
    for k in broken.tolist():
        t = float(motion.t[k])
        dynamics = loop.plant_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        L, acceleration = dynamics.L, motion.a[k] - dynamics.a_free
        if dynamics.reached().shape[1] == robot.nu or (low[k] >= high[k]).any():
            return False
        solved = lsq_linear(
            L.T @ dynamics.G, L.T @ acceleration, bounds=(low[k], high[k]), tol=1e-12
        )
        size = np.linalg.norm(L.T @ motion.a[k]) + np.linalg.norm(L.T @ dynamics.a_free) + 1e-6
        if np.sqrt(2.0 * solved.cost) > ACTUATION_RTOL * size:
            return False
    return True


def _merge_transient(
    loop: Loop, approach: InitialTransient, uses: Sequence[tuple[LimitUsage, ...]]
) -> Sequence[tuple[LimitUsage, ...]]:
    """Return what inputs, the law's inputs, rates, speeds and places take of their limits from the
    start on: the motion's, or what the way to it takes where that is more.
    """
    transient = approach.motion
    first, changes = input_usage(
        loop, transient.t, approach.u, *input_bounds_along(loop, transient)
    )
    inputs, lawful, *_ = uses
    # Of a law that is none by rows only the inputs of the motion are known.
    input_usages = (first if inputs else (), first if lawful or not inputs else ())
    usages = (*input_usages, changes, *joint_usage(loop, transient))
    return [
        larger_usages(() if approach.covers_run else use, back, approach.end)
        for use, back in zip(uses, usages, strict=True)
    ]


def input_bounds_along(loop: Loop, motion: TaskMotion) -> tuple[Matrix, Matrix]:
    """Return what motors give along a motion, ``(k, nu)``; the bench may have tighter limits."""
    low, high = np.zeros((2, len(motion.t), loop.robot.nu))
    for k, t in enumerate(motion.t.tolist()):
        snapshot = loop.plant_at(t).snapshot
        snapshot.move(motion.q[k], motion.v[k], t)
        rate = motion.v[k] @ snapshot.B
        low[k], high[k] = loop.effects.bounds(rate) or loop.robot.input_bounds(rate)
    return low, high


def input_usage(
    loop: Loop, t: Vector, u: Matrix, low: Matrix, high: Matrix
) -> tuple[tuple[LimitUsage, ...], tuple[LimitUsage, ...]]:
    """Return what inputs take of the motors' limits, and of those of their rates."""
    robot = loop.robot
    if not np.isfinite(u).all() or not len(t):
        return (), ()
    names, units = robot.actuators, robot.actuator_units
    limited = np.flatnonzero(np.isfinite(robot.input_rate_limit))
    rates: tuple[LimitUsage, ...] = ()
    if limited.size and len(t) > 2:
        change = np.gradient(u[:, limited], t, axis=0)
        fastest, its_units = robot.input_rate_limit[limited], [f"{units[i]}/s" for i in limited]
        rates = limit_usages([names[i] for i in limited], its_units, t, change, -fastest, fastest)
    return limit_usages(names, units, t, u, low, high), rates


def joint_usage(
    loop: Loop, motion: TaskMotion
) -> tuple[tuple[LimitUsage, ...], tuple[LimitUsage, ...]]:
    """Return what the motion takes of the joints' velocity and position limits."""
    robot = loop.robot
    if not len(motion.t):
        return (), ()
    motors = set() if robot.elastic is None else set(robot.elastic.motors.tolist())
    limited = np.flatnonzero(np.isfinite(robot.velocity_limit))
    fast = [i for i in limited.tolist() if i not in motors] if motion.has_dynamics else []
    limit = robot.velocity_limit[fast]
    names, units = [robot.dofs[i] for i in fast], [robot.dof_units[i] for i in fast]
    velocities = limit_usages(names, units, motion.t, motion.v[:, fast], -limit, limit)
    low, high = robot.q_lower, robot.q_upper
    turned = set() if robot.elastic is None else set(robot.elastic.motor_coordinates.tolist())
    coordinates = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
    coordinates = [i for i in coordinates if i not in turned]
    names = [robot.coordinates[i] for i in coordinates]
    units = [robot.coordinate_units[i] for i in coordinates]
    positions = limit_usages(
        names, units, motion.t, motion.q[:, coordinates], low[coordinates], high[coordinates], True
    )
    return velocities, positions


def contact_loads(loop: Loop, motion: TaskMotion, u: Matrix) -> tuple[ContactLoad, ...]:
    """Return how the ground bears each contact, whose rows are known by their names."""
    stack = loop.plant.passive
    row = {name: i for i, name in enumerate(stack.names)}
    blocks = [block for block in dict.fromkeys(stack.blocks) if f"{block}.height" in row]
    if not blocks or loop.robot.elastic is not None:
        return ()
    forces = np.zeros((len(motion.t), len(stack)))
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.plant_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        forces[k] = dynamics.reactions(dynamics.passive_force(dynamics.acceleration(u[k]), u[k]))
    max_force = max_abs(forces[:, [row[f"{block}.height"] for block in blocks]])
    pushing = loop.plant.contacts
    mu = {} if pushing is None else dict(zip(pushing.names, pushing.mu.tolist(), strict=True))
    contacts = []
    for block in blocks:
        normal = forces[:, row[f"{block}.height"]]
        along = [
            row[name] for component in ALONG_THE_GROUND if (name := f"{block}.{component}") in row
        ]
        across = np.linalg.norm(forces[:, along], axis=1)
        pulls, pushes = normal < -PULL_TOLERANCE * max_force, normal > PULL_TOLERANCE * max_force
        k = first_smallest(normal)
        needs = max_abs(across[pushes] / normal[pushes])
        first = float(motion.t[int(np.argmax(pulls))]) if pulls.any() else None
        min_force, t = float(normal[k]), float(motion.t[k])
        load = ContactLoad(
            name=block, least=min_force, t=t, lifts=first, friction=needs, mu=mu.get(block)
        )
        contacts.append(load)
    return tuple(contacts)
