"""What disturbance observers do for robots that carry more than they know."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.mechanics.dynamics import Dynamics

KINDS = ("momentum_observer", "acceleration_observer")
every = pytest.mark.parametrize("kind", KINDS)
STEADY = 1e-7
"""Of an error that decays at 10 1/s for 3 s [m, rad]."""


def run(name, kind, **changes):
    """Run a scenario with an observer, or none."""
    base = Scenario.load(name, {"controller.use": "servo-baumgarte"})
    observer = {"controller.disturbance": kind and {"kind": kind, "bandwidth": 400.0}}
    result = simulate(base.replace({**observer, **changes}))
    assert result.status == "completed", result.message
    assert result.provenance["loop"] == {"compiled": True, "python": []}
    return result


def payload(frame, mass):
    return ({"kind": "payload", "frame": frame, "mass": mass},)


@every
def test_at_rest_an_untold_payload_leaves_no_error_and_is_weighed(kind):
    """The lift joint feels its weight, 2 kg times 9.81 m/s^2, downwards."""
    still = {
        "servo": [
            {"kind": "joint_follows", "joints": ["q1", "q2", "q3", "q4"], "path": {
                "kind": "constant", "value": [0.3, 0.5, -0.8, 0.0]}},
        ],
        "start": {"q": {"q1": 0.2, "q2": 0.6, "q3": -0.8, "q4": 0.02}},
        "timing": {"duration": 3.0, "sample": 0.1},
        "effect": payload("tool", 2.0),
    }  # fmt: skip
    without, with_it = run("scara-helix", None, **still), run("scara-helix", kind, **still)
    assert without.metric("final_phi") > 0.1
    assert with_it.metric("final_phi") < STEADY
    weight = with_it["disturbance_hat"][-1]
    np.testing.assert_allclose(weight, [0.0, 0.0, 0.0, -2.0 * 9.81], rtol=0.0, atol=1e-5)


@every
def test_along_its_path_the_robot_keeps_to_it(kind):
    changes = {"timing.duration": 1.5, "effect": payload("tool", 2.0)}
    without, with_it = run("scara-helix", None, **changes), run("scara-helix", kind, **changes)
    assert with_it.metric("final_phi") < 1e-3 * without.metric("final_phi")


@pytest.mark.slow
@every
def test_on_a_closed_chain_it_finds_what_the_reactions_leave_of_a_force(kind):
    still = {
        "servo.platform.path": {"kind": "constant", "value": [0.02, -0.01, 0.1]},
        "timing": {"duration": 3.0, "sample": 0.1},
        "start": {"solve": True},
        "effect": [
            {"kind": "disturbance", "joint": f"platform_{to}", "effort": effort, **CREST}
            for to, effort in (("x", 3.0), ("y", -2.0), ("angle", 0.5))
        ],
    }
    without, with_it = run("three-rrr", None, **still), run("three-rrr", kind, **still)
    assert without.metric("final_phi") > 1e-3
    assert with_it.metric("final_phi") < STEADY
    robot = Robot.load("three_rrr")
    dynamics = Dynamics(robot)
    dynamics.move(0.0, with_it["q"][-1], with_it["v"][-1])
    d = np.zeros(robot.nv)
    d[[robot.dofs.index(f"platform_{to}") for to in ("x", "y", "angle")]] = 3.0, -2.0, 0.5
    M, A = dynamics.snapshot.M, dynamics.passive.rows.A
    reaction = A.T @ np.linalg.pinv(A @ np.linalg.solve(M, A.T), rcond=1e-8)
    left = d - reaction @ (A @ np.linalg.solve(M, d))
    np.testing.assert_allclose(with_it["disturbance_hat"][-1], left, rtol=0.0, atol=1e-6)


CREST = {"frequency": 1e-9, "phase": 0.5 * np.pi}
"""Of a wave so slow that it is constant."""


@every
def test_it_serves_wheels_that_do_not_slip_and_turns_that_are_no_coordinates(kind):
    changes = {"timing": {"duration": 1.0, "sample": 0.1}, "effect": payload("arm_tool", 2.0)}
    without = run("mobile-manipulator", None, **changes)
    with_it = run("mobile-manipulator", kind, **changes)
    assert with_it.metric("final_phi") < 1e-2 * without.metric("final_phi")


@every
def test_a_force_that_no_motor_reaches_is_compensated_where_the_rows_feel_it(kind):
    """The cart stands still, however an unknown torque turns the pole."""
    base = Scenario(
        title="Held cart",
        robot="cart_pole",
        servo=({"kind": "joint_follows", "joints": ["cart"], "path": STILL},),
        controller={
            "kind": "servo",
            "feedback": {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0},
        },
        timing={"duration": 1.0, "sample": 0.1},
        effect=({"kind": "disturbance", "joint": "pole", "effort": 0.05, **CREST},),
    )
    without = simulate(base)
    with_it = simulate(base.replace({"controller.disturbance": {"kind": kind, "bandwidth": 400.0}}))
    assert abs(with_it["v"][-1, 1]) > 0.1  # the pole does turn
    assert with_it.metric("peak_phi") < 0.1 * without.metric("peak_phi")


STILL = {"kind": "constant", "value": [0.0]}


def test_where_the_motors_have_no_grip_the_run_says_so_as_before():
    """Six rows of a body with four thrusts."""
    hover = Scenario.load("quadrotor-hover", {"timing.duration": 0.2})
    result = simulate(hover.replace({"controller": {"use": "servo-momentum-observer"}}))
    assert result.status == "infeasible"
    assert "out of the actuators' reach" in result.message


def test_held_and_noisy_it_stays_within_what_noise_times_bandwidth_gives():
    changes = {
        "timing": {"duration": 0.5, "sample": 0.001, "control": 0.001},
        "effect": [{"kind": "noise", "std": 1e-7, "v_std": 1e-4}],
    }
    quiet = run("scara-helix", "momentum_observer", **changes)
    fast = {"controller.disturbance": {"kind": "momentum_observer", "bandwidth": 1000.0}}
    loud = run("scara-helix", None, **changes, **fast)
    ratio = loud["disturbance_hat"][100:].std() / quiet["disturbance_hat"][100:].std()
    assert 1.5 < ratio < 6.0


@pytest.mark.slow
def test_a_mode_that_takes_over_begins_its_observer_where_the_robot_is():
    law = {
        "kind": "servo",
        "feedback": {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0},
        "disturbance": {"kind": "momentum_observer", "bandwidth": 50.0},
    }
    first = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 5.0, "beta": 6.0}}
    base = Scenario.load("scara-helix-baumgarte", {"timing.duration": 2.0})
    result = simulate(
        base.replace(
            {
                "controller": {
                    "kind": "switching",
                    "modes": [{"law": first}, {"law": law, "enter": 0.02}],
                }
            }
        )
    )
    assert result["mode"][-1] == 1.0
    np.testing.assert_allclose(result["disturbance_hat"][result["mode"] == 1.0], 0.0, atol=1e-5)
