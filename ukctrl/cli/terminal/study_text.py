"""What a study shows, at the terminal: a table of metrics and a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    Line,
    Part,
    clean,
    files,
    hanging,
    show,
    table_lines,
    verdict_lines,
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.studies.insight import Insight, Replay
    from ukctrl.studies.sweep import Study

SHOWN = ("rms_phi", "peak_phi", "rms_beta", "settling_time", "effort", "peak_u", "work")
"""Metrics that are shown beside the cost; the page has all of them."""
MOST_FACTORS = 6
"""Factors that are named."""
RESUME = "The same command with --resume goes on from here."


def show_study(
    insight: Insight, folder: Path, as_json: bool, replays: Sequence[Replay] | None = None
) -> None:
    """Print what a study shows, and where its files are.

    Args:
        insight: What it shows.
        folder: Where its files are.
        as_json: Whether a program reads it.
        replays: Samples that were run again for the report; None where there is no report.
    """
    from ukctrl.studies.insight.insight_record import to_dict
    from ukctrl.studies.insight.insight_verdicts import verdicts
    from ukctrl.studies.insight.study_tables import short_metric_table

    if as_json:
        record = to_dict(insight, replays or (), folder)
        write_json({"folder": str(folder), "finished": insight.study.finished, **record})
        return
    study, runs = insight.study, insight.runs
    done = int(runs.completed.sum())
    whole = done == len(runs) and study.finished
    style = "bold green" if whole else "bold yellow" if done else "bold red"
    left = study.about.plan.count - len(runs)
    headline = f"{done} of {len(runs)} samples completed" + (
        f", {left} are still to run" if left else ""
    )
    lines: list[Line] = [[Part(_name(study), "bold"), ": ", Part(headline, style)]]
    lines += hanging("  ", _design(insight), text_style="dim")
    metrics = short_metric_table(insight, SHOWN)
    lines += table_lines(metrics) if metrics.rows else []
    lines += verdict_lines(verdicts(insight, replays or ()), 10)
    if replays is not None:
        lines += files(folder, ("report", "report.html"))
    lines += files(folder, ("table", "study.csv"))
    if not study.finished:
        lines.append([RESUME])
    show(lines)


def show_unstarted(study: Study, as_json: bool) -> None:
    """Print that no sample of a study is finished."""
    if as_json:
        write_json(
            {"finished": False, "samples": {"planned": study.about.plan.count, "finished": 0}}
        )
        return
    state = Part("no sample is finished", "bold yellow")
    show([[Part(_name(study), "bold"), ": ", state], [RESUME]])


def _name(study: Study) -> str:
    return clean(str(study.scenario.get("name") or study.scenario.get("title") or "study"))


def _design(insight: Insight) -> str:
    study = insight.study
    paths = [axis.path for axis in insight.strongest] or [f.path for f in study.factors]
    rest = len(paths) - MOST_FACTORS
    varied = ", ".join(paths[:MOST_FACTORS]) + (f", and {rest} more" if rest > 0 else "")
    repeats = f", {study.repeats} repeats" if study.repeats > 1 else ""
    return (
        f"design {study.design}{repeats}, seed {study.seed}; varied: {varied or 'the seed alone'}"
    )
