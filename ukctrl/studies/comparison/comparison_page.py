"""The page of a comparison, in the look of a run's report, with its figures and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.core.number_text import number
from ukctrl.reports import web_page
from ukctrl.reports.plot import comparison_figures as figures
from ukctrl.reports.plot import overlay, style
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.storage import toml_text, write_atomically
from ukctrl.simulation.verdicts import Level, headline
from ukctrl.studies.comparison.comparison_tables import metric_lines, robustness_lines
from ukctrl.studies.comparison.comparison_verdicts import TEST
from ukctrl.studies.comparison.fairness import changed_belief
from ukctrl.studies.comparison.figure_data import bands, courses, points
from ukctrl.studies.tuning import tuned_card

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from ukctrl.studies.comparison.comparison import Comparison

__all__ = ["html", "pictures", "write"]

_LEVELS: Mapping[str, Level] = {"completed": "good", "interrupted": "warning"}

_FIGURES: Mapping[str, tuple[str, str]] = {
    "compare_errors": (
        "Errors",
        "Norms of the task's error on a log scale, one colour and dash for each controller.",
    ),
    "compare_tradeoff": (
        "Error against effort",
        "Lower left is better. Ringed, and joined by stairs: those that nobody beats in both. "
        "Hollow, where it fits in: not all runs completed.",
    ),
    "compare_mismatch": (
        "Robustness",
        "The true robot's parameters are off at random by up to the mismatch, and beliefs stay. "
        "Lines are medians of the runs that completed, bands hold 80 % of them.",
    ),
    "compare_inputs": ("Inputs", "What each actuator does under each controller."),
    "compare_tuning": (
        "Search for gains",
        "The lowest cost so far, simulation by simulation; the first is the card.",
    ),
}
_REPEATED: Mapping[str, str] = {
    "compare_errors": "Lines are medians over the repeats, bands hold 80 % of them.",
    "compare_tradeoff": "Crosses are 95 % confidence intervals of the means.",
    "compare_inputs": "Those of the first repeat.",
}
"""What captions say where there are repeats."""


def write(comparison: Comparison, directory: str | Path) -> Path:
    """Write `report.html`, `compare.json`, `compare.csv`, `runs.csv`, the figures and the tuned
    cards, each atomically. Figures of an earlier comparison that this one does not have are
    removed.

    Returns:
        The page.

    Raises:
        InputError: The directory cannot be written to.
    """
    folder = Path(directory)
    images = pictures(comparison)
    target = folder / "report.html"
    with web_page.folder_for("the comparison", folder):
        web_page.write_pictures(images, folder, _FIGURES)
        write_atomically(folder / "compare.json", f"{comparison.to_json()}\n".encode())
        write_atomically(folder / "compare.csv", comparison.to_csv().encode())
        write_atomically(folder / "runs.csv", comparison.runs_csv().encode())
        for name, text in cards(comparison).items():
            (folder / "tuned").mkdir(exist_ok=True)
            write_atomically(folder / "tuned" / f"{name}.toml", text.encode())
        write_atomically(target, html(comparison, images).encode())
    return target


def cards(comparison: Comparison) -> dict[str, str]:
    """Return the tuned controllers as the texts of cards, by the names of their files."""
    texts = {}
    for name, folder in comparison.folders().items():
        found = comparison.tunings.get(name)
        if found is None or not found.gains:
            continue
        controller = _card(comparison.results[name].scenario.get("controller"))
        texts[folder] = tuned_card(controller, found, comparison.first.names["scenario"])
    return texts


def pictures(comparison: Comparison) -> list[web_page.Picture]:
    """Draw the overlaid figures."""
    shown = {name: run for name, run in comparison.results.items() if len(run.samples)}
    if not shown:
        return []
    labels = next(iter(shown.values())).labels
    draw: dict[str, Callable[[], Figure]] = {}
    if labels.rows:
        draw["compare_errors"] = lambda: overlay.errors(shown, bands(comparison))
    if labels.rows and labels.actuators:
        units = [metrics.unit_in(name, labels) for name in (comparison.error, "effort")]
        draw["compare_tradeoff"] = lambda: figures.tradeoff(points(comparison), *units)
    found = comparison.robustness
    if found is not None:
        draw["compare_mismatch"] = lambda: figures.mismatch(
            found.levels, courses(found), found.metric, found.unit
        )
    if labels.actuators:
        draw["compare_inputs"] = lambda: overlay.inputs(shown)
    searched = {name: t.history() for name, t in comparison.tunings.items()}
    if searched:
        cost = next(iter(comparison.tunings.values())).cost
        draw["compare_tuning"] = lambda: figures.tuning(searched, cost)
    return [
        web_page.picture(name, title, _caption(name, caption, comparison), draw[name]())
        for name, (title, caption) in _FIGURES.items()
        if name in draw
    ]


def _caption(name: str, caption: str, comparison: Comparison) -> str:
    more = _REPEATED.get(name, "") if comparison.repeats > 1 else ""
    return f"{caption} {more}".strip()


def html(comparison: Comparison, images: Sequence[web_page.Picture]) -> str:
    """Return the page.

    Args:
        comparison: What is compared.
        images: Its figures, from [`pictures`][ukctrl.studies.comparison.comparison_page.pictures].
    """
    first = comparison.first
    overall, *rest = comparison.verdicts
    general = [entry for entry in rest if entry.subject not in METRICS]
    contents = [("table", "Table"), *((image.name, image.title) for image in images)]
    contents += [
        ("words", "In words"),
        ("conditions", "Conditions"),
        ("controllers", "Controllers"),
    ]
    several = comparison.repeats > 1
    controllers = [
        {
            "name": name,
            "color": f"var(--series-{place % len(style.PALETTE)})",
            "dash": ("solid", "dashed", "dashed", "dotted")[place % len(style.DASHES)],
            "status": run.status,
            "level": _LEVELS.get(run.status, "bad"),
            "headline": headline(run),
            "belief": _belief(run.scenario.get("believed")),
            "repeats": _repeats(comparison, name),
            "share": _share(comparison, name),
            "tuning": _tuning(comparison, name),
            "card": web_page.highlight_toml(toml_text(_card(run.scenario.get("controller")))),
        }
        for place, (name, run) in enumerate(comparison.results.items())
    ]
    context = {
        "title": first.title,
        "names": first.names,
        "count": len(comparison.results),
        "headline": overall.text,
        "contents": contents,
        "general": general,
        "figures": images,
        "controllers": controllers,
        "table": metric_lines(comparison),
        "words": [entry for entry in rest if entry.subject in METRICS],
        "facts": comparison.facts,
        "repeats": comparison.repeats if several else 0,
        "test": TEST,
        "levels": robustness_lines(comparison),
        "provenance": web_page.provenance_entries(
            {key: value for key, value in first.provenance.items() if key != "timing"}
        ),
    }
    return web_page.render("compare.html.j2", context)


def _belief(believed: object) -> str:
    """Return what a controller believes of the robot, as TOML; empty where that is the truth."""
    told = changed_belief(believed)
    return web_page.highlight_toml(toml_text({"believed": told})) if told else ""


def _repeats(comparison: Comparison, name: str) -> str:
    share = _share(comparison, name)
    return f"Of its repeats, {share} completed." if share else ""


def _share(comparison: Comparison, name: str) -> str:
    """Return how many repeats completed, where that is not all of them."""
    every = comparison.runs[name]
    done = sum(run.completed for run in every)
    return f"{done} of {len(every)}" if len(every) > 1 and done < len(every) else ""


def _tuning(comparison: Comparison, name: str) -> dict[str, object] | None:
    found = comparison.tunings.get(name)
    if found is None:
        return None
    return {
        "cost": found.cost,
        "before": number(found.before) if math.isfinite(found.before) else "none: it failed",
        "after": number(found.after),
        "spent": len(found.trials),
        "gains": [
            {
                "path": gain.path,
                "card": number(gain.value, 4),
                "tuned": number(found.best.gains[gain.path], 4),
                "range": f"{number(gain.low)} to {number(gain.high)}",
                "at_border": gain.path in found.at_border,
            }
            for gain in found.gains
        ],
    }


def _card(controller: object) -> Mapping[str, object]:
    return controller if isinstance(controller, Mapping) else {"use": str(controller or "")}
