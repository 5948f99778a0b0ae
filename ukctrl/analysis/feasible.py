r"""What a motion takes of motors, joints and ground: inverse dynamics against the limits.

The input is the smallest one that gives the motion's acceleration, $u = G^+ (a - a_\mathrm{free})$;
through elastic joints the torque of the springs is that of the links, $\tau = M a + \mathrm{nle} -
f$, and the motors turn by $\tau/K$ further, $u = J (\ddot q + \ddot\tau/K) + \tau$. Where there
are more motors than freedoms and the smallest input is beyond a limit, another one may serve: that
is asked of a bounded least-squares problem.
"""

from __future__ import annotations

import dataclasses as dc
from typing import final

import numpy as np

from ukctrl.analysis.motion import Motion
from ukctrl.analysis.walk import time_derivatives
from ukctrl.control import Servo
from ukctrl.control.planned import PlannedLaw
from ukctrl.dynamics import Dynamics
from ukctrl.errors import InfeasibleConstraint, UkctrlError
from ukctrl.factor import Matrix, Vector
from ukctrl.loop import Loop
from ukctrl.measures import ALONG_THE_GROUND
from ukctrl.robot import links_alone

DRIVEN = 1e-5
"""Part of an acceleration that may be beyond the motors, in the measure of mass."""
TOLERANCE = 1e-6
"""A limit is broken by more than this fraction of its size."""
PULLED = 1e-6
"""A pull of the ground below this fraction of the largest force is rounding."""


@dc.dataclass(frozen=True, kw_only=True)
class Use:
    """What a motion takes of one motor or joint at its worst moment."""

    name: str
    unit: str
    value: float
    """Value nearest to, or furthest beyond, a limit [unit]."""
    t: float
    """When [s]."""
    limit: float | None
    """That limit [unit]; None where there is none, and `value` is the largest."""
    beyond: float
    """By how much it is passed [unit]; zero where it is kept."""
    since: float | None
    """When it is passed first [s]; None where it is kept."""
    share: float | None
    """Part of the limit that is used, above 1 beyond it: of inputs and rates counted from zero, of
    positions from the middle of their range; None without a limit."""


@dc.dataclass(frozen=True, kw_only=True)
class Miss:
    """What the motors cannot give."""

    dof: str
    """The velocity whose acceleration is missed most."""
    t: float
    """When first [s]."""
    share: float
    """Part of the acceleration that is missed at worst, in the measure of mass."""


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


@dc.dataclass(frozen=True, kw_only=True)
class Refused:
    """Where the law itself gives up, on a state that keeps the task."""

    t: float
    rows: tuple[str, ...]
    text: str


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
    def beyond(self) -> tuple[Use, ...]:
        """Everything that is beyond a limit."""
        every = (*self.inputs, *self.rates, *self.velocities, *self.positions)
        return tuple(use for use in every if use.since is not None)


def feasibility(loop: Loop, motion: Motion) -> tuple[Feasibility, Loads]:
    """Return what a motion takes, and the inputs along it."""
    robot, count = loop.robot, len(motion.t)
    needed, missed = _needed(loop, motion)
    law, refused = _of_law(loop, motion)
    low, high = np.full((2, count, robot.nu), np.inf)
    low = -low
    for k in range(count):
        low[k], high[k] = _bounds(loop, motion, k)
    names, units = robot.actuators, robot.actuator_units
    known = bool(count) and bool(np.isfinite(needed).all())
    inputs = _uses(names, units, motion.t, needed, low, high) if known else ()
    asked = bool(count) and bool(np.isfinite(law).all())
    lawful = _uses(names, units, motion.t, law, low, high) if asked else ()
    broken = any(use.since is not None for use in inputs)
    elsewhere = broken and missed is None and _another(loop, motion, needed, low, high)
    rates: tuple[Use, ...] = ()
    limited = np.flatnonzero(np.isfinite(robot.input_rate_limit))
    if known and limited.size and count > 2:
        change = np.gradient(needed[:, limited], motion.t, axis=0)
        fastest = np.tile(robot.input_rate_limit[limited], (count, 1))
        rates = _uses(
            [names[i] for i in limited], [f"{units[i]}/s" for i in limited], motion.t, change,
            -fastest, fastest,
        )  # fmt: skip
    velocities, positions = _joints(loop, motion)
    speeds = motion.v if motion.dynamic else np.full_like(motion.v, np.nan)
    used = np.column_stack(
        [
            _most(needed if known else law, low, high, False),
            _most(speeds, -robot.velocity_limit, robot.velocity_limit, False),
            _most(motion.q, robot.q_lower, robot.q_upper, True),
        ]
    )
    loads = Loads(needed=needed, law=law, low=low, high=high, used=used)
    shown = law if asked else needed
    ground = _ground(loop, motion, shown) if known or asked else ()
    found = Feasibility(
        inputs=inputs, law=lawful, rates=rates, velocities=velocities, positions=positions,
        elsewhere=elsewhere, missed=missed, refused=refused, ground=ground,
    )  # fmt: skip
    return found, loads


