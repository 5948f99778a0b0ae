r"""What repeated runs can be said to show: intervals for means, shares and percentiles, and tests
on paired differences.

Every controller of a comparison meets the same draw of noise in its repeat $k$, so two of them
are compared by the differences $d_k = x_k - y_k$: what the draw does to both cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array

CONFIDENCE = 0.95
"""Probability that an interval covers what it is for; a test errs with the rest of it."""
SAME_RTOL = 1e-12
"""Differences whose spread is below this fraction of the values are one number, rounded."""


class Spread(NamedTuple):
    """One quantity over repeats."""

    repeats: int
    """How many have it."""
    mean: float
    low: float
    """Lower end of the confidence interval of the mean; NaN with fewer than two repeats."""
    high: float
    median: float
    worst: float
    """The largest: less of every metric is better."""


class Difference(NamedTuple):
    """How much more one controller has of something than another, repeat by repeat."""

    repeats: int
    mean: float
    low: float
    """Lower end of the confidence interval of the mean difference; NaN with fewer than two."""
    high: float
    p: float
    """Probability of a mean difference this far from zero where there is none; NaN with fewer than
    two repeats."""


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float
    low: float
    """NaN where nothing bounds it from below, or nothing is known."""
    high: float


def spread(values: Array) -> Spread:
    r"""Return mean, interval of the mean, median and worst of the values that are finite.

    The interval is Student's, $\bar x \pm t_{n-1} s / \sqrt n$. It covers the true mean in 95 % of
    all studies where the values are normally distributed; of few values from a skewed distribution,
    in somewhat fewer.
    """
    finite = values[np.isfinite(values)]
    n = len(finite)
    if n == 0:
        return Spread(0, *[float("nan")] * 5)
    mean = float(np.mean(finite))
    half = _half_width(finite)
    median, worst = float(np.median(finite)), float(np.max(finite))
    return Spread(n, mean, mean - half, mean + half, median, worst)


def paired_difference(ours: Array, theirs: Array) -> Difference:
    r"""Return the mean of $d_k = x_k - y_k$ with its interval, and Student's paired test of zero.

    $$ t = \frac{\bar d}{s_d / \sqrt n}, \qquad p = 2\,P(T_{n-1} > |t|). $$

    Args:
        ours: Values $x_k$, shape `(n,)`, repeat by repeat.
        theirs: Values $y_k$ of the same repeats. Repeats in which either is not finite do not
            count.
    """
    both = np.isfinite(ours) & np.isfinite(theirs)
    d = ours[both] - theirs[both]
    n = len(d)
    if n == 0:
        return Difference(0, *[float("nan")] * 4)
    mean = float(np.mean(d))
    if n == 1:
        return Difference(1, mean, *[float("nan")] * 3)
    error = float(np.std(d, ddof=1)) / np.sqrt(n)
    if error * np.sqrt(n) <= SAME_RTOL * float(np.max(np.abs(ours[both]))):
        error = 0.0  # the same difference in every repeat: no chance is left in it
    if error == 0.0:
        return Difference(n, mean, mean, mean, 1.0 if mean == 0.0 else 0.0)
    from scipy.special import stdtr

    half = _quantile(n) * error
    p = 2.0 * float(stdtr(n - 1, -abs(mean) / error))
    return Difference(n, mean, mean - half, mean + half, p)


def holm(p: Sequence[float]) -> list[float]:
    r"""Return p-values corrected for being several, so that one false claim among all is rare.

    With the $m$ values in rising order, $\tilde p_i = \max_{j \le i} \min(1, (m - j + 1)\, p_j)$.
    NaN stays NaN and does not count.

    References:
        Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6, 1979.
    """
    corrected = [float("nan")] * len(p)
    known = sorted((value, place) for place, value in enumerate(p) if value == value)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[place] = highest
    return corrected


def wilson(successes: float, trials: float, confidence: float = CONFIDENCE) -> Estimate:
    r"""Return the share of successes with Wilson's score interval; NaN without a trial.

    $$ \frac{\hat p + z^2/2n \pm z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n} . $$

    Numbers need not be whole: samples that depend on each other are worth fewer.

    Other than the textbook's $\hat p \pm z \sqrt{\hat p (1 - \hat p)/n}$ it has a width where all
    succeed, or none.

    References:
        Wilson, "Probable inference, the law of succession, and statistical inference",
        J. Am. Stat. Assoc. 22, 1927.
    """
    if trials <= 0:
        return Estimate(*[float("nan")] * 3)
    z2 = NormalDist().inv_cdf(0.5 + 0.5 * confidence) ** 2
    share = successes / trials
    middle = (share + 0.5 * z2 / trials) / (1.0 + z2 / trials)
    inner = share * (1.0 - share) / trials + 0.25 * z2 / trials**2
    half = float(np.sqrt(z2 * inner)) / (1.0 + z2 / trials)
    low = 0.0 if successes <= 0 else middle - half
    return Estimate(share, low, 1.0 if successes >= trials else middle + half)


def quantile(ordered: Array, level: float) -> float:
    """Return the quantile of values in rising order, by NumPy's and pandas' default interpolation.

    Other than NumPy it takes infinite values, which stand for what failed: a quantile next to one
    is infinite itself. NaN without values.
    """
    if len(ordered) == 0:
        return float("nan")
    place = level * (len(ordered) - 1)
    below = int(place)
    rest = place - below
    low = float(ordered[below])
    if rest == 0.0 or not np.isfinite(ordered[below + 1]):
        return low if rest == 0.0 else float(ordered[below + 1])
    return low + rest * (float(ordered[below + 1]) - low)


def quantile_interval(
    ordered: Array, level: float, effective: float | None = None
) -> tuple[float, float]:
    r"""Return an interval that covers the true quantile, whatever the distribution.

    The number of $n$ independent values below the true $p$-quantile is binomial. So the order
    statistics $x_{(l)}$ and $x_{(u)}$, with the largest $l$ and the smallest $u$ such that
    $P(B < l) \le (1 - c)/2$ and $P(B \ge u) \le (1 - c)/2$, enclose it with confidence $c$ or more.

    Args:
        ordered: Values in rising order; infinite ones stand for what failed.
        level: $p$, between 0 and 1.
        effective: How many independent values these are worth; absent: all of them.

    Returns:
        Its ends; NaN where so few values do not bound it.

    References:
        David & Nagaraja, "Order Statistics", 3rd ed., Wiley 2003, section 7.1.
    """
    n = len(ordered)
    if n == 0:
        return float("nan"), float("nan")
    worth = max(1, n if effective is None else min(n, int(effective)))
    tail = 0.5 * (1.0 - CONFIDENCE)
    lower = _binomial_quantile(tail, worth, level)
    upper = _binomial_quantile(1.0 - tail, worth, level) + 1
    # Ranks of fewer, independent values are spread over all; outwards, to cover no less.
    first, last = int(np.floor(lower * n / worth)), int(np.ceil(upper * n / worth))
    low = float(ordered[first - 1]) if lower > 0 else float("nan")
    return low, float(ordered[last - 1]) if upper <= worth else float("nan")


def _binomial_quantile(probability: float, n: int, share: float) -> int:
    """Return the smallest number that so many successes in n trials do not exceed, so probably."""
    from scipy.special import bdtr, bdtrik

    k = math.ceil(float(bdtrik(probability, n, share)))
    return k - 1 if k > 0 and bdtr(k - 1, n, share) >= probability else k


def _half_width(values: Array) -> float:
    n = len(values)
    if n < 2:
        return float("nan")
    return _quantile(n) * float(np.std(values, ddof=1)) / float(np.sqrt(n))


def _quantile(n: int) -> float:
    """Return Student's quantile for a two-sided interval of the mean of n values."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + 0.5 * CONFIDENCE))
