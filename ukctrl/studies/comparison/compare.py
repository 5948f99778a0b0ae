"""Several controllers on one scenario: their gains, their repeats, their robustness."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from ukctrl.control.controller import Controller
from ukctrl.control.terms import Terms
from ukctrl.core.errors import InputError, MachineFailure, unknown_name
from ukctrl.core.files import AnyPath
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.effects import Mismatch
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Outcome, Run, repeat_seed
from ukctrl.studies.batch.suits_threads import suits_threads
from ukctrl.studies.batch.task import Care, Progress, part
from ukctrl.studies.batch.users_files import files_of
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_verdicts import about_dropped
from ukctrl.studies.comparison.entries import dropped_settings, suited, variants_of
from ukctrl.studies.comparison.entry import Entry
from ukctrl.studies.comparison.equal_terms import Stands, made_equal, stands
from ukctrl.studies.comparison.fairness import Conditions
from ukctrl.studies.comparison.front_runs import Front, run_fronts
from ukctrl.studies.comparison.fronts import Fronts
from ukctrl.studies.comparison.kept_runs import KeptRuns, made
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import Budget, Journal, Objective, Plants, Tuning, tune_all
from ukctrl.studies.tuning.evaluate import Bench
from ukctrl.studies.tuning.plants import judged_values, mismatches, with_mismatch

MANY = 10
"""Repeats where robustness or a front is asked for and their number is not said."""
MOST_REPEATS = 100_000
"""More repeats than this are a typing error."""


def compare(
    scenario: Scenario,
    controllers: Sequence[str | Controller | Entry] | None = None,
    *,
    repeats: int | None = None,
    mismatch: Sequence[float] = (),
    equal: Terms | None = None,
    tuning: Budget | None = None,
    front: Front | tuple[str, str] | None = None,
    vary: Sequence[Factor] = (),
    journal: Journal | None = None,
    jobs: int | None = 1,
    executor: Executor | None = None,
    room: int | None = None,
    beside: AnyPath | None = None,
    trust: bool = False,
    warn: Callable[[Verdict], None] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run several controllers on the same plant, start, timing, effects and seeds.

    Args:
        scenario: What all of them run.
        controllers: Names of cards, controllers, or entries with a name and a belief of their own,
            also as text: ``"light=servo-baumgarte{believed.mass_scale=0.8}"``; ``"own"`` is the
            scenario's own. Absent: that, and the cards of `suited`.
        repeats: Runs of each; the first has the scenario's seed, the others seeds made of it, the
            same for all. Absent: 1, or 10 with ``mismatch``. A scenario without chance runs once.
        mismatch: Levels at which to repeat everything with a true robot whose parameters are off by
            up to that fraction, while beliefs stay: ``[0.1, 0.2]``.
        equal: What the loops of all are designed for before anything else: a bandwidth, a settling
            time or a rejection, and a damping. Absent: the cards' gains.
        tuning: What each may spend on its gains before the comparison; absent: they are given.
        front: Two metrics, such as ``("rms_phi.tool", "input_travel")``: what is to be small, and
            what that costs. Every law is run at many settings of its gains, on all repeats, or with
            ``mismatch`` at its largest level. Not with ``tuning``.
        vary: What else differs from repeat to repeat, the same for all: payloads, paths. Absent:
            what differs between the plants of ``tuning``. Values to judge on are drawn apart from
            those that gains are tuned on, as are seeds and robots that are off.
        journal: Where every simulation is written down, of the search for gains and of a front as
            of the repeats, with what an earlier comparison has left there. That is not simulated
            again where it is of the same scenario, controller and version, and the controller's
            first run, made anew, comes out the same.
        jobs: How many runs at a time; None: as many as there are processors, where that pays. The
            results do not depend on it. Threads compute them where machine code runs from sample
            to sample; otherwise processes do, and a script that asks for several keeps its work
            under ``if __name__ == "__main__":``.
        executor: Where to run instead, such as a cluster's executor.
        room: How many runs the executor makes at a time; absent: as many as here.
        beside: File that the names are relative to; absent: the catalogue and the working
            folder.
        trust: Whether Python code that a card names may run.
        warn: Called, before anything runs, with what is unfair about the comparison.
        progress: Called with how many runs are done and how many there are.

    Raises:
        InputError: There is nothing to compare, two controllers share a name, options contradict
            each other, a controller does not fit the scenario, or has no gains for ``equal``.
        KeyboardInterrupt: The user has stopped it before there was anything to compare; what was
            simulated until then is in the journal.
        MachineFailure: The machine failed twice at some runs before there was anything to compare.
            Afterwards `conditions` of the comparison tell, which is of the other runs.
    """
    if controllers is None:
        controllers = suited(scenario, beside=beside, trust=trust)
    if isinstance(front, tuple):
        front = Front(metrics=front)
    if front is not None and tuning is not None:
        raise InputError("a front is over all gains, and tuning looks for the best: give one.")
    if tuning is not None:
        vary = vary or tuning.plants.vary
    many = bool(mismatch or vary) or front is not None
    asked, levels = _asked(repeats, mismatch, many), sorted(set(mismatch) - {0.0})
    variants = variants_of(scenario, controllers, beside=beside, trust=trust)
    dropped = dropped_settings(scenario, variants)
    ready: dict[str, Loop] = {}
    if equal is not None:
        variants, ready = made_equal(variants, equal)
    plan = _Plan(asked, levels, dropped, equal, ready, tuning, front, tuple(vary), journal, warn)
    care, files = Care(go_on="give the same command again"), files_of(variants.values())
    with Crew(jobs, executor, room=room, care=care, files=files) as crew:
        if crew.chooses and suits_threads(list(variants.values()), crew):
            crew.care = dc.replace(crew.care, compiled=True)
        return _compared(scenario, variants, plan, crew, progress)


