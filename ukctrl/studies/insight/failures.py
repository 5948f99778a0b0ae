"""Which factors separate the samples that failed from those that succeeded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags
from ukctrl.core.statistics import CONFIDENCE, Estimate
from ukctrl.studies.insight.study_runs import Axis, Bins, bins_of
from ukctrl.studies.insight.summary import Family, share

MOST_BINS = 8
"""Ranges into which a factor with many values is cut."""
LEAST_IN_BIN = 10
"""Fewer samples in a range say too little of it, so that it is cut into fewer."""


class Rate(NamedTuple):
    """How many samples of a range succeeded."""

    label: str
    """The range in words."""
    samples: int
    good: int
    share: Estimate
    """With Wilson's interval."""


class Split(NamedTuple):
    """The one cut through a factor's range that separates failed from successful best.

    It is chosen after seeing the samples, and looks a little better on them than on others.
    """

    at: float
    """Between the values of two samples."""
    below: Rate
    above: Rate


class Separation(NamedTuple):
    """What a factor has to do with failing."""

    path: str
    rates: tuple[Rate, ...]
    """Range by range."""
    score: float
    r"""Share of the variance of success that the ranges account for, without what chance gives
    them: $1 - (1 - \eta^2)(n - 1)/(n - m)$, not below 0."""
    clear: bool
    """Whether two ranges differ beyond doubt: their Wilson intervals, at a confidence that allows
    for the number of ranges and factors looked at, do not meet."""
    split: Split | None
    """Of numbers with more than two values."""


def separations(
    axes: tuple[Axis, ...], good: Flags, family: Family = None
) -> tuple[Separation, ...]:
    """Return what each varied factor has to do with failing, the strongest first.

    Args:
        axes: The factors that vary.
        good: Which samples succeeded, shape `(n,)`.
        family: Which samples share values of factors.
    """
    if not 0 < int(good.sum()) < len(good):
        return ()
    most = int(np.clip(len(good) // LEAST_IN_BIN, 2, MOST_BINS))
    cut = [(axis, bins_of(axis, most)) for axis in axes]
    looked_at = sum(bins.size for _, bins in cut)
    judged = [_separation(axis, bins, good, family, looked_at) for axis, bins in cut]
    return tuple(sorted(judged, key=lambda one: (not one.clear, -one.score)))


def _separation(axis: Axis, bins: Bins, good: Flags, family: Family, looked_at: int) -> Separation:
    count = np.bincount(bins.place, minlength=bins.size)
    succeeded = np.bincount(bins.place[good], minlength=bins.size)
    inside = [bins.place == k for k in range(bins.size)]
    rates = tuple(
        _rate(label, good, chosen, family)
        for label, chosen in zip(bins.labels, inside, strict=True)
    )
    strict = 1.0 - (1.0 - CONFIDENCE) / max(looked_at, 1)
    ends = [
        share(good[chosen], None if family is None else family[chosen], strict)
        for chosen in inside
        if chosen.any()
    ]
    return Separation(
        path=axis.path,
        rates=rates,
        score=_score(count, succeeded),
        clear=max(end.low for end in ends) > min(end.high for end in ends),
        split=None if axis.names or len(axis.levels) < 3 else _split(axis, good, family),
    )


def _score(count: NDArray[np.intp], good: NDArray[np.intp]) -> float:
    n, m = int(count.sum()), int((count > 0).sum())
    overall = float(good.sum()) / n
    total = n * overall * (1.0 - overall)
    if n <= m or total <= 0.0:
        return 0.0
    means = np.divide(good, count, out=np.full(len(count), overall), where=count > 0)
    between = float(np.sum(count * (means - overall) ** 2))
    return max(0.0, 1.0 - (1.0 - between / total) * (n - 1) / (n - m))


def _split(axis: Axis, good: Flags, family: Family) -> Split:
    """Return the cut with the largest difference of the shares of failed and good below it."""
    place, levels = axis.places(), axis.levels
    below_good = np.cumsum(np.bincount(place[good], minlength=len(levels)))[:-1]
    below_bad = np.cumsum(np.bincount(place[~good], minlength=len(levels)))[:-1]
    apart = np.abs(below_good / good.sum() - below_bad / (~good).sum())
    cut = int(np.argmax(apart))
    if axis.log and levels[0] > 0.0:
        at = float(np.sqrt(levels[cut] * levels[cut + 1]))
    else:
        at = float(0.5 * (levels[cut] + levels[cut + 1]))
    below = place <= cut
    return Split(at, _rate("below", good, below, family), _rate("above", good, ~below, family))


def _rate(label: str, good: Flags, chosen: Flags, family: Family) -> Rate:
    inside = good[chosen]
    related = None if family is None else family[chosen]
    return Rate(label, len(inside), int(inside.sum()), share(inside, related))
