"""Retimed paths: one clock for all rows of a scenario, as fast as the robot's limits allow."""

from __future__ import annotations

import itertools
import pickle
import shutil

import numpy as np
import pytest

from tests.shared.platform_on_legs import platform_text
from ukctrl import Robot, Scenario, simulate
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files.catalog import find
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.path_inverse_kinematics import follow_path, joint_rates
from ukctrl.mechanics.timing import GeometricPath, PathLimits, TimingLimits, time_optimal
from ukctrl.mechanics.timing.clock import clock_states
from ukctrl.robot import Perturbation
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import retimed_path_timing, servo_constraints
from ukctrl.simulation.scenario import BelievedRobot

BETWEEN = 5e-3
"""Part of a limit by which a motion may pass it between the points at which it is kept."""
UNUSED = 5e-2
"""Part of a limit that may be left of the one that binds, as an interval has one acceleration."""

ARM = """
title = "An upright arm along a line"
robot = ROBOT
[start]
q = { shoulder = 0.3, elbow = 1.2 }
solve = true
[[servo]]
kind = "point_follows"
frame = "tool"
axes = "xz"
path = PATH
MORE
[controller]
use = "servo-baumgarte"
[timing]
duration = 0.3
sample = 0.001
"""
LINE = """{ kind = "line", start = [0.51303685, 0.6465076], end = [0.01303685, 0.5465076],
 duration = 1.0, profile = "uniform" }""".replace("\n", "")


def arm(path=None, robot='"two_link"', more="", **says):
    said = "".join(f", {key} = {value}" for key, value in says.items())
    path = path or f'{{ kind = "retimed", of = {LINE}{said} }}'
    text = ARM.replace("PATH", path).replace("ROBOT", robot).replace("MORE", more)
    return Scenario.from_toml(text)


def test_a_line_takes_as_long_as_another_implementation_says():
    """toppra 0.6.10, interpolation scheme, on a cubic spline through the same 51 configurations."""
    scenario = arm(LINE)
    loop = Loop(scenario)
    rows = Stack(scenario.servo, loop.robot)
    reached = follow_path(rows, loop.state.q, np.linspace(0.0, 1.0, 51))
    path = GeometricPath(reached.t, reached.q, *joint_rates(rows, reached))
    limits = PathLimits(path, lambda s: loop.plant, TimingLimits())
    between = time_optimal(limits).duration
    limits.inner_square_speed[:] = np.inf  # toppra asks for speeds at the points alone
    timing = time_optimal(limits)
    assert timing.duration < between < 1.001 * timing.duration
    assert timing.duration == pytest.approx(0.19535998, rel=1e-5)  # the spline is not the path
    fine = retimed_path_timing(arm(smoothing=0.0)).duration  # whose points are closer at the ends
    assert 0.98 * timing.duration < fine < timing.duration


@pytest.mark.slow
def test_a_run_uses_the_limits_up_and_keeps_them():
    scenario = arm(smoothing=0.0)
    result, timing = simulate(scenario), retimed_path_timing(scenario)
    assert result.metric("peak_phi") < 1e-4
    robot = Loop(scenario).robot
    moving = result["time"] < timing.duration
    used = np.hstack(
        [np.abs(result["u"]) / robot.effort_limit, np.abs(result["v"]) / robot.velocity_limit]
    )[moving].max(axis=1)
    assert used.max() < 1.0 + BETWEEN
    assert (used > 1.0 - UNUSED).mean() > 0.97
    np.testing.assert_allclose(result["v"][-1], 0.0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.005, 0.02, 0.1])
def test_a_smoothed_run_keeps_the_limits_with_an_input_that_does_not_jump(smoothing):
    scenario = arm(smoothing=smoothing)
    result, robot = simulate(scenario), Loop(scenario).robot
    assert (np.abs(result["u"]).max(axis=0) < robot.effort_limit * (1.0 + BETWEEN)).all()
    assert (np.abs(result["v"]).max(axis=0) < robot.velocity_limit * (1.0 + BETWEEN)).all()
    [row] = servo_constraints(scenario)
    assert row.path.smoothness == 2.0


def test_without_smoothing_the_velocity_is_continuous_and_the_acceleration_is_not():
    [row] = servo_constraints(arm(smoothing=0.0))
    assert row.path.smoothness == 1.0


