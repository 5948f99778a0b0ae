"""Where candidates are simulated: on all plants, over processes, and never twice."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.own_processes import machine_failed
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Outcome, Run
from ukctrl.studies.batch.task import Lost, Progress, Watch, part
from ukctrl.studies.tuning.cost import Objective
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.tuning_journal import Done, Journal, agrees, key_of
from ukctrl.studies.tuning.tuning_record import Stage, Trial


class Plant(NamedTuple):
    """One plant of a controller, with what simulations on it are known by."""

    scenario: Scenario
    key: str

    @staticmethod
    def of(scenario: Scenario) -> Plant:
        """Return the plant of a scenario."""
        return Plant(scenario, key_of(scenario))


class Order(NamedTuple):
    """A candidate to simulate."""

    entry: str
    """Whose it is."""
    gains: Mapping[str, float]
    stage: Stage
    plants: Sequence[Plant]
    derived: Mapping[str, Any] | None = None
    """The gains that follow, where terms are searched for and not gains."""
    refused: str = ""
    """Why none follow."""

    @property
    def changes(self) -> Mapping[str, Any]:
        """What of the scenario is changed."""
        return self.gains if self.derived is None else self.derived


class Bench:
    """Simulates candidates and judges them; what a journal knows is not simulated again.

    Args:
        objective: What is to be small, and what is to be kept to.
        plants: What is made of the costs on several plants.
        journal: What is known, and where it is written down.
        crew: Who computes.
    """

    def __init__(self, objective: Objective, plants: Plants, journal: Journal, crew: Crew) -> None:
        self._objective, self._plants = objective, plants
        self._journal, self._crew = journal, crew
        self.random = False
        """Whether a seed had a part in some run."""

    def judge(
        self, orders: Sequence[Order], progress: Progress | None = None
    ) -> list[Trial | None]:
        """Return what candidates are worth, in their order; None where the user has stopped it.

        Raises:
            InputError: As for `run`.
        """
        every = self.run(orders, progress)
        return [self._trial(order, done) for order, done in zip(orders, every, strict=True)]

    def run(
        self, orders: Sequence[Order], progress: Progress | None = None
    ) -> list[list[Done | None]]:
        """Return what came of candidates, in their order and plant by plant; None where the user
        has stopped it.

        Args:
            orders: The candidates.
            progress: Called with how many of their simulations are done, and how many there are.

        Raises:
            InputError: The card of a controller does not fit the scenario.
            MachineFailure: The machine failed, twice, at some; the others are in the journal.
        """
        done: dict[tuple[int, int], Done] = {}
        tasks: list[_Simulation] = []
        for i, order in enumerate(orders):
            for j, plant in enumerate(order.plants):
                known = self._journal.find(_key(plant, order))
                if known is not None:
                    done[i, j] = known
                else:
                    tasks.append(_Simulation(order=order, place=(i, j)))

        def take(k: int, value: Done | Lost) -> None:
            task = tasks[k]
            outcome = value if isinstance(value, Done) else _failed(value.message)
            self._write(task.order, task.place[1], outcome)
            done[task.place] = outcome

        before, count = len(done), len(tasks)
        report = part(progress, before, count, before + count)
        if tasks:
            self._crew.gather(tasks, take, report)
        self.random = self.random or any(one.random for one in done.values())
        return [
            [done.get((i, j)) for j in range(len(order.plants))] for i, order in enumerate(orders)
        ]

    def believe(self, cards: Sequence[Order]) -> bool:
        """Forget the journal where it is of something else; return False where it was stopped.

        The files that scenarios name may have changed since: the first run of every known card is
        made anew, and must come out as it did, to the last digit.

        Raises:
            InputError: As for `judge`.
        """
        known = [card._replace(plants=card.plants[:1]) for card in cards]
        known = [card for card in known if self._known(card) is not None]
        tasks = [_Simulation(order=card, place=(i, 0)) for i, card in enumerate(known)]
        wrong: list[str] = []

        def take(k: int, value: Done | Lost) -> None:
            before = self._known(known[k])
            if not (isinstance(value, Done) and before is not None and agrees(value, before)):
                wrong.append(known[k].entry)

        going = self._crew.gather(tasks, take) if tasks else True
        if wrong:
            self._journal.forget()
        return going

    def _known(self, card: Order) -> Done | None:
        return self._journal.find(_key(card.plants[0], card))

    def _write(self, order: Order, plant: int, done: Done) -> None:
        about = {
            "entry": order.entry,
            "stage": order.stage,
            "gains": dict(order.gains),
            "plant": plant,
            "seed": order.plants[plant].scenario.seed,
        }
        self._journal.add(_key(order.plants[plant], order), done, about)

    def _trial(self, order: Order, outcomes: Sequence[Done | None]) -> Trial | None:
        runs = [done for done in outcomes if done is not None]
        if len(runs) < len(outcomes):
            return None
        judged = [
            self._objective.judge(done.completed, done.reached, done.metrics) for done in runs
        ]
        worth = self._plants.aggregated(judged)
        shown = next((done for done in runs if not done.completed), runs[0])
        return Trial(
            gains=dict(order.gains),
            derived=order.derived,
            cost=worth.cost,
            reached=worth.reached,
            status=shown.status,
            message=shown.message,
            stage=order.stage,
            violation=worth.violation,
            beyond=worth.beyond,
            each=tuple(one.cost for one in judged) if len(judged) > 1 else (),
        )


@dc.dataclass(frozen=True, kw_only=True)
class _Simulation:
    """One run of a candidate, as a task; None where the user has stopped it."""

    order: Order
    place: tuple[int, int]
    """Number of the candidate and of the plant."""

    def __str__(self) -> str:
        gains = ", ".join(f"{path} = {value:.6g}" for path, value in self.order.gains.items())
        return f"plant {self.place[1]} of '{self.order.entry}' with {gains or 'its own gains'}"

    def __call__(self, watch: Watch) -> Done | None:
        order = self.order
        if order.refused:
            return _failed(order.refused)
        plant = order.plants[self.place[1]].scenario
        try:
            scenario = plant.replace(order.changes)
        except InputError as error:  # these gains do not go together
            if machine_failed(error):
                raise
            return _failed(str(error))
        strict = order.stage == "card"
        run = Run(scenario=scenario, entry=order.entry, curves=False, timed=False, strict=strict)
        outcome: Outcome = run(watch)
        return None if outcome.stopped else Done.of(outcome, scenario.timing.duration)


def _failed(message: str) -> Done:
    return Done("infeasible", message, 0.0, False, {})


def _key(plant: Plant, order: Order) -> str:
    text = json.dumps([plant.key, sorted(order.changes.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
