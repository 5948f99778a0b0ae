"""What `list`, `run`, `init`, `export` and `check` of a part print: short tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import LEVELS, Line, Part, clean, files, hanging, table_lines

if TYPE_CHECKING:
    from ukctrl.analysis.conformance import Conformance
    from ukctrl.simulation.handover.hand_over import HandedOver
    from ukctrl.simulation.result.result import Result


MOST_REACTIONS = 12
"""Reactions of more passive constraints than this are in the files alone."""


def catalogue_lines(
    found: Mapping[str, Mapping[str, str]], kinds: Mapping[str, str] | None = None
) -> list[Line]:
    """Return names and titles, below each the kinds that it is of where these are given."""
    size = max((len(clean(name)) for entries in found.values() for name in entries), default=0)
    lines: list[Line] = []
    for kind, entries in found.items():
        lines.append([Part(kind, "bold")])
        for name, title in entries.items():
            lines += hanging(f"  {clean(name):<{size}}  ", title, "cyan")
            if kinds and kinds.get(name):
                lines += hanging(f"  {'':<{size}}  ", kinds[name], text_style="dim")
        if not entries:
            lines.append(["  none"])
    return lines


def result_lines(result: Result, folder: Path) -> list[Line]:
    """Return status, metrics and where the files are."""
    from ukctrl.core.number_text import unit_text
    from ukctrl.reports.table import Column, Table
    from ukctrl.simulation.result.measures import reaction_peaks
    from ukctrl.simulation.result.metrics import unit_in
    from ukctrl.simulation.result.verdicts.keep_verdict import kept
    from ukctrl.simulation.result.verdicts.law_verdicts import concessions

    level, belief = result.status_level, result.belief
    names = result.names
    status: list[Part | str] = [Part(result.status, LEVELS[level])]
    told = [each for each in belief.reasons if each.subject != "outcome"]
    if told and result.status == "completed":
        status += [", ", Part(belief.verdict, LEVELS[belief.level])]
    lines: list[Line] = [[Part(clean(names["scenario"]) or "run", "bold"), ": ", *status]]
    if result.message:
        lines += hanging("  ", result.message)
    actors = f"robot {names['robot']}, controller {names['controller']}"
    lines += hanging("  ", actors, text_style="dim")
    from ukctrl.core.number_text import moved_text

    moved = moved_text(result.provenance.get("start_moved"))
    if moved:
        lines += hanging("  ", f"the start: {moved}")
    limits = [each for each in kept(result) if each not in told]
    notes = (each for each in concessions(result) if each.level == "note")
    for each in (*told, *limits, *notes):
        lines += hanging("  ", f"{each.subject}: {each.text}", text_style=LEVELS[each.level])
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
    return lines


def workspace_lines(created: Sequence[Path], folder: Path) -> list[Line]:
    """Return what `init` has made, and what to do next."""
    return [
        *([f"  {clean(str(path))}"] for path in created),
        [Part("Next:", "bold")],
        [f"  cd {clean(str(folder))}"],
        ["  ukctrl check my-scenario"],
        ["  ukctrl run my-scenario"],
    ]


def conformance_lines(found: Sequence[Conformance]) -> list[Line]:
    """Return the clauses of every part, and what came where one does not hold."""
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
    return lines


def export_data(done: HandedOver) -> dict[str, object]:
    """Return what was written for programs."""
    return {
        "folder": str(done.folder),
        "files": dict(done.files),
        "identical": done.replay.identical,
        "largest_difference": done.replay.worst,
        "ticks": done.replay.ticks,
        "mean_step_us": round(done.replay.mean_us, 1),
        "notes": list(done.notes),
    }


def export_lines(done: HandedOver) -> list[Line]:
    """Return what was written, and whether the class answers what the simulation did."""
    from ukctrl.reports.table import Column, Table

    lines: list[Line] = [[Part(clean(str(done.folder)), "bold")]]
    columns = Column("", "text"), Column("", "text")
    lines += table_lines(Table.of(columns, done.files.items()))
    style = "green" if done.replay.identical else "bold red"
    lines += hanging("  check  ", str(done.replay), "bold", style)
    for note in done.notes:
        lines += hanging("  note   ", note, "bold", "yellow")
    return lines