class _Plan(NamedTuple):
    """What is to be run, beside the first of each."""

    repeats: int
    levels: Sequence[float]
    dropped: Mapping[str, tuple[str, ...]]
    equal: Terms | None
    ready: Mapping[str, Loop]
    tuning: Budget | None
    front: Front | None
    vary: tuple[Factor, ...]
    journal: Journal | None
    warn: Callable[[Verdict], None] | None


def _compared(
    scenario: Scenario,
    variants: dict[str, Scenario],
    plan: _Plan,
    crew: Crew,
    progress: Progress | None,
) -> Comparison:
    searches = plan.tuning.searches if plan.tuning else 1
    budget = plan.tuning.simulations * searches * len(variants) if plan.tuning else 0
    swept = plan.front.points * plan.repeats * len(variants) if plan.front else 0
    count = len(variants) * searches
    total = budget + count * plan.repeats * (1 + len(plan.levels)) + swept
    tunings: dict[str, Tuning] = {}
    if plan.tuning is not None:
        tunings = tune_all(
            variants,
            plan.tuning,
            journal=plan.journal,
            crew=crew,
            progress=part(progress, 0, budget, total),
        )
        if not all(name in tunings and _whole(tunings[name], searches) for name in variants):
            raise KeyboardInterrupt
    every = {name: [variant] for name, variant in variants.items()}
    for name, found in tunings.items():
        every[name] = [variants[name].replace(search.best.changes) for search in found.every]
    variants = {name: found[0] for name, found in every.items()}
    entries = [(name, k) for name, found in every.items() for k in range(len(found))]
    others = list(_others(entries, plan.repeats, plan.levels))
    given = plan.tuning is None
    before = stands(variants, plan.equal if given else None, plan.ready if given else {})
    if plan.warn is not None:
        for verdict in (*before.warnings(), *about_dropped(plan.dropped)):
            plan.warn(verdict)
    values = judged_values(plan.vary, scenario.seed, plan.repeats)
    place = functools.partial(_run, every, mismatches(scenario, plan.levels), values)
    first = [place((name, 0), 0, None) for name in variants]
    kept = KeptRuns(plan.journal)
    report = part(progress, budget, len(first), total)
    outcomes, stopped, failure = made(first, kept, crew, report)
    kept.begin(first, outcomes)
    known = dict.fromkeys(name for run in outcomes for name in run.metrics)
    for name in plan.front.metrics if plan.front and known else ():
        if name not in known:
            raise unknown_name("metric (of the front)", name, known, limit=40)
    random = any(run.random for run in outcomes) or bool(plan.vary)
    if not stopped:
        begun = {run.entry for run in outcomes}
        needed = [
            other
            for other in others
            if other[0][0] in begun and (random or other[1] == 0 or other[2] is not None)
        ]
        report = part(progress, budget + len(first), total - budget - len(first) - swept, total)
        more, stopped, later = made([place(*other) for other in needed], kept, crew, report)
        outcomes, failure = outcomes + more, failure or later
    fronts = None
    if plan.front is not None and not (stopped or failure):
        report = part(progress, total - swept, swept, total)
        level = plan.levels[-1] if plan.levels else None
        count = plan.repeats if random or level is not None else 1
        plants = {
            name: [place((name, 0), k, level).scenario for k in range(count)] for name in variants
        }
        log = Journal() if plan.journal is None else plan.journal
        bench = Bench(Objective.parse(plan.front.metrics[0]), Plants(), log, crew)
        labels = next((run.result.labels for run in outcomes if run.result), Labels())
        try:
            fronts = run_fronts(plan.front, plants, before.slowest, bench, labels, report)
            stopped = not fronts.whole
        except MachineFailure as error:
            failure = str(error)
    conditions = Conditions(
        random=random,
        asked=plan.repeats,
        stopped=stopped,
        failure=failure,
        levels=tuple(plan.levels),
        dropped=plan.dropped,
        varied=tuple(factor.path for factor in plan.vary),
    )
    return _summed_up(variants, outcomes, tunings, conditions, before, fronts)


