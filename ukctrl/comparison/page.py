"""The page of a comparison, in the look of a run's report, with its figures and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl import page
from ukctrl.errors import InputError
from ukctrl.metrics import METRICS
from ukctrl.plot import overlay, style
from ukctrl.pretty import number, sentence, unit_text
from ukctrl.storage import toml_text, write_atomically
from ukctrl.verdicts import Level, headline

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from ukctrl.comparison import Comparison
    from ukctrl.result import Result

__all__ = ["html", "pictures", "write"]

_LEVELS: Mapping[str, Level] = {"completed": "good", "interrupted": "warning"}

_FIGURES: Mapping[str, tuple[str, str]] = {
    "compare_errors": (
        "Errors",
        "Norms of the task's error on a log scale, one colour and dash for each controller.",
    ),
    "compare_tradeoff": (
        "Error against effort",
        "Lower left is better. A hollow dot is a run that did not complete.",
    ),
    "compare_inputs": ("Inputs", "What each actuator does under each controller."),
}


def write(comparison: Comparison, directory: str | Path) -> Path:
    """Write `report.html`, `compare.json`, `compare.csv` and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The directory cannot be written to.
    """
    folder = Path(directory)
    images = pictures(comparison)
    target = folder / "report.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for image in images:
            write_atomically(folder / f"{image.name}.png", image.png)
        write_atomically(folder / "compare.json", f"{comparison.to_json()}\n".encode())
        write_atomically(folder / "compare.csv", comparison.to_csv().encode())
        write_atomically(target, html(comparison, images).encode())
    except OSError as error:
        raise InputError(f"cannot write the comparison to '{folder}': {error}.") from error
    return target


def pictures(comparison: Comparison) -> list[page.Picture]:
    """Draw the overlaid figures."""
    shown = {name: run for name, run in comparison.results.items() if len(run.samples)}
    if not shown:
        return []
    labels = next(iter(shown.values())).labels
    draw: dict[str, Callable[[Mapping[str, Result]], Figure]] = {}
    if labels.rows:
        draw["compare_errors"] = overlay.errors
    if labels.rows and labels.actuators:
        draw["compare_tradeoff"] = overlay.tradeoff
    if labels.actuators:
        draw["compare_inputs"] = overlay.inputs
    return [page.picture(name, *_FIGURES[name], figure(shown)) for name, figure in draw.items()]


def html(comparison: Comparison, images: Sequence[page.Picture]) -> str:
    """Return the page.

    Args:
        comparison: What is compared.
        images: Its figures, from [`pictures`][ukctrl.comparison.page.pictures].
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
    controllers = [
        {
            "name": name,
            "color": f"var(--series-{place % len(style.PALETTE)})",
            "dash": ("solid", "dashed", "dashed", "dotted")[place % len(style.DASHES)],
            "status": run.status,
            "level": _LEVELS.get(run.status, "bad"),
            "headline": headline(run),
            "card": page.highlight_toml(toml_text(_card(run.scenario.get("controller")))),
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
        "table": _table(comparison),
        "words": [entry for entry in rest if entry.subject in METRICS],
        "facts": comparison.facts,
        "provenance": page.provenance_entries(
            {key: value for key, value in first.provenance.items() if key != "timing"}
        ),
    }
    return page.render("compare.html.j2", context)


def _table(comparison: Comparison) -> list[dict[str, object]]:
    """Return the lines of metrics that some run has, with the cells of the best marked."""
    table: list[dict[str, object]] = []
    for row in comparison.rows:
        if not any(map(math.isfinite, row.values.values())):
            continue
        base, _, block = row.metric.partition(".")
        if block and len(comparison.first.labels.blocks) < 2:
            continue
        cells = [
            {
                "text": _cell(base, value, completed=name in comparison.completed),
                "best": name in row.best,
            }
            for name, value in row.values.items()
        ]
        table.append(
            {
                "name": row.metric,
                "unit": unit_text(row.unit),
                "meaning": sentence(METRICS[base].description.replace("`", "")),
                "cells": cells,
            }
        )
    return table


def _cell(metric: str, value: float, *, completed: bool) -> str:
    if metric == "settling_time" and math.isnan(value):
        return "not settled"
    text = number(value)
    return text if completed or text == "–" else f"({text})"


def _card(controller: object) -> Mapping[str, object]:
    return controller if isinstance(controller, Mapping) else {"use": str(controller or "")}
