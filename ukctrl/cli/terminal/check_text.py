"""What `check` prints: the verdict first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, files, hanging, table_lines
from ukctrl.cli.terminal.summaries import moved_text

if TYPE_CHECKING:
    from ukctrl.analysis.check import Check, RowCheck
    from ukctrl.analysis.check.feasibility import Feasibility
    from ukctrl.analysis.check.findings import Cause
    from ukctrl.analysis.check.ranks_along import RankAlong
    from ukctrl.analysis.internal_dynamics import InternalDynamics
    from ukctrl.uk import RankReport

MOST_ROWS, MOST_INPUTS, MOST_USES = 20, 12, 10
"""Servo rows, first inputs and limits of more than these are in `check --json` alone."""
MANY_TIMES = 1000.0
"""Beyond so many percent of a limit, "25 times" is read more easily."""
SAME_SHARE = 1e-9
"""A smaller peak is rounding, and printed as zero."""
LEVEL_STYLE = {"problem": "red", "error": "red", "warning": "yellow"}
LABELS = {"bad": "problem", "warning": "warning", "note": "note", "good": "note"}
VERDICTS = {
    "ready": Part("ready", "bold green"),
    "warnings": Part("ready, with warnings", "bold yellow"),
    "not ready": Part("not ready", "bold red"),
}


def check_lines(check: Check, folder: Path | None = None, whole: bool = False) -> list[Line]:
    """Return what `check` found, and where its figure is.

    Args:
        check: What it found.
        folder: Where it was written.
        whole: Whether to show what follows from a cause, and not only how much.
    """
    lines: list[Line] = [[Part(clean(check.scenario), "bold"), ": ", VERDICTS[check.verdict]]]
    lines += _causes((cause for cause in check.causes if cause.level != "note"), whole)
    lines.append([""])
    for name, value in _facts(check):
        lines += hanging(f"  {name:<14}", value, "cyan")
    lines += _rows(check)
    lines += _uses(check.motion.feasibility) if check.motion.feasibility is not None else []
    audit = sorted(check.findings, key=lambda text: text.startswith("note"))
    notes = [cause for cause in check.causes if cause.level == "note"]
    lines += [[""]] if audit or notes else []
    for finding in audit:
        level, _, text = finding.partition(": ")
        lines += hanging(f"{level}: ", text, LEVEL_STYLE.get(level, "bold"))
    lines += _causes(notes, whole)
    if folder is not None:
        names = ("check.png", "internal.png")
        drawn = [("figure", name) for name in names if (folder / name).is_file()]
        lines += [[""], *files(folder, *drawn, ("data", "check.json"))]
    return lines


def _causes(causes: Iterable[Cause], whole: bool) -> Iterator[Line]:
    """Yield causes, each with what helps, and what follows from it."""
    for cause in causes:
        label = LABELS[cause.level]
        style = LEVEL_STYLE.get(label, "bold")
        yield from hanging(f"{label}: ", cause.text, style)
        if cause.cure:
            yield from hanging("  do: ", cause.cure, "bold")
        if whole:
            for effect in cause.follows:
                label = LABELS[effect.level]
                yield from hanging(f"  so {label}: ", effect.text, LEVEL_STYLE.get(label, "bold"))
        elif cause.follows:
            count = len(cause.follows)
            things = "1 thing follows" if count == 1 else f"{count} things follow"
            yield [Part(f"  {things} from that: --all shows what", "dim")]


def _facts(check: Check) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every fact."""
    start, motion = check.start, check.motion
    yield "robot", f"{check.robot}, freedoms: {start.freedoms}, motors: {start.motors}"
    yield "mobility", f"{start.mobility}, {start.actuation if start.motors else 'not'} actuated"
    yield "motion", _motion(check)
    along = motion.ranks
    yield "passive rows", _ranks(start.passive, along.passive if along else None)
    yield "servo rows A", _ranks(start.servo, along.servo if along else None)
    if start.rows:
        yield "grip H = A G", _ranks(start.grip, along.grip if along else None)
    if along is not None:
        later = along.realisation_at > motion.way.start
        at = f" (t = {along.realisation_at:.4g} s)" if later else ""
        ideal = " (ideal)" if along.realisation == "orthogonal" else ""
        yield "realisation", f"{along.realisation}{ideal}{at}"
    if start.velocity_rows is not None:
        yield "velocity rows", start.velocity_rows.sentence()
    if motion.sampling is not None:
        yield "error", _error(check)
    if check.internal is not None and check.internal.verdict not in check.warnings:
        yield "internal", _left(check.internal)
    if start.moved:
        yield "start", moved_text(start.moved)
    if start.rows and start.inputs:
        listed = [f"{name} = {value:.4g}" for name, value in start.inputs.items()]
        more = len(listed) - MOST_INPUTS
        listed[MOST_INPUTS:] = [f"and {more} more that --json lists"] if more > 0 else []
        yield "first input", ", ".join(listed)


