"""What the findings along a motion mean for a run: problems, warnings, notes.

A *problem* stands in the way of the run: the law stops, or the error grows. A *warning* says that
the task asks for more than the robot has, though the run goes on: limits bind only where the bench
enforces them, and some laws give way. A *note* is worth knowing.
"""

from __future__ import annotations

import dataclasses as dc
from typing import NamedTuple

from ukctrl.analysis.check.control_period import SLOWED, Sampling
from ukctrl.analysis.check.feasibility import Feasibility
from ukctrl.analysis.check.findings import RowCheck
from ukctrl.analysis.check.limit_use import Use
from ukctrl.analysis.check.ranks_along import Ranks
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.control.allocation.allocation import Behaviour
from ukctrl.core.errors import quoted
from ukctrl.simulation.scenario import Scenario

NEAR, VERY_NEAR, THROUGH = 0.02, 1e-3, 1e-5
"""Singular values of unit rows that are worth a note, worth a warning, and that no integrator
passes under a law without damping."""
AT_END = 0.05
"""A singular value that is least so shortly before the motion ends says nothing new [s]."""
SLIPPERY = 0.8
"""Rubber on dry concrete holds up to about this coefficient of friction."""
OFF = 1e-6
"""A row that nothing moves must be on its path by less [unit]."""
MOST_NAMED = 6
"""Of more motors or joints beyond a limit, the others are counted."""


class Seen(NamedTuple):
    """What was found along the motion."""

    motion: Motion
    ranks: Ranks | None
    feasibility: Feasibility | None
    sampling: Sampling | None
    behaviour: Behaviour | None
    """Of the allocation, of a law by rows."""


@dc.dataclass(kw_only=True)
class Judged:
    """Sentences by weight."""

    problems: list[str] = dc.field(default_factory=list)
    warnings: list[str] = dc.field(default_factory=list)
    notes: list[str] = dc.field(default_factory=list)


def judge(scenario: Scenario, rows: tuple[RowCheck, ...], seen: Seen) -> Judged:
    """Return what the findings along a motion mean."""
    said, controller, shares = Judged(), scenario.controller, seen.behaviour
    strict = controller.needs_grip if shares is None else shares.stops
    grave = said.problems if strict else said.warnings
    stop = seen.motion.stop
    if stop is not None:
        (said.notes if stop.why == "law" and shares is None else grave).append(
            stop.text if strict else f"{stop.text} The law gives way there."
        )
    if seen.motion.yields:
        said.notes.append(
            f"blocks {quoted(seen.motion.yields)} contradict those before them somewhere; the law "
            "keeps them as nearly as it can."
        )
    if seen.ranks is not None:
        stopped = float(seen.motion.t[-1]) if stop is not None else None
        _of_ranks(seen.ranks, rows, grave, said, controller.needs_grip, stopped)
    if seen.feasibility is not None:
        slows = shares is not None and shares.keeps_limits
        _of_limits(seen.feasibility, grave, said, needs_grip=controller.needs_grip, slows=slows)
    if seen.sampling is not None:
        _of_sampling(seen.sampling, said)
    return said


def _of_ranks(
    ranks: Ranks,
    rows: tuple[RowCheck, ...],
    grave: list[str],
    said: Judged,
    needs_grip: bool,
    stopped: float | None,
) -> None:
    off = [row.name for row in rows if row.name in ranks.unmoved and abs(row.phi) > OFF]
    if off:
        said.problems.append(
            f"rows {quoted(off)} are off their path, and nothing on the robot moves them: no "
            "freedom that the passive constraints leave changes them."
        )
    servo, grip, passive = ranks.servo, ranks.grip, ranks.passive
    if stopped is not None and servo.worst_at >= stopped - AT_END:
        pass  # the end of the motion itself, which is told already
    elif servo.lowest < servo.highest:
        grave.append(
            f"the servo rows lose their independence at t = {servo.lowest_at:.4g} s, most row "
            f"'{servo.worst_row}': a singular position, where {servo.highest - servo.lowest} of "
            f"{servo.highest} cannot be moved."
        )
    elif servo.highest and servo.worst < NEAR:
        where = said.warnings if servo.worst < VERY_NEAR else said.notes
        where = grave if servo.worst < THROUGH else where
        where.append(
            f"the motion comes near a singular position at t = {servo.worst_at:.4g} s: the "
            f"smallest singular value falls to {servo.worst:.2g}, most in row "
            f"'{servo.worst_row}'. Inputs and rates grow as its inverse."
        )
    if grip.lowest < grip.highest and servo.lowest == servo.highest:
        (grave if needs_grip else said.notes).append(
            f"the motors lose their grip of row '{grip.worst_row}' at t = {grip.lowest_at:.4g} s: "
            f"they hold {grip.lowest} of {servo.highest} independent rows there."
        )
    elif grip.highest and grip.worst < NEAR <= servo.worst:
        where = said.warnings if grip.worst < VERY_NEAR else said.notes
        where.append(
            f"the motors come near losing their grip of row '{grip.worst_row}' at t = "
            f"{grip.worst_at:.4g} s: the smallest singular value falls to {grip.worst:.2g}."
        )
    if passive.lowest < passive.highest:
        said.notes.append(
            f"the mechanism passes a singular position at t = {passive.lowest_at:.4g} s, where "
            f"{passive.highest - passive.lowest} of its constraints gives way, most "
            f"'{passive.worst_row}'."
        )


