"""Who is best at what: one row a metric, what the repeats support, and when the robot is off.

Only controllers whose every run completed are ranked: one that ended early has spent less of
everything. Nor is one that crossed a limit which it was to keep, where another did not: it had it
easier. A single run without chance is ranked by its values; of several repeats, a difference is
claimed when a test supports it, corrected for all that the page claims (`claims`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.extremes import first_smallest
from ukctrl.core.statistics import Difference, Spread, paired_difference, spread
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.metrics.keep_metrics import CROSSED
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.result.quantities import Labels
from ukctrl.studies.batch.run_outcome import Outcome
from ukctrl.studies.comparison.claims import LEVEL, corrected

TIE_RTOL = 0.01
"""Values this close, relatively, are called equal."""
TIE_ATOL: Mapping[str, float] = MappingProxyType(
    {"phi": 1e-9, "beta": 1e-9, "passive_phi": 1e-9, "keep": CROSSED}
)
"""Errors below this [m, rad and per second] are rounding, and equal, and so are margins this much
apart; by unit of the metric."""


class Pair(NamedTuple):
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
        return {
            "lower": self.lower,
            "higher": self.higher,
            **{key: finite_or_none(value) for key, value in of_all.items()},
            "p": finite_or_none(self.difference.p),
            "p_corrected": finite_or_none(self.p),
            "supported": self.supported,
        }


class Row(NamedTuple):
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
    pairs: tuple[Pair, ...] = ()
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

    def pair(self, one: str, other: str) -> Pair | None:
        """Return what the repeats say of two controllers, whichever is lower."""
        return next((p for p in self.pairs if {p.lower, p.higher} == {one, other}), None)


def rounding(metric: str) -> float:
    """Return below what a metric is nothing but rounding; minus infinity where any of it counts."""
    known = metrics.describe(metric)
    return -math.inf if known.more_is_better else TIE_ATOL.get(known.unit, -math.inf)


def completed_names(runs: Mapping[str, Sequence[Outcome]]) -> tuple[str, ...]:
    """Return the controllers whose every run completed."""
    return tuple(
        name for name, every in runs.items() if every and all(run.completed for run in every)
    )


def crossed(metrics_of_run: Mapping[str, float]) -> bool:
    """Tell whether a run went beyond a limit that its law was to keep."""
    return metrics_of_run.get("limits_crossed", 0.0) > 0.0


def ranked_names(runs: Mapping[str, Sequence[Outcome]]) -> tuple[str, ...]:
    """Return the controllers that are ranked: those that completed, without those that crossed a
    limit where some did not.
    """
    done = completed_names(runs)
    kept = [name for name in done if not any(crossed(run.metrics) for run in runs[name])]
    return tuple(kept) or done


def rank(name: str, unit: str, runs: Mapping[str, Sequence[Outcome]]) -> Row:
    """Return the row of a metric.

    Args:
        name: The metric.
        unit: Its unit.
        runs: The runs of every controller; those of several searches are paired search by search,
            and a controller without gains to search for is the same in all.
    """
    count = max(map(len, runs.values()), default=0)
    values = {key: _grid(name, every, single=count == 1) for key, every in runs.items()}
    spreads = {key: _spread(array, name) for key, array in values.items()}
    means = {key: found.mean for key, found in spreads.items()}
    ranked = ranked_names(runs)
    metric = metrics.describe(name)
    finite = [key for key in ranked if values[key].size and np.isfinite(values[key]).all()]
    if len(ranked) < 2 or not finite or not metric.about_controller:
        return Row(name, unit, means, (), spreads)
    if count > 1:
        pairs = _pairs({key: values[key] for key in finite})
        return Row(name, unit, means, tuple(finite), spreads, pairs, len(ranked))
    sign = -1.0 if metric.more_is_better else 1.0
    lowest = min(sign * means[key] for key in finite)
    near = lowest + _tie(lowest, metric.unit)
    best = tuple(key for key in finite if sign * means[key] <= near)
    return Row(name, unit, means, best if len(best) < len(ranked) else (), spreads)


def _grid(name: str, runs: Sequence[Outcome], *, single: bool) -> Array:
    """Return a metric, shape ``(searches, repeats)``; NaN where a run did not complete.

    Args:
        name: The metric.
        runs: Of one controller.
        single: Whether there is but one run, which is told however it ended.
    """
    searches = {search: k for k, search in enumerate(sorted({run.search for run in runs}))}
    repeats = {repeat: k for k, repeat in enumerate(sorted({run.repeat for run in runs}))}
    grid = np.full((len(searches), len(repeats)), np.nan)
    for run in runs:
        if single or run.completed:
            place = searches[run.search], repeats[run.repeat]
            grid[place] = run.metrics.get(name, math.nan)
    return grid


def _spread(values: Array, name: str) -> Spread:
    if metrics.less_is_better(name):
        return spread(values)
    mirrored = spread(-values)
    return spread(values)._replace(worst=-mirrored.worst)


def _pairs(values: Mapping[str, Array]) -> tuple[Pair, ...]:
    pairs = []
    for one, other in itertools.combinations(values, 2):
        lower, higher = sorted((one, other), key=lambda key: float(np.mean(values[key])))
        found = paired_difference(values[higher], values[lower])
        pairs.append(Pair(lower, higher, found, found.p, supported=False))
    return tuple(pairs)


def decided(
    rows: Sequence[Row], error: str, beside: Sequence[float] = ()
) -> tuple[tuple[Row, ...], list[float]]:
    """Return rows with what is claimed of them, corrected for all of them together.

    Args:
        rows: Of `rank`, also those of an error at other levels.
        error: The metric that stands for the error.
        beside: Probabilities of what else is claimed about the error, along fronts.

    Returns:
        The rows, and the corrected probabilities of what else is claimed.
    """
    about = [row.metric.partition(".")[0] == error for row in rows]
    each = {True: list(beside), False: list[float]()}
    for row, own in zip(rows, about, strict=True):
        each[own] += [pair.p for pair in row.pairs]
    mine, others = corrected(each[True], each[False])
    left = {True: iter(mine[len(beside) :]), False: iter(others)}
    every = tuple(
        _decided(row, [next(left[own]) for _ in row.pairs]) if row.ranked else row
        for row, own in zip(rows, about, strict=True)
    )
    return every, mine[: len(beside)]


def _decided(row: Row, p: Sequence[float]) -> Row:
    """Return a row with what is claimed, and who is best of those that can be."""
    metric = metrics.describe(row.metric)
    unit, sign = metric.unit, -1.0 if metric.more_is_better else 1.0
    pairs = tuple(
        pair._replace(
            p=sure,
            supported=sure < LEVEL and pair.difference.mean > _tie(row.values[pair.lower], unit),
        )
        for pair, sure in zip(row.pairs, p, strict=True)
    )
    leader = row.best[first_smallest([sign * row.values[key] for key in row.best])]
    against = [pair for pair in pairs if pair.supported]
    behind = {pair.higher for pair in against if sign > 0.0 and pair.lower == leader}
    behind |= {pair.lower for pair in against if sign < 0.0 and pair.higher == leader}
    best = tuple(key for key in row.best if key not in behind)
    return row._replace(pairs=pairs, best=best if len(best) < row.ranked else ())


def _tie(lowest: float, unit: str) -> float:
    return max(TIE_RTOL * abs(lowest), TIE_ATOL.get(unit, 0.0))


BAND = (0.1, 0.9)
"""Quantiles between which a band reaches."""


class AtLevel(NamedTuple):
    """One controller at one level of mismatch."""

    runs: int
    completed: int
    median: float
    """Of the error of the runs that completed; NaN where none did."""
    low: float
    """Lower end of the band."""
    high: float


class Robustness(NamedTuple):
    """The error of every controller at every level."""

    metric: str
    unit: str
    levels: tuple[float, ...]
    """Largest relative change of a parameter of the true robot."""
    entries: Mapping[str, tuple[AtLevel, ...]]
    rows: tuple[Row, ...]
    """The ranking at each level."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "metric": self.metric,
            "unit": self.unit,
            "levels": list(self.levels),
            "band": list(BAND),
            "controllers": {
                name: [finite_or_none(entry._asdict()) for entry in every]
                for name, every in self.entries.items()
            },
            "best": [list(row.marked) for row in self.rows],
        }


def robustness(
    runs: Mapping[float, Mapping[str, Sequence[Outcome]]], metric: str, labels: Labels
) -> Robustness:
    """Return what the runs at each level amount to."""
    levels = tuple(sorted(runs))
    unit = metrics.unit_in(metric, labels)
    names = dict.fromkeys(name for level in levels for name in runs[level])
    entries = {
        name: tuple(_at_level(runs[level].get(name, ()), metric) for level in levels)
        for name in names
    }
    rows = tuple(rank(metric, unit, runs[level]) for level in levels)
    return Robustness(metric, unit, levels, entries, rows)


def _at_level(runs: Sequence[Outcome], metric: str) -> AtLevel:
    done = [run.metrics.get(metric, np.nan) for run in runs if run.completed]
    finite = np.array([value for value in done if np.isfinite(value)])
    if finite.size == 0:
        return AtLevel(len(runs), len(done), np.nan, np.nan, np.nan)
    low, middle, high = np.quantile(finite, [BAND[0], 0.5, BAND[1]])
    return AtLevel(len(runs), len(done), float(middle), float(low), float(high))
