"""What `check` prints: the verdict first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, files, hanging, show, table, write_json
from ukctrl.cli.terminal.summaries import moved_text

if TYPE_CHECKING:
    from ukctrl.analysis.check import Check, RowCheck
    from ukctrl.analysis.check.feasibility import Feasibility
    from ukctrl.analysis.check.ranks_along import RankAlong
    from ukctrl.analysis.internal_dynamics import InternalDynamics
    from ukctrl.uk import RankReport

MOST_ROWS, MOST_INPUTS, MOST_USES = 20, 12, 10
"""Servo rows, first inputs and limits of more than these are in `check --json` alone."""
NOTHING = 1e-9
"""A smaller peak is rounding, and printed as zero."""
LEVEL_STYLE = {"problem": "red", "error": "red", "warning": "yellow"}
VERDICTS = {
    "ready": Part("ready", "bold green"),
    "warnings": Part("ready, with warnings", "bold yellow"),
    "not ready": Part("not ready", "bold red"),
}


def show_check(found: Check, as_json: bool, folder: Path | None = None) -> None:
    """Print what `check` found, and where its figure is."""
    if as_json:
        write_json(found.to_dict())
        return
    lines: list[Line] = [[Part(clean(found.scenario), "bold"), ": ", VERDICTS[found.verdict]]]
    for level, texts in (("problem", found.problems), ("warning", found.warnings)):
        for text in texts:
            lines += hanging(f"{level}: ", text, LEVEL_STYLE[level])
    lines.append([""])
    for name, value in _facts(found):
        lines += hanging(f"  {name:<14}", value, "cyan")
    lines += _rows(found)
    lines += _uses(found.feasibility) if found.feasibility is not None else []
    remarks = list(_remarks(found))
    lines += [[""]] if remarks else []
    for level, text in remarks:
        lines += hanging(f"{level}: ", text, LEVEL_STYLE.get(level, "bold"))
    if folder is not None:
        names = ("check.png", "internal.png")
        drawn = [("figure", name) for name in names if (folder / name).is_file()]
        lines += [[""], *files(folder, *drawn, ("data", "check.json"))]
    show(lines)


def _facts(found: Check) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every fact."""
    motors = f"{found.motors} motor{'' if found.motors == 1 else 's'}"
    yield "robot", f"{found.robot}, {_count(found.freedoms, 'freedom')}, {motors}"
    yield "mobility", f"{found.mobility}, {found.actuation if found.motors else 'not'} actuated"
    yield "motion", _motion(found)
    along = found.ranks
    yield "passive rows", _ranks(found.passive, along.passive if along else None)
    yield "servo rows A", _ranks(found.servo, along.servo if along else None)
    if found.rows:
        yield "grip H = A G", _ranks(found.grip, along.grip if along else None)
    if along is not None:
        at = (
            f" (t = {along.realisation_at:.4g} s)" if along.realisation_at > found.way.start else ""
        )
        ideal = " (ideal)" if along.realisation == "orthogonal" else ""
        yield "realisation", f"{along.realisation}{ideal}{at}"
    if found.velocity_rows is not None:
        yield "velocity rows", found.velocity_rows.sentence()
    if found.sampling is not None:
        yield "error", _error(found)
    if found.internal is not None and found.internal.verdict not in found.warnings:
        yield "internal", _left(found.internal)
    if found.moved:
        yield "start", moved_text(found.moved)
    if found.rows and found.inputs:
        first = list(found.inputs.items())[:MOST_INPUTS]
        listed = ", ".join(f"{name} = {value:.4g}" for name, value in first)
        yield "first input", listed + _more(len(found.inputs) - len(first))


def _left(found: InternalDynamics) -> str:
    if not found.dimension:
        return found.verdict
    return f"{_count(found.dimension, 'state')} of {found.states}: {found.verdict}"


def _motion(found: Check) -> str:
    way = found.way
    if way.kind == "none":
        return f"none: {way.why}" if way.why else "none"
    how = {
        "joint motion": "inverse kinematics",
        "law": "moved by a servo law from a start on the rows",
        "plan": "as the controller has planned it",
        "path alone": "inverse kinematics, the path alone",
    }[way.kind]
    if way.stop is not None:
        return f"{how}; it ends at t = {way.reached:.4g} s of {way.end:.4g} s"
    return f"{how}, to the end at t = {way.end:.4g} s"


