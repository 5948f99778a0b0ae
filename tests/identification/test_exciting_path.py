"""Exciting paths in scenarios, and designs as files: checked, run and exported like any other."""

import csv
import json

import numpy as np
import pytest
import yaml

from tests.identification.exciting_robots import ARM, arm, arm_motion, inverse_dynamics
from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.errors import InputError
from ukctrl.mechanics.reference import Exciting, HarmonicSum
from ukctrl.mechanics.reference.csv_columns import read_columns
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl_identification import exciting_rows
from ukctrl_identification.design_report import (
    design_figure,
    design_numbers,
    deviation_figure,
)
from ukctrl_identification.exciting_design import design, write_design
from ukctrl_identification.exciting_options import ExcitingOptions
from ukctrl_identification.exciting_rows import exciting_path_motion

TEXT = """
title = "An arm excites itself"
robot = "arm.urdf"

[[servo]]
kind   = "joint_follows"
joints = ["waist", "elbow"]
path   = { kind = "exciting", duration = 4.0, harmonics = 4, starts = 1 }

[[servo]]
kind   = "joint_follows"
name   = "upper"
joints = ["shoulder"]
path   = { kind = "exciting", noise = { elbow = 0.2 } }

[controller]
use = "computed-torque"

[timing]
duration = 4.0
sample = 0.01
"""
WALLS = "".join(
    f"""
[[keep]]
kind   = "half_space"
name   = "{name}"
frame  = "lower"
point  = [0.0, {-0.2 * side}, 0.0]
normal = [0.0, {side}, 0.0]
margin = 0.02
decay  = 0.05
"""
    for name, side in (("right", 1.0), ("left", -1.0))
)
"""The elbow stays within 0.2 m of the plane in which the arm starts."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM, encoding="utf-8")
    return tmp_path


def scenario(folder, text=TEXT, **changes):
    return Scenario.from_toml(text, base=folder).replace(changes)


def test_a_run_follows_the_motion_within_the_margins(folder):
    asked = scenario(folder)
    motion, result = exciting_path_motion(asked), simulate(asked)
    assert result.status == "completed"
    states = motion.states(np.asarray(result.time))
    np.testing.assert_allclose(result["q"], states.q, atol=1e-8)
    np.testing.assert_allclose(result["v"][-1], 0.0, atol=1e-8)
    robot = motion.robot
    assert (np.abs(result["u"]) <= 0.91 * robot.effort_limit).all()
    assert (np.abs(result["v"]) <= 0.9 * robot.velocity_limit + 1e-6).all()
    np.testing.assert_allclose(motion.equations.noise, [0.2, 0.45, 0.2])


def test_paths_of_several_rows_are_one_motion_from_the_time_of_the_start(folder):
    asked = scenario(folder, **{"start.t": 2.0})
    motion = exciting_path_motion(asked)
    first, second = servo_constraints(asked)
    for t in (0.0, 0.7, 3.1):
        states = motion.states(np.array([t]))
        for row, joints in ((first, [0, 2]), (second, [1])):
            at = row.path(2.0 + t)
            np.testing.assert_allclose(at.r, states.q[0, joints], atol=1e-12)
            np.testing.assert_allclose(at.r_dot, states.v[0, joints], atol=1e-11)
            np.testing.assert_allclose(at.r_ddot, states.a[0, joints], atol=1e-10)


def test_a_check_looks_at_the_motion_as_at_any_other_and_says_what_it_is_worth(folder):
    found = check(scenario(folder))
    assert found.motion.way.reached == 4.0
    assert found.motion.optimum.end == 4.0
    assert "base parameters" in found.motion.optimum.text
    assert not [one for one in found.judgements if one.level != "note"]


@pytest.mark.slow
def test_a_law_that_keeps_walls_never_has_to_change_the_inputs_of_the_motion(folder):
    asked = scenario(folder, TEXT + WALLS, **{"timing.control": 0.001})
    found, result = check(asked), simulate(asked)
    assert not [one for one in found.judgements if one.level != "note"]
    for wall in ("left", "right"):
        assert result.metric(f"worst_margin.{wall}") > 0.0
        assert result.metric(f"time_at_limits.{wall}") == 0.0
    free = exciting_path_motion(scenario(folder))
    states = free.states(np.linspace(0.0, 4.0, 101))
    place = [free.robot.snapshot(q).frame("lower").position[1] for q in states.q]
    assert np.abs(place).max() > 0.25  # without walls it goes there


def test_a_study_of_gains_shares_the_motion_which_is_worked_out_once(folder, monkeypatch):
    asked, made = scenario(folder), []
    solve = exciting_rows._solve_motion
    monkeypatch.setattr(
        exciting_rows, "_solve_motion", lambda *args: (made.append(1), solve(*args))[1]
    )
    robot = Robot.load(folder / "arm.urdf")
    one = exciting_path_motion(asked, robot)
    two = exciting_path_motion(asked.replace({"controller.kp": 50.0}), robot)
    assert one is two
    assert made == [1]


REFUSED = {
    "another row": (
        TEXT.replace('{ kind = "exciting", noise = { elbow = 0.2 } }',
                     '{ kind = "constant", value = 0.1 }'), "must be the whole task"),
    "too few joints": (
        TEXT.replace('["waist", "elbow"]', '["waist"]'), "'elbow' of robot 'arm' may still move"),
    "twice": (TEXT.replace('["shoulder"]', '["waist"]'), "'waist' stands twice"),
    "no duration": (TEXT.replace("duration = 4.0, harmonics", "harmonics"), "with its duration"),
    "moving": (TEXT + "[start]\nv = { waist = 0.1 }\n", "must begin at rest"),
    "contradiction": (
        TEXT.replace("noise = { elbow = 0.2 }", "harmonics = 3"), "must agree on harmonics"),
    "unknown key": (TEXT.replace("harmonics = 4", "harmonic = 4"), "did you mean 'harmonics'"),
    "no joint": (TEXT.replace('"elbow"]', '"elbw"]'), "did you mean 'elbow'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_scenario_cannot_ask_for_is_refused_with_the_reason(folder, case):
    text, said = REFUSED[case]
    with pytest.raises(InputError, match=said):
        exciting_path_motion(scenario(folder, text))


def test_without_a_scenario_it_has_no_value():
    path = Exciting(duration=3.0)
    for ask in (lambda: path(0.0), lambda: path.size, lambda: path.series(0.0, 2)):
        with pytest.raises(InputError, match="must stand in a servo row"):
            ask()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("design")
    (folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    robot = Robot.load(folder / "arm.urdf")
    motion = design(robot, ExcitingOptions(duration=4.0, harmonics=4, starts=1))
    files = write_design(motion, folder / "out", period=0.002)
    return motion, folder / "out", files


def test_a_design_is_a_scenario_that_runs_without_a_search(written, monkeypatch):
    motion, folder, files = written
    assert {path.name for path in folder.iterdir()} == {*files, "robot"}
    monkeypatch.setattr("ukctrl_identification.exciting_motion.DesignProblem", None)
    asked = Scenario.load(folder / "scenario.toml")
    assert isinstance(asked.servo[0].path, HarmonicSum)
    result = simulate(asked)
    assert result.status == "completed"
    # a hold of 2 ms between the feedback's poles at -10 1/s
    np.testing.assert_allclose(result["q"], motion.states(np.asarray(result.time)).q, atol=0.02)
    assert (np.abs(result["u"]) <= motion.robot.effort_limit).all()
    assert (np.abs(result["v"]) <= motion.robot.velocity_limit).all()
    assert check(asked).motion.way.reached == 4.0


def test_tables_of_a_design_are_its_motion(written):
    motion, folder, _ = written
    columns = ["q.waist", "q.shoulder", "q.elbow", "v.elbow", "a.elbow", "u.shoulder"]
    time, values = read_columns(folder / "motion.csv", "time", columns)
    np.testing.assert_allclose(np.diff(time), 0.002, atol=1e-12)
    states = motion.states(time)
    u = motion.equations.rows(states)[1]
    ours = np.column_stack([states.q, states.v[:, 2], states.a[:, 2], u[:, 1]])
    np.testing.assert_allclose(values, ours, atol=1e-12)
    with (folder / "motion.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file))[:2] == ["time", "q.waist"]
    message = yaml.safe_load((folder / "trajectory.yaml").read_text(encoding="utf-8"))
    assert message["joint_names"] == ["waist", "shoulder", "elbow"]
    assert len(message["points"]) == 401
    point = message["points"][100]
    assert point["time_from_start"] == {"sec": 1, "nanosec": 0}
    at = motion.states(np.array([1.0]))
    np.testing.assert_allclose(point["positions"], at.q[0], atol=1e-12)
    np.testing.assert_allclose(point["accelerations"], at.a[0], atol=1e-10)


def test_a_robot_of_no_file_and_a_period_that_does_not_fit_are_refused(tmp_path):
    with pytest.raises(InputError, match="must have a file for a scenario"):
        write_design(arm_motion(), tmp_path)
    for period in (0.0, -1.0, 7.0, 1e-9):
        with pytest.raises(InputError, match="period must be positive"):
            write_design(arm_motion(), tmp_path, period=period)


def test_the_numbers_of_a_design_are_plain_data_in_the_order_of_its_parameters():
    motion = arm_motion()
    numbers = json.loads(json.dumps(design_numbers(motion), allow_nan=False))
    assert [one["formula"] for one in numbers["parameters"]] == list(motion.formulas)
    np.testing.assert_allclose(
        [one["deviation"] for one in numbers["parameters"]], motion.deviations
    )
    assert numbers["ratios"]["by hand"] == motion.others[0].ratio
    assert numbers["noise"].keys() == {"waist", "shoulder", "elbow"}
    assert numbers["limits"][0].keys() == {"limit", "used", "allowed", "unit", "time"}


def test_figures_have_a_line_a_joint_and_a_mark_a_parameter():
    motion = arm_motion()
    positions, speeds, inputs = design_figure(motion).axes
    assert [len(axes.lines) for axes in (positions, speeds, inputs)] == [3, 3, 3]
    [deviations] = deviation_figure(motion).axes
    assert [len(line.get_xdata()) for line in deviations.lines] == [24, 24, 24]


def test_a_robot_built_in_python_has_the_same_motion_as_its_file(written):
    motion, _, _ = written
    again = design(arm(), ExcitingOptions(duration=4.0, harmonics=4, starts=1))
    np.testing.assert_array_equal(again.series.sine, motion.series.sine)


@pytest.mark.slow
def test_the_panda_of_the_catalogue_is_told_by_half_the_deviations_of_a_motion_by_hand():
    motion = design(Robot.load("panda"))
    assert all(one.ratio > 2.0 for one in motion.others)
    assert motion.condition < 30.0
    states = motion.states(np.linspace(0.0, 10.0, 8001))
    robot = motion.robot
    torque = inverse_dynamics(robot, states)
    assert (np.abs(torque) <= 0.9 * robot.effort_limit).all()
    assert (np.abs(states.v) <= 0.9 * robot.velocity_limit).all()
    middle, half = 0.5 * (robot.q_lower + robot.q_upper), 0.5 * (robot.q_upper - robot.q_lower)
    assert (np.abs(states.q - middle) <= 0.9 * half).all()


PLATFORM = """
title = "A platform on three legs excites itself"
robot = "three_rrr"
start.solve = true

