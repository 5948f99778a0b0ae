"""Optimised paths: motions of least effort and time that servo rows follow."""

from __future__ import annotations

import dataclasses as dc
import pickle

import numpy as np
import pytest
from extras import needs
from scipy.integrate import simpson

from tests.shared.platform_on_legs import platform_text
from ukctrl import Scenario, check, simulate
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import JointFollows, Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.mechanics.reference import Optimised
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.scenario import BelievedRobot
from ukctrl_optimal import optimised_rows
from ukctrl_optimal.optimised_rows import optimal_path_motion

REST = """path = PATH
[controller]
use = "servo-exact"
[timing]
duration = 0.5
sample = 0.005
"""
POSE = '[0.06, 0.05, "20*deg"]'
START = "[0.0, 0.0, 0.0]"


def platform(path=None, **says):
    said = "".join(f", {key} = {value}" for key, value in says.items())
    path = path or f'{{ kind = "optimised", to = {POSE}, duration = 0.5{said} }}'
    return Scenario.from_toml(platform_text(REST.replace("PATH", path)))


def effort(scenario):
    """Return the effort of a run, by Simpson's rule between its samples."""
    result = simulate(scenario)
    return simpson(np.sum(np.asarray(result["u"]) ** 2, axis=1), x=result["time"])


ROUND = '[-0.1, 0.1, "-40*deg"]'
"""A pose to which the straight way leads past a singular one."""


@pytest.mark.slow
@needs("casadi")
@pytest.mark.parametrize(
    ("pose", "duration", "cubic", "quintic"), [(POSE, 0.5, 1.002, 1.4), (ROUND, 0.8, 5.0, 4.0)]
)
def test_a_closed_chain_takes_less_effort_than_by_polynomials_between_the_same_poses(
    pose, duration, cubic, quintic
):
    to = f'{{ kind = "optimised", to = {pose}, duration = {duration}, steps = 6 }}'
    scenario = platform(to).replace({"timing.duration": duration})
    best = optimal_path_motion(scenario).effort
    assert effort(scenario) == pytest.approx(best, rel=1e-3)
    for still, more in ((1, cubic), (2, quintic)):
        path = (
            f'{{ kind = "rest_to_rest", points = [{START}, {pose}], duration = {duration}, '
            f"still = {still} }}"
        )
        other = platform(path).replace({"timing.duration": duration})
        assert effort(other) > more * best


def run(steps):
    """Return a run along a motion of two points a step, and the motion."""
    scenario = platform(steps=steps, stages=2)
    return simulate(scenario), optimal_path_motion(scenario)


@pytest.mark.slow
@needs("casadi")
def test_a_run_follows_with_the_chain_closed_and_inputs_that_near_the_optimum_by_the_order():
    exact = simulate(platform(steps=12, stages=6))
    moving = slice(2, -2)
    off, cost = [], []
    for steps in (5, 10, 20):
        result, found = run(steps)
        assert result.metric("peak_phi") < 1e-7
        assert result.metric("peak_passive_phi") < 1e-9
        off.append(np.abs(result["u"] - exact["u"])[moving].max())
        cost.append(found.effort)
    # Accelerations are lines on each step: of second order; efforts are of the fourth.
    assert off[0] / off[1] > 3.0
    assert off[1] / off[2] > 3.0
    assert off[2] < 0.05
    best = optimal_path_motion(platform(steps=12, stages=6)).effort
    missed = np.abs(np.array(cost) - best)
    assert missed[1] / missed[2] > 10.0


@pytest.mark.slow
@needs("casadi")
def test_a_run_needs_the_inputs_of_the_collocation_at_its_points():
    scenario = platform(steps=6, stages=3)
    found, loop = optimal_path_motion(scenario), Loop(scenario)
    [row] = servo_constraints(scenario)
    near = loop.state.q
    every = Stack((*passive_constraints(loop.robot), row), loop.robot)
    for k, t in enumerate(found.times.tolist()):
        at = consistent_state(every, near, np.zeros(loop.robot.nv), t)
        near = at.q
        loop.plant.move(t, at.q, at.v)
        u = np.linalg.solve(loop.plant.G[:3], row.path(t).r_ddot - loop.plant.a_free[:3])
        np.testing.assert_allclose(u, found.inputs[k], atol=1e-6)


POLE = """
title = "A pole is swung up with least effort, and held there"
robot = "cart_pole"
[start]
q = { pole = "180*deg" }
[[servo]]
kind = "joint_follows"
joints = ["cart", "pole"]
path = { kind = "optimised", to = [0.0, 0.0], duration = 1.6, steps = 20 }
[controller]
use = "tvlqr"
[timing]
duration = 2.0
sample = 0.01
"""


@pytest.mark.slow
def test_a_pole_is_swung_up_along_the_motion_by_a_regulator_also_when_pushed():
    scenario = Scenario.from_toml(POLE)
    assert simulate(scenario).metric("peak_phi") < 1e-4
    off = scenario.replace({"start.v": {"pole": 0.05}, "timing.duration": 3.0})
    motion = optimal_path_motion(scenario)
    assert simulate(off).metric("final_phi") < 1e-3
    assert motion.residual < 1e-2


@pytest.mark.slow
@needs("casadi")
def test_the_same_scenario_gives_the_same_digits_again(monkeypatch):
    first = optimal_path_motion(platform(steps=3))
    monkeypatch.setattr(optimised_rows, "_MOTION", optimised_rows.LastValueCache())
    again = optimal_path_motion(platform(steps=3))
    assert again is not first
    np.testing.assert_array_equal(again.pieces.coefficients, first.pieces.coefficients)
    np.testing.assert_array_equal(again.inputs, first.inputs)


