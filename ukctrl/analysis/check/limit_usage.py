"""How much of its limits a motion uses, motor by motor and joint by joint."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import first_largest

NEGLIGIBLE = 1e-6
"""Less than this part of a limit, or of a unit without one, is nothing: rounding, not motion.

A robot that rests needs rounding of its motors.
"""
LIMIT_RTOL = 1e-6
"""A limit is broken by more than this fraction of its size."""


@dc.dataclass(frozen=True, kw_only=True)
class LimitUsage:
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
    approach: bool = False
    """Whether that moment is on the way from a start off the rows back to them."""


def limit_usages(
    names: Sequence[str],
    units: Sequence[str],
    t: Vector,
    values: Matrix,
    low: Vector | Matrix,
    high: Vector | Matrix,
    centred: bool = False,
) -> tuple[LimitUsage, ...]:
    """Return of every column where it uses most of its limits, or else where it is largest.

    Limits are one a column, or one each a time.
    """
    low, high = np.ones((len(t), 1)) * low, np.ones((len(t), 1)) * high
    fractions, usages = usage_fractions(values, low, high, centred), []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        x, share = values[:, i], fractions[:, i]
        if np.isnan(share).all():
            k, peak = _peak(np.abs(x), x)
            usages.append(LimitUsage(name=name, unit=unit, value=float(x[peak]), t=float(t[k])))
            continue
        k, peak = _peak(share, x)
        over, under = x - high[:, i], low[:, i] - x
        size = np.where(over >= under, np.abs(high[:, i]), np.abs(low[:, i]))
        past = np.maximum(over, under)
        broken = past > LIMIT_RTOL * np.maximum(size, 1e-6)
        use = LimitUsage(
            name=name,
            unit=unit,
            value=float(x[peak]),
            t=float(t[k]),
            # At a share of zero both limits are as near: the upper is named.
            limit=float(high[k, i] if over[k] >= under[k] or share[k] <= NEGLIGIBLE else low[k, i]),
            beyond=max(0.0, float(past[peak])) if broken.any() else 0.0,
            since=float(t[int(np.argmax(broken))]) if broken.any() else None,
            share=float(share[peak]),
        )
        usages.append(use)
    return tuple(usages)


def _peak(size: Vector, x: Vector) -> tuple[int, int]:
    """Return where a quantity is first as large as it gets, and where it is that to the last digit.

    The second has the sign of the first, whatever rounding makes of equals of both signs; what is
    nothing all the time is what it is at first.
    """
    first = first_largest(size, NEGLIGIBLE)
    alike = np.where(np.sign(x) == np.sign(x[first]), size, -np.inf)
    return first, first if size[first] <= NEGLIGIBLE else int(np.nanargmax(alike))


def larger_usages(
    uses: Sequence[LimitUsage], back: Sequence[LimitUsage], over: float
) -> tuple[LimitUsage, ...]:
    """Return of every column what takes more of its limit: a motion, or the way to it.

    Args:
        uses: Of the motion; empty where it is not known.
        back: Of the way to it, of the same columns or none.
        over: When that way is over [s].
    """

    def size(use: LimitUsage) -> float:
        return abs(use.value) if use.share is None else use.share

    back = [dc.replace(use, approach=use.t <= over) for use in back]
    if not uses or not back:
        return tuple(uses or back)
    return tuple(
        back_use if size(back_use) > (1.0 + LIMIT_RTOL) * size(use) + NEGLIGIBLE else use
        for use, back_use in zip(uses, back, strict=True)
    )


def usage_fractions(values: Matrix, low: Matrix, high: Matrix, centred: bool) -> Matrix:
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
    fractions: Matrix = np.where(np.isfinite(bound), share, np.nan)
    return fractions


def max_usage_fraction(
    values: Matrix, low: Vector | Matrix, high: Vector | Matrix, centred: bool
) -> Vector:
    """Return over time the largest part of a limit that is used, shape ``(k,)``."""
    ones = np.ones((len(values), 1))
    fractions = usage_fractions(values, ones * low, ones * high, centred)
    max_fraction: Vector = np.fmax.reduce(fractions, axis=1, initial=np.nan)
    return max_fraction
