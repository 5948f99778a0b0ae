"""How linear analysis is printed."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, file_lines, hanging_lines, sanitise, table_lines

if TYPE_CHECKING:
    from ukctrl.analysis.linear import (
        Design,
        Equilibrium,
        LargestPeriod,
        LinearAnalysis,
        Margins,
    )

STABILITY_STYLE = {"stable": "bold green", "neutral": "bold yellow", "unstable": "bold red"}


def analysis_lines(
    analysis: LinearAnalysis,
    folder: Path,
    equilibria: Sequence[Equilibrium] = (),
    design: Design | None = None,
    period: LargestPeriod | None = None,
    card: Path | None = None,
) -> list[Line]:
    """Return the verdict, the table and where the files are."""
    from ukctrl.analysis.linear.linear_page import facts

    style = STABILITY_STYLE.get(analysis.stability or "", "bold")
    lines: list[Line] = []
    lines += hanging_lines(f"{sanitise(analysis.scenario)}: ", analysis.verdict, "bold", style)
    for name, value in facts(analysis, equilibria):
        lines += hanging_lines(f"  {name:<15}", value, "cyan")
    if analysis.margins:
        lines += ["", *_margins(analysis.margins)]
    if period is not None:
        margin = f"a disk margin of {period.disk:g}" if period.disk else "stability"
        text = f"{period.period:.6g} s keeps {margin}; beyond it is lost"
        lines += hanging_lines(f"  {'longest hold':<15}", text, "cyan")
    if design is not None:
        lines += _design(design, card)
    for note in (*analysis.notes, *(design.notes if design is not None else ())):
        lines += hanging_lines("note: ", note, "bold")
    lines += file_lines(folder, ("report", "analysis.html"), ("data", "analysis.json"))
    return lines


def analysis_data(
    analysis: LinearAnalysis,
    equilibria: Sequence[Equilibrium],
    design: Design | None,
    period: LargestPeriod | None,
    card: Path | None = None,
) -> dict[str, object]:
    """Return everything that was found as plain data."""
    table: dict[str, object] = analysis.to_dict()
    table["equilibria"] = [
        {
            "q": equilibrium.point.q.tolist(),
            "u": equilibrium.point.u.tolist(),
            "family": equilibrium.family,
            "distance": equilibrium.distance,
        }
        for equilibrium in equilibria
    ]
    if design is not None:
        table["design"] = {
            **{name: value for name, value in dc.asdict(design.terms).items() if value is not None},
            "gains": dict(design.gains),
            "set": design.arguments(),
            "notes": list(design.notes),
            "card": None if card is None else str(card),
        }
    if period is not None:
        table["longest_period"] = period._asdict()
    return table


def _margins(margins: Sequence[Margins]) -> list[Line]:
    """Return the margins of the motors that have least."""
    from ukctrl.analysis.linear.linear_page import MAX_ENTRIES, margin_table
    from ukctrl.core.tie_breaking import tie_ranks
    from ukctrl.reports.report_table import first_columns

    order = tie_ranks(margin.disk for margin in margins)
    indices = sorted(sorted(range(len(margins)), key=lambda k: order[k])[:MAX_ENTRIES])
    lines = table_lines(first_columns(margin_table([margins[k] for k in indices]), 6))
    if len(margins) > MAX_ENTRIES:
        lines += hanging_lines(
            "  ", f"and {len(margins) - MAX_ENTRIES} motors with more, in the files"
        )
    return lines


def _design(design: Design, card: Path | None) -> list[Line]:
    target = f"for {design.terms}:"
    lines: list[Line] = hanging_lines(f"  {'gains':<15}", target, "cyan")
    lines += [[f"    --set {sanitise(argument)}"] for argument in design.arguments()]
    if card is not None:
        lines += hanging_lines(f"  {'card':<15}", str(card), "cyan")
    return lines
