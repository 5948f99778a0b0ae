"""Runs that keep what bodies, hands and feet must not do; robots with loops, feet, too few motors.

Every case is sampled at a tenth of the control period, and its run without `[[keep]]` violates.
"""

import dataclasses as dc

import numpy as np
import pytest
import tomli_w

from tests.shared.random_walls import lowest, through_a_wall
from ukctrl import Robot, Scenario, check, simulate
from ukctrl.mechanics.constraints.constraint import FrameProbe

PERIOD = 4e-3
TOLERANCE = 2e-6  # m, rad, m/s: the prediction of a tick misses terms of order T^4
SERVO = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 8.0, "beta": 16.0}}
HERE = [0.2, -1.2, 1.5, -0.4, 0.8, 0.3]
DOG = {"root_z": 0.28}
FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
FOREARM = {"frame": "forearm", "end": [-0.36, 0.0, 0.0], "radius": 0.05}
POST = {"frame": "world", "start": [-0.3, -0.36, 0.0], "end": [-0.32, -0.36, 1.0], "radius": 0.04}


def led(joints, goal):
    path = {"kind": "constant", "value": goal}
    return [{"kind": "joint_follows", "name": "task", "joints": list(joints), "path": path}]


def ur5(goal):
    return led(Robot.load("ur5").dofs, goal)


def trunk(place, rpy):
    return [{
        "kind": "pose_follows", "name": "task", "frame": "trunk",
        "path": {"kind": "constant", "value": place},
        "orientation": {"kind": "constant", "rpy": rpy},
    }]  # fmt: skip


BAR = {
    "kind": "expression", "name": "task", "unit": "m",
    "phi": ["l1*cos(theta1) + l2*cos(theta2) + l3/2*cos(theta3) - 1.5*l3",
            "l1*sin(theta1) + l2*sin(theta2) + l3/2*sin(theta3) + 0.3", "theta3"],
}  # fmt: skip
ARMS = {"theta1": "60*deg", "theta2": "-60*deg", "theta3": 0.0, "theta4": "60*deg",
        "theta5": "-60*deg"}  # fmt: skip
ABOVE = {"kind": "expression", "name": "kept", "unit": "m",
         "h": "l1*sin(theta1) + l2*sin(theta2) + l3/2*sin(theta3) + 0.05"}  # fmt: skip
RRR = {"kind": "joint_limits", "name": "kept", "joints": ["platform_x", "platform_y"],
       "lower": -0.03, "upper": 0.03, "speed": 0.2, "deceleration": 1.0}  # fmt: skip
RAIL = {"kind": "joint_limits", "name": "kept", "joints": ["cart"], "lower": -0.5, "upper": 0.5,
        "speed": 2.0, "deceleration": 4.0}  # fmt: skip
KNEES = {"kind": "joint_limits", "name": "kept", "lower": -1.7, "deceleration": 4.0,
         "joints": ["FL_calf_joint", "RR_calf_joint"], "limits": ["positions"]}  # fmt: skip

CASES = {
    "ur5, forearm beside a post": ("ur5", {
        "kind": "clearance", "name": "kept", "at_least": 0.02, "capsules": [FOREARM, POST],
    }, ur5([1.9, *HERE[1:]]), HERE),
    "ur5, a tray": ("ur5", {
        "kind": "tilt", "name": "kept", "frame": "tool", "direction": [-0.56, -0.82, 0.07],
        "at_most": 0.5,
    }, ur5([0.2, -1.2, 1.5, 1.0, 1.6, 0.3]), HERE),
    "ur5, beside a singularity": ("ur5", {
        "kind": "manipulability", "name": "kept", "frame": "tool", "at_least": 0.06,
    }, ur5([0.2, -1.2, 0.05, -0.4, 0.8, 0.3]), HERE),
    "ur5, where no direction is lost": ("ur5", {
        "kind": "manipulability", "name": "kept", "frame": "tool", "at_least": 0.13,
        "measure": "smallest",
    }, ur5([0.2, -1.2, 0.05, -0.4, 0.8, 0.3]), HERE),
    "a1, over its feet": ("a1", {
        "kind": "support", "name": "kept", "feet": FEET, "margin": 0.02,
    }, trunk([0.25, 0.0, 0.25], [0.0, 0.0, 0.0]), DOG),
    "a1, leaning": ("a1", {
        "kind": "tilt", "name": "kept", "frame": "trunk", "at_most": 0.15,
    }, trunk([0.0, 0.0, 0.25], [0.4, 0.0, 0.0]), DOG),
    "a1, knees": ("a1", KNEES, trunk([0.0, 0.0, 0.2], [0.0, 0.0, 0.0]), DOG),
    "coordinated arms, a bar above the floor": ("coordinated_arms", ABOVE, [BAR], ARMS),
    "3RRR, a platform in its frame": ("three_rrr", RRR, led(
        ["platform_x", "platform_y", "platform_angle"], [0.08, -0.06, 0.1]
    ), {}),
    "cart and pole, the ends of a rail": (
        "cart_pole", RAIL, led(["pole"], [0.6]), {"cart": 0.0, "pole": 0.2}
    ),
}  # fmt: skip


