"""What the findings along a motion mean for a run: problems, warnings, notes.

A *problem* (level ``bad``) stands in the way of the run: the law stops, or the error grows. A
*warning* says that the task asks for more than the robot has, though the run goes on: limits bind
only where the bench enforces them, and some laws give way. A *note* is worth knowing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ukctrl.analysis.check.control_period import SLOWED, Sampling
from ukctrl.analysis.check.feasibility import Feasibility, Use
from ukctrl.analysis.check.findings import AlongMotion, RowCheck
from ukctrl.analysis.check.ranks_along import Ranks
from ukctrl.core.algebra.grip import WEAK
from ukctrl.core.errors import quoted
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.verdicts.scales import SLIPPERY

NEAR, VERY_NEAR, THROUGH = 0.02, 1e-3, 1e-5
"""Singular values of unit rows that are worth a note, worth a warning, and that no integrator
passes under a law without damping."""
AT_END = 0.05
"""A singular value that is least so shortly before the motion ends says nothing new [s]."""
OFF = 1e-6
"""A row that nothing moves must be on its path by less [unit]."""
MOST_NAMED = 6
"""Of more motors or joints beyond a limit, the others are counted."""


def judge(loop: Loop, rows: tuple[RowCheck, ...], along: AlongMotion) -> Iterator[Verdict]:
    """Yield what the findings along a motion mean.

    Args:
        loop: The scenario, ready to run.
        rows: The servo rows at the start.
        along: What was found along the motion.
    """
    controller, way = loop.scenario.controller, along.way
    allocation = controller.row_allocation
    shares = None if allocation is None else allocation.behaviour(loop.law.task)
    strict = controller.needs_grip if shares is None else shares.stops
    grave: Level = "bad" if strict else "warning"
    if way.stop is not None:
        text = way.stop.text if strict else f"{way.stop.text} The law gives way there."
        by_law = way.stop.why == "law" and shares is None
        yield Verdict("note" if by_law else grave, "motion", text)
    if way.yields:
        text = (
            f"blocks {quoted(way.yields)} contradict those before them somewhere; the law keeps "
            "them as nearly as it can."
        )
        yield Verdict("note", "motion", text)
    weak = along.weak_grip
    held = {row.name for row in rows if row.relative_degree in (1, 2)}  # of others it is told
    if weak is not None and (weak.hold == "weak" or weak.row in held):
        level = grave if weak.weakest < THROUGH else _near(weak.weakest)
        yield Verdict(level if controller.needs_grip else "note", "grip", weak.text)
    if along.ranks is not None:
        off = [row.name for row in rows if row.name in along.ranks.unmoved and abs(row.phi) > OFF]
        if off:
            text = (
                f"rows {quoted(off)} are off their path, and nothing on the robot moves them: no "
                "freedom that the passive constraints leave changes them."
            )
            yield Verdict("bad", "ranks", text)
        stopped = way.reached if way.stop is not None else math.inf
        yield from _of_ranks(along.ranks, grave, stopped, needs_grip=controller.needs_grip)
    if along.feasibility is not None:
        slows = shares is not None and shares.keeps_limits
        needs_grip = controller.needs_grip
        yield from _of_limits(along.feasibility, grave, needs_grip=needs_grip, slows=slows)
    if along.sampling is not None:
        yield from _of_sampling(along.sampling)


def _of_ranks(ranks: Ranks, grave: Level, stopped: float, *, needs_grip: bool) -> Iterator[Verdict]:
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
        yield Verdict(grave, "ranks", text)
    elif servo.highest and servo.worst < NEAR:
        text = (
            f"the motion comes near a singular position at t = {servo.worst_at:.4g} s: the "
            f"smallest singular value falls to {servo.worst:.2g}, most in row "
            f"'{servo.worst_row}'. Inputs and rates grow as its inverse."
        )
        yield Verdict(grave if servo.worst < THROUGH else _near(servo.worst), "ranks", text)
    if grip.lowest < grip.highest and servo.lowest == servo.highest:
        text = (
            f"the motors lose their grip of row '{grip.worst_row}' at t = {grip.lowest_at:.4g} s: "
            f"they hold {grip.lowest} of {servo.highest} independent rows there."
        )
        yield Verdict(grave if needs_grip else "note", "grip", text)
    elif grip.highest and WEAK <= grip.worst < NEAR <= servo.worst:
        text = (
            f"the motors come near losing their grip of row '{grip.worst_row}' at t = "
            f"{grip.worst_at:.4g} s: the smallest singular value falls to {grip.worst:.2g}."
        )
        yield Verdict(_near(grip.worst), "grip", text)
    if passive.lowest < passive.highest:
        text = (
            f"the mechanism passes a singular position at t = {passive.lowest_at:.4g} s, where "
            f"{passive.highest - passive.lowest} of its constraints gives way, most "
            f"'{passive.worst_row}'."
        )
        yield Verdict("note", "mechanism", text)


def _near(sigma: float) -> Level:
    return "warning" if sigma < VERY_NEAR else "note"


def _of_limits(
    found: Feasibility, grave: Level, *, needs_grip: bool, slows: bool
) -> Iterator[Verdict]:
    """Yield what the motion takes that the robot has not."""
    missed, refused = found.missed, found.refused
    if missed is not None:
        text = (
            f"the motors cannot make the motion: from t = {missed.t:.4g} s on they miss "
            f"{100.0 * missed.share:.2g} % of its acceleration, most at '{missed.dof}'."
        )
        yield Verdict("bad" if needs_grip else "note", "motors", text)
    if refused is not None:
        text = f"at t = {refused.t:.4g} s the law gives up: {refused.text}"
        yield Verdict(grave, "law", text)
    over = [use for use in found.inputs if use.since is not None]
    if over and found.elsewhere:
        text = (
            f"the smallest input is beyond the limits of {quoted([use.name for use in over])}, "
            'but another one that keeps them serves: allocation.kind = "bounded" finds it.'
        )
        yield Verdict("note", "motors", text)
    elif over:
        yield from _beyond("motor", "needs", over)
        if slows:
            text = "the law keeps within the limits, and the task gives way instead."
            yield Verdict("note", "motors", text)
    else:
        yield from _beyond("motor", "is asked by the law for", found.law)
    yield from _beyond("motor", "must change by", found.rates)
    yield from _beyond("joint", "must move at", found.velocities)
    yield from _beyond("joint", "must go to", found.positions)
    for contact in found.ground:
        if contact.lifts is not None:
            text = (
                f"contact '{contact.name}' would lift off at t = {contact.lifts:.4g} s: the ground "
                f"would have to pull with up to {-contact.least:.3g} N (t = {contact.t:.4g} s)."
            )
            yield Verdict("warning", "ground", text)
        elif contact.friction > SLIPPERY:
            text = (
                f"contact '{contact.name}' needs a coefficient of friction of "
                f"{contact.friction:.2g} not to slip, more than rubber has on dry concrete."
            )
            yield Verdict("note", "ground", text)


def _beyond(what: str, does: str, uses: Iterable[Use]) -> Iterator[Verdict]:
    """Yield a sentence for each of the worst uses that are beyond a limit."""
    beyond = [use for use in uses if use.since is not None]
    for use in sorted(beyond, key=lambda use: -(use.share or 0.0))[:MOST_NAMED]:
        text = (
            f"{what} '{use.name}' {does} {use.value:.4g} {use.unit} at t = {use.t:.4g} s, "
            f"{use.beyond:.3g} beyond its limit of {use.limit:.4g}, first at t = {use.since:.4g} s."
        )
        yield Verdict("warning", "limits", text)
    if len(beyond) > MOST_NAMED:
        text = f"{len(beyond) - MOST_NAMED} more {what}s are beyond a limit."
        yield Verdict("warning", "limits", text)


def _of_sampling(found: Sampling) -> Iterator[Verdict]:
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
        yield Verdict("bad", "period", text)
    elif rate < SLOWED * found.decay:
        text = (
            f"a control period of {period:.4g} s{late} is long for the gains: the error of row "
            f"'{found.row}' decays at {rate:.3g} 1/s instead of {found.decay:.3g}; below "
            f"{found.recommended:.2g} s it keeps four fifths of that."
        )
        yield Verdict("warning", "period", text)
