"""Laws for links behind springs: designed errors, the rigid limit, and what they refuse."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.linalg import expm

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import Baumgarte, ElasticLinearisation
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Elastic, Lagrangian, Options, Wrench, rigid_link_robot
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import StartState, Timing

FOLLOWED = {"rtol": 0.0, "atol": 1e-8}
CARDS = (
    "elastic-cascade",
    "elastic-integral-manifold",
    "elastic-linearisation",
    "elastic-singular-perturbation",
    "elastic-tracking",
)

PAPER = {
    "feedback": {"kind": "first_order", "kappa": 2.5},
    "allocation": {
        "kind": "least_norm",
        "metric": "gauss",
        "feedback_metric": "resolved_acceleration",
        # The paper's law is K theta, ours the springs' K (theta - q): what is least differs by K q.
        "null_space": {"kind": "posture", "kp": 1.0, "kd": 0.0, "q": [0.0] * 4, "gravity": False},
    },
}
LINEARISED = {"kind": "elastic_linearisation", "alpha": 20.0, "beta": 100.0}
MANIFOLD = {"kind": "elastic_singular_perturbation", "order": 1}

SWING = """
title = "Both links swing from rest, smoothly"
robot = "flexible_joint_arm"
[start]
springs = "loaded"
[[servo]]
kind   = "joint_follows"
joints = ["q2", "q4"]
path   = { kind = "expression", components = ["0.8*sin(t)**6", "-0.5*sin(t)**6"] }
[controller]
kind     = "elastic_linearisation"
feedback = { kind = "baumgarte", alpha = 7.0, beta = 12.0 }
alpha    = 11.0
beta     = 30.0
[timing]
duration = 2.0
[integrator]
rtol = 1e-10
atol = 1e-12
"""
LAW = {"feedback": {"kind": "baumgarte", "alpha": 7.0, "beta": 12.0}}


def swing(stiffness, controller):
    both = {"q2": stiffness, "q4": stiffness}
    return simulate(
        Scenario.from_toml(SWING).replace(
            {"robot.elastic.stiffness": both, "controller": {**controller, **LAW}}
        )
    )


@pytest.mark.parametrize("law", [LINEARISED, MANIFOLD], ids=["linearisation", "manifold"])
def test_links_that_start_on_the_papers_motion_stay_on_it(law):
    links = simulate(Scenario.load("flexible-joint-arm-links", {"timing.duration": 1.5}))
    motor = Scenario.load("flexible-joint-arm-motor", {"timing.duration": 1.5})
    run = simulate(motor.replace({"controller": {**law, **PAPER}}))
    assert run.status == "completed", run.message
    np.testing.assert_allclose(run["q"][:, :2], links["q"], **FOLLOWED)
    np.testing.assert_allclose(run["v"][:, :2], links["v"], **FOLLOWED)


def residual_of_fit(run, rates):
    """How far every row's error is from a combination of exponentials, relative to its size."""
    basis = np.exp(np.outer(run.time, rates))
    found = []
    for error in run["phi"].T:
        weights = np.linalg.lstsq(basis, error, rcond=None)[0]
        found.append(np.abs(error - basis @ weights).max() / np.abs(error).max())
    return np.array(found)


def test_the_error_of_every_row_is_made_of_its_four_exponentials():
    """From off the path and with springs at rest; rows are curved in the joints."""
    curved = {
        "kind": "expression",
        "phi": (
            "sin(q2) + 0.5*sin(q2 + q4) - 0.6 - 0.1*sin(t)",
            "cos(q2) + 0.5*cos(q2 + q4) - 1.1",
        ),
    }
    scenario = Scenario.from_toml(SWING).replace(
        {"servo": [curved], "start.q": {"q2": 0.5, "q4": 0.6}, "timing.duration": 3.0}
    )
    run = simulate(scenario)
    assert run.status == "completed", run.message
    assert np.abs(run["phi"][0]).max() > 0.3
    np.testing.assert_array_less(residual_of_fit(run, [-3.0, -4.0, -5.0, -6.0]), 1e-7)


