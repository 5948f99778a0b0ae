"""What a motion takes of motors, joints and ground, against their limits."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.analysis.check.approach import Approach
from ukctrl.analysis.check.limit_use import UNUSED, Use, larger, most, uses
from ukctrl.analysis.check.needed_inputs import (
    Miss,
    Refused,
    another_serves,
    inputs_of_law,
    needed_inputs,
)
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import first_largest, first_smallest, max_abs
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.measures import ALONG_THE_GROUND

PULLED = 1e-6
"""A pull of the ground below this fraction of the largest force is rounding."""


@dc.dataclass(frozen=True, kw_only=True)
class Grounded:
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


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Loads:
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
    approach: Approach | None = None
    """The way from a start off the rows back to them; None from a start on them."""


@dc.dataclass(frozen=True, kw_only=True)
class Feasibility:
    """Whether motors, joints and ground can do what the task asks."""

    inputs: tuple[Use, ...]
    """Of the smallest input, motor by motor, and of the law's on the way to the motion from a start
    off the rows; empty where inputs cannot be told."""
    law: tuple[Use, ...]
    """Of the input of the law itself, from the start on; empty where it is no servo law, but for
    a start off the rows without a motion."""
    rates: tuple[Use, ...]
    """Of the input's rate of change, for motors that limit it."""
    velocities: tuple[Use, ...]
    """Of joints with a velocity limit."""
    positions: tuple[Use, ...]
    """Of joints with position limits."""
    elsewhere: bool
    """Whether another input keeps all limits where the smallest one does not."""
    missed: Miss | None
    """What the motors cannot give at all; None where they can."""
    refused: Refused | None
    """Where the law gives up; None where it never does."""
    ground: tuple[Grounded, ...]
    """Of contacts and wheels that touch the ground."""

    @property
    def limited(self) -> tuple[Use, ...]:
        """Everything that has a limit."""
        every = (*self.inputs, *self.rates, *self.velocities, *self.positions)
        return tuple(use for use in every if use.share is not None)

    @property
    def beyond(self) -> tuple[Use, ...]:
        """Everything that is beyond a limit."""
        return tuple(use for use in self.limited if use.since is not None)

    @property
    def most_used(self) -> Use | None:
        """What uses the largest part of its limit, the first among equals; None without limits."""
        parts = [use.share or 0.0 for use in self.limited]
        return self.limited[first_largest(parts, UNUSED)] if parts else None


def feasibility(
    loop: Loop, motion: Motion, approach: Approach | None = None
) -> tuple[Feasibility, Loads]:
    """Return what a motion takes, with the way to it from the start, and the inputs along it."""
    robot = loop.robot
    needed, missed = needed_inputs(loop, motion)
    law, refused = inputs_of_law(loop, motion)
    known = bool(len(motion.t)) and bool(np.isfinite(needed).all())
    asked = bool(len(motion.t)) and bool(np.isfinite(law).all())
    low, high = _bounds(loop, motion)
    inputs, rates = _motors(loop, motion.t, needed, low, high)
    lawful, _ = _motors(loop, motion.t, law, low, high)
    broken = any(use.since is not None for use in inputs)
    elsewhere = broken and missed is None and another_serves(loop, motion, needed, low, high)
    velocities, positions = _joints(loop, motion)
    if approach is not None:
        inputs, lawful, rates, velocities, positions = _with_the_way(
            loop, approach, (inputs, lawful, rates, velocities, positions)
        )
    moving = motion.v if motion.dynamic else np.full_like(motion.v, np.nan)
    used = np.column_stack(
        [
            most(needed if known else law, low, high, False),
            most(moving, -robot.velocity_limit, robot.velocity_limit, False),
            most(motion.q, robot.q_lower, robot.q_upper, True),
        ]
    )
    loads = Loads(needed=needed, law=law, low=low, high=high, used=used, approach=approach)
    demands = Feasibility(
        inputs=inputs,
        law=lawful,
        rates=rates,
        velocities=velocities,
        positions=positions,
        elsewhere=elsewhere,
        missed=missed,
        refused=refused,
        ground=_ground(loop, motion, law if asked else needed) if known or asked else (),
    )
    return demands, loads


