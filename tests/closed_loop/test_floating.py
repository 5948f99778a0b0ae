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
PERIOD = "servo.body.path.path.period"


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


def test_the_quadrotor_flies_the_path(eight):
    assert eight.status == "completed"
    assert eight.metric("peak_phi") < 5e-5
    assert eight.metric("saturated_fraction") == 0.0


def test_without_the_turning_acceleration_the_error_is_that_of_two_linear_loops():
    r"""On a small circle of angular frequency w, with $s = i w$ and $P = s^2 + \alpha s + \beta$:

    $e = s^4 r / (P P_R - s^2 (\alpha s + \beta))$, $P_R$ that of the turning; slowly that is
    $s^4 r / (\beta \beta_R)$. It is what a body loses that is told how fast to turn, and no more.
    """
    w, radius, s = 2.0, 0.02, 2.0j
    circle = {"kind": "circle", "center": [0, 0, 1], "radius": radius, "period": 2.0 * np.pi / w}
    changes = {"controller.feedforward": "rate", "servo.body.path": circle}
    run = simulate(Scenario.load("quadrotor-lemniscate", {**changes, "timing.duration": 9.0}))
    P, P_R = s**2 + 4.0 * s + 6.0, s**2 + 40.0 * s + 600.0
    expected = radius * abs(s**4 / (P * P_R - s**2 * (4.0 * s + 6.0)))
    found = np.linalg.norm(run["phi"][run.time > 7.0], axis=1)
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_where_propellers_cannot_pull_the_heading_waits_and_the_path_does_not():
    fast = {PERIOD: 3.0, "timing.duration": 6.0, "timing.sample": 0.02}
    wanted = simulate(
        Scenario.load(
            "quadrotor-lemniscate", {**fast, "controller.allocation": {"kind": "least_norm"}}
        )
    )
    given = simulate(Scenario.load("quadrotor-lemniscate", fast))
    assert wanted["u"].min() < -3.0
    assert given["u"].min() >= 0.0
    assert given.metric("peak_phi") < 2e-4
    missed = np.abs(given["row_miss"]).max(axis=0)
    np.testing.assert_allclose(missed[:3], 0.0, rtol=0.0, atol=1e-6)
    assert missed[3] > 1.0


def test_a_quadrotor_on_its_head_turns_over_without_a_propeller_that_pulls():
    run = simulate(Scenario.load("quadrotor-upside-down"))
    assert run.status == "completed"
    assert run["u"].min() >= 0.0
    assert run["u"].max() <= 12.5
    up = np.array([from_quaternion(q)[2, 2] for q in run["q"][:, 3:]])
    assert up[0] < -0.999
    assert up[-1] > 0.999
    assert run.metric("peak_phi") < 0.7
    assert run.metric("final_phi") < 1e-3


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
