"""What a search has found, in words."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence

from ukctrl.core.number_text import number, percent, range_text
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE
from ukctrl.studies.tuning.cost import MAX_VIOLATION, Limit
from ukctrl.studies.tuning.gain_search import GainSearch, HeldOut, TuningTrial

OVERFIT_FACTOR = 1.25
"""Tuned gains that lose more than this on held-out plants, against the card, are overfitted."""


def verdicts(tuning: GainSearch, held_out: HeldOut | None, stopped: bool) -> Iterator[Verdict]:
    """Yield what was found, the outcome first.

    Args:
        tuning: The search.
        held_out: What the gains are worth elsewhere, where that was asked for.
        stopped: Whether the user has stopped it before its end.
    """
    yield _outcome(tuning)
    if not tuning.finished:
        spent = f"{tuning.simulations} of {tuning.budget} simulations"
        text = f"Stopped by the user after {spent}; the same command with --resume goes on."
        yield Verdict("warning", "stopped", text)
    elif stopped:
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
        yield _limit_verdict(tuning)
    if tuning.others:
        yield _search_spread(tuning, held_out)
    if held_out is not None and tuning.best.feasible:
        yield from _validation_verdicts(held_out, tuning)


def _outcome(tuning: GainSearch) -> Verdict:
    best, card, count = tuning.best, tuning.card, len(tuning.trials)
    spent = f"with {tuning.simulations} simulations"
    cost = number(best.cost, 4)
    level: Level
    if not math.isfinite(best.cost):
        level, text = "bad", f"None of {count} candidates completed; the furthest got to "
        reason = f": {best.message or best.status}".rstrip(".")
        text += f"{percent(best.reached)} of the run{reason}."
    elif not best.feasible:
        level, text = "bad", f"None of {count} candidates keeps to the constraints"
        text += f"{_plants_text(tuning)}; the nearest is beyond {violations_text(best, tuning)}."
    elif best.gains == card.gains:
        level, text = "note", f"None of {count} candidates is better than the card itself."
    elif not math.isfinite(card.cost):
        level, text = "good", f"Cost {cost} {spent}; the card's gains failed."
    elif not card.feasible:
        level = "good"
        text = f"Cost {cost} within the constraints, {spent}; the card's gains broke them."
    elif re.fullmatch(r"(rms|peak|final)_(phi|beta)(\..+)?", tuning.cost) and (
        card.cost < NEGLIGIBLE
    ):
        level, text = "note", f"The card's cost, {number(card.cost, 4)}, is rounding, and so is "
        text += f"the lowest cost, {cost}: {tuning.simulations} simulations show no effect of the "
        text += "gains."
    else:
        change = percent(1.0 - best.cost / card.cost)
        level = "good"
        text = f"Cost {number(card.cost, 4)} became {cost}, {change} less, {spent}."
    return Verdict(level, "outcome", text)


def _limits(tuning: GainSearch) -> Verdict:
    if not tuning.best.feasible:
        tips = "Allow more, widen the ranges (--over), spend more (--budget), or try another law."
        return Verdict("note", "constraints", tips)
    feasible = sum(trial.feasible for trial in tuning.trials)
    clause = f"keep to {', '.join(tuning.limits)}{_plants_text(tuning)}"
    return Verdict(
        "good", "constraints", f"{feasible} of {len(tuning.trials)} candidates {clause}."
    )


def _plants_text(tuning: GainSearch) -> str:
    return f" on all {tuning.plants} plants" if tuning.plants > 1 else ""


def violations_text(trial: TuningTrial, tuning: GainSearch) -> str:
    """Return which constraints are broken, and by how much."""
    return ", ".join(
        f"{limit} by {Limit.parse(limit).amount(share)}"
        if share < MAX_VIOLATION
        else f"{limit}, which has no value"
        for limit, share in zip(tuning.limits, trial.beyond, strict=True)
        if share
    )


def _limit_verdict(tuning: GainSearch) -> Verdict:
    names = ", ".join(path.removeprefix("controller.") for path in tuning.at_border)
    text = (
        f"At an end of its range: {names}. A better value may lie beyond, or the cost omits the "
        "price of such a gain; widen the range (--over), or add effort, noise or a constraint."
    )
    return Verdict("warning", "range", text)


def _search_spread(tuning: GainSearch, validation: HeldOut | None) -> Verdict:
    """Return how far the searches are apart, where they were tuned and elsewhere."""
    count = len(tuning.every)
    costs = [search.after for search in tuning.every]
    text = f"Luck of tuning: {count} searches, each on plants of its own, ended at {_span(costs)}"
    if validation is not None:
        elsewhere = [trial.cost for trial in (validation.tuned, *validation.others)]
        text += f"; on plants that no search used, at {_span(elsewhere)}"
    ends = sum(bool(search.at_border) for search in tuning.every)
    text += f"; {ends} of {count} at an end of a range" if ends else ""
    return Verdict(
        "note", "luck", f"{text}. The gains are those of the search with the lowest tuning cost."
    )


def _span(costs: Sequence[float]) -> str:
    return range_text(costs, functools.partial(number, digits=4))


def _validation_verdicts(validation: HeldOut, tuning: GainSearch) -> Iterator[Verdict]:
    aggregate = "of the worst" if tuning.aggregate == "worst" else "on average"
    costs = (
        f"Cost {aggregate} on plants that the search did not use: tuned {_cost(validation.tuned)}"
    )
    costs += f", card {_cost(validation.card)}"
    if math.isfinite(tuning.after):
        costs += f"; tuning gave {number(tuning.after, 4)}"
    overfitted = _overfit_factor(validation, tuning) > OVERFIT_FACTOR
    level: Level = "warning" if validation.tuned.violation or overfitted else "good"
    level = "bad" if validation.card.rank < validation.tuned.rank else level
    if not math.isfinite(validation.tuned.cost):
        level, overfitted = "bad", False
    elif tuning.limits and validation.tuned.violation:
        costs += f"; beyond {violations_text(validation.tuned, tuning)}"
    yield Verdict(level, "held out", f"{costs}.")
    if math.isfinite(validation.tuned.cost) and (level == "bad" or overfitted):
        text = (
            "The gains are overfitted to the plants of the search: tune on more plants "
            "(--ensemble), or with the same mismatch (--mismatch)."
        )
        yield Verdict("warning", "overfitted", text)


def _cost(trial: TuningTrial) -> str:
    """Return the cost of gains, or how many of their runs completed."""
    if math.isfinite(trial.cost):
        return number(trial.cost, 4)
    return f"completed {sum(map(math.isfinite, trial.costs))} of {len(trial.costs)}"


def _overfit_factor(validation: HeldOut, tuning: GainSearch) -> float:
    """Return by which factor the tuned gains lose on held-out plants, beyond what the card does."""
    card_ratio = validation.card.cost / tuning.before if tuning.before else math.nan
    tuned_ratio = validation.tuned.cost / tuning.after if tuning.after else math.nan
    lost = tuned_ratio / card_ratio if card_ratio else math.nan
    return lost if math.isfinite(lost) else tuned_ratio if math.isfinite(tuned_ratio) else 1.0
