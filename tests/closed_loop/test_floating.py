"""Floating bases: a quadruped on four contacts, and a quadrotor on four propellers."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.core.errors import InputError
from ukctrl.mechanics.reference.rotations import from_quaternion
from ukctrl.simulation.result.verdicts import judge

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def jump(frequency):
    """Return a squat of 4 cm at this frequency [Hz]."""
    path = {"kind": "harmonic", "offset": [0.0, 0.0, 0.24]}
    path["terms"] = [{"amplitude": [0.0, 0.0, 0.04], "frequency": frequency, "phase": "90*deg"}]
    return {"servo.trunk.path": path, "timing.duration": 0.8}


def on_the_ground(run):
    """Return what the report says of the ground."""
    (found,) = [verdict for verdict in judge(run) if verdict.subject == "ground"]
    return found


def test_a_squat_faster_than_free_fall_is_told_to_lift_off_at_the_moment_newton_says():
    """The centre of mass falls faster than g once 4 cm w^2 cos(w t) > g, were the legs massless."""
    run = simulate(Scenario.load("a1-squat", jump(3.0)))
    total = run["reaction"][:, ::3].sum(axis=1)
    model = Robot.load("a1").model
    data, weight = model.createData(), pin.computeTotalMass(model) * 9.81
    for k in range(0, len(run.time), 10):
        q, v, a = (np.ascontiguousarray(run[name][k]) for name in "qva")
        pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
        np.testing.assert_allclose(total[k], data.dhg.linear[2] + weight, **BALANCE)
    assert total.min() < 0.0
    told = on_the_ground(run)
    assert told.level == "warning"
    assert "would lift off at t = 0 s (and 3 more then or later); the model holds it" in told.text
    assert run.metric("ground_pull") == -run["reaction"][:, ::3].min()


def test_a_calm_squat_is_told_to_push_and_how_much_friction_it_needs(squat):
    told = on_the_ground(squat)
    assert told.level == "good"
    assert "Every contact pushes" in told.text
    assert (
        f"the coefficient of friction must be at least {squat.metric('needed_friction'):.3f}"
        in told.text
    )


def test_the_feet_need_no_friction_where_the_motors_are_told_so(squat):
    """Five of the six forces that the task leaves open lie in the ground's plane."""
    rows = [f"{leg}_foot_contact.slip_x" for leg in ("FL", "FR", "RL")]
    rows += [f"{leg}_foot_contact.slip_y" for leg in ("FL", "RL")]
    spared = {"kind": "internal_force", "rows": rows, "value": [0.0] * 5}
    allocation = {"kind": "least_norm", "null_space": spared}
    changes = {"controller.allocation": allocation, "timing.sample": 0.05, "timing.duration": 2.0}
    run = simulate(Scenario.load("a1-squat", changes))
    np.testing.assert_allclose(run["phi"], squat["phi"], rtol=0.0, atol=1e-9)
    assert run.metric("needed_friction") < 0.01
    assert squat.metric("needed_friction") > 0.3
    assert run.metric("effort") > 1.1 * squat.metric("effort")


@pytest.mark.slow
def test_a_quadruped_on_three_feet_waves_the_fourth_and_its_reactions_are_newtons():
    run = simulate(Scenario.load("a1-three-feet", {"timing.sample": 0.05}))
    assert run.status == "completed"
    assert run.metric("peak_phi") < 1e-9
    assert run.metric("ground_pull") == 0.0
    robot = Robot.load("a1")
    model, data = robot.model, robot.model.createData()
    weight = np.array([0.0, 0.0, pin.computeTotalMass(model) * 9.81])
    feet = [model.getFrameId(f"{leg}_foot") for leg in ("FR", "RL", "RR")]
    for k in range(0, len(run.time), 9):
        q, v, a = (np.ascontiguousarray(run[name][k]) for name in "qva")
        pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
        centre = pin.centerOfMass(model, data, q).copy()
        pin.updateFramePlacements(model, data)
        force = run["reaction"][k].reshape(3, 3)[:, [1, 2, 0]]
        arms = np.array([data.oMf[foot].translation - centre for foot in feet])
        np.testing.assert_allclose(force.sum(axis=0), data.dhg.linear + weight, **BALANCE)
        np.testing.assert_allclose(np.cross(arms, force).sum(axis=0), data.dhg.angular, **BALANCE)


