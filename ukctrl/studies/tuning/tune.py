"""One controller on one scenario: its gains searched for, and judged on other plants."""

from __future__ import annotations

import dataclasses as dc
from concurrent.futures import Executor
from pathlib import Path

from ukctrl.control.controller import law_name
from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import expect
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario
from ukctrl.studies.batch.run_store import SimulationJournal
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask
from ukctrl.studies.batch.task import ProgressCallback, TaskFailure, scaled_progress
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.tuning.candidate_evaluator import Candidate, CandidateEvaluator, KeyedPlant
from ukctrl.studies.tuning.gain_search import GainSearch, HeldOut
from ukctrl.studies.tuning.gains import gains_of
from ukctrl.studies.tuning.search import Budget, tune_all
from ukctrl.studies.tuning.tuned import Tuned

JOURNAL_FILE = "journal.jsonl"
CARD_RUN, TUNED_RUN = "card", "tuned"


@explain_argument_errors
def tune(
    scenario: AnyScenario,
    budget: Budget | int,
    *,
    folder: AnyPath | None = None,
    resume: bool = False,
    jobs: int | None = 1,
    executor: Executor | None = None,
    room: int | None = None,
    progress: ProgressCallback | None = None,
) -> Tuned:
    """Search for the gains of a scenario's controller.

    Args:
        scenario: With the controller whose gains are searched for; those it has are tried first. A
            scenario, its name, or the path of its file.
        budget: How many simulations, for which cost, over which ranges, on which plants; a number
            is that of simulations.
        folder: Where every simulation is written down as soon as it is done; absent: nowhere.
        resume: Whether to go on with the search in the folder, of which nothing is repeated but
            one run of the card, to see that it is still the same.
        jobs: How many simulations at a time; None: as many as there are processors. The result
            does not depend on it.
        executor: Where to run instead, such as a cluster's executor.
        room: How many simulations the executor runs at a time; absent: as many as here.
        progress: Called with how many simulations are done and how many there are.

    Returns:
        What was found; so far, where the user has stopped it.

    Raises:
        InputError: There are no gains, a range is not acceptable, or the folder holds a search.
        KeyboardInterrupt: The user has stopped it before the card was tried.
        MachineFailure: The machine failed at some simulations, and again with nothing beside them.
            All others are in the journal, from which ``resume`` goes on.
    """
    scenario = as_scenario(scenario)
    if isinstance(budget, int):
        budget = Budget(simulations=budget)
    budget = expect(
        "budget",
        budget,
        Budget,
        "or a number of simulations; the controller is that "
        "of the scenario: scenario.replace({'controller': ...})",
    )
    _check_ranges(scenario, budget)
    name = law_name(scenario.controller)
    search = budget.simulations * budget.searches
    held_out = (1 + budget.searches) * budget.plants.held_out
    total = search + held_out + 2
    advice = "go on by --resume (resume=True)"
    with (
        TaskRunner.of_scenarios([scenario], jobs, executor, room, advice) as crew,
        _open_journal(folder, resume) as journal,
    ):
        report = scaled_progress(progress, 0, search, total)
        tunings = tune_all({name: scenario}, budget, journal=journal, crew=crew, progress=report)
        if name not in tunings:
            raise KeyboardInterrupt
        tuning, validation, results = tunings[name], None, {}
        if all(search.finished for search in tuning.every):
            evaluator = CandidateEvaluator(budget.objective(), budget.plants, journal, crew)
            report = scaled_progress(progress, search, held_out, total)
            validation = _validate(scenario, tuning, budget, evaluator, report)
            if validation is not None or not budget.plants.held_out:
                results = _run_responses(scenario, tuning, crew)
    return Tuned(
        scenario=scenario, tuning=tuning, plants=budget.plants, held_out=validation, results=results
    )


def _check_ranges(scenario: Scenario, budget: Budget) -> None:
    """Refuse ranges of what is no gain of the controller, a controller that has none, and plants
    that cannot be made.
    """
    dc.replace(budget.plants, held_out=1).validation(scenario)
    gains = gains_of(scenario)
    for path in budget.over:
        if path not in ERROR_SPEC_FIELDS and path.partition(".")[0] != "controller":
            matches = [gain.path for gain in gains if gain.path.endswith(f".{path}")]
            if matches:
                raise InputError(f"over '{path}': no such path; did you mean '{matches[0]}'?")
            raise InputError(
                f"over '{path}': a gain must be in the controller, whose card is written; what "
                "differs from plant to plant is varied (--vary)."
            )
    if not budget.over and not gains:
        name = law_name(scenario.controller)
        raise InputError(f"controller '{name}' has no gains to tune; give a range (--over).")


def _open_journal(folder: AnyPath | None, resume: bool) -> SimulationJournal:
    if folder is None:
        return SimulationJournal()
    path = Path(folder) / JOURNAL_FILE
    if path.exists() and path.stat().st_size and not resume:
        raise InputError(
            f"'{folder}' holds a search already; go on with it (--resume), remove it, or give "
            "another folder."
        )
    return SimulationJournal(path)


def _validate(
    scenario: Scenario,
    tuning: GainSearch,
    budget: Budget,
    evaluator: CandidateEvaluator,
    progress: ProgressCallback,
) -> HeldOut | None:
    """Return what card and tuned gains are worth on other plants; None where it was stopped."""
    plants = [KeyedPlant.of(plant) for plant in budget.plants.validation(scenario)]
    if not plants:
        return None
    orders = [
        Candidate(tuning.entry, trial.gains, "held out", plants, trial.derived)
        for trial in (tuning.card, *(search.best for search in tuning.every))
    ]
    judged = [trial for trial in evaluator.score(orders, progress) if trial is not None]
    if len(judged) < len(orders):
        return None
    card, best, *runners_up = judged
    return HeldOut(card, best, tuple(runners_up))


def _run_responses(scenario: Scenario, tuning: GainSearch, crew: TaskRunner) -> dict[str, Result]:
    """Run the scenario as it is, before and after; nothing where it was stopped."""
    chosen = {CARD_RUN: tuning.card, TUNED_RUN: tuning.best}
    scenarios = {name: scenario.replace(trial.changes) for name, trial in chosen.items()}
    runs = [
        SimulationTask(scenario=one, controller=name, with_curves=False, with_result=True)
        for name, one in scenarios.items()
    ]
    results: dict[str, Result] = {}

    def take(k: int, value: RunSummary | TaskFailure) -> None:
        if isinstance(value, RunSummary) and value.stopped:
            raise KeyboardInterrupt
        if isinstance(value, RunSummary) and value.result is not None:
            results[runs[k].controller] = value.result

    whole = crew.run(runs, take)
    return {name: results[name] for name in chosen if name in results} if whole else {}
