"""Particles: spiral and projectile against closed forms, swarms against a reduced equation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.mechanics.constraints import Aggregation

WITHIN = {"rtol": 0.0, "atol": 1e-8}  # what the issue of every system asks for
G = 9.81


def test_the_spiral_is_followed_and_its_forces_are_the_closed_form():
    result = simulate(Scenario.load("log-spiral-particle"))
    t = result.time
    theta, r = 30.0 - t, np.exp(0.1 * (30.0 - t))
    expected = np.column_stack((r * np.cos(theta), r * np.sin(theta)))
    np.testing.assert_allclose(result["q"], expected, **WITHIN)
    outwards, across = (
        np.array([np.cos(theta), np.sin(theta)]),
        np.array([-np.sin(theta), np.cos(theta)]),
    )
    u = result["u"].T
    np.testing.assert_allclose((u * outwards).sum(0), -0.99 * r + G * np.sin(theta), **WITHIN)
    np.testing.assert_allclose((u * across).sum(0) / r, 0.2 + G * np.cos(theta) / r, **WITHIN)


def test_an_error_at_the_start_of_the_spiral_grows_linearly():
    scenario = Scenario.load("log-spiral-particle", {"timing.duration": 5.0})
    v = {"x": "exp(3)*(sin(30) - 0.1*cos(30)) + 0.02", "y": "-exp(3)*(cos(30) + 0.1*sin(30))"}
    result = simulate(scenario.replace({"start.v": v}))
    line = result["phi"][0] + np.outer(result.time, result["beta"][0])
    assert np.abs(result["phi"][-1]).min() > 1e-3
    np.testing.assert_allclose(result["phi"], line, **WITHIN)


def test_a_projectile_flies_a_parabola():
    result = simulate(Scenario.load("projectile"))
    t = result.time[:, None]
    line = result["q"][0] + t * result["v"][0]
    np.testing.assert_allclose(result["q"], line - 0.5 * G * t**2 * [0.0, 1.0], **WITHIN)


def downhill(q, k_a=1.0, k_r=0.5):
    """Return the velocities that eq (61) asks for."""
    away = q[:, None] - q[None]
    distance = np.linalg.norm(away, axis=-1) + np.eye(len(q))
    return -((k_a - k_r / distance)[:, :, None] * away).sum(axis=1)


@pytest.mark.parametrize(("name", "kappa"), [("swarm", 0.0), ("swarm-decay", 3.0)])
def test_a_swarm_moves_as_its_first_order_equation_says(name, kappa):
    result = simulate(Scenario.load(name))
    beta0 = result["beta"][0]
    decay = np.exp(-kappa * result.time)[:, None]
    np.testing.assert_allclose(result["beta"], beta0 * decay, **WITHIN)

    def rate(t, q):
        return downhill(q.reshape(-1, 2)).ravel() + beta0 * np.exp(-kappa * t)

    reference = solve_ivp(
        rate, (0.0, result.time[-1]), result["q"][0], "DOP853", result.time, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(result["q"], reference.y.T, **WITHIN)


def test_the_rows_of_a_swarm_are_the_derivative_of_its_velocity_error():
    robot = Robot.load("swarm", override={"particles": {"count": 7, "dimension": 3}})
    rng = np.random.default_rng(4)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 21))
    kind, h = Aggregation(attraction=0.7, repulsion=0.3, axes="xyz"), 1e-6

    def at(time):
        where = q + time * v + 0.5 * time**2 * a
        return kind.rows(robot.snapshot(where, v + time * a))

    slope = (at(h).beta - at(-h).beta) / (2 * h)
    rows = at(0.0)
    np.testing.assert_allclose(slope, rows.A @ a - rows.b, rtol=0.0, atol=1e-7)
    wanted = downhill(q.reshape(-1, 3), 0.7, 0.3).ravel()
    np.testing.assert_allclose(rows.beta, v - wanted, rtol=0.0, atol=1e-12)


def test_a_start_spreads_by_the_seed():
    many = {"robot.particles.count": 8, "start.q": {}, "start.v": {}, "start.spread": 3.0}
    short = {"timing.duration": 0.02, "timing.sample": 0.02}
    first = simulate(Scenario.load("swarm", many | short))["q"][0]
    again = simulate(Scenario.load("swarm", many | short))["q"][0]
    other = simulate(Scenario.load("swarm", many | short | {"seed": 1}))["q"][0]
    np.testing.assert_array_equal(first, again)
    assert np.abs(first).max() <= 3.0
    assert np.abs(first - other).max() > 0.1


def test_two_robots_at_one_place_are_named():
    robot = Robot.load("swarm", override={"particles": {"count": 3}})
    with pytest.raises(DomainError) as caught:
        Aggregation().rows(robot.snapshot([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
    assert str(caught.value) == (
        "particles 3 and 2 are at the same place at t = 0 s; the direction in which they repel "
        "each other is not defined there."
    )


def test_a_swarm_needs_two_particles():
    with pytest.raises(InputError, match="at least two particles"):
        Aggregation().attach(Robot.load("scara"))


def test_masses_are_one_for_all_or_one_each():
    robot = Robot.load("swarm", override={"particles": {"count": 2, "mass": [1.0, 3.0]}})
    M = robot.snapshot(robot.neutral).M
    np.testing.assert_allclose(M, np.diag([1.0, 1.0, 3.0, 3.0]), rtol=0.0, atol=0.0)
    with pytest.raises(InputError, match="one for each of the 5 particles; got 2"):
        Robot.load("swarm", override={"particles": {"count": 5, "mass": [1.0, 3.0]}})


@pytest.mark.slow
def test_a_task_with_a_row_for_every_coordinate_integrates_by_counting():
    found = check(Scenario.load("swarm")).start.velocity_rows
    assert found is not None
    assert (found.kind, found.rank, found.growth) == ("holonomic", 10, (0,))


@pytest.mark.slow
def test_two_hundred_robots_run():
    result = simulate(Scenario.load("swarm-many"))
    assert result.status == "completed"
    expected = result["beta"][0] * np.exp(-3.0 * result.time)[:, None]
    np.testing.assert_allclose(result["beta"], expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["log-spiral-particle", "projectile"])
def test_polar_coordinates_give_the_same_motion(name):
    plane = simulate(Scenario.load(name))
    r, theta = simulate(Scenario.load(f"{name}-polar"))["q"].T
    turned = np.column_stack((r * np.cos(theta), r * np.sin(theta)))
    np.testing.assert_allclose(turned, plane["q"], **WITHIN)


def test_the_polar_forces_of_the_spiral_are_the_closed_form():
    result = simulate(Scenario.load("log-spiral-particle-polar"))
    theta, r = 30.0 - result.time, np.exp(0.1 * (30.0 - result.time))
    expected = np.column_stack((-0.99 * r + G * np.sin(theta), 0.2 + G * np.cos(theta) / r))
    force = result["u"] / np.column_stack((np.ones_like(r), r**2))  # the paper has M = I
    np.testing.assert_allclose(force, expected, **WITHIN)


def test_the_rates_of_the_flexible_arm_lose_their_sum_exponentially():
    result = simulate(Scenario.load("flexible-joint-arm-links"))
    expected = 0.9 * np.exp(-result.time / 0.4)
    np.testing.assert_allclose(result["beta"][:, 0], expected, **WITHIN)
