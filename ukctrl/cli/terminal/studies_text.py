"""What `compare`, `sweep`, `tune` and `learn` print: tables, and what these support in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ukctrl.cli.terminal.lines import (
    BEST_MARK,
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    sanitise,
    table_lines,
    verdict_lines,
)

if TYPE_CHECKING:
    from ukctrl.studies.comparison import Comparison
    from ukctrl.studies.learning.learning_result import LearningResult
    from ukctrl.studies.sweep import Study
    from ukctrl.studies.sweep_analysis import SampleReplay, SweepAnalysis
    from ukctrl.studies.tuning import Tuned
    from ukctrl.studies.tuning.fuzzy_gain_design import FuzzyGainDesign


MAX_GAINS = 6
"""Gains of more than these are on the page alone."""


def comparison_lines(comparison: Comparison, folder: Path) -> list[Line]:
    """Return the table of metrics, one column a controller."""
    from ukctrl.simulation.result.metrics import METRICS
    from ukctrl.studies.comparison.comparison_tables import (
        front_table,
        metric_table,
        robustness_table,
        search_spread_table,
    )

    lines: list[Line] = hanging_lines("", comparison.title, text_style="bold")
    noteworthy = {
        "repeats": comparison.conditions.asked > 1,
        "gains": bool(comparison.tunings),
        "belief": False,
    }
    facts = {fact.subject: fact for fact in comparison.facts}
    for subject, always in noteworthy.items():
        if subject in facts and (always or not facts[subject].equal):
            lines += hanging_lines(f"  {subject:<9}", facts[subject].text, text_style="dim")
    metrics = metric_table(comparison, short=True)
    lines += table_lines(metrics)
    if any(cell.mark == "best" for row in metrics.rows for cell in row):
        lines += hanging_lines("  ", f"{BEST_MARK} best, by a test", text_style="dim")
    robustness = robustness_table(comparison)
    if comparison.robustness is not None and robustness is not None:
        title = f"median {comparison.robustness.metric}"
        lines += ["", [StyledText(title, "bold")], *table_lines(robustness)]
    if comparison.fronts is not None:
        title = f"{comparison.fronts.metrics[0]} at equal {comparison.fronts.metrics[1]}"
        levels = front_table(comparison.fronts, comparison.duels)
        lines += ["", [StyledText(title, "bold")], *table_lines(levels)]
    luck = search_spread_table(comparison)
    if luck is not None:
        lines += ["", [StyledText("luck of tuning", "bold")], *table_lines(luck)]
    lines += _tunings(comparison)
    announced = list(comparison.stands.warnings()) if comparison.stands else []
    general = [
        verdict
        for verdict in comparison.verdicts
        if verdict.subject not in METRICS
        and not (verdict.level == "warning" and verdict in announced)
    ]
    lines += verdict_lines(general)
    written = [("report", "report.html"), ("data", "compare.csv")]
    if comparison.fronts is not None:
        written.append(("fronts", "fronts.csv"))
    if any(tuning.gains for tuning in comparison.tunings.values()):
        written.append(("cards", "tuned"))
    return [*lines, *file_lines(folder, *written)]


def _tunings(comparison: Comparison) -> list[Line]:
    """Return what the search for gains has found, one line a controller."""
    from ukctrl.core.number_text import number

    lines: list[Line] = []
    for name, tuning in comparison.tunings.items():
        if not tuning.gains:
            continue
        gains = [
            f"{gain.path.removeprefix('controller.')} {number(tuning.best.gains[gain.path], 4)}"
            for gain in tuning.gains
        ]
        more = [f"and {len(gains) - MAX_GAINS} more"] if len(gains) > MAX_GAINS else []
        shown = ", ".join([*gains[:MAX_GAINS], *more])
        old_cost = number(tuning.before, 4) if math.isfinite(tuning.before) else "failed"
        if any(map(math.isnan, tuning.best.gains.values())):
            shown = "the card's own gains"
        cost = f"{old_cost} -> {number(tuning.after, 4)}"
        lines += hanging_lines(f"  {sanitise(name)}: ", f"cost {cost} with {shown}")
    return ["", [StyledText("tuned", "bold")], *lines] if lines else []


SHORT_METRICS = ("rms_phi", "peak_phi", "rms_beta", "settling_time", "effort", "peak_u", "work")
"""Metrics that are shown beside the cost; the page has all of them."""
MAX_FACTORS = 6
"""Factors that are named."""
RESUME_TEXT = "The same command with --resume goes on from here."


def study_data(
    insight: SweepAnalysis, folder: Path, replays: Sequence[SampleReplay] | None
) -> dict[str, Any]:
    """Return what a study shows for programs, with where its files are."""
    from ukctrl.studies.sweep_analysis.summary_json import to_dict

    record = to_dict(insight, replays or (), folder)
    return {"folder": str(folder), "finished": insight.study.finished, **record}


def study_lines(
    insight: SweepAnalysis, folder: Path, replays: Sequence[SampleReplay] | None
) -> list[Line]:
    """Return what a study shows, and where its files are.

    Args:
        insight: What it shows.
        folder: Where its files are.
        replays: Samples that were run again for the report; None where there is no report.
    """
    from ukctrl.studies.sweep_analysis.study_tables import short_metric_table
    from ukctrl.studies.sweep_analysis.sweep_verdicts import verdicts

    study, runs = insight.study, insight.runs
    done = int(runs.completed.sum())
    whole = done == len(runs) and study.finished and not runs.unbelievable
    style = "bold green" if whole else "bold yellow" if done else "bold red"
    remaining = study.about.plan.count - len(runs)
    headline = f"{done} of {len(runs)} samples completed" + (
        f", {remaining} are still to run" if remaining else ""
    )
    lines: list[Line] = [[StyledText(_name(study), "bold"), ": ", StyledText(headline, style)]]
    lines += hanging_lines("  ", _design(insight), text_style="dim")
    metrics = short_metric_table(insight, SHORT_METRICS)
    lines += table_lines(metrics) if metrics.rows else []
    lines += verdict_lines(verdicts(insight, replays or ()), 10)
    if replays is not None:
        lines += file_lines(folder, ("report", "report.html"))
    lines += file_lines(folder, ("table", "study.csv"))
    if (folder / "study.parquet").exists():
        lines += file_lines(folder, ("parquet", "study.parquet"))
    if not study.finished:
        lines.append([RESUME_TEXT])
    return lines


def empty_study_lines(study: Study) -> list[Line]:
    """Return that no sample of a study is finished."""
    state = StyledText("no sample is finished", "bold yellow")
    return [[StyledText(_name(study), "bold"), ": ", state], [RESUME_TEXT]]


def _name(study: Study) -> str:
    return sanitise(str(study.scenario.get("name") or study.scenario.get("title") or "study"))


def _design(insight: SweepAnalysis) -> str:
    study = insight.study
    paths = [axis.path for axis in insight.strongest] or [f.path for f in study.factors]
    surplus = len(paths) - MAX_FACTORS
    varied = ", ".join(paths[:MAX_FACTORS]) + (f", and {surplus} more" if surplus > 0 else "")
    repeats = f", {study.repeats} repeats" if study.repeats > 1 else ""
    return (
        f"design {study.design}{repeats}, seed {study.seed}; varied: {varied or 'the seed alone'}"
    )


MAX_METRICS = 8
"""Metrics of more than these are on the page alone."""


def tuned_lines(tuned: Tuned, scenario: str, folder: Path) -> list[Line]:
    """Return what a search has found."""
    from ukctrl.studies.tuning import METHODS
    from ukctrl.studies.tuning.tuning_page import card_name, cost_table, gain_table, metric_table

    tuning = tuned.tuning
    lines: list[Line] = hanging_lines("", tuned.title, text_style="bold")
    plants = f" on {tuning.plants} plants, {tuning.aggregate}" if tuning.plants > 1 else ""
    facts = [
        ("tuned", f"{tuning.entry}: {METHODS[tuning.method]}"),
        ("cost", f"{tuning.cost}{plants}"),
        ("limits", ", ".join(tuning.limits)),
        ("budget", f"{tuning.simulations} of {tuning.budget} simulations"),
    ]
    for name, text in facts:
        if text:
            lines += hanging_lines(f"  {name:<8}", text, text_style="dim")
    lines += table_lines(gain_table(tuning))
    lines += table_lines(cost_table(tuned))
    metrics = metric_table(tuned.results, blocks=False)
    lines += table_lines(metrics, MAX_METRICS) if metrics is not None else []
    lines += verdict_lines(tuned.verdicts)
    card = f"{card_name(tuned)}.toml"
    lines += file_lines(folder, ("report", "tune.html"), ("data", "history.csv"))
    if tuned.tuning.best.cost < float("inf"):
        lines += file_lines(folder, ("card", card))
        if tuned.ok:
            command = f"ukctrl run {shlex.quote(scenario)} -c {shlex.quote(str(folder / card))}"
            lines.append([StyledText("next    ", "bold"), sanitise(command)])
    return lines


def learning_lines(practice: LearningResult, card: Path) -> list[Line]:
    """Return what trials were worth, and where the card is."""
    from ukctrl.studies.learning.learning_page import next_commands, trial_table

    learning = practice.learning
    text = f"gain {learning.gain:g}, cutoff {learning.cutoff:g} Hz, lead {learning.lead} ticks"
    lines: list[Line] = hanging_lines("", practice.scenario.title, text_style="bold")
    lines += hanging_lines(f"  {'learning':<9}", text, text_style="dim")
    lines += table_lines(trial_table(practice))
    lines += verdict_lines(practice.verdicts)
    lines += file_lines(
        card.parent, ("report", "learn.html"), ("data", "trials.csv"), ("card", card.name)
    )
    for _, command in next_commands(practice, card)[-1:]:
        lines.append([StyledText("next    ", "bold"), sanitise(command)])
    return lines


def fuzzy_lines(choice: FuzzyGainDesign, folder: Path) -> list[Line]:
    """Return the optimal gain of a fuzzy uncertainty, and what other prices would give."""
    from ukctrl.core.number_text import number
    from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn

    card_kappa, optimal_kappa = number(choice.card_kappa, 4), number(choice.kappa, 4)
    lines: list[Line] = hanging_lines("", choice.scenario.title, text_style="bold")
    lines += hanging_lines(
        f"  {'kappa':<8}", f"{optimal_kappa} 1/s in closed form; the card's is {card_kappa}"
    )
    lines += hanging_lines(f"  {'for':<8}", choice.uncertainty, text_style="dim")
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    chosen = choice.fuzzy_gain.price
    rows = [
        [
            TableCell(number(line[head], 4), "strong" if line["price"] == chosen else "")
            for head in heads
        ]
        for line in choice.to_dict()["prices"]
    ]
    lines += table_lines(ReportTable([TableColumn(head) for head in heads], rows))
    written = [("curve", "fuzzy_gain.csv"), ("figure", "fuzzy_gain.png")]
    return [*lines, *file_lines(folder, *written, ("card", f"{choice.name}.toml"))]