[[servo]]
kind   = "joint_follows"
joints = ["platform_x", "platform_y", "platform_angle"]

[servo.path]
kind      = "exciting"
duration  = 4.0
harmonics = 4
starts    = 2
range     = { platform_x = 0.08, platform_y = 0.08, platform_angle = "30*deg" }

[controller]
use = "servo-baumgarte"

[timing]
duration = 4.0
sample = 0.01
"""


@pytest.mark.slow
def test_a_closed_chain_of_the_catalogue_runs_along_the_motion_of_its_platform():
    asked = Scenario.from_toml(PLATFORM)
    motion, result = exciting_path_motion(asked), simulate(asked)
    assert result.status == "completed"
    assert result.metric("peak_phi") < 1e-6
    assert result.metric("peak_passive_phi") < 1e-6
    states = motion.states(np.asarray(result.time))
    np.testing.assert_allclose(result["q"], states.q, atol=1e-6)
    np.testing.assert_allclose(result["u"], motion.equations.rows(states)[1], atol=1e-4)
    assert all(one.ratio > 1.2 for one in motion.others)
    with pytest.raises(InputError, match="of robot 'three_rrr' follow from the others"):
        exciting_path_motion(asked.replace({
            "servo.0.joints": ["platform_x", "platform_y", "platform_angle", "upper0_angle"],
        }))  # fmt: skip
