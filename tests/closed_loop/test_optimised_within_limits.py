"""Optimised paths that keep what the scenario keeps, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from extras import needs

from tests.shared.platform_on_legs import platform_text
from tests.shared.slow import slow_but
from ukctrl import Robot, Scenario, simulate
from ukctrl.control import ComputedTorque
from ukctrl.control.safety import CylinderLimit, FormulaLimit, JointLimits
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Optimised
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl_optimal.optimised_rows import optimal_path_motion

SOLVED = 1e-6
"""Part of a time or an effort by which the solver and the price of inputs may be off."""
INSIDE = -1e-6
"""What is told of crossings between points of the grid is more [unit]."""


def particle(axes, limit=None):
    """A particle of 1 kg with a motor along every axis."""
    motors = [JointMotor(name=f"F_{axis}", joint=axis, limit=limit) for axis in axes]
    kinetic = " + ".join(f"v.{axis}**2/2" for axis in axes)
    return Robot.build(
        Lagrangian(coordinates=dict.fromkeys(axes, "m"), kinetic=kinetic, potential=f"0*{axes[0]}",
                   parameters={}),
        Options(actuator=motors),
    )  # fmt: skip


def scenario(robot, q, to, *keep, v=None, **path):
    row = JointFollows(joints=robot.dofs, path=Optimised(to=to, **path))
    start = {"q": q} if v is None else {"q": q, "v": v}
    law = ComputedTorque(kp=100.0, kd=20.0)
    return Scenario(title="A motion beside what is kept", robot=robot, start=start, servo=(row,),
                    keep=keep, controller=law, timing={"duration": 1.0})  # fmt: skip


def motion(*given, **path):
    return optimal_path_motion(scenario(*given, **path))


def along(found, order=0, count=5001):
    """Return the motion, or its rates, at many times."""
    times = np.linspace(found.pieces.times[0], found.pieces.times[-1], count)
    return np.array([found.pieces.series(t, order)[order] for t in times.tolist()])


@pytest.mark.slow
@needs("casadi")
def test_a_position_wall_costs_the_effort_of_its_closed_form():
    """The first half of the problem of Bryson & Denham, 1963: a mass at 1 m/s stops at a wall that
    is 0.1 m away with u = -2/(3 l) (1 - t/(3 l)), and rests there.
    """
    free = motion(particle("x"), [0.0], [0.1], v=[1.0], duration=1.0, steps=3)
    assert along(free).max() > 0.15
    wall = FormulaLimit(h="0.1 - x")
    found = motion(particle("x"), [0.0], [0.1], wall, v=[1.0], duration=1.0, steps=10)
    assert found.effort == pytest.approx(4.0 / (9.0 * 0.1), rel=SOLVED)
    assert along(found).max() < 0.1 - INSIDE


FAST = (
    JointLimits(limits=("speeds",), speed=1.0),
    FormulaLimit(h="1 - v.x"),
    FormulaLimit(h="1 - v.x**2"),
)


@pytest.mark.slow
@needs("casadi")
@pytest.mark.parametrize("keep", FAST, ids=["joint_limits", "formula", "square"])
def test_a_kept_speed_makes_full_force_wait_in_between(keep):
    found = motion(particle("x", 1.0), [0.0], [4.0], keep, cost="time", steps=10)
    assert found.duration == pytest.approx(4.0 / 1.0 + 1.0 / 1.0, rel=SOLVED)
    assert along(found, 1).max() < 1.0 - INSIDE


@pytest.mark.slow
@needs("casadi")
def test_a_margin_is_kept_as_well():
    keep = FormulaLimit(h="1 - v.x", margin=0.5)
    found = motion(particle("x", 1.0), [0.0], [4.0], keep, cost="time", steps=17)
    assert found.duration == pytest.approx(4.0 / 0.5 + 0.5, rel=SOLVED)


@pytest.mark.slow
@needs("casadi")
def test_a_kept_acceleration_is_the_limit_where_the_motor_has_more():
    keep = JointLimits(limits=("accelerations",), acceleration=0.25)
    found = motion(particle("x", 1.0), [0.0], [4.0], keep, cost="time", steps=10)
    assert found.duration == pytest.approx(2.0 * np.sqrt(4.0 / 0.25), rel=SOLVED)


@pytest.mark.slow
@needs("casadi")
def test_a_wall_that_moves_away_is_followed_until_there_is_room_to_brake():
    """With x <= t/2 and braking at 1 m/s^2, 4 - s^2/2 <= (T - s)/2 a time s before the end."""
    keep = FormulaLimit(h="t/2 - x")
    found = motion(particle("x", 1.0), [0.0], [4.0], keep, cost="time", steps=33)
    assert found.duration == pytest.approx(8.25, rel=1e-5)  # the input is a line over each step


@needs("casadi")
def test_a_limit_that_has_no_value_later_is_no_obstacle_before():
    keep = FormulaLimit(h="sqrt(1.5 - t) - 0.1*x")
    found = motion(particle("x"), [0.0], [1.0], keep, duration=1.0, steps=3, stages=2)
    assert found.effort == pytest.approx(12.0, rel=SOLVED)


@pytest.mark.slow
@needs("casadi")
@pytest.mark.parametrize(("below", "way"), [(0.1, 0), (0.0, 1)])
def test_a_post_in_the_way_is_touched_once_at_the_effort_of_cubics(below, way):
    """To a height and back within T costs 192 height^2/T^3 beside the straight way's 48/T^3. The
    straight way through the middle has no side, and a bent one is taken.
    """
    keep = FormulaLimit(name="post", h=f"sqrt(x**2 + (y + {below})**2) - 0.4")
    found = motion(particle("xy"), [-1.0, 0.0], [1.0, 0.0], keep, duration=2.0, steps=8)
    assert found.effort == pytest.approx((48.0 + 192.0 * (0.4 - below) ** 2) / 8.0, rel=SOLVED)
    x, y = along(found).T
    assert (np.hypot(x, y + below) - 0.4).min() > INSIDE
    assert found.guess == way
    assert found.violations == ()


@pytest.mark.slow
def test_least_time_at_a_kept_speed_goes_along_tangents_and_an_arc():
    post = FormulaLimit(name="post", h="x**2 + (y + 0.1)**2 - 0.16")
    fast = FormulaLimit(name="fast", h="1 - v.x**2 - v.y**2")
    push, r, d = 20.0, 0.4, np.hypot(1.0, 0.1)
    found = motion(particle("xy", push), [-1.0, 0.0], [1.0, 0.0], post, fast, cost="time", steps=20)
    arc = np.pi - 2.0 * np.arctan(0.1) - 2.0 * np.arccos(r / d)
    shortest = 2.0 * np.sqrt(d**2 - r**2) + r * arc
    way = along(found)
    length = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
    assert shortest < length < 1.005 * shortest
    diagonal = push * np.sqrt(2.0)  # no push is more, and along an axis it is less
    assert shortest + 1.0 / diagonal < found.duration < shortest + 1.5 / push
    assert (np.hypot(way[:, 0], way[:, 1] + 0.1) - r).min() > INSIDE
    assert np.linalg.norm(along(found, 1), axis=1).max() < 1.0 - INSIDE


CENTER = (-0.04, 0.0, 0.234)


@pytest.mark.slow
@needs("casadi")
@pytest.mark.parametrize("margin", slow_but([0.02], [0.0, 0.02]))
def test_an_arm_goes_around_a_post_that_it_would_go_through(margin):
    robot, across = Robot.load("two_link"), (0.0, 1.0, 0.0)
    keep = CylinderLimit(frame="tool", center=CENTER, axis=across, radius=0.1, margin=margin)
    given = robot, {"shoulder": 0.2, "elbow": 0.9}, [1.4, 0.3]

    def least(found):
        places = [robot.snapshot(q).frame("tool").position for q in along(found)]
        return np.linalg.norm((np.array(places) - CENTER)[:, [0, 2]], axis=1).min() - 0.1

    free, around = (motion(*given, *kept, duration=1.0, steps=6) for kept in ((), (keep,)))
    assert least(free) < -0.05
    assert margin + INSIDE < least(around) < margin + 1e-4
    assert around.effort > free.effort


AROUND = platform_text("""
path = { kind = "optimised", to = [0.06, 0.05, "20*deg"], duration = 0.5, steps = 4 }
[[keep]]
kind = "cylinder"
name = "post"
frame = "platform"
center = [0.03, 0.02, 0.0]
radius = 0.015
decay = 1e-3
[[keep]]
kind = "expression"
name = "slow"
h = "0.27 - v.upper0_angle"
decay = 1e-3
[controller]
use = "servo-exact"
[timing]
duration = 0.5
sample = 0.001
""")


@pytest.mark.slow
def test_a_closed_chain_keeps_away_with_its_platform_and_slow_with_a_leg_that_follows():
    def least(text):
        result = simulate(Scenario.from_toml(text))
        names = result.labels
        x, y = (result["q"][:, names.coordinates.index(f"platform_{axis}")] for axis in "xy")
        turn = result["v"][:, names.dofs.index("upper0_angle")]
        return np.hypot(x - 0.03, y - 0.02).min() - 0.015, 0.27 - turn.max()

    head, tail = AROUND.index("[[keep]]"), AROUND.index("[controller]")
    free = least(AROUND[:head] + AROUND[tail:])
    kept = least(AROUND)
    assert free[0] < -0.01
    assert free[1] < -0.01
    assert min(kept) > -1e-5


SLALOM = (
    FormulaLimit(name="first", h="(x + 0.3)**2 + (y + 0.05)**2 - 0.04"),
    FormulaLimit(name="second", h="(x - 0.3)**2 + (y - 0.25)**2 - 0.16"),
)


@pytest.mark.slow
def test_several_starts_find_the_better_side_of_two_posts_and_the_seed_decides_which():
    def found(starts, seed=0):
        given = scenario(particle("xy"), [-1.0, 0.0], [1.0, 0.0], *SLALOM, duration=2.0, steps=6,
                         stages=3, **({"starts": starts} if starts else {}))  # fmt: skip
        return optimal_path_motion(given.replace({"seed": seed}))

    one, several = found(None), found(3)
    assert several.effort < 0.6 * one.effort
    assert several.guess > 0
    assert f"way {several.guess + 1} of 3" in several.sentence()
    again = found(3)
    np.testing.assert_array_equal(again.pieces.coefficients, several.pieces.coefficients)


def refused(said, *given, **path):
    return pytest.param(given, path, said, id=said[:24])


@pytest.mark.slow(only=["must be a motion that ke1"])
@needs("casadi")
@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        refused("must begin within what is kept; 'wall' is crossed there by 0.5", particle("x"),
                [0.0], [1.0], FormulaLimit(name="wall", h="x - 0.5"), duration=1.0),
        refused("must end within what is kept; 'wall' is crossed there by 0.6, its margin",
                particle("x"), [0.0], [1.0], FormulaLimit(name="wall", h="0.5 - x", margin=0.1),
                duration=1.0),
        refused("must be a motion that keeps 'gate'; .* crosses 'gate'", particle("x"), [-1.0],
                [1.0], FormulaLimit(name="gate", h="x**2 - 0.25"), duration=1.0, steps=3,
                stages=2, starts=1),
        refused("must be a motion that keeps 'slow'; .* crosses 'slow'", particle("x", 2.0),
                [-1.0], [1.0], FormulaLimit(name="slow", h="0.5 - v.x"), duration=2.0, steps=4),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_named(given, path, said):
    with pytest.raises(InputError, match=said):
        motion(*given, **path)
