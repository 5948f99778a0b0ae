"""Single searches for configurations that put a frame somewhere, beside an arm's closed form."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Loop, Scenario
from ukctrl.analysis.check.reach_search import DRAWN, Search, _step

LENGTH, UPPER, LOWER, G = 0.5, 2.0, 1.5, 9.81
"""Of a link, and the masses of both, half way along them."""
ELBOWS = (-1.0, 1.0)
ENDS = np.array([3.2, 2.8])


def search(*blocks, robot='"two_link"', frame="tool", q=(0.7, -1.7)):
    text = f"""
        title = "Reach"
        robot = {robot}
        start = {{ q = {{ shoulder = {q[0]}, elbow = {q[1]} }} }}
        timing = {{ duration = 1.0 }}
        controller = {{ use = "servo-baumgarte" }}

        [[servo]]
        kind = "point_follows"
        frame = "tool"
        axes = "xz"
        path = {{ kind = "constant", value = [0.5, 0.0] }}
    """
    return Search(Loop(Scenario.from_toml("\n".join([text, *blocks]))), frame)


PLAIN = search()


def bent(x, z, way):
    """Return the joint angles that put the tool at a point, the elbow bent this way."""
    r = np.hypot(x, z)
    elbow = way * np.arccos(r**2 / (2.0 * LENGTH**2) - 1.0)
    return np.array([np.arctan2(z, x) - 0.5 * elbow, elbow])


def torques(q):
    """Return what holds the arm at rest [N m]."""
    elbow = LOWER * G * 0.5 * LENGTH * np.cos(q.sum())
    return np.array([(0.5 * UPPER + LOWER) * G * LENGTH * np.cos(q[0]) + elbow, elbow])


@pytest.mark.parametrize("way", ELBOWS)
@pytest.mark.parametrize("goal", [(0.5, 0.1), (0.2, 0.1), (0.6, -0.3), (0.0, 0.8), (0.75, 0.05)])
def test_a_place_within_all_ranges_is_reached_from_where_the_search_begins(goal, way):
    seed = np.array([-0.7 * way, 1.7 * way])
    kind, why, q = PLAIN.attempt(seed, np.array([goal[0], 0.0, goal[1]]))
    assert (kind, why) == ("reached", "reached")
    turns = (q - bent(*goal, way)) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(PLAIN.place(q), [goal[0], 0.0, goal[1]], rtol=0.0, atol=1e-7)
    assert (np.abs(q) <= ENDS).all()


@pytest.mark.parametrize("goal", [(1.5, 0.0, 0.0), (0.5, 0.1, 0.0), (0.0, 0.0, -1.01)])
def test_a_place_that_is_too_far_is_not_found(goal):
    assert PLAIN.attempt(np.array([0.7, -1.7]), np.array(goal)) is None


def test_a_place_beyond_a_range_names_the_joint_that_is_farthest_beyond_its_own():
    near = PLAIN.attempt(np.array([0.7, -1.7]), np.array([0.01, 0.0, 0.05]))
    assert near[:2] == ("joint", "range of 'elbow'")
    assert near[2][1] < -2.8
    behind = PLAIN.attempt(np.array([0.7, -1.7]), np.array([-0.5, 0.0, 0.3]))
    assert behind[:2] == ("joint", "range of 'shoulder'")
    assert behind[2][0] > 3.2
    beneath = PLAIN.attempt(np.array([-0.7, 1.7]), np.array([-0.5, 0.0, -0.3]))
    assert beneath[:2] == ("joint", "range of 'shoulder'")
    assert beneath[2][0] < -3.2


WALL = """
[[keep]]
name = "wall"
kind = "half_space"
frame = "tool"
point = [0.7, 0.0, 0.0]
normal = [-1.0, 0.0, 0.0]
margin = 0.05