def test_the_pose_of_seven_elastic_joints_obeys_its_four_poles():
    scenario = Scenario.load("panda-elastic").replace(
        {
            "start.solve": False,
            "start.q": {"joint2": 0.2, "joint4": -1.9, "joint6": 2.2},
            "timing": {"duration": 0.6},
            "controller.alpha": 110.0,
            "controller.beta": 3000.0,
            "controller.feedback": {"kind": "baumgarte", "alpha": 30.0, "beta": 200.0},
        }
    )
    run = simulate(scenario)
    assert run.status == "completed", run.message
    moving = np.abs(run["phi"]).max(axis=0) > 1e-3
    assert moving.sum() >= 3
    residual = residual_of_fit(run, [-10.0, -20.0, -50.0, -60.0])
    np.testing.assert_array_less(residual[moving], 1e-6)


def rigid_swing():
    """The servo law's motion of the links, driven directly."""
    robot = rigid_link_robot(Robot.load("flexible_joint_arm"))
    servo = {"kind": "servo", **LAW}
    scenario = Scenario.from_toml(SWING).replace({"controller": servo, "start.springs": "relaxed"})
    return simulate(dc.replace(scenario, robot=robot))


@pytest.mark.parametrize(
    ("law", "order"),
    [
        ({"kind": "elastic_cascade", "alpha": 20.0, "beta": 200.0}, 1.0),
        ({"kind": "elastic_singular_perturbation"}, 0.5),
    ],
    ids=["cascade", "singular perturbation"],
)
def test_the_links_come_to_the_rigid_motion_as_the_stiffness_grows(law, order):
    """The error falls with the power of 1/K that the theory page derives."""
    rigid = rigid_swing()["q"][:, :2]
    stiffness = np.array([4e3, 16e3, 64e3])
    error = [np.abs(swing(K, law)["q"][:, :2] - rigid).max() for K in stiffness]
    slopes = -np.diff(np.log(error)) / np.diff(np.log(stiffness))
    np.testing.assert_allclose(slopes, order, atol=0.1)


@pytest.mark.parametrize(("law", "stiffness"), [(LINEARISED, 1e3), (MANIFOLD, 10.0)])
def test_the_corrected_laws_keep_the_rigid_motion_at_any_stiffness(law, stiffness):
    rigid = rigid_swing()["q"][:, :2]
    np.testing.assert_allclose(swing(stiffness, law)["q"][:, :2], rigid, **FOLLOWED)


@pytest.mark.parametrize("card", CARDS)
def test_every_card_holds_the_pose_of_an_elastic_arm_at_one_kilohertz(card):
    changes = {"controller": {"use": card}, "timing.duration": 0.5}
    run = simulate(Scenario.load("panda-elastic").replace(changes))
    assert run.status == "completed", run.message
    assert run.metric("rms_phi") < 4e-3


def test_a_belief_without_damping_lets_the_linearisation_serve_damped_springs():
    changes = {
        "robot.elastic.damping": 1.0,
        "believed.robot.use": "panda_elastic",
        "timing.duration": 0.1,
    }
    run = simulate(Scenario.load("panda-elastic", changes))
    assert run.status == "completed", run.message
    assert run.metric("rms_phi") < 4e-3


MASS, ROTOR, SPRING = 1.0, 0.2, 1e4


def held_growth(period, a1, b1, a, b):
    """By which factor the linearised joint's slowest motion grows over a tick, by hand."""
    w = SPRING / MASS
    # Acceleration, jerk and snap of the link, on (q, theta, v, theta_dot); then u = -F x.
    acceleration = np.array([-w, w, 0.0, 0.0])
    jerk = np.array([0.0, 0.0, -w, w])
    _, c3, c2, c1, c0 = np.polymul([1.0, a1, b1], [1.0, a, b])
    place, rate = np.eye(4)[0], np.eye(4)[2]
    snap = -(c3 * jerk + c2 * acceleration + c1 * rate + c0 * place)
    motor = acceleration + snap / w
    F = -(ROTOR * motor + SPRING * np.array([-1.0, 1.0, 0.0, 0.0]))
    A, B = np.zeros((5, 5)), np.zeros((4, 1))
    A[:2, 2:4] = np.eye(2)
    A[2, :4] = acceleration
    A[3, :2], A[3, 4] = [SPRING / ROTOR, -SPRING / ROTOR], 1.0 / ROTOR
    step = expm(A * period)
    A, B = step[:4, :4], step[:4, 4:]
    return np.abs(np.linalg.eigvals(A - B * F)).max()


