"""How much faster or slower than the robot allows the motion of a task is, where, and why."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.mechanics.timing import (
    GeometricPath,
    PathLimits,
    TimingLimits,
    describe_binding,
    time_optimal,
)
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import retimed_path_timing

MAX_KNOTS, MIN_GRID_KNOTS, MAX_FACETS = 300, 60, 300_000
"""Of a motion with more knots every second, third, ... is taken; of many motors that share the work
so few that what they give together has no more facets along all of it."""
MIN_KNOTS = 5
"""A stretch of motion with fewer knots has no timing."""
REST_SPEED_RTOL = 1e-3
"""A motion slower than this, beside its fastest, stands: there it may stop and go."""
MIN_TRAVEL = 1e-6
"""A stretch that goes no further than this stands, but for rounding [rad, m]."""
FRICTION_PASSES = 4
"""Passes for what friction takes at another speed."""
MAX_NAMED = 3
"""Of what binds the fastest timing, so much is named."""


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
    """Time of the fastest timing of the same path [s]; None where there is none."""
    bound_by: dict[str, float]
    """What binds that timing, and in which part of its time, the most first."""
    clock_ends: float | None
    """When the retimed paths of the scenario end [s]; None where it has none."""

    def summary_lines(self) -> Iterator[tuple[str, str]]:
        """Yield it in words: what the motion as it is allows, and the fastest timing."""
        binding = f"{describe_binding(self.binding)}, t = {self.t:.4g} s"
        if self.rate <= 0.0:
            yield "timing", f"no speed keeps the limits ({binding})"
        else:
            yield (
                "timing",
                f"at {self.rate:.3g} times its speed it would keep all limits ({binding})",
            )
        if self.least is not None:
            named = [f"{name} {100.0 * share:.0f} %" for name, share in self.bound_by.items()]
            by = f"; by {', '.join(named[:MAX_NAMED])}" if named else ""
            if self.clock_ends is None:
                took = f"{self.least:.4g} s for the {self.duration:.4g} s that it moves"
                yield "at best", f"{took}{by}"
            else:  # exact, and smoothed as the scenario wants it
                yield "retimed", f"the paths end at t = {self.clock_ends:.4g} s{by}"


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
        rate, t, binding = min(
            (_speed_factor(one) for one in stretches), key=lambda found: found[0]
        )
    except (UkctrlError, ArithmeticError):
        return None  # what motors cannot give at all is told by the inputs that the motion needs
    if not np.isfinite(rate):
        return None
    min_duration, bound_by = _fastest_timing(stretches)
    clock = retimed_path_timing(loop.scenario, robot)
    return PathTiming(
        duration=sum(float(one.t[-1] - one.t[0]) for one in stretches),
        rate=rate,
        t=t,
        binding=binding,
        least=min_duration,
        bound_by=bound_by,
        clock_ends=None if clock is None else float(clock.clock.times[-1]),
    )


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


def _speed_factor(one: _MotionSegment) -> tuple[float, float, tuple[str, ...]]:
    """Return at which part of its speed a stretch keeps all limits, what binds it, and when."""
    factor = np.ones(len(one.t))
    for _ in range(FRICTION_PASSES):
        rows = one.limits.tangents((factor * one.speed) ** 2)
        demand = rows.a * one.bend[:, None] + rows.b * one.speed[:, None] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(demand > 0.0, rows.c / demand, np.inf)
        squares[rows.c < 0.0] = 0.0
        squares = np.column_stack([squares, rows.max_square_speed / one.speed**2])
        min_squares = squares.min(axis=1)
        factor = np.where(
            np.isfinite(min_squares) & (min_squares > 0.0), np.sqrt(min_squares), factor
        )
    k = first_smallest(min_squares)
    row = first_smallest(squares[k])
    speed_binds = row == squares.shape[1] - 1
    binding = (one.limits.fastest_joint(k),) if speed_binds else one.limits.binding(k, row)
    return float(np.sqrt(min_squares[k])), float(one.t[k]), binding


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
