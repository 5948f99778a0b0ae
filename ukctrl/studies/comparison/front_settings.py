"""The settings at which fronts are run: the same terms for all laws, or each law's own gains."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence

import numpy as np

from ukctrl.analysis.linear.design import GainDesigner, GainDesignError
from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS, ErrorSpec
from ukctrl.core.errors import InputError, UkctrlError, unknown_name
from ukctrl.simulation.result.metrics import unit_in
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.batch.task import ProgressCallback
from ukctrl.studies.comparison.pareto_front import FrontPoint, Fronts, LawFront
from ukctrl.studies.sweep.sampling_plan import sobol_points
from ukctrl.studies.tuning import Gain, gains_of, with_ranges
from ukctrl.studies.tuning.candidate_evaluator import Candidate, CandidateEvaluator, KeyedPlant
from ukctrl.studies.tuning.cost import Cost
from ukctrl.studies.tuning.gains import DECADE, Range
from ukctrl.studies.tuning.search import make_candidate

DEFAULT_DAMPING_RANGE = (0.7, 1.5)
"""Range of the damping where nobody says another."""
MAX_POINTS = 100_000
"""More points than this are a typing error."""


@dc.dataclass(frozen=True, kw_only=True)
class Front:
    """What fronts are asked for."""

    metrics: tuple[str, str]
    """What is to be small, and what that costs: ``("rms_phi.tool", "input_travel")``."""
    over: Mapping[str, Range] = dc.field(default_factory=dict)
    """Ranges of ``bandwidth`` and ``damping``; absent: from a tenth to ten times the bandwidths of
    the loops, at most once a period of the hold, and a damping from 0.7 to 1.5."""
    points: int = 32
    """How many settings of each law are run, on all repeats."""

    def __post_init__(self) -> None:
        if len(self.metrics) != 2 or self.metrics[0] == self.metrics[1]:
            raise InputError(f"front must be two metrics; got {', '.join(self.metrics)}.")
        for name in self.metrics:
            if len(Cost.parse(name, "front").weights) != 1 or name not in Cost.parse(name).weights:
                raise InputError(f"front must be of plain metrics, not of sums; got '{name}'.")
        if not 2 <= self.points <= MAX_POINTS:
            raise InputError(f"points must be from 2 to {MAX_POINTS}; got {self.points}.")
        strange = [path for path in self.over if path not in ERROR_SPEC_FIELDS]
        if strange:
            raise InputError(
                f"over '{strange[0]}': fronts are over the same terms for all laws, "
                f"{', '.join(ERROR_SPEC_FIELDS)}."
            )

    def ranges(self, slowest: Mapping[str, float], period: float | None) -> dict[str, Range]:
        """Return the ranges of the terms.

        Args:
            slowest: Bandwidths of the loops as they are, where they are known [rad/s].
            period: That of the hold [s]; None: there is none.

        Raises:
            InputError: No bandwidth is known, or the hold is too slow for any of them.
        """
        if any(name in self.over for name in ERROR_SPEC_FIELDS if name != "damping"):
            return {**self.over, "damping": self.over.get("damping", DEFAULT_DAMPING_RANGE)}
        if not slowest:
            raise InputError(
                "no loop's bandwidth is known, from which a range would follow; give one: "
                "--over bandwidth=LO:HI."
            )
        low, high = min(slowest.values()) / DECADE, max(slowest.values()) * DECADE
        high = min(high, 1.0 / period) if period else high
        if not low < high:
            raise InputError(
                f"the hold of {period:g} s is slow beside the loops; give a range of bandwidths: "
                "--over bandwidth=LO:HI."
            )
        return {"bandwidth": (low, high), "damping": DEFAULT_DAMPING_RANGE, **self.over}

    def orders(
        self, name: str, scenario: Scenario, over: Mapping[str, Range], plants: Sequence[KeyedPlant]
    ) -> list[Candidate]:
        """Return the settings of one law to run; those that it refuses say why."""
        designer = GainDesigner(scenario)
        gains = with_ranges({name: ()}, over, {name: scenario})[name]
        settings = _sobol_settings(gains, self.points, scenario.seed)
        if not _has_design(designer, settings):
            gains = gains_of(scenario)
            settings = _sobol_settings(gains, self.points, scenario.seed) if gains else [{}]
        return [make_candidate(name, setting, "front", plants, designer) for setting in settings]


def check_front_metrics(front: Front, runs: Sequence[RunSummary]) -> None:
    """Refuse a metric that none of the first runs has; where none began, its reason is told."""
    metrics = dict.fromkeys(name for run in runs for name in run.metrics)
    for name in front.metrics if metrics else ():
        if name not in metrics:
            raise unknown_name("metric (of the front)", name, metrics, limit=40)


def _has_design(designer: GainDesigner, settings: Sequence[Mapping[str, float]]) -> bool:
    """Tell whether a law's gains follow from any of these terms."""
    for setting in settings:
        try:
            designer.by_formula(ErrorSpec(**setting))
        except GainDesignError:
            continue  # a law on a surface has one only from a damping of 1 on
        except (UkctrlError, ArithmeticError):
            return True
        return True
    return False


def _sobol_settings(gains: Sequence[Gain], count: int, seed: int) -> list[dict[str, float]]:
    """Return settings that fill the ranges: even ones of one gain, a Sobol sequence of several."""
    points = np.linspace(0.0, 1.0, count)[:, None]
    if len(gains) > 1:
        points = sobol_points(len(gains), count, seed)
    return [{g.path: g.at(float(x)) for g, x in zip(gains, row, strict=True)} for row in points]


def run_fronts(
    front: Front,
    plants: Mapping[str, Sequence[Scenario]],
    slowest: Mapping[str, float],
    evaluator: CandidateEvaluator,
    labels: Labels,
    progress: ProgressCallback | None = None,
) -> Fronts:
    """Return the fronts of several laws; of settings that all repeats are done of.

    Args:
        front: What is asked for.
        plants: The scenario of every repeat, by the names of the laws.
        slowest: Bandwidths of the loops as they are, where they are known [rad/s].
        evaluator: Who simulates.
        labels: Of the results, for units.
        progress: Called with how many runs are done, and how many there are.

    Raises:
        InputError: No range follows, or a scenario does not fit.
        MachineFailure: The machine failed, twice, at some; the others are in the journal.
    """
    any_one = next(iter(plants.values()))[0]
    over = front.ranges(slowest, any_one.timing.control)
    orders: list[Candidate] = []
    for name, scenarios in plants.items():
        keyed_plants = [KeyedPlant.of(scenario) for scenario in scenarios]
        orders += front.orders(name, scenarios[0], over, keyed_plants)
    possible = [order for order in orders if not order.rejection]
    firsts = {order.controller: order for order in reversed(possible)}
    going = evaluator.verify_journal(list(firsts.values()))
    outcomes = iter(evaluator.run(possible, progress) if going else [])
    laws: dict[str, list[FrontPoint]] = {name: [] for name in plants}
    whole = going
    for order in orders:
        runs = [] if order.rejection else list(next(outcomes, [None]))
        done = [run for run in runs if run is not None]
        if len(done) == len(runs):
            laws[order.controller].append(
                FrontPoint.of(order.gains, done, order.rejection, front.metrics)
            )
        else:
            whole = False
    first, second = (unit_in(name, labels) for name in front.metrics)
    return Fronts(
        metrics=front.metrics,
        units=(first, second),
        over=over,
        laws={name: LawFront(tuple(points)) for name, points in laws.items()},
        whole=whole,
    )
