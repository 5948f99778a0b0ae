"""Two arms and a bar: the framework against the paper's own closed form, and each other's cuts."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl_papers.servo import arms

HELD = {"rtol": 0.0, "atol": 1e-8}  # what the issue demands over a period
SAME = {"rtol": 0.0, "atol": 1e-12}
CARDS = {
    "minimum norm": "servo-baumgarte",
    "consistent": "servo-chen",
    "stacked": "servo-stacked",
    "literal": "servo-frozen",
}


@pytest.fixture(scope="module")
def runs():
    task = Scenario.load("coordinated-arms")
    return {
        name: simulate(task.replace({"controller": {"use": card}})) for name, card in CARDS.items()
    }


@pytest.fixture(params=range(5))
def state(request):
    rng = np.random.default_rng(request.param)
    return rng.standard_normal(5), rng.standard_normal(5)


def test_the_lagrangian_gives_the_matrices_of_the_appendix(state):
    theta, rate = state
    s = Robot.load("coordinated_arms").snapshot(theta, rate)
    np.testing.assert_allclose(s.M, arms.mass(theta), **SAME)
    nle = arms.coriolis(theta, rate) @ rate + arms.gravity(theta)
    np.testing.assert_allclose(s.nle, nle, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(s.B, arms.B, **SAME)


def test_the_constraints_are_those_of_eqs_63_and_68(state):
    theta, rate = state
    robot = Robot.load("coordinated_arms")
    s = robot.snapshot(theta, rate, 0.7)
    servo = [one.rows(s) for one in Scenario.load("coordinated-arms").servo]
    A, b = arms.servo_rows(0.7, theta, rate)
    np.testing.assert_allclose(np.vstack([rows.A for rows in servo]), A, **SAME)
    np.testing.assert_allclose(np.concatenate([rows.b for rows in servo]), b, **SAME)


@pytest.mark.slow(only=["minimum norm"])
@pytest.mark.parametrize("reading", ["minimum norm", "consistent", "stacked"])
def test_the_exact_readings_keep_task_and_closure_over_a_period(runs, reading):
    run = runs[reading]
    assert run.status == "completed"
    for metric in ("peak_phi", "peak_passive_phi"):
        assert run.metric(metric) < 1e-8
    theta = [arms.known_motion(t).theta for t in run["time"]]
    np.testing.assert_allclose(run["q"], theta, **HELD)


@pytest.mark.parametrize("reading", ["minimum norm", "consistent", "stacked"])
def test_their_torques_are_those_of_the_closed_form(runs, reading):
    run = runs[reading]
    torques = [arms.torques(reading, t, *arms.known_motion(t)[:2]) for t in run["time"]]
    np.testing.assert_allclose(run["u"], torques, **HELD)


def test_the_literal_steps_lose_the_path_on_a_chain_that_is_closed(runs):
    run = runs["literal"]
    start = arms.torques("literal", 0.0, *arms.known_motion(0.0)[:2])
    np.testing.assert_allclose(run["u"][0], start, **HELD)
    assert run.metric("peak_passive_phi") < 1e-8
    assert run.metric("peak_phi") > 0.01


def test_the_least_norm_is_antisymmetric_as_the_mechanism_is(runs):
    u = runs["minimum norm"]["u"]
    np.testing.assert_allclose(u[:, :3], -u[:, :2:-1], **HELD)


def test_the_least_norm_does_not_depend_on_where_the_loop_is_cut(runs):
    """Bodies in relative angles, cut at the grip, against absolute angles, cut at the ground."""
    task = Scenario.load("coordinated-arms-squeeze", {"controller.allocation.null_space": None})
    grip = simulate(task)
    np.testing.assert_allclose(grip["u"], runs["minimum norm"]["u"], **HELD)
    chen = simulate(task.replace({"controller.allocation": {"kind": "chen"}}))
    assert chen.metric("peak_phi") < 1e-8
    assert np.abs(chen["u"] - runs["consistent"]["u"]).max() > 1.0
