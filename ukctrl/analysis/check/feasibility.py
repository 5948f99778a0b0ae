"""What a motion takes of motors, joints and ground, against their limits."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.analysis.check.needed_inputs import (
    Miss,
    Refused,
    another_serves,
    bounds,
    inputs_of_law,
    needed_inputs,
)
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import first_largest, first_smallest
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.measures import ALONG_THE_GROUND

UNUSED = 1e-6
"""Less than this part of a limit, or of a unit without one, is nothing: rounding, not motion.

A robot that rests needs rounding of its motors.
"""
TOLERANCE = 1e-6
"""A limit is broken by more than this fraction of its size."""


@dc.dataclass(frozen=True, kw_only=True)
class Use:
    """What a motion takes of one motor or joint at its worst moment."""

    name: str
    unit: str
    value: float
    """Value nearest to, or furthest beyond, a limit [unit]."""
    t: float
    """When [s]."""
    limit: float | None = None
    """That limit [unit]; None where there is none, and `value` is the largest."""
    beyond: float = 0.0
    """By how much it is passed [unit]; zero where it is kept."""
    since: float | None = None
    """When it is passed first [s]; None where it is kept."""
    share: float | None = None
    """Part of the limit that is used, above 1 beyond it: of inputs and rates counted from zero, of
    positions from the middle of their range; None without a limit."""


def uses(
    names: Sequence[str],
    units: Sequence[str],
    t: Vector,
    values: Matrix,
    low: Vector | Matrix,
    high: Vector | Matrix,
    centred: bool = False,
) -> tuple[Use, ...]:
    """Return of every column where it uses most of its limits, or else where it is largest.

    Limits are one a column, or one each a time.
    """
    low, high = np.ones((len(t), 1)) * low, np.ones((len(t), 1)) * high
    part, found = shares(values, low, high, centred), []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        x, share = values[:, i], part[:, i]
        if not np.isfinite(share).any():
            k, peak = _peak(np.abs(x), x)
            found.append(Use(name=name, unit=unit, value=float(x[peak]), t=float(t[k])))
            continue
        k, peak = _peak(share, x)
        over, under = x - high[:, i], low[:, i] - x
        size = np.where(over >= under, np.abs(high[:, i]), np.abs(low[:, i]))
        past = np.maximum(over, under)
        broken = past > TOLERANCE * np.maximum(size, 1e-6)
        use = Use(
            name=name,
            unit=unit,
            value=float(x[peak]),
            t=float(t[k]),
            limit=float(high[k, i] if over[k] >= under[k] or share[k] <= UNUSED else low[k, i]),
            beyond=max(0.0, float(past[peak])) if broken.any() else 0.0,
            since=float(t[int(np.argmax(broken))]) if broken.any() else None,
            share=float(share[peak]),
        )
        found.append(use)
    return tuple(found)


def _peak(size: Vector, x: Vector) -> tuple[int, int]:
    """Return where a quantity is first as large as it gets, and where it is that to the last digit.

    The second has the sign of the first, whatever rounding makes of equals of both signs; what is
    nothing all the time is what it is at first.
    """
    first = first_largest(size, UNUSED)
    alike = np.where(np.sign(x) == np.sign(x[first]), size, -np.inf)
    return first, first if size[first] <= UNUSED else int(np.nanargmax(alike))


def shares(values: Matrix, low: Matrix, high: Matrix, centred: bool) -> Matrix:
    """Return the part of its limits that each value uses, shape ``(k, n)``; NaN without one."""
    both = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(both, 0.5 * (low + high), 0.0)
        # A range that does not contain zero, or begins there, has no zero to count from.
        from_middle = both & (centred | (low > 0.0) | (high < 0.0))
        middle = np.where(from_middle, middle, 0.0)
        away = values - middle
        bound = np.where(away >= 0.0, high - middle, middle - low)
        width = np.where(both, high - low, 1.0)
        share = np.where(bound > 0.0, np.abs(away) / bound, 1.0 + np.abs(away) / width)
        share = np.where((bound <= 0.0) & (away == 0.0), 0.0, share)
    part: Matrix = np.where(np.isfinite(bound), share, np.nan)
    return part


def most(values: Matrix, low: Vector | Matrix, high: Vector | Matrix, centred: bool) -> Vector:
    """Return over time the largest part of a limit that is used, shape ``(k,)``."""
    ones = np.ones((len(values), 1))
    part = shares(values, ones * low, ones * high, centred)
    most: Vector = np.fmax.reduce(part, axis=1, initial=np.nan)
    return most


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


@dc.dataclass(frozen=True, kw_only=True)
class Feasibility:
    """Whether motors, joints and ground can do what the task asks."""

    inputs: tuple[Use, ...]
    """Of the smallest input, motor by motor; empty where inputs cannot be told."""
    law: tuple[Use, ...]
    """Of the input of the law itself on the motion; empty where it is no servo law."""
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


def feasibility(loop: Loop, motion: Motion) -> tuple[Feasibility, Loads]:
    """Return what a motion takes, and the inputs along it."""
    robot, count = loop.robot, len(motion.t)
    needed, missed = needed_inputs(loop, motion)
    law, refused = inputs_of_law(loop, motion)
    low, high = np.zeros((2, count, robot.nu))
    for k in range(count):
        low[k], high[k] = bounds(loop, motion, k)
    names, units = robot.actuators, robot.actuator_units
    known = bool(count) and bool(np.isfinite(needed).all())
    inputs = uses(names, units, motion.t, needed, low, high) if known else ()
    asked = bool(count) and bool(np.isfinite(law).all())
    lawful = uses(names, units, motion.t, law, low, high) if asked else ()
    broken = any(use.since is not None for use in inputs)
    elsewhere = broken and missed is None and another_serves(loop, motion, needed, low, high)
    rates: tuple[Use, ...] = ()
    limited = np.flatnonzero(np.isfinite(robot.input_rate_limit))
    if known and limited.size and count > 2:
        change = np.gradient(needed[:, limited], motion.t, axis=0)
        fastest, its_units = robot.input_rate_limit[limited], [f"{units[i]}/s" for i in limited]
        rates = uses([names[i] for i in limited], its_units, motion.t, change, -fastest, fastest)
    velocities, positions = _joints(loop, motion)
    speeds = motion.v if motion.dynamic else np.full_like(motion.v, np.nan)
    used = np.column_stack(
        [
            most(needed if known else law, low, high, False),
            most(speeds, -robot.velocity_limit, robot.velocity_limit, False),
            most(motion.q, robot.q_lower, robot.q_upper, True),
        ]
    )
    loads = Loads(needed=needed, law=law, low=low, high=high, used=used)
    shown = law if asked else needed
    ground = _ground(loop, motion, shown) if known or asked else ()
    limits = {"rates": rates, "velocities": velocities, "positions": positions}
    demands = Feasibility(
        inputs=inputs,
        law=lawful,
        elsewhere=elsewhere,
        missed=missed,
        refused=refused,
        ground=ground,
        **limits,
    )
    return demands, loads


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
    most = float(np.abs(forces[:, [row[f"{block}.height"] for block in blocks]]).max())
    contacts = []
    for block in blocks:
        normal = forces[:, row[f"{block}.height"]]
        along = [row[name] for part in ALONG_THE_GROUND if (name := f"{block}.{part}") in row]
        across = np.linalg.norm(forces[:, along], axis=1)
        pulls, pushes = normal < -PULLED * most, normal > PULLED * most
        k = first_smallest(normal)
        needs = float((across[pushes] / normal[pushes]).max(initial=0.0))
        first = float(motion.t[int(np.argmax(pulls))]) if pulls.any() else None
        least, t = float(normal[k]), float(motion.t[k])
        contacts.append(Grounded(name=block, least=least, t=t, lifts=first, friction=needs))
    return tuple(contacts)