def _with_the_way(
    loop: Loop, approach: Approach, uses: Sequence[tuple[Use, ...]]
) -> Sequence[tuple[Use, ...]]:
    """Return what inputs, the law's inputs, rates, speeds and places take of their limits from the
    start on: the motion's, or what the way to it takes where that is more.
    """
    way = approach.motion
    first, changes = _motors(loop, way.t, approach.u, *_bounds(loop, way))
    inputs, lawful, *_ = uses
    # Of a law that is none by rows only the inputs of the motion are known.
    told = (first if inputs else (), first if lawful or not inputs else ())
    found = (*told, changes, *_joints(loop, way))
    return [
        larger(() if approach.whole else use, back, approach.over)
        for use, back in zip(uses, found, strict=True)
    ]


def _bounds(loop: Loop, motion: Motion) -> tuple[Matrix, Matrix]:
    """Return what motors give along a motion, ``(k, nu)``; the bench may have tighter limits."""
    low, high = np.zeros((2, len(motion.t), loop.robot.nu))
    for k, t in enumerate(motion.t.tolist()):
        snapshot = loop.truth_at(t).snapshot
        snapshot.move(motion.q[k], motion.v[k], t)
        rate = motion.v[k] @ snapshot.B
        low[k], high[k] = loop.conditions.bounds(rate) or loop.robot.input_bounds(rate)
    return low, high


def _motors(
    loop: Loop, t: Vector, u: Matrix, low: Matrix, high: Matrix
) -> tuple[tuple[Use, ...], tuple[Use, ...]]:
    """Return what inputs take of the motors' limits, and of those of their rates."""
    robot = loop.robot
    if not np.isfinite(u).all() or not len(t):
        return (), ()
    names, units = robot.actuators, robot.actuator_units
    limited = np.flatnonzero(np.isfinite(robot.input_rate_limit))
    rates: tuple[Use, ...] = ()
    if limited.size and len(t) > 2:
        change = np.gradient(u[:, limited], t, axis=0)
        fastest, its_units = robot.input_rate_limit[limited], [f"{units[i]}/s" for i in limited]
        rates = uses([names[i] for i in limited], its_units, t, change, -fastest, fastest)
    return uses(names, units, t, u, low, high), rates


def _joints(loop: Loop, motion: Motion) -> tuple[tuple[Use, ...], tuple[Use, ...]]:
    """Return what the motion takes of the joints' velocity and position limits."""
    robot = loop.robot
    if not len(motion.t):
        return (), ()
    motors = set() if robot.elastic is None else set(robot.elastic.motors.tolist())
    limited = np.flatnonzero(np.isfinite(robot.velocity_limit))
    fast = [i for i in limited.tolist() if i not in motors] if motion.dynamic else []
    limit = robot.velocity_limit[fast]
    names, units = [robot.dofs[i] for i in fast], [robot.dof_units[i] for i in fast]
    velocities = uses(names, units, motion.t, motion.v[:, fast], -limit, limit)
    low, high = robot.q_lower, robot.q_upper
    turned = set() if robot.elastic is None else set(robot.elastic.motor_coordinates.tolist())
    held = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
    held = [i for i in held if i not in turned]
    names = [robot.coordinates[i] for i in held]
    units = [robot.coordinate_units[i] for i in held]
    positions = uses(names, units, motion.t, motion.q[:, held], low[held], high[held], True)
    return velocities, positions


def _ground(loop: Loop, motion: Motion, u: Matrix) -> tuple[Grounded, ...]:
    """Return how the ground bears each contact, whose rows are known by their names."""
    stack = loop.truth.passive
    row = {name: i for i, name in enumerate(stack.names)}
    blocks = [block for block in dict.fromkeys(stack.blocks) if f"{block}.height" in row]
    if not blocks or loop.robot.elastic is not None:
        return ()
    forces = np.zeros((len(motion.t), len(stack)))
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.truth_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        forces[k] = dynamics.reactions(dynamics.passive_force(dynamics.acceleration(u[k]), u[k]))
    most = max_abs(forces[:, [row[f"{block}.height"] for block in blocks]])
    contacts = []
    for block in blocks:
        normal = forces[:, row[f"{block}.height"]]
        along = [row[name] for part in ALONG_THE_GROUND if (name := f"{block}.{part}") in row]
        across = np.linalg.norm(forces[:, along], axis=1)
        pulls, pushes = normal < -PULLED * most, normal > PULLED * most
        k = first_smallest(normal)
        needs = max_abs(across[pushes] / normal[pushes])
        first = float(motion.t[int(np.argmax(pulls))]) if pulls.any() else None
        least, t = float(normal[k]), float(motion.t[k])
        contacts.append(Grounded(name=block, least=least, t=t, lifts=first, friction=needs))
    return tuple(contacts)
