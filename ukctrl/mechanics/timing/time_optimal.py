"""The time-optimal timing of a path: the fastest profile, its clock, and what binds it where."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePolynomial
from ukctrl.mechanics.timing.clock import clock_from_profile, clock_states, smooth_clock
from ukctrl.mechanics.timing.path_limits import PathLimits
from ukctrl.mechanics.timing.reachability import (
    FRACTIONS,
    UNLIMITED,
    LinearPathLimits,
    NoFeasibleProfile,
    fastest_profile,
    passage_times,
)

MAX_PASSES, PROFILE_RTOL = 30, 1e-8
"""Passes until the tangents of what depends on the speed, and change of the profile, that serve."""
INITIAL_SPEEDS = 1.0, 1e-3
"""Speeds of the fastest joint at whose limits the search for a profile begins, one after the other
[rad/s or m/s]. At the first dry friction is whole; tangents to its rise from rest would say nothing
true of speeds beyond it. At the second all motors have their torque, which at the first some lose.
"""
MAX_SMOOTHING_PASSES, LIMIT_TOLERANCE = 40, 1e-4
"""Passes until a rounded clock keeps the limits, and by how much it may be beyond them."""
BINDING_TOLERANCE = 1e-3
"""What uses a limit up to less than this part binds."""
SAMPLES_PER_PIECE = 4
"""Moments looked at in every piece of a rounded clock."""


def describe_binding(binding: Sequence[str]) -> str:
    """Return what binds, such as ``motor 'elbow'``, or motors that bind together."""
    if len(binding) == 1:
        return binding[0]
    return f"motors {', '.join(name.removeprefix('motor ') for name in binding)} together"


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class OptimalTiming:
    """A timing of a path, the fastest within the limits."""

    s: Vector
    """The grid, shape ``(n,)``."""
    x: Vector
    """The square of the speed there, before rounding, shape ``(n,)``."""
    clock: PiecewisePolynomial
    """s over the time."""
    limit_usage: Vector
    """Largest part of a limit that is used from each point to the next, shape ``(n - 1,)``."""
    binding: tuple[tuple[str, ...], ...]
    """What binds there, such as ``("motor 'elbow'",)``; empty where nothing does."""

    @property
    def duration(self) -> float:
        """From end to end [s]."""
        return float(self.clock.times[-1] - self.clock.times[0])

    @property
    def t(self) -> Vector:
        """When each point is passed by the profile, the first at 0, shape ``(n,)`` [s]."""
        return passage_times(self.s, self.x)


def time_optimal(
    limits: PathLimits,
    *,
    first: float = 0.0,
    last: float = 0.0,
    rounding: float = 0.0,
    begin: float = 0.0,
) -> OptimalTiming:
    r"""Return the fastest timing of a path.

    Args:
        limits: Those of the robot along it.
        first: $\dot s^2$ at its start.
        last: $\dot s^2$ at its end.
        rounding: Time over which a change of acceleration is spread [s]; the limits are then kept
            by the rounded clock, up to `LIMIT_TOLERANCE`.
        begin: When it starts [s].

    Raises:
        InputError: No timing keeps the limits, or none is needed.
    """
    fastest = max_abs(limits.path.dq)
    for speed in INITIAL_SPEEDS:
        x = np.minimum((speed / fastest) ** 2, limits.max_square_speed)
        try:
            return _smoothed_timing(limits, x, first, last, rounding, begin)
        except InputError as error:
            refusal = error
    raise refusal


def _smoothed_timing(
    limits: PathLimits, x: Vector, first: float, last: float, rounding: float, begin: float
) -> OptimalTiming:
    """Return the timing whose search begins with the limits at a profile."""
    s = limits.path.s
    spare: Vector = np.ones(len(s))
    for _ in range(MAX_SMOOTHING_PASSES):
        x, rows = _converged_profile(limits, x, spare, first, last)
        sharp = clock_from_profile(s, x, begin)
        clock = smooth_clock(sharp, rounding)
        if rounding <= 0.0:
            break
        excess = _limit_excess(limits, clock, rounding)
        if excess.max() <= LIMIT_TOLERANCE:
            break
        # shrunk by just what was exceeded, point by point
        spare -= np.where(excess > LIMIT_TOLERANCE, excess, 0.0)
        if spare.min() <= 0.0:
            raise InputError(
                f"smoothing must be shorter than {rounding:g} s here: no timing whose "
                "acceleration changes so slowly keeps the limits."
            )
    else:
        raise InputError(
            f"smoothing must be shorter than {rounding:g} s here: no timing was found "
            "that keeps the limits with it."
        )
    used, binding = _binding(limits, s, x, rows, spare)
    return OptimalTiming(s=s, x=x, clock=clock, limit_usage=used, binding=binding)


def _converged_profile(
    limits: PathLimits, x: Vector, spare: Vector, first: float, last: float
) -> tuple[Vector, LinearPathLimits]:
    """Return the fastest profile within a part of the limits, and the limits at it."""
    for _ in range(MAX_PASSES):
        rows = limits.tangents(x)
        n = len(x)
        inside = LinearPathLimits(
            rows.a,
            rows.b,
            rows.c - (1.0 - spare)[:, None],
            rows.max_square_speed * spare**2,
            limits.inner_square_speed * np.minimum(spare[:-1], spare[1:])[:, None] ** 2,
        )
        try:
            new = fastest_profile(limits.path.s, inside, first, last)
        except NoFeasibleProfile as error:
            raise InputError(_refusal(limits, rows, error)) from None
        # linear programs know no infinity: what comes near the stand-in is bounded by nothing
        if new.max() > UNLIMITED / 10.0:
            k = int(np.argmax(new))
            raise InputError(
                "must be bounded by some limit all the way; nothing bounds it at s = "
                f"{limits.path.s[k]:.4g} (place {k + 1} of {n}). Give the robot's motors or joints "
                "limits, or the path an acceleration, such as acceleration = 10.0."
            )
        moved = float(np.abs(np.sqrt(new) - np.sqrt(x)).max())
        x = new
        # tangents of a curved limit may cycle: after MAX_PASSES the last profile serves
        if moved <= PROFILE_RTOL * np.sqrt(x.max()):
            return x, rows
    return x, limits.tangents(x)


def _refusal(limits: PathLimits, rows: LinearPathLimits, error: NoFeasibleProfile) -> str:
    k = error.k
    s = limits.path.s[k]
    at_rest = rows.c[k]
    row = int(np.argmin(at_rest)) if len(at_rest) else 0
    if len(at_rest) and at_rest[row] < 0.0:
        names = describe_binding(limits.binding(k, row))
        return (
            f"must be one that the robot can hold; at s = {s:.4g} {names} would need "
            f"{100.0 * (1.0 - at_rest[row]):.0f} % of what it has at rest, in the worst direction. "
            "Move the path, or give the robot stronger motors."
        )
    action = "begin at rest" if error.cause == "start" else f"go on from s = {s:.4g}"
    return f"must leave a timing within the limits; the robot cannot {action} on it."


def _usage(rows: LinearPathLimits, k: Indices, u: Vector, x: Vector) -> Matrix:
    """Return the part of each limit that is used at points of the grid, the speed's last."""
    used = 1.0 + rows.a[k] * u[:, None] + rows.b[k] * x[:, None] - rows.c[k]
    with np.errstate(invalid="ignore"):
        speed = np.sqrt(x / rows.max_square_speed[k])
    return np.hstack([used, np.nan_to_num(speed)[:, None]])


