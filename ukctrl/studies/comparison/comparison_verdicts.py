"""A comparison in plain words, which claim no more than the runs support."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ukctrl.core.extremes import first_smallest
from ukctrl.core.number_text import number, prefixed, quantity, sentence, si
from ukctrl.simulation.result import metrics
from ukctrl.simulation.verdicts import Verdict
from ukctrl.studies.batch import Outcome
from ukctrl.studies.comparison.fairness import quoted_list
from ukctrl.studies.comparison.ranking import TIE_RTOL, Row, completed_names
from ukctrl.studies.comparison.robustness import Robustness

Runs = Mapping[str, Sequence[Outcome]]

TEST = "Student's paired t test over the repeats at 5 %, corrected by Holm for all pairs"
"""What decides about differences."""


def overall(rows: Sequence[Row], runs: Runs) -> Verdict:
    """Return the overall picture: error against effort."""
    ranked = completed_names(runs)
    repeats = _repeats(runs)
    if len(ranked) < 2:
        done = f"{len(ranked)} of {len(runs)}"
        what = "runs completed" if repeats == 1 else "controllers completed every repeat"
        return Verdict("warning", "overall", f"{done} {what}: there is nothing to rank.")
    table = {row.metric: row for row in rows}
    error = next((n for n in ("rms_phi", "rms_beta") if n in table and table[n].best), "rms_phi")
    precise = table[error].best if error in table else ()
    thrifty = table["effort"].best if "effort" in table else ()
    several = repeats > 1
    if not precise and not thrifty:
        text = "All controllers that completed keep to the task equally well at equal effort."
        if several:
            text = f"In {repeats} repeats, neither error nor effort sets the controllers apart."
    elif precise and not thrifty:
        text = f"{quoted_list(precise)} {_has(precise)} the smallest error."
        text = f"{'With no clear difference in' if several else 'At equal'} effort, {text}"
    elif thrifty and not precise:
        text = f"{quoted_list(thrifty)} {_spends(thrifty)} the least effort."
        text = f"{'With no clear difference in' if several else 'At equal'} error, {text}"
    elif set(precise) & set(thrifty):
        both = tuple(name for name in precise if name in thrifty)
        text = f"{quoted_list(both)} {_has(both)} both the smallest error and the least effort."
    else:
        text = (
            f"A trade-off: {quoted_list(precise)} {_has(precise)} the smallest error, "
            f"{quoted_list(thrifty)} {_spends(thrifty)} the least effort."
        )
    return Verdict("good", "overall", text)


def failures(runs: Runs) -> Iterator[Verdict]:
    """Yield who is not ranked, and why."""
    for name, every in runs.items():
        failed = [run for run in every if not run.completed]
        if not failed:
            continue
        first = failed[0]
        if len(every) == 1:
            text = f"'{name}' {first.status} at t = {number(first.reached, 3)} s and is not ranked."
        else:
            how = ", ".join(f"{n} {status}" for status, n in _statuses(failed).items())
            text = (
                f"'{name}' completed {len(every) - len(failed)} of {len(every)} repeats ({how}) "
                f"and is not ranked. With seed {first.seed}:"
            )
        message = sentence(first.message) if len(every) == 1 else first.message
        yield Verdict("bad", first.status, f"{text} {message}".strip())


def about(row: Row, runs: Runs) -> str:
    """Return one metric in a sentence."""
    ranked = [name for name in completed_names(runs) if name in row.values]
    values = {name: row.values[name] for name in ranked}
    if not row.best:
        finite = [value for value in values.values() if math.isfinite(value)]
        shown = f" (at most {si(max(finite), row.unit)})" if finite else ""
        if not metrics.describe(row.metric).about_controller:
            return f"Judges the integration, not the controllers{shown}."
        if row.pairs and not all(_is_tie(row, pair.lower, pair.higher) for pair in row.pairs):
            low, high = si(min(finite), row.unit), si(max(finite), row.unit)
            return f"Not distinguishable in {_repeats(runs)} repeats: means of {low} to {high}."
        return f"Nothing sets the controllers apart{shown}."
    leader = row.best[first_smallest([values[name] for name in row.best])]
    lowest = values[leader]
    verb = "is" if len(row.best) == 1 else "are"
    parts = [f"{quoted_list(row.best)} {verb} best with {_mean(row, leader)}"]
    if len(row.best) > 1 and row.pairs:
        parts[0] += ", not distinguishable from each other"
        if all(_is_tie(row, leader, name) for name in row.best if name != leader):
            parts[0] = parts[0].replace("not distinguishable from each other", "equal within 1 %")
    for name, value in values.items():
        if name not in row.best:
            text = f"'{name}' {_against(value, lowest, row.unit)}"
            parts.append(f"{text}{_support(row, leader, name)}")
    return f"{'; '.join(parts)}."


def about_mismatch(found: Robustness) -> Iterator[Verdict]:
    """Yield what happens at the largest mismatch, and who did not stand it."""
    level, row = found.levels[-1], found.rows[-1]
    at = {name: every[-1] for name, every in found.entries.items()}
    ranked = [name for name, one in at.items() if one.runs and one.completed == one.runs]
    at_level = f"At {number(100.0 * level)} %"
    fewer = [f"'{n}' in {o.completed} of {o.runs}" for n, o in at.items() if n not in ranked]
    if row.best:
        verb = "keeps" if len(row.best) == 1 else "keep"
        least = min(row.values[name] for name in row.best)
        told = f"{verb} the error lowest, {si(least, row.unit)} on average."
        text = f"{at_level}, {quoted_list(row.best)} {told}"
        if len(row.best) > 1:
            text = f"{text[:-1]}, and cannot be told apart."
    elif len(ranked) > 1:
        text = f"{at_level}, the runs support no difference in the error."
    else:
        text = f"{at_level}, there is nothing to rank."
    if fewer:
        text = f"{text} Not all runs completed: {', '.join(fewer)}."
    yield Verdict("warning" if fewer else "note", "mismatch", text)


def _mean(row: Row, name: str) -> str:
    text = si(row.values[name], row.unit)
    found = row.spreads.get(name)
    if found is None or not math.isfinite(found.low) or found.high == found.low:
        return text
    return f"{text} on average (95 % confidence: {_range(found.low, found.high, row.unit)})"


def _support(row: Row, leader: str, name: str) -> str:
    """Return the interval of a difference and the chance of it, where repeats tell them."""
    pair = row.pair(leader, name)
    if pair is None or pair.difference.low == pair.difference.high:
        return ""
    low, high = pair.difference.low, pair.difference.high
    return f" (by {_range(low, high, row.unit)}, {_chance(pair.p)})"


def _range(low: float, high: float, unit: str) -> str:
    largest = max(abs(low), abs(high))
    factor, printed = prefixed(largest, unit) if si(largest, unit)[-1:].isalpha() else (1.0, "")
    if factor != 1.0:
        return f"{number(factor * low)} to {number(factor * high)} {printed}"
    return f"{number(low)} to {quantity(high, unit)}"


def _chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {number(p, 2)}"


def _is_tie(row: Row, one: str, other: str) -> bool:
    low, high = sorted((row.values[one], row.values[other]))
    return high - low <= TIE_RTOL * abs(low)


def _against(value: float, lowest: float, unit: str) -> str:
    if not math.isfinite(value):
        return "has none"
    if lowest <= 0.0 or value / lowest > 1e6:
        return f"has {si(value, unit)}"
    ratio = value / lowest
    if ratio < 2.0:
        return f"is {number(100.0 * (ratio - 1.0), 2)} % above"
    return f"has {number(ratio, 2)} times as much"


def _repeats(runs: Runs) -> int:
    return max((len(every) for every in runs.values()), default=0)


def _statuses(failed: Sequence[Outcome]) -> dict[str, int]:
    return dict(Counter(run.status for run in failed))


def _has(names: tuple[str, ...]) -> str:
    return "has" if len(names) == 1 else "have"


def _spends(names: tuple[str, ...]) -> str:
    return "spends" if len(names) == 1 else "spend"
