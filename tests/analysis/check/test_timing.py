"""`check` says how much faster or slower than the robot allows a motion is, and what binds."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.analysis.check.check_report import timing_facts
from ukctrl.control import Baumgarte, LeastNorm, Servo
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Line, MinJerk, Retimed
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl.simulation.assemble.retimed_rows import retimed_path_timing
from ukctrl.simulation.scenario import StartState, Timing

CLOSE = {"rel": 5e-3}
"""Knots of a motion, and the interval in which a timing has one acceleration."""
PEAK = 10.0 / np.sqrt(3.0)
"""Largest acceleration of the least-jerk motion over 1 m in 1 s [m/s^2]."""


def cart(path, duration, limit=3.0, weight=0.0):
    """A cart of 2 kg on a path, pulled back by a weight [N]."""
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2", potential="w*x",
                   parameters={"w": weight}),
        Options(actuator=[JointMotor(name="F", joint="x", limit=limit)]),
    )  # fmt: skip
    return Scenario(
        title="A cart", robot=robot, servo=(JointFollows(joints=("x",), path=path),),
        controller=Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=LeastNorm()),
        start=StartState(solve=True), timing=Timing(duration=duration, sample=0.01),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("duration", [1.0, 3.0, 10.0])
def test_a_least_jerk_motion_is_compared_with_its_closed_forms(duration):
    path = Line(start=0.0, end=1.0, duration=duration)
    found = check(cart(path, duration))
    timing = found.motion.timing
    assert timing.rate == pytest.approx(duration * np.sqrt(1.5 / PEAK), **CLOSE)
    assert timing.least == pytest.approx(2.0 * np.sqrt(1.0 / 1.5), **CLOSE)
    assert timing.binding == ("motor 'F'",)
    assert timing.bound_by == {"motor 'F'": pytest.approx(1.0, **CLOSE)}
    too_fast = [text for text in found.notes if "would keep all limits at" in text]
    assert len(too_fast) == (timing.rate < 0.99)


@pytest.mark.parametrize("path", [Line(start=0.0, end=1.0, duration=1.0),
                                  MinJerk(points=(0.0, 1.0), duration=1.1)])  # fmt: skip
def test_a_path_that_is_too_fast_is_advised_to_be_retimed_as_has_been_tried(path):
    given = cart(path, 1.2)
    found = check(given)
    timing = found.motion.timing
    [cause] = [one for one in found.causes if "would keep all limits" in one.text]
    assert f"span = {list(timing.span)}" in cause.cure
    assert f"{timing.retimed:.4g} s" in cause.cure
    [row] = given.servo
    advised = dc.replace(row, path=Retimed(of=path, span=timing.span))
    slower = dc.replace(given, servo=(advised,), timing=Timing(duration=3.0, sample=0.01))
    assert retimed_path_timing(slower).duration == timing.retimed
    assert timing.least < timing.retimed < timing.least + 0.1
    assert np.abs(simulate(slower)["u"]).max() < 3.0 * (1.0 + 1e-3)


def test_a_path_with_a_stop_is_not_advised_to_be_retimed_which_is_refused():
    found = check(cart(MinJerk(points=(0.0, 1.0, 0.0), duration=2.0), 2.0))
    [cause] = [one for one in found.causes if "would keep all limits" in one.text]
    assert (cause.cure, found.motion.timing.retimed) == ("", None)


@pytest.mark.slow
def test_a_motion_with_a_stop_on_the_way_keeps_the_stop():
    path = MinJerk(points=(0.0, 1.0, 0.0), duration=8.0)
    timing = check(cart(path, 8.0)).motion.timing
    assert timing.least == pytest.approx(4.0 * np.sqrt(1.0 / 1.5), **CLOSE)


@pytest.mark.slow
def test_a_robot_that_its_motors_cannot_hold_has_no_timing():
    timing = check(cart(Line(start=0.0, end=1.0, duration=2.0), 2.0, weight=4.0)).motion.timing
    assert timing.rate == 0.0
    assert timing.least is None
    [(name, text)] = timing_facts(timing)
    assert name == "timing"
    assert text.startswith("no speed keeps the limits (motor 'F', t =")


@pytest.mark.slow
def test_without_limits_nothing_is_said_of_the_timing():
    found = check(cart(Line(start=0.0, end=1.0, duration=2.0), 2.0, limit=None))
    assert found.motion.timing is None


@pytest.mark.slow
def test_a_retimed_path_is_at_its_best_and_must_end_before_the_run():
    line = Line(start=0.0, end=1.0, duration=1.0, profile="uniform")
    path = Retimed(of=line, smoothing=0.0)
    best = 2.0 * np.sqrt(1.0 / 1.5)
    found = check(cart(path, 2.0))
    assert found.motion.timing.rate == pytest.approx(1.0, **CLOSE)
    assert found.motion.timing.clock_ends == pytest.approx(best, rel=1e-6)
    assert not [text for text in found.notes if "retimed" in text]
    [said] = [text for text in check(cart(path, 1.0)).notes if "retimed" in text]
    assert said == f"the retimed paths end at t = {best:.4g} s, after the run."


SEVENTH = """
title = "A tool goes round, and leaves one of seven joints to the law"
robot = "panda"
[start]
solve = true
[[servo]]
kind = "pose_follows"
frame = "tool"
orientation = { kind = "constant", rpy = ["180*deg", 0.0, 0.0] }
[servo.path]
kind = "retimed"
span = [0.0, 3.0]
points = 60
of = { kind = "circle", center = [0.45, 0.0, 0.4], radius = 0.15, period = 3.0, normal = "x" }
[controller]
use = "servo-baumgarte"
[timing]
duration = 0.9
sample = 0.01
"""


@pytest.mark.slow
def test_a_law_that_moves_what_the_rows_leave_open_is_warned_of_with_what_helps():
    given = Scenario.from_toml(SEVENTH)
    found = check(given)
    [said] = [cause for cause in found.causes if "leave freedoms open" in cause.text]
    assert "'computed-torque'" in said.cure
    assert said.follows
    followed = check(given.replace({"controller.use": "computed-torque"}))
    assert not [cause for cause in followed.causes if "leave freedoms open" in cause.text]
    assert followed.motion.timing.rate == pytest.approx(1.0, rel=1e-2)
