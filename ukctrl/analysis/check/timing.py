r"""How much faster or slower than the robot allows a task's motion is, and the period of its hold.

A control period is held against the error dynamics that the gains ask for, exactly.

A feedback asks every row for $y^{(r)} = w$ with $w$ a combination of the error's lower derivatives
(and of its integral), and a zero-order hold keeps $w$ for a period $h$, after the delay of the
bench. So the error is a chain of $r$ integrators under a held input,

$$ x_{k+1} = e^{N h} x_k + \int_0^h e^{N (h - s)} e_r\, w(s)\, ds, \qquad w = -K x, $$

without approximation. With
$\phi'' + \alpha \phi' + \beta \phi = 0$ it is stable exactly for

$$ h < \min\!\Big( \frac{2}{\alpha},\; \frac{2 \alpha}{\beta} \Big) . $$

What the model's own change within a period adds is of second order and not part of it.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.speed_factor import MIN_FACTOR, SpeedFactor, tried_factor
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.analysis.linear.sampled_systems import sampled_plant
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import first_largest, first_smallest, max_abs
from ukctrl.mechanics.timing import (
    GeometricPath,
    PathLimits,
    TimingLimits,
    describe_binding,
    time_optimal,
)
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import retime_paths, retimed_path_timing

MAX_KNOTS, MIN_GRID_KNOTS, MAX_FACETS = 300, 60, 300_000
"""Of a motion with more knots every second, third, ... is taken; of many motors that share the work
so few that what they give together has no more facets along all of it."""
TIMING_NOTE_FACTOR = 0.99
"""Part of its speed at which a motion must keep limits for it to be worth a word."""
MIN_KNOTS = 5
"""A stretch of motion with fewer knots has no timing."""
REST_SPEED_RTOL = 1e-3
"""A motion slower than this, beside its fastest, stands: there it may stop and go."""
MIN_TRAVEL = 1e-6
"""A stretch that goes no further than this stands, but for rounding [rad, m]."""
SPEED_PASSES, SPEED_RTOL = 40, 1e-4
"""Most passes for what friction takes and motors have at another speed, and the change of a factor
that ends them."""


@dc.dataclass(frozen=True, kw_only=True)
class PathTiming:
    """The timing of a motion against what speeds and motors of the robot allow."""

    duration: float
    """Time in which the motion moves [s]."""
    rate: float
    """Speed at which all of the motion keeps the limits, in parts of its own: below 1 it is too
    fast somewhere; zero where the motors cannot even hold the robot."""
    t: float
    """When the limit binds that this is due to [s]."""
    binding: tuple[str, ...]
    """That limit, such as ``("motor 'elbow'",)``; several motors bind together where there are
    more than freedoms."""
    least: float | None
    """Time of the fastest timing of the same path by motors and speeds alone [s]; None where there
    is none."""
    bound_by: dict[str, float]
    """What binds that timing, and in which part of its time, the most first."""
    clock_ends: float | None
    """When the retimed paths of the scenario end [s]; None where it has none."""
    span: tuple[float, float] | None
    """Time in which its paths, which are not retimed, move without a stop [s]."""
    retimed: float | None
    """Duration of those paths on that span by ``kind = "retimed"`` [s]; None where that is refused,
    or the motion is slow enough."""


def path_timing(loop: Loop, motion: TaskMotion) -> PathTiming | None:
    """Return the timing of a motion; None where it is not known, or nothing limits it."""
    robot = loop.robot
    limited = np.isfinite([*robot.effort_limit, *robot.velocity_limit]).any()
    if not motion.has_dynamics or robot.elastic is not None or not limited or not robot.nu:
        return None
    try:
        stretches = list(_segments(loop, motion))
        if not stretches:
            return None
        bound = min((_speed_factor(one) for one in stretches), key=lambda factor: factor.rate)
        if not np.isfinite(bound.rate):
            return None
        factor = tried_factor(loop, motion, bound)
    except (UkctrlError, ArithmeticError):
        return None  # what motors cannot give at all is told by the inputs that the motion needs
    min_duration, bound_by = _fastest_timing(stretches)
    clock = retimed_path_timing(loop.scenario, robot)
    # as it is printed, so that what is advised is what was tried
    begin, end = (float(f"{stretches[0].t[i]:.4g}") for i in (0, -1))
    span = (begin, end) if len(stretches) == 1 else None
    # a retimed path keeps motors and speeds; where another limit binds first it is no cure
    too_fast = factor.rate < TIMING_NOTE_FACTOR and factor.binding == bound.binding
    return PathTiming(
        duration=sum(float(one.t[-1] - one.t[0]) for one in stretches),
        rate=factor.rate,
        t=factor.t,
        binding=factor.binding,
        least=min_duration,
        bound_by=bound_by,
        clock_ends=None if clock is None else float(clock.clock.times[-1]),
        span=span,
        retimed=_retimed_duration(loop, span) if too_fast and span and clock is None else None,
    )


def _retimed_duration(loop: Loop, span: tuple[float, float]) -> float | None:
    """Return how long the paths take when they are retimed; None where that is refused."""
    try:
        timing = retimed_path_timing(retime_paths(loop.scenario, span), loop.robot)
    except (UkctrlError, ArithmeticError):
        return None
    return None if timing is None else timing.duration


class _MotionSegment(NamedTuple):
    """A part of a motion without stops, over the way that its velocities go."""

    t: Vector
    speed: Vector
    """Of the parameter [1/s]."""
    bend: Vector
    """Its rate [1/s^2]."""
    limits: PathLimits
    first: float
    """Square of the speed at the begin: that of a motion that begins there, else zero."""
    last: float


def _segments(loop: Loop, motion: TaskMotion) -> Iterator[_MotionSegment]:
    """Yield the parts of a motion between its stops."""
    from scipy.interpolate import CubicSpline

    loop.plant.move(loop.t0, motion.q[0], motion.v[0])
    facets = math.comb(loop.robot.nu, max(loop.plant.reached().shape[1] - 1, 0))
    knots = min(max(MAX_FACETS // facets, MIN_GRID_KNOTS), MAX_KNOTS)
    stride = slice(None, None, 1 + (len(motion.t) - 1) // knots)
    t, q, v, a = motion.t[stride], motion.q[stride], motion.v[stride], motion.a[stride]
    speed = np.linalg.norm(v, axis=1)
    moves = speed > REST_SPEED_RTOL * speed.max(initial=0.0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], moves, [False]]).astype(int)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if end - begin < MIN_KNOTS:
            continue
        span = slice(begin, end)
        w, at = speed[span], t[span]
        if w.max() * (at[-1] - at[0]) < MIN_TRAVEL:
            continue
        dq = v[span] / w[:, None]
        bend = np.einsum("ki,ki->k", dq, a[span])
        ddq = (a[span] - dq * bend[:, None]) / w[:, None] ** 2
        s = CubicSpline(at, w).antiderivative()(at)
        path = GeometricPath(s, q[span], dq, ddq)

        limits = PathLimits(
            path, loop.plant_at, TimingLimits(), at, lambda rate: _input_bounds(loop, rate)
        )
        first = float(w[0]) ** 2 if begin == 0 else 0.0
        last = float(w[-1]) ** 2 if end == len(t) else 0.0
        yield _MotionSegment(at, w, bend, limits, first, last)


def _input_bounds(loop: Loop, rate: Vector) -> tuple[Vector, Vector]:
    """Return what the motors give at their rates; the bench may have tighter limits."""
    return loop.effects.bounds(rate) or loop.robot.input_bounds(rate)


def _speed_factor(one: _MotionSegment) -> SpeedFactor:
    """Return at which part of its speed a stretch keeps motors and speeds within their limits."""
    factor, low, high = np.ones(len(one.t)), np.zeros(len(one.t)), np.full(len(one.t), np.inf)
    # Friction and torque depend on the speed that is looked for: Newton's method, kept between a
    # speed that is slow enough and one that is not.
    for _ in range(SPEED_PASSES):
        rows = one.limits.tangents((factor * one.speed) ** 2)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            demand = rows.a * one.bend[:, None] + rows.b * one.speed[:, None] ** 2
            demand = np.column_stack([demand, one.speed**2 / rows.max_square_speed])
            limit = np.column_stack([rows.c, np.ones(len(factor))])
            excess = demand * factor[:, None] ** 2 - limit
            squares = np.where((demand > 0.0) & (limit > 0.0), limit / demand, np.inf)
        kept = (excess <= 0.0).all(axis=1)
        low, high = np.where(kept, factor, low), np.where(kept, high, factor)
        newton = np.sqrt(squares.min(axis=1))
        inside = (low <= newton) & (newton <= high)
        before, factor = factor, np.where(inside, newton, 0.5 * (low + high))
        unlimited = np.isinf(factor)
        factor[unlimited] = before[unlimited]
        if np.all((np.abs(factor - before) <= SPEED_RTOL * factor) | (high < MIN_FACTOR)):
            break
    factor[unlimited], factor[high < MIN_FACTOR] = np.inf, 0.0
    k = first_smallest(factor)
    row = first_largest(excess[k])
    speed_binds = row == excess.shape[1] - 1
    binding = (one.limits.fastest_joint(k),) if speed_binds else one.limits.binding(k, row)
    return SpeedFactor(float(factor[k]), float(one.t[k]), binding)


def _fastest_timing(stretches: list[_MotionSegment]) -> tuple[float | None, dict[str, float]]:
    """Return the time of the fastest timing of all stretches, and what binds it how long."""
    whole, spent = 0.0, dict[str, float]()
    for one in stretches:
        try:
            timed = time_optimal(one.limits, first=one.first, last=one.last)
        except UkctrlError:
            return None, {}
        whole += timed.duration
        for names, took in zip(timed.binding, np.diff(timed.t).tolist(), strict=True):
            if names:
                name = describe_binding(names)
                spent[name] = spent.get(name, 0.0) + took
    order = sorted(spent, key=lambda name: -spent[name])
    return whole, {name: spent[name] / whole for name in order}


SLOW_DECAY_RATIO = 0.5
"""A sampled error that decays at less than this fraction of the continuous rate is warned of."""
RECOMMENDED_DECAY_RATIO = 0.8
"""The longest period that keeps this fraction of the rate is recommended."""
MAX_PERIOD = 1e3
"""A stable period is not looked for beyond this [s]."""


@dc.dataclass(frozen=True, kw_only=True)
class SampledError:
    """What a control period does to the error of the slowest or the most endangered row."""

    period: float | None
    """Period of the hold [s]; None under continuous control."""
    delay: float
    """By how much inputs arrive late [s]."""
    row: str
    """The row that bears the shortest period."""
    poles: tuple[complex, ...]
    """Of its error in continuous time [1/s]."""
    decay: float
    """Rate of the slowest of them [1/s]."""
    sampled: tuple[complex, ...]
    """Where the hold moves them, $\\ln z / h$ [1/s]; empty under continuous control."""
    sampled_decay: float | None
    """Rate of the slowest of those [1/s]; below zero the error grows."""
    longest: float
    """Period from which on the error grows, the delay in periods unchanged [s]."""
    recommended: float
    """Longest period that keeps four fifths of the rate [s]."""


def sampled_error(loop: Loop) -> SampledError | None:
    """Return what the control period does to the error; None where its law is not linear."""
    polynomials = loop.scenario.controller.error_polynomials(loop.law.stack)
    polynomials = tuple(polynomial for polynomial in polynomials if any(polynomial.gains))
    if not polynomials:
        return None
    period, delay = loop.scenario.timing.control, loop.effects.delay
    late = delay / period if period else 0.0
    distinct = {
        (polynomial.gains, polynomial.integral): polynomial for polynomial in reversed(polynomials)
    }
    limits = {key: max_error_period(polynomial, late) for key, polynomial in distinct.items()}
    key = list(limits)[first_smallest(list(limits.values()))]
    worst = distinct[key]
    poles = worst.poles
    decay = -max(pole.real for pole in poles)
    moved: tuple[complex, ...] = ()
    rate = None
    if period is not None:
        moved = sampled_error_rates(worst, period, late)
        rate = -max(pole.real for pole in moved)
    return SampledError(
        period=period,
        delay=delay,
        row=worst.row,
        poles=poles,
        decay=decay,
        sampled=moved,
        sampled_decay=rate,
        longest=limits[key],
        recommended=max_error_period(worst, late, RECOMMENDED_DECAY_RATIO * decay),
    )


def sampled_error_matrix(error: ErrorPolynomial, period: float, late: float = 0.0) -> Matrix:
    """Return how one period maps the error, the late inputs behind it.

    Args:
        error: The error's polynomial.
        period: Period of the hold [s].
        late: Delay of the input, in periods.
    """
    r = len(error.gains)
    first = 1 if error.integral else 0  # the integral is advanced by the law, not by the plant
    n = r - first
    chain = sampled_plant(np.eye(n, k=1), np.eye(n, 1, 1 - n), (), ("w",), period, [late * period])
    step = np.zeros((first + len(chain.A), first + len(chain.A)))
    step[first:, first:] = chain.A
    if error.integral:
        step[0, 0], step[0, 1] = 1.0, period
    step[first:, :r] -= np.outer(chain.B, error.gains)
    return step


def sampled_error_rates(
    error: ErrorPolynomial, period: float, late: float = 0.0
) -> tuple[complex, ...]:
    """Return the poles of the held error as rates, ``ln z / h`` [1/s], the slowest first."""
    z = np.linalg.eigvals(sampled_error_matrix(error, period, late)).astype(complex)
    # z = 0 is over at once and has no logarithm.
    z = z[np.abs(z) > 1e-12]
    rates = np.log(z) / period
    return tuple(sorted(rates.tolist(), key=lambda root: (-root.real, root.imag)))


def max_error_period(error: ErrorPolynomial, late: float = 0.0, decay: float = 0.0) -> float:
    """Return the period up to which the held error decays faster than a rate [s].

    Args:
        error: The error's polynomial.
        late: Delay of the input, in periods.
        decay: The rate [1/s].
    """

    def kept(h: float) -> bool:
        radius = max_abs(np.linalg.eigvals(sampled_error_matrix(error, h, late)))
        bound = math.exp(-decay * h)
        # A margin of 1e-9 keeps what is marginally stable out.
        return radius < bound if decay > 0.0 else radius < 1.0 - 1e-9

    fastest = max(abs(pole) for pole in error.poles)
    h = 1e-3 / fastest
    if not kept(h):
        return 0.0
    return first_loss(kept, h, MAX_PERIOD, ratio=1.05, halvings=50)


def first_loss(
    holds: Callable[[float], bool], first: float, longest: float, *, ratio: float, halvings: int
) -> float:
    """Return the period up to which something holds that holds at a first one [s].

    Args:
        holds: Whether it does at a period.
        first: The first one [s].
        longest: Returned where it holds beyond [s].
        ratio: Of the periods that are tried one after the other.
        halvings: Of the interval in which it is lost.
    """
    period = first
    # A scan: such periods need not be an interval, and bisection could miss the first loss.
    while holds(ratio * period):
        period *= ratio
        if period > longest:
            return longest
    low, high = period, ratio * period
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
