"""Errors against how far the true robot is from its file, while beliefs stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.result.quantities import Labels
from ukctrl.studies.batch import Outcome
from ukctrl.studies.comparison.ranking import Row, rank

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
            "best": [list(row.best) for row in self.rows],
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
