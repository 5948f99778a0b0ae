"""Which factors separate the samples that failed from those that succeeded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags
from ukctrl.core.statistics import CONFIDENCE, Estimate
from ukctrl.studies.sweep_analysis.metric_summary import SampleGroups, estimate_share
from ukctrl.studies.sweep_analysis.study_arrays import Axis, FactorBins, bin_factor

MAX_BINS = 8
"""Ranges into which a factor with many values is cut."""
MIN_IN_BIN = 10
"""Fewer samples in a range say too little of it, so that it is cut into fewer."""


class SuccessRate(NamedTuple):
    """How many samples of a range succeeded."""

    label: str
    """The range in words."""
    samples: int
    succeeded: int
    share: Estimate
    """With Wilson's interval."""


class ThresholdSplit(NamedTuple):
    """The one cut through a factor's range that separates failed from successful best.

    It is chosen after seeing the samples, and looks a little better on them than on others.
    """

    threshold: float
    """Between the values of two samples."""
    below: SuccessRate
    above: SuccessRate


class FailureFactor(NamedTuple):
    """What a factor has to do with failing."""

    path: str
    rates: tuple[SuccessRate, ...]
    """Range by range."""
    score: float
    r"""Share of the variance of success that the ranges account for, without what chance gives
    them: $1 - (1 - \eta^2)(n - 1)/(n - m)$, not below 0."""
    clear: bool
    """Whether two ranges differ beyond doubt: their Wilson intervals, at a confidence that allows
    for the number of ranges and factors looked at, do not meet."""
    split: ThresholdSplit | None
    """Of numbers with more than two values."""
    unit: str = ""
    """Of its values."""


def failure_factors(
    axes: tuple[Axis, ...], good: Flags, family: SampleGroups = None
) -> tuple[FailureFactor, ...]:
    """Return what each varied factor has to do with failing, the strongest first.

    Args:
        axes: The factors that vary.
        good: Which samples succeeded, shape `(n,)`.
        family: Which samples share values of factors.
    """
    if not 0 < int(good.sum()) < len(good):
        return ()
    max_bins = int(np.clip(len(good) // MIN_IN_BIN, 2, MAX_BINS))
    cut = [(axis, bin_factor(axis, max_bins)) for axis in axes]
    looked_at = sum(bins.size for _, bins in cut)
    judged = [_separation(axis, bins, good, family, looked_at) for axis, bins in cut]
    return tuple(sorted(judged, key=lambda one: (not one.clear, -one.score)))


def _separation(
    axis: Axis, bins: FactorBins, good: Flags, family: SampleGroups, looked_at: int
) -> FailureFactor:
    count = np.bincount(bins.bin_index, minlength=bins.size)
    succeeded = np.bincount(bins.bin_index[good], minlength=bins.size)
    inside = [bins.bin_index == k for k in range(bins.size)]
    rates = tuple(
        _rate(label, good, chosen, family)
        for label, chosen in zip(bins.labels, inside, strict=True)
    )
    strict = 1.0 - (1.0 - CONFIDENCE) / max(looked_at, 1)
    ends = [
        estimate_share(good[chosen], None if family is None else family[chosen], strict)
        for chosen in inside
        if chosen.any()
    ]
    return FailureFactor(
        path=axis.path,
        rates=rates,
        score=_correlation_ratio(count, succeeded),
        clear=max(end.low for end in ends) > min(end.high for end in ends),
        split=None if axis.names or len(axis.levels) < 3 else _best_threshold(axis, good, family),
        unit=axis.unit,
    )


def _correlation_ratio(count: NDArray[np.intp], good: NDArray[np.intp]) -> float:
    n, m = int(count.sum()), int((count > 0).sum())
    overall = float(good.sum()) / n
    total = n * overall * (1.0 - overall)
    if n <= m or total <= 0.0:
        return 0.0
    means = np.divide(good, count, out=np.full(len(count), overall), where=count > 0)
    between = float(np.sum(count * (means - overall) ** 2))
    return max(0.0, 1.0 - (1.0 - between / total) * (n - 1) / (n - m))


def _best_threshold(axis: Axis, good: Flags, family: SampleGroups) -> ThresholdSplit:
    """Return the cut with the largest difference of the shares of failed and good below it."""
    level_index, levels = axis.places(), axis.levels
    below_good = np.cumsum(np.bincount(level_index[good], minlength=len(levels)))[:-1]
    below_bad = np.cumsum(np.bincount(level_index[~good], minlength=len(levels)))[:-1]
    apart = np.abs(below_good / good.sum() - below_bad / (~good).sum())
    cut = int(np.argmax(apart))
    if axis.log and levels[0] > 0.0:
        at = float(np.sqrt(levels[cut] * levels[cut + 1]))
    else:
        at = float(0.5 * (levels[cut] + levels[cut + 1]))
    below = level_index <= cut
    return ThresholdSplit(
        at, _rate("below", good, below, family), _rate("above", good, ~below, family)
    )


def _rate(label: str, good: Flags, chosen: Flags, family: SampleGroups) -> SuccessRate:
    inside = good[chosen]
    related = None if family is None else family[chosen]
    return SuccessRate(label, len(inside), int(inside.sum()), estimate_share(inside, related))
