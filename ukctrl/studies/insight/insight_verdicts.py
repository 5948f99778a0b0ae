"""What a study shows, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ukctrl.core.number_text import number, quantity, si
from ukctrl.core.statistics import Estimate
from ukctrl.core.verdict import Level, Verdict
from ukctrl.studies.insight.failures import Separation
from ukctrl.studies.insight.insight import Insight, required
from ukctrl.studies.insight.sample_replay import Replay
from ukctrl.studies.insight.sensitivity import Sensitivity
from ukctrl.studies.insight.summary import statuses

METHODS = {
    "saltelli": "Sobol indices",
    "grid": "exact shares over the points of the grid",
    "binned": "an estimate of first order from ranges of the given samples, no Sobol indices",
}
"""What the shares of each method are called."""
OF = {"value": "'{cost}'", "rank": "the rank of '{cost}'", "success": "success"}
TRIFLE = 0.02
"""A share of the variance below this is not worth a word."""
SLOPE = 0.2
"""Rank correlations below this tell no direction."""


def headline(insight: Insight) -> str:
    """Return what a reader wants to know first."""
    runs, cost, unit = insight.runs, insight.cost.text, insight.unit
    parts = [f"Samples completed: {int(runs.completed.sum())} of {len(runs)}"]
    half, most = (insight.overall.percentile(level).value for level in (0.5, 0.95))
    if len(runs) > 1 and math.isfinite(half):
        bound = f"at most {si(most, unit)}" if math.isfinite(most) else "too many failed to say"
        parts.append(f"{cost}: {si(half, unit)} in the median, {bound} in 95 %")
    elif insight.overall.known == 1:
        parts.append(f"{cost} is {si(insight.overall.best, unit)}")
    sensitivity = insight.sensitivities.get("rank") or insight.sensitivities.get("success")
    if insight.strongest and sensitivity is not None:
        first = sensitivity.ordered()[0]
        parts += [f"what matters most: '{first}'"] if _strength(sensitivity, first) > TRIFLE else []
    return f"{'; '.join(parts)}."


def verdicts(insight: Insight, replays: Sequence[Replay]) -> tuple[Verdict, ...]:
    """Return what a study shows, judgement by judgement."""
    parts = (_extent, _completion, _disbelief, _requirement, _percentiles, _influence, _separation)
    of_replays = (*_noise(insight, replays), *map(_replayed, replays))
    return (*(verdict for part in parts for verdict in part(insight)), *of_replays)


def sensitivity_words(insight: Insight, sensitivity: Sensitivity) -> str:
    """Return in a sentence which factors a quantity depends on."""
    what = OF[sensitivity.of].format(cost=insight.cost.text)
    parts = []
    for path in sensitivity.ordered()[:3]:
        if _strength(sensitivity, path) <= TRIFLE:
            break
        shares = [_percent(max(0.0, sensitivity.first[path].value))]
        if path in sensitivity.total:
            shares = [
                f"{shares[0]} alone",
                f"{_percent(sensitivity.total[path].value)} with others",
            ]
        rho = insight.correlations[path].value
        if sensitivity.of != "success" and math.isfinite(rho) and abs(rho) > SLOPE:
            shares.append(f"{'worse' if rho > 0.0 else 'better'} where it is larger")
        parts.append(f"'{path}' ({', '.join(shares)})")
    if not parts:
        return f"No factor accounts for {what}."
    text = f"The variance of {what} comes from {', '.join(parts)}."
    alone = sum(max(0.0, share.value) for share in sensitivity.first.values())
    if sensitivity.total and alone < 0.8:
        text += f" {_percent(1.0 - alone)} is what factors do together."
    return text


def _extent(insight: Insight) -> Iterator[Verdict]:
    study, runs = insight.study, insight.runs
    planned = study.about.plan.count
    if len(runs) < planned:
        text = f"{len(runs)} of {planned} samples are finished; what follows is of these."
        if runs.design in ("saltelli", "grid"):
            text += f" With gaps the design '{runs.design}' is no more than some samples."
        yield Verdict("warning", "samples", text)
    if runs.design == "grid" and len(runs) > 1:
        text = (
            "The points of a grid are chosen, not drawn: shares and percentiles describe these "
            "points alone, and have no confidence intervals."
        )
        yield Verdict("note", "grid", text)


def _completion(insight: Insight) -> Iterator[Verdict]:
    runs, done = insight.runs, int(insight.runs.completed.sum())
    text = f"Samples completed: {done} of {len(runs)}{_interval(insight.completed)}"
    if done == len(runs):
        yield Verdict("good", "completed", f"{text}.")
        return
    ended = {status: count for status, count in statuses(runs).items() if status != "completed"}
    text += f"; {', '.join(f'{status}: {count}' for status, count in ended.items())}."
    first = insight.reasons[0]
    if first.message:
        text += f" Most often: {first.message.rstrip('.')} (sample {first.sample})."
    yield Verdict("bad" if done < 0.5 * len(runs) else "warning", "completed", text)


def _disbelief(insight: Insight) -> Iterator[Verdict]:
    numbers = insight.runs.unbelievable
    if numbers:
        text = (
            f"Not to be believed: {len(numbers)} of {len(insight.runs)} samples, though they are "
            f"counted here; the first is sample {numbers[0]}. Run it by itself, with its values, "
            "to see why."
        )
        yield Verdict("bad", "belief", text)


def _requirement(insight: Insight) -> Iterator[Verdict]:
    if not insight.require:
        return
    asked = required(insight.require, lambda name, end: quantity(end, insight.unit_of(name)))
    share = insight.succeeded
    level: Level = "good" if share.value == 1.0 else "bad" if share.value < 0.5 else "warning"
    of_all = f"{number(100.0 * share.value, 3)} % of the samples"
    yield Verdict(level, "required", f"{of_all} completed with {asked}{_interval(share)}.")


def _percentiles(insight: Insight) -> Iterator[Verdict]:
    overall, unit = insight.overall, insight.unit
    if overall.known < 2:
        return
    half, most = overall.percentile(0.5), overall.percentile(0.95)
    parts = []
    if math.isfinite(half.value):
        parts.append(f"up to {si(half.value, unit)} in half of the samples")
        if math.isfinite(most.value):
            parts.append(f"up to {si(most.value, unit)} in 95 %{_bounds(most, unit)}")
    parts.append(f"{si(overall.worst, unit)} in the worst that completed")
    text = f"{insight.cost.text}: {', '.join(parts)}."
    if math.isinf(most.value):
        text += " Nothing bounds 95 %, because more than 5 % failed or have none."
    elif overall.failed or overall.without:
        text += " What failed, or has none, counts as worse than any other."
    yield Verdict("note", "merit", text)


def _bounds(at: Estimate, unit: str) -> str:
    if math.isnan(at.low):
        return ""
    high = "and no upper bound" if math.isnan(at.high) else f"to {si(at.high, unit)}"
    high = "to what failed" if math.isinf(at.high) else high
    return f" (95 % confidence: {si(at.low, unit)} {high})"


def _influence(insight: Insight) -> Iterator[Verdict]:
    sensitivity = insight.sensitivities.get("value") or insight.sensitivities.get("rank")
    if sensitivity is not None:
        text = f"{sensitivity_words(insight, sensitivity)} By {METHODS[sensitivity.method]}."
        yield Verdict("note", "factors", text)
    elif insight.runs.varied and not insight.sensitivities and len(insight.runs) > 1:
        text = "So few samples, or all alike, do not tell which factors matter."
        yield Verdict("note", "factors", text)


def _separation(insight: Insight) -> Iterator[Verdict]:
    clear = [one for one in insight.separations if one.clear]
    for one in clear[:2]:
        yield Verdict("warning", "failures", f"Samples that succeeded, by {_rates(one)}.")
    if insight.separations and not clear:
        text = "No factor by itself separates failed from good samples beyond doubt."
        nearest = insight.separations[0]
        text += f" The nearest: {_rates(nearest)}." if nearest.score > 0.0 else ""
        yield Verdict("note", "failures", text)


def _rates(one: Separation) -> str:
    """Return which shares of the samples succeeded, by the values of a factor."""
    if one.split is None:
        ordered = sorted(one.rates, key=lambda rate: rate.share.value)
        texts = [f"{_percent(r.share.value)} at {r.label}" for r in (ordered[0], ordered[-1])]
    else:
        above, below, at = one.split.above, one.split.below, number(one.split.at)
        texts = [
            f"{_percent(below.share.value)} of {below.samples} up to {at}",
            f"{_percent(above.share.value)} of {above.samples} above",
        ]
    return f"'{one.path}': {', '.join(texts)}"


def _noise(insight: Insight, replays: Sequence[Replay]) -> Iterator[Verdict]:
    drawn = len(set(insight.runs.seed)) > 1 and any(entry.random for entry in replays)
    if drawn and insight.runs.design == "saltelli":
        text = (
            "Every sample has a seed of its own, so that what noise does counts in every total "
            "index. Repeats lessen it."
        )
        yield Verdict("note", "noise", text)


def _replayed(entry: Replay) -> Verdict:
    role = "The worst" if entry.role == "worst" else "The first that failed"
    if entry.exact:
        text = f"{role}, sample {entry.sample}, run again gives the table's numbers exactly."
        return Verdict("good", "replay", text)
    verb = "run again differs" if entry.folder else "was not run again"
    text = f"{role}, sample {entry.sample}, {verb}: {entry.text.rstrip('.')}."
    return Verdict("warning", "replay", text)


def _strength(sensitivity: Sensitivity, path: str) -> float:
    return float(np.nan_to_num(sensitivity.strength[path]))


def _percent(share: float) -> str:
    value = 100.0 * share
    return f"{number(value, 2)} %" if 0.0 < value < 10.0 else f"{value:.0f} %"


def _interval(share: Estimate) -> str:
    if not math.isfinite(share.low):
        return ""
    low, high = 100.0 * share.low, 100.0 * share.high
    return f" (95 % confidence: {number(low, 3)} to {number(high, 3)} %)"
