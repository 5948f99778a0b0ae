"""One controller on one scenario: its gains searched for, and judged on other plants."""

from __future__ import annotations

import dataclasses as dc
from concurrent.futures import Executor
from pathlib import Path

from ukctrl.control.controller import law_name
from ukctrl.control.terms import TERMS
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Outcome, Run
from ukctrl.studies.batch.suits_threads import suits_threads
from ukctrl.studies.batch.task import Care, Lost, Progress, part
from ukctrl.studies.batch.users_files import files_of
from ukctrl.studies.tuning.evaluate import Bench, Order, Plant
from ukctrl.studies.tuning.gains import gains_of
from ukctrl.studies.tuning.search import Budget, tune_all
from ukctrl.studies.tuning.tuned import Tuned
from ukctrl.studies.tuning.tuning_journal import Journal
from ukctrl.studies.tuning.tuning_record import HeldOut, Tuning

JOURNAL = "journal.jsonl"
CARD, TUNED = "card", "tuned"


def tune(
    scenario: Scenario,
    budget: Budget,
    *,
    folder: AnyPath | None = None,
    resume: bool = False,
    jobs: int | None = 1,
    executor: Executor | None = None,
    room: int | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Search for the gains of a scenario's controller.

    Args:
        scenario: With the controller whose gains are searched for; those it has are tried first.
        budget: How many simulations, for which cost, over which ranges, on which plants.
        folder: Where every simulation is written down as soon as it is done; absent: nowhere.
        resume: Whether to go on with the search in the folder, of which nothing is repeated but
            one run of the card, to see that it is still the same.
        jobs: How many simulations at a time; None: as many as there are processors, where that
            pays. The result does not depend on it.
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
    _check_over(scenario, budget)
    name = law_name(scenario.controller)
    search = budget.simulations * budget.searches
    held_out = (1 + budget.searches) * budget.plants.held_out
    total = search + held_out + 2
    care = Care(go_on="go on by --resume (resume=True)")
    files = files_of([scenario])
    with (
        Crew(jobs, executor, room=room, care=care, files=files) as crew,
        _journal(folder, resume) as journal,
    ):
        if crew.chooses and suits_threads([scenario], crew):
            crew.care = dc.replace(care, compiled=True)
        tunings = tune_all(
            {name: scenario},
            budget,
            journal=journal,
            crew=crew,
            progress=part(progress, 0, search, total),
        )
        if name not in tunings:
            raise KeyboardInterrupt
        tuning, held, results = tunings[name], None, {}
        if all(search.finished for search in tuning.every):
            bench = Bench(budget.objective(), budget.plants, journal, crew)
            report = part(progress, search, held_out, total)
            held = _held_out(scenario, tuning, budget, bench, report)
            if held is not None or not budget.plants.held_out:
                results = _responses(scenario, tuning, crew)
    return Tuned(
        scenario=scenario, tuning=tuning, plants=budget.plants, held_out=held, results=results
    )


def _check_over(scenario: Scenario, budget: Budget) -> None:
    """Refuse ranges of what is no gain of the controller, and a controller that has none."""
    gains = gains_of(scenario)
    for path in budget.over:
        if path not in TERMS and path.partition(".")[0] != "controller":
            known = [gain.path for gain in gains if gain.path.endswith(f".{path}")]
            if known:
                raise InputError(f"over '{path}': no such path; did you mean '{known[0]}'?")
            raise InputError(
                f"over '{path}': a gain must be in the controller, whose card is written; what "
                "differs from plant to plant is varied (--vary)."
            )
    if not budget.over and not gains:
        name = law_name(scenario.controller)
        raise InputError(f"controller '{name}' has no gains to tune; give a range (--over).")


def _journal(folder: AnyPath | None, resume: bool) -> Journal:
    if folder is None:
        return Journal()
    path = Path(folder) / JOURNAL
    if path.exists() and path.stat().st_size and not resume:
        raise InputError(
            f"'{folder}' holds a search already; go on with it (--resume), remove it, or give "
            "another folder."
        )
    return Journal(path)


def _held_out(
    scenario: Scenario, tuning: Tuning, budget: Budget, bench: Bench, progress: Progress
) -> HeldOut | None:
    """Return what card and tuned gains are worth on other plants; None where it was stopped."""
    plants = [Plant.of(plant) for plant in budget.plants.validation(scenario)]
    if not plants:
        return None
    orders = [
        Order(tuning.entry, trial.gains, "held out", plants, trial.derived)
        for trial in (tuning.card, *(search.best for search in tuning.every))
    ]
    judged = [trial for trial in bench.judge(orders, progress) if trial is not None]
    if len(judged) < len(orders):
        return None
    card, best, *others = judged
    return HeldOut(card, best, tuple(others))


def _responses(scenario: Scenario, tuning: Tuning, crew: Crew) -> dict[str, Result]:
    """Run the scenario as it is, before and after; nothing where it was stopped."""
    chosen = {CARD: tuning.card, TUNED: tuning.best}
    runs = [
        Run(scenario=scenario.replace(trial.changes), entry=name, curves=False, keep=True)
        for name, trial in chosen.items()
    ]
    results: dict[str, Result] = {}

    def take(k: int, value: Outcome | Lost) -> None:
        if isinstance(value, Outcome) and value.stopped:
            raise KeyboardInterrupt
        if isinstance(value, Outcome) and value.result is not None:
            results[runs[k].entry] = value.result

    whole = crew.gather(runs, take)
    return {name: results[name] for name in chosen if name in results} if whole else {}
