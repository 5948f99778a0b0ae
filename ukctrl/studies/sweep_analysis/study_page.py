"""The page of a study, and what else is written beside it."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arguments import expect
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number, si_prefix
from ukctrl.reports import html_page, notebook_card
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.reports.run_page import KeyNumber
from ukctrl.simulation.result.atomic_files import attributes_of, output_folder, toml_text
from ukctrl.simulation.result.result import STATUSES
from ukctrl.studies.batch.task import ProgressCallback
from ukctrl.studies.study_report import Report, ReportSection
from ukctrl.studies.sweep import Study
from ukctrl.studies.sweep_analysis import study_figures
from ukctrl.studies.sweep_analysis import study_tables as tables
from ukctrl.studies.sweep_analysis.sample_replay import (
    SCENARIO_FILE,
    Role,
    SampleReplay,
    replay_command,
    replay_sample,
)
from ukctrl.studies.sweep_analysis.summary_json import to_dict
from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis, requirement_text
from ukctrl.studies.sweep_analysis.sweep_verdicts import headline, sensitivity_words, verdicts


class StudyReport(NamedTuple):
    """What was written."""

    page: Path
    insight: SweepAnalysis
    """What the study shows."""
    replays: tuple[SampleReplay, ...]
    """Samples that were run again."""


def write_study_report(
    study: Study,
    folder: AnyPath,
    *,
    cost: str | None = None,
    require: Mapping[str, float] = MappingProxyType({}),
    maps: Sequence[tuple[str, str]] = (),
    again: bool = True,
    trust: bool = False,
    progress: ProgressCallback | None = None,
) -> StudyReport:
    """Write `report.html`, its figures, `summary.json` and `scenario.toml` to a study's folder.

    The worst sample that completed and the first that failed are run again, each into a folder
    with a report of its own, and compared with the table.

    Args:
        study: Its samples, at least one of them finished.
        folder: Where to write, as a rule the study's own folder.
        cost: By what samples are better or worse, as for
            [`SweepAnalysis.of`][ukctrl.SweepAnalysis.of].
        require: The largest value of a metric with which a sample still succeeds, or the least
            where more is better.
        maps: Pairs of factors to draw maps over; absent: the two that matter most.
        again: Whether to run samples again.
        trust: Whether Python code that the scenario names may run.
        progress: Called as samples are run again.

    Raises:
        InputError: There is no finished sample, a name is unknown, or the folder cannot be
            written to.
    """
    home, study = Path(folder), expect("study", study, Study, "which sweep returns")
    insight = SweepAnalysis.of(study, cost=cost, require=require, maps=maps, trust=trust)
    images = study_figures.pictures(insight)
    with output_folder("the report", home):
        replays = _replay_samples(insight, home, trust, progress) if again else ()
        stale_names = [old.stem for old in home.glob("study_*.png")]
    summary = json.dumps(to_dict(insight, replays, home), indent=2, allow_nan=False, default=str)
    texts = {
        SCENARIO_FILE: toml_text(study.scenario),
        "summary.json": f"{summary}\n",
        "report.html": page_html(insight, images, replays, home),
    }
    page = html_page.write_page("the report", home, texts, images, stale_names)
    return StudyReport(page, insight, replays)


SHORT_METRICS = ("rms_phi", "peak_phi", "rms_beta", "settling_time", "effort", "peak_u", "work")
"""Metrics that the terminal shows beside the cost."""
MAX_FACTORS = 6
"""Factors that it names."""
RESUME_TEXT = "The same command with --resume goes on from here."


def report(insight: SweepAnalysis, folder: Path, replays: Sequence[SampleReplay] | None) -> Report:
    """Return what the terminal shows.

    Args:
        insight: What the study shows.
        folder: Where its files are.
        replays: Samples that were run again for the page; None where there is no page.
    """
    study, runs = insight.study, insight.runs
    done, remaining = int(runs.completed.sum()), study.about.plan.count - len(runs)
    whole = done == len(runs) and study.finished and not runs.unbelievable
    metrics = tables.short_metric_table(insight, SHORT_METRICS)
    files = [("report", "report.html")] if replays is not None else []
    files += [("table", "study.csv"), ("parquet", "study.parquet")]
    return empty_report(study)._replace(
        verdicts=verdicts(insight, replays or ()),
        sections=[ReportSection(metrics)] if metrics.rows else [],
        facts=[("design", _design_text(insight))],
        files=[file for file in files if file[0] != "parquet" or (folder / file[1]).exists()],
        status=f"{done} of {len(runs)} samples completed"
        + (f", {remaining} are still to run" if remaining else ""),
        status_level="good" if whole else "warning" if done else "bad",
        advice="" if study.finished else RESUME_TEXT,
    )


def _design_text(insight: SweepAnalysis) -> str:
    study = insight.study
    paths = [axis.path for axis in insight.strongest] or [f.path for f in study.factors]
    surplus = len(paths) - MAX_FACTORS
    varied = ", ".join(paths[:MAX_FACTORS]) + (f", and {surplus} more" if surplus > 0 else "")
    repeats = f", {study.repeats} repeats" if study.repeats > 1 else ""
    return f"{study.design}{repeats}, seed {study.seed}; varied: {varied or 'the seed alone'}"


def empty_report(study: Study) -> Report:
    """Return that no sample of a study is finished."""
    name = str(study.scenario.get("name") or study.scenario.get("title") or "study")
    return Report(
        name, (), status="no sample is finished", status_level="warning", advice=RESUME_TEXT
    )


MAX_SAMPLES = 8
"""So many samples stand on a card."""
CARD_METRICS = ("rms_phi", "rms_beta", "effort", "peak_u")


def html(study: Study) -> str:
    """Return the card of a notebook."""
    columns, factors = study.columns, [factor.path for factor in study.factors]
    metrics = [n for n in CARD_METRICS if n in columns and not np.isnan(columns[n]).all()]
    shown = [name for name in ("sample", *factors, "status", *metrics) if name in columns]
    values = [columns[name][:MAX_SAMPLES].tolist() for name in shown]
    table = ReportTable.from_rows(
        [TableColumn(name, "number" if name in metrics else "text") for name in shown],
        (map(_cell_text, row) for row in zip(*values, strict=True)),
    )
    counts = Counter(columns["status"].tolist()).most_common()
    ended = ", ".join(f"{count} {status}" for status, count in counts)
    done = f"{study.done} of {study.about.plan.count} samples"
    text = f"{done} of {', '.join(factors) or 'the seed'}: {ended or 'none yet'}."
    return notebook_card.card(str(study.scenario.get("title") or "A study"), text, table=table)


def _cell_text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _replay_samples(
    insight: SweepAnalysis, home: Path, trust: bool, progress: ProgressCallback | None
) -> tuple[SampleReplay, ...]:
    runs = insight.runs
    chosen: list[tuple[Role, int]] = [("worst", row) for row in insight.worst[:1]]
    # A sample that could not be run, or not to its end, teaches less than one that ran and failed.
    failed = [row for row in range(len(runs)) if not runs.completed[row]]
    ran = [row for row in failed if runs.status[row] in STATUSES]
    chosen += [("failed", row) for row in (ran or failed)[:1]]
    folder_names = {f"{role}-{int(runs.number[row])}" for role, row in chosen}
    for role in ("worst", "failed"):
        for old in home.glob(f"{role}-*"):
            stale = old.name not in folder_names and not old.is_symlink()
            if stale and old.is_dir() and (old / "result.nc").is_file():
                shutil.rmtree(old)
    replays = []
    for count, (role, row) in enumerate(chosen):
        if progress is not None:
            progress(count, len(chosen))
        replays.append(replay_sample(insight.study, runs, row, role, home, trust))
    if progress is not None and chosen:
        progress(len(chosen), len(chosen))
    return tuple(replays)


def page_html(
    insight: SweepAnalysis,
    images: Sequence[html_page.PageFigure],
    replays: Sequence[SampleReplay],
    folder: Path,
) -> str:
    """Return the page.

    Args:
        insight: What the study shows.
        images: Its figures.
        replays: Which samples were run again.
        folder: Where the study is, as commands name it.
    """
    study, runs = insight.study, insight.runs
    contents = [("verdicts", "What it shows")]
    contents += [("metrics", "Metrics")] if insight.summaries else []
    contents += [(image.name, _contents_label(image)) for image in images]
    contents += [("factors", "Factors")] if runs.axes else []
    contents += [("worst", "Worst samples")] if insight.worst else []
    contents += [("failed", "Failed samples")] if insight.failed else []
    contents += [("scenario", "Scenario"), ("provenance", "Provenance")]
    origin: dict[str, Any] = {
        "design": runs.design,
        "samples": f"{len(runs)} of {study.about.plan.count}",
    }
    origin |= attributes_of(study, "repeats", "seed") | {"versions": study.about.versions}
    context = {
        "title": str(study.scenario.get("title") or study.scenario.get("name") or "A study"),
        "names": {key: _name(study.scenario.get(key)) for key in ("robot", "controller")}
        | {"scenario": str(study.scenario.get("name") or "")},
        "design": runs.design,
        "count": len(runs),
        "headline": headline(insight),
        "contents": contents,
        "tiles": _tiles(insight),
        "verdicts": verdicts(insight, replays),
        "figures": images,
        "words": [sensitivity_words(insight, one) for one in insight.sensitivities.values()],
        "metrics": tables.metric_table(insight) if insight.summaries else None,
        "intervals": runs.design != "grid" and len(runs) > 1,
        "failures": int((~runs.completed).sum()),
        "reasons": tables.reason_table(insight),
        "factors": tables.factor_table(insight) if runs.axes else None,
        "dependence": tables.dependence_table(insight),
        "dependence_words": _dependence_words(insight),
        "several": len(runs.varied) > 1,
        "worst": tables.worst_table(insight),
        "failed": tables.failed_table(insight),
        "commands": {
            kind: [replay_command(study, int(runs.number[row]), folder) for row in rows]
            for kind, rows in (("worst", insight.worst), ("failed", insight.failed))
        },
        "replays": [entry for entry in replays if entry.folder],
        "scenario": html_page.highlight_toml(toml_text(study.scenario)),
        "provenance": html_page.provenance_entries(origin),
    }
    return html_page.render("study.html.j2", context)


def _contents_label(image: html_page.PageFigure) -> str:
    """Return a short label for the row of contents."""
    suffix = image.name.removeprefix(study_figures.FIGURE_NAMES[4])
    return f"Map{suffix.replace('_', ' ')}" if suffix != image.name else image.title


def _dependence_words(insight: SweepAnalysis) -> str:
    shares = {
        "saltelli": "total shares, Sobol indices",
        "grid": "total shares, exact over the grid",
        "polynomial": "total shares, Sobol indices of a polynomial of the factors",
    }[next((one.method for one in insight.dependence.values()), "polynomial")]
    return f"How much of the variance of each metric's rank a factor accounts for: {shares}."


def _tiles(insight: SweepAnalysis) -> list[KeyNumber]:
    share = insight.completed
    aside = ""
    if math.isfinite(share.low):
        aside = f"95 % confidence: {number(100 * share.low)} to {number(100 * share.high)} %"
    tiles = [KeyNumber("completed", number(100.0 * share.value), "%", aside)]
    if insight.require:
        value = number(100.0 * insight.succeeded.value)
        limits = requirement_text(insight.require, lambda _, end: number(end))
        tiles.append(KeyNumber("as required", value, "%", limits))
    overall = insight.overall
    if overall.known:
        entries = [
            ("median", overall.percentile(0.5).value),
            ("95 % have at most", overall.percentile(0.95).value),
            ("worst that completed", overall.worst),
        ]
        for name, at in entries if len(insight.runs) > 1 else entries[:1]:
            factor, unit = si_prefix(abs(at), insight.unit)
            text = "failed" if math.isinf(at) else number(factor * at)
            aside = insight.cost.text if text != "failed" else "too many failed for a bound"
            unit = unit if text != "failed" else ""
            tiles.append(KeyNumber(name, text, unit, aside))
    return tiles


def _name(entry: object) -> str:
    if isinstance(entry, Mapping):
        named = (str(entry[key]) for key in ("name", "use", "title", "kind") if entry.get(key))
        return next(named, "")
    text = str(entry or "")
    return Path(text).stem if text.endswith(".toml") else text
