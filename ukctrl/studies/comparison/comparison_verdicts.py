"""A comparison in plain words, which claim no more than the runs support."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import number, quantity, sentence, si, si_prefix
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.verdicts import RunVerdict
from ukctrl.studies.batch.mismatch_level import at_mismatch
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison.fairness import (
    DEFAULT_TEXTS,
    UNTUNED_TEXT,
    CompletedRepeats,
    FairnessCondition,
    RunConditions,
    beliefs_differ,
)
from ukctrl.studies.comparison.ranking import (
    TIE_RTOL,
    MetricRanking,
    Robustness,
    completed_names,
    ranked_names,
    rounding_floor,
    violates_limit,
)
from ukctrl.studies.tuning import GainSearch
from ukctrl.studies.tuning.tuning_verdicts import violations_text

RunsByController = Mapping[str, Sequence[RunSummary]]

RELAXATION_ATOL = 1e-6
"""Less than this of a row's velocity [m/s, rad/s] is nothing to give up."""
MAX_NAMED = 3
"""So many of those that did not win stand in the sentence that sums up."""


def overall_verdict(
    rows: Sequence[MetricRanking], runs: RunsByController, beliefs: Mapping[str, RunVerdict]
) -> Verdict:
    """Return the overall picture: error against effort, who failed, and whom not to believe."""
    done, ranked = completed_names(runs), ranked_names(runs)
    by_metric = {row.metric: row for row in rows}
    violations = {
        name: _violation_text(runs[name], by_metric) for name in done if name not in ranked
    }
    if len(ranked) < 2:
        text = f"{len(done)} of {len(runs)} controllers completed: there is nothing to rank."
        if violations:
            crossings = ", ".join(f"'{name}' {violation}" for name, violation in violations.items())
            text = f"'{ranked[0]}' alone kept all limits; {crossings}: there is nothing to rank."
        return Verdict("warning", "overall", text)
    errors = [by_metric[name] for name in ("rms_phi", "rms_beta") if name in by_metric]
    error = next((row for row in errors if row.known), errors[0] if errors else None)
    errors_told: dict[str, MetricRanking | None] = {"": error}
    if error is not None and _is_mixed(error):  # each servo block has a unit of its own
        blocks: dict[str, MetricRanking | None] = {
            f" in '{row.metric.partition('.')[2]}'": row
            for row in rows
            if row.metric.startswith(f"{error.metric}.") and row.known
        }
        errors_told = blocks if 1 < len(blocks) <= MAX_NAMED else errors_told
    effort_text = _winner_text(by_metric.get("effort"), ranked)
    smallest = ". Smallest".join(
        f" error (rms){where}: {_winner_text(row, ranked)}" for where, row in errors_told.items()
    )
    text = f"Smallest{smallest}. Least effort: {effort_text}."
    if any(violates_limit(run.metrics) for name in ranked for run in runs[name]):
        limit_texts = (f"'{name}' {_violation_text(runs[name], by_metric)}" for name in ranked)
        text = f"No controller kept all limits: {', '.join(limit_texts)}. {text}"
    relaxed = {
        name: max((run.metrics.get("task_given_up", 0.0) for run in runs[name]), default=0.0)
        for name in ranked
    }
    gave = [name for name in ranked if relaxed[name] > RELAXATION_ATOL]
    if gave:
        subject = "All" if len(gave) == len(ranked) else quoted(gave)
        text = f"{text} {subject} gave up some of the task for limits."
    failed = [
        f"'{name}' ({violations.get(name) or _failure_text(runs[name])})"
        for name in runs
        if name not in ranked
    ]
    if failed:
        text = f"{text} Not ranked: {', '.join(failed)}."
    disbelieved = [name for name, belief in beliefs.items() if belief.level == "bad"]
    if disbelieved:
        return Verdict("bad", "overall", f"{text} Not to be believed: {quoted(disbelieved)}.")
    return Verdict("good", "overall", text)


def _violation_text(runs: Sequence[RunSummary], rows: Mapping[str, MetricRanking]) -> str:
    """Return which limits runs crossed, and by how much at most."""
    texts = []
    for name in dict.fromkeys(name for run in runs for name in run.metrics):
        base, _, block = name.partition(".")
        if base == "limits_crossed" and block and any(run.metrics.get(name) for run in runs):
            margin = f"worst_margin.{block}"
            min_margin = min(run.metrics.get(margin, math.inf) for run in runs)
            texts.append(f"'{block}' by {si(-min_margin, rows[margin].unit)}")
    share = sum(violates_limit(run.metrics) for run in runs)
    many = f" in {share} of {len(runs)} repeats" if len(runs) > 1 else ""
    return f"crossed {' and '.join(texts)}{many}"