[[keep]]
name = "floor"
kind = "half_space"
frame = "tool"
point = [0.0, 0.0, -0.5]
normal = [0.0, 0.0, 1.0]
"""


def test_what_is_kept_stands_in_the_way_with_its_margin_the_worst_of_it():
    walled = search(WALL)
    for goal, why in [
        ((0.64, 0.0), "reached"), ((0.66, 0.0), "kept 'wall'"), ((0.3, -0.49), "reached"),
        ((0.3, -0.51), "kept 'floor'"), ((0.67, -0.51), "kept 'wall'"),
        ((0.67, -0.55), "kept 'floor'"),
    ]:  # fmt: skip
        found = walled.attempt(np.array([0.7, -1.7]), np.array([goal[0], 0.0, goal[1]]))
        assert found[1] == why, goal


def motors(*limits, joints=("shoulder", "elbow")):
    blocks = (
        f'{{ kind = "joint", joint = "{joint}", limit = {limit} }}'
        for joint, limit in zip(joints, limits, strict=True)
    )
    return f'{{ use = "two_link", actuator = [{", ".join(blocks)}] }}'


@pytest.mark.parametrize("way", ELBOWS)
@pytest.mark.parametrize("goal", [(0.5, 0.1), (0.9, 0.0), (0.3, -0.6)])
def test_a_motor_that_cannot_hold_the_arm_is_named_by_what_it_lacks_most(goal, way):
    needed = np.abs(torques(bent(*goal, way)))
    seed = np.array([-0.7 * way, 1.7 * way])
    for limits, why in [
        (1.001 * needed, "reached"),
        (needed * [1.001, 0.99], "motor 'elbow' too weak"),
        (needed * [0.99, 1.001], "motor 'shoulder' too weak"),
        (needed * [0.9, 0.8], "motor 'elbow' too weak"),
        (needed * [0.8, 0.9], "motor 'shoulder' too weak"),
    ]:
        weak = search(robot=motors(*(float(each) for each in limits)))
        kind, found, _ = weak.attempt(seed, np.array([goal[0], 0.0, goal[1]]))
        assert (kind, found) == ("reached" if why == "reached" else "motor", why)


def test_a_joint_that_nothing_holds_is_named():
    loose = search(robot=motors(100.0, joints=("shoulder",)))
    goal = np.array([0.5, 0.0, 0.1])
    assert loose.attempt(np.array([0.7, -1.7]), goal)[:2] == ("motor", "nothing holds 'elbow'")
    down = np.array([0.5 * np.cos(0.5), 0.0, 0.5 * np.sin(0.5) - 0.5])  # the forearm hangs
    q = np.array([0.5, -0.5 - 0.5 * np.pi])
    assert loose.attempt(q, down)[0] == "reached"


def test_configurations_are_drawn_all_over_the_ranges():
    q = np.array(PLAIN.drawn)
    assert q.shape == (DRAWN, 2)
    assert (np.abs(q) <= ENDS).all()
    assert (q.max(axis=0) > 0.9 * np.minimum(ENDS, np.pi)).all()
    assert (q.min(axis=0) < -0.9 * np.minimum(ENDS, np.pi)).all()


def test_a_search_within_ranges_begins_and_stays_within_them():
    goal = np.array([0.5, 0.0, 0.1])
    kind, _, q = PLAIN.attempt(np.array([0.7, -9.0]), goal)
    assert kind == "reached"
    np.testing.assert_allclose(q, bent(0.5, 0.1, -1.0), rtol=0.0, atol=1e-6)


def test_a_damped_step_is_that_of_gauss_and_newton_where_the_error_is_small():
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    error = np.array([3e-6, -4e-6])
    np.testing.assert_allclose(_step(A, error), np.linalg.pinv(A) @ error, rtol=1e-9)
    row, far = np.array([[2.0]]), np.array([10.0])  # damped by a thousandth of its square
    np.testing.assert_allclose(_step(row, far), 20.0 / (4.0 + 0.1), rtol=1e-9)
