"""The page of a search, its tables, also for the terminal, and the files beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.core.arguments import expect
from ukctrl.core.files import AnyPath
from ukctrl.core.files.catalog import file_name
from ukctrl.core.files.output_folders import remove_file
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports import html_page
from ukctrl.reports.plot import overlay
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.simulation.result.metrics import METRICS, unit_in
from ukctrl.simulation.result.result import Result
from ukctrl.studies.batch.mismatch_level import mismatch_text
from ukctrl.studies.study_report import Report, ReportSection
from ukctrl.studies.tuning import tuning_figures
from ukctrl.studies.tuning.cost import MAX_VIOLATION, Limit
from ukctrl.studies.tuning.gain_search import METHODS, GainSearch, TuningTrial
from ukctrl.studies.tuning.tuned import Tuned

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SEARCH_TEXTS = {
    True: "bandwidth and damping, from which the gains follow; those of the card are tried first",
    False: "the gains by themselves",
}
"""What a search was over."""

_CAPTIONS: Mapping[str, tuple[str, str]] = {
    "tune_search": (
        "The search",
        "Cost of every candidate, simulation by simulation, and the lowest so far of those that "
        "keep to the constraints. Crosses at the upper edge have no cost: a run did not complete.",
    ),
    "tune_gains": (
        "Gains explored",
        "The cost of the same candidates over each gain. A minimum at an end of the range means "
        "that the range is too narrow, or that the cost omits something.",
    ),
    "tune_errors": (
        "Errors before and after",
        "The scenario as its file has it, with the card's gains and with the tuned ones.",
    ),
    "tune_inputs": (
        "Inputs before and after",
        "The input of each actuator, with the card's gains and with the tuned ones.",
    ),
}


def card_name(tuned: Tuned) -> str:
    """Return the name of the card's file, without its ending."""
    return file_name(tuned.tuning.entry, "controller")


