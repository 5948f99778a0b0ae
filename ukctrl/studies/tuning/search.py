"""The search itself: the same for every controller, and repeatable from its seed."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any, final

from ukctrl.analysis.linear.design import GainDesigner, GainDesignError
from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS, ErrorSpec
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError, UkctrlError, unknown_name
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_store import SimulationJournal
from ukctrl.studies.batch.task import ProgressCallback, scaled_progress
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.sweep.point_scenarios import split_terms
from ukctrl.studies.tuning.candidate_evaluator import Candidate, CandidateEvaluator, KeyedPlant
from ukctrl.studies.tuning.cost import Objective, check_metrics
from ukctrl.studies.tuning.error_dynamics_ranges import error_dynamics_gains, loop_bandwidth
from ukctrl.studies.tuning.gain_search import METHODS, GainSearch, SearchStage, TuningTrial
from ukctrl.studies.tuning.gains import Gain, Range, gains_of, with_ranges
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.search_methods import run_method
from ukctrl.studies.tuning.search_space import AskTell, SearchSpace

MAX_SIMULATIONS = 1_000_000
"""A larger budget is a typing error."""
MAX_SEARCHES = 1000


@explain_argument_errors
@dc.dataclass(frozen=True, kw_only=True)
class Budget:
    """What every controller is granted, and for what."""

    simulations: int
    """Number of simulations for each. The card's gains are the first candidate."""
    cost: str = "rms_phi"
    """A metric or a weighted sum of metrics, as for [`Cost`][ukctrl.tuning.Cost]."""
    subject_to: tuple[str, ...] | str = ()
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
        count = self.simulations
        if count < 1:
            raise InputError(f"the budget must be at least 1 simulation; got {count}.")
        if count > MAX_SIMULATIONS:
            raise InputError(
                f"the budget must be at most {MAX_SIMULATIONS} simulations; got {count}."
            )
        if self.simulations < self.plants.count:
            raise InputError(
                f"the budget must suffice for one candidate, {self.plants.count} simulations on as "
                f"many plants; got {self.simulations}."
            )
        if not 1 <= self.searches <= MAX_SEARCHES:
            raise InputError(f"searches must be from 1 to {MAX_SEARCHES}; got {self.searches}.")
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        if isinstance(self.subject_to, str):
            object.__setattr__(self, "subject_to", (self.subject_to,))
        self.objective()

    def objective(self) -> Objective:
        """Return the cost and the constraints, read."""
        return Objective.parse(self.cost, self.subject_to)


def tune_all(
    scenarios: Mapping[str, Scenario],
    budget: Budget,
    *,
    journal: SimulationJournal | None = None,
    crew: TaskRunner | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, GainSearch]:
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
    chosen = _search_gains(scenarios, budget)
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
        _refuse_tuned_and_varied(_changed_paths(scenarios[name], gains), budget.plants)
    journal = SimulationJournal() if journal is None else journal  # an empty one is false
    evaluator = CandidateEvaluator(budget.objective(), budget.plants, journal, crew or TaskRunner())
    searches = [
        _ControllerSearch(name, scenario, chosen[name], budget, number)
        for name, scenario in scenarios.items()
        for number in range(budget.searches if chosen[name] else 1)
    ]
    try:
        if evaluator.verify_journal([search.card for search in searches]):
            _run_searches(searches, evaluator, budget.plants, progress)
    finally:
        for search in searches:
            search.end()
    tunings: dict[str, list[GainSearch]] = {}
    for search in searches:
        if search.trials:
            tunings.setdefault(search.name, []).append(search.tuning())
    return {name: _best_search(group) for name, group in tunings.items()}


def _search_gains(scenarios: Mapping[str, Scenario], budget: Budget) -> dict[str, tuple[Gain, ...]]:
    """Return what is searched over for every controller.

    Raises:
        InputError: A range is not acceptable.
    """
    card_gains = {name: gains_of(scenario) for name, scenario in scenarios.items()}
    chosen = with_ranges(card_gains, budget.over, scenarios, only=budget.only)
    for name, scenario in scenarios.items():
        if any(gain.path in ERROR_SPEC_FIELDS for gain in chosen[name]):
            values = {"bandwidth": loop_bandwidth(scenario)}
            chosen[name] = tuple(
                gain._replace(value=values.get(gain.path, gain.value)) for gain in chosen[name]
            )
        elif budget.in_terms and chosen[name] == card_gains[name]:
            chosen[name] = error_dynamics_gains(scenario) or chosen[name]
    return chosen


def _changed_paths(scenario: Scenario, gains: Sequence[Gain]) -> list[str]:
    """Return the paths that a search changes, also those that follow from terms.

    Raises:
        GainDesignError: A law's gains follow nowhere in the ranges of terms.
    """
    terms = [gain for gain in gains if gain.path in ERROR_SPEC_FIELDS]
    moved = [gain.path for gain in gains if gain.path not in ERROR_SPEC_FIELDS]
    refused: list[GainDesignError] = []
    for fraction in (0.5, 1.0, 0.0) if terms else ():
        try:
            spec = ErrorSpec(**{gain.path: gain.at(fraction) for gain in terms})
            return [*moved, *GainDesigner(scenario).by_formula(spec).gains]
        except GainDesignError as error:  # of a law on a surface, where there is little damping
            refused.append(error)
    if refused:
        raise refused[0]
    return moved