def _failure_text(runs: Sequence[RunSummary]) -> str:
    """Return how runs ended that are not ranked."""
    failed = [run.status for run in runs if not run.completed]
    share = f" in {len(failed)} of {len(runs)} repeats" if len(runs) > 1 else ""
    return f"{', '.join(dict.fromkeys(failed))}{share}" if failed else "no run"


def _is_mixed(row: MetricRanking) -> bool:
    """Return whether a metric sums over several units, as metres and radians."""
    return "," in row.unit


def _winner_text(row: MetricRanking | None, ranked: Sequence[str]) -> str:
    """Return who has the least of a metric, how much, and how far the others are from it."""
    if row is None:
        return "not known"

    def amount(name: str) -> str:
        return f"{si(row.values[name], row.unit)}{' on average' if row.pairs else ''}"

    if row.best:
        among = [name for name in ranked if name in row.values]
        return _ranking_text(row, among, told=MAX_NAMED, amount=amount)
    finite = [row.values[name] for name in ranked if math.isfinite(row.values.get(name, math.nan))]
    if finite and max(finite) <= rounding_floor(row.metric):
        return f"no difference, all {_rounding_text(row)}"
    ends = [si(value, row.unit) for value in (min(finite), max(finite))] if finite else []
    return " ".join(["no clear difference,", " to ".join(dict.fromkeys(ends))]).rstrip(" ,")


def _rounding_text(row: MetricRanking) -> str:
    return f"below {number(rounding_floor(row.metric), 1)}, which is rounding"


def failure_verdicts(runs: RunsByController) -> Iterator[Verdict]:
    """Yield who is not ranked, and why."""
    for name, group in runs.items():
        failed = [run for run in group if not run.completed]
        if not failed:
            continue
        first = failed[0]
        end = f"'{first.status}' at t = {number(first.end_time, 3)} s"
        text = f"'{name}' ended as {end} and is not ranked. {sentence(first.message)}"
        if len(group) > 1:
            ends = Counter(run.status for run in failed).items()
            tally = ", ".join(f"{count} {status}" for status, count in ends)
            done = f"{len(group) - len(failed)} of {len(group)} repeats ({tally})"
            text = f"'{name}' completed {done} and is not ranked. "
            text += f"With seed {first.seed}: {first.message}"
        yield Verdict("bad", first.status, text.strip())


def validity_verdicts(beliefs: Mapping[str, RunVerdict]) -> Iterator[Verdict]:
    """Yield whose runs are not to be believed, and of whose runs is warned, and why."""
    warned: dict[Verdict, list[str]] = {}
    for name, belief in beliefs.items():
        for reason in belief.reasons:
            if reason.level == "bad" and reason.subject != "outcome":
                text = f"'{name}' is not to be believed: {reason.text}"
                yield Verdict("bad", reason.subject, text)
            elif reason.level == "warning":
                warned.setdefault(reason, []).append(name)
    for reason, names in warned.items():
        yield Verdict("warning", reason.subject, f"{quoted(names)}: {reason.text}")