def _limit_excess(limits: PathLimits, clock: PiecewisePolynomial, width: float) -> Vector:
    """Return by how much a clock passes some limit near each point, shape ``(n,)``."""
    s, spans = limits.path.s, itertools.pairwise(clock.times)
    # between the knots too: smoothing moves the extremes of acceleration there
    looks = np.concatenate([np.linspace(a, b, SAMPLES_PER_PIECE, endpoint=False) for a, b in spans])
    at, rate, bend = clock_states(clock, looks).T
    below = np.clip(np.searchsorted(s, at, side="right") - 1, 0, len(s) - 2)
    fraction = ((at - s[below]) / (s[below + 1] - s[below]))[:, None]
    # at the speeds there: tangents at other speeds say nothing true of friction near rest
    begin_usage, end_usage = (
        _usage(limits.tangents(rate**2, k), np.arange(len(k)), bend, rate**2)
        for k in (below, below + 1)
    )
    over = ((1.0 - fraction) * begin_usage + fraction * end_usage).max(axis=1) - 1.0
    over = np.maximum(over, rate / np.sqrt(limits.inner_bound(below, fraction[:, 0])) - 1.0)
    excess: Vector = np.zeros(len(s))
    first, last = (clock_states(clock, looks + d)[:, 0] for d in (-width, width))
    for i in np.flatnonzero(over > LIMIT_TOLERANCE).tolist():
        begin, end = np.searchsorted(s, (first[i], last[i])).tolist()
        # a smoothed clock mixes all profiles within its width: each of them has to give way
        near = slice(max(begin - 1, 0), end + 1)
        excess[near] = np.maximum(excess[near], over[i])
    return excess


def _binding(
    limits: PathLimits, s: Vector, x: Vector, rows: LinearPathLimits, spare: Vector
) -> tuple[Vector, tuple[tuple[str, ...], ...]]:
    """Return the part of the limits that is used from point to point, and what binds there."""
    n = len(s)
    u = np.diff(x) / (2.0 * np.diff(s))
    begin_usage, end_usage = (
        _usage(rows, np.arange(n - 1), u, x[:-1]),
        _usage(rows, np.arange(1, n), u, x[1:]),
    )
    inner = x[:-1, None] + FRACTIONS * np.diff(x)[:, None]
    with np.errstate(invalid="ignore"):
        inner_usage = np.nan_to_num(np.sqrt(inner / limits.inner_square_speed)).max(axis=1)
    share, names = np.zeros(n - 1), list[tuple[str, ...]]()
    for i in range(n - 1):
        # of a step either end may be the binding one
        ends = [(begin_usage[i] / spare[i], i), (end_usage[i] / spare[i + 1], i + 1)]
        used, k = max(ends, key=lambda end: float(end[0].max()))
        used[-1] = max(used[-1], inner_usage[i] / min(spare[i], spare[i + 1]))
        row = first_largest(used)
        share[i] = float(used[row])
        if share[i] < 1.0 - BINDING_TOLERANCE:
            names.append(())
        # the last column is the speed limit
        elif row == used.size - 1:
            names.append((limits.fastest_joint(k),))
        else:
            names.append(limits.binding(k, row))
    return share, tuple(names)
