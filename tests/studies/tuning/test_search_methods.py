"""The three ways of searching, on functions and on a run whose best gain is known."""

from __future__ import annotations

import dataclasses as dc
import itertools
import math

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.control.error_dynamics_spec import MAX_DAMPING, MIN_DAMPING
from ukctrl.core.errors import InputError
from ukctrl.studies.tuning import (
    METHODS,
    Budget,
    Gain,
    Limit,
    Objective,
    Plants,
    TuningTrial,
    tune_all,
)
from ukctrl.studies.tuning.error_dynamics_ranges import error_dynamics_gains
from ukctrl.studies.tuning.search_methods import run_method
from ukctrl.studies.tuning.search_space import BudgetSpent, SearchSpace, penalised_cost

GAINS = (Gain("a", 1.0, 0.1, 10.0), Gain("b", 5.0, -10.0, 10.0, "uniform"))
FOUND = {"rtol": 0.0, "atol": 0.05}  # of a range, by 200 candidates


def explored(judge, method, *, candidates=200, seed=3, gains=GAINS):
    """Search with a function instead of simulations."""

    def attempt(chosen, stage):
        return [judge(dict(each))._replace(gains=dict(each), stage=stage) for each in chosen]

    space = SearchSpace(gains, candidates, seed, attempt)
    with pytest.raises(BudgetSpent):
        run_method(space, method)
    return space


