"""A weak grip beside two masses, and what `check` proposes for a robot without a task."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis.check.first_scenario import _angle, _goal, _head, _joint_motion
from ukctrl.analysis.check.motion_ranks import weakest_authority
from ukctrl.analysis.check.robot_check import _bodies, _joints, _missing, check_robot
from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.control import Baumgarte, LeastNorm, Servo
from ukctrl.core.errors import StartError
from ukctrl.mechanics.constraints import Expression
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.home_configuration import close_loops, home_configuration
from ukctrl.mechanics.relative_degree import RelativeDegree
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import StartState, Timing

# The weakest grip


def coupled(eps, k=0.0, phi="x2", motors=("F",), start=None):
    """Return two masses of 1 kg, with so much of one's inertia in the other's equation."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x1": "m", "x2": "m"},
            kinetic="v.x1**2/2 + v.x2**2/2 + eps*v.x1*v.x2",
            potential="k/2*(x2 - x1)**2",
            parameters={"eps": eps, "k": k},
            inputs={name: {"x1": 1.0} for name in motors},
        )
    )
    return Loop(
        Scenario(
            title="test",
            robot=robot,
            servo=(Expression(name="far", phi=phi, unit="m"),),
            start=StartState(q=start or {}),
            controller=Servo(feedback=Baumgarte(alpha=3.0, beta=2.0), allocation=LeastNorm()),
            timing=Timing(duration=1.0),
        )
    )


def motion(*q):
    """Return a motion through these places, 0.5 s apart."""
    t, q = 0.5 * np.arange(len(q)), np.array(q).reshape(-1, 2)
    return TaskMotion(kind="law", t=t, q=q, v=0.0 * q, a=0.0 * q)


STILL = motion((0.0, 0.0), (0.0, 0.0))
WEAK = (
    "the motors have a weak grip of row 'far': 1.0e-05 of their authority over it on the free "
    "robot (t = 0 s): the row takes {} N of motor 'F', {} times the weight of what it drives."
)
INVERSE = " Inputs grow as its inverse: lead the task elsewhere, or add a motor."


@pytest.fixture
def degrees(monkeypatch):
    """Say of which relative degree rows are without their weak grip; they take a while."""

    def say(**values):
        found = [
            RelativeDegree(name=name, value=value, at_least=2) for name, value in values.items()
        ]
        module = sys.modules[weakest_authority.__module__]
        monkeypatch.setattr(module, "relative_degrees", lambda *given, least: found)

    say()
    return say


@pytest.mark.parametrize(("eps", "found"), [(1.1e-3, False), (0.9e-3, True)])
def test_a_grip_below_a_thousandth_is_weak(eps, found, degrees):
    """A force on x1 accelerates x2 by eps of what it would, were it at x2."""
    weak = weakest_authority(coupled(eps), STILL, None, {})
    assert (weak is not None) is found
    if weak is not None:
        assert (weak.row, weak.hold, weak.at) == ("far", "weak", 0.0)
        assert weak.weakest == pytest.approx(eps)


@pytest.mark.parametrize(
    ("values", "way"),
    [
        ({"far": 4}, " With rank.servo = 1e-04 that counts as none, and the relative degree of "
                     "the row is 4. Use "),
        ({"other": 4, "far": 2}, INVERSE),
        ({"far": None}, INVERSE),
        ({"other": 4}, INVERSE),
    ],
)  # fmt: skip
def test_a_weak_grip_comes_with_its_price_and_its_way_out(values, way, degrees):
    """3 N of 9.81 N; a row behind a spring has another relative degree without that."""
    degrees(**values)
    found = weakest_authority(coupled(1e-5), STILL, None, {"F": 3.0})
    assert found.text.startswith(WEAK.format(3, 0.31) + way)


def test_the_price_is_the_largest_input_that_is_known(degrees):
    loop = coupled(1e-5)
    loads = SimpleNamespace(law=np.array([[5.0], [np.nan]]), needed=np.array([[-6.0], [np.nan]]))
    assert "6 N of motor 'F'" in weakest_authority(loop, STILL, loads, {"F": 3.0}).text
    assert "7 N of motor 'F'" in weakest_authority(loop, STILL, loads, {"F": -7.0}).text
    assert " N of motor" not in weakest_authority(loop, STILL, None, {}).text


def test_a_grip_that_is_lost_is_told_of_laws_that_need_one():
    lost = coupled(0.0, 9.0)
    found = weakest_authority(lost, STILL, None, {"F": 3.0})
    assert (found.hold, found.weakest) == ("lost", 0.0)
    assert found.text.startswith("the motors have no grip of row 'far': 0.0e+00 of ")
    assert found.text.endswith(" (t = 0 s).")
    without = SimpleNamespace(needs_grip=False)
    scenario = SimpleNamespace(controller=without)
    same = {name: getattr(lost, name) for name in ("servo", "t0", "state", "plant_at", "robot")}
    other = SimpleNamespace(scenario=scenario, **same)
    assert weakest_authority(other, STILL, None, {}) is None


