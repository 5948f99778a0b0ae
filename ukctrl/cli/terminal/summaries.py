"""What `list`, `run`, `init`, `export` and `check` of a part print: short tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    LEVEL_STYLES,
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    sanitise,
    table_lines,
)

if TYPE_CHECKING:
    from ukctrl.analysis.conformance import Conformance
    from ukctrl.simulation.export.export_controller import ExportedController
    from ukctrl.simulation.result.result import Result


MAX_REACTIONS = 12
"""Reactions of more passive constraints than this are in the files alone."""


def catalogue_lines(
    catalogue: Mapping[str, Mapping[str, str]], kinds: Mapping[str, str] | None = None
) -> list[Line]:
    """Return names and titles, below each the kinds that it is of where these are given."""
    size = max(
        (len(sanitise(name)) for entries in catalogue.values() for name in entries), default=0
    )
    lines: list[Line] = []
    for kind, entries in catalogue.items():
        lines.append([StyledText(kind, "bold")])
        for name, title in entries.items():
            lines += hanging_lines(f"  {sanitise(name):<{size}}  ", title, "cyan")
            if kinds and kinds.get(name):
                lines += hanging_lines(f"  {'':<{size}}  ", kinds[name], text_style="dim")
        if not entries:
            lines.append(["  none"])
    return lines


def result_lines(result: Result, folder: Path) -> list[Line]:
    """Return status, metrics and where the files are."""
    from ukctrl.core.number_text import unit_text
    from ukctrl.reports.report_table import ReportTable, TableColumn
    from ukctrl.simulation.result.metrics import unit_in
    from ukctrl.simulation.result.sample_measures import reaction_peaks
    from ukctrl.simulation.result.verdicts.inequality_verdict import inequality_verdicts
    from ukctrl.simulation.result.verdicts.law_verdicts import relaxation_verdicts
    from ukctrl.simulation.result.verdicts.log_verdicts import log_verdicts

    level, belief = result.status_level, result.belief
    names = result.names
    status: list[StyledText | str] = [StyledText(result.status, LEVEL_STYLES[level])]
    reasons = [verdict for verdict in belief.reasons if verdict.subject != "outcome"]
    if reasons and result.status == "completed":
        status += [", ", StyledText(belief.verdict, LEVEL_STYLES[belief.level])]
    lines: list[Line] = [[StyledText(sanitise(names["scenario"]) or "run", "bold"), ": ", *status]]
    if result.message:
        lines += hanging_lines("  ", result.message)
    actors = (
        name if name == kind else f"{kind} {name}"  # not "robot robot"
        for kind, name in ((kind, names[kind]) for kind in ("robot", "controller"))
    )
    lines += hanging_lines("  ", ", ".join(actors), text_style="dim")
    from ukctrl.core.number_text import start_shift_text

    moved = start_shift_text(result.provenance.get("start_moved"))
    if moved:
        lines += hanging_lines("  ", f"the start: {moved}")
    limits = [verdict for verdict in inequality_verdicts(result) if verdict not in reasons]
    notes = (verdict for verdict in relaxation_verdicts(result) if verdict.level == "note")
    for verdict in (*reasons, *limits, *notes, *log_verdicts(result)):
        lines += hanging_lines(
            "  ", f"{verdict.subject}: {verdict.text}", text_style=LEVEL_STYLES[verdict.level]
        )
    logged = result.log_metrics
    rows = [
        [name, f"{value:.4g}", *_log_cell(logged, name), unit_text(unit_in(name, result.labels))]
        for name, value in result.metrics.items()
        if "." not in name and math.isfinite(value)
    ]
    rows += [
        [f"reaction {peak.block}", f"{peak.value:.4g}", *_log_cell(logged, ""), peak.unit]
        for peak in reaction_peaks(result.samples)[:MAX_REACTIONS]
    ]
    values = [TableColumn("run"), TableColumn("log")] if logged else [TableColumn("")]
    columns = TableColumn("", "name"), *values, TableColumn("", "unit")
    lines += table_lines(ReportTable.from_rows(columns, rows)) if rows else []
    lines += file_lines(folder, ("report", "report.html"), ("data", "result.nc"))
    return lines


def _log_cell(logged: Mapping[str, float], name: str) -> list[str]:
    """Return the cell of a metric of the log, where there is one."""
    value = logged.get(name, math.nan)
    return [] if not logged else [f"{value:.4g}" if math.isfinite(value) else ""]


def workspace_lines(created: Sequence[Path], folder: Path) -> list[Line]:
    """Return what `init` has made, and what to do next."""
    return [
        *([f"  {sanitise(str(path))}"] for path in created),
        [StyledText("Next:", "bold")],
        [f"  cd {sanitise(str(folder))}"],
        ["  ukctrl check my-scenario"],
        ["  ukctrl run my-scenario"],
    ]


def conformance_lines(conformances: Sequence[Conformance]) -> list[Line]:
    """Return the clauses of every part, and what came where one does not hold."""
    lines: list[Line] = []
    for conformance in conformances:
        verdict = (
            StyledText("conforms", "bold green")
            if conformance.ok
            else StyledText("does not conform", "bold red")
        )
        lines.append(
            [StyledText(sanitise(conformance.name), "bold"), f" ({conformance.kind}): ", verdict]
        )
        for finding in conformance.findings:
            mark, style = ("ok", "green") if finding.ok else ("NO", "bold red")
            lines += hanging_lines(f"  {mark}  ", finding.sentence, style)
            if not finding.ok:
                lines += hanging_lines("      ", finding.detail, text_style="yellow")
    return lines


def export_data(done: ExportedController) -> dict[str, object]:
    """Return what was written for programs."""
    return {
        "folder": str(done.folder),
        "files": dict(done.files),
        "identical": None if done.replay is None else done.replay.identical,
        "largest_difference": None if done.replay is None else done.replay.worst,
        "ticks": None if done.replay is None else done.replay.ticks,
        "mean_step_us": None if done.replay is None else round(done.replay.mean_us, 1),
        "notes": list(done.notes),
    }


def export_lines(done: ExportedController) -> list[Line]:
    """Return what was written, and whether the class answers what the simulation did."""
    from ukctrl.reports.report_table import ReportTable, TableColumn

    lines: list[Line] = [[StyledText(sanitise(str(done.folder)), "bold")]]
    columns = TableColumn("", "text"), TableColumn("", "text")
    lines += table_lines(ReportTable.from_rows(columns, done.files.items()))
    if done.replay is not None:
        style = "green" if done.is_good else "bold red"
        lines += hanging_lines("  check  ", str(done.replay), "bold", style)
    for note in done.notes:
        lines += hanging_lines("  note   ", note, "bold", "yellow")
    return lines