def test_law_and_record_have_the_same_rows_timed_on_the_robot_of_the_caller():
    scenario = arm()
    heavy = Robot.load("two_link").perturbed(Perturbation(mass_scale=2.0))
    loop = Loop(scenario, heavy)
    assert loop.servo is loop.law.stack
    [row], [timed], [light] = (
        loop.law.task.servo, servo_constraints(scenario, heavy), servo_constraints(scenario)
    )  # fmt: skip
    at = 0.1
    np.testing.assert_array_equal(row.path(at).r, timed.path(at).r)
    assert np.abs(row.path(at).r - light.path(at).r).max() > 1e-3


POSE = """
title = "A tool moves and turns"
robot = "ur5"
[start]
solve = true
[[servo]]
kind = "pose_follows"
frame = "tool"
[servo.path]
kind = "retimed"
of = { kind = "line", start = [0.45, -0.3, 0.4], end = [0.45, 0.1, 0.5], duration = 2.0, profile = "uniform" }
[servo.orientation]
kind = "retimed"
of = { kind = "between", rpy = [["180*deg", 0.0, "-90*deg"], ["160*deg", 0.0, "-60*deg"]], duration = 2.0, profile = "uniform" }
points = 60
[controller]
use = "servo-baumgarte"
[timing]
duration = 1.0
sample = 0.01
"""  # noqa: E501


def test_position_and_orientation_of_a_tool_share_one_clock():
    scenario = Scenario.from_toml(POSE)
    timing = retimed_path_timing(scenario)
    [row] = servo_constraints(scenario)
    given = scenario.servo[0]
    for t in np.linspace(0.0, 1.1 * timing.duration, 12):
        s, rate, bend = clock_states(timing.clock, np.array([t]))[0]
        r, dr, _ = given.path.of(min(s, 2.0 - 1e-12))
        np.testing.assert_allclose(row.path(t).r, r, atol=1e-9)
        np.testing.assert_allclose(row.path(t).r_dot, rate * dr, atol=1e-9)
        R, omega, _ = given.orientation.of(min(s, 2.0 - 1e-12))
        np.testing.assert_allclose(row.orientation(t).R, R, atol=1e-9)
        np.testing.assert_allclose(row.orientation(t).omega, rate * omega, atol=1e-9)
        np.testing.assert_allclose(row.orientation(t).omega_dot, bend * omega, atol=1e-9)
    assert len(timing.s) == 61


def test_what_one_path_says_of_the_timing_holds_for_all_and_may_not_be_contradicted():
    other = POSE.replace("[servo.orientation]", "points = 80\n[servo.orientation]")
    with pytest.raises(InputError, match="must agree on points; got 80 and 60"):
        retimed_path_timing(Scenario.from_toml(other))


@pytest.mark.slow
def test_all_controllers_are_asked_for_the_same_whatever_they_believe():
    scenario = arm()
    light = scenario.replace({"believed.mass_scale": 0.7})
    a, b = (retimed_path_timing(one) for one in (scenario, light))
    np.testing.assert_array_equal(a.clock.times, b.clock.times)


@pytest.mark.slow
def test_a_scenario_with_retimed_paths_is_written_read_and_sent_to_other_processes():
    scenario = arm(share=0.8, acceleration="{ elbow = 100.0 }")
    again = Scenario.from_toml(scenario.to_toml())
    assert again.servo == scenario.servo
    [row] = pickle.loads(pickle.dumps(servo_constraints(scenario)))
    np.testing.assert_array_equal(row.path(0.1).r, servo_constraints(scenario)[0].path(0.1).r)


REST = """
[servo.path]
kind = "retimed"
span = [0.0, "2*pi"]
smoothing = 0.0
of = { kind = "expression", components = ["0.05*sin(2*t)", "0.03*cos(3*t) - 0.03", "0.2*sin(t)"] }
[controller]
kind = "servo"
feedback = { kind = "baumgarte", alpha = 20.0, beta = 100.0 }
allocation = { kind = "bounded" }
[timing]
duration = 2.2
sample = 0.002
"""
ELBOWS = """
[[robot.linkage.repeat.leg.motor]]
name = "elbow{i}"
bodies = ["upper{i}", "lower{i}"]
limit = 1.0
"""


def platform(motors=""):
    return Scenario.from_toml(platform_text(REST, motors))


@pytest.mark.slow
@pytest.mark.parametrize(("motors", "at_limit"), [("", 1), (ELBOWS, 4)], ids=["three", "six"])
def test_a_closed_chain_always_has_as_many_motors_at_their_limits_as_it_can_do_without(
    motors, at_limit
):
    timing = retimed_path_timing(platform(motors))
    bound = [names for names in timing.binding if names]
    switches = sum(a != b for a, b in itertools.pairwise(bound)) + 1
    assert len(timing.binding) - len(bound) <= switches
    assert {len(names) for names in bound} == {at_limit}
    assert timing.limit_usage.max() <= 1.0 + 1e-9


