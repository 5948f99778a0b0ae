"""What `check` found, for people: facts and tables, figures, page, and card in a notebook.

The terminal prints the same facts and tables. On the page, what follows from a cause, notes and
tables unfold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check.check_result import Check, MotionCheck, Readiness, RowCheck
from ukctrl.analysis.check.contact_phases import LiftInterval
from ukctrl.analysis.check.input_feasibility import Feasibility
from ukctrl.analysis.check.loop_stability import LoopStability
from ukctrl.analysis.check.motion_ranks import RankHistory
from ukctrl.analysis.check.safety_feasibility import SafetyFeasibility
from ukctrl.analysis.check.timing import PathTiming
from ukctrl.analysis.internal_dynamics import InternalDynamics
from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import (
    drawable,
    internal_dynamics_figure,
)
from ukctrl.analysis.linear.linear_page import poles_text
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import first_sentence, sentence, start_shift_text, unit_text
from ukctrl.core.tie_breaking import tie_ranks
from ukctrl.core.verdict import Level, Verdict
from ukctrl.mechanics.timing import describe_binding
from ukctrl.reports import html_page
from ukctrl.reports.plot import line_labels, marks, panels, style
from ukctrl.reports.plot.limit_margins import LimitSeries, margin_figure
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.uk import RankReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_INPUTS = 12
"""First inputs of more than these are in `check --json` alone."""
MAX_PERCENT = 1000.0
"""Beyond so many percent of a limit, "25 times" is read more easily."""
ZERO_SHARE = 1e-9
"""A smaller peak is rounding, and printed as zero."""
MAX_BINDING = 3
"""Of what binds the fastest timing, so much is named."""
MAX_CAUSES = 12
"""So many causes are listed on a card."""
MIN_SIGMA = 1e-7
"""Smaller singular values are drawn here: they are zero."""
LIMIT_KINDS = ("inputs", "velocities", "positions")
LEVELS: Mapping[Readiness, Level] = {"ready": "good", "warnings": "warning", "not ready": "bad"}
BADGES: Mapping[Readiness, str] = {"warnings": "ready, with warnings"}
READY_TEXT = "The check finds no problem."
FIGURES: Mapping[str, tuple[str, str]] = {
    "check": (
        "Along the motion",
        "Singular values of the rows, the used share of each limit, and the inputs of the "
        "motion. A dot marks the smallest singular value; red shade marks times without a motion.",
    ),
    "kept": (
        "Limits kept",
        "Distance to the kept limits along the exact task; a dashed line is a margin. Red shade "
        "marks times at which no input serves the task and keeps the limits.",
    ),
    "internal": (
        "Internal dynamics",
        "Motion of the states that the servo rows do not determine, and its response to a push.",
    ),
}
_AUDIT: Mapping[str, Level] = {"error": "bad", "warning": "warning"}


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
        yield "kept limits", _kept(motion.kept)
    if motion.sampling is not None:
        yield "error", _error_dynamics(motion)
    if motion.stability is not None:
        yield "loop", _loop_stability(motion.stability)
    elif motion.stability_unknown:
        yield "loop", f"not looked at: {first_sentence(motion.stability_unknown)[0]}"
    if motion.trial is not None:
        yield "trial run", f"of {motion.trial.duration:.4g} s: {motion.trial.status}"
    if motion.optimum is not None:
        yield "optimised", motion.optimum.text
    if motion.timing is not None:
        yield from timing_facts(motion.timing)
    if check.internal is not None and check.internal.verdict not in check.warnings:
        yield "internal", _internal_dynamics(check.internal)
    if start.moved:
        yield "start", start_shift_text(start.moved)
    if start.rows and start.inputs:
        listed = [f"{name} = {value:.4g}" for name, value in start.inputs.items()]
        more = len(listed) - MAX_INPUTS
        listed[MAX_INPUTS:] = [f"and {more} more that --json lists"] if more > 0 else []
        yield "first input", ", ".join(listed)


def _kept(safety: SafetyFeasibility) -> str:
    if not safety.stretches:
        return "all of the motion is feasible with what is kept"
    longest = max(safety.stretches, key=lambda interval: interval.stop - interval.start)
    more = len(safety.stretches) - 1
    repeats = f" and {more} more times" if more > 1 else " and once more" if more else ""
    return (
        f"{100.0 * safety.share:.3g} % of the motion is feasible with what is kept; it is not "
        f"from t = {longest.start:.4g} s to {longest.stop:.4g} s{longest.binding_text}{repeats}"
    )


def timing_facts(timing: PathTiming) -> Iterator[tuple[str, str]]:
    """Yield what the motion as it is allows, and the fastest timing."""
    binding = f"{describe_binding(timing.binding)}, t = {timing.t:.4g} s"
    if timing.rate <= 0.0:
        yield "timing", f"no speed keeps the limits ({binding})"
    else:
        yield "timing", f"at {timing.rate:.3g} times its speed it would keep all limits ({binding})"
    if timing.least is not None:
        named = [f"{name} {100.0 * share:.0f} %" for name, share in timing.bound_by.items()]
        by = f"; limited by {', '.join(named[:MAX_BINDING])}" if named else ""
        if timing.clock_ends is None:
            took = f"{timing.least:.4g} s instead of the {timing.duration:.4g} s of motion"
            yield "fastest", f"{took}, by motors and speeds alone{by}"
        else:  # exact, and smoothed as the scenario wants it
            yield "retimed", f"the paths end at t = {timing.clock_ends:.4g} s{by}"


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


def _error_dynamics(motion: MotionCheck) -> str:
    sampled = motion.sampling
    assert sampled is not None
    text = f"poles at {poles_text(np.array(sampled.poles))}"
    if sampled.period is not None:
        moved = poles_text(np.array(sampled.sampled))
        text = f"{text}; with a control period of {sampled.period:.3g} s: {moved}"
    elif sampled.decay <= 0.0:
        return f"{text}; it does not decay"
    if motion.stability is not None:
        return text
    # Of the whole loop nothing is known: what follows is of the error alone, and says so.
    return f"{text}; the error alone is stable with a control period below {sampled.longest:.3g} s"


def _loop_stability(stability: LoopStability) -> str:
    text = stability.text
    if max(stability.growth) > max(stability.growth[0], 0.0):
        text = f"{text}; at t = {stability.worst_at:.4g} s {stability.worst_text}"
    if stability.limit is None:
        return text
    grows_anyway = max(stability.growth) > 0.0 and not stability.of_hold
    mode = "other mode" if grows_anyway else "mode"
    return (
        f"{text}; a hold makes no {mode} grow below {stability.limit:.3g} s (at "
        f"{len(stability.times)} states)"
    )


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
        return f"{text}; between {along.lowest} and {along.highest} along the motion"
    if not along.highest:
        return text
    if along.highest > report.rank:
        return f"{text} at the start; up to {along.highest} along the motion"
    return (
        f"{text} along the motion; smallest singular value {along.worst:.2g} ({along.worst_row}, "
        f"t = {along.worst_at:.4g} s)"
    )


# Figures


@explain_argument_errors
@style.styled
def check_figure(check: Check) -> Figure:
    """Draw singular values along the motion, limits in use, and the inputs.

    Raises:
        InputError: No motion was worked out, and so there are no curves.
    """
    if check.motion.curves is None or check.motion.loads is None or not len(check.motion.curves.t):
        raise InputError(
            f"scenario '{check.scenario}' must have a motion for a figure of its check; "
            f"{check.motion.way.why or 'there is none'}."
        )
    drawn = [
        panels.Panel(
            "Singular values along the motion, the smallest in colour",
            _draw_singular_values(check),
            2,
        )
    ]
    if np.isfinite(check.motion.loads.used).any():
        drawn.append(
            panels.Panel("Largest share of a limit that is used", _draw_limit_usage(check), 2)
        )
    drawn.extend(_input_panels(check))
    return panels.grid(drawn, height=2.1)


def slack_figure(check: Check) -> Figure:
    """Draw what the exact task leaves of what the law keeps, shaded where it binds and no input
    keeps all beside the task.

    Raises:
        InputError: The law keeps nothing, or no motion was worked out.
    """
    slack_curves, curves = check.motion.left, check.motion.curves
    if slack_curves is None or curves is None:
        raise InputError(
            f"scenario '{check.scenario}' must have [[keep]] and a motion for a figure of what the "
            "task leaves."
        )
    columns = np.flatnonzero(~np.isnan(slack_curves.slack).all(axis=0)).tolist()
    block_of = dict(zip(slack_curves.names, slack_curves.blocks, strict=True))
    shaded = np.zeros((len(curves.t), len(columns)), dtype=bool)
    for stretch in check.motion.kept.stretches if check.motion.kept is not None else ():
        binding = {block_of[name] for name in stretch.limits} or set(slack_curves.blocks)
        where = (curves.t >= stretch.start) & (curves.t <= stretch.stop)
        shaded |= where[:, None] & np.array([slack_curves.blocks[i] in binding for i in columns])
    of_rows = (
        [labels[i] for i in columns]
        for labels in (slack_curves.names, slack_curves.blocks, slack_curves.units)
    )
    names, blocks, units = map(tuple, of_rows)
    return margin_figure(
        LimitSeries(
            time=curves.t,
            left=slack_curves.slack[:, columns],
            shaded=shaded,
            names=names,
            blocks=blocks,
            units=units,
            margins=tuple(slack_curves.margins[i] for i in columns),
        )
    )


def _draw_singular_values(check: Check) -> Callable[[Axes, float], None]:
    curves, ranks = check.motion.curves, check.motion.ranks
    assert curves is not None
    assert ranks is not None

    def draw(axes: Axes, free_width: float) -> None:
        sigmas, marked = [np.zeros((0, 0))], []
        for k in range(ranks.servo.highest - 1):
            axes.plot(curves.t, curves.servo[:, k], color=style.FAINT, linewidth=0.7)
            sigmas.append(curves.servo[:, k])
        for rank, values, name, width, alpha, color in (
            (ranks.servo, curves.servo, "servo rows A", 3.5, 0.6, style.PALETTE[5]),
            (ranks.grip, curves.grip, "grip H = A G", 1.3, 1.0, style.PALETTE[1]),
            (ranks.passive, curves.passive[:, None], "passive rows", 1.3, 1.0, style.PALETTE[2]),
        ):
            if not rank.highest:
                continue
            last = np.maximum(values[:, min(rank.highest, values.shape[1]) - 1], MIN_SIGMA)
            axes.plot(curves.t, last, color=color, linewidth=width, alpha=alpha, label=name)
            at = max(rank.worst, MIN_SIGMA)
            axes.plot([rank.worst_at], [at], "o", color=style.INK, markersize=4, clip_on=False)
            sigmas.append(last)
            marked.append(at)
        drawn = np.concatenate([values.ravel() for values in sigmas])
        if not drawn.size:
            text = "nothing is held by motors or constraints"
            axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=style.MUTED)
        panels.log_scale(axes, drawn, beside=marked)
        line_labels.legend(axes, free_width)
        _mark_motion_end(axes, check)

    return draw


def _mark_motion_end(axes: Axes, check: Check) -> None:
    """Show the whole run, and where the motion ends before it."""
    trajectory = check.motion.way
    axes.set_xlim(trajectory.start, trajectory.end)
    if trajectory.stop is not None:
        axes.axvspan(
            trajectory.reached, trajectory.end, color=style.ALERT, alpha=0.08, linewidth=0.0
        )


def _draw_limit_usage(check: Check) -> Callable[[Axes, float], None]:
    curves, loads = check.motion.curves, check.motion.loads
    assert curves is not None
    assert loads is not None

    def draw(axes: Axes, free_width: float) -> None:
        columns = [i for i in range(len(LIMIT_KINDS)) if np.isfinite(loads.used[:, i]).any()]
        values = 100.0 * loads.used[:, columns]
        panels.lines(axes, curves.t, values, [LIMIT_KINDS[i] for i in columns], free_width)
        axes.axhline(100.0, color=style.ALERT, linewidth=0.9, linestyle="--")
        axes.set_ylim(0.0, max(110.0, 1.08 * panels.extent(values)[1]))  # a limit of 0: infinite
        axes.set_ylabel("%")
        _mark_motion_end(axes, check)

    return draw


def _input_panels(check: Check) -> list[panels.Panel]:
    """Return a panel for the inputs of each unit."""
    curves, loads, demands = check.motion.curves, check.motion.loads, check.motion.feasibility
    assert curves is not None
    assert loads is not None
    assert demands is not None
    uses = demands.inputs or demands.law
    inputs = loads.needed if demands.inputs else loads.law
    values = np.where(np.abs(inputs) > ZERO_SHARE, inputs, 0.0)
    title = "Smallest input that makes the motion" if demands.inputs else "Input of the law"
    drawn = []
    for unit in dict.fromkeys(use.unit for use in uses):
        for at in line_labels.split_columns([i for i, use in enumerate(uses) if use.unit == unit]):

            def draw(axes: Axes, free_width: float, at: list[int] = at, unit: str = unit) -> None:
                names = [uses[i].name for i in at]
                sizes = [np.inf if (end := uses[i].limit) is None else abs(end) for i in at]
                ends = [(-size, size) for size in sizes]
                panels.lines(axes, curves.t, values[:, at], names, free_width)
                panels.fit_y_axis(axes, values[:, at])
                marks.mark_limits(axes, values[:, at], ends, names)
                marks.mark_exceeded(axes, curves.t, values[:, at], ends)
                axes.set_ylabel(f"u [{unit_text(unit)}]")
                _mark_motion_end(axes, check)

            drawn.append(panels.Panel(title, draw, 2))
    return drawn


# Page and card


def write_check(check: Check, folder: AnyPath) -> Path:
    """Write `report.html`, `check.json` with the curves, and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images = draw_figures(check)
    data = json.dumps(check.to_dict(curves=True), indent=1, allow_nan=False)
    texts = {"check.json": f"{data}\n", "report.html": page_html(check, images)}
    return html_page.write_page("the check", Path(folder), texts, images, FIGURES)