def _bounds(loop: Loop, motion: Motion, k: int) -> tuple[Vector, Vector]:
    """Return what motors give at a knot; a saturation on the bench may be tighter."""
    snapshot = loop.truth_at(float(motion.t[k])).snapshot
    snapshot.move(motion.q[k], motion.v[k], float(motion.t[k]))
    rate = motion.v[k] @ snapshot.B
    bench = loop.conditions.bounds(rate)
    if bench is not None:
        return np.asarray(bench.low), np.asarray(bench.high)
    return loop.robot.input_bounds(rate)


def _needed(loop: Loop, motion: Motion) -> tuple[Matrix, Miss | None]:
    count, nu = len(motion.t), loop.robot.nu
    needed = np.full((count, nu), np.nan)
    if not motion.dynamic or not count or not nu:
        return needed, None
    if loop.robot.elastic is not None:
        return _through_springs(loop, motion), None
    share, dof = np.zeros(count), np.zeros(count, dtype=int)
    for k, t in enumerate(motion.t.tolist()):
        dynamics = loop.truth_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        needed[k], share[k], dof[k] = _inverse(dynamics, motion.a[k])
    beyond = np.flatnonzero(share > DRIVEN)
    if not beyond.size:
        return needed, None
    first = int(beyond[0])
    miss = Miss(
        dof=loop.robot.dofs[int(dof[int(np.argmax(share))])], t=float(motion.t[first]),
        share=float(share.max()),
    )  # fmt: skip
    needed[:] = np.nan
    return needed, miss


def _inverse(dynamics: Dynamics, a: Vector) -> tuple[Vector, float, int]:
    """Return the smallest input that gives an acceleration, what share it misses, and where."""
    asked = a - dynamics.a_free
    u: Vector = np.asarray(np.linalg.lstsq(dynamics.G, asked, rcond=1e-10)[0], dtype=np.float64)
    left = asked - dynamics.G @ u
    L = dynamics.L
    whole = float(np.linalg.norm(L.T @ a) + np.linalg.norm(L.T @ dynamics.a_free)) + 1e-6
    return u, float(np.linalg.norm(L.T @ left)) / whole, int(np.argmax(np.abs(L.T @ left)))


def _through_springs(loop: Loop, motion: Motion) -> Matrix:
    """Return the inputs that move the links of an elastic robot."""
    robot, joints = loop.robot, loop.robot.elastic
    assert joints is not None
    none = np.full((len(motion.t), robot.nu), np.nan)
    try:
        dynamics = Dynamics(links_alone(robot))
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
    needed: Matrix = np.asarray(np.linalg.lstsq(B, push.T, rcond=None)[0].T, dtype=np.float64)
    return needed


def _of_law(loop: Loop, motion: Motion) -> tuple[Matrix, Refused | None]:
    """Return what the scenario's own law asks for along the motion, where it is a servo law."""
    law = np.full((len(motion.t), loop.robot.nu), np.nan)
    if isinstance(loop.law, PlannedLaw) and motion.kind == "plan":
        return np.array([loop.law.nominal.input(t) for t in motion.t.tolist()]), None
    if not isinstance(loop.scenario.controller, Servo) or not motion.dynamic:
        return law, None
    if loop.robot.elastic is not None:
        return law, None
    memory = loop.state.memory
    for k, t in enumerate(motion.t.tolist()):
        q, v = motion.q[k], motion.v[k]
        loop.truth.move(t, q, v)
        try:
            law[k] = loop.command(t, q, v, memory).u
        except InfeasibleConstraint as error:
            return law, Refused(t=t, rows=tuple(error.rows), text=str(error))
        except (UkctrlError, ArithmeticError) as error:
            return law, Refused(t=t, rows=(), text=str(error))
    return law, None


