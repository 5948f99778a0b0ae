"""What the findings along a motion mean for a run: problems, warnings, notes.

A *problem* (level ``bad``) stands in the way of the run: the law stops, or the error grows. A
*warning* says that the task asks for more than the robot has, though the run goes on: limits bind
only where the bench enforces them, and some laws give way. A *note* is worth knowing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ukctrl.analysis.check.check_result import Diagnostic, MotionCheck, RowCheck, TaskMotionSummary
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.feasibility import ContactLoad, Feasibility
from ukctrl.analysis.check.limit_usage import LimitUsage
from ukctrl.analysis.check.motion_ranks import MotionRanks
from ukctrl.analysis.check.path_timing import PathTiming
from ukctrl.analysis.check.root_causes import END_WINDOW, NEAR_SINGULAR
from ukctrl.analysis.check.sampled_error import SLOW_DECAY_RATIO, SampledError
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.core.algebra.input_authority import WEAK_AUTHORITY
from ukctrl.core.errors import quoted
from ukctrl.core.number_text import percent, si
from ukctrl.core.verdict import Level
from ukctrl.mechanics.timing import describe_binding
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.events.event_schedule import TIME_RTOL
from ukctrl.simulation.result.verdicts.error_floor import SLIPPERY

SIGMA_WARNING, SIGMA_PROBLEM = 1e-3, 1e-5
"""Singular values of unit rows that are worth a warning, and that no integrator passes under a law
without damping."""
SINGULAR_REMEDY = (
    "Move the path or the start, or let the law give way there: allocation.kind = 'damped'."
)
"""What helps where rows cannot be met, or nearly so."""
SLOW_DOWN = "Slow the motion down"
"""What makes every demand smaller."""
NEEDS, ASKED, CHANGES = "needs", "is asked by the law for", "must change by"
MOVES, GOES = "must move at", "must go to"
LIMIT_REMEDY = f"{SLOW_DOWN}, or let the law keep within the limits: allocation.kind = 'bounded'."
LIMIT_KINDS = {
    NEEDS: ("limits", LIMIT_REMEDY),
    ASKED: ("limits", LIMIT_REMEDY),
    CHANGES: ("limits", f"{SLOW_DOWN}."),
    MOVES: ("speed", f"{SLOW_DOWN}."),
    GOES: ("place", "Move the path, or start in another position from which it is reached."),
}
"""Of what a motion takes beyond a limit: the kind of judgement, and what helps."""
PATH_TOLERANCE = 1e-6
"""A row that nothing moves must be on its path by less [unit]."""
TIMING_NOTE_FACTOR = 0.99
"""Part of its speed at which a motion must keep limits for it to be worth a word."""
TOUCHDOWN_TOLERANCE = 5e-3
"""A foot that is no higher when it is counted on again comes down all the same [m]."""
MAX_NAMED = 6
"""Of more motors or joints beyond a limit, the others are counted."""


def motion_diagnostics(
    loop: Loop, rows: tuple[RowCheck, ...], along: MotionCheck
) -> Iterator[Diagnostic]:
    """Yield what the findings along a motion mean."""
    controller, trajectory = loop.scenario.controller, along.way
    allocation = controller.row_allocation
    shares = None if allocation is None else allocation.behaviour(loop.law.task)
    strict = controller.needs_grip if shares is None else shares.raises_if_infeasible
    grave: Level = "bad" if strict else "warning"
    if trajectory.stop is not None:
        text = (
            trajectory.stop.text if strict else f"{trajectory.stop.text} The law gives way there."
        )
        by_law = trajectory.stop.why == "law" and shares is None
        cure = SINGULAR_REMEDY if strict and trajectory.stop.why != "law" else ""
        yield Diagnostic("note" if by_law else grave, "motion", text, None, cure)
    if trajectory.lost:
        text = f"the law does not bring the start back to the rows: {trajectory.lost}"
        yield Diagnostic("bad", "lost", text)
    if trajectory.yields:
        text = (
            f"blocks {quoted(trajectory.yields)} contradict those before them somewhere; the law "
            "keeps "
            "them as nearly as it can."
        )
        yield Diagnostic("note", "motion", text)
    weak = along.weak_grip
    direct_rows = {
        row.name for row in rows if row.relative_degree in (1, 2)
    }  # of others it is told
    if weak is not None and (weak.hold == "weak" or weak.row in direct_rows):
        level = grave if weak.weakest < SIGMA_PROBLEM else _sigma_level(weak.weakest)
        yield Diagnostic(level if controller.needs_grip else "note", "weak", weak.text)
    if along.ranks is not None:
        off = [
            row.name
            for row in rows
            if row.name in along.ranks.unmoved and abs(row.phi) > PATH_TOLERANCE
        ]
        if off:
            text = (
                f"rows {quoted(off)} are off their path, and nothing on the robot moves them: no "
                "freedom that the passive constraints leave changes them."
            )
            yield Diagnostic("bad", "unmoved", text)
        stopped = trajectory.reached if trajectory.stop is not None else math.inf
        yield from _rank_diagnostics(along.ranks, grave, stopped, needs_grip=controller.needs_grip)
    if along.feasibility is not None:
        slows = shares is not None and shares.respects_limits
        needs_grip = controller.needs_grip
        yield from _limit_diagnostics(along.feasibility, grave, needs_grip=needs_grip, slows=slows)
        served = along.kept.contacts if along.kept and not along.kept.stretches else ()
        ground = (load for load in along.feasibility.ground if load.name not in served)
        yield from _contact_diagnostics(ground)
    if along.timing is not None:
        yield from _timing_diagnostics(along.timing, trajectory)
    if along.optimum is not None and along.optimum.end - trajectory.end > TIME_RTOL:
        text = f"the optimised path ends at t = {along.optimum.end:.4g} s, after the run."
        yield Diagnostic("note", "timing", text, None, "Let timing.duration be longer.")
    if along.sampling is not None:
        yield from _period_diagnostics(along.sampling)


def lift_diagnostics(lifts: ContactSchedule, motion: TaskMotion) -> Iterator[Diagnostic]:
    """Yield what the ground holds of the task at first, and which contacts come down too late."""
    if not lifts:
        return
    waiting = dict[float, list[str]]()
    for block in lifts.phases[0].ground_blocks:
        free = [phase.start for phase in lifts.phases if block not in phase.ground_blocks]
        if free:
            waiting.setdefault(free[0], []).append(block)
    for t, blocks in waiting.items():
        text = (
            f"the ground holds {quoted(blocks)} until t = {t:.4g} s, and whenever else their "
            "contacts stand: no input moves these rows then, and what is said of them is said of "
            "the rest of the time."
        )
        yield Diagnostic("note", "lifts", text)
    for landing in lifts.touchdowns(motion.t, motion.q, motion.v) if len(motion.t) else ():
        if landing.height > TOUCHDOWN_TOLERANCE:
            text = (
                f"contact '{landing.contact}' is counted on again at t = {landing.t:.4g} s, where "
                f"the task has it {si(landing.height, 'm')} above the ground."
            )
            cure = "Let its path come down by then, to a millimetre below the ground."
            yield Diagnostic("warning", "lifts", text, landing.t, cure)
            return


def _rank_diagnostics(
    ranks: MotionRanks, grave: Level, stopped: float, *, needs_grip: bool
) -> Iterator[Diagnostic]:
    """Yield what the ranks along a motion mean; ``stopped`` is where it ends before the run [s]."""
    servo, grip, passive = ranks.servo, ranks.grip, ranks.passive
    if servo.worst_at >= stopped - END_WINDOW:
        pass  # the end of the motion itself, which is told already
    elif servo.lowest < servo.highest:
        text = (
            f"the servo rows lose their independence at t = {servo.lowest_at:.4g} s, most row "
            f"'{servo.worst_row}': a singular position, where {servo.highest - servo.lowest} of "
            f"{servo.highest} cannot be moved."
        )
        cure = SINGULAR_REMEDY if grave == "bad" else ""
        yield Diagnostic(grave, "ranks", text, servo.lowest_at, cure)
    elif servo.highest and servo.worst < NEAR_SINGULAR:
        text = (
            f"the motion comes near a singular position at t = {servo.worst_at:.4g} s: the "
            f"smallest singular value falls to {servo.worst:.2g}, most in row "
            f"'{servo.worst_row}'. Inputs and rates grow as its inverse."
        )
        level = grave if servo.worst < SIGMA_PROBLEM else _sigma_level(servo.worst)
        yield Diagnostic(
            level, "ranks", text, servo.worst_at, SINGULAR_REMEDY if level == "bad" else ""
        )
    if grip.lowest < grip.highest and servo.lowest == servo.highest:
        text = (
            f"the motors lose their grip of row '{grip.worst_row}' at t = {grip.lowest_at:.4g} s: "
            f"they hold {grip.lowest} of {servo.highest} independent rows there."
        )
        yield Diagnostic(grave if needs_grip else "note", "grip", text, grip.lowest_at)
    elif grip.highest and WEAK_AUTHORITY <= grip.worst < NEAR_SINGULAR <= servo.worst:
        text = (
            f"the motors come near losing their grip of row '{grip.worst_row}' at t = "
            f"{grip.worst_at:.4g} s: the smallest singular value falls to {grip.worst:.2g}."
        )
        yield Diagnostic(_sigma_level(grip.worst), "grip", text, grip.worst_at)
    if passive.lowest < passive.highest:
        text = (
            f"the mechanism passes a singular position at t = {passive.lowest_at:.4g} s, where "
            f"{passive.highest - passive.lowest} of its constraints gives way, most "
            f"'{passive.worst_row}'."
        )
        yield Diagnostic("note", "mechanism", text)


def _sigma_level(sigma: float) -> Level:
    return "warning" if sigma < SIGMA_WARNING else "note"


def _limit_diagnostics(
    demands: Feasibility, grave: Level, *, needs_grip: bool, slows: bool
) -> Iterator[Diagnostic]:
    """Yield what the motion takes that the robot has not."""
    missed, refused = demands.missed, demands.refused
    if missed is not None:
        text = (
            f"the motors cannot make the motion: from t = {missed.t:.4g} s on they miss "
            f"{percent(missed.share)} of its acceleration, most at '{missed.dof}'."
        )
        cure = "Leave the freedoms that no motor drives out of the task, or add a motor."
        level: Level = "bad" if needs_grip else "note"
        yield Diagnostic(level, "missed", text, missed.t, cure if needs_grip else "")
    if refused is not None:
        text = f"at t = {refused.t:.4g} s the law gives up: {refused.text}"
        yield Diagnostic(grave, "law", text, refused.t)
    usages = (*demands.inputs, *(demands.law if not demands.inputs else ()))
    back = [use for use in usages if use.since is not None and use.approach]
    yield from _violation_diagnostics("motor", ASKED, back)
    over = [use for use in demands.inputs if use.since is not None and not use.approach]
    if over and demands.elsewhere:
        text = (
            f"the smallest input is beyond the limits of {quoted([use.name for use in over])}, "
            'but another one that keeps them serves: allocation.kind = "bounded" finds it.'
        )
        yield Diagnostic("note", "elsewhere", text)
    elif over:
        yield from _violation_diagnostics("motor", NEEDS, over)
        if slows:
            text = "the law keeps within the limits, and the task gives way instead."
            yield Diagnostic("note", "gives way", text)
    else:
        law_usages = (use for use in demands.law if not use.approach)
        yield from _violation_diagnostics("motor", ASKED, law_usages)
    yield from _violation_diagnostics("motor", CHANGES, demands.rates)
    yield from _violation_diagnostics("joint", MOVES, demands.velocities)
    yield from _violation_diagnostics("joint", GOES, demands.positions)


def _contact_diagnostics(ground: Iterable[ContactLoad]) -> Iterator[Diagnostic]:
    """Yield what a real ground would not do; of contacts whose forces are kept it is told apart."""
    for contact in ground:
        if contact.lifts is not None:
            text = (
                f"contact '{contact.name}' would lift off at t = {contact.lifts:.4g} s: the ground "
                f"would have to pull with up to {-contact.least:.3g} N (t = {contact.t:.4g} s)."
            )
            yield Diagnostic("warning", "ground", text, contact.lifts, f"{SLOW_DOWN}.")
        elif contact.friction > SLIPPERY:
            text = (
                f"contact '{contact.name}' needs a coefficient of friction of "
                f"{contact.friction:.2g} not to slip, more than rubber has on dry concrete."
            )
            yield Diagnostic("note", "ground", text)


def _violation_diagnostics(
    element: str, does: str, uses: Iterable[LimitUsage]
) -> Iterator[Diagnostic]:
    """Yield a sentence for each of the worst uses that are beyond a limit."""
    violations = [use for use in uses if use.since is not None]
    subject, cure = LIMIT_KINDS[does]
    for use in sorted(violations, key=lambda use: -(use.share or 0.0))[:MAX_NAMED]:
        suffix = ", on the way from the start back to the rows" if use.approach else ""
        text = (
            f"{element} '{use.name}' {does} {use.value:.4g} {use.unit} at t = {use.t:.4g} s, "
            f"{use.beyond:.3g} beyond its limit of {use.limit:.4g}, first at t = {use.since:.4g} s"
            f"{suffix}."
        )
        if use.approach:
            yield Diagnostic("warning", "approach", text, use.t)
        else:
            yield Diagnostic("warning", subject, text, use.t, cure)
    if len(violations) > MAX_NAMED:
        text = f"{len(violations) - MAX_NAMED} more {element}s are beyond a limit."
        yield Diagnostic("warning", subject, text, violations[0].t)


def _timing_diagnostics(timing: PathTiming, trajectory: TaskMotionSummary) -> Iterator[Diagnostic]:
    """Yield by how much a motion is too fast, and whether a clock of retimed paths is its own."""
    retimed = timing.clock_ends is not None
    if 0.0 < timing.rate < TIMING_NOTE_FACTOR:
        text = (
            f"the motion would keep all limits at {timing.rate:.3g} times its speed "
            f"({describe_binding(timing.binding)}, t = {timing.t:.4g} s)."
        )
        best = f", {timing.least:.4g} s," if timing.least is not None else ""
        cure = f'kind = "retimed" gives the path the fastest timing{best} that the robot can do.'
        yield Diagnostic("note", "timing", text, None, "" if retimed else cure)
    if retimed and trajectory.kind == "law":
        text = (
            "the rows leave freedoms open, and the retimed paths have the clock of the smallest "
            "joint motion; the law moves otherwise, and may need more."
        )
        cure = (
            "Hold the posture by a row that is constant, or follow the joints, such as with "
            "controller.use = 'computed-torque'."
        )
        yield Diagnostic("warning", "open", text, None, cure)
    if timing.clock_ends is not None and timing.clock_ends > trajectory.end:
        text = f"the retimed paths end at t = {timing.clock_ends:.4g} s, after the run."
        yield Diagnostic("note", "timing", text, None, "Let timing.duration be longer.")


def _period_diagnostics(sampling: SampledError) -> Iterator[Diagnostic]:
    """Yield whether the control period suits the gains."""
    period, rate = sampling.period, sampling.sampled_decay
    if period is None or rate is None or sampling.decay <= 0.0:
        return
    late = f" and a delay of {sampling.delay:.3g} s" if sampling.delay else ""
    if period >= sampling.longest:
        text = (
            f"a control period of {period:.4g} s{late} is too long for the gains: the error of row "
            f"'{sampling.row}' grows from {sampling.longest:.3g} s on. Shorten timing.control to "
            f"{sampling.recommended:.2g} s, or lower the gains."
        )
        yield Diagnostic("bad", "period", text)
    elif rate < SLOW_DECAY_RATIO * sampling.decay:
        text = (
            f"a control period of {period:.4g} s{late} is long for the gains: the error of row "
            f"'{sampling.row}' decays at {rate:.3g} 1/s instead of {sampling.decay:.3g}; below "
            f"{sampling.recommended:.2g} s it keeps four fifths of that."
        )
        yield Diagnostic("warning", "period", text)
