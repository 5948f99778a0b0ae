"""The search itself: the same for every controller, and repeatable from its seed."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any, final

from ukctrl.analysis.linear.design import Designer, NoDesign
from ukctrl.control.terms import TERMS, Terms
from ukctrl.core.errors import InputError, UkctrlError, unknown_name
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.task import Progress, part
from ukctrl.studies.tuning.cost import Objective, check_metrics
from ukctrl.studies.tuning.evaluate import Bench, Order, Plant
from ukctrl.studies.tuning.gains import Gain, Range, gains_of, with_ranges
from ukctrl.studies.tuning.methods import run_method
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.search_space import Explored, Turned
from ukctrl.studies.tuning.term_ranges import own_bandwidth, term_gains
from ukctrl.studies.tuning.tuning_journal import Journal
from ukctrl.studies.tuning.tuning_record import METHODS, Stage, Trial, Tuning

MOST_SIMULATIONS = 1_000_000
"""A larger budget is a typing error."""
MOST_SEARCHES = 1000


@dc.dataclass(frozen=True, kw_only=True)
class Budget:
    """What every controller is granted, and for what."""

    simulations: int
    """Number of simulations for each. The card's gains are the first candidate."""
    cost: str = "rms_phi"
    """A metric or a weighted sum of metrics, as for [`Cost`][ukctrl.tuning.Cost]."""
    subject_to: tuple[str, ...] = ()
    """Constraints on metrics, as for [`Limit`][ukctrl.tuning.Limit]: ``peak_u <= 40``,
    ``worst_margin.wall >= 0``."""
    over: Mapping[str, Range] = dc.field(default_factory=dict)
    """Ranges of gains by path, which are kept to; absent: of bandwidth and damping, where a law has
    a design in these terms, else a decade to both sides of the card's gains. These go on by up to
    four decades where the best lies at an end."""
    in_terms: bool = True
    """Whether gains without a range follow from bandwidth and damping, where a law has a design."""
    only: bool = False
    """Whether gains without a range in ``over`` stay as they are."""
    method: str = "simplex"
    """How to search: a name of [`METHODS`][ukctrl.tuning.METHODS]."""
    plants: Plants = dc.field(default_factory=Plants)
    """On what each candidate is simulated."""
    searches: int = 1
    """How many independent searches there are, each with all of the simulations, on plants and
    from points of its own: how much they differ is the luck of tuning."""

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise InputError(f"the budget must be at least 1 simulation; got {self.simulations}.")
        if self.simulations > MOST_SIMULATIONS:
            raise InputError(
                f"the budget must be at most {MOST_SIMULATIONS} simulations; "
                f"got {self.simulations}."
            )
        if self.simulations < self.plants.count:
            raise InputError(
                f"the budget must suffice for one candidate, {self.plants.count} simulations on as "
                f"many plants; got {self.simulations}."
            )
        if not 1 <= self.searches <= MOST_SEARCHES:
            raise InputError(f"searches must be from 1 to {MOST_SEARCHES}; got {self.searches}.")
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        self.objective()

    def objective(self) -> Objective:
        """Return the cost and the constraints, read."""
        return Objective.parse(self.cost, self.subject_to)


