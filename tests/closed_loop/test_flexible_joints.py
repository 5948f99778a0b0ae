"""The review paper's flexible-joint arm, driven by its motors: section 8.3, for real."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Scenario, simulate
from ukctrl.analysis.check import check
from ukctrl.core.errors import InputError
from ukctrl.simulation.assemble import Loop

FOLLOWED = {"rtol": 0.0, "atol": 1e-8}  # what the issue asks for over the paper's horizon
P, G = 0.4, 9.81
STEP = 2e-3  # of the differences along the flow


@pytest.fixture(scope="module")
def links():
    return simulate(Scenario.load("flexible-joint-arm-links"))


@pytest.fixture(scope="module")
def motors():
    return simulate(Scenario.load("flexible-joint-arm-motor"))


def paper(q, v):
    """Return D, C v + G of (67)-(68), with m2 in c11, for the printed parameters."""
    c4, s4 = np.cos(q[1]), np.sin(q[1])
    D = np.array([[1.25 + c4 + 0.25 + 2.0, 0.25 + 0.5 * c4 + 1.0], [0.0, 1.25]])
    D[1, 0] = D[0, 1]
    C = np.array([[-0.5 * s4 * v[1], -0.5 * s4 * (v[0] + v[1])], [0.5 * s4 * v[0], 0.0]])
    tip = 0.5 * G * np.sin(q[0] + q[1])
    return D, C @ v + np.array([1.5 * G * np.sin(q[0]) + tip, tip])


def law(q, v):
    """Return the force (72) on the links, with K = 1 and A = [1, 1]."""
    D, rest = paper(q, v)
    A = np.array([1.0, 1.0])
    force = A / (A @ np.linalg.solve(D, A)) * (A @ np.linalg.solve(D, rest + q))
    return force - D @ A / 2.0 / P * (A @ v)


def flow(t, y):
    """The link side of (66) with (72) in place of K q2."""
    q, v = y[:2], y[2:]
    D, rest = paper(q, v)
    return np.concatenate([v, np.linalg.solve(D, law(q, v) - rest - q)])


def test_the_links_move_as_the_papers_law_moves_them(links, motors):
    assert links.status == motors.status == "completed"
    np.testing.assert_allclose(motors["q"][:, :2], links["q"], **FOLLOWED)
    np.testing.assert_allclose(motors["v"][:, :2], links["v"], **FOLLOWED)


def test_the_sum_of_the_rates_decays_as_the_paper_says(motors):
    np.testing.assert_allclose(motors["beta"][:, 0], 0.9 * np.exp(-motors["time"] / P), **FOLLOWED)


def test_the_plant_is_equation_66(motors):
    for q, v, a, u in zip(*(motors[name][::30] for name in "qvau"), strict=True):
        D, rest = paper(q[:2], v[:2])
        np.testing.assert_allclose(D @ a[:2] + rest + q[:2] - q[2:], 0.0, atol=1e-10)
        np.testing.assert_allclose(a[2:] - (q[:2] - q[2:]), u, atol=1e-10)


def test_the_torque_is_that_of_four_derivatives_of_the_link_angles(motors):
    """u = J q2'' - K (q1 - q2) with q2 = (72), differentiated along the flow by differences."""
    weights = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * STEP**2)
    for k in (0, 60, 150, 290):
        y = np.concatenate([motors["q"][k, :2], motors["v"][k, :2]])
        angles = []
        for i in range(-3, 4):
            end = solve_ivp(flow, (0.0, i * STEP), y, method="DOP853", rtol=1e-13, atol=1e-15)
            angles.append(law(end.y[:2, -1], end.y[2:, -1]))
        expected = weights @ np.array(angles) - (y[:2] - law(y[:2], y[2:]))
        np.testing.assert_allclose(motors["u"][k], expected, rtol=0.0, atol=1e-7)


def test_the_start_of_the_motors_is_exact_by_hand():
    """K theta is the law (72) itself, here at hanging links."""
    y = np.array([0.0, 0.0, 1.0, -0.1])
    theta = law(y[:2], y[2:])
    scenario = Scenario.load("flexible-joint-arm-motor")
    loop = Loop(scenario)
    np.testing.assert_allclose(loop.state.q[2:], theta, rtol=1e-14)
    value, rate, _ = loop.law.plan(0.0)
    np.testing.assert_allclose(loop.state.q[2:], value[:2], rtol=1e-12)
    np.testing.assert_allclose(loop.state.v[2:], rate[:2], rtol=1e-10)


@pytest.mark.slow
def test_motors_that_start_elsewhere_come_to_the_plan_and_the_links_with_them():
    stiff = {
        f"robot.elastic.{key}": {"q2": value, "q4": value}
        for key, value in (("stiffness", 40.0), ("motor_inertia", 1.0))
    }
    gains = {"controller.alpha": 8.0, "controller.beta": 20.0, "timing.duration": 20.0}
    start = {"start.q": {"q2": 0.0, "q4": 0.0}, "start.v": {"q2": 1.0, "q4": -0.1}}
    scenario = Scenario.load("flexible-joint-arm-motor", {**stiff, **gains, **start})
    run = simulate(scenario)
    assert run.status == "completed", run.message
    error = np.abs(run["link_error"]).max(axis=1)
    assert error[:100].max() > 0.01
    assert error[-100:].max() < 1e-3 * error[:100].max()


def test_the_links_follow_through_a_sampled_controller_too(links):
    changes = {"timing.control": 0.001, "timing.duration": 1.0}
    run = simulate(Scenario.load("flexible-joint-arm-motor", changes))
    assert np.abs(run["q"][:, :2] - links["q"][:101]).max() < 2e-3


@pytest.mark.slow
def test_check_says_why_no_servo_law_could_do_it():
    report = check(Scenario.load("flexible-joint-arm-motor"))
    assert report.ok
    assert any("relative degree is 3" in note for note in report.notes)
    servo = {"kind": "servo", "feedback": {"kind": "first_order", "kappa": 2.5}}
    report = check(Scenario.load("flexible-joint-arm-motor").replace({"controller": servo}))
    assert not report.ok


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        (
            {"robot": "flexible_arm_links", "start.q": {}, "start.v": {}},
            "it has none; use the card",
        ),
        ({"robot.elastic.damping": 0.1}, "their springs have damping"),
        ({"controller.links": "two_link"}, "must have the links' coordinates, q2, q4; got shoul"),
        ({"controller.links": "flexible_arm_link"}, "did you mean 'flexible_arm_links'"),
        ({"robot.lagrangian.inputs.u2.q4": 0.0}, "an input for each of its 2 motors"),
        ({"controller.alpha": -1.0}, "alpha: must be"),
        ({"controller.segment": 3.0}, "shorten controller.segment"),
    ],
)
def test_what_the_law_cannot_serve_is_refused(changes, answer):
    with pytest.raises(InputError, match=answer):
        Loop(Scenario.load("flexible-joint-arm-motor", changes))


def test_a_run_without_end_cannot_be_planned():
    loop = Loop(Scenario.load("flexible-joint-arm-motor"))
    with pytest.raises(InputError, match="the run has no end"):
        loop.scenario.controller.start(dc.replace(loop.law.task, duration=np.inf))


AT_REST = """
title = "to rest"
start.q = {{ shoulder = 0.3, elbow = 0.5 }}
start.solve = true
controller = {{ kind = "io_linearisation", alpha = 20.0, beta = 100.0 }}
timing = {{ duration = 1.2 }}
[robot]
use = "two_link"
gravity = [0.0, 0.0, 0.0]
elastic = {{ stiffness = {stiffness}, motor_inertia = 0.5 }}
[[servo]]
kind = "joint_follows"
joints = ["shoulder", "elbow"]
path = {{ kind = "rest_to_rest", points = [[0.3, 0.5], [0.8, 0.1]], duration = 1.0, still = 4 }}
"""


@pytest.mark.parametrize("stiffness", [500.0, pytest.param(2e4, marks=pytest.mark.slow)])
def test_a_law_that_differentiates_the_motion_comes_to_rest(stiffness):
    """There forces of springs and motors cancel, and rounding is all that is left of their sum."""
    result = simulate(Scenario.from_toml(AT_REST.format(stiffness=stiffness)))
    assert result.status == "completed"
    # not rounding alone: steps of the integration are as exact as its tolerance
    assert np.abs(result["phi"]).max() < 1e-7
    still = result.time > 1.01
    assert np.abs(result["v"][still]).max() < 1e-5
    assert np.abs(result["u"][still]).max() < 1e-3
