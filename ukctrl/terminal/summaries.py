"""What each command prints: short tables that fit into 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.terminal.lines import (
    Line,
    Part,
    clean,
    files,
    hanging,
    show,
    table,
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.analysis import Check, RowCheck
    from ukctrl.result import Result
    from ukctrl.uk import RankReport

MOST_ROWS, MOST_INPUTS = 20, 12
"""Servo rows and inputs of more than these are in `check --json` alone."""
MOST_REACTIONS = 12
"""Reactions of more passive constraints than this are in the files alone."""
STATUS_STYLE = {"completed": "bold green", "interrupted": "bold yellow"}
LEVEL_STYLE = {"problem": "red", "error": "red", "warning": "yellow"}


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
    from ukctrl.concessions import concessions
    from ukctrl.measures import reaction_peaks
    from ukctrl.metrics import unit_in
    from ukctrl.pretty import unit_text

    names = result.names
    status = Part(result.status, STATUS_STYLE.get(result.status, "bold red"))
    lines: list[Line] = [[Part(clean(names["scenario"]) or "run", "bold"), ": ", status]]
    if result.message:
        lines += hanging("  ", result.message)
    actors = f"robot {names['robot']}, controller {names['controller']}"
    lines += hanging("  ", actors, text_style="dim")
    moved = _moved(result.provenance.get("start_moved"))
    if moved:
        lines += hanging("  ", f"the start: {moved}")
    for given in concessions(result):
        lines += hanging("  ", f"{given.subject}: {given.text}")
    rows = [
        (Part(name, "cyan"), f"{value:.4g}", Part(unit_text(unit_in(name, result.labels)), "dim"))
        for name, value in result.metrics.items()
        if "." not in name and math.isfinite(value)
    ]
    rows += [
        (Part(f"reaction {clean(peak.block)}", "cyan"), f"{peak.value:.4g}", Part(peak.unit, "dim"))
        for peak in reaction_peaks(result.samples)[:MOST_REACTIONS]
    ]
    lines += table(rows, "<><") if rows else []
    lines += files(folder, ("report", "report.html"), ("data", "result.nc"))
    show(lines)


def _moved(by: object) -> str:
    """Return how far a start was moved, in words; empty where it was not asked to be."""
    if not isinstance(by, Mapping) or not by:
        return ""
    far = [f"{float(size):.3g} {unit}" for unit, size in by.items() if size]
    if not far:
        return "on the constraints as given"
    return f"moved onto the constraints by {', '.join(far)}"


def show_check(found: Check, as_json: bool) -> None:
    """Print what `check` found."""
    if as_json:
        write_json(found.to_dict())
        return
    verdict = Part("ready", "bold green") if found.ok else Part("not ready", "bold red")
    lines: list[Line] = [[Part(clean(found.scenario), "bold"), ": ", verdict]]
    facts = [
        ("robot", f"{found.robot}, {_count(found.freedoms, 'freedom')}"),
        ("mobility", f"{found.mobility}, {found.actuation if found.motors else 'not'} actuated"),
        ("motors", f"{found.motors}"),
        ("passive rows", _ranks(found.passive, "with rows of unit length")),
        ("servo rows A", _ranks(found.servo)),
    ]
    if found.rows:
        facts.append(("grip H = A G", _ranks(found.grip)))
    if found.velocity_rows is not None:
        facts.append(("velocity rows", found.velocity_rows.sentence()))
    if found.moved:
        facts.append(("start", _moved(found.moved)))
    for name, value in facts:
        lines += hanging(f"  {name:<14}", value, "cyan")
    if found.rows and found.inputs:
        first = list(found.inputs.items())[:MOST_INPUTS]
        listed = ", ".join(f"{name} = {value:.4g}" for name, value in first)
        listed += _more(len(found.inputs) - len(first))
        lines += hanging(f"  {'first input':<14}", listed, "cyan")
    rows: list[Sequence[Part | str]] = [
        [Part(head, "dim") for head in ("row", "phi", "beta", "out of reach", "relative degree")]
    ]
    for row in _most_telling(found.rows):
        unit = row.unit or "1"
        phi = _with_unit(row.phi, unit)
        if math.isnan(row.phi):
            words = {True: "integrable", False: "nonholonomic", None: "undecided"}
            phi = words[row.integrable]
        beyond = f"at least {row.relative_degree_at_least}"
        beyond = "-" if row.name in found.servo.dependent else beyond
        degree = str(row.relative_degree) if row.relative_degree else beyond
        beta, reach = _with_unit(row.beta, f"{unit}/s"), f"{row.reach:.1e}"
        rows.append([Part(clean(row.name), "cyan"), phi, beta, reach, degree])
    if found.rows:
        lines += ["", *table(rows, "<>>>>")]
    if len(found.rows) >= len(rows):
        lines += hanging("  ", _more(len(found.rows) - len(rows) + 1).removeprefix(", "))
    for level, text in _remarks(found):
        lines += hanging(f"{level}: ", text, LEVEL_STYLE.get(level, "bold"))
    show(lines)


def _most_telling(rows: Sequence[RowCheck]) -> Sequence[RowCheck]:
    """Return the rows to show: all, or where they are many those that are furthest off."""
    if len(rows) <= MOST_ROWS:
        return rows

    def off(row: RowCheck) -> tuple[bool, float]:
        return row.relative_degree is None, max(
            0.0 if math.isnan(row.phi) else abs(row.phi), abs(row.beta)
        )

    chosen = {row.name for row in sorted(rows, key=off, reverse=True)[:MOST_ROWS]}
    return [row for row in rows if row.name in chosen]


def _more(count: int) -> str:
    return f", and {count} more that --json lists" if count > 0 else ""


def _remarks(found: Check) -> Iterator[tuple[str, str]]:
    """Yield the level and the text of everything worth a sentence, the gravest first."""
    remarks = [("problem", text) for text in found.problems]
    remarks += [("note", text) for text in found.notes]
    for finding in found.findings:
        level, _, text = finding.partition(": ")
        remarks.append((level, text))
    order = ("problem", "error", "warning", "note")
    yield from sorted(remarks, key=lambda remark: order.index(remark[0]))


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.1e} {unit}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _ranks(report: RankReport, relative_to: str = "of the largest") -> str:
    count = len(report.independent) + len(report.dependent)
    if count == 0:
        return "none"
    text = f"rank {report.rank} of {count}"
    if report.dependent:
        text += f", dependent: {', '.join(report.dependent)}"
    return f"{text}; smallest singular value {report.smallest_kept:.1e} {relative_to}"


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