@pytest.mark.slow
def test_motors_at_the_elbows_make_the_platform_faster():
    assert (
        retimed_path_timing(platform(ELBOWS)).duration
        < 0.9 * retimed_path_timing(platform()).duration
    )


@pytest.mark.slow
def test_a_closed_chain_that_is_simulated_exactly_saturates_a_motor_everywhere_and_none_beyond():
    changes = {"controller.allocation": {"kind": "least_norm"}, "servo.0.path.points": 800}
    scenario = platform().replace(changes)
    result, timing = simulate(scenario), retimed_path_timing(scenario)
    assert result.metric("peak_phi") < 1e-6
    used = np.abs(result["u"]).max(axis=1)[result["time"] < timing.duration] / 3.0
    assert used.max() < 1.0 + BETWEEN
    assert (used > 1.0 - UNUSED).mean() > 0.97


@pytest.mark.slow
def test_a_redundant_chain_is_followed_with_all_motors_within_their_limits():
    result = simulate(platform(ELBOWS))
    assert result.metric("peak_phi") < 1e-4
    np.testing.assert_array_less(np.abs(result["u"]).max(axis=0), np.tile([3.0, 1.0], 3) + 1e-9)


OTHER_ROW = """
[[servo]]
kind = "joint_follows"
joints = ["elbow"]
path = { kind = "harmonic", offset = 1.2, terms = [{ amplitude = 0.1, frequency = 1.0 }] }
"""
CIRCLE = '{ kind = "expression", components = ["0.4+0.1*cos(t)", "0.6+0.1*sin(t)"] }'
STAIRS = """{ kind = "stacked", parts = [{ kind = "constant", value = 0.55 }, { kind = "repeated",
 period = 1.0, advance = true, path = { kind = "line", start = 0.6, end = 0.7, duration = 0.5,
 profile = "uniform" } }] }""".replace("\n", "")
BENT = """{ kind = "repeated", period = 1.0, path = { kind = "expression", components =
 ["0.5 + 0.2*t*(1-t)", "0.6 + 0.1*t*(1-t)*(2-t)"] } }""".replace("\n", "")


def retimed(of, rest=""):
    return f'{{ kind = "retimed", of = {of}{rest} }}'


