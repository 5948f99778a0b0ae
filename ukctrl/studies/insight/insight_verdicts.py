"""What a study shows, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.number_text import number, quantity, si
from ukctrl.core.statistics import Estimate
from ukctrl.core.verdict import Level, Verdict
from ukctrl.studies.insight.failures import Separation
from ukctrl.studies.insight.sample_replay import Replay
from ukctrl.studies.insight.sensitivity import Sensitivity

if TYPE_CHECKING:
    from ukctrl.studies.insight.insight import Insight

METHODS = {
    "saltelli": "Sobol indices",
    "grid": "exact shares over the points of the grid",
    "binned": "an estimate of first order from ranges of the given samples, no Sobol indices",
}
"""What the shares of each method are called."""
OF = {
    "value": "{cost}",
    "rank": "the rank of {cost}",
    "success": "success",
}
TRIFLE = 0.02
"""A share of the variance below this is not worth a word."""
SLOPE = 0.2
"""Rank correlations below this tell no direction."""


def headline(insight: Insight) -> str:
    """Return what a reader wants to know first."""
    count, done = len(insight.runs), insight.completed
    cost, unit = insight.cost.text, insight.unit
    text = f"{_share(done)} of {_samples(count)} completed"
    text = f"None of {_samples(count)} completed" if done.value == 0.0 else text
    text = f"All {count} samples completed" if done.value == 1.0 and count > 1 else text
    text = "The one sample completed" if done.value == 1.0 and count == 1 else text
    half, most = (insight.overall.percentile(level).value for level in (0.5, 0.95))
    if count > 1 and math.isfinite(half):
        text += f"; the median of {cost} is {si(half, unit)}"
        bound = f", 95 % have at most {si(most, unit)}"
        text += bound if math.isfinite(most) else "; too many failed for a bound of 95 %"
    elif insight.overall.known == 1:
        text += f"; {cost} is {si(insight.overall.best, unit)}"
    strongest = insight.strongest[:1]
    found = insight.sensitivities.get("rank") or insight.sensitivities.get("success")
    if strongest and found is not None and _best(found) > TRIFLE:
        text += f". What matters most is '{found.ordered()[0]}'"
    return f"{text}."


def verdicts(insight: Insight, replays: Sequence[Replay]) -> tuple[Verdict, ...]:
    """Return what a study shows, judgement by judgement."""
    return tuple(
        verdict
        for part in (
            _extent(insight),
            _completion(insight),
            _requirement(insight),
            _percentiles(insight),
            _influence(insight),
            _separation(insight),
            _noise(insight, replays),
            _replayed(replays),
        )
        for verdict in part
    )


def sensitivity_words(insight: Insight, found: Sensitivity) -> str:
    """Return in a sentence which factors a quantity depends on."""
    what = OF[found.of].format(cost=f"'{insight.cost.text}'")
    ordered = [path for path in found.ordered() if _of(found, path) > TRIFLE]
    if not ordered:
        return f"No factor accounts for {what}."
    parts = []
    for path in ordered[:3]:
        share = _percent(max(0.0, found.first[path].value))
        both = found.total.get(path)
        told = share if both is None else f"{share} alone, {_percent(both.value)} with others"
        text = f"'{path}' ({told}"
        rho = insight.correlations[path].value
        if found.of != "success" and math.isfinite(rho) and abs(rho) > SLOPE:
            text += f"; {'worse' if rho > 0.0 else 'better'} where it is larger"
        parts.append(f"{text})")
    rest = f" and {parts.pop()}" if len(parts) > 1 else ""
    told = f"The variance of {what} comes from {', '.join(parts)}{rest}."
    alone = sum(max(0.0, share.value) for share in found.first.values())
    if found.total and alone < 0.8:
        told += f" {_percent(1.0 - alone)} is what factors do together."
    return told


def _extent(insight: Insight) -> Iterator[Verdict]:
    study, runs = insight.study, insight.runs
    planned = study.about.plan.count
    if len(runs) < planned:
        text = f"{len(runs)} of {planned} samples are finished; what follows is of these."
        if runs.design in ("saltelli", "grid"):
            text += f" With gaps the design '{runs.design}' is no more than some samples."
        yield Verdict("warning", "samples", text)
    if runs.design == "grid" and len(runs) > 1:
        yield Verdict(
            "note",
            "grid",
            "The points of a grid are chosen, not drawn: shares and percentiles describe these "
            "points alone, and have no confidence intervals.",
        )


def _completion(insight: Insight) -> Iterator[Verdict]:
    runs, done = insight.runs, int(insight.runs.completed.sum())
    if done == len(runs):
        interval = _interval(insight.completed)
        yield Verdict("good", "completed", f"Every sample completed{interval}.")
        return
    reasons = insight.reasons
    named = ", ".join(f"{count} {status}" for status, count in _ended(insight).items())
    first = reasons[0]
    level: Level = "bad" if done < 0.5 * len(runs) else "warning"
    text = f"{done} of {_samples(len(runs))} completed{_interval(insight.completed)}; {named}."
    if first.message:
        text += f" Most often: {first.message.rstrip('.')} (sample {first.sample})."
    yield Verdict(level, "completed", text)


def _ended(insight: Insight) -> dict[str, int]:
    from ukctrl.studies.insight.summary import statuses

    return {
        status: count for status, count in statuses(insight.runs).items() if status != "completed"
    }


def _requirement(insight: Insight) -> Iterator[Verdict]:
    if not insight.require:
        return
    asked = " and ".join(
        f"{name} ≤ {quantity(most, insight.unit_of(name))}"
        for name, most in insight.require.items()
    )
    share = insight.succeeded
    level: Level = "good" if share.value == 1.0 else "bad" if share.value < 0.5 else "warning"
    text = f"{_share(share)} of the samples completed with {asked}{_interval(share)}."
    yield Verdict(level, "required", text)


def _percentiles(insight: Insight) -> Iterator[Verdict]:
    found, unit = insight.overall, insight.unit
    if found.known < 2:
        return
    half, most = found.percentile(0.5), found.percentile(0.95)
    text = f"The worst that completed has {insight.cost.text} {si(found.worst, unit)}"
    if math.isfinite(half.value):
        text = f"Half of the samples have {insight.cost.text} up to {si(half.value, unit)}"
        if math.isfinite(most.value):
            text += f", 95 % up to {si(most.value, unit)}{_bounds(most, unit)}"
        text += f"; the worst that completed has {si(found.worst, unit)}"
    text += "."
    if math.isinf(most.value):
        text += " Nothing bounds 95 %, because more than 5 % failed or have none."
    elif found.failed or found.without:
        text += " What failed, or has none, counts as worse than any other."
    yield Verdict("note", "merit", text)


def _bounds(at: Estimate, unit: str) -> str:
    if math.isnan(at.low):
        return ""
    high = "and no upper bound" if math.isnan(at.high) else f"to {si(at.high, unit)}"
    high = "to what failed" if math.isinf(at.high) else high
    return f" (95 % confidence: {si(at.low, unit)} {high})"


def _influence(insight: Insight) -> Iterator[Verdict]:
    for of in ("value", "rank"):
        found = insight.sensitivities.get(of)
        if found is None or (of == "rank" and "value" in insight.sensitivities):
            continue
        text = f"{sensitivity_words(insight, found)} By {METHODS[found.method]}."
        yield Verdict("note", "factors", text)
    if insight.runs.varied and not insight.sensitivities and len(insight.runs) > 1:
        yield Verdict(
            "note", "factors", "So few samples, or all alike, do not tell which factors matter."
        )


def _separation(insight: Insight) -> Iterator[Verdict]:
    found = insight.separations
    clear = [one for one in found if one.clear]
    if not found:
        return
    if not clear:
        text = "No factor by itself separates failed from good samples beyond doubt."
        if found[0].score > 0.0:
            text += f" The nearest: {_told(found[0])}"
        yield Verdict("note", "failures", text)
        return
    for one in clear[:2]:
        told = _told(one, " separates")
        yield Verdict("warning", "failures", told[:1].upper() + told[1:])


def _told(one: Separation, verb: str = "") -> str:
    """Return in words what a factor has to do with failing."""
    if one.split is None:
        ordered = sorted(one.rates, key=lambda rate: rate.share.value)
        low, high = ordered[0], ordered[-1]
        return (
            f"with '{one.path}' = {low.label}, {_percent(low.share.value)} of the samples "
            f"succeeded; with {high.label}, {_percent(high.share.value)}."
        )
    above, below = one.split.above, one.split.below
    return (
        f"'{one.path}'{verb}: up to {number(one.split.at)}, {_percent(below.share.value)} of "
        f"{below.samples} samples succeeded; above, {_percent(above.share.value)} of "
        f"{above.samples}."
    )


def _noise(insight: Insight, replays: Sequence[Replay]) -> Iterator[Verdict]:
    drawn = len(set(insight.runs.seed)) > 1 and any(entry.random for entry in replays)
    if drawn and insight.runs.design == "saltelli":
        yield Verdict(
            "note",
            "noise",
            "Every sample has a seed of its own, so that what noise does counts in every total "
            "index. Repeats lessen it.",
        )


def _replayed(replays: Sequence[Replay]) -> Iterator[Verdict]:
    for entry in replays:
        what = "The worst" if entry.role == "worst" else "The first that failed"
        if entry.exact:
            text = f"{what}, sample {entry.sample}, run again gives the table's numbers exactly."
            yield Verdict("good", "replay", text)
        else:
            verb = "was not run again" if not entry.folder else "run again differs"
            text = f"{what}, sample {entry.sample}, {verb}: {entry.text.rstrip('.')}."
            yield Verdict("warning", "replay", text)


def _best(found: Sensitivity) -> float:
    return max((_of(found, path) for path in found.first), default=0.0)


def _of(found: Sensitivity, path: str) -> float:
    return float(np.nan_to_num((found.total or found.first)[path].value))


def _percent(share: float) -> str:
    value = 100.0 * share
    return f"{number(value, 2)} %" if 0.0 < value < 10.0 else f"{value:.0f} %"


def _share(share: Estimate) -> str:
    value = 100.0 * share.value
    return f"{number(value, 3)} %"


def _interval(share: Estimate) -> str:
    if not math.isfinite(share.low):
        return ""
    low, high = 100.0 * share.low, 100.0 * share.high
    return f" (95 % confidence: {number(low, 3)} to {number(high, 3)} %)"


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"