def caution_verdicts(
    conditions: RunConditions,
    done: CompletedRepeats,
    facts: Sequence[FairnessCondition],
    tunings: Mapping[str, GainSearch],
) -> Iterator[Verdict]:
    """Yield what to keep in mind when reading the ranking."""
    if not conditions.whole:
        cause = "Stopped by the user" if conditions.stopped else "The machine failed"
        text = f"{cause}{conditions.progress(done)}. What was done is compared."
        yield Verdict("warning", "stopped" if conditions.stopped else "machine", text)
    if beliefs_differ(facts):
        text = "Not all laws have the same model: the ranking is of each law with its model."
        yield Verdict("note", "belief", text)
    unequal = [f.subject for f in facts if not f.equal and f.subject not in ("belief", "bandwidth")]
    if unequal:
        text = f"Not equal for all: {', '.join(unequal)}. The ranking mixes these with the laws."
        yield Verdict("warning", "fairness", text)
    if conditions.random and done.repeats == 1:
        text = (
            "Each controller ran once, with one draw of the random values: the ranking holds for "
            "this draw alone. Ask for repeats."
        )
        yield Verdict("warning", "chance", text)
    elif conditions.random is False and not conditions.levels:
        text = (
            "Each controller ran once, without random values: the ranking holds for this "
            "scenario alone, and no value is marked as best. A mark needs a test over several "
            "runs: ask for a mismatch of the true robot, or add noise and ask for repeats."
        )
        yield Verdict("note", "marks", text)
    gains = next((fact.text for fact in facts if fact.subject == "gains"), "")
    if gains == UNTUNED_TEXT:
        text = (
            "No gains were tuned: each law has the gains of its card, and other gains may change "
            "the ranking. --tune 40 tunes all with the same budget, --cost sets the objective."
        )
        yield Verdict("note", "gains", text)
    tested = max([done.repeats, *done.levels.values()]) > 1
    if tested and any(tuned.gains and len(tuned.every) == 1 for tuned in tunings.values()):
        text = (
            "One search for each law: the intervals and tests do not contain the randomness of "
            "the search, and may take it for a difference of laws. --searches 5 includes it."
        )
        yield Verdict("warning", "luck", text)
    infeasible = [
        f"'{name}' is beyond {violations_text(tuned.best, tuned)}"
        for name, tuned in tunings.items()
        if tuned.limits and not tuned.best.feasible
    ]
    if infeasible:
        text = f"No gains that were tried keep to the constraints: {'; '.join(infeasible)}."
        yield Verdict("warning", "tuning", text)
    at_border = [
        f"{', '.join(path.removeprefix('controller.') for path in tuned.borders)} of '{name}'"
        for name, tuned in tunings.items()
        if tuned.borders
    ]
    if at_border:
        text = (
            f"Tuned to an end of their range: {'; '.join(at_border)}. A better value may lie "
            "beyond, or the cost omits the price of such a gain; so no controller is marked as "
            "best."
        )
        yield Verdict("warning", "tuning", text)


def exact_model_verdicts(
    row: MetricRanking | None, facts: Sequence[FairnessCondition]
) -> Iterator[Verdict]:
    """Yield that an error of nothing but rounding comes of a model that is true."""
    equal = {fact.subject: fact.text for fact in facts if fact.equal}
    true = all(equal.get(subject) == text for subject, text in DEFAULT_TEXTS.items())
    values = {} if row is None else row.values
    exact = [n for n, v in values.items() if row and v <= rounding_floor(row.metric)]
    if true and exact:
        text = (
            "The model is exact and nothing disturbs: a law that uses the whole model has "
            f"rounding errors alone, with any gains: {quoted(exact)}. --mismatch 0,0.1 shows its "
            "errors on robots that differ from the model."
        )
        yield Verdict("note", "exact model", text)


def metric_verdict(row: MetricRanking, runs: RunsByController) -> Verdict:
    """Return one metric in a sentence."""
    ranked = [name for name in ranked_names(runs) if name in row.values]
    if row.best:
        extreme = "Lowest" if metrics.less_is_better(row.metric) else "Highest"
        word = "Best" if row.marked else extreme
        return Verdict("note", row.metric, f"{word}: {_ranking_text(row, ranked)}.")
    finite = [row.values[name] for name in ranked if math.isfinite(row.values[name])]
    if not finite:
        return Verdict("note", row.metric, "No controller that is ranked has a value.")
    at_most = f" (largest value {si(max(finite), row.unit)})"
    text = f"No difference between the controllers{at_most}."
    if not metrics.describe(row.metric).about_controller:
        text = f"This metric judges the integration, not the controllers{at_most}."
    elif len(ranked) == 1:
        text = f"'{ranked[0]}' alone is ranked, with {si(finite[0], row.unit)}."
    elif row.pairs and not all(_is_tie(row, pair.lower, pair.higher) for pair in row.pairs):
        low, high = si(min(finite), row.unit), si(max(finite), row.unit)
        count = max(len(group) for group in runs.values())
        text = f"Not distinguishable in {count} repeats: means of {low} to {high}."
    return Verdict("note", row.metric, text)


def _ranking_text(
    row: MetricRanking,
    ranked: Sequence[str],
    *,
    told: int | None = None,
    amount: Callable[[str], str] | None = None,
) -> str:
    """Return who has least (most where more is better), how much, and how ``told`` of the others,
    or all, compare; ``amount`` says how much somebody has without what repeats tell.
    """
    sign = 1.0 if metrics.less_is_better(row.metric) else -1.0
    leader = row.best[first_smallest([sign * row.values[name] for name in row.best])]
    leader_text = _mean_text(row, leader) if amount is None else amount(leader)
    if row.values[leader] <= rounding_floor(row.metric):
        leader_text = _rounding_text(row)
    clauses = [f"{quoted(row.best)}, {leader_text}"]
    if len(row.best) > 1 and row.pairs:
        equal = all(_is_tie(row, leader, name) for name in row.best if name != leader)
        clauses[0] += ", equal within 1 %" if equal else ", not distinguishable from each other"
    runners_up = [name for name in ranked if name not in row.best]
    clauses += [
        f"'{name}' {_relative_text(row, name, leader, amount)}"
        f"{_significance_text(row, leader, name) if amount is None else ''}"
        for name in runners_up[:told]
    ]
    if told is not None and len(runners_up) > told:
        clauses.append(f"{len(runners_up) - told} more")
    return "; ".join(clauses)


