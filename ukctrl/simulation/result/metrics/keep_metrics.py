"""How far a run stayed from what it had to keep, for how long, and what that cost the task."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ukctrl.simulation.result.measures import integral
from ukctrl.simulation.result.metrics.metric import Metric
from ukctrl.simulation.result.samples import Samples

CROSSED = 1e-6
"""Less than this [m, rad, m/s, rad/s] beyond a limit is rounding."""
SLIGHT = 1e-3
"""Less than this [N, N m] beyond the cone of a contact is nothing to a ground."""


def rounding_of(unit: str) -> float:
    """Return how little beyond a limit is nothing, in the unit of what is kept."""
    return SLIGHT if unit in ("N", "N m") else CROSSED


def worst_margin(samples: Samples, block: str | None) -> float:
    """Return the least that was left of a block; below zero it was crossed."""
    rows = samples.labels.kept_rows(block)
    if "keep" not in samples or not (len(samples) and len(rows)):
        return float("nan")
    return float(np.fmin.reduce(samples["keep"][:, rows], axis=None))


def limits_crossed(samples: Samples, block: str | None) -> float:
    """Return how many quantities of a block were less than zero by more than rounding."""
    rows, units = samples.labels.kept_rows(block), samples.labels.keep_row_units
    if "keep" not in samples or not (len(samples) and len(rows)):
        return float("nan")
    least = np.fmin.reduce(samples["keep"][:, rows], axis=0)
    return float(np.sum(least < [-rounding_of(units[row]) for row in rows]))


def time_at_limits(samples: Samples, block: str | None) -> float:
    """Return for how long something of a block changed the input [s]."""
    rows = samples.labels.kept_rows(block)
    if "keep_binding" not in samples or not (len(samples) and len(rows)):
        return float("nan")
    bound = samples["keep_binding"][:, rows]
    return integral(samples.time, np.asarray(bound.max(axis=1)))


def task_given_up(samples: Samples, block: str | None) -> float:
    """Return what the servo rows did not get, their accelerations over time."""
    if "keep_given_up" not in samples or not len(samples.labels.rows):
        return float("nan")
    given = samples["keep_given_up"]
    return integral(samples.time, np.asarray(np.linalg.norm(given, axis=1)))


KEEP_METRICS = MappingProxyType(
    {
        "worst_margin": Metric(
            "keep",
            "least distance to a limit that the law keeps, more of which is better; below zero "
            "it was crossed",
            r"\min_{t,k} h_k",
            worst_margin,
            per_keep=True,
            more_is_better=True,
        ),
        "limits_crossed": Metric(
            "1",
            "how many of the quantities that the law keeps were beyond their limit, by more than "
            "rounding",
            r"\#\{k : \min_t h_k < 0\}",
            limits_crossed,
            per_keep=True,
        ),
        "time_at_limits": Metric(
            "s",
            "time in which a limit that the law keeps changed its input",
            r"\int_0^T [\exists k: h_k \text{ binds}] \, dt",
            time_at_limits,
            per_keep=True,
        ),
        "task_given_up": Metric(
            "beta",
            "time integral of the row acceleration that the task did not get for limits",
            r"\int_0^T \lVert A\, G\, (u_0 - u) \rVert \, dt",
            task_given_up,
            about_task=True,
        ),
    }
)
"""Metrics of runs that keep something; none of others."""