def _of_limits(
    found: Feasibility, grave: list[str], said: Judged, *, needs_grip: bool, slows: bool
) -> None:
    if found.missed is not None:
        where = said.problems if needs_grip else said.notes
        where.append(
            f"the motors cannot make the motion: from t = {found.missed.t:.4g} s on they miss "
            f"{100.0 * found.missed.share:.2g} % of its acceleration, most at '{found.missed.dof}'."
        )
    if found.refused is not None:
        grave.append(f"at t = {found.refused.t:.4g} s the law gives up: {found.refused.text}")
    over = [use for use in found.inputs if use.since is not None]
    if over and found.elsewhere:
        said.notes.append(
            f"the smallest input is beyond the limits of {quoted([use.name for use in over])}, "
            'but another one that keeps them serves: allocation.kind = "bounded" finds it.'
        )
    elif over:
        said.warnings.extend(_beyond("motor", "needs", over))
        if slows:
            said.notes.append("the law keeps within the limits, and the task gives way instead.")
    else:
        lawful = [use for use in found.law if use.since is not None]
        said.warnings.extend(_beyond("motor", "is asked by the law for", lawful))
    said.warnings.extend(
        _beyond("motor", "must change by", [use for use in found.rates if use.since is not None])
    )
    fast = [use for use in found.velocities if use.since is not None]
    said.warnings.extend(_beyond("joint", "must move at", fast))
    far = [use for use in found.positions if use.since is not None]
    said.warnings.extend(_beyond("joint", "must go to", far))
    for contact in found.ground:
        if contact.lifts is not None:
            said.warnings.append(
                f"contact '{contact.name}' would lift off at t = {contact.lifts:.4g} s: the ground "
                f"would have to pull with up to {-contact.least:.3g} N (t = {contact.t:.4g} s)."
            )
        elif contact.friction > SLIPPERY:
            said.notes.append(
                f"contact '{contact.name}' needs a coefficient of friction of "
                f"{contact.friction:.2g} not to slip, more than rubber has on dry concrete."
            )


def _beyond(what: str, does: str, uses: list[Use]) -> list[str]:
    """Return a sentence for each of the worst uses."""
    worst = sorted(uses, key=lambda use: -(use.share or 0.0))
    texts = [
        f"{what} '{use.name}' {does} {use.value:.4g} {use.unit} at t = {use.t:.4g} s, "
        f"{use.beyond:.3g} beyond its limit of {use.limit:.4g}, first at t = {use.since:.4g} s."
        for use in worst[:MOST_NAMED]
    ]
    if len(worst) > MOST_NAMED:
        texts.append(f"{len(worst) - MOST_NAMED} more {what}s are beyond a limit.")
    return texts


def _of_sampling(found: Sampling, said: Judged) -> None:
    period, rate = found.period, found.sampled_decay
    if period is None or rate is None:
        return
    late = f" and a delay of {found.delay:.3g} s" if found.delay else ""
    if found.decay > 0.0 and period >= found.longest:
        said.problems.append(
            f"a control period of {period:.4g} s{late} is too long for the gains: the error of row "
            f"'{found.row}' grows from {found.longest:.3g} s on. Shorten timing.control to "
            f"{found.recommended:.2g} s, or lower the gains."
        )
    elif found.decay > 0.0 and rate < SLOWED * found.decay:
        said.warnings.append(
            f"a control period of {period:.4g} s{late} is long for the gains: the error of row "
            f"'{found.row}' decays at {rate:.3g} 1/s instead of {found.decay:.3g}; below "
            f"{found.recommended:.2g} s it keeps four fifths of that."
        )
