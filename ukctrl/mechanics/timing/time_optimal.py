"""The time-optimal timing of a path: the fastest profile, its clock, and what binds it where."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.extremes import first_largest
from ukctrl.mechanics.reference.compiled_paths import Pieces
from ukctrl.mechanics.timing.clock import clock_of, rounded, states
from ukctrl.mechanics.timing.path_limits import PathLimits
from ukctrl.mechanics.timing.reachable import CAP, Limits, NoProfile, fastest, times

PASSES, SETTLED = 30, 1e-8
"""Passes until the tangents of what depends on the speed, and change of the profile, that serve."""
CRAWL = 1e-6
"""Square of the speed from which the search for a profile begins."""
ROUNDINGS, OVER = 40, 1e-4
"""Passes until a rounded clock keeps the limits, and by how much it may be beyond them."""
AT_LIMIT = 1e-3
"""What uses a limit up to less than this part binds."""
LOOKS = 4
"""Moments looked at in every piece of a rounded clock."""


def in_words(binding: Sequence[str]) -> str:
    """Return what binds, such as ``motor 'elbow'``, or motors that bind together."""
    if len(binding) == 1:
        return binding[0]
    return f"motors {', '.join(name.removeprefix('motor ') for name in binding)} together"


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Timed:
    """A timing of a path, the fastest within the limits."""

    s: Vector
    """The grid, shape ``(n,)``."""
    x: Vector
    """The square of the speed there, before rounding, shape ``(n,)``."""
    clock: Pieces
    """s over the time."""
    used: Vector
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
        return times(self.s, self.x)


def time_optimal(
    limits: PathLimits,
    *,
    first: float = 0.0,
    last: float = 0.0,
    rounding: float = 0.0,
    begin: float = 0.0,
) -> Timed:
    r"""Return the fastest timing of a path.

    Args:
        limits: Those of the robot along it.
        first: $\dot s^2$ at its start.
        last: $\dot s^2$ at its end.
        rounding: Time over which a change of acceleration is spread [s]; the limits are then kept
            by the rounded clock, up to `OVER`.
        begin: When it starts [s].

    Raises:
        InputError: No timing keeps the limits, or none is needed.
    """
    s = limits.path.s
    spare: Vector = np.ones(len(s))
    x: Vector = np.full(len(s), CRAWL)  # what tangents there say of friction at rest is true
    for _ in range(ROUNDINGS):
        x, rows = _settled(limits, x, spare, first, last)
        sharp = clock_of(s, x, begin)
        clock = rounded(sharp, rounding)
        if rounding <= 0.0:
            break
        beyond = _beyond(limits, clock, rounding)
        if beyond.max() <= OVER:
            break
        spare -= np.where(beyond > OVER, beyond, 0.0)
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
    return Timed(s=s, x=x, clock=clock, used=used, binding=binding)


def _settled(
    limits: PathLimits, x: Vector, spare: Vector, first: float, last: float
) -> tuple[Vector, Limits]:
    """Return the fastest profile within a part of the limits, and the limits at it."""
    for _ in range(PASSES):
        rows = limits.at(x)
        n = len(x)
        inside = Limits(rows.a, rows.b, rows.c - (1.0 - spare)[:, None], rows.most * spare**2)
        try:
            new = fastest(limits.path.s, inside, first, last)
        except NoProfile as error:
            raise InputError(_refusal(limits, rows, error)) from None
        if new.max() > CAP / 10.0:
            k = int(np.argmax(new))
            raise InputError(
                "must be bounded by some limit all the way; nothing bounds it at s = "
                f"{limits.path.s[k]:.4g} (place {k + 1} of {n}). Give the robot's motors or joints "
                "limits, or the path an acceleration, such as acceleration = 10.0."
            )
        moved = float(np.abs(np.sqrt(new) - np.sqrt(x)).max())
        x = new
        if moved <= SETTLED * np.sqrt(x.max()):
            return x, rows
    return x, limits.at(x)


def _refusal(limits: PathLimits, rows: Limits, error: NoProfile) -> str:
    k = error.k
    s = limits.path.s[k]
    at_rest = rows.c[k]
    row = int(np.argmin(at_rest)) if len(at_rest) else 0
    if len(at_rest) and at_rest[row] < 0.0:
        names = in_words(limits.binding(k, row))
        return (
            f"must be one that the robot can hold; at s = {s:.4g} {names} would need "
            f"{100.0 * (1.0 - at_rest[row]):.0f} % of what it has at rest, in the worst direction. "
            "Move the path, or give the robot stronger motors."
        )
    place = "begin at rest" if error.why == "start" else f"go on from s = {s:.4g}"
    return f"must leave a timing within the limits; the robot cannot {place} on it."


def _usage(rows: Limits, k: Indices, u: Vector, x: Vector) -> Matrix:
    """Return the part of each limit that is used at points of the grid, the speed's last."""
    used = 1.0 + rows.a[k] * u[:, None] + rows.b[k] * x[:, None] - rows.c[k]
    with np.errstate(invalid="ignore"):
        speed = np.sqrt(x / rows.most[k])
    return np.hstack([used, np.nan_to_num(speed)[:, None]])


def _beyond(limits: PathLimits, clock: Pieces, width: float) -> Vector:
    """Return by how much a clock passes some limit near each point, shape ``(n,)``."""
    s, spans = limits.path.s, itertools.pairwise(clock.times)
    looks = np.concatenate([np.linspace(a, b, LOOKS, endpoint=False) for a, b in spans])
    at, rate, bend = states(clock, looks).T
    rows = limits.at(np.interp(s, at, rate**2))
    below = np.clip(np.searchsorted(s, at, side="right") - 1, 0, len(s) - 2)
    part = ((at - s[below]) / (s[below + 1] - s[below]))[:, None]
    here, there = (_usage(rows, k, bend, rate**2) for k in (below, below + 1))
    over = ((1.0 - part) * here + part * there).max(axis=1) - 1.0
    beyond: Vector = np.zeros(len(s))
    first, last = (states(clock, looks + d)[:, 0] for d in (-width, width))
    for i in np.flatnonzero(over > OVER).tolist():
        begin, end = np.searchsorted(s, (first[i], last[i])).tolist()
        near = slice(max(begin - 1, 0), end + 1)
        beyond[near] = np.maximum(beyond[near], over[i])
    return beyond


def _binding(
    limits: PathLimits, s: Vector, x: Vector, rows: Limits, spare: Vector
) -> tuple[Vector, tuple[tuple[str, ...], ...]]:
    """Return the part of the limits that is used from point to point, and what binds there."""
    n = len(s)
    u = np.diff(x) / (2.0 * np.diff(s))
    here, there = _usage(rows, np.arange(n - 1), u, x[:-1]), _usage(rows, np.arange(1, n), u, x[1:])
    share, names = np.zeros(n - 1), list[tuple[str, ...]]()
    for i in range(n - 1):
        ends = [(here[i] / spare[i], i), (there[i] / spare[i + 1], i + 1)]
        used, k = max(ends, key=lambda end: float(end[0].max()))
        row = first_largest(used)
        share[i] = float(used[row])
        if share[i] < 1.0 - AT_LIMIT:
            names.append(())
        elif row == used.size - 1:
            names.append((limits.fastest_joint(k),))
        else:
            names.append(limits.binding(k, row))
    return share, tuple(names)
