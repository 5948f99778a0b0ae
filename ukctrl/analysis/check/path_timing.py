"""How much faster or slower than the robot allows the motion of a task is, where, and why."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.task_motion import Motion
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.extremes import first_smallest
from ukctrl.mechanics.timing import JointPath, Kept, PathLimits, in_words, time_optimal
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.loop.timed_rows import timing_of

MOST_KNOTS, FEW_KNOTS, MOST_FACETS = 300, 60, 300_000
"""Of a motion with more knots every second, third, ... is taken; of many motors that share the work
so few that what they give together has no more facets along all of it."""
FEWEST = 5
"""A stretch of motion with fewer knots has no timing."""
SLOW = 1e-3
"""A motion slower than this, beside its fastest, stands: there it may stop and go."""
STANDS = 1e-6
"""A stretch that goes no further than this stands, but for rounding [rad, m]."""
REFINED = 4
"""Passes for what friction takes at another speed."""
MOST_NAMED = 3
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

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield it in words: what the motion as it is allows, and the fastest timing."""
        what = f"{in_words(self.binding)}, t = {self.t:.4g} s"
        if self.rate <= 0.0:
            yield "timing", f"no speed keeps the limits ({what})"
        else:
            yield "timing", f"at {self.rate:.3g} times its speed it would keep all limits ({what})"
        if self.least is not None:
            named = [f"{name} {100.0 * part:.0f} %" for name, part in self.bound_by.items()]
            by = f"; by {', '.join(named[:MOST_NAMED])}" if named else ""
            if self.clock_ends is None:
                took = f"{self.least:.4g} s for the {self.duration:.4g} s that it moves"
                yield "at best", f"{took}{by}"
            else:  # exact, and smoothed as the scenario wants it
                yield "retimed", f"the paths end at t = {self.clock_ends:.4g} s{by}"


def path_timing(loop: Loop, motion: Motion) -> PathTiming | None:
    """Return the timing of a motion; None where it is not known, or nothing limits it."""
    robot = loop.robot
    limited = np.isfinite([*robot.effort_limit, *robot.velocity_limit]).any()
    if not motion.dynamic or robot.elastic is not None or not limited or not robot.nu:
        return None
    try:
        stretches = list(_stretches(loop, motion))
        if not stretches:
            return None
        rate, t, binding = min((_rate(one) for one in stretches), key=lambda found: found[0])
    except (UkctrlError, ArithmeticError):
        return None  # what motors cannot give at all is told by the inputs that the motion needs
    if not np.isfinite(rate):
        return None
    least, bound_by = _least(stretches)
    clock = timing_of(loop.scenario, robot)
    return PathTiming(
        duration=sum(float(one.t[-1] - one.t[0]) for one in stretches),
        rate=rate,
        t=t,
        binding=binding,
        least=least,
        bound_by=bound_by,
        clock_ends=None if clock is None else float(clock.clock.times[-1]),
    )


class _Stretch(NamedTuple):
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


def _stretches(loop: Loop, motion: Motion) -> Iterator[_Stretch]:
    """Yield the parts of a motion between its stops."""
    from scipy.interpolate import CubicSpline

    loop.truth.move(loop.t0, motion.q[0], motion.v[0])
    facets = math.comb(loop.robot.nu, max(loop.truth.reached().shape[1] - 1, 0))
    knots = min(max(MOST_FACETS // facets, FEW_KNOTS), MOST_KNOTS)
    every = slice(None, None, 1 + (len(motion.t) - 1) // knots)
    t, q, v, a = motion.t[every], motion.q[every], motion.v[every], motion.a[every]
    speed = np.linalg.norm(v, axis=1)
    moves = speed > SLOW * speed.max(initial=0.0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], moves, [False]]).astype(int)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if end - begin < FEWEST:
            continue
        own = slice(begin, end)
        w, at = speed[own], t[own]
        if w.max() * (at[-1] - at[0]) < STANDS:
            continue
        dq = v[own] / w[:, None]
        bend = np.einsum("ki,ki->k", dq, a[own])
        ddq = (a[own] - dq * bend[:, None]) / w[:, None] ** 2
        s = CubicSpline(at, w).antiderivative()(at)
        path = JointPath(s, q[own], dq, ddq)

        limits = PathLimits(path, loop.truth_at, Kept(), at, lambda rate: _bounds(loop, rate))
        first = float(w[0]) ** 2 if begin == 0 else 0.0
        last = float(w[-1]) ** 2 if end == len(t) else 0.0
        yield _Stretch(at, w, bend, limits, first, last)


def _bounds(loop: Loop, rate: Vector) -> tuple[Vector, Vector]:
    """Return what the motors give at their rates; the bench may have tighter limits."""
    return loop.conditions.bounds(rate) or loop.robot.input_bounds(rate)


def _rate(one: _Stretch) -> tuple[float, float, tuple[str, ...]]:
    """Return at which part of its speed a stretch keeps all limits, what binds it, and when."""
    part = np.ones(len(one.t))
    for _ in range(REFINED):
        rows = one.limits.at((part * one.speed) ** 2)
        taken = rows.a * one.bend[:, None] + rows.b * one.speed[:, None] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(taken > 0.0, rows.c / taken, np.inf)
        squares[rows.c < 0.0] = 0.0
        squares = np.column_stack([squares, rows.most / one.speed**2])
        least = squares.min(axis=1)
        part = np.where(np.isfinite(least) & (least > 0.0), np.sqrt(least), part)
    k = first_smallest(least)
    row = first_smallest(squares[k])
    rest = row == squares.shape[1] - 1
    binding = (one.limits.fastest_joint(k),) if rest else one.limits.binding(k, row)
    return float(np.sqrt(least[k])), float(one.t[k]), binding


def _least(stretches: list[_Stretch]) -> tuple[float | None, dict[str, float]]:
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
                name = in_words(names)
                spent[name] = spent.get(name, 0.0) + took
    order = sorted(spent, key=lambda name: -spent[name])
    return whole, {name: spent[name] / whole for name in order}
