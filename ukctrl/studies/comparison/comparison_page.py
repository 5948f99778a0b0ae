"""The page of a comparison, its figures, and the files beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ukctrl.core.arguments import expect
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number
from ukctrl.core.verdict import Level
from ukctrl.reports import html_page
from ukctrl.reports.plot import overlay
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.reports.scene.page_data import PageData
from ukctrl.reports.scene.run_scene import runs_scene
from ukctrl.simulation.result.atomic_files import output_folder, toml_text
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.verdicts import headline
from ukctrl.studies.comparison import comparison_figures as figures
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_tables import (
    controller_columns,
    front_table,
    loop_table,
    metric_table,
    robustness_table,
    search_spread_table,
    share_completed,
)
from ukctrl.studies.comparison.fairness import believed_changes
from ukctrl.studies.comparison.front_figure import draw_fronts
from ukctrl.studies.comparison.ranking import TEST_DESCRIPTION
from ukctrl.studies.study_report import Report, ReportSection
from ukctrl.studies.tuning import GainSearch, tuned_card
from ukctrl.studies.tuning.tuning_page import gain_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


T = TypeVar("T")
_CAPTIONS: Mapping[str, tuple[str, str, str]] = {
    "compare_errors": (
        "Errors",
        "Norms of the task's error on a log scale, one colour and dash for each controller.",
        " Lines are medians over the repeats, bands hold 80 % of them.",
    ),
    "compare_tradeoff": (
        "Error against effort",
        "Lower left is better. Stairs join the Pareto-optimal controllers. A hollow marker: not "
        "all runs completed; it is drawn if it fits the axes.",
        " Those on the stairs are ringed. Crosses are 95 % confidence intervals of the means.",
    ),
    "compare_front": (
        "What each law can do",
        "Each law at many settings of its gains; a line joins the Pareto-optimal settings of a "
        "law, by means over the repeats. Lower left is better. Bands and bars are 95 % "
        "confidence intervals of the means; they contain the random effects common to all laws, "
        "the paired tests do not.",
        "",
    ),
    "compare_mismatch": (
        "Robustness",
        "The parameters of the true robot differ at random by up to the mismatch; the models of "
        "the laws stay the same. Lines are medians of the runs that completed, bands hold 80 % "
        "of them.",
        "",
    ),
    "compare_inputs": (
        "Inputs",
        "The input of each actuator, by controller.",
        " The first repeat is shown.",
    ),
    "compare_tuning": (
        "Search for gains",
        "The lowest cost so far, simulation by simulation; the first has the card's gains.",
        "",
    ),
}
"""Figures: title, caption, and what it says besides where there are repeats."""


def write_comparison(comparison: Comparison, folder: AnyPath) -> Path:
    """Write the page `report.html` with its figures, `compare.json`, `compare.csv`, `runs.csv`,
    each result in a folder of its own, and each tuned controller as a card, each atomically.
    Figures of an earlier comparison that this one does not have are removed.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    comparison = expect("comparison", comparison, Comparison, "which compare returns")
    home = Path(folder)
    with output_folder("the comparison", home):
        for name, run in comparison.folders().items():
            comparison.results[name].save(home / run)
    images = pictures(comparison)
    scene = html_page.embed_scene(runs_scene(comparison.results))
    texts = {
        "compare.json": f"{comparison.to_json()}\n",
        "compare.csv": comparison.to_csv(),
        "runs.csv": comparison.runs_csv(),
        **({"fronts.csv": comparison.fronts.to_csv()} if comparison.fronts else {}),
        **{f"tuned/{name}.toml": card for name, card in tuned_cards(comparison).items()},
        "report.html": page_html(comparison, images, scene),
    }
    return html_page.write_page("the comparison", home, texts, images, _CAPTIONS)


MAX_GAINS = 6
"""Gains of more than these are on the page alone."""


