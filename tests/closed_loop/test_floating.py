"""Floating bases: a quadruped on four contacts, and a quadrotor on four propellers."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.errors import InputError
from ukctrl.reference.rotation import from_quaternion

BALANCE = {"rtol": 0.0, "atol": 1e-7}
"""Of forces and moments, whose reactions are known to the integrator's tolerance [N, N m]."""
EXACT = {"rtol": 0.0, "atol": 1e-9}


@pytest.fixture(scope="module")
def squat():
    return simulate(Scenario.load("a1-squat", {"timing.duration": 2.0, "timing.sample": 0.05}))


def test_the_quadruped_keeps_its_pose_and_its_feet(squat):
    assert squat.status == "completed"
    assert squat.metric("peak_phi") < 1e-9
    assert squat.metric("peak_passive_phi") < 1e-9
    height = squat["q"][:, 2]
    np.testing.assert_allclose([height.min(), height.max()], [0.20, 0.28], rtol=0.0, atol=1e-6)


def test_its_feet_push_and_do_not_pull_and_would_not_slip(squat):
    """As a real ground asks: normal forces above zero, within a friction cone of 0.6."""
    forces = squat["reaction"].reshape(len(squat.time), 4, 3)
    names = squat.labels.passive_rows
    assert [name.rpartition(".")[2] for name in names[:3]] == ["height", "slip_x", "slip_y"]
    normal, across = forces[..., 0], np.linalg.norm(forces[..., 1:], axis=2)
    assert normal.min() > 10.0
    assert (across / normal).max() < 0.6


def test_the_reactions_balance_the_trunk_by_pinocchios_inverse_dynamics(squat):
    """No motor acts on the trunk: its six rows of M a + nle are the feet's reactions alone."""
    robot = Robot.load("a1")
    model = robot.model
    data = model.createData()
    feet = [model.getFrameId(f"{leg}_foot") for leg in ("FL", "FR", "RL", "RR")]
    for k in range(0, len(squat.time), 8):
        q, v, a = (np.ascontiguousarray(squat[name][k]) for name in "qva")
        wanted = pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        came = np.zeros(robot.nv)
        for foot, (height, x, y) in zip(feet, squat["reaction"][k].reshape(4, 3), strict=True):
            J = pin.getFrameJacobian(model, data, foot, pin.LOCAL_WORLD_ALIGNED)
            came += J[:3].T @ (x, y, height)
        np.testing.assert_allclose(came[:6], wanted[:6], **BALANCE)
        np.testing.assert_allclose(came[6:] + squat["u"][k], wanted[6:], **BALANCE)


def test_the_motors_share_the_load_with_the_least_effort(squat):
    """Any other input for the same motion is longer: u is orthogonal to what moves nothing."""
    from ukctrl import Dynamics

    dynamics = Dynamics(Robot.load("a1"))
    dynamics.move(0.0, squat["q"][5], squat["v"][5])
    _, sigma, Vt = np.linalg.svd(dynamics.G)
    idle = Vt[(sigma > 1e-9 * sigma[0]).sum() :]
    assert len(idle) == 6
    np.testing.assert_allclose(idle @ squat["u"][5], 0.0, **BALANCE)


EIGHT = {"timing.duration": 6.0, "timing.sample": 0.02}
FORMS = ({}, {"timing.control": 0.005})


@pytest.fixture(scope="module")
def eight():
    return simulate(Scenario.load("quadrotor-lemniscate", EIGHT))


def late_error(run) -> float:
    """Return the largest position error once the start is forgotten [m]."""
    return float(np.linalg.norm(run["phi"][run.time > 3.0], axis=1).max())


def test_the_quadrotor_obeys_newton_and_euler(eight):
    """With mass, inertias and propellers typed in anew."""
    m, inertia, arm, drag = 0.5, np.diag([3.65e-3, 3.68e-3, 7.03e-3]), 0.120208153, 0.0244
    u, omega = eight["u"], eight["v"][:, 3:]
    thrust = u.sum(axis=1)
    left, front = u @ [1, -1, -1, 1], u @ [1, 1, -1, -1]
    spin = u @ [1, -1, 1, -1]
    moment = np.column_stack([arm * left, -arm * front, drag * spin])
    came = eight["a"][:, 3:] @ inertia + np.cross(omega, omega @ inertia)
    np.testing.assert_allclose(came, moment, **EXACT)
    for k in range(0, len(u), 20):
        R = from_quaternion(eight["q"][k, 3:])
        v, a = eight["v"][k], eight["a"][k]
        acceleration = R @ (a[:3] + np.cross(v[3:], v[:3]))
        push = R[:, 2] * thrust[k] / m - (0.0, 0.0, 9.81)
        np.testing.assert_allclose(acceleration, push, rtol=0.0, atol=1e-7)


def test_the_quadrotor_flies_the_path_and_the_slower_the_closer(eight):
    assert eight.status == "completed"
    slow = simulate(
        Scenario.load("quadrotor-lemniscate", {**EIGHT, "servo.body.path.period": 12.0})
    )
    assert late_error(eight) < 0.02
    assert late_error(slow) < 0.2 * late_error(eight)


def test_the_quadrotor_flies_under_a_hold_too():
    held = simulate(Scenario.load("quadrotor-lemniscate", {**EIGHT, "timing.control": 0.005}))
    assert held.status == "completed"
    assert late_error(held) < 0.05


def test_the_heading_is_followed():
    heading = {"kind": "constant", "value": ["60*deg"]}
    run = simulate(Scenario.load("quadrotor-lemniscate", {**EIGHT, "controller.heading": heading}))
    x = np.array([from_quaternion(q)[:, 0] for q in run["q"][-50:, 3:]])
    np.testing.assert_allclose(np.arctan2(x[:, 1], x[:, 0]), np.pi / 3.0, rtol=0.0, atol=0.05)


REFUSED = {
    "another frame": ({"controller.frame": "rotor1"}, "hold the position of 'rotor1'"),
    "no such frame": ({"controller.frame": "bodi"}, "bodi"),
    "heading of two": (
        {"controller.heading": {"kind": "constant", "value": [0.0, 0.0]}},
        "heading must have one component; got 2",
    ),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_a_task_that_does_not_fit_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        simulate(Scenario.load("quadrotor-lemniscate", changes))


def test_a_robot_that_pushes_every_way_is_refused():
    scenario = Scenario.load("scara-helix")
    law = Scenario.load("quadrotor-lemniscate", {"controller.frame": "tool"}).controller
    point = scenario.replace({"servo": scenario.servo[:1], "controller": law})
    with pytest.raises(InputError, match="every input must push 'tool' along its z axis alone"):
        simulate(point)
