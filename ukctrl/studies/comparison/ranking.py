"""Who is best at what: one row a metric, what the repeats support, and when the robot is off.

Only controllers whose every run completed are ranked: one that ended early has spent less of
everything. Nor is one that crossed a limit which it was to keep, where another did not: it had it
easier. A single run without chance is ranked by its values; of several repeats, a difference is
claimed when a test supports it.

A page ranks by many metrics, at several levels of mismatch and along fronts. Each claim is a paired
test; all of them together are corrected by Holm, so that on 95 of 100 pages none is false. The
error, its rows of single servo blocks, its levels and the fronts share half of the 5 %, all other
metrics the other half: what is read first shall not be lost among thirty rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.statistics import CONFIDENCE, Difference, Spread, holm, paired_difference, spread
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.simulation.result.metrics.inequality_metrics import LENGTH_ROUNDING
from ukctrl.simulation.result.quantities import Labels
from ukctrl.studies.batch.mismatch_level import MismatchLevel, mismatch_order
from ukctrl.studies.batch.run_summary import RunSummary

TEST_DESCRIPTION = (
    "Student's paired t test at 5 %, corrected by Holm for all that the page claims, half of it "
    "for the error"
)
"""What decides about differences."""
FAMILY_ERROR_RATE = 1.0 - CONFIDENCE
"""How often a page may claim anything that is false."""
TIE_RTOL = 0.01
"""Values this close, relatively, are called equal."""
TIE_ATOL_BY_UNIT: Mapping[str, float] = MappingProxyType(
    {"phi": 1e-9, "beta": 1e-9, "passive_phi": 1e-9, "keep": LENGTH_ROUNDING}
)
"""Errors below this [m, rad and per second] are rounding, and equal, and so are margins this much
apart; by unit of the metric."""


class PairedComparison(NamedTuple):
    """Two controllers under one metric, repeat by repeat."""

    lower: str
    """Who has less of it on average."""
    higher: str
    difference: Difference
    """How much more the higher one has."""
    p: float
    """Probability of such a difference by chance, corrected for all that the page claims."""
    supported: bool
    """Whether the statistics support the difference, and it is more than a tie."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        of_all = {key: v for key, v in self.difference._asdict().items() if key != "p"}
        p = {"p": self.difference.p, "p_corrected": self.p}
        numbers: dict[str, Any] = finite_or_none({**of_all, **p})
        return {**attributes_of(self, "lower", "higher"), **numbers, "supported": self.supported}


class MetricRanking(NamedTuple):
    """One metric of every controller."""

    metric: str
    unit: str
    values: dict[str, float]
    """Mean over the completed repeats; of a single run its value, completed or not."""
    best: tuple[str, ...]
    """The controllers that tie for the lowest value (the highest where more is better), or cannot
    be told apart from it; none when nothing sets them apart."""
    spreads: Mapping[str, Spread] = MappingProxyType({})
    """Over the completed repeats."""
    pairs: tuple[PairedComparison, ...] = ()
    """Every two of those that are ranked; none for a single run."""
    ranked: int = 0
    """How many controllers are ranked, with a value of the metric or without."""
    withheld: bool = False
    """Whether nobody is called best: a search has left gains at an end of their range."""

    @property
    def marked(self) -> tuple[str, ...]:
        """Whom a table marks as best: of single runs nobody, for no test stands behind them; nor
        where that is withheld.
        """
        return self.best if self.pairs and not self.withheld else ()

    @property
    def known(self) -> bool:
        """Whether some controller has it."""
        return any(map(math.isfinite, self.values.values()))

    def pair(self, one: str, peer: str) -> PairedComparison | None:
        """Return what the repeats say of two controllers, whichever is lower."""
        return next((p for p in self.pairs if {p.lower, p.higher} == {one, peer}), None)


def rounding_floor(metric: str) -> float:
    """Return below what a metric is nothing but rounding; minus infinity where any of it counts."""
    description = metrics.describe(metric)
    floor = TIE_ATOL_BY_UNIT.get(description.unit, -math.inf)
    return -math.inf if description.more_is_better else floor


def completed_names(runs: Mapping[str, Sequence[RunSummary]]) -> tuple[str, ...]:
    """Return the controllers whose every run completed."""
    return tuple(
        name for name, group in runs.items() if group and all(run.completed for run in group)
    )