def draw_figures(check: Check) -> list[html_page.PageFigure]:
    """Draw what there is to show."""
    draw: dict[str, Callable[[], Figure]] = {}
    if check.motion.curves is not None:
        draw["check"] = lambda: check_figure(check)
    slack_curves = check.motion.left
    if slack_curves is not None and not np.isnan(slack_curves.slack).all():
        draw["kept"] = lambda: slack_figure(check)
    internal = check.internal
    if internal is not None and drawable(internal):
        draw["internal"] = lambda: internal_dynamics_figure(internal)
    return [html_page.page_figure(name, *FIGURES[name], drawing) for name, drawing in draw.items()]


def headline(check: Check) -> str:
    """Return the verdict in a sentence."""
    causes = [cause for cause in check.causes if cause.level != "note"]
    return sentence(first_sentence(causes[0].text)[0]) if causes else READY_TEXT


def page_html(check: Check, images: Sequence[html_page.PageFigure]) -> str:
    """Return the page."""
    causes = [cause for cause in check.causes if cause.level != "note"]
    notes = [Verdict("note", "note", cause.text) for cause in check.causes if cause.level == "note"]
    audit = [
        Verdict(_AUDIT.get(level, "note"), level, sentence(text))
        for level, _, text in (finding.partition(": ") for finding in check.findings)
    ]
    demands, rows = check.motion.feasibility, check.start.rows
    uses, count = (None, 0) if demands is None else use_table(demands)
    contents = [("causes", "Verdict"), *((image.name, image.title) for image in images)]
    contents += [("limits", "Limits")] if count else []
    contents += [("facts", "Facts")]
    context = {
        "title": check.scenario,
        "robot": check.robot,
        "verdict": BADGES.get(check.verdict, check.verdict),
        "level": LEVELS[check.verdict],
        "headline": headline(check),
        "contents": contents,
        "causes": causes,
        "notes": notes,
        "figures": images,
        "uses": uses if count else None,
        "facts": list(facts(check)),
        "rows": row_table(rows, check.start.servo.dependent, len(rows)) if rows else None,
        "audit": audit,
    }
    return html_page.render("check.html.j2", context)


def html(check: Check) -> str:
    """Return the card."""
    from ukctrl.reports.notebook_card import card

    causes = (
        (TableCell(cause.level, cause.level), f"{cause.text} {cause.cure}")
        for cause in check.causes[:MAX_CAUSES]
    )
    columns = TableColumn("", "text"), TableColumn("", "text")
    return card(check.scenario, headline(check), table=ReportTable.from_rows(columns, causes))
