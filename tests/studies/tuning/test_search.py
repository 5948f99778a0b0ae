"""The search for gains: what it moves, what it spends, and that it finds the same again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.control import Baumgarte, ComputedTorque, Servo
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.fields import spec
from ukctrl.studies.batch.run_summary import repeat_seed, training_seed
from ukctrl.studies.tuning import Budget, Cost, gains_of, read_range, tune_all, with_ranges

EXACT = {"rtol": 1e-12, "atol": 0.0}


@pytest.fixture(name="helix", scope="module")
def _helix():
    """A short run that is sampled, so that high gains cost something."""
    return Scenario.load(
        "scara-helix",
        {
            "timing": {"duration": 0.4, "control": 0.02, "sample": 0.02},
            "believed.mass_scale": 0.8,
            "start.spread": 0.02,
            "integrator": {"method": "RK4", "step": 0.01},
        },
    )


@pytest.fixture(name="laws", scope="module")
def _laws(helix):
    names = ("servo-baumgarte", "computed-torque", "servo-exact")
    return {name: helix.replace({"controller": {"use": name}}) for name in names}


def test_a_cost_is_a_metric_or_a_weighted_sum_of_some():
    cost = Cost.parse(" rms_phi.tool + 0.01*effort + 1e-3 * peak_u ")
    assert cost.weights == {"rms_phi.tool": 1.0, "effort": 0.01, "peak_u": 1e-3}
    values = {"rms_phi.tool": 0.5, "effort": 30.0, "peak_u": 200.0}
    np.testing.assert_allclose(cost.of(values), 0.5 + 0.3 + 0.2, **EXACT)
    assert math.isnan(cost.of({**values, "effort": math.nan}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rms_fi", "no metric named 'rms_fi'; did you mean 'rms_phi'"),
        ("rms_phi + ", "cost must be a metric, or a weighted sum"),
        ("rms_phi - effort", "cost must be a metric, or a weighted sum"),
        ("-1*rms_phi", "cost must be a metric"),
        ("0*rms_phi", "the weight of 'rms_phi' must be positive"),
        (
            "mean_tick_us",
            "cost 'mean_tick_us': metric 'mean_tick_us' is wall time, for which no gain is tuned.",
        ),
        (
            "rms_phi + energy_drift",
            "cost 'rms_phi + energy_drift': metric 'energy_drift' judges the integration, for "
            "which no gain is tuned.",
        ),
        ("__import__('os')", "no metric named '__import__('os')'"),
    ],
)
def test_other_costs_are_refused(text, says):
    with pytest.raises(InputError) as refused:
        Budget(simulations=5, cost=text)
    assert says in str(refused.value)


def test_gains_are_the_positive_numbers_of_the_feedback_and_no_times(laws):
    paths = {name: [gain.path for gain in gains_of(law)] for name, law in laws.items()}
    assert paths["servo-baumgarte"] == ["controller.feedback.alpha", "controller.feedback.beta"]
    assert paths["computed-torque"] == ["controller.kp", "controller.kd"]  # and not plan_step
    assert paths["servo-exact"] == []


def test_what_a_law_takes_as_known_is_no_gain(helix):
    found = gains_of(helix.replace({"controller": {"use": "servo-chen-robust"}}))
    names = [gain.path.rpartition(".")[2] for gain in found]
    assert names == ["kappa", "rate", "epsilon"]  # and not rho, mismatch, weight


def test_a_gain_of_each_row_or_block_is_a_gain_of_its_own(helix):
    feedback = Baumgarte(alpha=(20.0, 20.0, 30.0, 0.0), beta={"tool": 100.0, "tilt": 90.0})
    gains = gains_of(helix.replace({"controller": Servo(feedback=feedback)}))
    assert [(gain.path, gain.value) for gain in gains] == [
        ("controller.feedback.alpha.0", 20.0),
        ("controller.feedback.alpha.1", 20.0),
        ("controller.feedback.alpha.2", 30.0),
        ("controller.feedback.beta.tool", 100.0),
        ("controller.feedback.beta.tilt", 90.0),
    ]


def test_a_range_holds_for_those_that_have_the_path(laws):
    every = {name: gains_of(law) for name, law in laws.items()}
    found = with_ranges(every, {"controller.kp": (1.0, 5.0)}, laws)
    assert found["servo-baumgarte"] == every["servo-baumgarte"]
    kp, kd = found["computed-torque"]
    assert (kp.low, kp.high, kd.low, kd.high) == (1.0, 5.0, 2.0, 200.0)
    with pytest.raises(UnknownName, match="did you mean 'controller.kp'"):
        with_ranges(every, {"controler.kp": (1.0, 5.0)}, laws)
    with pytest.raises(InputError, match="must be positive and not empty"):
        with_ranges(every, {"controller.kp": (5.0, 1.0)}, laws)


def test_a_range_is_read_from_text():
    assert read_range("controller.kp=1:1e3") == ("controller.kp", (1.0, 1000.0))
    for text in ("controller.kp", "controller.kp=5", "=1:2", "controller.kp=a:b", "k=true:2"):
        with pytest.raises(InputError, match="over must be PATH=LO:HI"):
            read_range(text)


@pytest.fixture(name="tuned", scope="module")
def _tuned(laws):
    return tune_all(laws, Budget(simulations=24, cost="rms_phi"))


@pytest.mark.slow
def test_every_law_gets_the_same_number_of_simulations(tuned):
    assert [len(found.trials) for found in tuned.values()] == [24, 24, 1]
    assert [found.finished for found in tuned.values()] == [True] * 3


@pytest.mark.slow
def test_the_card_comes_first_then_the_sequence_then_the_simplex(tuned):
    stages = [trial.stage for trial in tuned["servo-baumgarte"].trials]
    assert stages == ["card", *["sobol"] * 11, *["simplex"] * 12]


def test_the_tuned_gains_are_better_and_within_their_range(tuned):
    for name in ("servo-baumgarte", "computed-torque"):
        found = tuned[name]
        assert found.after < found.before
        history = found.history()
        assert (np.diff(history) <= 0.0).all()
        assert history[-1] == found.after
        for trial in found.trials[1:]:  # behind the card, which lies where it does
            assert all(gain.low <= trial.gains[gain.path] <= gain.high for gain in found.gains)


def test_the_sequence_is_even_in_the_logarithm_of_the_gains(tuned):
    found = tuned["servo-baumgarte"]
    for gain in found.gains:
        places = [
            math.log(trial.gains[gain.path] / gain.low) / math.log(gain.high / gain.low)
            for trial in found.trials
            if trial.stage == "sobol"
        ]
        assert np.histogram(places, [0.0, 0.25, 0.5, 0.75, 1.0])[0].min() >= 2


def test_the_tuned_cost_is_the_cost_of_a_run_with_these_gains(laws, tuned):
    from ukctrl import simulate

    found, scenario = tuned["computed-torque"], laws["computed-torque"]
    assert found.seed == training_seed(scenario.seed)
    assert found.seed not in {repeat_seed(scenario.seed, k) for k in range(100)}
    run = simulate(scenario.replace({"seed": found.seed, **found.best.changes}))
    assert run.metric("rms_phi") == found.after


def test_gains_that_fail_cost_more_than_any_that_do_not(helix):
    # kd T / I < 2 bounds the damping of the light wrist: much of the range diverges.
    scenario = helix.replace({"controller": {"use": "pd-gravity"}, "timing.control": 0.005})
    found = tune_all({"pd": scenario}, Budget(simulations=16))["pd"]
    assert any(trial.status == "diverged" for trial in found.trials)
    assert found.best.status == "completed"
    assert math.isfinite(found.after)


def test_gains_that_do_not_go_together_are_a_trial_that_failed(helix):
    scenario = helix.replace({"controller": {"use": "servo-pid"}})
    budget = Budget(simulations=10, over={"controller.feedback.ki": (8000.0, 90000.0)})
    found = tune_all({"pid": scenario}, budget)["pid"]
    assert any(math.isinf(trial.cost) for trial in found.trials)
    assert len(found.trials) == 10


@spec
class Mine(ComputedTorque):
    """A law of somebody's own, whose gains no file has."""


def test_the_gains_of_a_law_made_in_python_are_tuned_as_well(helix):
    scenario = helix.replace({"controller": Mine(kp=100.0, kd=20.0)})
    found = tune_all({"mine": scenario}, Budget(simulations=6, in_terms=False))["mine"]
    assert [gain.path for gain in found.gains] == ["controller.kp", "controller.kd"]
    assert len({tuple(trial.gains.values()) for trial in found.trials}) == 6


def test_a_budget_must_be_positive():
    with pytest.raises(InputError, match="the budget must be at least 1 simulation; got 0"):
        Budget(simulations=0)