def violates_limit(metrics_of_run: Mapping[str, float]) -> bool:
    """Tell whether a run went beyond a limit that its law was to keep."""
    return metrics_of_run.get("limits_crossed", 0.0) > 0.0


def ranked_names(runs: Mapping[str, Sequence[RunSummary]]) -> tuple[str, ...]:
    """Return the controllers that are ranked: those that completed, without those that crossed a
    limit where some did not.
    """
    done = completed_names(runs)
    feasible = [name for name in done if not any(violates_limit(run.metrics) for run in runs[name])]
    return tuple(feasible) or done


def rank_metric(name: str, unit: str, runs: Mapping[str, Sequence[RunSummary]]) -> MetricRanking:
    """Return the row of a metric.

    Args:
        name: The metric.
        unit: Its unit.
        runs: The runs of every controller; those of several searches are paired search by search,
            and a controller without gains to search for is the same in all.
    """
    count = max(map(len, runs.values()), default=0)
    values = {key: _metric_grid(name, group, single=count == 1) for key, group in runs.items()}
    spreads = {key: _spread(array, name) for key, array in values.items()}
    means = {key: estimate.mean for key, estimate in spreads.items()}
    ranked = ranked_names(runs)
    metric = metrics.describe(name)
    finite = [key for key in ranked if values[key].size and np.isfinite(values[key]).all()]
    if len(ranked) < 2 or not finite or not metric.about_controller:
        return MetricRanking(name, unit, means, (), spreads)
    if count > 1:
        pairs = _pairs({key: values[key] for key in finite})
        return MetricRanking(name, unit, means, tuple(finite), spreads, pairs, len(ranked))
    sign = -1.0 if metric.more_is_better else 1.0
    lowest = min(sign * means[key] for key in finite)
    near = lowest + _tie_tolerance(lowest, metric.unit)
    best = tuple(key for key in finite if sign * means[key] <= near)
    return MetricRanking(name, unit, means, best if len(best) < len(ranked) else (), spreads)


def _metric_grid(name: str, runs: Sequence[RunSummary], *, single: bool) -> Array:
    """Return a controller's metric, shape ``(searches, repeats)``; NaN where a run did not complete
    and is not the ``single`` one, which is told however it ended.
    """
    searches = {search: k for k, search in enumerate(sorted({run.search for run in runs}))}
    repeats = {repeat: k for k, repeat in enumerate(sorted({run.repeat for run in runs}))}
    grid = np.full((len(searches), len(repeats)), np.nan)
    for run in runs:
        if single or run.completed:
            index = searches[run.search], repeats[run.repeat]
            grid[index] = run.metrics.get(name, math.nan)
    return grid


def _spread(values: Array, name: str) -> Spread:
    if metrics.less_is_better(name):
        return spread(values)
    mirrored = spread(-values)
    return spread(values)._replace(worst=-mirrored.worst)


def _pairs(values: Mapping[str, Array]) -> tuple[PairedComparison, ...]:
    pairs = []
    for one, peer in itertools.combinations(values, 2):
        lower, higher = sorted((one, peer), key=lambda key: float(np.mean(values[key])))
        difference = paired_difference(values[higher], values[lower])
        pairs.append(PairedComparison(lower, higher, difference, difference.p, supported=False))
    return tuple(pairs)


def correct_rankings(
    rows: Sequence[MetricRanking], error: str, front_p: Sequence[float] = ()
) -> tuple[tuple[MetricRanking, ...], list[float]]:
    """Return rows with what is claimed of them, corrected for all of them together.

    Args:
        rows: Of `rank_metric`, also those of an error at other levels.
        error: The metric that stands for the error.
        front_p: Probabilities of what else is claimed about the error, along fronts.

    Returns:
        The rows, and the corrected probabilities of what else is claimed.
    """
    about = [row.metric.partition(".")[0] == error for row in rows]
    p_values = {True: list(front_p), False: list[float]()}
    for row, is_error in zip(rows, about, strict=True):
        p_values[is_error] += [pair.p for pair in row.pairs]
    mine, secondary = correct_p_values(p_values[True], p_values[False])
    queues = {True: iter(mine[len(front_p) :]), False: iter(secondary)}
    tested_rows = tuple(
        _with_significance(row, [next(queues[is_error]) for _ in row.pairs]) if row.ranked else row
        for row, is_error in zip(rows, about, strict=True)
    )
    return tested_rows, mine[: len(front_p)]