def bowl(gains):
    """A valley that is narrow, oblique, and lowest at a = 2, b = -3."""
    x, y = math.log(gains["a"] / 2.0), (gains.get("b", 5.0) + 3.0) / 5.0
    return TuningTrial({}, 1.0 + (x + y) ** 2 + 10.0 * (x - y) ** 2, 1.0, "completed", "card")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_bottom_of_a_valley(method):
    space = explored(bowl, method)
    assert len(space.trials) == 200
    assert space.trials[0].gains == {"a": 1.0, "b": 5.0}
    np.testing.assert_allclose(
        space.unit_point(space.best.gains), space.unit_point({"a": 2.0, "b": -3.0}), **FOUND
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_to_the_ranges_and_its_budget_and_repeats_itself(method):
    def slope(gains):
        return TuningTrial({}, 20.0 - gains["a"] + gains["b"], 1.0, "completed", "card")

    space = explored(slope, method, candidates=117)
    assert len(space.trials) == 117
    for trial in space.trials:
        assert all(gain.low <= trial.gains[gain.path] <= gain.high for gain in GAINS)
    assert space.best.gains["a"] > 8.0
    assert space.best.gains["b"] < -8.0
    assert explored(slope, method, candidates=117).trials == space.trials
    assert explored(slope, method, candidates=117, seed=4).trials != space.trials


@pytest.mark.parametrize(
    ("candidates", "gains", "count"), [(40, 1, 5), (80, 1, 8), (400, 1, 10), (400, 2, 20)]
)
def test_a_population_is_a_tenth_of_the_budget_but_neither_too_small_nor_too_large(
    candidates, gains, count, monkeypatch
):
    populations = []

    def evolve(height, bounds, init, **given):
        populations.append(init)
        raise BudgetSpent

    monkeypatch.setattr("scipy.optimize.differential_evolution", evolve)
    space = explored(bowl, "evolution", candidates=candidates, gains=GAINS[:gains])
    assert [len(population) for population in populations] == [count]
    np.testing.assert_allclose(populations[0][0], space.unit_point(space.best.gains))


@pytest.mark.parametrize("method", METHODS)
def test_a_flat_cost_and_one_that_always_fails_spend_their_budget_all_the_same(method):
    for judged in (
        TuningTrial({}, 1.0, 1.0, "completed", "card"),
        TuningTrial({}, math.inf, 0.3, "diverged", "card", math.inf),
    ):
        space = explored(lambda gains, trial=judged: trial, method, candidates=80)
        assert len(space.trials) == 80


@pytest.mark.parametrize("method", METHODS)
def test_a_constraint_is_met_first_and_the_cost_is_lowest_on_its_border(method):
    # Without the constraint the best is a = 2, b = -3; with b >= 1 it lies on b = 1.
    def judge(gains):
        trial = bowl(gains)
        return trial._replace(violation=max(0.0, 1.0 - gains["b"]))

    best = explored(judge, method, candidates=300).best
    assert best.feasible
    grid = np.geomspace(0.1, 10.0, 2001)
    least = min(bowl({"a": a, "b": 1.0}).cost for a in grid)
    assert 1.0 <= best.gains["b"] < 1.7
    assert best.cost < 1.2 * least


def test_failed_runs_are_led_to_where_they_get_further():
    def judge(gains):
        far = gains["a"] / 10.0
        if far < 0.6:
            return TuningTrial({}, math.inf, far, "diverged", "card", math.inf)
        return TuningTrial({}, 2.0 - far, 1.0, "completed", "card")

    assert explored(judge, "simplex", candidates=40).best.gains["a"] > 9.0


def test_cma_es_leaves_numpys_global_generator_alone():
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    explored(bowl, "cma", candidates=40)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_feasible_comes_before_infeasible_before_failed_whatever_the_cost():
    def trial(cost, violation, reached):
        return TuningTrial({}, cost, reached, "", "card", violation)

    ordered = [
        trial(1.0, 0.0, 1.0),
        trial(1e12, 0.0, 1.0),
        trial(0.1, 0.01, 1.0),
        trial(0.0, 3.0, 1.0),
        trial(0.0, 1e6, 1.0),
        trial(math.inf, math.inf, 0.9),
        trial(math.inf, math.inf, 0.1),
    ]
    for one, other in itertools.pairwise(ordered):
        assert one.rank < other.rank
        assert penalised_cost(one) < penalised_cost(other)


def test_a_constraint_tells_by_how_much_of_its_bound_it_is_broken():
    objective = Objective.parse("rms_phi", ["peak_u <= 40", "settling_time < 0.5"])
    kept = objective.judge(True, 1.0, {"rms_phi": 0.1, "peak_u": 40.0, "settling_time": 0.2})
    assert kept == (0.1, 0.0, 1.0, (0.0, 0.0))
    values = {"rms_phi": 0.1, "peak_u": 50.0, "settling_time": math.nan}
    broken = objective.judge(True, 1.0, values)
    assert broken.violations == (0.25, 1e6)  # a run that never settles has no settling time
    assert objective.judge(False, 0.4, {}) == (math.inf, math.inf, 0.4, ())
    total = Limit.parse("rms_phi.tool + 0.1*rms_phi.tilt <= 2e-3")
    assert total.left.weights == {"rms_phi.tool": 1.0, "rms_phi.tilt": 0.1}
    assert Limit.parse("saturated_fraction <= 0").excess({"saturated_fraction": 0.2}) == 0.2


@pytest.mark.parametrize(
    ("text", "margin", "excess", "said"),
    [
        ("worst_margin.wall >= 0", 0.2, 0.0, "0"),
        ("worst_margin.wall >= 0", -0.5e-6, 0.0, "0"),  # as little is rounding in verdicts too
        ("worst_margin.wall > 0", -0.2, 0.2, "0.2"),
        ("worst_margin.wall >= 0.5", 0.25, 0.5, "50 %"),
        ("worst_margin.wall >= -0.5", -0.75, 0.5, "50 %"),
        ("worst_margin.wall >= -0.5", math.nan, 1e6, "1×10⁸ %"),
    ],
)
def test_a_margin_is_bounded_from_below(text, margin, excess, said):
    limit = Limit.parse(text)
    assert limit.excess({"worst_margin.wall": margin}) == excess
    assert limit.amount(excess) == said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *(
            (
                text,
                "a constraint must be METRIC <= NUMBER, or METRIC >= NUMBER where more is better; "
                f"got '{text}'.",
            )
            for text in ("peak_u", "0 <= peak_u <= 4")
        ),
        (
            "peak_u >= 4",
            "constraint 'peak_u': less of 'peak_u' is better; bound it by a constraint, "
            "'peak_u <= NUMBER'.",
        ),
        (
            "worst_margin.wall <= 4",
            "constraint 'worst_margin.wall': more of 'worst_margin.wall' is better; bound it by a "
            "constraint, 'worst_margin.wall >= 0'.",
        ),
        *(
            (
                f"worst_margin >= {bound}",
                f"constraint 'worst_margin >= {bound}': the bound must be a number; got '{bound}'.",
            )
            for bound in ("high", "nan", "-inf")
        ),
        *(
            (
                f"peak_u <= {bound}",
                f"constraint 'peak_u <= {bound}': the bound must be a number, zero or above; got "
                f"'{bound}'.",
            )
            for bound in ("high", "-1")
        ),
        ("peek_u <= 1", "no metric named 'peek_u'; did you mean 'peak_u'? Known: "),
        (
            "mean_tick_us <= 1",
            "constraint 'mean_tick_us': metric 'mean_tick_us' is wall time, for which no gain is "
            "tuned.",
        ),
    ],
)
def test_other_constraints_are_refused(text, says):
    with pytest.raises(InputError) as refused:
        Budget(simulations=5, subject_to=(text,))
    assert str(refused.value).startswith(says)
    assert str(refused.value) == says or says.endswith("Known: ")


