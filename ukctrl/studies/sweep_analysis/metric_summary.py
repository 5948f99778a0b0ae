"""Each metric over the samples: its middle, its spread, and how bad it gets.

A sample that failed has no merit. In percentiles it counts as the worst, so that a design that
fails often cannot look better for it; means and standard deviations are of what completed, and
say so.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Flags
from ukctrl.core.statistics import CONFIDENCE, Estimate, quantile, quantile_interval, wilson
from ukctrl.core.tie_breaking import first_largest
from ukctrl.simulation.result.metrics import less_is_better
from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays, inf_where_missing

SampleGroups = NDArray[np.intp] | None
"""Which samples share values of factors, shape `(n,)`; None where all are independent."""


def dependent_groups(runs: StudyArrays) -> SampleGroups:
    """Return which samples share values: the blocks of a Saltelli design, and repeats."""
    if runs.design == "saltelli":
        rows = -(-int(runs.point.max() + 1) // (len(runs.axes) + 2))
        family: NDArray[np.intp] = runs.point % rows
        return family
    return runs.point if runs.repeats > 1 else None


def effective_sample_size(chosen: Flags, family: SampleGroups) -> float:
    r"""Return how many independent samples would tell a share as well as these.

    With $N$ families among $n$ samples and $e_j$ the sum of $[\text{chosen}] - p$ in each,
    $\widehat{\operatorname{var}} = \frac{N}{N-1} \sum_j e_j^2 / n^2$, and
    $n_\mathrm{eff} = p (1 - p) / \widehat{\operatorname{var}}$, between $N$ and $n$.
    """
    n = len(chosen)
    if family is None:
        return float(n)
    p = float(chosen.mean())
    apart = np.bincount(np.unique(family, return_inverse=True)[1], chosen - p)
    count = len(apart)
    variance = count / max(count - 1, 1) * float(np.sum(apart**2)) / n**2
    if variance <= 0.0:
        return float(count)
    return float(np.clip(p * (1.0 - p) / variance, count, n))


def estimate_share(
    chosen: Flags, family: SampleGroups = None, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the share of what is chosen, with Wilson's interval for what the samples are worth."""
    n = len(chosen)
    if not n:
        return wilson(0, 0)
    effective = effective_sample_size(chosen, family)
    return wilson(float(chosen.sum()) * effective / n, effective, confidence)


PERCENTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Percentiles of every metric, as fractions."""
TABLE_PERCENTILES = (0.05, 0.5, 0.95, 0.99)
"""Those of them in tables and figures; `summary.json` has all."""
_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")


class Percentile(NamedTuple):
    """The value that a fraction of the samples does not exceed, or where more is better does not
    fall below.
    """

    level: float
    """The fraction."""
    value: Estimate
    """Infinite where the samples there failed; ends of the interval are NaN where so few samples
    do not bound it, or where the samples are no random draw."""


class Summary(NamedTuple):
    """One metric over the samples of a study."""

    metric: str
    known: int
    """How many samples have it."""
    failed: int
    """How many did not complete."""
    without: int
    """How many completed and have none, such as no settling time; these count as worst, too."""
    mean: float
    """Of those that have it."""
    deviation: float
    """Standard deviation of those that have it; NaN of fewer than two."""
    percentiles: tuple[Percentile, ...]
    best: float
    worst: float
    """The largest of those that have it; the least where more is better."""
    worst_sample: int
    """Number of that sample; -1 where none has it."""

    @property
    def mirrored(self) -> Summary:
        """The summary of the values with the other sign."""
        levels = tuple(
            one._replace(value=Estimate(-one.value.value, -one.value.high, -one.value.low))
            for one in self.percentiles
        )
        return self._replace(
            percentiles=levels, mean=-self.mean, best=-self.best, worst=-self.worst
        )

    def percentile(self, level: float) -> Estimate:
        """Return one of the percentiles of `PERCENTILE_LEVELS`."""
        return next(entry.value for entry in self.percentiles if entry.level == level)


class FailureReason(NamedTuple):
    """Why samples failed."""

    status: str
    message: str
    """The message of the first of them."""
    samples: int
    sample: int
    """Number of the first of them."""


def summarise_metric(runs: StudyArrays, name: str) -> Summary:
    """Return one metric over all samples; of one of which more is better the least is the worst."""
    if less_is_better(name):
        return summarise_values(runs, name, runs.metric(name))
    return summarise_values(runs, name, -runs.metric(name)).mirrored


def summarise_values(runs: StudyArrays, name: str, values: Array) -> Summary:
    """Return the summary of values that are NaN where a sample failed or has none."""
    mask = np.isfinite(values)
    finite = values[mask]
    mean = deviation = best = worst = float("nan")
    levels = tuple(Percentile(at, Estimate(*[mean] * 3)) for at in PERCENTILE_LEVELS)
    worst_sample = -1
    if finite.size:
        with np.errstate(over="ignore"):
            mean = float(np.mean(finite))
            deviation = float(np.std(finite, ddof=1)) if finite.size > 1 else deviation
        best, worst = float(finite.min()), float(finite.max())
        levels = percentiles(inf_where_missing(values), runs)
        worst_sample = int(runs.number[first_largest(np.where(mask, values, -np.inf))])
    return Summary(
        metric=name,
        known=len(finite),
        failed=int((~runs.completed).sum()),
        without=int((runs.completed & ~mask).sum()),
        mean=mean,
        deviation=deviation,
        percentiles=levels,
        best=best,
        worst=worst,
        worst_sample=worst_sample,
    )


def percentiles(merit: Array, runs: StudyArrays) -> tuple[Percentile, ...]:
    """Return the percentiles of values that are infinite where a sample failed.

    The points of a grid are chosen and not drawn: their percentiles describe the grid, and no
    interval makes them say more. The blocks of a Saltelli design share values, and repeats share
    all of them: how many independent samples they are worth is estimated from the spread between.
    """
    ordered = np.sort(merit)
    family = dependent_groups(runs)
    levels = []
    for level in PERCENTILE_LEVELS:
        value = quantile(ordered, level)
        low = high = float("nan")
        if runs.design != "grid" and len(ordered) > 1:
            effective = effective_sample_size(merit <= value, family)
            low, high = quantile_interval(ordered, level, effective)
        levels.append(Percentile(level, Estimate(value, low, high)))
    return tuple(levels)


def failure_reasons(runs: StudyArrays) -> tuple[FailureReason, ...]:
    """Return why samples failed, the commonest first; messages that differ in numbers are one."""
    by_reason: dict[tuple[str, str], list[int]] = {}
    for row in np.flatnonzero(~runs.completed):
        key = (runs.status[row], _NUMBER.sub("#", runs.message[row]))
        by_reason.setdefault(key, []).append(int(row))
    ordered = sorted(by_reason.items(), key=lambda entry: -len(entry[1]))
    return tuple(
        FailureReason(status, runs.message[rows[0]], len(rows), int(runs.number[rows[0]]))
        for (status, _), rows in ordered
    )


def status_counts(runs: StudyArrays) -> dict[str, int]:
    """Return how many samples ended in each status, the commonest first."""
    return dict(Counter(runs.status).most_common())
