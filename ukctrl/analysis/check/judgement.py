"""What the findings along a motion mean for a run: problems, warnings, notes.

A *problem* (level ``bad``) stands in the way of the run: the law stops, or the error grows. A
*warning* says that the task asks for more than the robot has, though the run goes on: limits bind
only where the bench enforces them, and some laws give way. A *note* is worth knowing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ukctrl.analysis.check.causes import AT_END, NEAR
from ukctrl.analysis.check.control_period import SLOWED, Sampling
from ukctrl.analysis.check.feasibility import Feasibility, Grounded
from ukctrl.analysis.check.findings import AlongMotion, Judgement, RowCheck, Way
from ukctrl.analysis.check.limit_use import Use
from ukctrl.analysis.check.path_timing import PathTiming
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.analysis.check.ranks_along import Ranks
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.core.algebra.grip import WEAK
from ukctrl.core.errors import quoted
from ukctrl.core.number_text import percent, si
from ukctrl.core.verdict import Level
from ukctrl.mechanics.timing import in_words
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.loop.spans import SAME
from ukctrl.simulation.result.verdicts.scales import SLIPPERY

VERY_NEAR, THROUGH = 1e-3, 1e-5
"""Singular values of unit rows that are worth a warning, and that no integrator passes under a law
without damping."""
MOVE_ON = "Move the path or the start, or let the law give way there: allocation.kind = 'damped'."
"""What helps where rows cannot be met, or nearly so."""
SLOWER = "Slow the motion down"
"""What makes every demand smaller."""
NEEDS, ASKED, CHANGES = "needs", "is asked by the law for", "must change by"
MOVES, GOES = "must move at", "must go to"
WITHIN = f"{SLOWER}, or let the law keep within the limits: allocation.kind = 'bounded'."
SHORT_OF = {
    NEEDS: ("limits", WITHIN),
    ASKED: ("limits", WITHIN),
    CHANGES: ("limits", f"{SLOWER}."),
    MOVES: ("speed", f"{SLOWER}."),
    GOES: ("place", "Move the path, or start in another position from which it is reached."),
}
"""Of what a motion takes beyond a limit: the kind of judgement, and what helps."""
OFF = 1e-6
"""A row that nothing moves must be on its path by less [unit]."""
TOO_FAST = 0.99
"""Part of its speed at which a motion must keep limits for it to be worth a word."""
HIGH = 5e-3
"""A foot that is no higher when it is counted on again comes down all the same [m]."""
MOST_NAMED = 6
"""Of more motors or joints beyond a limit, the others are counted."""


def judge(loop: Loop, rows: tuple[RowCheck, ...], along: AlongMotion) -> Iterator[Judgement]:
    """Yield what the findings along a motion mean."""
    controller, way = loop.scenario.controller, along.way
    allocation = controller.row_allocation
    shares = None if allocation is None else allocation.behaviour(loop.law.task)
    strict = controller.needs_grip if shares is None else shares.stops
    grave: Level = "bad" if strict else "warning"
    if way.stop is not None:
        text = way.stop.text if strict else f"{way.stop.text} The law gives way there."
        by_law = way.stop.why == "law" and shares is None
        cure = MOVE_ON if strict and way.stop.why != "law" else ""
        yield Judgement("note" if by_law else grave, "motion", text, None, cure)
    if way.lost:
        text = f"the law does not bring the start back to the rows: {way.lost}"
        yield Judgement("bad", "lost", text)
    if way.yields:
        text = (
            f"blocks {quoted(way.yields)} contradict those before them somewhere; the law keeps "
            "them as nearly as it can."
        )
        yield Judgement("note", "motion", text)
    weak = along.weak_grip
    held = {row.name for row in rows if row.relative_degree in (1, 2)}  # of others it is told
    if weak is not None and (weak.hold == "weak" or weak.row in held):
        level = grave if weak.weakest < THROUGH else _near(weak.weakest)
        yield Judgement(level if controller.needs_grip else "note", "weak", weak.text)
    if along.ranks is not None:
        off = [row.name for row in rows if row.name in along.ranks.unmoved and abs(row.phi) > OFF]
        if off:
            text = (
                f"rows {quoted(off)} are off their path, and nothing on the robot moves them: no "
                "freedom that the passive constraints leave changes them."
            )
            yield Judgement("bad", "unmoved", text)
        stopped = way.reached if way.stop is not None else math.inf
        yield from _of_ranks(along.ranks, grave, stopped, needs_grip=controller.needs_grip)
    if along.feasibility is not None:
        slows = shares is not None and shares.keeps_limits
        needs_grip = controller.needs_grip
        yield from _of_limits(along.feasibility, grave, needs_grip=needs_grip, slows=slows)
        served = along.kept.contacts if along.kept and not along.kept.stretches else ()
        ground = (each for each in along.feasibility.ground if each.name not in served)
        yield from _of_ground(ground)
    if along.timing is not None:
        yield from _of_timing(along.timing, way)
    if along.optimum is not None and along.optimum.ends - way.end > SAME:
        text = f"the optimised path ends at t = {along.optimum.ends:.4g} s, after the run."
        yield Judgement("note", "timing", text, None, "Let timing.duration be longer.")
    if along.sampling is not None:
        yield from _of_sampling(along.sampling)


def lifted(lifts: Lifts, motion: Motion) -> Iterator[Judgement]:
    """Yield what the ground holds of the task at first, and which contacts come down too late."""
    if not lifts:
        return
    waiting = dict[float, list[str]]()
    for block in lifts.phases[0].held:
        free = [phase.start for phase in lifts.phases if block not in phase.held]
        if free:
            waiting.setdefault(free[0], []).append(block)
    for t, blocks in waiting.items():
        text = (
            f"the ground holds {quoted(blocks)} until t = {t:.4g} s, and whenever else their "
            "contacts stand: no input moves these rows then, and what is said of them is said of "
            "the rest of the time."
        )
        yield Judgement("note", "lifts", text)
    for landing in lifts.landings(motion.t, motion.q, motion.v) if len(motion.t) else ():
        if landing.height > HIGH:
            text = (
                f"contact '{landing.contact}' is counted on again at t = {landing.t:.4g} s, where "
                f"the task has it {si(landing.height, 'm')} above the ground."
            )
            cure = "Let its path come down by then, to a millimetre below the ground."
            yield Judgement("warning", "lifts", text, landing.t, cure)
            return


def _of_ranks(
    ranks: Ranks, grave: Level, stopped: float, *, needs_grip: bool
) -> Iterator[Judgement]:
    """Yield what the ranks along a motion mean; ``stopped`` is where it ends before the run [s]."""
    servo, grip, passive = ranks.servo, ranks.grip, ranks.passive
    if servo.worst_at >= stopped - AT_END:
        pass  # the end of the motion itself, which is told already
    elif servo.lowest < servo.highest:
        text = (
            f"the servo rows lose their independence at t = {servo.lowest_at:.4g} s, most row "
            f"'{servo.worst_row}': a singular position, where {servo.highest - servo.lowest} of "
            f"{servo.highest} cannot be moved."
        )
        cure = MOVE_ON if grave == "bad" else ""
        yield Judgement(grave, "ranks", text, servo.lowest_at, cure)
    elif servo.highest and servo.worst < NEAR:
        text = (
            f"the motion comes near a singular position at t = {servo.worst_at:.4g} s: the "
            f"smallest singular value falls to {servo.worst:.2g}, most in row "
            f"'{servo.worst_row}'. Inputs and rates grow as its inverse."
        )
        level = grave if servo.worst < THROUGH else _near(servo.worst)
        yield Judgement(level, "ranks", text, servo.worst_at, MOVE_ON if level == "bad" else "")
    if grip.lowest < grip.highest and servo.lowest == servo.highest:
        text = (
            f"the motors lose their grip of row '{grip.worst_row}' at t = {grip.lowest_at:.4g} s: "
            f"they hold {grip.lowest} of {servo.highest} independent rows there."
        )
        yield Judgement(grave if needs_grip else "note", "grip", text, grip.lowest_at)
    elif grip.highest and WEAK <= grip.worst < NEAR <= servo.worst:
        text = (
            f"the motors come near losing their grip of row '{grip.worst_row}' at t = "
            f"{grip.worst_at:.4g} s: the smallest singular value falls to {grip.worst:.2g}."
        )
        yield Judgement(_near(grip.worst), "grip", text, grip.worst_at)
    if passive.lowest < passive.highest:
        text = (
            f"the mechanism passes a singular position at t = {passive.lowest_at:.4g} s, where "
            f"{passive.highest - passive.lowest} of its constraints gives way, most "
            f"'{passive.worst_row}'."
        )
        yield Judgement("note", "mechanism", text)


def _near(sigma: float) -> Level:
    return "warning" if sigma < VERY_NEAR else "note"


def _of_limits(
    found: Feasibility, grave: Level, *, needs_grip: bool, slows: bool
) -> Iterator[Judgement]:
    """Yield what the motion takes that the robot has not."""
    missed, refused = found.missed, found.refused
    if missed is not None:
        text = (
            f"the motors cannot make the motion: from t = {missed.t:.4g} s on they miss "
            f"{percent(missed.share)} of its acceleration, most at '{missed.dof}'."
        )
        cure = "Leave the freedoms that no motor drives out of the task, or add a motor."
        level: Level = "bad" if needs_grip else "note"
        yield Judgement(level, "missed", text, missed.t, cure if needs_grip else "")
    if refused is not None:
        text = f"at t = {refused.t:.4g} s the law gives up: {refused.text}"
        yield Judgement(grave, "law", text, refused.t)
    every = (*found.inputs, *(found.law if not found.inputs else ()))
    back = [use for use in every if use.since is not None and use.approach]
    yield from _beyond("motor", ASKED, back)
    over = [use for use in found.inputs if use.since is not None and not use.approach]
    if over and found.elsewhere:
        text = (
            f"the smallest input is beyond the limits of {quoted([use.name for use in over])}, "
            'but another one that keeps them serves: allocation.kind = "bounded" finds it.'
        )
        yield Judgement("note", "elsewhere", text)
    elif over:
        yield from _beyond("motor", NEEDS, over)
        if slows:
            text = "the law keeps within the limits, and the task gives way instead."
            yield Judgement("note", "gives way", text)
    else:
        own = (use for use in found.law if not use.approach)
        yield from _beyond("motor", ASKED, own)
    yield from _beyond("motor", CHANGES, found.rates)
    yield from _beyond("joint", MOVES, found.velocities)
    yield from _beyond("joint", GOES, found.positions)


def _of_ground(ground: Iterable[Grounded]) -> Iterator[Judgement]:
    """Yield what a real ground would not do; of contacts whose forces are kept it is told apart."""
    for contact in ground:
        if contact.lifts is not None:
            text = (
                f"contact '{contact.name}' would lift off at t = {contact.lifts:.4g} s: the ground "
                f"would have to pull with up to {-contact.least:.3g} N (t = {contact.t:.4g} s)."
            )
            yield Judgement("warning", "ground", text, contact.lifts, f"{SLOWER}.")
        elif contact.friction > SLIPPERY:
            text = (
                f"contact '{contact.name}' needs a coefficient of friction of "
                f"{contact.friction:.2g} not to slip, more than rubber has on dry concrete."
            )
            yield Judgement("note", "ground", text)


def _beyond(what: str, does: str, uses: Iterable[Use]) -> Iterator[Judgement]:
    """Yield a sentence for each of the worst uses that are beyond a limit."""
    beyond = [use for use in uses if use.since is not None]
    subject, cure = SHORT_OF[does]
    for use in sorted(beyond, key=lambda use: -(use.share or 0.0))[:MOST_NAMED]:
        way = ", on the way from the start back to the rows" if use.approach else ""
        text = (
            f"{what} '{use.name}' {does} {use.value:.4g} {use.unit} at t = {use.t:.4g} s, "
            f"{use.beyond:.3g} beyond its limit of {use.limit:.4g}, first at t = {use.since:.4g} s"
            f"{way}."
        )
        if use.approach:
            yield Judgement("warning", "approach", text, use.t)
        else:
            yield Judgement("warning", subject, text, use.t, cure)
    if len(beyond) > MOST_NAMED:
        text = f"{len(beyond) - MOST_NAMED} more {what}s are beyond a limit."
        yield Judgement("warning", subject, text, beyond[0].t)


def _of_timing(found: PathTiming, way: Way) -> Iterator[Judgement]:
    """Yield by how much a motion is too fast, and whether a clock of retimed paths is its own."""
    retimed = found.clock_ends is not None
    if 0.0 < found.rate < TOO_FAST:
        text = (
            f"the motion would keep all limits at {found.rate:.3g} times its speed "
            f"({in_words(found.binding)}, t = {found.t:.4g} s)."
        )
        best = f", {found.least:.4g} s," if found.least is not None else ""
        cure = f'kind = "retimed" gives the path the fastest timing{best} that the robot can do.'
        yield Judgement("note", "timing", text, None, "" if retimed else cure)
    if retimed and way.kind == "law":
        text = (
            "the rows leave freedoms open, and the retimed paths have the clock of the smallest "
            "joint motion; the law moves otherwise, and may need more."
        )
        cure = (
            "Hold the posture by a row that is constant, or follow the joints, such as with "
            "controller.use = 'computed-torque'."
        )
        yield Judgement("warning", "open", text, None, cure)
    if found.clock_ends is not None and found.clock_ends > way.end:
        text = f"the retimed paths end at t = {found.clock_ends:.4g} s, after the run."
        yield Judgement("note", "timing", text, None, "Let timing.duration be longer.")


def _of_sampling(found: Sampling) -> Iterator[Judgement]:
    """Yield whether the control period suits the gains."""
    period, rate = found.period, found.sampled_decay
    if period is None or rate is None or found.decay <= 0.0:
        return
    late = f" and a delay of {found.delay:.3g} s" if found.delay else ""
    if period >= found.longest:
        text = (
            f"a control period of {period:.4g} s{late} is too long for the gains: the error of row "
            f"'{found.row}' grows from {found.longest:.3g} s on. Shorten timing.control to "
            f"{found.recommended:.2g} s, or lower the gains."
        )
        yield Judgement("bad", "period", text)
    elif rate < SLOWED * found.decay:
        text = (
            f"a control period of {period:.4g} s{late} is long for the gains: the error of row "
            f"'{found.row}' decays at {rate:.3g} 1/s instead of {found.decay:.3g}; below "
            f"{found.recommended:.2g} s it keeps four fifths of that."
        )
        yield Judgement("warning", "period", text)