@pytest.fixture(name="regulator", scope="module")
def _regulator():
    """Joints that return from an offset: the error obeys phi'' + alpha phi' + 25 phi = 0."""
    return Scenario.load(
        "scara-helix",
        {
            "servo": [
                {"kind": "expression", "phi": f"q{k} - {place}"}
                for k, place in ((1, 0.6), (2, -0.9), (3, 0.5), (4, 0.02))
            ],
            "start": {"q": {"q1": 0.5, "q2": -1.0, "q3": 0.4, "q4": 0.0}},
            "controller": {"use": "servo-baumgarte", "feedback": {"alpha": 30.0, "beta": 25.0}},
            "timing": {"duration": 3.0, "sample": 0.02},
            "integrator": {"method": "RK4", "step": 0.02},
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "simulations"),
    [("simplex", 30), pytest.param("evolution", 60, marks=pytest.mark.slow)],
)
def test_the_best_damping_of_an_error_is_that_of_the_closed_form(regulator, method, simulations):
    # The integral of phi^2 is (zeta + 1/(4 zeta)) phi_0^2 / omega, least at zeta = 1/2.
    over = {"controller.feedback.alpha": (0.5, 50.0)}
    budget = Budget(simulations=simulations, over=over, only=True, method=method)
    found = tune_all({"law": regulator}, budget)["law"]
    alpha = found.best.gains["controller.feedback.alpha"]
    np.testing.assert_allclose(alpha, 5.0, rtol=0.02)
    offset = math.sqrt(3 * 0.1**2 + 0.02**2)
    np.testing.assert_allclose(found.after, offset * math.sqrt(1.0 / 5.0 / 3.0), rtol=1e-3)


def test_cma_es_needs_two_gains(regulator):
    budget = Budget(
        simulations=9, over={"controller.feedback.alpha": (1.0, 9.0)}, only=True, method="cma"
    )
    with pytest.raises(
        InputError, match=r"method 'cma' needs two gains or more; 'law' has .*alpha"
    ):
        tune_all({"law": regulator}, budget)


def test_plants_that_are_all_the_same_are_refused(regulator):
    with pytest.raises(InputError, match="the 3 plants are all the same: nothing in the scenario"):
        tune_all({"law": regulator}, Budget(simulations=9, plants=Plants(count=3)))
    with pytest.raises(InputError, match="the 3 held-out plants are all the same"):
        tune_all({"law": regulator}, Budget(simulations=9, plants=Plants(held_out=3)))


def test_what_is_tuned_does_not_differ_from_plant_to_plant(regulator):
    from ukctrl.studies.sweep import Factor, Levels

    for path in ("controller.feedback.alpha", "controller.feedback"):
        varied = Factor(path, Levels((1.0, 2.0)))
        with pytest.raises(InputError, match=r"'controller\.feedback\.\w+' is tuned, and cannot"):
            tune_all(
                {"law": regulator}, Budget(simulations=4, plants=Plants(count=2, vary=(varied,)))
            )


def test_the_cost_over_plants_is_their_average_or_that_of_the_worst(regulator):
    scenario = regulator.replace({"timing.duration": 0.4})
    plants = Plants(count=4, mismatch=0.3)
    found = {
        how: tune_all(
            {"law": scenario},
            Budget(simulations=8, plants=dc.replace(plants, aggregate=how)),
        )["law"]
        for how in ("average", "worst")
    }
    mean, worst = found["average"].card, found["worst"].card
    assert mean.each == worst.each  # the same plants
    assert len(set(mean.each)) == 4
    np.testing.assert_allclose(mean.cost, np.mean(mean.each), rtol=1e-12)
    assert worst.cost == max(worst.each)
    assert [len(one.trials) for one in found.values()] == [2, 2]  # 8 simulations, 4 for each


def test_what_is_varied_is_spread_over_its_range_and_held_out_plants_are_others(regulator):
    from ukctrl.studies.sweep import Factor

    plants = Plants(
        count=8, held_out=8, vary=(Factor.parse("believed.mass_scale=0.5:1.5"),), mismatch=0.1
    )
    trained, held = plants.training(regulator), plants.validation(regulator)
    scales = [np.array([p.believed.mass_scale for p in group]) for group in (trained, held)]
    for scale in scales:
        assert np.histogram(scale, [0.5, 0.75, 1.0, 1.25, 1.5])[0].tolist() == [2, 2, 2, 2]
    assert not set(scales[0]) & set(scales[1])
    assert len({plant.seed for plant in (*trained, *held)}) == 16
    assert all(plant.effect[0].mass == 0.1 for plant in (*trained, *held))
    (nominal,) = Plants(held_out=3, mismatch=0.2).training(regulator)
    assert not nominal.effect


