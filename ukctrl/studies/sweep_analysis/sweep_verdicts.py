"""What a study shows, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ukctrl.core.number_text import number, quantity, si
from ukctrl.core.statistics import Estimate
from ukctrl.core.verdict import Level, Verdict
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor
from ukctrl.studies.sweep_analysis.metric_summary import status_counts
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis, requirement_text

METHOD_TEXTS = {
    "saltelli": "Sobol indices",
    "grid": "exact shares over the points of the grid",
    "polynomial": "Sobol indices of a polynomial of the factors",
}
"""What the shares of each method are called."""
QUANTITY_TEXTS = {"value": "'{cost}'", "rank": "the rank of '{cost}'", "success": "success"}
NEGLIGIBLE_SHARE = 0.02
"""A share of the variance below this is not worth a word."""
NARROW_INTERVAL = 0.1
"""Confidence intervals of shares that are wider are told."""
MIN_CORRELATION = 0.2
"""Rank correlations below this tell no direction."""


def headline(insight: SweepAnalysis) -> str:
    """Return what a reader wants to know first."""
    runs, cost, unit = insight.runs, insight.cost.text, insight.unit
    clauses = [f"Samples completed: {int(runs.completed.sum())} of {len(runs)}"]
    half, upper = (insight.overall.percentile(level).value for level in (0.5, 0.95))
    if len(runs) > 1 and math.isfinite(half):
        bound = f"at most {si(upper, unit)}" if math.isfinite(upper) else "too many failed to say"
        clauses.append(f"{cost}: {si(half, unit)} in the median, {bound} in 95 %")
    elif insight.overall.known == 1:
        clauses.append(f"{cost} is {si(insight.overall.best, unit)}")
    sensitivity = insight.sensitivities.get("rank") or insight.sensitivities.get("success")
    if insight.strongest and sensitivity is not None:
        first = sensitivity.ordered()[0]
        if sensitivity.tells and _strength(sensitivity, first) > NEGLIGIBLE_SHARE:
            clauses.append(f"what matters most: '{first}'")
    return f"{'; '.join(clauses)}."


def verdicts(insight: SweepAnalysis, replays: Sequence[SampleReplay]) -> tuple[Verdict, ...]:
    """Return what a study shows, judgement by judgement."""
    return (
        *(*_sample_count_verdicts(insight), *_completion_verdicts(insight)),
        *(*_validity_verdicts(insight), *_requirement_verdicts(insight)),
        *(*_percentile_verdicts(insight), *_factor_verdicts(insight)),
        *(*_failure_factor_verdicts(insight), *_noise_verdicts(insight, replays)),
        *map(_replay_verdict, replays),
    )


def sensitivity_words(insight: SweepAnalysis, sensitivity: Sensitivity) -> str:
    """Return in a sentence which factors a quantity depends on."""
    output = QUANTITY_TEXTS[sensitivity.of].format(cost=insight.cost.text)
    unexplained = _percent(sensitivity.unexplained)
    if not sensitivity.tells:
        return (
            f"The samples do not tell which factors matter for {output}: the best polynomial of "
            f"the factors leaves {unexplained} of its variance unexplained. Take more samples."
        )
    clauses = []
    for path in sensitivity.ordered()[:3]:
        if _strength(sensitivity, path) <= NEGLIGIBLE_SHARE:
            break
        shares = [_share(sensitivity.first[path])]
        if len(sensitivity.total) > 1:
            total = _share(sensitivity.total[path])
            shares = [f"{shares[0]} alone", f"{total} with others"]
        rho = insight.correlations[path].value
        if sensitivity.of != "success" and math.isfinite(rho) and abs(rho) > MIN_CORRELATION:
            shares.append(f"{'worse' if rho > 0.0 else 'better'} where it is larger")
        clauses.append(f"'{path}' ({', '.join(shares)})")
    if not clauses:
        return f"No factor accounts for {output}."
    text = f"The variance of {output} comes from {', '.join(clauses)}."
    sum_alone = sum(max(0.0, share.value) for share in sensitivity.first.values())
    sum_alone += sensitivity.unexplained
    if len(sensitivity.total) > 1 and sum_alone < 0.8:
        text += f" {_percent(1.0 - sum_alone)} comes from interactions of factors."
    if sensitivity.unexplained > NEGLIGIBLE_SHARE:
        text += f" {unexplained} is unexplained: jumps, waves, interactions or chance."
    return text


def _sample_count_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    study, runs = insight.study, insight.runs
    planned = study.about.plan.count
    if len(runs) < planned:
        text = f"{len(runs)} of {planned} samples are finished; what follows is of these."
        if runs.design in ("saltelli", "grid"):
            text += f" With samples missing, the design '{runs.design}' loses its properties."
        yield Verdict("warning", "samples", text)
    if runs.design == "grid" and len(runs) > 1:
        text = (
            "The points of a grid are chosen, not drawn: shares and percentiles describe these "
            "points alone, and have no confidence intervals."
        )
        yield Verdict("note", "grid", text)


def _completion_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    runs, done = insight.runs, int(insight.runs.completed.sum())
    text = f"Samples completed: {done} of {len(runs)}{_interval(insight.completed)}"
    if done == len(runs):
        yield Verdict("good", "completed", f"{text}.")
        return
    ended = (f"{s}: {count}" for s, count in status_counts(runs).items() if s != "completed")
    text += f"; {', '.join(ended)}."
    first = insight.reasons[0]
    if first.message:
        text += f" Most often: {first.message.rstrip('.')} (sample {first.sample})."
    yield Verdict("bad" if done < 0.5 * len(runs) else "warning", "completed", text)


def _validity_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    if numbers := insight.runs.unbelievable:
        text = (
            f"Not to be believed: {len(numbers)} of {len(insight.runs)} samples, which are "
            f"counted here all the same; the first is sample {numbers[0]}. Run it by itself, with "
            "its values, to see why."
        )
        yield Verdict("bad", "belief", text)


def _requirement_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    if not insight.require:
        return
    requirement = requirement_text(
        insight.require, lambda name, end: quantity(end, insight.unit_of(name))
    )
    share = insight.succeeded
    level: Level = "good" if share.value == 1.0 else "bad" if share.value < 0.5 else "warning"
    of_all = f"{number(100.0 * share.value, 3)} % of the samples"
    yield Verdict(level, "required", f"{of_all} completed with {requirement}{_interval(share)}.")


def _percentile_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    overall, unit = insight.overall, insight.unit
    if overall.known < 2:
        return
    half, upper = overall.percentile(0.5), overall.percentile(0.95)
    clauses = []
    if math.isfinite(half.value):
        clauses.append(f"up to {si(half.value, unit)} in half of the samples")
        if math.isfinite(upper.value):
            clauses.append(f"up to {si(upper.value, unit)} in 95 %{_interval_text(upper, unit)}")
    clauses.append(f"{si(overall.worst, unit)} in the worst that completed")
    text = f"{insight.cost.text}: {', '.join(clauses)}."
    if math.isinf(upper.value):
        text += " There is no bound for 95 %, because more than 5 % failed or have no value."
    elif overall.failed or overall.without:
        text += " Samples that failed or have no value rank as worst."
    yield Verdict("note", "merit", text)


def _interval_text(at: Estimate, unit: str) -> str:
    if math.isnan(at.low):
        return ""
    high = "and no upper bound" if math.isnan(at.high) else f"to {si(at.high, unit)}"
    high = "to what failed" if math.isinf(at.high) else high
    return f" (95 % confidence: {si(at.low, unit)} {high})"


def _factor_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    sensitivity = insight.sensitivities.get("value") or insight.sensitivities.get("rank")
    if sensitivity is not None:
        text = sensitivity_words(insight, sensitivity)
        if sensitivity.tells:
            text += f" By {METHOD_TEXTS[sensitivity.method]}."
        yield Verdict("note", "factors", text)
    elif insight.runs.varied and not insight.sensitivities and len(insight.runs) > 1:
        text = "The samples are too few, or too similar, to show which factors matter."
        yield Verdict("note", "factors", text)


def _failure_factor_verdicts(insight: SweepAnalysis) -> Iterator[Verdict]:
    clear = [one for one in insight.separations if one.clear]
    for one in clear[:2]:
        yield Verdict("warning", "failures", f"Samples that succeeded, by {_rates(one)}.")
    if insight.separations and not clear:
        text = "No single factor separates failed from good samples with statistical confidence."
        nearest = insight.separations[0]
        text += f" The nearest: {_rates(nearest)}." if nearest.score > 0.0 else ""
        yield Verdict("note", "failures", text)


def _rates(one: FailureFactor) -> str:
    """Return which shares of the samples succeeded, by the values of a factor."""
    if one.split is None:
        ordered = sorted(one.rates, key=lambda rate: rate.share.value)
        texts = [f"{_percent(r.share.value)} at {r.label}" for r in (ordered[0], ordered[-1])]
    else:
        above, below, at = one.split.above, one.split.below, number(one.split.threshold)
        texts = [f"{_percent(below.share.value)} of {below.samples} up to {at}"]
        texts += [f"{_percent(above.share.value)} of {above.samples} above"]
    return f"'{one.path}': {', '.join(texts)}"


def _noise_verdicts(insight: SweepAnalysis, replays: Sequence[SampleReplay]) -> Iterator[Verdict]:
    drawn = len(set(insight.runs.seed)) > 1 and any(entry.random for entry in replays)
    if drawn and insight.runs.design == "saltelli":
        text = (
            "Every sample has its own seed, so noise adds to every total index. Repeats reduce "
            "this."
        )
        yield Verdict("note", "noise", text)


def _replay_verdict(entry: SampleReplay) -> Verdict:
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


def _share(share: Estimate) -> str:
    """Return a share, with its interval where that is not narrow."""
    text = _percent(max(0.0, share.value))
    if not share.high - share.low > NARROW_INTERVAL:
        return text
    low, high = (f"{100.0 * min(max(end, 0.0), 1.0):.0f}" for end in (share.low, share.high))
    return f"{text} ({low} to {high})"


def _interval(share: Estimate) -> str:
    if not math.isfinite(share.low):
        return ""
    low, high = 100.0 * share.low, 100.0 * share.high
    return f" (95 % confidence: {number(low, 3)} to {number(high, 3)} %)"
