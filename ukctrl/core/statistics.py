r"""What repeated runs can be said to show: intervals for means, shares and percentiles, and tests
on paired differences.

Every controller of a comparison meets the same draw of noise in its repeat $k$, so two of them
are compared by the differences $d_k = x_k - y_k$: what the draw does to both cancels. Where gains
were searched for several times, $d_{sk}$ is that of search $s$ on draw $k$, and both are chance.
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
    """The largest."""


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

    Args:
        values: Shape `(n,)`, or `(searches, n)`; then both are chance, and the interval covers
            what other searches on other plants would find. Repeats count that are finite in every
            search.
    """
    grid = np.atleast_2d(values)
    finite = grid[:, np.isfinite(grid).all(axis=0)]
    n = finite.shape[1]
    if n == 0:
        return Spread(0, *[float("nan")] * 5)
    mean, half = float(np.mean(finite)), _MeanVariance.of(finite).half_width(1.0 - CONFIDENCE)
    median, worst = float(np.median(finite)), float(np.max(finite))
    return Spread(n, mean, mean - half, mean + half, median, worst)


class _MeanVariance(NamedTuple):
    """What a mean is uncertain by: squared errors of it, each with its degrees of freedom."""

    parts: tuple[tuple[float, int], ...]

    @staticmethod
    def of(values: Array) -> _MeanVariance:
        r"""Return that of a mean over searches and repeats, shape `(searches, n)`.

        Both are drawn and crossed. With the means $\bar x_{s\cdot}$ of each search and
        $\bar x_{\cdot k}$ of each repeat the squared errors are $A = \operatorname{var} \bar
        x_{s\cdot} / S$ and $B = \operatorname{var} \bar x_{\cdot k} / n$. What is left beside both
        counts twice: it errs on the careful side, as min F' does.

        References:
            Clark, "The language-as-fixed-effect fallacy", J. Verb. Learn. Verb. Behav. 12, 1973.
        """
        # two factors, searches and repeats, crossed: each has a variance of its own
        means = [m for m in (values.mean(axis=1), values.mean(axis=0)) if len(m) > 1]
        return _MeanVariance(tuple((float(np.var(m, ddof=1)) / len(m), len(m) - 1) for m in means))

    def half_width(self, probability: float) -> float:
        r"""Return what the mean is off by more than with that probability at most.

        It is $\sqrt{t_{S-1}^2 A + t_{n-1}^2 B}$ with Student's quantiles, which covers no less than
        it says, however large one part is beside the other. NaN where nothing tells it.

        References:
            Banerjee, "Approximate confidence interval for linear functions of means of k
            populations", Sankhya 22, 1960.
        """
        from scipy.special import stdtrit

        tails = [
            (variance, float(stdtrit(f, 1.0 - 0.5 * probability))) for variance, f in self.parts
        ]
        return math.sqrt(sum(variance * t * t for variance, t in tails)) if tails else float("nan")

    def p(self, mean: float) -> float:
        """Return with which probability chance makes a mean this far from zero, at most."""
        from scipy.optimize import brentq
        from scipy.special import stdtr

        components = [(variance, freedom) for variance, freedom in self.parts if variance > 0.0]
        if not components:
            return float("nan")
        p_values = [
            2.0 * float(stdtr(f, -abs(mean) / math.sqrt(variance))) for variance, f in components
        ]
        # one part: Student's p; no root is looked for where it is certain or has none
        if len(p_values) == 1 or max(p_values) < LEAST_P or mean == 0.0:
            return max(p_values)

        def over(exponent: float) -> float:
            return self.half_width(math.exp(exponent)) - abs(mean)

        lower = math.log(max(p_values))  # from the larger part alone; rounding may hide the other
        return (
            math.exp(brentq(over, lower, 0.0, xtol=1e-12)) if over(lower) > 0.0 else max(p_values)
        )


LEAST_P = 1e-12
"""Below this a probability is as good as zero: of two parts, that of the larger stands for both."""


def paired_difference(ours: Array, theirs: Array) -> Difference:
    r"""Return the mean of $d_k = x_k - y_k$ with its interval, and Student's paired test of zero.

    $$ t = \frac{\bar d}{s_d / \sqrt n}, \qquad p = 2\,P(T_{n-1} > |t|). $$

    Where gains were searched for several times, searches and repeats are crossed, and the interval
    is $\bar d \pm \sqrt{t_{S-1}^2 A + t_{n-1}^2 B}$ with the squared errors $A$ of the means of the
    searches and $B$ of those of the repeats (Banerjee 1960); $p$ is that of the interval that ends
    at zero.

    Args:
        ours: Values $x_k$, shape `(n,)`, repeat by repeat; or `(searches, n)`.
        theirs: Values $y_k$ of the same repeats and searches. Repeats in which either is not finite
            do not count.
    """
    grid = np.atleast_2d(ours - theirs)
    both = np.isfinite(grid).all(axis=0)
    d = grid[:, both]
    n = d.shape[1]
    if n == 0:
        return Difference(0, *[float("nan")] * 4)
    mean, chance = float(np.mean(d)), _MeanVariance.of(d)
    if not chance.parts:
        return Difference(n, mean, *[float("nan")] * 3)
    largest = float(np.max(np.abs(np.atleast_2d(ours)[:, both])))
    if float(np.ptp(d)) <= SAME_RTOL * largest:  # the same in every repeat: no chance is left in it
        return Difference(n, mean, mean, mean, 1.0 if abs(mean) <= SAME_RTOL * largest else 0.0)
    half = chance.half_width(1.0 - CONFIDENCE)
    return Difference(n, mean, mean - half, mean + half, chance.p(mean))


def holm(p: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    r"""Return p-values corrected for being several, so that one false claim among all is rare.

    With weights $w_i$ and the $m$ values in rising order of $p_i/w_i$,
    $\tilde p_i = \max_{j \le i} \min(1, p_j \sum_{k \ge j} w_k / w_j)$; with equal weights the
    factor is $m - j + 1$. NaN stays NaN and does not count.

    Args:
        p: Probabilities.
        weights: How much of the level each claim gets, positive; absent: the same for all.

    References:
        Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6, 1979.
    """
    corrected = [float("nan")] * len(p)
    factors = [1.0] * len(p) if weights is None else list(weights)
    ratios = sorted((v / factors[k], k) for k, v in enumerate(p) if v == v)
    remaining, highest = math.fsum(factors[k] for _, k in ratios), 0.0
    for ratio, index in ratios:
        # never below that of a smaller p, or the order would turn round
        highest = max(highest, min(1.0, ratio * remaining))
        corrected[index] = highest
        remaining -= factors[index]
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
    # rounding must not leave a bound beside the ends
    low = 0.0 if successes <= 0 else middle - half
    return Estimate(share, low, 1.0 if successes >= trials else middle + half)


def quantile(ordered: Array, level: float) -> float:
    """Return the quantile of values in rising order, by NumPy's and pandas' default interpolation.

    Other than NumPy it takes infinite values, which stand for what failed: a quantile next to one
    is infinite itself. NaN without values.
    """
    if len(ordered) == 0:
        return float("nan")
    position = level * (len(ordered) - 1)
    below = int(position)
    fraction = position - below
    low = float(ordered[below])
    if fraction == 0.0 or not np.isfinite(ordered[below + 1]):
        return low if fraction == 0.0 else float(ordered[below + 1])
    return low + fraction * (float(ordered[below + 1]) - low)


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
    # samples that depend on each other count as fewer
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
