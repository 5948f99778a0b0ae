"""What a search has found, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ukctrl.core.number_text import number, percent
from ukctrl.core.verdict import Verdict
from ukctrl.studies.tuning.cost import WITHOUT

if TYPE_CHECKING:
    from ukctrl.studies.tuning.tuned import HeldOut, Tuned
    from ukctrl.studies.tuning.tuning_record import Trial, Tuning

OVERFITTED = 1.25
"""Tuned gains that lose more than this on held-out plants, against the card, are overfitted."""


def verdicts(tuned: Tuned) -> Iterator[Verdict]:
    """Yield what was found, the outcome first."""
    tuning = tuned.tuning
    yield _outcome(tuning)
    if not tuning.finished:
        spent = f"{tuning.simulations} of {tuning.budget} simulations"
        text = f"Stopped by the user after {spent}; the same command with --resume goes on."
        yield Verdict("warning", "stopped", text)
    elif tuned.stopped:
        text = "Stopped by the user once the search was done; --resume completes the rest."
        yield Verdict("warning", "stopped", text)
    if tuning.limits:
        yield _limits(tuning)
    failed = sum(not math.isfinite(trial.cost) for trial in tuning.trials)
    if failed:
        share = percent(failed / len(tuning.trials))
        text = f"{failed} of {len(tuning.trials)} candidates did not complete ({share})."
        yield Verdict("note", "failures", text)
    if tuning.best.feasible and tuning.at_border:
        yield _border(tuning)
    if tuned.held_out is not None and tuning.best.feasible:
        yield from _held_out(tuned.held_out, tuning)


def _outcome(tuning: Tuning) -> Verdict:
    best, card = tuning.best, tuning.card
    spent = f"{tuning.simulations} simulations"
    if not math.isfinite(best.cost):
        why = f": {best.message or best.status}".rstrip(".")
        text = f"No candidate of {len(tuning.trials)} completed; the furthest got to "
        return Verdict("bad", "outcome", f"{text}{percent(best.reached)} of the run{why}.")
    if not best.feasible:
        count = len(tuning.trials)
        text = f"None of {count} candidates keeps to the constraints; the nearest is beyond"
        return Verdict("bad", "outcome", f"{text} {_broken(best, tuning)}.")
    if best.gains == card.gains:
        text = f"None of {len(tuning.trials)} candidates is better than the card itself."
        return Verdict("note", "outcome", text)
    after = number(best.cost, 4)
    if not math.isfinite(card.cost):
        return Verdict("good", "outcome", f"Cost {after} with {spent}; the card's gains failed.")
    if not card.feasible:
        text = f"Cost {after} within the constraints, with {spent}; the card's gains broke them."
        return Verdict("good", "outcome", text)
    change = percent(1.0 - best.cost / card.cost)
    text = f"Cost {number(card.cost, 4)} became {after}, {change} less, with {spent}."
    return Verdict("good", "outcome", text)


def _limits(tuning: Tuning) -> Verdict:
    if not tuning.best.feasible:
        tips = "Allow more, widen the ranges (--over), spend more (--budget), or try another law."
        return Verdict("note", "constraints", tips)
    kept = sum(trial.feasible for trial in tuning.trials)
    limits = ", ".join(tuning.limits)
    where = f" on all {tuning.plants} plants" if tuning.plants > 1 else ""
    text = f"{kept} of {len(tuning.trials)} candidates keep to {limits}{where}."
    return Verdict("good", "constraints", text)


def _broken(trial: Trial, tuning: Tuning) -> str:
    """Return which constraints are broken, and by how much."""
    broken = [
        f"{limit} by {percent(share)}" if share < WITHOUT else f"{limit}, which has no value"
        for limit, share in zip(tuning.limits, trial.beyond, strict=True)
        if share
    ]
    return " and ".join(broken)


def _border(tuning: Tuning) -> Verdict:
    names = ", ".join(path.removeprefix("controller.") for path in tuning.at_border)
    text = (
        f"At an end of its range: {names}. A better value may lie beyond, or the cost leaves out "
        "what such a gain costs; widen the range (--over), or add effort, noise or a constraint."
    )
    return Verdict("warning", "range", text)


def _held_out(held: HeldOut, tuning: Tuning) -> Iterator[Verdict]:
    count = max(1, len(held.tuned.each))
    how = "of the worst" if tuning.aggregate == "worst" else "on average"
    where = f"On {count} plants that it was not tuned on"
    if not math.isfinite(held.tuned.cost):
        done = sum(map(math.isfinite, held.tuned.each or (held.tuned.cost,)))
        text = f"{where} the tuned gains complete {done} runs of {count}."
        yield Verdict("bad", "held out", f"{text}{_card(held.card)}")
        return
    text = f"{where} the cost is {number(held.tuned.cost, 4)} {how}"
    if tuning.limits and held.tuned.violation:
        text += f", beyond {_broken(held.tuned, tuning)}"
    level = "good"
    if held.card.rank < held.tuned.rank:
        level = "bad"
    elif held.tuned.violation or _lost(held, tuning) > OVERFITTED:
        level = "warning"
    told = f"; tuning gave {number(tuning.after, 4)}." if math.isfinite(tuning.after) else "."
    yield Verdict(level, "held out", f"{text}{told}{_card(held.card)}")  # type: ignore[arg-type]
    if level == "bad" or _lost(held, tuning) > OVERFITTED:
        text = (
            "The gains fit the plants they were tuned on better than others: tune on more of "
            "them (--ensemble), or on ones as wrong as these (--mismatch)."
        )
        yield Verdict("warning", "overfitted", text)


def _card(card: Trial) -> str:
    if not math.isfinite(card.cost):
        done = sum(map(math.isfinite, card.each or (card.cost,)))
        return f" The card's complete {done} of {max(1, len(card.each))}."
    return f" The card's gains cost {number(card.cost, 4)} there."


def _lost(held: HeldOut, tuning: Tuning) -> float:
    """Return by which factor the tuned gains lose on held-out plants, beyond what the card does."""
    before = held.card.cost / tuning.before if tuning.before else math.nan
    after = held.tuned.cost / tuning.after if tuning.after else math.nan
    lost = after / before if before else math.nan
    return lost if math.isfinite(lost) else after if math.isfinite(after) else 1.0
