"""What `list`, `run`, `init`, `export` and `check` of a part print: short tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.analysis.conformance import Conformance
    from ukctrl.simulation.handover.hand_over import HandedOver
    from ukctrl.simulation.result.result import Result


MOST_REACTIONS = 12
"""Reactions of more passive constraints than this are in the files alone."""
STATUS_STYLE = {"completed": "bold green", "interrupted": "bold yellow"}


def show_catalogue(found: Mapping[str, Mapping[str, str]], as_json: bool) -> None:
    """Print names and titles."""
    if as_json:
        write_json(found)
        return
    size = max((len(clean(name)) for entries in found.values() for name in entries), default=0)
    lines: list[Line] = []
    for kind, entries in found.items():
        lines.append([Part(kind, "bold")])
        for name, title in entries.items():
            lines += hanging(f"  {clean(name):<{size}}  ", title, "cyan")
        if not entries:
            lines.append(["  none"])
    show(lines)


def show_result(result: Result, folder: Path, as_json: bool) -> None:
    """Print status, metrics and where the files are."""
    if as_json:
        write_json(result.summary())
        return
    from ukctrl.core.number_text import unit_text
    from ukctrl.reports.table import Column, Table
    from ukctrl.simulation.result.measures import reaction_peaks
    from ukctrl.simulation.result.metrics import unit_in
    from ukctrl.simulation.verdicts.law_verdicts import concessions

    names = result.names
    status = Part(result.status, STATUS_STYLE.get(result.status, "bold red"))
    lines: list[Line] = [[Part(clean(names["scenario"]) or "run", "bold"), ": ", status]]
    if result.message:
        lines += hanging("  ", result.message)
    actors = f"robot {names['robot']}, controller {names['controller']}"
    lines += hanging("  ", actors, text_style="dim")
    moved = moved_text(result.provenance.get("start_moved"))
    if moved:
        lines += hanging("  ", f"the start: {moved}")
    for given in concessions(result):
        lines += hanging("  ", f"{given.subject}: {given.text}")
    rows = [
        (name, f"{value:.4g}", unit_text(unit_in(name, result.labels)))
        for name, value in result.metrics.items()
        if "." not in name and math.isfinite(value)
    ]
    rows += [
        (f"reaction {peak.block}", f"{peak.value:.4g}", peak.unit)
        for peak in reaction_peaks(result.samples)[:MOST_REACTIONS]
    ]
    columns = Column("", "name"), Column(""), Column("", "unit")
    lines += table_lines(Table.of(columns, rows)) if rows else []
    lines += files(folder, ("report", "report.html"), ("data", "result.nc"))
    show(lines)


def moved_text(by: object) -> str:
    """Return how far a start was moved, in words; empty where it was not asked to be."""
    if not isinstance(by, Mapping) or not by:
        return ""
    far = [f"{float(size):.3g} {unit}" for unit, size in by.items() if size]
    if not far:
        return "on the constraints as given"
    return f"moved onto the constraints by {', '.join(far)}"


def show_workspace(created: Sequence[Path], folder: Path) -> None:
    """Print what `init` has made, and what to do next."""
    show(
        [
            *([f"  {clean(str(path))}"] for path in created),
            [Part("Next:", "bold")],
            [f"  cd {clean(str(folder))}"],
            ["  ukctrl check my-scenario"],
            ["  ukctrl run my-scenario"],
        ]
    )


def show_conformance(found: Sequence[Conformance], as_json: bool) -> None:
    """Print the clauses of every part, and what came where one does not hold."""
    if as_json:
        write_json([each.to_dict() for each in found])
        return
    lines: list[Line] = []
    for part in found:
        verdict = (
            Part("conforms", "bold green") if part.ok else Part("does not conform", "bold red")
        )
        lines.append([Part(clean(part.name), "bold"), f" ({part.kind}): ", verdict])
        for finding in part.findings:
            mark, style = ("ok", "green") if finding.ok else ("NO", "bold red")
            lines += hanging(f"  {mark}  ", finding.sentence, style)
            if not finding.ok:
                lines += hanging("      ", finding.detail, text_style="yellow")
    show(lines)


def show_export(done: HandedOver, as_json: bool) -> None:
    """Print what was written, and whether the class answers what the simulation did."""
    same = done.replay.worst == 0.0
    if as_json:
        write_json(
            {
                "folder": str(done.folder),
                "files": dict(done.files),
                "identical": same,
                "largest_difference": done.replay.worst,
                "ticks": done.replay.ticks,
                "mean_step_us": round(done.replay.mean_us, 1),
                "notes": list(done.notes),
            }
        )
        return
    from ukctrl.reports.table import Column, Table

    lines: list[Line] = [[Part(clean(str(done.folder)), "bold")]]
    columns = Column("", "text"), Column("", "text")
    lines += table_lines(Table.of(columns, done.files.items()))
    lines += hanging("  check  ", str(done.replay), "bold", "green" if same else "bold red")
    for note in done.notes:
        lines += hanging("  note   ", note, "bold", "yellow")
    show(lines)
