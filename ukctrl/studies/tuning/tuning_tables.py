"""The tables of a search: gains, costs and metrics with the card's gains and the tuned ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ukctrl.core.number_text import number, unit_text
from ukctrl.reports.table import Cell, Column, Table
from ukctrl.simulation.result.metrics import METRICS, unit_in
from ukctrl.studies.tuning.tuned import Tuned
from ukctrl.studies.tuning.tuning_record import Tuning


def gain_table(tuning: Tuning) -> Table:
    """Return every gain with its range, those marked that came to an end of it."""
    heads = [Column("gain", "name"), Column("card"), Column("tuned"), Column("range searched")]
    return Table.of(
        [*heads, Column("scale", "unit")],
        (
            [
                gain.path.removeprefix("controller."),
                number(gain.value, 4),
                Cell(
                    number(tuning.best.gains[gain.path], 4),
                    "strong",
                    "at an end" if gain.path in tuning.at_border else "",
                    aside_failed=True,
                ),
                f"{number(gain.low)} to {number(gain.high)}",
                "logarithmic" if gain.scale == "log" else "linear",
            ]
            for gain in tuning.gains
        ),
    )


def cost_table(tuned: Tuned) -> Table:
    """Return costs and violations, where the gains were tuned and on held-out plants."""
    return Table.of(_heads("cost", "plants"), _costs(tuned))


def _costs(tuned: Tuned) -> Iterator[list[Cell | str]]:
    tuning = tuned.tuning
    pairs = [("tuned on", tuning.card, tuning.best)]
    if tuned.held_out is not None:
        pairs.append(("held out", tuned.held_out.card, tuned.held_out.tuned))
    for where, card, best in pairs:
        several = max(len(card.each), len(best.each)) > 1
        what = "average cost" if several else "cost"
        yield _compared(what, where, card.average, best.average)
        if several:
            yield _compared("worst cost", where, card.worst, best.worst)
        if tuning.limits:
            beyond = 100.0 * card.violation, 100.0 * best.violation
            yield _compared("beyond constraints [%]", where, *beyond)


def metric_table(tuned: Tuned, *, blocks: bool = True) -> Table | None:
    """Return the metrics of the scenario as its file has it; None where it was not run.

    Args:
        tuned: What is shown.
        blocks: Whether metrics of single servo blocks are in it.
    """
    if len(tuned.results) < 2:
        return None
    runs = tuned.results["card"], tuned.results["tuned"]
    statuses = [run.status for run in runs]
    rows: list[list[Cell | str]] = []
    if statuses != ["completed", "completed"]:
        rows.append(["status", "", *statuses, ""])
    for name in runs[0].metrics:
        metric = METRICS.get(name.partition(".")[0])
        if metric is None or metric.function is None or not metric.about_controller:
            continue
        before, after = (
            run.metrics.get(name, math.nan) if run.status == "completed" else math.nan
            for run in runs
        )
        if (math.isfinite(before) or math.isfinite(after)) and (blocks or "." not in name):
            unit = unit_text(unit_in(name, runs[0].labels))
            rows.append(_compared(name, unit, before, after))
    return Table.of(_heads("metric", "unit"), rows)


def _heads(what: str, where: str) -> list[Column]:
    numbers = [Column("card"), Column("tuned"), Column("change")]
    return [Column(what, "name"), Column(where, "unit"), *numbers]


def _compared(what: str, where: str, card: float, tuned: float) -> list[Cell | str]:
    """Return two numbers and the relative change from one to the other."""
    change = tuned / card - 1.0 if card and math.isfinite(card) else math.nan
    shown = f"{100.0 * change:+.0f} %" if math.isfinite(change) and abs(change) < 100.0 else ""
    before, after = (number(v, 4) if math.isfinite(v) else "–" for v in (card, tuned))
    return [what, where, before, Cell(after, "strong"), shown.replace("-", "−")]