def _uses(
    names: tuple[str, ...] | list[str],
    units: tuple[str, ...] | list[str],
    t: Vector,
    values: Matrix,
    low: Matrix,
    high: Matrix,
    centred: bool = False,
) -> tuple[Use, ...]:
    """Return of every column where it uses most of its limits, or else where it is largest."""
    shares, found = _shares(values, low, high, centred), []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        x, share = values[:, i], shares[:, i]
        if not np.isfinite(share).any():
            k = int(np.argmax(np.abs(x)))
            use = Use(
                name=name, unit=unit, value=float(x[k]), t=float(t[k]), limit=None, beyond=0.0,
                since=None, share=None,
            )  # fmt: skip
        else:
            k = int(np.nanargmax(share))
            over, under = x - high[:, i], low[:, i] - x
            size = np.where(over >= under, np.abs(high[:, i]), np.abs(low[:, i]))
            past = np.maximum(over, under)
            broken = past > TOLERANCE * np.maximum(size, 1e-6)
            use = Use(
                name=name, unit=unit, value=float(x[k]), t=float(t[k]),
                limit=float(high[k, i] if over[k] >= under[k] else low[k, i]),
                beyond=max(0.0, float(past[k])) if broken.any() else 0.0,
                since=float(t[int(np.argmax(broken))]) if broken.any() else None,
                share=float(share[k]),
            )  # fmt: skip
        found.append(use)
    return tuple(found)


def _shares(values: Matrix, low: Matrix, high: Matrix, centred: bool) -> Matrix:
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
    found: Matrix = np.where(np.isfinite(bound), share, np.nan)
    return found


def _most(values: Matrix, low: Vector | Matrix, high: Vector | Matrix, centred: bool) -> Vector:
    """Return over time the largest part of a limit that is used, shape ``(k,)``."""
    ones = np.ones((len(values), 1))
    shares = _shares(values, ones * low, ones * high, centred)
    most: Vector = np.fmax.reduce(shares, axis=1, initial=np.nan)
    return most


def _another(loop: Loop, motion: Motion, needed: Matrix, low: Matrix, high: Matrix) -> bool:
    """Return whether some input within the limits serves wherever the smallest one does not."""
    from scipy.optimize import lsq_linear

    robot = loop.robot
    if robot.elastic is not None:
        return False
    broken = np.flatnonzero(((needed > high) | (needed < low)).any(axis=1))
    for k in broken.tolist():
        t = float(motion.t[k])
        dynamics = loop.truth_at(t)
        dynamics.move(t, motion.q[k], motion.v[k])
        L, asked = dynamics.L, motion.a[k] - dynamics.a_free
        if np.linalg.matrix_rank(dynamics.G) == robot.nu or (low[k] >= high[k]).any():
            return False
        solved = lsq_linear(L.T @ dynamics.G, L.T @ asked, bounds=(low[k], high[k]), tol=1e-12)
        size = np.linalg.norm(L.T @ motion.a[k]) + np.linalg.norm(L.T @ dynamics.a_free) + 1e-6
        if np.sqrt(2.0 * solved.cost) > DRIVEN * size:
            return False
    return True


def _joints(loop: Loop, motion: Motion) -> tuple[tuple[Use, ...], tuple[Use, ...]]:
    """Return what the motion takes of the joints' velocity and position limits."""
    robot = loop.robot
    if not len(motion.t):
        return (), ()
    motors = set() if robot.elastic is None else set(robot.elastic.motors.tolist())
    most = robot.velocity_limit
    fast = [i for i in np.flatnonzero(np.isfinite(most)).tolist() if i not in motors]
    limit = np.tile(most[fast], (len(motion.t), 1))
    units = robot.dof_units
    velocities = _uses(
        [robot.dofs[i] for i in fast], [units[i] for i in fast], motion.t, motion.v[:, fast],
        -limit, limit,
    )  # fmt: skip
    if not motion.dynamic:
        velocities = ()
    low, high = robot.q_lower, robot.q_upper
    turned = set() if robot.elastic is None else set(robot.elastic.motor_coordinates.tolist())
    held = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
    held = [i for i in held if i not in turned]
    ones = np.ones((len(motion.t), 1))
    positions = _uses(
        [robot.coordinates[i] for i in held], [robot.coordinate_units[i] for i in held], motion.t,
        motion.q[:, held], ones * low[held], ones * high[held], True,
    )  # fmt: skip
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
    found = []
    for block in blocks:
        normal = forces[:, row[f"{block}.height"]]
        along = [row[name] for part in ALONG_THE_GROUND if (name := f"{block}.{part}") in row]
        across = np.linalg.norm(forces[:, along], axis=1)
        pulls, pushes = normal < -PULLED * most, normal > PULLED * most
        k = int(np.argmin(normal))
        needs = float((across[pushes] / normal[pushes]).max(initial=0.0))
        first = float(motion.t[int(np.argmax(pulls))]) if pulls.any() else None
        found.append(
            Grounded(
                name=block,
                least=float(normal[k]),
                t=float(motion.t[k]),
                lifts=first,
                friction=needs,
            )
        )
    return tuple(found)
