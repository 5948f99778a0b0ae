"""Where candidates are simulated: on all plants, over processes, and never twice."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_store import (
    SimulationJournal,
    SimulationRecord,
    same_record,
    simulation_key,
)
from ukctrl.studies.batch.run_summary import SimulationTask
from ukctrl.studies.batch.task import ProgressCallback, TaskCallback, TaskFailure, scaled_progress
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.tuning.cost import Objective
from ukctrl.studies.tuning.gain_search import SearchStage, TuningTrial
from ukctrl.studies.tuning.plants import Plants


class KeyedPlant(NamedTuple):
    """One plant of a controller, with what simulations on it are known by."""

    scenario: Scenario
    key: str

    @staticmethod
    def of(scenario: Scenario) -> KeyedPlant:
        """Return the plant of a scenario."""
        return KeyedPlant(scenario, simulation_key(scenario))


class Candidate(NamedTuple):
    """A candidate to simulate."""

    controller: str
    """Whose it is."""
    gains: Mapping[str, float]
    stage: SearchStage
    plants: Sequence[KeyedPlant]
    derived_gains: Mapping[str, Any] | None = None
    """The gains that follow, where terms are searched for and not gains."""
    rejection: str = ""
    """Why none follow."""

    @property
    def changes(self) -> Mapping[str, Any]:
        """What of the scenario is changed."""
        return self.gains if self.derived_gains is None else self.derived_gains


class CandidateEvaluator:
    """Simulates candidates and judges them; what a journal knows is not simulated again.

    Args:
        objective: What is to be small, and what is to be kept to.
        plants: What is made of the costs on several plants.
        journal: What is known, and where it is written down.
        crew: Who computes.
    """

    def __init__(
        self, objective: Objective, plants: Plants, journal: SimulationJournal, crew: TaskRunner
    ) -> None:
        self._objective, self._plants = objective, plants
        self._journal, self._crew = journal, crew
        self.is_random = False
        """Whether a seed had a part in some run."""

    def score(
        self, orders: Sequence[Candidate], progress: ProgressCallback | None = None
    ) -> list[TuningTrial | None]:
        """Return what candidates are worth, in their order; None where the user has stopped it.

        Raises:
            InputError: As for `run`.
        """
        records = self.run(orders, progress)
        return [self._trial(order, done) for order, done in zip(orders, records, strict=True)]

    def run(
        self, orders: Sequence[Candidate], progress: ProgressCallback | None = None
    ) -> list[list[SimulationRecord | None]]:
        """Return what came of candidates, in their order and plant by plant; None where the user
        has stopped it.

        Args:
            orders: The candidates.
            progress: Called with how many of their simulations are done, and how many there are.

        Raises:
            InputError: The card of a controller does not fit the scenario.
            MachineFailure: The machine failed, twice, at some; the others are in the journal.
        """
        done: dict[tuple[int, int], SimulationRecord] = {}
        tasks: list[_CandidateTask] = []
        for i, order in enumerate(orders):
            for j, plant in enumerate(order.plants):
                record = self._journal.find(_candidate_key(plant, order))
                if record is not None:
                    done[i, j] = record
                else:
                    tasks.append(_CandidateTask(order=order, indices=(i, j)))

        def take(k: int, value: SimulationRecord | TaskFailure) -> None:
            task = tasks[k]
            if isinstance(value, TaskFailure):
                value = _failed_record(value.message)
            self._store(task.order, task.indices[1], value)
            done[task.indices] = value

        stored_count, count = len(done), len(tasks)
        report = scaled_progress(progress, stored_count, count, stored_count + count)
        if tasks:
            self._crew.run(tasks, take, report)
        self.is_random = self.is_random or any(one.random for one in done.values())
        return [
            [done.get((i, j)) for j in range(len(order.plants))] for i, order in enumerate(orders)
        ]

    def verify_journal(self, cards: Sequence[Candidate]) -> bool:
        """Forget the journal where it is of something else; return False where it was stopped.

        The files that scenarios name may have changed since: the first run of every known card is
        made anew, and must come out as it did, to the last digit.

        Raises:
            InputError: As for `judge`.
        """
        stored_cards = [card._replace(plants=card.plants[:1]) for card in cards]
        stored_cards = [card for card in stored_cards if self._stored_run(card) is not None]
        tasks = [_CandidateTask(order=card, indices=(i, 0)) for i, card in enumerate(stored_cards)]
        wrong: list[str] = []

        def take(k: int, value: SimulationRecord | TaskFailure) -> None:
            record = self._stored_run(stored_cards[k])
            if isinstance(value, TaskFailure) or not (record and same_record(value, record)):
                wrong.append(stored_cards[k].controller)

        going = self._crew.run(tasks, take) if tasks else True
        if wrong:
            self._journal.clear()
        return going

    def _stored_run(self, card: Candidate) -> SimulationRecord | None:
        return self._journal.find(_candidate_key(card.plants[0], card))

    def _store(self, order: Candidate, plant: int, done: SimulationRecord) -> None:
        description: dict[str, Any] = {
            "entry": order.controller,
            "stage": order.stage,
            "gains": dict(order.gains),
        }
        description |= {"plant": plant, "seed": order.plants[plant].scenario.seed}
        key = _candidate_key(order.plants[plant], order)
        self._journal.append(done._replace(key=key, description=description))

    def _trial(
        self, order: Candidate, outcomes: Sequence[SimulationRecord | None]
    ) -> TuningTrial | None:
        runs = [done for done in outcomes if done is not None]
        if len(runs) < len(outcomes):
            return None
        judged = [
            self._objective.judge(done.completed, done.reached, done.metrics) for done in runs
        ]
        worth = self._plants.aggregated(judged)
        shown = next((done for done in runs if not done.completed), runs[0])
        return TuningTrial(
            gains=dict(order.gains),
            derived=order.derived_gains,
            cost=worth.cost,
            reached=worth.fraction_reached,
            status=shown.status,
            message=shown.message,
            stage=order.stage,
            violation=worth.violation,
            beyond=worth.violations,
            each=tuple(one.cost for one in judged) if len(judged) > 1 else (),
        )


@dc.dataclass(frozen=True, kw_only=True)
class _CandidateTask:
    """One run of a candidate, as a task; None where the user has stopped it."""

    order: Candidate
    indices: tuple[int, int]
    """Number of the candidate and of the plant."""

    def __str__(self) -> str:
        gains = ", ".join(f"{path} = {value:.6g}" for path, value in self.order.gains.items())
        return (
            f"plant {self.indices[1]} of '{self.order.controller}' with {gains or 'its own gains'}"
        )

    def __call__(self, watch: TaskCallback) -> SimulationRecord | None:
        order = self.order
        if order.rejection:
            return _failed_record(order.rejection)
        plant = order.plants[self.indices[1]].scenario
        try:
            scenario = plant.replace(order.changes)
        except InputError as error:  # these gains do not go together
            if is_machine_failure(error):
                raise
            return _failed_record(str(error))
        ask: dict[str, Any] = {
            "with_curves": False,
            "measure_law_time": False,
            "strict": order.stage == "card",
        }
        outcome = SimulationTask(scenario=scenario, controller=order.controller, **ask)(watch)
        return None if outcome.stopped else SimulationRecord.of(outcome, scenario.timing.duration)


def _failed_record(message: str) -> SimulationRecord:
    return SimulationRecord("infeasible", message, 0.0, False, {})


def _candidate_key(plant: KeyedPlant, order: Candidate) -> str:
    text = json.dumps([plant.key, sorted(order.changes.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