def _left(internal: InternalDynamics) -> str:
    if not internal.dimension:
        return internal.verdict
    return f"{internal.dimension} of {internal.states} states: {internal.verdict}"


def _motion(check: Check) -> str:
    way = check.motion.way
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


def _error(check: Check) -> str:
    sampled = check.motion.sampling
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


def _rows(check: Check) -> list[Line]:
    """Return the servo rows at the start."""
    from ukctrl.reports.table import Column, Table

    columns = [Column("row", "name"), *map(Column, ("phi", "beta", "out of reach"))]
    rows = []
    shown = _most_telling(check.start.rows)
    for row in shown:
        unit = row.unit or "1"
        phi = f"{row.phi:.1e} {unit}"
        if math.isnan(row.phi):
            kinds = {True: "integrable", False: "nonholonomic", None: "undecided"}
            phi = str(kinds[row.integrable])
        bound = f"at least {row.relative_degree_at_least}"
        bound = "-" if row.name in check.start.servo.dependent else bound
        degree = str(row.relative_degree or bound)
        rows.append([row.name, phi, f"{row.beta:.1e} {unit}/s", f"{row.reach:.1e}", degree])
    if not rows:
        return []
    lines = table_lines(Table.of([*columns, Column("relative degree")], rows))
    return ["", *lines, *_more(len(check.start.rows) - len(shown))]


def _uses(demands: Feasibility) -> list[Line]:
    """Return what the motion takes, nearest to a limit first."""
    from ukctrl.core.extremes import places
    from ukctrl.reports.table import Cell, Column, Table

    own = demands.law or demands.inputs
    uses = [("motor", use) for use in (own if not demands.beyond else demands.inputs or own)]
    uses += [("rate", use) for use in demands.rates]
    uses += [("speed", use) for use in demands.velocities]
    uses += [("position", use) for use in demands.positions]
    if not uses:
        return []
    shares = places((-1.0 if use.share is None else use.share for _, use in uses), SAME_SHARE)
    order = sorted(range(len(uses)), key=lambda k: (uses[k][1].since is None, -shares[k]))
    columns = [Column("", "text"), Column("of", "name")]
    rows: list[list[Cell | str]] = []
    for what, use in (uses[k] for k in order[:MOST_USES]):
        size = use.value if abs(use.value) > SAME_SHARE else 0.0
        limit = "none" if use.limit is None else f"{use.limit:.4g}"
        used = "" if use.share is None else _share(100.0 * use.share)
        share = Cell(used, "failed" if use.since is not None else "")
        rows.append([what, use.name, f"{size:.4g} {use.unit}", f"{use.t:.4g} s", limit, share])
    heads = map(Column, ("peak", "at", "limit", "used"))
    lines = table_lines(Table.of([*columns, *heads], rows))
    return ["", *lines, *_more(len(uses) - MOST_USES)]


def _share(percent: float) -> str:
    return f"{percent:.0f} %" if percent < MANY_TIMES else f"{percent / 100.0:.2g} times"


def _more(count: int) -> list[Line]:
    return [[f"  and {count} more that --json lists"]] if count > 0 else []


def _most_telling(rows: Sequence[RowCheck]) -> Sequence[RowCheck]:
    """Return the rows to show: all, or where they are many those that are furthest off."""
    from ukctrl.core.extremes import places

    if len(rows) <= MOST_ROWS:
        return rows

    off = places(max(0.0 if math.isnan(row.phi) else abs(row.phi), abs(row.beta)) for row in rows)
    order = sorted(range(len(rows)), key=lambda k: (rows[k].relative_degree is not None, -off[k]))
    return [rows[k] for k in sorted(order[:MOST_ROWS])]


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
