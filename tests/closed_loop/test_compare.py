"""Several controllers on one scenario: the same plant for all, each with its own belief."""

import numpy as np
import pytest

from ukctrl import Scenario, compare
from ukctrl.control import ComputedTorque, PdGravity
from ukctrl.errors import InputError

CARDS = ["servo-baumgarte", "computed-torque", "pd-gravity"]


@pytest.fixture(scope="module")
def helix():
    return Scenario.load("scara-helix", {"timing.duration": 2.0})


def test_every_controller_runs_on_the_same_start_and_times(helix):
    compared = compare(helix, CARDS)
    assert list(compared.results) == CARDS
    first = compared.results["servo-baumgarte"]
    for result in compared.results.values():
        assert result.status == "completed"
        np.testing.assert_array_equal(result.time, first.time)
        np.testing.assert_array_equal(result["q"][0], first["q"][0])


def test_with_a_true_model_the_joint_space_baseline_does_what_servo_control_does(helix):
    compared = compare(helix, CARDS)
    servo, joint = (compared.results[name] for name in CARDS[:2])
    np.testing.assert_allclose(joint["u"], servo["u"], rtol=0.0, atol=1e-6)
    assert compared.results["pd-gravity"].metric("peak_phi") > 1e-4


def test_a_wrong_belief_costs_the_model_based_controllers_their_accuracy(helix):
    wrong = helix.replace({"believed": {"mass_scale": 0.8}})
    errors = {name: run.metric("peak_phi") for name, run in compare(wrong, CARDS).results.items()}
    exact = {name: run.metric("peak_phi") for name, run in compare(helix, CARDS).results.items()}
    for name in CARDS[:2]:
        assert errors[name] > 1e-4 > 1e-8 > exact[name]


def test_controllers_may_be_objects_and_must_have_different_names(helix):
    soft, stiff = (
        PdGravity(name="soft", kp=100.0, kd=20.0),
        PdGravity(name="stiff", kp=900.0, kd=90.0),
    )
    compared = compare(helix, [soft, stiff, ComputedTorque(kp=100.0, kd=20.0)])
    assert list(compared.results) == ["soft", "stiff", "ComputedTorque"]
    soft_error, stiff_error = (compared.results[n].metric("rms_phi") for n in ("soft", "stiff"))
    assert stiff_error < soft_error
    with pytest.raises(InputError, match="two controllers are named 'soft'"):
        compare(helix, [soft, soft])


def test_nothing_to_compare_is_an_input_error(helix):
    with pytest.raises(InputError, match="at least one controller"):
        compare(helix, [])
