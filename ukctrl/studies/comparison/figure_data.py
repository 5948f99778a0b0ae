"""What the figures of a comparison draw: bands over repeats, points with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.reports.plot.comparison_figures import Course, Point
from ukctrl.reports.plot.overlay import Band
from ukctrl.studies.batch import Outcome
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.robustness import BAND, Robustness


def bands(comparison: Comparison) -> dict[str, dict[str, Band]]:
    """Return the error curves of every controller over its repeats; nothing of a single one."""
    if comparison.repeats < 2:
        return {}
    return {name: _bands(runs) for name, runs in comparison.runs.items()}


def _bands(runs: Sequence[Outcome]) -> dict[str, Band]:
    known = [run.curves for run in runs if run.curves is not None]
    if not known:
        return {}
    bands_by_key = {}
    for key in known[0].norms:
        values = np.array([curves.norms[key] for curves in known])
        alive = np.isfinite(values).any(axis=0)
        edges = np.full((3, values.shape[1]), np.nan)
        if alive.any():
            edges[:, alive] = np.nanquantile(values[:, alive], [BAND[0], 0.5, BAND[1]], axis=0)
        bands_by_key[key] = Band(known[0].time, *edges)
    return bands_by_key


def points(comparison: Comparison) -> dict[str, Point]:
    """Return where every controller stands between effort and error."""
    table = {row.metric: row for row in comparison.rows}
    effort, error = table["effort"], table[comparison.error]
    return {
        name: Point(
            effort.values[name],
            error.values[name],
            (effort.spreads[name].low, effort.spreads[name].high),
            (error.spreads[name].low, error.spreads[name].high),
            "" if name in comparison.completed else _note(comparison, name),
        )
        for name in comparison.results
    }


def _note(comparison: Comparison, name: str) -> str:
    every = comparison.runs[name]
    if len(every) < 2:
        return comparison.results[name].status
    return f"{sum(run.completed for run in every)} of {len(every)}"


def courses(found: Robustness) -> dict[str, Course]:
    """Return the error of every controller along the levels of mismatch."""
    return {
        name: Course(
            np.array([at.median for at in every]),
            np.array([at.low for at in every]),
            np.array([at.high for at in every]),
            np.array([at.completed / at.runs if at.runs else np.nan for at in every]),
        )
        for name, every in found.entries.items()
    }