def test_the_weakest_grip_is_told_where_it_is_first_along_the_motion(degrees):
    """Of phi = x1 x2 the driven x1 moves it by x2, and x2 by x1: weak where x2 is small."""
    loop = coupled(0.0, phi="x1*x2 - 1", start={"x1": 1.0, "x2": 1.0})
    way = motion((1.0, 1e-4), (1.0, 5e-5), (1.0, 5e-5), (1.0, 2e-4))
    found = weakest_authority(loop, way, None, {})
    assert (found.at, found.weakest) == (0.5, pytest.approx(5e-5))
    assert weakest_authority(loop, motion((1.0, 1.0), (1.0, 0.5)), None, {}) is None


# Where a robot begins, and its first move


def simple(neutral, low, high, at_home=None):
    return SimpleNamespace(
        home=at_home, neutral=np.array(neutral), q_lower=np.array(low), q_upper=np.array(high)
    )


def test_a_robot_begins_at_home_or_at_zero_where_its_limits_allow():
    inf = np.inf
    low, high = [-1.0, 0.5, 0.5, -inf, -3.0], [1.0, 1.5, inf, -0.5, -1.0]
    np.testing.assert_array_equal(
        home_configuration(simple(np.zeros(5), low, high)), [0, 1.0, 0.5, -0.5, -2.0]
    )
    at_home = np.ones(5)
    assert home_configuration(simple(np.zeros(5), low, high, at_home)) is at_home
    kept = simple([0.5, -0.5], [0.5, -1.0], [1.0, -0.5])
    np.testing.assert_array_equal(home_configuration(kept), [0.5, -0.5])


def test_a_closed_chain_begins_where_its_loops_are_closed():
    robot = Robot.load("five_bar")
    q = close_loops(robot, home_configuration(robot))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, np.zeros(robot.nv))
    np.testing.assert_allclose(dynamics.passive.rows.phi, 0.0, atol=1e-9)
    free = Robot.load("two_link")
    np.testing.assert_array_equal(close_loops(free, np.array([0.3, 0.4])), [0.3, 0.4])


@pytest.mark.parametrize(("elsewhere", "begins"), [(None, [0.3, 0.4]), ([1.0, 2.0], [1.0, 2.0])])
def test_a_chain_that_does_not_close_near_home_begins_elsewhere_or_open(
    monkeypatch, elsewhere, begins
):
    def refused(*given):
        raise StartError("no.")

    module = sys.modules[close_loops.__module__]
    monkeypatch.setattr(module, "consistent_state", refused)
    monkeypatch.setattr(module, "random_consistent_configuration", lambda stack: elsewhere)
    assert list(close_loops(Robot.load("two_link"), np.array([0.3, 0.4]))) == begins


def block(iq=0, iv=0, nq=1, name="j", nv=1):
    return SimpleNamespace(iq=iq, iv=iv, nq=nq, nv=nv, dofs=(name,))


@pytest.mark.parametrize(("at", "goal"), [(0.0, 0.2), (0.8, 1.0), (0.81, 0.61), (-1.0, -0.8)])
def test_a_small_move_ends_within_the_limits(at, goal):
    robot = simple([0.0], [-1.0], [1.0])
    robot.dof_units = ("rad/s",)
    assert _goal(robot, block(), at, 1.0) == pytest.approx(goal)
    assert _goal(robot, block(nq=2), at, 1.0) == pytest.approx(at + 0.2)
    assert _goal(robot, block(), at, 0.1) == pytest.approx(at + 0.02)
    slide = simple([0.0], [-1.0], [1.0])
    slide.dof_units = ("m/s",)
    assert _goal(slide, block(), -0.5, 1.0) == pytest.approx(-0.45)
    narrow = simple([0.0], [-0.05], [0.1])
    narrow.dof_units = ("rad/s",)
    assert _goal(narrow, block(), 0.0, 1.0) == pytest.approx(-0.05)


def test_a_joint_that_turns_without_end_stands_at_the_angle_of_its_pair():
    q = np.array([9.0, np.cos(2.0), np.sin(2.0), 0.123456789])
    assert _angle(block(iq=1, nq=2), q) == pytest.approx(2.0)
    assert _angle(block(iq=3), q) == 0.123457