REFUSED = {
    "no length": ({"path": retimed(LINE.replace("0.01303685, 0.5465076", "0.51303685, 0.6465076"))},
                  "must have a length; no joint moves along it"),
    "no end": ({"path": retimed(CIRCLE)}, "must have ends; this one goes on for ever"),
    "stops": ({"path": retimed(LINE.replace("uniform", "min_jerk"))},
              "must move all the way; it stands still at s = [01],"),
    "stops on the way": ({"path": retimed(STAIRS, ", span = [0.0, 2.0]")}, "must move all the way"),
    "corner": ({"path": retimed(BENT, ", span = [0.0, 2.0]")}, "must be without corners"),
    "backwards": ({"path": retimed(CIRCLE, ", span = [1.0, 0.0]")}, "span must go forward"),
    "out of reach": ({"path": retimed(LINE.replace("0.01303685", "1.6"))},
                     "must be within reach from end to end"),
    "singular": ({"path": retimed(LINE.replace("0.01303685, 0.5465076", "0.8, 0.96"))},
                 "must be within reach from end to end"),
    "too heavy": ({"robot": '{ use = "two_link", actuator = [{ kind = "joint", limit = 5.0, '
                   'joint = "shoulder" }, { kind = "joint", limit = 9.0, joint = "elbow" }] }'},
                  "must be one that the robot can hold; at s = .* motor 'shoulder' would need"),
    "no motor": ({"robot": '{ use = "two_link", actuator = [{ kind = "joint", joint = '
                  '"shoulder", limit = 50.0 }] }'}, "must have motors for the path"),
    "no limits": ({"limits": '"speed"'}, "must come with accelerations"),
    "no such joint": ({"acceleration": "{ elbw = 1.0 }"}, "no joint named 'elbw'; did you mean"),
    "no share": ({"share": 0.0}, "must be between 0 and 1"),
    "few points": ({"points": 3}, "points must be 10 to 10000"),
    "another clock": ({"more": OTHER_ROW, "path": retimed(LINE)}, "must follow the same clock"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_path_that_cannot_be_timed_is_refused_with_the_reason(given, said):
    with pytest.raises(InputError, match=said):
        retimed_path_timing(arm(**given))


def test_a_retimed_path_on_a_clock_of_its_own_is_refused():
    inside = f'{{ kind = "time_scaled", rate = 2.0, path = {retimed(LINE)} }}'
    with pytest.raises(UkctrlError, match=r"servo\[0\]: kind = \"retimed\" must stand in a servo"):
        Loop(arm(inside))


@pytest.mark.slow
def test_a_robot_whose_file_has_changed_is_timed_anew_by_whoever_asks(tmp_path):
    """A file that is written again within a process, as from a notebook, without any other load."""
    folder = tmp_path / "robots" / "arm"
    shutil.copytree(find("robots", "two_link").parent, folder)
    scenario, file = arm(robot=f'"{folder.as_posix()}/robot.toml"'), folder / "robot.toml"
    before = retimed_path_timing(scenario)
    assert retimed_path_timing(scenario) is before
    file.write_text(file.read_text() + "\n[[limit]]\njoint = 'elbow'\nvelocity = 0.2\n")
    assert retimed_path_timing(scenario).duration > 2.0 * before.duration


@pytest.mark.slow
def test_a_robot_that_has_changed_under_its_name_has_a_timing_of_its_own():
    scenario = arm()
    before, slower = (
        Robot.load("two_link"),
        BelievedRobot(mass_scale=2.0).apply(Robot.load("two_link")),
    )
    first = retimed_path_timing(scenario, before)
    assert retimed_path_timing(scenario, before) is first
    assert retimed_path_timing(scenario, slower).duration > 1.01 * first.duration
    assert (
        retimed_path_timing(scenario).duration
        == retimed_path_timing(scenario, before).duration
        == first.duration
    )


SLIDER = """
title = "A slider as fast as it can, with dry friction"
robot = "slider.urdf"
[[servo]]
kind = "joint_follows"
joints = ["x"]
path = { kind = "retimed", of = { kind = "line", start = [0.0], end = [0.5], duration = 1.0, profile = "uniform" }, share = 0.9 }
[controller]
use = "servo-baumgarte"
[timing]
duration = 0.7
"""  # noqa: E501
SLIDER_URDF = """
<robot name="slider"><link name="base"/>
<link name="cart"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="20" velocity="1"/><dynamics friction="1.0"/></joint></robot>
"""


def test_a_slider_with_dry_friction_is_retimed_with_any_smoothing(tmp_path):
    (tmp_path / "slider.urdf").write_text(SLIDER_URDF)
    (tmp_path / "slider.toml").write_text(SLIDER)
    scenario = Scenario.load(tmp_path / "slider.toml")
    sharp = retimed_path_timing(scenario.replace({"servo.0.path.smoothing": 0.0})).duration
    result = simulate(scenario)
    assert sharp < retimed_path_timing(scenario).duration < sharp + 0.021
    assert np.abs(result["u"]).max() < 0.9 * 20.0 * (1.0 + 1e-3)
    assert np.abs(result["v"]).max() < 0.9 * (1.0 + 1e-3)
    assert result["q"][-1, 0] == pytest.approx(0.5, abs=1e-4)


SPLINE = """
title = "A UR5 along a spline through four points"
robot = "ur5"
[start]
solve = true
[[servo]]
kind = "joint_follows"
joints = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
[servo.path]
kind = "retimed"
[servo.path.of]
kind = "spline"
ends = "natural"
duration = 3.0
points = [[0.0, -1.2, 1.5, -1.8, -1.5, 0.0], [0.8, -0.8, 1.0, -1.5, -1.0, 0.5],
          [1.6, -1.4, 1.8, -2.0, -1.7, -0.5], [2.2, -1.0, 1.2, -1.4, -1.2, 0.2]]
[controller]
use = "servo-baumgarte"
[timing]
duration = 1.2
"""


@pytest.mark.parametrize(("points", "smoothing"), [(50, 0.0), (50, 0.02), (200, 0.0), (200, 0.02)])
@pytest.mark.parametrize("degree", ["cubic", "quintic"])
def test_joints_on_a_spline_are_no_faster_between_points_than_at_them(degree, points, smoothing):
    """A joint is fastest between two points of the grid, by 3 % of 50 points."""
    changes = {"of.degree": degree, "points": points, "smoothing": smoothing}
    scenario = Scenario.from_toml(SPLINE).replace(
        {f"servo.0.path.{key}": value for key, value in changes.items()}
    )
    [row] = servo_constraints(scenario)
    times = np.linspace(0.0, retimed_path_timing(scenario).duration, 4000)
    fastest = max(np.abs(row.path(t).r_dot).max() for t in times.tolist())
    # the cubic of an interval is not the spline, whose third derivative jumps within some
    assert 0.999 * np.pi < fastest < np.pi * (1.0 + 0.05 / points)
