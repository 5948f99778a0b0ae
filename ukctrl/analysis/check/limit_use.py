"""How much of a limit a quantity uses over time."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import first_largest

UNUSED = 1e-6
"""Less than this part of a limit, or of a unit without one, is nothing: rounding, not motion."""
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
    limit: float | None
    """That limit [unit]; None where there is none, and `value` is the largest."""
    beyond: float
    """By how much it is passed [unit]; zero where it is kept."""
    since: float | None
    """When it is passed first [s]; None where it is kept."""
    share: float | None
    """Part of the limit that is used, above 1 beyond it: of inputs and rates counted from zero, of
    positions from the middle of their range; None without a limit."""


def uses(
    names: tuple[str, ...] | list[str],
    units: tuple[str, ...] | list[str],
    t: Vector,
    values: Matrix,
    low: Matrix,
    high: Matrix,
    centred: bool = False,
) -> tuple[Use, ...]:
    """Return of every column where it uses most of its limits, or else where it is largest."""
    part, found = shares(values, low, high, centred), []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        x, share = values[:, i], part[:, i]
        if not np.isfinite(share).any():
            k = first_largest(np.abs(x), UNUSED)
            use = Use(
                name=name,
                unit=unit,
                value=float(x[k]),
                t=float(t[k]),
                limit=None,
                beyond=0.0,
                since=None,
                share=None,
            )
        else:
            k = first_largest(share, UNUSED)
            over, under = x - high[:, i], low[:, i] - x
            size = np.where(over >= under, np.abs(high[:, i]), np.abs(low[:, i]))
            past = np.maximum(over, under)
            broken = past > TOLERANCE * np.maximum(size, 1e-6)
            use = Use(
                name=name,
                unit=unit,
                value=float(x[k]),
                t=float(t[k]),
                limit=float(high[k, i] if over[k] >= under[k] or share[k] <= UNUSED else low[k, i]),
                beyond=max(0.0, float(past[k])) if broken.any() else 0.0,
                since=float(t[int(np.argmax(broken))]) if broken.any() else None,
                share=float(share[k]),
            )
        found.append(use)
    return tuple(found)


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
