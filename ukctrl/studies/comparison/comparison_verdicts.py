"""A comparison in plain words, which claim no more than the runs support."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ukctrl.core.errors import quoted
from ukctrl.core.extremes import first_smallest
from ukctrl.core.number_text import number, prefixed, quantity, sentence, si
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.verdicts import Belief
from ukctrl.studies.batch.run_outcome import Outcome
from ukctrl.studies.comparison.fairness import (
    ABSENT,
    UNTUNED,
    Conditions,
    Done,
    Fact,
    belief_alone_differs,
)
from ukctrl.studies.comparison.ranking import (
    TIE_RTOL,
    Robustness,
    Row,
    completed_names,
    crossed,
    ranked_names,
    rounding,
)
from ukctrl.studies.tuning import Tuning
from ukctrl.studies.tuning.tuning_verdicts import broken

Runs = Mapping[str, Sequence[Outcome]]

VELOCITY_GIVEN_UP = 1e-6
"""Less than this of a row's velocity [m/s, rad/s] is nothing to give up."""
SHOWN = 3
"""So many of those that did not win stand in the sentence that sums up."""


def overall(rows: Sequence[Row], runs: Runs, beliefs: Mapping[str, Belief]) -> Verdict:
    """Return the overall picture: error against effort, who failed, and whom not to believe."""
    done, ranked = completed_names(runs), ranked_names(runs)
    known = {row.metric: row for row in rows}
    beyond = {name: _crossed(runs[name], known) for name in done if name not in ranked}
    if len(ranked) < 2:
        text = f"{len(done)} of {len(runs)} controllers completed: there is nothing to rank."
        if beyond:
            crossings = ", ".join(f"'{name}' {what}" for name, what in beyond.items())
            text = f"'{ranked[0]}' alone kept all limits; {crossings}: there is nothing to rank."
        return Verdict("warning", "overall", text)
    errors = [known[name] for name in ("rms_phi", "rms_beta") if name in known]
    error = next((row for row in errors if row.known), errors[0] if errors else None)
    parts = {row.metric.partition(".")[2]: row for row in rows if _is_part(row, error)}
    smallest, least = _won(error, ranked, parts), _won(known.get("effort"), ranked)
    text = f"Smallest error (rms): {smallest}. Least effort: {least}."
    if any(crossed(run.metrics) for name in ranked for run in runs[name]):
        every = ", ".join(f"'{name}' {_crossed(runs[name], known)}" for name in ranked)
        text = f"Nobody kept all limits: {every}. {text}"
    gave = [name for name in ranked if any(_gave_up(run) for run in runs[name])]
    if gave:
        who = "All" if len(gave) == len(ranked) else quoted(gave)
        text = f"{text} {who} gave up some of the task for limits."
    failed = [
        f"'{name}' ({beyond.get(name) or _end(runs[name])})" for name in runs if name not in ranked
    ]
    if failed:
        text = f"{text} Not ranked: {', '.join(failed)}."
    disbelieved = [name for name, found in beliefs.items() if found.level == "bad"]
    if disbelieved:
        return Verdict("bad", "overall", f"{text} Not to be believed: {quoted(disbelieved)}.")
    return Verdict("good", "overall", text)


def _is_part(row: Row, whole: Row | None) -> bool:
    """Tell whether a metric is another one's of a single servo block, of another unit than it."""
    return (
        whole is not None
        and row.metric.startswith(f"{whole.metric}.")
        and row.unit != whole.unit
        and row.known
    )


def _crossed(every: Sequence[Outcome], rows: Mapping[str, Row]) -> str:
    """Return which limits runs crossed, and by how much at most."""
    parts = []
    for name in dict.fromkeys(name for run in every for name in run.metrics):
        base, _, block = name.partition(".")
        if base == "limits_crossed" and block and any(run.metrics.get(name) for run in every):
            margin = f"worst_margin.{block}"
            least = min(run.metrics.get(margin, math.inf) for run in every)
            parts.append(f"'{block}' by {si(-least, rows[margin].unit)}")
    share = sum(crossed(run.metrics) for run in every)
    many = f" in {share} of {len(every)} repeats" if len(every) > 1 else ""
    return f"crossed {' and '.join(parts)}{many}"