def _whole(tuning: Tuning, searches: int) -> bool:
    """Tell whether all searches of a controller have come to their end."""
    wanted = searches if tuning.gains else 1
    return len(tuning.every) == wanted and all(search.finished for search in tuning.every)


def _asked(repeats: int | None, mismatch: Sequence[float], many: bool) -> int:
    """Return how many repeats are asked for, all arguments checked."""
    if repeats is not None and not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"repeats must be from 1 to {MOST_REPEATS}; got {repeats}.")
    for level in mismatch:
        if not (math.isfinite(level) and 0.0 <= level < 1.0):
            raise InputError(
                f"mismatch must be fractions from 0 to below 1, such as 0.1; got {level:g}."
            )
    return repeats if repeats is not None else MANY if many else 1


Place = tuple[str, int]
"""A controller, and which of its searches."""


def _others(
    entries: Sequence[Place], repeats: int, levels: Sequence[float]
) -> Iterator[tuple[Place, int, float | None]]:
    """Yield controller, repeat and level of the runs beside the first of each, in an order in which
    what is done when somebody stops can be paired.
    """
    for repeat in range(repeats):
        yield from ((entry, repeat, None) for entry in entries if (entry[1], repeat) != (0, 0))
        for level in levels:
            yield from ((entry, repeat, level) for entry in entries)


def _run(
    variants: Mapping[str, Sequence[Scenario]],
    mismatches: Mapping[float, Mismatch],
    values: Sequence[Mapping[str, object]],
    entry: Place,
    repeat: int,
    level: float | None,
) -> Run:
    name, search = entry
    scenario = variants[name][search]
    changes = {**values[repeat], "seed": repeat_seed(scenario.seed, repeat)}
    scenario = scenario.replace(changes)
    if level is not None:
        scenario = with_mismatch(scenario, mismatches[level])
    first = repeat == search == 0 and level is None
    return Run(
        scenario=scenario,
        entry=name,
        repeat=repeat,
        search=search,
        level=level,
        curves=level is None,
        keep=first,
        strict=first,
    )


def _summed_up(
    variants: Mapping[str, Scenario],
    outcomes: Sequence[Outcome],
    tunings: Mapping[str, Tuning],
    conditions: Conditions,
    before: Stands,
    fronts: Fronts | None,
) -> Comparison:
    begun = [run for run in outcomes if run.repeat == run.search == 0 and run.level is None]
    firsts = {run.entry: run for run in begun}
    if not firsts:
        raise KeyboardInterrupt
    labels = next((run.result.labels for run in firsts.values() if run.result), Labels())
    results = {}
    for name, variant in variants.items():
        if name in firsts:
            result = firsts[name].result or _nothing(firsts[name], variant, labels)
            tuned = name in tunings and bool(tunings[name].gains)
            how = "tuned" if tuned else "given" if before.asked is None else "designed"
            origin = {**result.provenance, "gains": how}
            results[name] = dc.replace(result, provenance=origin)
    return Comparison(
        results=results,
        outcomes=tuple(dc.replace(run, result=None) for run in outcomes),
        tunings=tunings,
        conditions=conditions,
        stands=before,
        fronts=fronts,
    )


def _nothing(outcome: Outcome, variant: Scenario, labels: Labels) -> Result:
    """Return the result of a run that has recorded nothing."""
    return Result.build(
        time=[],
        samples={},
        labels=labels,
        status=outcome.status,
        message=outcome.message,
        scenario=variant.to_table(),
        provenance={"scenario": variant.name or variant.title, "seed": variant.seed},
    )