def tune_all(
    scenarios: Mapping[str, Scenario],
    budget: Budget,
    *,
    journal: Journal | None = None,
    crew: Crew | None = None,
    progress: Progress | None = None,
) -> dict[str, Tuning]:
    """Search for the gains of every controller, with the same number of simulations for each.

    Args:
        scenarios: By name; each is run with seeds made of its own.
        budget: How many simulations each is granted, for which cost, over which ranges.
        journal: What was simulated before, which is not simulated again, and where what is
            simulated now is written down; absent: nothing.
        crew: Who computes them; absent: this process.
        progress: Called with how many simulations are done and how many there are.

    Returns:
        What was found, by name; less than the budget where the user has stopped it, and nothing of
        a controller whose card was not simulated.

    Raises:
        InputError: A range is not acceptable, a scenario does not fit its robot or has not what a
            metric is of, the plants of an ensemble are all the same, or what is tuned is varied.
    """
    chosen = _chosen(scenarios, budget)
    if budget.method == "cma":
        for name, gains in chosen.items():
            if len(gains) == 1:
                raise InputError(
                    f"method 'cma' needs two gains or more; '{name}' has {gains[0].path} alone. "
                    "Use 'simplex' or 'evolution'."
                )
    for scenario in scenarios.values():
        check_metrics(scenario, budget.objective().metrics)
    for name, gains in chosen.items():
        _refuse_both(_moved(scenarios[name], gains), budget.plants)
    journal = Journal() if journal is None else journal  # an empty one is false
    bench = Bench(budget.objective(), budget.plants, journal, crew or Crew())
    searches = [
        _Search(name, scenario, chosen[name], budget, number)
        for name, scenario in scenarios.items()
        for number in range(budget.searches if chosen[name] else 1)
    ]
    try:
        if bench.believe([search.card for search in searches]):
            _explore(searches, bench, budget.plants, progress)
    finally:
        for search in searches:
            search.end()
    found: dict[str, list[Tuning]] = {}
    for search in searches:
        if search.trials:
            found.setdefault(search.name, []).append(search.tuning())
    return {name: _together(every) for name, every in found.items()}


def _chosen(scenarios: Mapping[str, Scenario], budget: Budget) -> dict[str, tuple[Gain, ...]]:
    """Return what is searched over for every controller.

    Raises:
        InputError: A range is not acceptable.
    """
    every = {name: gains_of(scenario) for name, scenario in scenarios.items()}
    chosen = with_ranges(every, budget.over, scenarios, only=budget.only)
    for name, scenario in scenarios.items():
        if any(gain.path in TERMS for gain in chosen[name]):
            own = own_bandwidth(scenario)
            chosen[name] = tuple(
                gain._replace(value=own) if gain.path == "bandwidth" else gain
                for gain in chosen[name]
            )
        elif budget.in_terms and chosen[name] == every[name]:
            chosen[name] = term_gains(scenario) or chosen[name]
    return chosen


def _moved(scenario: Scenario, gains: Sequence[Gain]) -> list[str]:
    """Return the paths that a search changes, also those that follow from terms.

    Raises:
        NoDesign: A law's gains follow nowhere in the ranges of terms.
    """
    terms = [gain for gain in gains if gain.path in TERMS]
    moved = [gain.path for gain in gains if gain.path not in TERMS]
    refused: list[NoDesign] = []
    for place in (0.5, 1.0, 0.0) if terms else ():
        try:
            asked = Terms(**{gain.path: gain.at(place) for gain in terms})
            return [*moved, *Designer(scenario).nearly(asked).gains]
        except NoDesign as error:  # of a law on a surface, where there is little damping
            refused.append(error)
    if refused:
        raise refused[0]
    return moved


def _together(searches: Sequence[Tuning]) -> Tuning:
    """Return the best of the searches of one controller, with the others beside it."""
    first, *rest = sorted(searches, key=lambda search: search.best.rank)
    return dc.replace(first, others=tuple(rest))


def _explore(
    searches: Sequence[_Search], bench: Bench, plants: Plants, progress: Progress | None
) -> None:
    """Go round: all searches propose, what they propose is simulated together, and they go on."""
    total = float(sum(search.simulations for search in searches))
    done, waiting = 0.0, list(searches)
    while waiting:
        asked = [(search, search.propose()) for search in waiting]
        waiting = [search for search, proposed in asked if proposed]
        orders = [order for _, proposed in asked for order in proposed]
        if not orders:
            return

        count = float(sum(len(order.plants) for order in orders))
        trials = bench.judge(orders, part(progress, done, min(count, total - done), total))
        left = iter(trials)
        for search, proposed in asked:
            if proposed:
                search.take([next(left) for _ in proposed])
        if any(trial is None for trial in trials):  # stopped by the user
            return
        if done == 0.0 and not (plants.vary or plants.mismatch or bench.random):
            _refuse_copies(plants)
        done += count


