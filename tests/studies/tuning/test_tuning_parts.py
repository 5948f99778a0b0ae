"""The parts of a search for gains, each by itself: ranges, plants, budgets, costs, records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import qmc

from ukctrl.core.errors import InputError
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import held_out_seed, training_seed
from ukctrl.studies.sweep import Factor
from ukctrl.studies.tuning import Gain, Objective, Plants, TuningTrial, gains_of
from ukctrl.studies.tuning.cost import Limit, RunScore
from ukctrl.studies.tuning.gains import with_ranges
from ukctrl.studies.tuning.plants import mismatch_effects
from ukctrl.studies.tuning.search_space import BudgetSpent, SearchSpace, penalised_cost

ALPHA = "controller.feedback.alpha"
CARD = Scenario.load(
    "two-mass-spring",
    {"timing": {"duration": 0.5, "sample": 0.05}, "controller": {"use": "servo-baumgarte"}},
)


@pytest.mark.parametrize(
    ("gain", "places"),
    [
        (Gain("a", 1.0, 0.1, 10.0), {0.0: 0.1, 0.5: 1.0, 0.75: 3.162, 1.0: 10.0}),
        (Gain("a", 1.0, -4.0, 4.0, "uniform"), {0.0: -4.0, 0.5: 0.0, 0.75: 2.0, 1.0: 4.0}),
        (Gain("a", 1.0, 0.123456, 9.87654), {0.0: 0.1235, 1.0: 9.87654}),
    ],
)
def test_where_a_gain_lies_in_its_range(gain, places):
    for place, value in places.items():
        assert gain.at(place) == value  # four digits, and never beyond an end
        assert gain.place(value) == pytest.approx(place, abs=1e-4)
    assert gain.at(-3.0) == gain.at(0.0)
    assert gain.at(7.0) == gain.at(1.0)
    assert gain.place(gain.high * 1.1) > 1.0


def test_a_range_that_nobody_has_given_is_a_decade_to_both_sides():
    (gain,) = (one for one in gains_of(CARD) if one.path == ALPHA)
    assert (gain.low, gain.high) == (gain.value / 10.0, gain.value * 10.0)
    assert gain.scale == "log"


def ranged(over, scenario=CARD, **given):
    return with_ranges({"a": gains_of(scenario)}, over, {"a": scenario}, **given)["a"]


def test_ranges_reach_into_lists_and_make_gains_of_other_numbers():
    each = CARD.replace({"controller.feedback.alpha": [2.0, 3.0]})
    second = "controller.feedback.alpha.1"
    (gain,) = ranged({second: (1.0, 9.0)}, each, only=True)
    assert gain == Gain(second, 3.0, 1.0, 9.0, "log")
    beyond = {"controller.feedback.alpha.2": (1.0, 9.0)}
    with pytest.raises(InputError, match=r"no gain named 'controller.feedback.alpha.2'"):
        ranged(beyond, each)
    (step,) = ranged({"timing.sample": (0.01, 0.02, "uniform")}, only=True)
    assert step == Gain("timing.sample", 0.05, 0.01, 0.02, "uniform")
    both = ranged({"timing.sample": (0.01, 0.02)})
    assert {ALPHA, "timing.sample"} < {gain.path for gain in both}
    assert ranged({}, only=True) == gains_of(CARD)
    for ends in ((0.0, 5.0), (-1.0, 5.0), (2.0, 2.0), (1.0, math.inf)):
        with pytest.raises(InputError) as caught:
            ranged({ALPHA: ends})
        assert str(caught.value) == (
            f"over '{ALPHA}': the range must be positive and not empty, as 1:100, or as "
            f"uniform:0:100 where it starts at zero or below; got {ends[0]:g}:{ends[1]:g}."
        )
    with pytest.raises(InputError, match="no gain named 'title'"):
        ranged({"title": (1.0, 2.0)})


TWO = (Gain("a", 1.0, 0.1, 10.0), Gain("b", 2.0, 0.0, 4.0, "uniform"))


def space_of(candidates=5, gains=TWO):
    asked = []

    def attempt(chosen, stage):
        asked.append((stage, [dict(each) for each in chosen]))
        return [TuningTrial(dict(each), each["a"], 1.0, "completed", stage) for each in chosen]

    return SearchSpace(gains, candidates, 3, attempt), asked


def test_a_budget_counts_candidates_and_what_was_tried_is_not_tried_again():
    space, asked = space_of()
    space.try_card()
    one, other = {"a": 2.0, "b": 1.0}, {"b": 3.0, "a": 4.0}
    space.try_candidates([one, {"b": 1.0, "a": 2.0}], "sobol")  # the same, at the price of two
    assert asked == [("card", [{"a": 1.0, "b": 2.0}]), ("sobol", [one, {"b": 1.0, "a": 2.0}])]
    assert [trial.stage for trial in space.trials] == ["card", "sobol", "sobol"]
    space.try_candidates([one], "simplex")
    assert len(asked) == 2
    assert space.trials[-1].stage == "simplex"
    with pytest.raises(BudgetSpent):
        space.try_candidates([other, {"a": 5.0, "b": 0.0}], "simplex")
    assert asked[-1] == ("simplex", [other])  # there was budget for one alone
    assert len(space.trials) == 5
    assert space.best.gains == {"a": 1.0, "b": 2.0}


def test_heights_of_known_points_cost_nothing():
    space, asked = space_of()
    space.try_card()
    places = np.array([[0.5, 0.5], [0.75, 0.5], [0.75, 0.5]])
    np.testing.assert_allclose(space.penalised_costs(places, "cma"), [1.0, 3.162, 3.162])
    assert asked[1:] == [("cma", [{"a": 3.162, "b": 2.0}])]
    assert len(space.trials) == 2
    np.testing.assert_array_equal(space.penalised_costs(places, "cma"), [1.0, 3.162, 3.162])
    assert len(space.trials) == 2


def test_the_sequence_of_a_search_is_sobols_from_its_seed():
    space, _ = space_of(candidates=6)
    points = qmc.Sobol(2, rng=np.random.default_rng(3)).random_base2(3)
    expected = [space.gains_at(place) for place in points]
    assert space.sobol(1, 6) == expected[:6]
    assert space.sobol(3, 4) == expected[2:4]
    assert space.sobol(4, 3) == []
    longer = qmc.Sobol(2, rng=np.random.default_rng(3)).random_base2(4)
    assert space.sobol(9, 9) == [space.gains_at(longer[8])]
    np.testing.assert_allclose(space.unit_point({"a": 100.0, "b": 1.0}), [1.0, 0.25])


def test_heights_order_trials_as_their_ranks_do():
    def trial(cost, violation=0.0, reached=1.0):
        return TuningTrial({}, cost, reached, "completed", "sobol", violation)

    order = [
        trial(0.5), trial(1e80), trial(0.1, 0.25), trial(0.0, 0.5), trial(0.0, 1e12),
        trial(math.inf, math.inf, 0.75), trial(math.inf, math.inf, 0.25), trial(math.inf, 0.0, 0.0),
    ]  # fmt: skip
    heights = [penalised_cost(each) for each in order]
    assert heights == sorted(heights)
    assert len(set(heights)) == len(heights)
    assert penalised_cost(order[0]) == 0.5
    assert penalised_cost(order[2]) == pytest.approx(1.25e90)
    assert [penalised_cost(each) for each in order[-3:]] == pytest.approx(
        [1.25e100, 1.75e100, 2e100]
    )


def test_what_a_candidate_is_worth_over_plants():
    judged = [
        RunScore(1.0, 0.5, 1.0, (0.5, 0.0)), RunScore(2.0, 0.25, 1.0, (0.0, 0.25)),
        RunScore(6.0, 0.0, 1.0, (0.0, 0.0)),
    ]  # fmt: skip
    average = Plants(count=3).aggregated(judged)
    assert average == RunScore(3.0, 0.25, 1.0, (0.5 / 3.0, 0.25 / 3.0))
    worst = Plants(count=3, aggregate="worst")
    assert worst.aggregated(judged) == RunScore(6.0, 0.5, 1.0, (0.5, 0.25))
    failed = [*judged[:2], RunScore(math.inf, math.inf, 0.25)]
    assert worst.aggregated(failed) == RunScore(math.inf, math.inf, 0.25)
    assert Plants(count=3).aggregated(failed) == RunScore(math.inf, math.inf, 0.75)


def test_plants_have_seeds_of_their_own_and_values_spread_by_sobol():
    vary = (Factor.parse("timing.control=0.01:0.02"), Factor.parse("integrator.step=0.001:0.002"))
    base = CARD.replace({"integrator": {"method": "RK4", "step": 0.01}})
    plants = Plants(count=3, vary=vary, held_out=2)
    training, validation = plants.training(base), plants.validation(base)
    assert [one.seed for one in training] == [training_seed(base.seed, k) for k in range(3)]
    assert [one.seed for one in validation] == [held_out_seed(base.seed, k) for k in range(2)]
    for made, purpose, size in ((training, 0, 2), (validation, 1, 1)):
        rng = np.random.default_rng([base.seed, purpose])
        points = qmc.Sobol(2, rng=rng).random_base2(size)
        got = [(one.timing.control, one.integrator.step) for one in made]
        expected = [(0.01 + 0.01 * x, 0.001 + 0.001 * y) for x, y in points[: len(made)]]
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    (alone,) = Plants(vary=vary, mismatch=0.5).training(base)
    assert alone == base.replace({"seed": training_seed(base.seed, 0)})
    assert Plants().validation(base) == []
    (off,) = Plants(held_out=1, mismatch=0.25).validation(base)
    (effect,) = off.effect
    assert (effect.name, effect.parameters) == ("robustness", 0.25)  # a robot of formulas
    bodies = mismatch_effects(Scenario.load("scara-helix"), [0.25, 0.5])
    assert {level: (one.mass, one.inertia, one.parameters) for level, one in bodies.items()} == {
        0.25: (0.25, 0.25, 0.0), 0.5: (0.5, 0.5, 0.0),
    }  # fmt: skip
    assert mismatch_effects(CARD, []) == {}
    assert plants.to_dict() == {
        "plants": 3, "mismatch": 0.0, "vary": [one.to_dict() for one in vary],
        "aggregate": "average", "held_out": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "value", "excess"),
    [("4", 3.0, 0.0), ("4", 4.0, 0.0), ("4", 5.0, 0.25), ("0", 0.5, 0.5), ("4", math.nan, 1e6),
     ("4", math.inf, 1e6), ("1e-9", 1.0, 1e6)],
)  # fmt: skip
def test_how_far_a_run_is_beyond_a_bound(bound, value, excess):
    assert Limit.parse(f"peak_u <= {bound}").excess({"peak_u": value}) == excess


def test_a_run_is_judged_by_cost_and_every_bound():
    objective = Objective.parse("rms_phi + 0.5*peak_u", ["peak_u <= 2", "work <= 1"])
    values = {"rms_phi": 1.0, "peak_u": 3.0, "work": 0.5}
    assert objective.judge(True, 1.0, values) == RunScore(2.5, 0.5, 1.0, (0.5, 0.0))
    assert objective.judge(False, 0.25, values) == RunScore(math.inf, math.inf, 0.25)
    lacking = objective.judge(True, 1.0, values | {"rms_phi": math.nan})
    assert lacking == RunScore(math.inf, math.inf, 1.0)