def scenario(robot, keep, servo, start, duration=1.2, **more):
    table = {
        "title": "kept", "robot": robot, "servo": servo, "keep": keep, "controller": SERVO,
        "start": {"q": start} if start else {},
        "timing": {"duration": duration, "sample": PERIOD / 10, "control": PERIOD},
        "integrator": {"method": "RK4", "step": PERIOD / 10}, **more,
    }  # fmt: skip
    return Scenario.from_toml(tomli_w.dumps(table))


@pytest.mark.slow(
    only=[
        "ur5, beside a singularity",
        "a1, over its feet",
        "a1, leaning",
        "a1, knees",
        "3RRR, a platform in its frame",
    ]
)
@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_holds_between_the_ticks_and_is_crossed_without(name):
    robot, keep, servo, start = CASES[name]
    kept = scenario(robot, [keep], servo, start)
    run = simulate(kept)
    assert run.status == "completed", run.message
    assert run["keep"].min() > keep.get("margin", 0.0) - TOLERANCE
    assert not run["keep_missed"].any()
    assert run.metric("time_at_limits.kept") > 0.1
    assert run.metric("task_given_up") > 0.0
    assert lowest(kept, simulate(dc.replace(kept, keep=()))) < -0.01


def test_masses_believed_too_small_cross_a_wall_that_has_no_margin():
    kept, _ = through_a_wall("ur5", 0, believed={"mass_scale": 0.9})
    assert simulate(kept)["keep"].min() < -1e-3


def test_self_motion_stays_away_from_an_end_at_no_cost_to_the_task():
    """Seven joints hold a place, which leaves four freedoms: the elbow is led to its end."""
    start = [0.1, -0.4, 0.2, -2.0, 0.3, 1.8, 0.5]
    robot = Robot.load("panda")
    probe = FrameProbe(robot, "tool")
    probe.move(robot.snapshot(np.array(start), np.zeros(7)))
    hold = {"kind": "constant", "value": probe.p.tolist()}
    task = [{"kind": "point_follows", "name": "task", "frame": "tool", "path": hold}]
    away = [0.1, -0.4, 1.2, -2.0, 0.3, 1.8, 0.5]
    law = {**SERVO, "allocation": {
        "kind": "least_norm", "metric": "resolved_acceleration",
        "null_space": {"kind": "self_motion", "kp": 4.0, "kd": 4.0, "q": away},
    }}  # fmt: skip
    ends = {"kind": "joint_limits", "name": "kept", "joints": ["joint3"], "upper": 0.5,
            "deceleration": 3.0}  # fmt: skip
    run = simulate(scenario("panda", [ends], task, start, 2.0, controller=law))
    assert run["keep"].min() > -TOLERANCE
    assert run.metric("time_at_limits.kept") > 0.5
    assert run.metric("task_given_up") < 1e-6
    (said,) = [verdict.text for verdict in run.verdicts if verdict.subject == "keep"]
    assert "without loss to the task" in said
    free = simulate(scenario("panda", [], task, start, 2.0, controller=law))
    assert free["q"][:, 2].max() > 0.6
    # What is left is that of the hold.
    assert run.metric("peak_phi.task") < 2.0 * free.metric("peak_phi.task")


def test_self_motion_to_the_middle_of_the_ranges_leaves_joints_more_room():
    start = [0.1, -0.4, 1.5, -2.0, 0.3, 1.8, 0.5]
    robot = Robot.load("panda")
    probe = FrameProbe(robot, "tool")
    probe.move(robot.snapshot(np.array(start), np.zeros(7)))
    hold = {"kind": "constant", "value": probe.p.tolist()}
    task = [{"kind": "point_follows", "name": "task", "frame": "tool", "path": hold}]

    def run(**posture):
        law = {**SERVO, "allocation": {
            "kind": "least_norm", "metric": "resolved_acceleration",
            "null_space": {"kind": "self_motion", "kp": 4.0, "kd": 4.0, **posture},
        }}  # fmt: skip
        return simulate(scenario("panda", [], task, start, 2.0, controller=law))

    away = 0.5 * (robot.q_lower + robot.q_upper)
    named = run(q="middle")
    np.testing.assert_array_equal(named["q"], run(q=away.tolist())["q"])
    off = [np.linalg.norm(made["q"][-1] - away) for made in (named, run())]
    assert off[0] < off[1] - 0.3  # rad
    assert named.metric("peak_phi.task") < 1e-3


@pytest.mark.slow
def test_check_tells_of_a_body_on_the_way():
    robot, keep, servo, start = CASES["ur5, forearm beside a post"]
    path = {"kind": "rest_to_rest", "points": [HERE, servo[0]["path"]["value"]], "duration": 1.0}
    moving = [{**servo[0], "path": path}]
    found = check(scenario(robot, [keep], moving, start))
    assert any("the exact task goes beyond 'kept" in text for text in found.warnings)
    # What the motion takes of the motors does not know of limits that it crosses.
    assert not any("N m" in text for text in found.warnings)
    loads = check(scenario(robot, [], moving, start)).motion.loads
    np.testing.assert_array_equal(found.motion.loads.law, loads.law)