def report(comparison: Comparison) -> Report:
    """Return what the terminal shows: the tables, and the verdict that sums up."""
    sections = [ReportSection(metric_table(comparison, short=True))]
    robustness, fronts = robustness_table(comparison), comparison.fronts
    if comparison.robustness is not None and robustness is not None:
        sections.append(ReportSection(robustness, f"median {comparison.robustness.metric}"))
    if fronts is not None:
        heading = f"{fronts.metrics[0]} at equal {fronts.metrics[1]}"
        sections.append(ReportSection(front_table(fronts, comparison.duels), heading))
    luck = search_spread_table(comparison)
    sections += [ReportSection(luck, "luck of tuning")] if luck is not None else []
    tuned = {name: tuning for name, tuning in comparison.tunings.items() if tuning.gains}
    sections += [ReportSection(_tuned_table(tuned), "tuned")] if tuned else []
    noteworthy = {
        "repeats": comparison.conditions.asked > 1,
        "gains": bool(comparison.tunings),
        "belief": False,
    }
    facts = {fact.subject: fact for fact in comparison.facts}
    shown = [facts[name] for name in noteworthy if name in facts]
    return Report(
        comparison.title,
        comparison.verdicts[:1],
        sections,
        [(f.subject, f.text) for f in shown if noteworthy[f.subject] or not f.equal],
        files=[("report", "report.html")],
        page_verdicts=[v for v in comparison.verdicts[1:] if v.subject not in METRICS],
    )


def html(comparison: Comparison) -> str:
    """Return the card of a notebook."""
    return report(comparison).card(runs_scene(comparison.results))


def _tuned_table(tunings: Mapping[str, GainSearch]) -> ReportTable:
    rows = []
    for name, tuning in tunings.items():
        gains = [
            f"{gain.path.removeprefix('controller.')} {number(tuning.best.gains[gain.path], 4)}"
            for gain in tuning.gains
        ]
        more = [f"and {len(gains) - MAX_GAINS} more"] if len(gains) > MAX_GAINS else []
        text = ", ".join([*gains[:MAX_GAINS], *more])
        if any(map(math.isnan, tuning.best.gains.values())):
            text = "the card's own gains"
        card_cost = number(tuning.before, 4) if math.isfinite(tuning.before) else "failed"
        rows.append([name, f"{card_cost} -> {number(tuning.after, 4)}", text])
    heads = TableColumn("", "name"), TableColumn("cost", "text"), TableColumn("gains", "text")
    return ReportTable.from_rows(heads, rows)


def tuned_cards(comparison: Comparison) -> dict[str, str]:
    """Return the tuned controllers as the texts of cards, by the names of their files."""
    texts = {}
    for name, folder in comparison.folders().items():
        tuning = comparison.tunings.get(name)
        if tuning is None or not tuning.gains:
            continue
        controller = _card_table(comparison.results[name].scenario.get("controller"))
        texts[folder] = tuned_card(controller, tuning, comparison.first.names["scenario"])
    return texts


def pictures(comparison: Comparison) -> list[html_page.PageFigure]:
    """Draw the overlaid figures."""
    shown = {name: run for name, run in comparison.results.items() if len(run.samples)}
    if not shown:
        return []
    labels = next(iter(shown.values())).labels
    draw: dict[str, Callable[[], Figure]] = {}
    if labels.rows:
        draw["compare_errors"] = lambda: overlay.errors(
            _by_display_name(comparison, shown),
            _by_display_name(comparison, figures.error_bands(comparison)),
        )
    if labels.rows and labels.actuators:
        draw["compare_tradeoff"] = lambda: figures.tradeoff_figure(comparison)
    fronts, robustness = comparison.fronts, comparison.robustness
    if fronts is not None:
        draw["compare_front"] = lambda: draw_fronts(fronts)
    if robustness is not None:
        named = robustness._replace(entries=_by_display_name(comparison, robustness.entries))
        draw["compare_mismatch"] = lambda: figures.mismatch_figure(named)
    if labels.actuators:
        draw["compare_inputs"] = lambda: overlay.inputs(_by_display_name(comparison, shown))
    if comparison.tunings:
        draw["compare_tuning"] = lambda: figures.tuning_figure(comparison.tunings)
    several = comparison.repeats > 1
    return [
        html_page.page_figure(name, title, f"{caption}{repeated * several}", draw[name])
        for name, (title, caption, repeated) in _CAPTIONS.items()
        if name in draw
    ]


