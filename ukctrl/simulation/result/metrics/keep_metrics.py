"""How far a run stayed from what it had to keep, for how long, and what that cost the task."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ukctrl.simulation.result.measures import integral
from ukctrl.simulation.result.metrics.metric import Metric
from ukctrl.simulation.result.samples import Samples


def worst_margin(samples: Samples, block: str | None) -> float:
    """Return the least that was left of a block; below zero it was crossed."""
    rows = samples.labels.kept_rows(block)
    if "keep" not in samples or not (len(samples) and len(rows)):
        return float("nan")
    return float(np.fmin.reduce(samples["keep"][:, rows], axis=None))


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
            about_controller=False,
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