def test_the_quadrotor_hovers_by_lqr_with_the_poles_of_four_separate_chains():
    """Height, heading and two tilting axes are apart: scipy's solution of each gives the poles."""
    from scipy.linalg import block_diag, solve_continuous_are

    from ukctrl.simulation.assemble import Loop

    scenario = Scenario.load("quadrotor-hover")
    drag, arm, g, m = 0.0244, 0.120208153, 9.81, 0.5
    jx, jy, jz = 3.65e-3, 3.68e-3, 7.03e-3
    expected = []
    # an input of unit sum of squares per chain: all four propellers by +-1/2
    for gain, tilts in (
        (2.0 / m, 0),
        (2.0 * drag / jz, 0),
        (2.0 * arm / jx, 1),
        (2.0 * arm / jy, 1),
    ):
        chain = np.array([[0.0, 1.0], [0.0, 0.0]])
        A = block_diag(*[chain] * (1 + tilts))
        if tilts:
            A[1, 2] = g  # velocity from the tilt
        B = np.zeros((len(A), 1))
        B[-1, 0] = gain
        Q = np.diag([10.0, 1.0] * (1 + tilts))
        X = solve_continuous_are(A, B, Q, np.eye(1))
        expected.extend(np.linalg.eigvals(A - B @ B.T @ X))
    poles = Loop(scenario).law.poles
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(expected), rtol=1e-5)
    run = simulate(scenario)
    assert run.metric("final_phi") < 1e-4


@pytest.mark.slow
def test_attitude_and_height_are_within_reach_of_the_plain_servo_law():
    run = simulate(Scenario.load("quadrotor-attitude", {"timing.duration": 2.0}))
    assert run.metric("peak_phi") < 1e-8
    assert check(Scenario.load("quadrotor-attitude")).ok


@pytest.mark.slow
def test_check_names_the_rows_that_propellers_do_not_reach_and_what_they_cannot_give():
    plain = Scenario.load("quadrotor-lemniscate", {"controller": {"use": "servo-baumgarte"}})
    found = check(plain)
    assert not found.ok
    assert any(
        "no motor accelerates rows 'body.x', 'body.y'" in problem for problem in found.problems
    )
    assert not any("body.z" in problem for problem in found.problems)
    hover = check(Scenario.load("quadrotor-hover"))
    assert hover.ok
    assert any("thrust1' starts at -1.104, below its limit 0." in note for note in hover.notes)


def test_a_payload_that_the_law_does_not_know_lowers_the_quadrotor_by_the_gain():
    """Weight over what is believed of it: beta e = g (m' / m - 1), at rest."""
    load = {"kind": "payload", "frame": "body", "mass": 0.1}
    path = {"kind": "constant", "value": [0.0, 0.0, 1.0]}
    changes = {"servo.body.path": path, "effect": [load], "timing.duration": 8.0}
    run = simulate(Scenario.load("quadrotor-lemniscate", changes))
    # the thrust is believed to act on 0.5 kg: z'' = (-beta e + g) 0.5 / 0.6 - g = 0
    np.testing.assert_allclose(run["phi"][-1], [0.0, 0.0, -9.81 * 0.2 / 6.0], atol=1e-5)


def test_a_gust_blows_the_quadrotor_away_by_what_the_gains_allow():
    r"""By $f/\beta$, and more because a law that foresees foresees a motion that the gust prevents:

    $e = (f / \beta) (1 + (\beta + \alpha \alpha_R) / \beta_R)$ for a gust of $f$ per mass.
    """
    gust = {"kind": "push", "frame": "body", "force": [0.05, 0, 0], "start": 0.5, "duration": 9.0}
    path = {"kind": "constant", "value": [0.0, 0.0, 1.0]}
    changes = {"servo.body.path": path, "effect": [gust], "timing.duration": 8.0}
    run = simulate(Scenario.load("quadrotor-lemniscate", changes))
    expected = 0.1 / 6.0 * (1.0 + (6.0 + 4.0 * 40.0) / 600.0)
    np.testing.assert_allclose(run["phi"][-1, 0], expected, rtol=1e-3)