def _error(found: Check) -> str:
    sampled = found.sampling
    assert sampled is not None
    poles = ", ".join(_pole(pole) for pole in sampled.poles if pole.imag >= 0.0)
    text = f"poles at {poles} 1/s"
    if sampled.period is None:
        if sampled.longest <= 0.0:
            return f"{text}; it does not decay"
        return f"{text}; a hold would be stable below {sampled.longest:.3g} s"
    moved = ", ".join(_pole(pole) for pole in sampled.sampled if pole.imag >= 0.0)
    return f"{text}; held for {sampled.period:.3g} s: {moved}; stable below {sampled.longest:.3g} s"


def _pole(pole: complex) -> str:
    real = f"{pole.real:.3g}"
    return real if abs(pole.imag) < 1e-6 * abs(pole) else f"{real} +- {abs(pole.imag):.3g}i"


def _rows(found: Check) -> list[Line]:
    lines: list[Line] = []
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
        lines += [[""], *table(rows, "<>>>>")]
    if len(found.rows) >= len(rows):
        lines += hanging("  ", _more(len(found.rows) - len(rows) + 1).removeprefix(", "))
    return lines


def _uses(found: Feasibility) -> list[Line]:
    """Return what the motion takes, nearest to a limit first."""
    from ukctrl.core.extremes import ranks

    own = found.law or found.inputs
    uses = [("motor", use) for use in (own if not found.beyond else found.inputs or own)]
    uses += [("rate", use) for use in found.rates]
    uses += [("speed", use) for use in found.velocities]
    uses += [("position", use) for use in found.positions]
    shares = ranks((-1.0 if use.share is None else use.share for _, use in uses), NOTHING)
    order = sorted(range(len(uses)), key=lambda k: (uses[k][1].since is None, -shares[k]))
    uses = [uses[k] for k in order]
    if not uses:
        return []
    rows: list[Sequence[Part | str]] = [
        [Part(head, "dim") for head in ("", "of", "peak", "at", "limit", "used")]
    ]
    for what, use in uses[:MOST_USES]:
        limit = "none" if use.limit is None else f"{use.limit:.4g}"
        used = "" if use.share is None else f"{100.0 * use.share:.0f} %"
        style = "red" if use.since is not None else ""
        size = use.value if abs(use.value) > NOTHING else 0.0
        peak = f"{size:.4g} {use.unit}"
        rows.append(
            [what, Part(clean(use.name), "cyan"), peak, f"{use.t:.4g} s", limit, Part(used, style)]
        )
    lines: list[Line] = [[""], *table(rows, "<<>>>>")]
    if len(uses) > MOST_USES:
        lines += hanging("  ", _more(len(uses) - MOST_USES).removeprefix(", "))
    return lines


def _most_telling(rows: Sequence[RowCheck]) -> Sequence[RowCheck]:
    """Return the rows to show: all, or where they are many those that are furthest off."""
    from ukctrl.core.extremes import ranks

    if len(rows) <= MOST_ROWS:
        return rows

    off = ranks(max(0.0 if math.isnan(row.phi) else abs(row.phi), abs(row.beta)) for row in rows)
    order = sorted(range(len(rows)), key=lambda k: (rows[k].relative_degree is not None, -off[k]))
    return [rows[k] for k in sorted(order[:MOST_ROWS])]


def _more(count: int) -> str:
    return f", and {count} more that --json lists" if count > 0 else ""


def _remarks(found: Check) -> Iterator[tuple[str, str]]:
    """Yield the level and the text of what does not touch the verdict, the model's audit first."""
    for finding in sorted(found.findings, key=lambda text: text.startswith("note")):
        level, _, text = finding.partition(": ")
        yield level, text
    for text in found.notes:
        yield "note", text


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.1e} {unit}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _ranks(report: RankReport, along: RankAlong | None) -> str:
    """Return a rank at the start, and what becomes of it along the motion."""
    count = len(report.independent) + len(report.dependent)
    if count == 0:
        return "none"
    text = f"rank {report.rank} of {count}"
    if report.dependent:
        text += f", dependent: {', '.join(report.dependent)}"
    if along is None:
        return text
    if along.lowest < along.highest:
        return f"{text}; between {along.lowest} and {along.highest} on the way"
    if not along.highest:
        return text
    return (
        f"{text}, all the way; smallest singular value {along.worst:.2g} "
        f"({along.worst_row}, t = {along.worst_at:.4g} s)"
    )