@pytest.mark.slow
@needs("casadi")
def test_it_is_worked_out_once_and_anew_where_the_robot_has_changed():
    scenario = platform(steps=3)
    robot = Loop(scenario).robot
    heavy = BelievedRobot(mass_scale=2.0).apply(robot)
    assert optimal_path_motion(scenario, robot) is optimal_path_motion(scenario)
    assert (
        optimal_path_motion(scenario, heavy).effort
        > 1.5 * optimal_path_motion(scenario, robot).effort
    )
    light = scenario.replace({"believed.mass_scale": 0.5})
    [one], [other] = servo_constraints(scenario, robot), servo_constraints(light, robot)
    assert one == other


@pytest.mark.slow
@needs("casadi")
def test_a_scenario_with_an_optimised_path_is_written_read_and_sent_to_other_processes():
    scenario = platform(steps=3, share=0.9)
    assert Scenario.from_toml(scenario.to_toml()).servo == scenario.servo
    [row] = pickle.loads(pickle.dumps(servo_constraints(scenario)))
    np.testing.assert_array_equal(row.path(0.1).r, servo_constraints(scenario)[0].path(0.1).r)


ARMS = """
title = "An arm, its joints in two rows"
robot = "two_link"
start.q = { shoulder = 0.2, elbow = 0.9 }
[[servo]]
kind = "joint_follows"
joints = ["elbow"]
path = { kind = "optimised", to = 0.3, cost = "time", steps = 10 }
[[servo]]
kind = "joint_follows"
joints = ["shoulder"]
path = { kind = "optimised", to = 0.9SAID }
[controller]
use = "servo-baumgarte"
[timing]
duration = 0.2
"""


def arms(said=""):
    return Scenario.from_toml(ARMS.replace("SAID", said))


@needs("casadi")
def test_several_rows_share_one_motion_and_check_says_when_it_ends():
    shoulder, elbow = servo_constraints(arms())[::-1]
    motion = optimal_path_motion(arms())
    end = motion.pieces.times[-1]
    np.testing.assert_allclose([shoulder.path(end).r, elbow.path(end).r], [[0.9], [0.3]], atol=1e-9)
    found = check(arms())
    assert found.motion.optimum.end == end
    [said] = [text for text in found.notes if "optimised" in text]
    assert said == f"the optimised path ends at t = {end:.4g} s, after the run."
    with pytest.raises(UkctrlError, match="must agree on cost; got time and effort"):
        optimal_path_motion(arms(', cost = "effort", duration = 1.0'))


@pytest.mark.slow
@needs("casadi")
def test_a_joint_that_no_row_names_ends_where_it_likes():
    whole = Scenario.from_toml(ARMS.replace("SAID", "")).replace(
        {"servo.0.path.cost": "effort", "servo.0.path.duration": 0.5}
    )
    free = dc.replace(whole, servo=(JointFollows(
        joints=("shoulder",), path=Optimised(to=(0.9,), duration=0.5, steps=10)),))  # fmt: skip
    assert optimal_path_motion(free).effort < optimal_path_motion(whole).effort


REFUSED = {
    "no duration": ('{ kind = "optimised", to = [0.0, 0.0, 0.1] }', "must come with its duration"),
    "within a path": ('{ kind = "time_scaled", rate = 2.0, path = { kind = "optimised", '
                      'to = [0.0, 0.0, 0.1], duration = 1.0 } }', "and not within another path"),
    "components": ('{ kind = "optimised", to = [0.0, 0.0], duration = 1.0 }',
                   "must have one component for each of 'platform_x', .*; got 2"),
    "far": ('{ kind = "optimised", to = [2.0, 0.0, 0.0], duration = 1.0 }',
            "must be able to begin with the straight way"),
    "steps": ('{ kind = "optimised", to = [0, 0, 0], duration = 1.0, steps = 5000 }',
              "steps must be at most 1000; got 5000"),
    "stages": ('{ kind = "optimised", to = [0, 0, 0], duration = 1.0, stages = 12 }',
               "stages must be at most 9; got 12"),
}  # fmt: skip


@pytest.mark.slow(only=["far"])
@pytest.mark.parametrize(("path", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_an_optimised_path_that_means_nothing_is_refused_with_the_reason(path, said):
    with pytest.raises(UkctrlError, match=said):
        Loop(platform(path))


def test_a_joint_that_is_named_twice_is_refused():
    twice = arms().replace({"servo.1.joints": ["elbow"]})
    with pytest.raises(UkctrlError, match="must name each joint once; 'elbow' stands twice"):
        Loop(twice)


@pytest.mark.parametrize("path", ['kind = "constant", value = 0.0',
                                  'kind = "retimed", of = { kind = "line", start = 0.0, end = 1.0, '
                                  'duration = 1.0, profile = "uniform" }'])  # fmt: skip
def test_rows_beside_an_optimised_path_are_refused(path):
    other = '\n[[servo]]\nkind = "joint_follows"\njoints = ["upper0_angle"]\n'
    own = f'{{ kind = "optimised", to = {POSE}, duration = 0.5 }}'
    text = platform_text(REST.replace("PATH", own))
    text += other + f"path = {{ {path} }}\n"
    with pytest.raises(UkctrlError, match="must be the whole task, beside other optimised paths"):
        Loop(Scenario.from_toml(text))