def _by_display_name(comparison: Comparison, by_name: Mapping[str, T]) -> dict[str, T]:
    """Return what controllers have, by the names that figures give them."""
    return {comparison.shown(name): one for name, one in by_name.items()}


def page_html(
    comparison: Comparison, images: Sequence[html_page.PageFigure], scene: PageData | None = None
) -> str:
    """Return the page, with figures from `pictures` and the robots of all controllers in step."""
    first, (overall, *verdicts) = comparison.first, comparison.verdicts
    last = ("words", "In words"), ("conditions", "Conditions"), ("controllers", "Controllers")
    context = {
        "title": first.title,
        "names": first.names,
        "count": len(comparison.results),
        "headline": overall.text,
        "contents": [("table", "Table"), *((one.name, one.title) for one in images), *last],
        "general": [entry for entry in verdicts if entry.subject not in METRICS],
        "figures": images,
        "controllers": [
            _controller(comparison, name, index) for index, name in enumerate(comparison.results)
        ],
        "table": metric_table(comparison),
        "words": [entry for entry in verdicts if entry.subject in METRICS],
        "equal": _facts(comparison, equal=True),
        "different": _facts(comparison, equal=False),
        "loops": loop_table(comparison.stands, controller_columns("", comparison)),
        "repeats": comparison.repeats if comparison.repeats > 1 else 0,
        "test": TEST_DESCRIPTION,
        "levels": robustness_table(comparison),
        "luck": search_spread_table(comparison),
        "fronts": front_table(comparison.fronts, comparison.duels) if comparison.fronts else None,
        "front": comparison.fronts.metrics if comparison.fronts else (),
        "provenance": html_page.provenance_entries(first.provenance, "timing"),
    }
    return html_page.render("compare.html.j2", context, scene)


def _facts(comparison: Comparison, *, equal: bool) -> ReportTable:
    """Return what was equal, or what was not."""
    rows = []
    for fact in (fact for fact in comparison.facts if fact.equal == equal):
        level: Level = "good" if fact.equal else "note" if fact.subject == "belief" else "warning"
        mark = TableCell("equal" if fact.equal else "differs", level)
        rows.append([mark, TableCell(fact.subject), TableCell(fact.text)])
    return ReportTable(
        [TableColumn("", "text"), TableColumn("", "text"), TableColumn("", "meaning")], rows
    )


def _controller(comparison: Comparison, name: str, index: int) -> dict[str, object]:
    """Return what the page says of one controller."""
    run, tuning = comparison.results[name], comparison.tunings.get(name)
    share = share_completed(comparison, name)
    believed = believed_changes(run.scenario.get("believed"))
    search = ""
    if tuning is not None and tuning.gains:
        old_cost = number(tuning.before) if math.isfinite(tuning.before) else "none: it failed"
        search = (
            f"{len(tuning.trials)} simulations brought the cost, {tuning.cost}, from {old_cost} to "
            f"{number(tuning.after)} on the training seed."
        )
    elif tuning is not None:
        search = "It has no gains to tune."
    return {
        "name": name,
        "series": index,
        "headline": headline(run) + (f" Of its repeats, {share} completed." if share else ""),
        "search": search,
        "gains": gain_table(tuning) if tuning is not None and tuning.gains else None,
        "card": html_page.highlight_toml(toml_text(_card_table(run.scenario.get("controller")))),
        "belief": html_page.highlight_toml(toml_text({"believed": believed})) if believed else "",
    }


def _card_table(controller: object) -> Mapping[str, object]:
    return controller if isinstance(controller, Mapping) else {"use": str(controller or "")}