def _gave_up(run: Outcome) -> bool:
    """Tell whether some of the task was given up for limits."""
    return run.metrics.get("task_given_up", 0.0) > VELOCITY_GIVEN_UP


def _end(every: Sequence[Outcome]) -> str:
    """Return how runs ended that are not ranked."""
    failed = [run.status for run in every if not run.completed]
    share = f" in {len(failed)} of {len(every)} repeats" if len(every) > 1 else ""
    return f"{', '.join(dict.fromkeys(failed))}{share}" if failed else "no run"


def _won(
    row: Row | None, ranked: Sequence[str], parts: Mapping[str, Row] = MappingProxyType({})
) -> str:
    """Return who has the least of a metric, how much, and how far the others are from it.

    Args:
        row: The metric.
        ranked: Who is ranked.
        parts: The same of single servo blocks, where a sum over all would add metres and radians.
    """
    if row is None:
        return "not known"

    def amount(name: str) -> str:
        each = [
            f"{si(part.values[name], part.unit)} in '{block}'"
            for block, part in parts.items()
            if math.isfinite(part.values.get(name, math.nan))
        ]
        mean = " on average" if row.pairs else ""
        whole = si(row.values[name], row.unit)
        return f"{' and '.join(each) if 0 < len(each) <= SHOWN else whole}{mean}"

    if row.best:
        among = [name for name in ranked if name in row.values]
        return _least(row, among, told=SHOWN, amount=amount)
    finite = [row.values[name] for name in ranked if math.isfinite(row.values.get(name, math.nan))]
    if finite and max(finite) <= rounding(row.metric):
        return f"no difference, all {_rounded(row)}"
    ends = [si(value, row.unit) for value in (min(finite), max(finite))] if finite else []
    return " ".join(["no clear difference,", " to ".join(dict.fromkeys(ends))]).rstrip(" ,")


def _rounded(row: Row) -> str:
    return f"below {number(rounding(row.metric), 1)}, which is rounding"


def failures(runs: Runs) -> Iterator[Verdict]:
    """Yield who is not ranked, and why."""
    for name, every in runs.items():
        failed = [run for run in every if not run.completed]
        if not failed:
            continue
        first = failed[0]
        if len(every) == 1:
            text = f"'{name}' {first.status} at t = {number(first.reached, 3)} s and is not ranked."
            text = f"{text} {sentence(first.message)}"
        else:
            ends = Counter(run.status for run in failed).items()
            how = ", ".join(f"{count} {status}" for status, count in ends)
            text = (
                f"'{name}' completed {len(every) - len(failed)} of {len(every)} repeats ({how}) "
                f"and is not ranked. With seed {first.seed}: {first.message}"
            )
        yield Verdict("bad", first.status, text.strip())


def disbeliefs(beliefs: Mapping[str, Belief]) -> Iterator[Verdict]:
    """Yield whose runs are not to be believed, and of whose runs is warned, and why."""
    warned: dict[Verdict, list[str]] = {}
    for name, found in beliefs.items():
        for reason in found.reasons:
            if reason.level == "bad" and reason.subject != "outcome":
                text = f"'{name}' is not to be believed: {reason.text}"
                yield Verdict("bad", reason.subject, text)
            elif reason.level == "warning":
                warned.setdefault(reason, []).append(name)
    for reason, names in warned.items():
        yield Verdict("warning", reason.subject, f"{quoted(names)}: {reason.text}")


