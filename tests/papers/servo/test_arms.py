"""The servo paper: its readings, its literal steps, and the motion that is known."""

import numpy as np
import pytest

from ukctrl_papers.servo import arms, literal_steps, runs


@pytest.mark.parametrize("reading", ["minimum norm", "consistent", "stacked"])
@pytest.mark.parametrize("t", [0.0, 0.9, 2.5, 4.0])
def test_each_exact_reading_gives_the_known_motion_by_the_inverse_dynamics(reading, t):
    """A force of the closure must be all that is missing in M theta'' = Q + B u."""
    theta, rate, acceleration = arms.known_motion(t)
    u = arms.torques(reading, t, theta, rate)
    bias = arms.coriolis(theta, rate) @ rate + arms.gravity(theta)
    missing = arms.mass(theta) @ acceleration + bias - arms.B @ u
    rows = arms.closure_rows(theta, rate)[0]
    left = missing - rows.T @ np.linalg.lstsq(rows.T, missing)[0]
    np.testing.assert_allclose(left, 0.0, rtol=0.0, atol=1e-10)


def test_the_known_motion_is_its_own_derivative():
    h = 1e-5
    for t in (0.5, 2.0, 5.0):
        before, now, after = (
            arms.known_motion(t - h),
            arms.known_motion(t),
            arms.known_motion(t + h),
        )
        np.testing.assert_allclose((after.theta - before.theta) / (2 * h), now.rate, atol=1e-8)
        np.testing.assert_allclose(
            (after.rate - before.rate) / (2 * h), now.acceleration, atol=1e-8
        )


def test_the_literal_steps_keep_the_task_rows_and_lose_the_closure():
    opened = literal_steps.angles_at(literal_steps.literal_run(False), literal_steps.READ_OFF_TIME)
    np.testing.assert_allclose(
        opened[:3], arms.known_motion(literal_steps.READ_OFF_TIME).theta[:3], atol=1e-8
    )
    assert np.abs(arms.closure_error(opened)).max() > 0.8
    closed = literal_steps.angles_at(literal_steps.literal_run(True), literal_steps.READ_OFF_TIME)
    np.testing.assert_allclose(arms.closure_error(closed), 0.0, atol=1e-7)
    assert abs(closed[2]) > 0.3


def test_the_consistent_reading_is_the_limit_of_using_the_last_reaction():
    """Feeding (71) the reaction of its own last input converges, and to the consistent input."""
    t = 0.4
    theta, rate, _ = arms.known_motion(t)
    M, Q = arms.mass(theta), -arms.coriolis(theta, rate) @ rate - arms.gravity(theta)
    A, b = arms.servo_rows(t, theta, rate)
    A_c, b_c = arms.closure_rows(theta, rate)
    u = np.zeros(6)
    for _ in range(40):
        load = Q + arms.B @ u
        S = A_c @ np.linalg.solve(M, A_c.T)
        reaction = A_c.T @ np.linalg.solve(S, b_c - A_c @ np.linalg.solve(M, load))
        u = np.linalg.pinv(A @ np.linalg.solve(M, arms.B)) @ (
            b - A @ np.linalg.solve(M, Q + reaction)
        )
    np.testing.assert_allclose(u, arms.torques("consistent", t, theta, rate), atol=1e-10)
    assert literal_steps.reaction_contraction(t) < 0.3


def test_the_ranges_are_in_the_order_of_the_motors():
    found = runs.reading_torques("consistent").ranges
    assert found.shape == runs.PRINTED_RANGES.shape == (6, 2)
    assert (found[:, 0] < found[:, 1]).all()
