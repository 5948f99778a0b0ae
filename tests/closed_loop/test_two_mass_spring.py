"""Two masses and a spring: the servo input is eq (47) of Liu et al. 2015, and its motion."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate

M1, M2, K, L = 1.0, 2.0, 50.0, 0.5
EXACT = {"rtol": 0.0, "atol": 1e-9}


def run_of(**changes):
    return simulate(Scenario.load("two-mass-spring", changes))


def test_the_input_is_the_closed_form_at_any_state():
    task = Scenario.load("two-mass-spring")
    robot = Robot.load("two_mass_spring")
    run = simulate(task.replace({"start.q": (0.1, 1.3), "start.v": (0.3, -0.2)}))
    stretch = run["q"][:, 1] - run["q"][:, 0] - robot.parameters["l"]
    np.testing.assert_allclose(run["u"][:, 0], -(1.0 + M1 / M2) * K * stretch, **EXACT)


def test_from_an_exact_start_the_force_is_constant_and_both_masses_fall_back_together():
    run = run_of()
    t = run["time"]
    assert run.metric("peak_phi") < 1e-8
    np.testing.assert_allclose(run["u"], -(1.0 + M1 / M2) * K * L, **EXACT)
    np.testing.assert_allclose(run["a"], -K * L / M2, **EXACT)
    start = np.array([0.1, 1.1])
    motion = start + 0.3 * t[:, None] - 0.5 * K * L / M2 * t[:, None] ** 2
    np.testing.assert_allclose(run["q"], motion, rtol=0.0, atol=1e-8)


def test_from_an_inexact_start_the_gap_opens_linearly_and_the_motion_is_cubic():
    run = run_of(**{"start.q": (0.1, 1.15), "start.v": (0.3, 0.1)})
    t = run["time"]
    np.testing.assert_allclose(run["phi"][:, 0], 0.05 - 0.2 * t, **EXACT)
    stretch = L + 0.05 - 0.2 * t
    np.testing.assert_allclose(run["a"][:, 1], -K / M2 * stretch, **EXACT)
    cubic = 1.15 + 0.1 * t - K / M2 * ((L + 0.05) * t**2 / 2.0 - 0.2 * t**3 / 6.0)
    np.testing.assert_allclose(run["q"][:, 1], cubic, rtol=0.0, atol=1e-8)


def test_feedback_closes_the_gap_that_the_printed_law_leaves():
    off = {"start.q": (0.1, 1.15), "start.v": (0.3, 0.1)}
    run = run_of(**off, controller={"use": "servo-baumgarte"})
    assert abs(run["phi"][-1, 0]) < 1e-6


@pytest.mark.parametrize("m2", [0.5, 7.0])
def test_the_masses_are_parameters(m2):
    run = run_of(robot={"use": "two_mass_spring", "lagrangian": {"parameters": {"m2": m2}}})
    np.testing.assert_allclose(run["u"], -(1.0 + M1 / m2) * K * L, **EXACT)
