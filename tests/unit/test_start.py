"""Start states moved onto constraints: near, robustly with redundant rows, or refused by name."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.errors import StartError
from ukctrl.mechanics.constraints import Closure, Distance, Expression, LinearVelocity, Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference import Constant
from ukctrl.mechanics.start import solve_start

MET = 1e-11
NEAR = 1.6  # the nearest start is at most the error of the guess away; twice projected, a bit more


def linkage():
    robot = Robot.load("five_bar")
    return robot, Stack(passive_constraints(robot), robot)


def at(angle):
    c, s = np.cos(angle), np.sin(angle)
    links = [(k + 0.5 * c, 0.5 * s, angle) for k in range(3)]
    return np.ravel([*links, (1.0 + c, s, 0.0)])


@pytest.mark.parametrize("error", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("angle", [-45.0, 30.0])
def test_an_overconstrained_linkage_is_closed_near_where_it_was_guessed(angle, error):
    """Off the constraints twelve rows of rank eleven look independent, and lead far astray."""
    robot, stack = linkage()
    rng = np.random.default_rng(1)
    for _ in range(10):
        off, v = error * rng.standard_normal(12), rng.standard_normal(12)
        found = solve_start(stack, at(np.radians(angle)) + off, v)
        rows = stack.write(robot.snapshot(found.q, found.v))
        assert np.abs(rows.phi).max() < MET
        assert np.linalg.norm(found.dq) < NEAR * np.linalg.norm(off)
        # The linkage keeps its one freedom: all links turn at one rate.
        turning = found.v[[2, 5, 8]]
        np.testing.assert_allclose(turning, turning[0], rtol=0.0, atol=1e-5)
        np.testing.assert_allclose(rows.beta, 0.0, rtol=0.0, atol=1e-6)


def test_a_start_near_an_aligned_position_is_found():
    robot, stack = linkage()
    rng = np.random.default_rng(2)
    for _ in range(10):
        guess = at(0.0) + rng.choice([1e-3, 1e-2, 0.3]) * rng.standard_normal(12)
        found = solve_start(stack, guess, np.zeros(12))
        rows = stack.write(robot.snapshot(found.q, found.v))
        assert np.abs(rows.phi).max() < MET


def test_a_quaternion_moves_on_its_manifold():
    arm = Robot.load("floating_arm")
    rng = np.random.default_rng(3)
    stack = Stack([Closure(frames=("hand", "world"), type="weld")], arm)
    found = solve_start(stack, arm.random(rng), rng.standard_normal(arm.nv))
    np.testing.assert_allclose(np.linalg.norm(found.q[3:7]), 1.0, rtol=0.0, atol=1e-12)
    rows = stack.write(arm.snapshot(found.q, found.v))
    assert max(np.abs(rows.phi).max(), np.abs(rows.beta).max()) < MET
    moved = found.moved(arm)
    assert list(moved) == ["m", "rad", "m/s", "rad/s"]
    np.testing.assert_allclose(
        np.hypot(moved["m"], moved["rad"]), np.linalg.norm(found.dq), rtol=1e-12
    )


def reach(length):
    return Distance(frames=("world", "tool"), path=Constant(value=length), name="rod")


@pytest.mark.slow
def test_an_impossible_position_is_refused_with_its_worst_row():
    arm = Robot.load("two_link")
    with pytest.raises(StartError, match=r"no position .* worst row 'rod' is off by .* m\. Start"):
        solve_start(Stack([reach(9.0)], arm), np.array([0.3, 0.4]), np.zeros(2))
    apart = [Expression(phi="shoulder - 0.1", name="a"), Expression(phi="shoulder - 0.2", name="b")]
    with pytest.raises(
        StartError, match="no position .* worst row '[ab]' .* 'a', 'b' cannot be met"
    ):
        solve_start(Stack(apart, arm), np.zeros(2), np.zeros(2))


def test_an_impossible_velocity_is_refused_with_its_worst_row():
    arm = Robot.load("two_link")
    fast, slow = (
        LinearVelocity(coefficients={"elbow": 1.0}, path=Constant(value=value), name=name)
        for name, value in (("fast", 2.0), ("slow", 1.0))
    )
    with pytest.raises(StartError, match="no velocity .*Rows 'fast', 'slow' contradict"):
        solve_start(Stack([fast, slow], arm), np.zeros(2), np.zeros(2))


def test_run_and_check_say_how_far_the_start_was_moved():
    changes = {"start.q": {"link1_angle": "-40*deg"}, "timing.duration": 0.1}
    scenario = Scenario.load("five-bar", changes)
    found, run = check(scenario), simulate(scenario)
    moved = run.summary()["provenance"]["start_moved"]
    assert moved == found.start.moved
    assert set(moved) == {"rad", "m", "rad/s", "m/s"}
    assert moved["m"] > 1e-3
    assert moved["rad/s"] == 0.0