def ignored_settings_verdicts(dropped: Mapping[str, tuple[str, ...]]) -> Iterator[Verdict]:
    """Yield which settings of the scenario's own controller each entry did not take over."""
    for name, settings in dropped.items():
        own = "settings of the scenario's own controller"
        text = f"'{name}' does not take over {own}: {'; '.join(settings)}."
        yield Verdict("note", "own settings", text)


def mismatch_verdict(robustness: Robustness) -> Verdict:
    """Return what happens at the largest mismatch, and who did not stand it."""
    row = robustness.rows[-1]
    at = {name: entries[-1] for name, entries in robustness.entries.items()}
    done = [name for name, one in at.items() if one.runs and one.completed == one.runs]
    kept = [name for name in done if not at[name].crossed]
    ranked = kept or done
    lowest = "no clear difference" if len(ranked) > 1 else "nothing to rank"
    best = row.best or (ranked if kept and len(done) > len(ranked) == 1 else ())
    if best:
        min_error = si(min(row.values[name] for name in best), row.unit)
        lowest = f"{quoted(best)}, {min_error} on average"
    text = f"Lowest error {at_mismatch(robustness.levels[-1])}: {lowest}."
    fewer = [f"'{n}' in {o.completed} of {o.runs}" for n, o in at.items() if n not in done]
    if fewer:
        text = f"{text} Not all runs completed: {', '.join(fewer)}."
    beyond = [f"'{n}' in {at[n].crossed} of {at[n].runs}" for n in done if n not in ranked]
    if beyond:
        text = f"{text} Not ranked, beyond a kept limit: {', '.join(beyond)}."
    return Verdict("warning" if fewer or beyond else "note", "mismatch", text)


def _mean_text(row: MetricRanking, name: str) -> str:
    text = si(row.values[name], row.unit)
    spread = row.spreads.get(name)
    if spread is None or not math.isfinite(spread.low) or spread.high == spread.low:
        return text
    interval = _interval_text(spread.low, spread.high, row.unit)
    return f"{text} on average (95 % confidence: {interval})"


def _significance_text(row: MetricRanking, leader: str, name: str) -> str:
    """Return the interval of a difference and the chance of it, where repeats tell them."""
    pair = row.pair(leader, name)
    if pair is None or pair.difference.low == pair.difference.high:
        return ""
    chance = "p < 0.001" if pair.p < 0.001 else f"p = {number(pair.p, 2)}"
    return f" (by {_interval_text(pair.difference.low, pair.difference.high, row.unit)}, {chance})"


def _interval_text(low: float, high: float, unit: str) -> str:
    largest = max(abs(low), abs(high))
    factor, printed = si_prefix(largest, unit) if si(largest, unit)[-1:].isalpha() else (1.0, "")
    if factor != 1.0:
        return f"{number(factor * low)} to {number(factor * high)} {printed}"
    return f"{number(low)} to {quantity(high, unit)}"


def _is_tie(row: MetricRanking, one: str, peer: str) -> bool:
    low, high = sorted((row.values[one], row.values[peer]))
    return high - low <= TIE_RTOL * abs(low)


def _relative_text(
    row: MetricRanking, name: str, leader: str, amount: Callable[[str], str] | None
) -> str:
    """Return how somebody compares with who has least: in per cent, a multiple, or by itself."""
    value, lowest = row.values[name], row.values[leader]
    if not math.isfinite(value):
        return "has none"
    plain = lowest <= max(rounding_floor(row.metric), 0.0) or not metrics.less_is_better(row.metric)
    if plain or _is_mixed(row) or value / lowest > 1e6:  # no per cent of metres and radians
        return f"has {si(value, row.unit) if amount is None else amount(name)}"
    ratio = value / lowest
    if ratio < 2.0:
        return f"is {number(100.0 * (ratio - 1.0), 2)} % above"
    return f"has {number(ratio, 2)} times as much"