def write_tuned(tuned: Tuned, folder: AnyPath) -> Path:
    """Write `tune.html`, `tune.json`, `history.csv`, the figures and the card, each atomically.

    Args:
        tuned: A controller whose gains were searched for.
        folder: Where, made when it does not exist.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    tuned = expect("tuned", tuned, Tuned, "which tune returns")
    images, card = pictures(tuned), f"{card_name(tuned)}.toml"
    texts = {"tune.json": f"{tuned.to_json()}\n", "history.csv": tuned.history_csv()}
    if math.isfinite(tuned.tuning.best.cost):
        texts[card] = tuned.card()
    texts["tune.html"] = html(tuned, images)
    page = html_page.write_page("the search", Path(folder), texts, images, _CAPTIONS)
    if card not in texts:
        remove_file(page.parent / card)
    return page


MAX_METRICS = 8
"""Metrics of more than these are on the page alone."""


def report(tuned: Tuned) -> Report:
    """Return what the terminal shows; the page has metrics of single servo blocks beside it."""
    tuning, metrics = tuned.tuning, metric_table(tuned.results, blocks=False)
    plants = f" on {tuning.plants} plants, {tuning.aggregate}" if tuning.plants > 1 else ""
    facts = [
        ("tuned", f"{tuning.entry}: {METHODS[tuning.method]}"),
        ("cost", f"{tuning.cost}{plants}"),
        ("limits", ", ".join(tuning.limits)),
        ("budget", f"{tuning.simulations} of {tuning.budget} simulations"),
    ]
    card = [("card", f"{card_name(tuned)}.toml")] if math.isfinite(tuning.best.cost) else []
    return Report(
        tuned.title,
        tuned.verdicts,
        [
            ReportSection(gain_table(tuning)),
            ReportSection(cost_table(tuned)),
            *([ReportSection(metrics, max_rows=MAX_METRICS)] if metrics is not None else []),
        ],
        facts=[(name, text) for name, text in facts if text],
        files=[("report", "tune.html"), ("data", "history.csv"), *card],
    )


def pictures(tuned: Tuned) -> list[html_page.PageFigure]:
    """Draw the figures."""
    tuning, shown = tuned.tuning, {k: run for k, run in tuned.results.items() if len(run.samples)}
    draw: dict[str, Callable[[], Figure]] = {
        "tune_search": lambda: tuning_figures.search_figure(tuning),
        "tune_gains": lambda: tuning_figures.gain_figure(tuning),
    }
    if len(shown) == 2:
        labels = next(iter(shown.values())).labels
        if labels.rows:
            draw["tune_errors"] = lambda: overlay.errors(shown)
        if labels.actuators:
            draw["tune_inputs"] = lambda: overlay.inputs(shown)
    return [
        html_page.page_figure(name, *_CAPTIONS[name], drawing) for name, drawing in draw.items()
    ]


def html(tuned: Tuned, images: Sequence[html_page.PageFigure]) -> str:
    """Return the page, with figures from `pictures`."""
    tuning = tuned.tuning
    outcome, *verdicts = tuned.verdicts
    contents = [("outcome", "Outcome"), *((image.name, image.title) for image in images)]
    contents += [("metrics", "Metrics before and after")] if tuned.results else []
    contents += [("card", "The card"), ("conditions", "How it was searched")]
    origin = next((run.provenance for run in tuned.results.values()), {})
    context = {
        "title": tuned.title,
        "what": "tuning",
        "controller": tuning.entry,
        "scenario": tuned.scenario.name,
        "spent": f"{tuning.simulations} simulations",
        "outcome": outcome,
        "contents": contents,
        "verdicts": verdicts,
        "tables": [("", gain_table(tuning)), (f"Cost: {tuning.cost}", cost_table(tuned))],
        "metrics": metric_table(tuned.results),
        "between": "The scenario as its file has it, with the card's gains and with the tuned ones",
        "figures": images,
        "card_file": f"{card_name(tuned)}.toml",
        "card": html_page.highlight_toml(tuned.card()) if math.isfinite(tuning.best.cost) else "",
        "uses": [],
        "no_card": "no candidate completed",
        "how": "How it was searched",
        "facts": search_conditions(tuned),
        "provenance": html_page.provenance_entries(origin, "timing", "gains"),
    }
    return html_page.render("new_card.html.j2", context)


def search_conditions(tuned: Tuned) -> list[tuple[str, str]]:
    """Return how it was searched, as names and texts."""
    tuning, plants = tuned.tuning, tuned.plants
    plant_text = f"{plants.count} plants" if plants.count > 1 else "one plant"
    spent = f"{tuning.simulations} of {tuning.budget} simulations"
    facts = [
        ("method", METHODS[tuning.method]),
        ("searched for", SEARCH_TEXTS[tuning.in_terms]),
        ("cost", tuning.cost),
        ("constraints", ", ".join(tuning.limits) or "none"),
        ("budget", f"{spent}, {len(tuning.trials)} candidates on {plant_text}"),
        ("seed", f"{tuning.seed}, not used by any repeat of a comparison"),
    ]
    if plants.count > 1 or plants.held_out:
        level = mismatch_text(plants.mismatch)
        off = (
            f"drawn from the fit '{level}'"
            if isinstance(plants.mismatch, str)
            else f"masses, inertias or parameters off by up to {level}"
        )
        differences = [off] if plants.mismatch else []
        differences += [f"{factor.path} varied" for factor in plants.vary]
        facts.append(("plants", "; ".join([*differences, "a seed of noise and start for each"])))
    if plants.count > 1:
        rule = "that of the worst" if plants.aggregate == "worst" else "the average"
        facts.append(("cost of a candidate", f"{rule} over the plants"))
    return facts


def gain_table(tuning: GainSearch) -> ReportTable:
    """Return every gain with its range, those marked that came to an end of it."""
    heads = TableColumn("gain", "name"), *map(TableColumn, ("card", "tuned", "range searched"))
    rows: list[list[TableCell | str]] = []
    for gain in tuning.gains:
        end = "at an end" if gain.path in tuning.at_border else ""
        best = _number_or_dash(tuning.best.gains[gain.path])
        ends = f"{number(gain.low)} to {number(gain.high)}"
        name, scale = gain.path.removeprefix("controller."), gain.scale
        rows.append([name, _number_or_dash(gain.value), TableCell(best, "strong", end, True)])
        rows[-1] += [TableCell(ends, note="widened" if gain.widened else "")]
        rows[-1] += ["logarithmic" if scale == "log" else "linear"]
    return ReportTable.from_rows([*heads, TableColumn("scale", "unit")], rows)


def _number_or_dash(value: float) -> str:
    return "–" if math.isnan(value) else number(value, 4)


def cost_table(tuned: Tuned) -> ReportTable:
    """Return costs and kept constraints, where the gains were tuned and on held-out plants."""
    return ReportTable.from_rows(_columns("cost", "plants", "card", "tuned"), _cost_rows(tuned))


def _cost_rows(tuned: Tuned) -> Iterator[list[TableCell | str]]:
    tuning = tuned.tuning
    pairs = [("tuned on", tuning.card, tuning.best)]
    if tuned.held_out is not None:
        pairs.append(("held out", tuned.held_out.card, tuned.held_out.tuned))
    for where, card, best in pairs:
        several = max(len(card.each), len(best.each)) > 1
        label = "average cost" if several else "cost"
        yield _change_row(label, where, card.average, best.average)
        if several:
            yield _change_row("worst cost", where, card.worst, best.worst)
        for k, text in enumerate(tuning.limits):
            card_text, tuned_text = (
                _constraint_text(one, k, Limit.parse(text)) for one in (card, best)
            )
            yield [text, where, card_text, TableCell(tuned_text, "strong"), ""]


def _constraint_text(trial: TuningTrial, k: int, limit: Limit) -> str:
    """Return in words whether gains keep to a constraint, number `k`."""
    if not trial.beyond:
        return "kept" if trial.feasible else "–"
    share = trial.beyond[k]
    if share >= MAX_VIOLATION:
        return "has no value"
    return f"beyond by {limit.amount(share)}" if share else "kept"


def metric_table(results: Mapping[str, Result], *, blocks: bool = True) -> ReportTable | None:
    """Return the metrics of two runs of a scenario beside each other; None where there are none.

    Args:
        results: Before and after, by what they are called.
        blocks: Whether metrics of single servo blocks are in it.
    """
    if len(results) < 2:
        return None
    runs = tuple(results.values())
    statuses = [run.status for run in runs]
    rows: list[list[TableCell | str]] = []
    if statuses != ["completed", "completed"]:
        rows.append(["status", "", *statuses, ""])
    for name in runs[0].metrics:
        metric = METRICS.get(name.partition(".")[0])
        if metric is None or metric.function is None or not metric.about_controller:
            continue
        card_value, tuned_value = (
            run.metrics.get(name, math.nan) if run.status == "completed" else math.nan
            for run in runs
        )
        if any(map(math.isfinite, (card_value, tuned_value))) and (blocks or "." not in name):
            unit = unit_text(unit_in(name, runs[0].labels))
            rows.append(_change_row(name, unit, card_value, tuned_value))
    return ReportTable.from_rows(_columns("metric", "unit", *results), rows)


def _columns(label: str, where: str, *runs: str) -> list[TableColumn]:
    names = TableColumn(label, "name"), TableColumn(where, "unit")
    return [*names, *map(TableColumn, (*runs, "change"))]


def _change_row(label: str, where: str, card: float, tuned: float) -> list[TableCell | str]:
    """Return two numbers and the relative change from one to the other."""
    rest = tuned / card if card and math.isfinite(card) else math.nan
    digits = 2 if 0.0 < rest < 5e-4 else 1 if 0.0 < rest < 5e-3 else 0  # 99.6 % is not 100 %
    shown = f"{100.0 * rest - 100.0:+.{digits}f} %" if abs(rest - 1.0) < 100.0 else ""
    card_text, tuned_text = (number(v, 4) if math.isfinite(v) else "–" for v in (card, tuned))
    return [label, where, card_text, TableCell(tuned_text, "strong"), shown.replace("-", "−")]
