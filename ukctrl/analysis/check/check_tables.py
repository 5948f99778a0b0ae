"""What `check` finds in tables, for its page and for the terminal alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ukctrl.analysis.check.check_result import Check, RowCheck
from ukctrl.analysis.check.contact_phases import LiftInterval
from ukctrl.analysis.check.input_feasibility import Feasibility
from ukctrl.analysis.check.motion_ranks import RankHistory
from ukctrl.analysis.internal_dynamics import InternalDynamics
from ukctrl.core.number_text import start_shift_text
from ukctrl.core.tie_breaking import tie_ranks
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.uk import RankReport

MAX_INPUTS = 12
"""First inputs of more than these are in `check --json` alone."""
MAX_PERCENT = 1000.0
"""Beyond so many percent of a limit, "25 times" is read more easily."""
ZERO_SHARE = 1e-9
"""A smaller peak is rounding, and printed as zero."""


def facts(check: Check) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every fact."""
    start, motion = check.start, check.motion
    yield "robot", f"{check.robot}, freedoms: {start.freedoms}, motors: {start.motors}"
    yield "mobility", f"{start.mobility}, {start.actuation if start.motors else 'not'} actuated"
    yield "motion", _motion(check)
    along = motion.ranks
    if motion.way.lifted:
        yield "lifted", _lifted(motion.way.lifted)
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
    if motion.kept is not None:
        yield "kept limits", motion.kept.summary()
    if motion.sampling is not None:
        yield "error", _error_dynamics(check)
    if motion.optimum is not None:
        yield "optimised", motion.optimum.text
    if motion.timing is not None:
        yield from motion.timing.summary_lines()
    if check.internal is not None and check.internal.verdict not in check.warnings:
        yield "internal", _internal_dynamics(check.internal)
    if start.moved:
        yield "start", start_shift_text(start.moved)
    if start.rows and start.inputs:
        listed = [f"{name} = {value:.4g}" for name, value in start.inputs.items()]
        more = len(listed) - MAX_INPUTS
        listed[MAX_INPUTS:] = [f"and {more} more that --json lists"] if more > 0 else []
        yield "first input", ", ".join(listed)


def _internal_dynamics(internal: InternalDynamics) -> str:
    if not internal.dimension:
        return internal.verdict
    return f"{internal.dimension} of {internal.states} states: {internal.verdict}"


def _motion(check: Check) -> str:
    trajectory = check.motion.way
    if trajectory.kind == "none":
        return f"none: {trajectory.why}" if trajectory.why else "none"
    method = {
        "joint motion": "inverse kinematics",
        "law": "moved by a servo law from a start on the rows",
        "plan": "as the controller has planned it",
        "path alone": "inverse kinematics, the path alone",
    }[trajectory.kind]
    if trajectory.stop is not None:
        return f"{method}; it ends at t = {trajectory.reached:.4g} s of {trajectory.end:.4g} s"
    return f"{method}, to the end at t = {trajectory.end:.4g} s"


def _lifted(lifts: Sequence[LiftInterval]) -> str:
    """Return when each contact is lifted: once, or how often and when first."""
    text = []
    for name in dict.fromkeys(lift.contact for lift in lifts):
        first, *more = (lift for lift in lifts if lift.contact == name)
        often = f", the first of {len(more) + 1} times" if more else ""
        text.append(f"'{name}' from {first.start:.4g} s to {first.stop:.4g} s{often}")
    return "; ".join(text)


def _error_dynamics(check: Check) -> str:
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


def row_table(rows: Sequence[RowCheck], dependent: Sequence[str], max_rows: int) -> ReportTable:
    """Return the servo rows at the start, or where they are many those that are furthest off."""
    columns = [TableColumn("row", "name"), *map(TableColumn, ("phi", "beta", "out of reach"))]
    shown = []
    for row in _largest_errors(rows, max_rows):
        unit = row.unit or "1"
        phi = f"{row.phi:.1e} {unit}"
        if math.isnan(row.phi):
            kinds = {True: "integrable", False: "nonholonomic", None: "undecided"}
            phi = str(kinds[row.integrable])
        bound = f"at least {row.relative_degree_at_least}"
        bound = "-" if row.name in dependent else bound
        degree = str(row.relative_degree or bound)
        shown.append([row.name, phi, f"{row.beta:.1e} {unit}/s", f"{row.reach:.1e}", degree])
    return ReportTable.from_rows([*columns, TableColumn("relative degree")], shown)


def use_table(demands: Feasibility, max_rows: int | None = None) -> tuple[ReportTable, int]:
    """Return what the motion takes, nearest to a limit first, and how much of it there is.

    Args:
        demands: What it takes.
        max_rows: Rows of the table; None: all.
    """
    input_uses = demands.law or demands.inputs
    uses = [
        ("motor", use)
        for use in (input_uses if not demands.beyond else demands.inputs or input_uses)
    ]
    uses += [("rate", use) for use in demands.rates]
    uses += [("speed", use) for use in demands.velocities]
    uses += [("position", use) for use in demands.positions]
    shares = tie_ranks((-1.0 if use.share is None else use.share for _, use in uses), ZERO_SHARE)
    order = sorted(range(len(uses)), key=lambda k: (uses[k][1].since is None, -shares[k]))
    columns = [TableColumn("", "text"), TableColumn("of", "name")]
    rows: list[list[TableCell | str]] = []
    for quantity, use in (uses[k] for k in order[:max_rows]):
        size = use.value if abs(use.value) > ZERO_SHARE else 0.0
        limit = "none" if use.limit is None else f"{use.limit:.4g}"
        used = "" if use.share is None else share_text(100.0 * use.share)
        share = TableCell(used, "failed" if use.since is not None else "")
        rows.append([quantity, use.name, f"{size:.4g} {use.unit}", f"{use.t:.4g} s", limit, share])
    heads = map(TableColumn, ("peak", "at", "limit", "used"))
    return ReportTable.from_rows([*columns, *heads], rows), len(uses)


def share_text(percent: float) -> str:
    """Return how much of a limit is used."""
    return f"{percent:.0f} %" if percent < MAX_PERCENT else f"{percent / 100.0:.2g} times"


def _largest_errors(rows: Sequence[RowCheck], max_rows: int) -> Sequence[RowCheck]:
    """Return the rows to show: all, or where they are many those that are furthest off."""
    if len(rows) <= max_rows:
        return rows

    off = tie_ranks(
        max(0.0 if math.isnan(row.phi) else abs(row.phi), abs(row.beta)) for row in rows
    )
    order = sorted(range(len(rows)), key=lambda k: (rows[k].relative_degree is not None, -off[k]))
    return [rows[k] for k in sorted(order[:max_rows])]


def _ranks(report: RankReport, along: RankHistory | None) -> str:
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
    if along.highest > report.rank:
        return f"{text} at the start; up to {along.highest} on the way"
    return (
        f"{text}, all the way; smallest singular value {along.worst:.2g} "
        f"({along.worst_row}, t = {along.worst_at:.4g} s)"
    )