FAR = 3e4
ROOMY = (
    Gain("a", 1.0, 0.1, 10.0, room=(0.0, math.inf)),
    Gain("b", 2.0, 0.5, 3.0, room=(0.05, 10.0)),
)


def far(gains):
    """Lowest at a = 30000, b = 1: beyond the range by three and a half decades."""
    x, y = math.log10(gains["a"] / FAR), math.log10(gains["b"])
    return TuningTrial({}, x * x + y * y, 1.0, "completed", "card")


@pytest.mark.parametrize("method", METHODS)
def test_a_search_goes_on_beyond_an_end_of_a_range_within_its_budget(method):
    space = explored(far, method, gains=ROOMY, candidates=160)
    a, _ = space.gains
    assert len(space.trials) == 160
    assert (a.high, a.widened) == (1e5, 4)
    assert not a.at_end(space.best.gains["a"])
    assert space.best.gains["a"] == pytest.approx(FAR, rel=0.2)
    assert explored(far, method, gains=ROOMY, candidates=160).trials == space.trials


@pytest.mark.parametrize("room", [None, (0.1, 10.0)], ids=["given", "bounded"])
def test_where_nothing_lies_beyond_the_best_stays_at_the_end(room):
    gain = ROOMY[0]._replace(room=room)
    space = explored(lambda gains: far({**gains, "b": 1.0}), "simplex", gains=(gain,))
    assert space.gains == (gain,)
    assert gain.at_end(space.best.gains["a"])


@pytest.mark.parametrize(
    ("value", "ends"),
    [(0.1, (0.02, 10.0)), (1.0, (0.1, 10.0)), (9.9, (0.1, 30.0)), (math.nan, (0.1, 10.0))],
)
def test_a_range_goes_on_by_a_decade_on_the_side_of_the_best_and_no_farther_than_there_is(
    value, ends
):
    gain = Gain("a", 1.0, 0.1, 10.0, room=(0.02, 30.0)).beyond(value)
    assert (gain.low, gain.high) == ends


@pytest.mark.parametrize(
    ("law", "least"), [("servo-baumgarte", MIN_DAMPING), ("servo-sliding", 1.0)]
)
def test_a_damping_is_searched_beyond_its_range_wherever_a_law_has_a_design(law, least):
    """Laws on a surface have real poles, and so no damping below that of two equal ones."""
    _, damping = error_dynamics_gains(Scenario.load("scara-helix", {"controller": {"use": law}}))
    lower = damping.beyond(damping.low)
    upper = damping.beyond(damping.high)
    assert lower.low == least <= damping.low
    assert upper.high == MAX_DAMPING > damping.high


@pytest.mark.slow
def test_ranges_that_nobody_gave_are_of_bandwidth_and_damping_about_the_card(regulator):
    """Two poles at -w have a bandwidth of 1.55 w."""
    law = regulator.replace({"controller.feedback": {"kind": "baumgarte", "alpha": 8, "beta": 16}})
    bandwidth, damping = error_dynamics_gains(law)
    own = 4.0 * math.sqrt(math.sqrt(0.5) / (1.0 - math.sqrt(0.5)))
    ends = [bandwidth.low, bandwidth.value, bandwidth.high]
    np.testing.assert_allclose(ends, [0.01 * own, own, 100.0 * own], rtol=1e-3)
    assert bandwidth.room == (0.0, math.inf)
    held, _ = error_dynamics_gains(law.replace({"timing.control": 0.02, "timing.sample": 0.02}))
    assert (held.high, held.room) == (50.0, (0.0, 50.0))  # one radian a period
    assert (damping.low, damping.high) == (0.5, 3.0)
    assert math.isnan(damping.value)
    found = tune_all({"law": law}, Budget(simulations=6))["law"]
    assert found.in_terms
    assert found.card.changes == {}
    by_gains = tune_all({"law": law}, Budget(simulations=6, in_terms=False))["law"]
    paths = [gain.path.rpartition(".")[2] for gain in by_gains.gains]
    assert paths == ["alpha", "beta"]
    assert by_gains.card.cost == found.card.cost
    one = law.replace({"controller.feedback": {"kind": "first_order", "kappa": 2.0}})
    assert [gain.path for gain in error_dynamics_gains(one)] == ["bandwidth"]  # it has no other
    exact = law.replace({"controller.feedback": {"kind": "exact"}})
    assert error_dynamics_gains(exact) == ()