@pytest.mark.parametrize(("period", "stable"), [(2.2e-3, True), (2.5e-3, False)])
def test_a_sampled_joint_is_stable_as_far_as_its_linear_system_says(period, stable):
    a1, b1, a, b = 20.0, 100.0, 800.0, 160000.0
    growth = held_growth(period, a1, b1, a, b)
    assert (growth < 1.0) == stable
    robot = Robot.build(
        Lagrangian(coordinates=["q"], kinetic=f"{MASS}/2*v.q**2"),
        Options(elastic=Elastic(stiffness=SPRING, motor_inertia=ROTOR)),
    )
    law = ElasticLinearisation(feedback=Baumgarte(alpha=a1, beta=b1), alpha=a, beta=b)
    scenario = Scenario(
        title="One elastic joint comes to rest",
        robot=robot,
        servo=(JointFollows(joints=("q",), path=Constant(value=(0.0,))),),
        controller=law,
        start=StartState(q={"q": 0.01}),
        timing=Timing(duration=600.0 * period, control=period, sample=period),
    )
    run = simulate(scenario)
    stretch = np.abs(run["q"][:, 1] - run["q"][:, 0])
    assert (stretch[-10:].max() < 1e-3 * stretch[:10].max()) == stable
    assert stable or stretch[-10:].max() > 10.0 * stretch[:10].max()


def test_a_loaded_arm_does_not_fall():
    """Motors held where they start: the links are in equilibrium on their springs."""
    scenario = Scenario.load("panda-elastic").replace(
        {"start.solve": False, "start.q": {"joint4": -2.0}}
    )
    loop = Loop(scenario)
    loop.plant.move(0.0, loop.state.q, loop.state.v)
    np.testing.assert_allclose(loop.plant.a_free[:7], 0.0, atol=1e-9)


def test_a_servo_law_on_the_links_names_the_laws_that_reach_them():
    servo = {"controller": {"use": "servo-baumgarte"}}
    scenario = Scenario.load("panda-elastic").replace(servo)
    run = simulate(scenario)
    assert run.status == "infeasible"
    assert 'use kind = "elastic_linearisation"' in run.message


WRENCH = Wrench(name="thrust", frame="tool", force=(1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"robot.elastic.damping": 1.0}, "damping, which lets the motors reach the links after th"),
        ({"controller.alpha": -1.0}, "alpha: must be"),
        ({"controller.step": 0.0}, "step: must be"),
        ({"controller.kappa": 1.0}, "kappa"),
        ({"believed.stiffness_scale": {"joint8": 1.2}}, "did you mean 'joint1'|no elastic joint"),
        ({"start.springs": "loded"}, "springs"),
    ],
)
def test_what_a_law_cannot_serve_is_refused_with_its_name(changes, answer):
    with pytest.raises(InputError, match=answer):
        Loop(Scenario.load("panda-elastic", changes))


def test_springs_that_are_not_there_cannot_be_loaded():
    with pytest.raises(InputError, match="needs elastic joints; robot 'scara' has none"):
        Loop(Scenario.load("scara-helix", {"start.springs": "loaded"}))


def test_an_input_that_pushes_a_body_past_its_spring_is_refused():
    elastic = Robot.load("panda_elastic", override={"actuator": (dc.asdict(WRENCH),)})
    with pytest.raises(InputError, match="input 'thrust' .* must push motors of elastic joints"):
        rigid_link_robot(elastic)


def test_a_wrong_stiffness_is_believed_in():
    scenario = Scenario.load("panda-elastic", {"believed.stiffness_scale": 1.3})
    loop = Loop(scenario)
    truth, belief = loop.plant.robot.elastic, loop.believed_model.robot.elastic
    np.testing.assert_allclose(belief.stiffness, 1.3 * truth.stiffness)
    assert belief in loop.believed_model.robot.forces.terms
    assert truth not in loop.believed_model.robot.forces.terms
