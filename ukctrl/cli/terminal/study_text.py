"""What a study shows, at the terminal: a table of metrics and a few sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, files, hanging, show, table, write_json

if TYPE_CHECKING:
    from ukctrl.studies.insight import Insight, Replay, Summary
    from ukctrl.studies.sweep import Study

LEVEL_STYLE = {"bad": "red", "warning": "yellow", "good": "green"}
SHOWN = ("rms_phi", "peak_phi", "rms_beta", "settling_time", "effort", "peak_u", "work")
"""Metrics that are shown beside the cost; the page has all of them."""
LEVELS = (0.5, 0.95, 0.99)
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

    if as_json:
        found = to_dict(insight, replays or (), folder)
        write_json({"folder": str(folder), "finished": insight.study.finished, **found})
        return
    study, runs = insight.study, insight.runs
    done = int(runs.completed.sum())
    whole = done == len(runs) and study.finished
    style = "bold green" if whole else "bold yellow" if done else "bold red"
    left = study.about.plan.count - len(runs)
    told = f"{done} of {len(runs)} samples completed" + (
        f", {left} are still to run" if left else ""
    )
    lines: list[Line] = [[Part(_name(study), "bold"), ": ", Part(told, style)]]
    lines += hanging("  ", _design(insight), text_style="dim")
    rows = [_row(insight, one) for one in _chosen(insight)]
    if rows:
        heads = ["metric", "", *(f"{100.0 * level:g} %" for level in LEVELS), "worst"]
        lines += table([[Part(head, "dim") for head in heads], *rows], "<<>>>>")
    for verdict in verdicts(insight, replays or ()):
        style = LEVEL_STYLE.get(verdict.level, "dim")
        lines += hanging(f"  {verdict.subject:<10}", verdict.text, style)
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
    told = Part("no sample is finished", "bold yellow")
    show([[Part(_name(study), "bold"), ": ", told], [RESUME]])


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


def _chosen(insight: Insight) -> list[Summary]:
    named = {one.metric: one for one in insight.summaries}
    cost = insight.overall
    return [
        *([cost] if cost.known else []),
        *(named[name] for name in SHOWN if name in named and name != cost.metric),
    ]


def _row(insight: Insight, one: Summary) -> Sequence[Part | str]:
    from ukctrl.core.number_text import unit_text

    unit = unit_text(insight.unit_of(one.metric))
    values = [one.percentile(level).value for level in LEVELS]
    cells = [Part("failed", "red") if math.isinf(v) else Part(f"{v:.4g}") for v in values]
    return [Part(one.metric, "cyan"), Part(unit, "dim"), *cells, Part(f"{one.worst:.4g}")]
