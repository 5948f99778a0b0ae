"""Start states moved onto constraints: near, robustly with redundant rows, or refused by name."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.errors import StartError
from ukctrl.mechanics.consistent_state import (
    _conflicting_rows,
    _least_squares_residual,
    consistent_configuration,
    consistent_state,
    least_norm_change,
    random_consistent_configuration,
)
from ukctrl.mechanics.constraints import Closure, Distance, Expression, LinearVelocity, Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference import Constant

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
        found = consistent_state(stack, at(np.radians(angle)) + off, v)
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
        found = consistent_state(stack, guess, np.zeros(12))
        rows = stack.write(robot.snapshot(found.q, found.v))
        assert np.abs(rows.phi).max() < MET


def test_a_quaternion_moves_on_its_manifold():
    arm = Robot.load("floating_arm")
    rng = np.random.default_rng(3)
    stack = Stack([Closure(frames=("hand", "world"), type="weld")], arm)
    found = consistent_state(stack, arm.random(rng), rng.standard_normal(arm.nv))
    np.testing.assert_allclose(np.linalg.norm(found.q[3:7]), 1.0, rtol=0.0, atol=1e-12)
    rows = stack.write(arm.snapshot(found.q, found.v))
    assert max(np.abs(rows.phi).max(), np.abs(rows.beta).max()) < MET
    moved = found.correction_sizes(arm)
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
        consistent_state(Stack([reach(9.0)], arm), np.array([0.3, 0.4]), np.zeros(2))
    apart = [Expression(phi="shoulder - 0.1", name="a"), Expression(phi="shoulder - 0.2", name="b")]
    with pytest.raises(
        StartError, match="no position .* worst row '[ab]' .* 'a', 'b' cannot be met"
    ):
        consistent_state(Stack(apart, arm), np.zeros(2), np.zeros(2))


def test_an_impossible_velocity_is_refused_with_its_worst_row():
    arm = Robot.load("two_link")
    fast, slow = (
        LinearVelocity(coefficients={"elbow": 1.0}, path=Constant(value=value), name=name)
        for name, value in (("fast", 2.0), ("slow", 1.0))
    )
    with pytest.raises(StartError, match="no velocity .*Rows 'fast', 'slow' contradict"):
        consistent_state(Stack([fast, slow], arm), np.zeros(2), np.zeros(2))


def test_run_and_check_say_how_far_the_start_was_moved():
    changes = {"start.q": {"link1_angle": "-40*deg"}, "timing.duration": 0.1}
    scenario = Scenario.load("five-bar", changes)
    found, run = check(scenario), simulate(scenario)
    moved = run.summary()["provenance"]["start_moved"]
    assert moved == found.start.moved
    assert set(moved) == {"rad", "m", "rad/s", "m/s"}
    assert moved["m"] > 1e-3
    assert moved["rad/s"] == 0.0


POSTURE = """
title = "posture"
robot = "two_link"
start = { q = { shoulder = 0.5, elbow = 0.3 }, solve = true, hold = ["shoulder"] }
timing = { duration = 0.1 }
controller = { use = "servo-baumgarte" }
[[servo]]
kind = "joint_follows"
joints = ["shoulder", "elbow"]
path = { kind = "constant", value = [0.5, 0.3] }
"""


def test_a_held_joint_that_a_row_wants_where_it_is_stays():
    """From home, where the joint is at zero, there is no way on which the row holds."""
    scenario = Scenario.from_toml(POSTURE)
    assert check(scenario).verdict == "ready"
    np.testing.assert_array_equal(simulate(scenario)["q"][0], [0.5, 0.3])
    near = simulate(scenario.replace({"start.q": {"shoulder": 0.5, "elbow": 0.31}}))
    np.testing.assert_allclose(near["q"][0], [0.5, 0.3], rtol=0.0, atol=MET)
    with pytest.raises(
        StartError, match=r"'joints.shoulder' is off by 1.0e-02 rad\..* met without"
    ):
        simulate(scenario.replace({"start.q": {"shoulder": 0.51, "elbow": 0.3}}))


def test_a_start_on_the_rows_stays_in_its_own_assembly():
    """Of the two in which a linkage closes, the way from home ends in the other one."""
    robot, stack = linkage()
    home, folded = at(np.radians(-45.0)), at(np.radians(120.0))
    held = [robot.dofs.index("link1_angle")]
    found = consistent_state(stack, folded, np.zeros(12), 0.0, held, home)
    np.testing.assert_allclose(found.q, folded, rtol=0.0, atol=MET)


# The parts one by one


def test_the_least_change_meets_the_rows_and_leaves_what_is_held():
    A, d = np.array([[1.0, 2.0, 2.0], [2.0, 4.0, 4.0]]), np.array([9.0, 18.0])
    rank = RankPolicy()
    np.testing.assert_allclose(least_norm_change(A, d, rank), [1.0, 2.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(least_norm_change(A, d, rank, [0]), [0.0, 2.25, 2.25], rtol=1e-12)
    np.testing.assert_array_equal(A, [[1.0, 2.0, 2.0], [2.0, 4.0, 4.0]])


def test_rows_that_stand_against_each_other_are_told_where_no_step_helps():
    A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    assert _conflicting_rows(A, np.array([0.5, 0.5, 0.0])) == (0, 1)
    assert (
        _conflicting_rows(A, np.array([0.5, 0.5, 0.9e-2 * 0.5])) == ()
    )  # a step still helps the third
    assert _conflicting_rows(A * [[1.0], [1.0], [0.0]], np.array([0.5, 0.5, 0.9e-2 * 0.5])) == (
        0,
        1,
    )
    assert _conflicting_rows(A * [[1.0], [1.0], [0.0]], np.array([0.5, 0.5, 1.1e-2 * 0.5])) == (
        0,
        1,
        2,
    )
    assert _conflicting_rows(A, np.array([0.5, -0.5, 0.0])) == ()
    assert _conflicting_rows(A, np.array([np.nan, 0.5, 0.0])) == ()
    residual = _least_squares_residual(A, np.array([1.0, 0.0, 3.0]), RankPolicy())
    np.testing.assert_allclose(residual, [0.5, 0.5, 0.0],
                               atol=1e-12)  # fmt: skip
    assert np.isinf(_least_squares_residual(A, np.array([np.inf, 0.0, 0.0]), RankPolicy())[0])


ARM = Robot.load("two_link")


def on_circle(radius):
    """Hold the distance of the tool from the base: the elbow's angle follows."""
    return Stack([Expression(name="reach", phi=f"cos(elbow) - {np.cos(radius)}")], ARM)