def correct_p_values(
    error: Sequence[float], secondary: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the probabilities of all claims of a page, corrected together.

    Args:
        error: Of the claims about the error, which share half of the level.
        secondary: Of all other claims, which share the other half; NaN is no claim.
    """
    weights: list[float] = []
    for family in (error, secondary):
        count = sum(not math.isnan(p) for p in family)
        weights += [1.0 / max(count, 1)] * len(family)
    p = holm([*error, *secondary], weights)
    return p[: len(error)], p[len(error) :]


def _with_significance(row: MetricRanking, p: Sequence[float]) -> MetricRanking:
    """Return a row with what is claimed, and who is best of those that can be."""
    metric = metrics.describe(row.metric)
    unit, sign = metric.unit, -1.0 if metric.more_is_better else 1.0
    pairs = tuple(
        pair._replace(
            p=sure,
            supported=sure < FAMILY_ERROR_RATE
            and pair.difference.mean > _tie_tolerance(row.values[pair.lower], unit),
        )
        for pair, sure in zip(row.pairs, p, strict=True)
    )
    leader = row.best[first_smallest([sign * row.values[key] for key in row.best])]
    against = [pair for pair in pairs if pair.supported]
    behind = {pair.higher for pair in against if sign > 0.0 and pair.lower == leader}
    behind |= {pair.lower for pair in against if sign < 0.0 and pair.higher == leader}
    best = tuple(key for key in row.best if key not in behind)
    return row._replace(pairs=pairs, best=best if len(best) < row.ranked else ())


def _tie_tolerance(lowest: float, unit: str) -> float:
    return max(TIE_RTOL * abs(lowest), TIE_ATOL_BY_UNIT.get(unit, 0.0))


BAND_QUANTILES = (0.1, 0.9)
"""Quantiles between which a band reaches."""


class MismatchStatistics(NamedTuple):
    """One controller at one level of mismatch."""

    runs: int
    completed: int
    median: float
    """Of the error of the runs that completed; NaN where none did."""
    low: float
    """Lower end of the band."""
    high: float
    crossed: int = 0
    """How many of the completed runs crossed a limit that the law was to keep."""


class Robustness(NamedTuple):
    """The error of every controller at every level."""

    metric: str
    unit: str
    levels: tuple[MismatchLevel, ...]
    """Largest relative change of a parameter of the true robot, or the fit that it is drawn from.
    """
    entries: Mapping[str, tuple[MismatchStatistics, ...]]
    rows: tuple[MetricRanking, ...]
    """The ranking at each level."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            **attributes_of(self, "metric", "unit"),
            "levels": list(self.levels),
            "band": list(BAND_QUANTILES),
            "controllers": {
                name: [finite_or_none(entry._asdict()) for entry in entries]
                for name, entries in self.entries.items()
            },
            "best": [list(row.marked) for row in self.rows],
        }


def mismatch_robustness(
    runs: Mapping[MismatchLevel, Mapping[str, Sequence[RunSummary]]], metric: str, labels: Labels
) -> Robustness:
    """Return what the runs at each level amount to."""
    levels = tuple(sorted(runs, key=mismatch_order))
    unit = metrics.unit_in(metric, labels)
    names = dict.fromkeys(name for level in levels for name in runs[level])
    entries = {
        name: tuple(_mismatch_statistics(runs[level].get(name, ()), metric) for level in levels)
        for name in names
    }
    rows = tuple(rank_metric(metric, unit, runs[level]) for level in levels)
    return Robustness(metric, unit, levels, entries, rows)


def _mismatch_statistics(runs: Sequence[RunSummary], metric: str) -> MismatchStatistics:
    done = [run.metrics.get(metric, np.nan) for run in runs if run.completed]
    finite = np.array([value for value in done if np.isfinite(value)])
    crossed = sum(run.completed and violates_limit(run.metrics) for run in runs)
    low, middle, high = np.full(3, np.nan)
    if finite.size:
        low, middle, high = np.quantile(finite, [BAND_QUANTILES[0], 0.5, BAND_QUANTILES[1]])
    band = float(middle), float(low), float(high)
    return MismatchStatistics(len(runs), len(done), *band, crossed)