def cautions(
    conditions: Conditions, done: Done, facts: Sequence[Fact], tunings: Mapping[str, Tuning]
) -> Iterator[Verdict]:
    """Yield what to keep in mind when reading the ranking."""
    if not conditions.whole:
        why = "Stopped by the user" if conditions.stopped else "The machine failed"
        text = f"{why}{conditions.progress(done)}. What was done is compared."
        yield Verdict("warning", "stopped" if conditions.stopped else "machine", text)
    if belief_alone_differs(facts):
        text = "Not all believe the same: the ranking is of each law with its belief."
        yield Verdict("note", "belief", text)
    unequal = [f.subject for f in facts if not f.equal and f.subject not in ("belief", "bandwidth")]
    if unequal:
        text = f"Not equal for all: {', '.join(unequal)}. The ranking mixes these with the laws."
        yield Verdict("warning", "fairness", text)
    if conditions.random and done.repeats == 1:
        text = "One draw of what is random: the ranking holds for it alone. Ask for repeats."
        yield Verdict("warning", "chance", text)
    elif conditions.random is False and not conditions.levels:
        text = (
            "One run of each, in which nothing is random: the lowest values are lowest for this "
            "scenario alone, and none is marked as best. A mark needs a test over several runs: "
            "ask for a mismatch of the true robot, or add noise and ask for repeats."
        )
        yield Verdict("note", "marks", text)
    gains = next((fact.text for fact in facts if fact.subject == "gains"), "")
    if gains == UNTUNED:
        text = (
            "No gains were tuned: each law has those of its card, and may do better or worse with "
            "others. --tune 40 gives all the same budget, --cost says for what."
        )
        yield Verdict("note", "gains", text)
    searched = [tuned for tuned in tunings.values() if tuned.gains]
    tested = max([done.repeats, *done.levels.values()]) > 1
    if tested and any(len(tuned.every) == 1 for tuned in searched):
        text = (
            "One search for each: its luck is no part of the intervals and tests, which may take "
            "it for a difference of laws. --searches 5 makes it one."
        )
        yield Verdict("warning", "luck", text)
    infeasible = [
        f"'{name}' is beyond {broken(tuned.best, tuned)}"
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
            "beyond, or the cost leaves out what such a gain costs; so nobody is called best."
        )
        yield Verdict("warning", "tuning", text)


def about_exactness(row: Row | None, facts: Sequence[Fact]) -> Iterator[Verdict]:
    """Yield that an error of nothing but rounding comes of a model that is true."""
    equal = {fact.subject: fact.text for fact in facts if fact.equal}
    true = all(equal.get(subject) == text for subject, text in ABSENT.items())
    exact = [] if row is None else [n for n, v in row.values.items() if v <= rounding(row.metric)]
    if true and exact:
        text = (
            "The model is exact and nothing disturbs, so that a law that uses the whole model errs "
            f"by rounding alone, whatever its gains: {quoted(exact)}. --mismatch 0,0.1 tells what "
            "is left of that on a robot that is not the model."
        )
        yield Verdict("note", "exact model", text)


def about(row: Row, runs: Runs) -> Verdict:
    """Return one metric in a sentence."""
    ranked = [name for name in ranked_names(runs) if name in row.values]
    if row.best:
        least = "Lowest" if metrics.less_is_better(row.metric) else "Highest"
        word = "Best" if row.marked else least
        return Verdict("note", row.metric, f"{word}: {_least(row, ranked)}.")
    finite = [row.values[name] for name in ranked if math.isfinite(row.values[name])]
    at_most = f" (at most {si(max(finite), row.unit)})" if finite else ""
    text = f"Nothing sets the controllers apart{at_most}."
    if not metrics.describe(row.metric).about_controller:
        text = f"Judges the integration, not the controllers{at_most}."
    elif row.pairs and not all(_is_tie(row, pair.lower, pair.higher) for pair in row.pairs):
        low, high = si(min(finite), row.unit), si(max(finite), row.unit)
        count = max(len(every) for every in runs.values())
        text = f"Not distinguishable in {count} repeats: means of {low} to {high}."
    return Verdict("note", row.metric, text)