def test_held_coordinates_stay_to_the_last_digit_and_the_others_follow():
    stack = Stack([Expression(name="sum", phi="shoulder + elbow - 1", unit="rad")], ARM)
    guess = np.array([0.3, 0.1])
    free = consistent_state(stack, guess, np.zeros(2))
    np.testing.assert_allclose(free.q, [0.6, 0.4], rtol=1e-12)
    np.testing.assert_allclose(free.dq, [0.3, 0.3], rtol=1e-12)
    held = consistent_state(stack, guess, np.array([2.0, 0.0]), held=[0])
    assert held.q[0] == 0.3
    np.testing.assert_allclose(held.q, [0.3, 0.7], rtol=1e-12)
    np.testing.assert_allclose(held.v, [2.0, -2.0], rtol=1e-12)
    np.testing.assert_allclose(held.dv, [0.0, -2.0], rtol=1e-12)


@pytest.mark.parametrize("way", [1.0, -1.0, 0.1])
def test_from_a_home_the_others_follow_in_small_strides(way):
    """Of branches that are half a turn apart, the one from home, though another is nearer."""
    link = Expression(name="link", phi="sin(elbow - 3*shoulder)")
    stack, guess = Stack([link], ARM), np.array([way, 0.0])
    found = consistent_state(stack, guess, np.zeros(2), held=[0], home=np.zeros(2))
    assert found.q[0] == way
    np.testing.assert_allclose(found.q[1], 3.0 * way, rtol=1e-9)
    np.testing.assert_allclose(found.dq, [0.0, 3.0 * way], rtol=1e-9)
    near = consistent_state(stack, guess, np.zeros(2), held=[0]).q[1]
    np.testing.assert_allclose(near, 3.0 * way - np.pi * np.round(3.0 * way / np.pi), rtol=1e-9)


def test_positions_are_looked_for_elsewhere_and_none_is_where_there_is_none():
    assert random_consistent_configuration(on_circle(1.0)) is not None
    never = Stack([Expression(name="never", phi="cos(elbow) - 2")], ARM)
    assert random_consistent_configuration(never) is None
    q = consistent_configuration(
        on_circle(1.0), ARM.snapshot(ARM.neutral), np.array([0.2, 0.7]), 0.0
    )
    np.testing.assert_allclose(q, [0.2, 1.0], rtol=1e-9)
