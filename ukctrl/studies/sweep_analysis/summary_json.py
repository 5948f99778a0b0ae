"""What a study shows, as `summary.json` holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.statistics import CONFIDENCE
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.studies.sweep_analysis.factor_maps import Map, MapAxis
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor
from ukctrl.studies.sweep_analysis.metric_summary import Summary, status_counts
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay, replay_command
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.sweep_verdicts import headline, verdicts

if TYPE_CHECKING:
    from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis


def to_dict(
    insight: SweepAnalysis, replays: Sequence[SampleReplay], folder: Path
) -> dict[str, Any]:
    """Return everything as data for JSON; what is not finite is None.

    A percentile that lies among failed samples is None, with `failed` true.
    """
    study, runs = insight.study, insight.runs
    record: dict[str, Any] = {
        "headline": headline(insight),
        "scenario": {key: str(study.scenario.get(key) or "") for key in ("name", "title")},
        "design": runs.design,
        "factors": [factor.to_dict() for factor in study.factors],
        "repeats": runs.repeats,
        "seed": study.seed,
        "confidence": CONFIDENCE,
        "samples": {
            "planned": study.about.plan.count,
            "finished": len(runs),
            "completed": int(runs.completed.sum()),
            "completed_share": insight.completed._asdict(),
            "succeeded": int(insight.good.sum()),
            "succeeded_share": insight.succeeded._asdict(),
            "statuses": status_counts(runs),
        },
        "cost": {"text": insight.cost.text, "unit": insight.unit, **_summary(insight.overall)},
        "require": dict(insight.require),
        "metrics": {
            one.metric: {"unit": insight.unit_of(one.metric), **_summary(one)}
            for one in insight.summaries
        },
        "failures": {
            "reasons": [reason._asdict() for reason in insight.reasons],
            "factors": {one.path: _failure_factor(one) for one in insight.separations},
        },
        "sensitivity": {of: _shares(one) for of, one in insight.sensitivities.items()},
        "rank_correlation": {path: share._asdict() for path, share in insight.correlations.items()},
        "dependence": {name: one.strength for name, one in insight.dependence.items()},
        "maps": [_map(one) for one in insight.maps],
        "worst": [_sample(insight, row, folder) for row in insight.worst],
        "failed": [_sample(insight, row, folder) for row in insight.failed],
        "replays": [replay._asdict() for replay in replays],
        "verdicts": [verdict._asdict() for verdict in verdicts(insight, replays)],
        "versions": dict(study.about.versions),
    }
    plain: dict[str, Any] = finite_or_none(record)
    return plain


def _failure_factor(one: FailureFactor) -> dict[str, Any]:
    ranges = [
        {"range": label, "samples": samples, "succeeded": succeeded, **share._asdict()}
        for label, samples, succeeded, share in one.rates
    ]
    split = None if one.split is None else one.split.threshold
    return {"score": one.score, "clear": one.clear, "ranges": ranges, "split": split}


def _summary(one: Summary) -> dict[str, Any]:
    percentiles = {
        f"p{round(100.0 * level)}": {**value._asdict(), "failed": math.isinf(value.value)}
        for level, value in one.percentiles
    }
    return {
        **attributes_of(one, "known", "failed", "without", "mean", "deviation", "best", "worst"),
        "worst_sample": one.worst_sample if one.known else None,
        "percentiles": percentiles,
    }


def _shares(one: Sensitivity) -> dict[str, Any]:
    return {
        "method": one.method,
        "samples": one.used,
        "unexplained": one.unexplained,
        "first": {path: share._asdict() for path, share in one.first.items()},
        "total": {path: share._asdict() for path, share in one.total.items()},
    }


def _map(one: Map) -> dict[str, Any]:
    median = np.where(np.isinf(one.middle), np.nan, one.middle)
    counts = {"samples": one.samples.tolist(), "succeeded_share": one.share.tolist()}
    return {"x": _side(one.x), "y": _side(one.y), **counts, "median": median.tolist()}


def _side(side: MapAxis) -> dict[str, Any]:
    values = list(side.labels) if side.categorical else side.edges.tolist()
    return {"factor": side.path, "values" if side.by_value else "edges": values}


def _sample(insight: SweepAnalysis, row: int, folder: Path) -> dict[str, Any]:
    runs, number = insight.runs, int(insight.runs.number[row])
    return {
        "sample": number,
        "status": runs.status[row],
        "message": runs.message[row],
        "reached": float(runs.reached[row]),
        "cost": float(insight.values[row]),
        "changes": insight.study.about.plan.scenario_changes(number),
        "command": replay_command(insight.study, number, folder),
    }
