"""Scenarios without servo constraints: a mechanism left to itself."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.control import Servo
from ukctrl.control.allocation.null_space import Damping
from ukctrl.core.errors import InputError
from ukctrl.reports.run_page import html, page_figures
from ukctrl.simulation.result.verdicts import headline, judge

SWING = """
title = "The two-link arm swings freely"
robot = "two_link"
start.q = { shoulder = 1.0, elbow = 0.5 }
monitor.frames = ["tool"]
timing = { duration = 1.0, sample = 0.05 }
integrator = { rtol = 1e-12, atol = 1e-13 }
"""


@pytest.fixture(scope="module")
def run():
    return simulate(Scenario.from_toml(SWING))


@pytest.mark.slow
def test_the_motion_is_that_of_the_robot_alone(run):
    robot = Robot.load("two_link")

    def rates(t, state):
        s = robot.snapshot(state[:2], state[2:])
        return np.concatenate([state[2:], np.linalg.solve(s.M, s.f - s.nle)])

    alone = solve_ivp(rates, (0.0, 1.0), [1.0, 0.5, 0.0, 0.0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run["q"][-1], alone.y[:2, -1], rtol=0.0, atol=1e-8)
    np.testing.assert_array_equal(run["u"], 0.0)


def test_a_frame_that_the_monitor_names_is_recorded(run):
    robot = Robot.load("two_link")
    wanted = [robot.snapshot(q).frame("tool").position for q in run["q"]]
    np.testing.assert_allclose(run["frame_position"][:, 0], wanted, rtol=0.0, atol=1e-14)
    assert run.labels.frames == ("tool",)


def test_the_report_speaks_of_what_there_is(run):
    page = html(run, page_figures(run))
    assert headline(run) == "The run completed 1 s of free motion."
    assert "settled after" not in page
    assert "rms_phi" not in page
    assert {verdict.subject for verdict in judge(run)} >= {"outcome", "energy"}
    assert {v.level for v in judge(run) if v.subject in ("outcome", "energy")} == {"good"}


def test_check_finds_it_ready():
    found = check(Scenario.from_toml(SWING))
    assert found.ok
    assert found.start.rows == ()


def test_a_free_scenario_survives_its_own_file():
    scenario = Scenario.from_toml(SWING)
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_a_controller_without_a_task_is_refused():
    with pytest.raises(InputError, match=r"servo must have at least one constraint; got none\."):
        Scenario.from_toml(SWING + "controller = { use = 'servo-baumgarte' }")
    with pytest.raises(InputError, match="servo must have at least one"):
        Scenario.from_toml(SWING).replace({"controller": Servo(feedback={"kind": "exact"})})


def test_a_watched_frame_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=r"monitor\.frames: no frame named 'tol'; did you mean"):
        simulate(Scenario.from_toml(SWING).replace({"monitor.frames": ["tol"]}))


POINT = """
title = "a point held"
robot = "panda"
start = { solve = true }
timing = { duration = 1.0, sample = 0.1 }
controller = { use = "servo-baumgarte" }
[[servo]]
kind = "point_follows"
frame = "tool"
path = { kind = "constant", value = [0.4, 0.0, 0.5] }
"""
FALLS = "3 of 7 freedoms are held; the other 4 move freely under gravity"


@pytest.mark.slow
def test_check_tells_that_joints_beyond_the_task_fall_and_what_holds_them():
    plain = Scenario.from_toml(POINT)
    assert sum(FALLS in note for note in check(plain).notes) == 1
    assert np.abs(simulate(plain)["v"]).max() > 1.0  # [rad/s]: they do
    damping = Damping(gain=1.0)
    held = plain.replace({"controller.allocation.null_space": damping})
    assert not any("gravity" in note for note in check(held).notes)
    assert np.abs(simulate(held)["v"]).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ('robot = "panda"', 'robot = { use = "panda", gravity = [0.0, 0.0, 0.0] }'),
        ('"servo-baumgarte"', '"servo-gauss"'),
    ],
    ids=["no gravity", "damped"],
)  # fmt: skip
def test_check_is_silent_where_nothing_falls(line, instead):
    assert line in POINT
    found = check(Scenario.from_toml(POINT.replace(line, instead)))
    assert not any("under gravity" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coordinated-arms", "acrobot-swing-up", "panda-pose"])
def test_check_is_silent_where_the_task_and_the_rows_of_physics_hold_all(name):
    found = check(Scenario.load(name))
    assert not any("under gravity" in note for note in found.notes)
