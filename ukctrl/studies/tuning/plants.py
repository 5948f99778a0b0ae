"""The plants that a candidate is simulated on: one, or some around it that nobody knows exactly."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.effects import Mismatch
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.mismatch_level import MismatchLevel
from ukctrl.studies.batch.run_summary import held_out_seed, training_seed
from ukctrl.studies.sweep import Factor
from ukctrl.studies.sweep.sampling_plan import sobol_points
from ukctrl.studies.tuning.cost import RunScore

EFFECT_NAME = "robustness"
"""The name of the effect, by which its random numbers go; a scenario's own effects keep theirs."""
Aggregate = Literal["average", "worst"]
MAX_PLANTS = 10_000
"""More plants than this are a typing error."""


@explain_argument_errors
@dc.dataclass(frozen=True, kw_only=True)
class Plants:
    """On what a candidate is simulated, and what is made of the costs.

    Every plant has a seed of its own, of noise, of the start's spread and of the mismatch, and the
    values of what is varied. They are the same for every candidate and every controller.
    """

    count: int = 1
    """How many plants a candidate is tuned on; 1 without ``mismatch`` or ``vary``: the scenario's
    own, with the training seed."""
    mismatch: MismatchLevel = 0.0
    """By which fraction the parameters of the true robots are off at most, or the folder of an
    identified robot, from which they are drawn."""
    vary: tuple[Factor, ...] = ()
    """What else differs from plant to plant."""
    aggregate: Aggregate = "average"
    """What the cost of a candidate is: the average over the plants, or that of the worst."""
    held_out: int = 0
    """How many plants the card and the tuned gains are judged on that were not tuned on."""

    def __post_init__(self) -> None:
        for name, value, lower in (("plants", self.count, 1), ("held-out", self.held_out, 0)):
            if not lower <= value <= MAX_PLANTS:
                raise InputError(f"{name} must be from {lower} to {MAX_PLANTS}; got {value}.")
        level = self.mismatch
        if not (isinstance(level, str) or (math.isfinite(level) and 0.0 <= level < 1.0)):
            raise InputError(
                f"mismatch must be a fraction from 0 to below 1, such as 0.1; got {level:g}."
            )
        if self.aggregate not in get_args(Aggregate):
            raise unknown_name("aggregate", self.aggregate, get_args(Aggregate))

    def training(self, scenario: Scenario, search: int = 0) -> list[Scenario]:
        """Return the plants that candidates of a search are tuned on; no other search has them.

        Raises:
            InputError: The robot has nothing that could be off, or a value does not fit.
        """
        first = search * self.count
        seeds = [training_seed(scenario.seed, first + k) for k in range(self.count)]
        if self.count == 1:  # the nominal plant: what is held out may differ from it
            return [scenario.replace({"seed": seeds[0]})]
        return self._make_plants(scenario, seeds, self.values(scenario.seed, search))

    def validation(self, scenario: Scenario) -> list[Scenario]:
        """Return the plants that were held out.

        Raises:
            InputError: As for `training`.
        """
        seeds = [held_out_seed(scenario.seed, k) for k in range(self.held_out)]
        return self._make_plants(
            scenario, seeds, validation_values(self.vary, scenario.seed, self.held_out)
        )

    def _make_plants(
        self, scenario: Scenario, seeds: Sequence[int], drawn: Sequence[Mapping[str, object]]
    ) -> list[Scenario]:
        if not seeds:
            return []
        level = self.mismatch
        effect = mismatch_effects(scenario, [level])[level] if level else None
        plants = []
        for seed, values in zip(seeds, drawn, strict=True):
            plant = scenario.replace({**values, "seed": seed})
            plants.append(plant if effect is None else with_mismatch(plant, effect))
        return plants

    def values(self, seed: int, search: int) -> list[dict[str, object]]:
        """Return what each plant of a search has of the varied values."""
        return _sobol_values(self.vary, self.count, [seed, 0, search] if search else [seed, 0])

    def aggregated(self, judged: Sequence[RunScore]) -> RunScore:
        """Return what a candidate is worth, of what it is worth on each plant.

        The violation is zero only where it is so on every plant, and a candidate that fails on one
        has failed.
        """
        total, reduction = (max, min) if self.aggregate == "worst" else (_mean, _mean)
        whole = all(math.isfinite(one.cost) for one in judged)
        return RunScore(
            cost=total([one.cost for one in judged]),
            violation=total([one.violation for one in judged]),
            fraction_reached=reduction([one.fraction_reached for one in judged]),
            violations=tuple(map(total, zip(*(one.violations for one in judged), strict=True)))
            if whole
            else (),
        )

    def to_dict(self) -> dict[str, object]:
        """Return them as JSON-able data."""
        vary = [factor.to_dict() for factor in self.vary]
        table = {"plants": self.count, "mismatch": self.mismatch, "vary": vary}
        return {**table, "aggregate": self.aggregate, "held_out": self.held_out}


def validation_values(vary: Sequence[Factor], seed: int, count: int) -> list[dict[str, object]]:
    """Return what each plant has of the varied values that gains are judged on, and none tuned."""
    return _sobol_values(vary, count, [seed, 1])


def _sobol_values(
    vary: Sequence[Factor], count: int, stream: Sequence[int]
) -> list[dict[str, object]]:
    """Return values spread evenly by a Sobol sequence, of that stream of random numbers."""
    if not vary or not count:
        return [{}] * count
    return [
        {one.path: one.spread.quantile(float(x)) for one, x in zip(vary, row, strict=True)}
        for row in sobol_points(len(vary), count, stream)
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mismatch_effects(
    scenario: Scenario, levels: Sequence[MismatchLevel]
) -> dict[MismatchLevel, Mismatch]:
    """Return the effect for each level: masses and inertias are off by up to that fraction.

    A robot of formulas has no bodies; its parameters are off instead. Of the folder of an
    identified robot the true one is drawn from what the fit does not know.

    Raises:
        InputError: The robot has neither, or the folder has no fit of it.
    """
    if not levels:
        return {}
    robot = true_robot(scenario.robot)
    effects = {
        level: Mismatch(name=EFFECT_NAME, identified=Path(level))
        if isinstance(level, str)
        else Mismatch(name=EFFECT_NAME, parameters=level)
        if robot.parameters
        else Mismatch(name=EFFECT_NAME, mass=level, inertia=level)
        for level in levels
    }
    for effect in effects.values():
        effect.altered(robot, scenario.start.t, np.random.default_rng(scenario.seed))
    return effects


def with_mismatch(scenario: Scenario, effect: Mismatch) -> Scenario:
    """Return the scenario with a true robot that is off; what is believed stays."""
    return scenario.replace({"effect": (effect, *scenario.effect)})