def _best_search(searches: Sequence[GainSearch]) -> GainSearch:
    """Return the best of the searches of one controller, with the others beside it."""
    first, *runners_up = sorted(searches, key=lambda search: search.best.rank)
    return dc.replace(first, others=tuple(runners_up))


def _run_searches(
    searches: Sequence[_ControllerSearch],
    evaluator: CandidateEvaluator,
    plants: Plants,
    progress: ProgressCallback | None,
) -> None:
    """Go round: all searches propose, what they propose is simulated together, and they go on."""
    total = float(sum(search.simulations for search in searches))
    done, waiting = 0.0, list(searches)
    while waiting:
        proposals = [(search, search.ask()) for search in waiting]
        waiting = [search for search, proposed in proposals if proposed]
        orders = [order for _, proposed in proposals for order in proposed]
        if not orders:
            return

        count = float(sum(len(order.plants) for order in orders))
        trials = evaluator.score(
            orders, scaled_progress(progress, done, min(count, total - done), total)
        )
        queue = iter(trials)
        for search, proposed in proposals:
            if proposed:
                search.tell([next(queue) for _ in proposed])
        if any(trial is None for trial in trials):  # stopped by the user
            return
        if done == 0.0 and not (plants.vary or plants.mismatch or evaluator.is_random):
            _refuse_identical_plants(plants)
        done += count


def _refuse_identical_plants(plants: Plants) -> None:
    """Refuse several plants where nothing differs between them."""
    for count, label, instead in (
        (plants.count, "plants", "tune on one plant"),
        (plants.held_out, "held-out plants", "hold none out"),
    ):
        if count > (label == "plants"):
            raise InputError(
                f"the {count} {label} are all the same: nothing in the scenario is random. "
                f"Give a mismatch or something to vary, or {instead}."
            )


def _refuse_tuned_and_varied(moved: Sequence[str], plants: Plants) -> None:
    """Refuse to tune what differs from plant to plant."""
    for factor in plants.vary:
        for path in moved:
            if f"{path}.".startswith(f"{factor.path}."):
                raise InputError(
                    f"'{path}' is tuned, and cannot differ from plant to plant; leave it out "
                    "of what varies (--vary), or give ranges to other gains alone (--over)."
                )


def make_candidate(
    name: str,
    gains: Mapping[str, float],
    stage: SearchStage,
    plants: Sequence[KeyedPlant],
    designer: GainDesigner,
) -> Candidate:
    """Return a candidate to simulate, its gains worked out where they follow from terms."""
    terms, plain = split_terms(gains)
    derived: dict[str, Any] | None = plain if terms else None
    refused = ""
    if terms and stage != "card":  # whose gains need not follow from any terms
        try:
            derived = {**designer.by_formula(ErrorSpec(**terms)).gains, **plain}
        except (UkctrlError, ArithmeticError) as error:
            if is_machine_failure(error):
                raise
            derived, refused = None, str(error)
    return Candidate(name, gains, stage, plants, derived, refused)


@final
class _ControllerSearch:
    """The search for the gains of one controller."""

    def __init__(
        self, name: str, scenario: Scenario, gains: tuple[Gain, ...], budget: Budget, number: int
    ) -> None:
        self.name = name
        self._gains, self._budget = gains, budget
        self._designer = GainDesigner(scenario)
        self._plants = tuple(map(KeyedPlant.of, budget.plants.training(scenario, number)))
        candidates = budget.simulations // len(self._plants) if gains else 1
        self.simulations = candidates * len(self._plants)
        self._seed = self._plants[0].scenario.seed
        self._partial: list[TuningTrial] = []
        self._ask_tell = AskTell(self._run)
        self._space = SearchSpace(gains, candidates, self._seed, self._ask_tell.evaluate)
        self._ask_tell.start()

    def _run(self) -> None:
        run_method(self._space, self._budget.method)

    @property
    def card(self) -> Candidate:
        """The card's gains."""
        return self._order({gain.path: gain.value for gain in self._gains}, "card")

    def _order(self, gains: Mapping[str, float], stage: SearchStage) -> Candidate:
        return make_candidate(self.name, gains, stage, self._plants, self._designer)

    def ask(self) -> list[Candidate]:
        """Return the next candidates; none where the budget is spent."""
        proposal = self._ask_tell.next_candidates()
        return [self._order(gains, proposal.stage) for gains in proposal.gains] if proposal else []

    def tell(self, trials: Sequence[TuningTrial | None]) -> None:
        """Take what came of the candidates, and go on where that is all of them."""
        whole = [trial for trial in trials if trial is not None]
        if len(whole) == len(trials):
            self._ask_tell.send_trials(whole)
        else:
            self._partial = whole

    @property
    def trials(self) -> tuple[TuningTrial, ...]:
        """What was tried, the card first; nothing where that was not."""
        trials = (*self._space.trials, *self._partial)
        return trials if trials and trials[0].stage == "card" else ()

    def end(self) -> None:
        """End it, wherever it is."""
        self._ask_tell.end()

    def tuning(self) -> GainSearch:
        """Return the search, as far as it went."""
        plants = self._budget.plants
        return GainSearch(
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
