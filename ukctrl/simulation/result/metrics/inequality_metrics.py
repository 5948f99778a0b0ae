"""Metrics of kept limits: margin, crossings, time at them, and their cost to the task."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.simulation.result.metrics.metric import metric_of
from ukctrl.simulation.result.sample_measures import integral
from ukctrl.simulation.result.samples import Samples

LENGTH_ROUNDING = 1e-6
"""Less than this [m, rad, m/s, rad/s] beyond a limit is rounding."""
FORCE_ROUNDING = 1e-3
"""Less than this [N, N m] beyond the cone of a contact is nothing to a ground."""


def margin_rounding(unit: str) -> float:
    """Return how little beyond a limit is nothing, in the unit of what is kept."""
    return FORCE_ROUNDING if unit in ("N", "N m") else LENGTH_ROUNDING


def _of_block(samples: Samples, name: str, block: str | None) -> Array | None:
    """Return an array of what a block keeps, shape ``(n, k)``; None where there is nothing."""
    rows = samples.labels.kept_rows(block)
    return samples[name][:, rows] if name in samples and len(samples) and len(rows) else None


@metric_of("keep", r"\min_{t,k} h_k", per_keep=True, more_is_better=True)
def worst_margin(samples: Samples, block: str | None) -> float:
    """Least distance to a kept limit: more is better; negative where the limit was crossed."""
    margins = _of_block(samples, "keep", block)
    # fmin passes over NaN, of contacts that are asked of nothing
    return float("nan") if margins is None else float(np.fmin.reduce(margins, axis=None))


@metric_of("1", r"\#\{k : \min_t h_k < 0\}", per_keep=True)
def limits_crossed(samples: Samples, block: str | None) -> float:
    """Number of kept quantities that crossed their limit by more than rounding."""
    margins = _of_block(samples, "keep", block)
    if margins is None:
        return float("nan")
    units = np.array(samples.labels.keep_row_units)[samples.labels.kept_rows(block)]
    return float(
        np.sum(np.fmin.reduce(margins, axis=0) < [-margin_rounding(unit) for unit in units])
    )


@metric_of("s", r"\int_0^T [\exists k: h_k \text{ binds}] \, dt", per_keep=True)
def time_at_limits(samples: Samples, block: str | None) -> float:
    """Time in which a kept limit changed the law's input."""
    bound = _of_block(samples, "keep_binding", block)
    return float("nan") if bound is None else integral(samples.time, bound.max(axis=1))


@metric_of("beta", r"\int_0^T \lVert A\, G\, (u_0 - u) \rVert \, dt", about_task=True)
def task_given_up(samples: Samples, block: str | None) -> float:
    """Time integral of the row acceleration that the task lost to limits."""
    if "keep_given_up" not in samples or not len(samples.labels.rows):
        return float("nan")
    return integral(samples.time, np.linalg.norm(samples["keep_given_up"], axis=1))


INEQUALITY_METRICS = MappingProxyType(
    {
        "worst_margin": worst_margin,
        "limits_crossed": limits_crossed,
        "time_at_limits": time_at_limits,
        "task_given_up": task_given_up,
    }
)
"""Metrics of runs that keep something; none of others."""
