"""The page of a search, in the look of a run's report, and the files beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.core.files.catalog import file_name
from ukctrl.core.number_text import number
from ukctrl.reports import web_page
from ukctrl.reports.plot import overlay
from ukctrl.studies.tuning import tuning_figures
from ukctrl.studies.tuning.tuned import Tuned
from ukctrl.studies.tuning.tuning_record import METHODS
from ukctrl.studies.tuning.tuning_tables import cost_table, gain_table, metric_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIGURES: Mapping[str, tuple[str, str]] = {
    "tune_search": (
        "The search",
        "Cost of every candidate, simulation by simulation, and the lowest so far of those that "
        "keep to the constraints. Crosses at the upper edge have no cost: a run did not complete.",
    ),
    "tune_gains": (
        "Gains explored",
        "The same candidates against each gain. A valley that ends at an end of the range says "
        "that the range is too narrow, or that the cost leaves something out.",
    ),
    "tune_errors": (
        "Errors before and after",
        "The scenario as its file has it, with the card's gains and with the tuned ones.",
    ),
    "tune_inputs": ("Inputs before and after", "What each actuator does with either gains."),
}


def card_name(tuned: Tuned) -> str:
    """Return the name of the card's file, without its ending."""
    return file_name(tuned.tuning.entry, "controller")


def write_tuned(tuned: Tuned, folder: str | Path) -> Path:
    """Write `tune.html`, `tune.json`, `history.csv`, the figures and the card, each atomically.

    Args:
        tuned: A controller whose gains were searched for.
        folder: Where, made when it does not exist.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images, card = pictures(tuned), f"{card_name(tuned)}.toml"
    texts = {"tune.json": f"{tuned.to_json()}\n", "history.csv": tuned.history_csv()}
    if math.isfinite(tuned.tuning.best.cost):
        texts[card] = tuned.card()
    texts["tune.html"] = html(tuned, images)
    page = web_page.write_page("the search", Path(folder), texts, images, _FIGURES)
    if card not in texts:
        (page.parent / card).unlink(missing_ok=True)
    return page


def pictures(tuned: Tuned) -> list[web_page.Picture]:
    """Draw the figures."""
    tuning, shown = tuned.tuning, {k: run for k, run in tuned.results.items() if len(run.samples)}
    draw: dict[str, Callable[[], Figure]] = {
        "tune_search": lambda: tuning_figures.search(tuning),
        "tune_gains": lambda: tuning_figures.gains(tuning),
    }
    if len(shown) == 2:
        labels = next(iter(shown.values())).labels
        if labels.rows:
            draw["tune_errors"] = lambda: overlay.errors(shown)
        if labels.actuators:
            draw["tune_inputs"] = lambda: overlay.inputs(shown)
    return [
        web_page.picture(name, title, caption, draw[name]())
        for name, (title, caption) in _FIGURES.items()
        if name in draw
    ]


def html(tuned: Tuned, images: Sequence[web_page.Picture]) -> str:
    """Return the page, with figures from `pictures`."""
    tuning = tuned.tuning
    outcome, *rest = tuned.verdicts
    contents = [("outcome", "Outcome"), *((image.name, image.title) for image in images)]
    if tuned.results:
        contents.append(("metrics", "Metrics before and after"))
    contents += [("card", "The card"), ("conditions", "How it was searched")]
    first = next(iter(tuned.results.values()), None)
    context = {
        "title": tuned.title,
        "controller": tuning.entry,
        "scenario": tuned.scenario.name,
        "simulations": tuning.simulations,
        "cost": f"Cost: {tuning.cost}",
        "headline": outcome.text,
        "level": outcome.level,
        "contents": contents,
        "verdicts": rest,
        "gains": gain_table(tuning),
        "costs": cost_table(tuned),
        "metrics": metric_table(tuned),
        "figures": images,
        "card_file": f"{card_name(tuned)}.toml",
        "card": web_page.highlight_toml(tuned.card()) if math.isfinite(tuning.best.cost) else "",
        "facts": conditions(tuned),
        "provenance": web_page.provenance_entries(
            {k: v for k, v in first.provenance.items() if k not in ("timing", "gains")}
        )
        if first
        else [],
    }
    return web_page.render("tune.html.j2", context)


def conditions(tuned: Tuned) -> list[tuple[str, str]]:
    """Return how it was searched, as names and texts."""
    tuning, plants = tuned.tuning, tuned.plants
    each = f"{plants.count} plants" if plants.count > 1 else "one plant"
    spent = f"{tuning.simulations} of {tuning.budget} simulations"
    facts = [
        ("method", METHODS[tuning.method]),
        ("cost", tuning.cost),
        ("constraints", ", ".join(tuning.limits) or "none"),
        ("budget", f"{spent}, {len(tuning.trials)} candidates on {each}"),
        ("seed", f"{tuning.seed}, which no repeat of a comparison has"),
    ]
    if plants.count > 1 or plants.held_out:
        differences = [
            f"masses, inertias or parameters off by up to {number(100.0 * plants.mismatch)} %"
        ]
        differences = differences if plants.mismatch else []
        differences += [f"{factor.path} varied" for factor in plants.vary]
        facts.append(("plants", "; ".join([*differences, "a seed of noise and start for each"])))
    if plants.count > 1:
        rule = "that of the worst" if plants.aggregate == "worst" else "the average"
        facts.append(("cost of a candidate", f"{rule} over the plants"))
    return facts
