"""Several controllers on one scenario: their gains, their repeats, their robustness."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.core.files import AnyPath
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects import Mismatch
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario
from ukctrl.simulation.scenario.scenario_argument import names_beside
from ukctrl.studies.batch.mismatch_level import MismatchLevel, mismatch_order
from ukctrl.studies.batch.run_store import RunStore, run_missing
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask, repeat_seed
from ukctrl.studies.batch.task import ProgressCallback, scaled_progress
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_verdicts import ignored_settings_verdicts
from ukctrl.studies.comparison.entry import (
    AnyEntry,
    default_controllers,
    entry_scenarios,
    ignored_settings,
)
from ukctrl.studies.comparison.equal_bandwidth import LoopSummaries, design_equal, summarise_loops
from ukctrl.studies.comparison.fairness import RunConditions
from ukctrl.studies.comparison.front_settings import Front, check_front_metrics, run_fronts
from ukctrl.studies.comparison.pareto_front import Fronts
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import Budget, GainSearch, Objective, Plants, SimulationJournal, tune_all
from ukctrl.studies.tuning.candidate_evaluator import CandidateEvaluator
from ukctrl.studies.tuning.plants import mismatch_effects, validation_values, with_mismatch

DEFAULT_REPEATS = 10
"""Repeats where robustness or a front is asked for and their number is not said."""
MAX_REPEATS = 100_000
"""More repeats than this are a typing error."""


@explain_argument_errors
def compare(
    scenario: AnyScenario,
    controllers: AnyEntry | Sequence[AnyEntry] | None = None,
    *,
    repeats: int | None = None,
    mismatch: Sequence[float | str] | str = (),
    equal: ErrorSpec | None = None,
    tuning: Budget | None = None,
    front: Front | tuple[str, str] | None = None,
    vary: Sequence[Factor] = (),
    journal: SimulationJournal | None = None,
    jobs: int | None = 1,
    executor: Executor | None = None,
    room: int | None = None,
    beside: AnyPath | None = None,
    trust: bool = False,
    warn: Callable[[Verdict], None] | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Run several controllers on the same plant, start, timing, effects and seeds.

    Args:
        scenario: What all of them run: a scenario, its name, or the path of its file.
        controllers: Names and paths of cards, controllers, functions ``f(t, q, v)`` that return the
            inputs, or entries with a name and a belief of their own, also as text:
            ``"light=servo-baumgarte{believed.mass_scale=0.8}"``; ``"own"`` is the scenario's own.
            Absent: that, and the cards of `default_controllers`.
        repeats: Runs of each; the first has the scenario's seed, the others seeds made of it, the
            same for all. Absent: 1, or 10 with ``mismatch``. A scenario without chance runs once.
        mismatch: Levels at which to repeat everything with a true robot whose parameters are off by
            up to that fraction, while beliefs stay: ``[0.1, 0.2]``. The folder of an identified
            robot is one, too: from what its fit does not know the true robot is drawn.
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
        jobs: How many runs at a time; None: as many as there are processors. The results do not
            depend on it. Threads compute them where machine code runs from sample
            to sample; otherwise processes do, and a script that asks for several keeps its work
            under ``if __name__ == "__main__":``.
        executor: Where to run instead, such as a cluster's executor.
        room: How many runs the executor makes at a time; absent: as many as here.
        beside: File that the names are relative to; absent: that of the scenario, where its name or
            path is given, else the catalogue and the working folder.
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
    beside, scenario = names_beside(scenario, beside), as_scenario(scenario, trust=trust)
    if controllers is None:
        controllers = default_controllers(scenario, beside=beside, trust=trust)
    if isinstance(front, tuple):
        front = Front(metrics=front)
    if front is not None and tuning is not None:
        raise InputError("a front is over all gains, and tuning looks for the best: give one.")
    if tuning is not None:
        vary = vary or tuning.plants.vary
    many = bool(mismatch or vary) or front is not None
    mismatch = [mismatch] if isinstance(mismatch, str) else mismatch
    count = _repeat_count(repeats, mismatch, many)
    levels = sorted(set(mismatch) - {0.0}, key=mismatch_order)
    variants = entry_scenarios(scenario, controllers, beside=beside, trust=trust)
    dropped = ignored_settings(scenario, variants)
    ready: dict[str, Loop] = {}
    if equal is not None:
        variants, ready = design_equal(variants, equal)
    plan = _ComparisonPlan(
        count, levels, dropped, equal, ready, tuning, front, tuple(vary), journal, warn
    )
    advice = "give the same command again"
    with TaskRunner.of_scenarios(list(variants.values()), jobs, executor, room, advice) as runner:
        return _run_comparison(scenario, variants, plan, runner, progress)


class _ComparisonPlan(NamedTuple):
    """What is to be run, beside the first of each."""

    repeats: int
    mismatch_levels: Sequence[MismatchLevel]
    ignored_settings: Mapping[str, tuple[str, ...]]
    design_spec: ErrorSpec | None
    prepared_loops: Mapping[str, Loop]
    tuning: Budget | None
    front: Front | None
    vary: tuple[Factor, ...]
    journal: SimulationJournal | None
    warn: Callable[[Verdict], None] | None


def _run_comparison(
    scenario: Scenario,
    variants: dict[str, Scenario],
    plan: _ComparisonPlan,
    runner: TaskRunner,
    progress: ProgressCallback | None,
) -> Comparison:
    searches = plan.tuning.searches if plan.tuning else 1
    budget = plan.tuning.simulations * searches * len(variants) if plan.tuning else 0
    swept = plan.front.points * plan.repeats * len(variants) if plan.front else 0
    count = len(variants) * searches
    total = budget + count * plan.repeats * (1 + len(plan.mismatch_levels)) + swept
    tunings: dict[str, GainSearch] = {}
    scenarios = {name: [variant] for name, variant in variants.items()}
    if plan.tuning is not None:
        report = scaled_progress(progress, 0, budget, total)
        tunings = _tune_entries(variants, plan.tuning, plan.journal, runner, report)
        scenarios = {
            name: [variants[name].replace(search.best.changes) for search in group.every]
            for name, group in tunings.items()
        }
        variants = {name: group[0] for name, group in scenarios.items()}
    design = (plan.design_spec, plan.prepared_loops) if plan.tuning is None else ()
    summaries = summarise_loops(variants, *design)
    if plan.warn is not None:
        ignored = ignored_settings_verdicts(plan.ignored_settings)
        for verdict in (*summaries.warnings(bool(tunings)), *ignored):
            plan.warn(verdict)
    levels = plan.mismatch_levels
    make_task = functools.partial(
        _simulation_task,
        scenarios,
        mismatch_effects(scenario, levels) if levels else {},
        validation_values(plan.vary, scenario.seed, plan.repeats) if plan.vary else None,
    )
    store = RunStore(plan.journal)
    first = [make_task(RunKey(name)) for name in variants]
    report = scaled_progress(progress, budget, len(first), total)
    outcomes, stopped, failure = run_missing(first, store, runner, report)
    store.verify(first, outcomes)
    if plan.front is not None:
        check_front_metrics(plan.front, outcomes)
    random = any(run.is_random for run in outcomes) or bool(plan.vary)
    if not stopped:
        entries = [(name, k) for name, group in scenarios.items() for k in range(len(group))]
        ended = {run.controller for run in outcomes}
        keys = [
            key
            for key in _remaining_runs(entries, plan.repeats, levels)
            if key.controller in ended and (random or key.repeat == 0 or key.mismatch is not None)
        ]
        remaining_count = total - budget - len(first) - swept
        report = scaled_progress(progress, budget + len(first), remaining_count, total)
        more, stopped, later = run_missing([make_task(key) for key in keys], store, runner, report)
        outcomes, failure = outcomes + more, failure or later
    fronts = None
    if plan.front is not None and not (stopped or failure):
        level = levels[-1] if levels else None
        repeats = range(plan.repeats if random or level is not None else 1)
        plants = {
            name: [make_task(RunKey(name, 0, k, level)).scenario for k in repeats]
            for name in variants
        }
        log = SimulationJournal() if plan.journal is None else plan.journal
        evaluator = CandidateEvaluator(
            Objective.parse(plan.front.metrics[0]), Plants(), log, runner
        )
        report = scaled_progress(progress, total - swept, swept, total)
        try:
            fronts = run_fronts(
                plan.front,
                plants,
                summaries.lowest_bandwidths,
                evaluator,
                _labels(outcomes),
                report,
            )
            stopped = not fronts.whole
        except MachineFailure as error:
            failure = str(error)
    conditions = RunConditions(
        random=random,
        asked=plan.repeats,
        stopped=stopped,
        failure=failure,
        levels=tuple(levels),
        dropped=plan.ignored_settings,
        varied=tuple(factor.path for factor in plan.vary),
    )
    return _make_comparison(variants, outcomes, tunings, conditions, summaries, fronts)


def _tune_entries(
    variants: Mapping[str, Scenario],
    budget: Budget,
    journal: SimulationJournal | None,
    runner: TaskRunner,
    progress: ProgressCallback,
) -> dict[str, GainSearch]:
    """Return the searches for the gains of all.

    Raises:
        KeyboardInterrupt: One has not come to its end: the user has stopped it.
    """
    tunings = tune_all(variants, budget, journal=journal, crew=runner, progress=progress)
    for name in variants:
        searches = tunings[name].every if name in tunings else ()
        count = budget.searches if searches and tunings[name].gains else 1
        if len(searches) != count or not all(search.finished for search in searches):
            raise KeyboardInterrupt
    return tunings


def _repeat_count(repeats: int | None, mismatch: Sequence[MismatchLevel], many: bool) -> int:
    """Return how many repeats are asked for, all arguments checked."""
    if repeats is not None and not 1 <= repeats <= MAX_REPEATS:
        raise InputError(f"repeats must be from 1 to {MAX_REPEATS}; got {repeats}.")
    for level in mismatch:
        if not (isinstance(level, str) or (math.isfinite(level) and 0.0 <= level < 1.0)):
            raise InputError(
                f"mismatch must be fractions from 0 to below 1, such as 0.1; got {level:g}."
            )
    return repeats if repeats is not None else DEFAULT_REPEATS if many else 1


class RunKey(NamedTuple):
    """Run of a comparison: whose it is, and which."""

    controller: str
    search: int = 0
    """Which of several searches its gains are from."""
    repeat: int = 0
    mismatch: MismatchLevel | None = None
    """Level of the mismatch; None: the scenario as it is."""


def _remaining_runs(
    entries: Sequence[tuple[str, int]], repeats: int, levels: Sequence[MismatchLevel]
) -> Iterator[RunKey]:
    """Yield the runs beside the first of each controller, with the number of its search, in an
    order in which what is done when somebody stops can be paired.
    """
    for repeat in range(repeats):
        yield from (RunKey(*entry, repeat) for entry in entries if (entry[1], repeat) != (0, 0))
        for level in levels:
            yield from (RunKey(*entry, repeat, level) for entry in entries)


def _simulation_task(
    variants: Mapping[str, Sequence[Scenario]],
    mismatches: Mapping[MismatchLevel, Mismatch],
    values: Sequence[Mapping[str, object]] | None,
    key: RunKey,
) -> SimulationTask:
    scenario = variants[key.controller][key.search]
    seed = repeat_seed(scenario.seed, key.repeat)
    scenario = scenario.replace({**(values[key.repeat] if values else {}), "seed": seed})
    if key.mismatch is not None:
        scenario = with_mismatch(scenario, mismatches[key.mismatch])
    first = key == RunKey(key.controller)
    return SimulationTask(
        **key._asdict(),
        scenario=scenario,
        with_curves=key.mismatch is None,
        with_result=first,
        strict=first,
    )


def _make_comparison(
    variants: Mapping[str, Scenario],
    outcomes: Sequence[RunSummary],
    tunings: Mapping[str, GainSearch],
    conditions: RunConditions,
    summaries: LoopSummaries,
    fronts: Fronts | None,
) -> Comparison:
    first_runs = [run for run in outcomes if run.repeat == run.search == 0 and run.mismatch is None]
    firsts = {run.controller: run for run in first_runs}
    if not firsts:
        raise KeyboardInterrupt
    labels, results = _labels(first_runs), {}
    untuned = "given" if summaries.design_spec is None else "designed"
    for name in (name for name in variants if name in firsts):
        result = firsts[name].result or _empty_result(firsts[name], variants[name], labels)
        gain_source = "tuned" if name in tunings and tunings[name].gains else untuned
        origin = {**result.provenance, "gains": gain_source}
        results[name] = dc.replace(result, provenance=origin)
    return Comparison(
        results=results,
        outcomes=tuple(dc.replace(run, result=None) for run in outcomes),
        tunings=tunings,
        conditions=conditions,
        stands=summaries,
        fronts=fronts,
    )


def _labels(runs: Sequence[RunSummary]) -> Labels:
    return next((run.result.labels for run in runs if run.result), Labels())


def _empty_result(outcome: RunSummary, variant: Scenario, labels: Labels) -> Result:
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