def slides(*motors, **more):
    """Return slides x1, x2 and x3 on their own, with these motors."""
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(("x1", "x2", "x3"), "m"),
            kinetic="v.x1**2/2 + v.x2**2/2 + v.x3**2/2",
        ),
        Options(actuator=[JointMotor(name=f"F{n}", joint=f"x{n}") for n in motors], **more),
    )


def written(robot, q):
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, np.zeros(robot.nv))
    return _joint_motion(robot, "slides.toml", q, dynamics, 1.0)


def test_what_motors_move_makes_the_first_move():
    text = written(slides(3, 1), np.array([0.0, 0.0, 0.5]))
    assert 'joints = ["x1", "x3"]' in text
    assert "points = [[0, 0.5], [0.05, 0.55]]" in text
    assert "start.q.x3 = 0.5\n" in text
    assert "start.q.x1" not in text
    assert "start.solve" not in text
    assert 'joints = ["x2"]' in written(slides(2), np.zeros(3))


def test_a_start_at_home_is_not_written():
    robot = Robot.load("two_link", override={"home": {"elbow": 0.5}})
    assert "start.q" not in _head(robot, "r", "moves", np.array([0.0, 0.5]))
    assert "start.q.shoulder = 0.25\n" in _head(robot, "r", "moves", np.array([0.25, 0.5]))
    head = _head(slides(1), "r", "moves", np.array([0.0, -0.25, 0.0]))
    assert head.endswith('moves"\nrobot = "r"\nstart.q.x2 = -0.25\n')
    passive = Robot.load("five_bar")
    assert "start.solve = true\n" in _head(passive, "r", "moves", passive.neutral)


# What a robot's file says


def test_joints_have_their_limits_motors_and_efforts():
    robot = slides(
        1, 3, limit=[{"joint": "x2", "position": [-1.0, 2.0], "velocity": 3.0}],
    )  # fmt: skip
    one, two, three = _joints(robot)
    assert (one.name, one.unit, one.motors, one.effort) == ("x1", "m/s", ("F1",), np.inf)
    assert (two.lower, two.upper, two.fastest, two.motors) == (-1.0, 2.0, 3.0, ())
    assert (two.effort, three.motors) == (np.inf, ("F3",))
    assert np.isnan(one.mass)
    assert one.moments == ()
    assert _bodies(robot) == {}


def test_bodies_of_a_model_have_the_mass_and_moments_of_its_file():
    """Rods of 0.5 m: 2 kg with 1/12 m l^2 about the middle, 1.5 kg."""
    robot = Robot.load("two_link")
    shoulder, elbow = _joints(robot)
    assert (shoulder.mass, elbow.mass) == (2.0, 1.5)
    assert shoulder.moments[-1] == pytest.approx(2.0 * 0.25 / 12.0, rel=0.01)
    assert list(shoulder.moments) == sorted(shoulder.moments)


def test_two_motors_at_a_joint_have_no_effort_of_their_own():
    twice = Robot.build(
        Lagrangian(coordinates={"x1": "m"}, kinetic="v.x1**2/2"),
        Options(actuator=[JointMotor(name=name, joint="x1", limit=5.0) for name in "FP"]),
    )
    [joint] = _joints(twice)
    assert (joint.motors, joint.effort) == (("F", "P"), np.inf)
    [alone] = _joints(Robot.build(Lagrangian(coordinates={"x1": "m"}, kinetic="v.x1**2/2"),
                                  Options(actuator=[JointMotor(name="F", joint="x1",
                                                               limit=5.0)])))  # fmt: skip
    assert alone.effort == 5.0


def test_what_is_missing_is_told_by_the_joints_with_one_motor():
    robot = slides(1, 2, limit=[{"joint": "x1", "position": [-1.0, 2.0], "velocity": 3.0}])
    said = list(_missing(robot, tuple(_joints(robot))))
    assert said == [
        "no torque limit of any motor: write it as [[actuator]] limit in robot.toml, with a table "
        "for every motor.",
        "no speed limit of 'x2': write it as [[limit]] velocity in robot.toml.",
        "no range of 'x2': write it as [[limit]] position in robot.toml.",
        "no damping or friction at any joint: it moves without loss.",
    ]
    bare = slides()
    assert list(_missing(bare, tuple(_joints(bare)))) == [
        "no motor at all: list them as [[actuator]] in robot.toml.",
        "no damping or friction at any joint: it moves without loss.",
    ]


def test_a_check_of_a_robot_counts_what_it_has():
    found = check_robot("five_bar")
    robot = Robot.load("five_bar")
    assert (found.robot, found.freedoms, found.mobility) == ("five_bar", robot.nv, 1)
    assert "world" not in found.frames
    assert found.mass == pytest.approx(sum(one.mass for one in found.joints))