def _least(
    row: Row,
    ranked: Sequence[str],
    *,
    told: int | None = None,
    amount: Callable[[str], str] | None = None,
) -> str:
    """Return who has least (most where more is better), how much, and how the others compare.

    Args:
        row: The metric.
        ranked: Who is ranked.
        told: Of so many others it is said; absent: of all.
        amount: Says how much somebody has, without what repeats tell; absent: with it.
    """
    sign = 1.0 if metrics.less_is_better(row.metric) else -1.0
    leader = row.best[first_smallest([sign * row.values[name] for name in row.best])]
    own = _mean(row, leader) if amount is None else amount(leader)
    if row.values[leader] <= rounding(row.metric):
        own = _rounded(row)
    parts = [f"{quoted(row.best)}, {own}"]
    if len(row.best) > 1 and row.pairs:
        equal = all(_is_tie(row, leader, name) for name in row.best if name != leader)
        parts[0] += ", equal within 1 %" if equal else ", not distinguishable from each other"
    others = [name for name in ranked if name not in row.best]
    parts += [
        f"'{name}' {_against(row, name, leader, amount)}"
        f"{_support(row, leader, name) if amount is None else ''}"
        for name in others[:told]
    ]
    if told is not None and len(others) > told:
        parts.append(f"{len(others) - told} others more")
    return "; ".join(parts)


def about_dropped(dropped: Mapping[str, tuple[str, ...]]) -> Iterator[Verdict]:
    """Yield which settings of the scenario's own controller each entry did not take over."""
    for name, settings in dropped.items():
        text = f"'{name}' does not take over what the scenario sets: {'; '.join(settings)}."
        yield Verdict("note", "own settings", text)


def about_mismatch(robustness: Robustness) -> Verdict:
    """Return what happens at the largest mismatch, and who did not stand it."""
    row = robustness.rows[-1]
    at = {name: every[-1] for name, every in robustness.entries.items()}
    ranked = [name for name, one in at.items() if one.runs and one.completed == one.runs]
    lowest = "no clear difference" if len(ranked) > 1 else "nothing to rank"
    if row.best:
        least = si(min(row.values[name] for name in row.best), row.unit)
        lowest = f"{quoted(row.best)}, {least} on average"
    text = f"Lowest error at {number(100.0 * robustness.levels[-1])} %: {lowest}."
    fewer = [f"'{n}' in {o.completed} of {o.runs}" for n, o in at.items() if n not in ranked]
    if fewer:
        text = f"{text} Not all runs completed: {', '.join(fewer)}."
    return Verdict("warning" if fewer else "note", "mismatch", text)


def _mean(row: Row, name: str) -> str:
    text = si(row.values[name], row.unit)
    spread = row.spreads.get(name)
    if spread is None or not math.isfinite(spread.low) or spread.high == spread.low:
        return text
    return f"{text} on average (95 % confidence: {_range(spread.low, spread.high, row.unit)})"


def _support(row: Row, leader: str, name: str) -> str:
    """Return the interval of a difference and the chance of it, where repeats tell them."""
    pair = row.pair(leader, name)
    if pair is None or pair.difference.low == pair.difference.high:
        return ""
    chance = "p < 0.001" if pair.p < 0.001 else f"p = {number(pair.p, 2)}"
    return f" (by {_range(pair.difference.low, pair.difference.high, row.unit)}, {chance})"


def _range(low: float, high: float, unit: str) -> str:
    largest = max(abs(low), abs(high))
    factor, printed = prefixed(largest, unit) if si(largest, unit)[-1:].isalpha() else (1.0, "")
    if factor != 1.0:
        return f"{number(factor * low)} to {number(factor * high)} {printed}"
    return f"{number(low)} to {quantity(high, unit)}"


def _is_tie(row: Row, one: str, other: str) -> bool:
    low, high = sorted((row.values[one], row.values[other]))
    return high - low <= TIE_RTOL * abs(low)


def _against(row: Row, name: str, leader: str, amount: Callable[[str], str] | None) -> str:
    """Return how somebody compares with who has least: in per cent, a multiple, or by itself."""
    value, lowest = row.values[name], row.values[leader]
    if not math.isfinite(value):
        return "has none"
    plain = lowest <= max(rounding(row.metric), 0.0) or not metrics.less_is_better(row.metric)
    if plain or value / lowest > 1e6:
        return f"has {si(value, row.unit) if amount is None else amount(name)}"
    ratio = value / lowest
    if ratio < 2.0:
        return f"is {number(100.0 * (ratio - 1.0), 2)} % above"
    return f"has {number(ratio, 2)} times as much"