def _refuse_copies(plants: Plants) -> None:
    """Refuse several plants where nothing differs between them."""
    for count, what, instead in (
        (plants.count, "plants", "tune on one plant"),
        (plants.held_out, "held-out plants", "hold none out"),
    ):
        if count > (what == "plants"):
            raise InputError(
                f"the {count} {what} are all the same: nothing in the scenario is random. "
                f"Give a mismatch or something to vary, or {instead}."
            )


def _refuse_both(moved: Sequence[str], plants: Plants) -> None:
    """Refuse to tune what differs from plant to plant."""
    for factor in plants.vary:
        for path in moved:
            if f"{path}.".startswith(f"{factor.path}."):
                raise InputError(
                    f"'{path}' is tuned, and cannot differ from plant to plant; leave it out "
                    "of what varies (--vary), or give ranges to other gains alone (--over)."
                )


def order_of(
    name: str,
    gains: Mapping[str, float],
    stage: Stage,
    plants: Sequence[Plant],
    designer: Designer,
) -> Order:
    """Return a candidate to simulate, its gains worked out where they follow from terms."""
    asked = {path: value for path, value in gains.items() if path in TERMS}
    derived: dict[str, Any] | None = None
    refused = ""
    if asked:
        others = {path: value for path, value in gains.items() if path not in TERMS}
        try:
            own = stage == "card"  # whose gains need not follow from any terms
            derived = others if own else {**designer.nearly(Terms(**asked)).gains, **others}
        except (UkctrlError, ArithmeticError) as error:
            refused = str(error)
    return Order(name, gains, stage, plants, derived, refused)


@final
class _Search:
    """The search for the gains of one controller."""

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        gains: tuple[Gain, ...],
        budget: Budget,
        number: int = 0,
    ) -> None:
        self.name = name
        self._gains, self._budget = gains, budget
        self._designer = Designer(scenario)
        self._plants = tuple(Plant.of(plant) for plant in budget.plants.training(scenario, number))
        candidates = budget.simulations // len(self._plants) if gains else 1
        self.simulations = candidates * len(self._plants)
        self._seed = self._plants[0].scenario.seed
        self._partial: list[Trial] = []
        self._turned = Turned(self._run)
        self._space = Explored(gains, candidates, self._seed, self._turned.ask)
        self._turned.start()

    def _run(self) -> None:
        run_method(self._space, self._budget.method)

    @property
    def card(self) -> Order:
        """The card's gains."""
        return self._order({gain.path: gain.value for gain in self._gains}, "card")

    def _order(self, gains: Mapping[str, float], stage: Stage) -> Order:
        return order_of(self.name, gains, stage, self._plants, self._designer)

    def propose(self) -> list[Order]:
        """Return the next candidates; none where the budget is spent."""
        asked = self._turned.question()
        return [self._order(gains, asked.stage) for gains in asked.gains] if asked else []

    def take(self, trials: Sequence[Trial | None]) -> None:
        """Take what came of the candidates, and go on where that is all of them."""
        whole = [trial for trial in trials if trial is not None]
        if len(whole) == len(trials):
            self._turned.answer(whole)
        else:
            self._partial = whole

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What was tried, the card first; nothing where that was not."""
        trials = (*self._space.trials, *self._partial)
        return trials if trials and trials[0].stage == "card" else ()

    def end(self) -> None:
        """End it, wherever it is."""
        self._turned.end()

    def tuning(self) -> Tuning:
        """Return the search, as far as it went."""
        plants = self._budget.plants
        return Tuning(
            entry=self.name,
            gains=self._space.gains,
            cost=self._budget.cost.strip(),
            limits=tuple(limit.text for limit in self._budget.objective().limits),
            method=self._budget.method,
            budget=self._budget.simulations,
            plants=plants.count,
            aggregate=plants.aggregate,
            seed=self._seed,
            trials=self.trials,
        )
