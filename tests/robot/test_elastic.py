"""Elastic joints: Spong's model on every sort of plant."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import (
    Elastic,
    FormulaInput,
    Functions,
    JointMotor,
    JointSpring,
    Lagrangian,
    Options,
    Perturbation,
    Robot,
    TorqueBetween,
    Transmission,
)
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import StartState

EXACT = {"rtol": 0.0, "atol": 1e-10}  # algebra on matrices of size one
DIFFERENCED = {"rtol": 0.0, "atol": 1e-7}  # central differences over 1e-5
TWO_LINK = catalog.root() / "robots" / "two_link" / "two_link.urdf"
SPRINGS = Elastic(
    stiffness={"shoulder": 100.0, "elbow": 60.0}, motor_inertia=0.2, damping={"elbow": 0.4}
)
STATES = [
    np.random.default_rng(seed).uniform(-1.5, 1.5, (2, 4)) for seed in range(5)
]  # q and v of links and motors


def two_link(elastic=SPRINGS, **more):
    return Robot.build(TWO_LINK, Options(elastic=elastic, **more))


def two_link_in_text(elastic=SPRINGS, armature=0.0):
    return Robot.build(Lagrangian(coordinates=["shoulder", "elbow"], kinetic=[
            "(m1*c1**2 + I1 + m2*l1**2 + J)/2*v.shoulder**2 + J/2*v.elbow**2",
            "(m2*c2**2 + I2)/2*(v.shoulder + v.elbow)**2",
            "m2*l1*c2*cos(elbow)*v.shoulder*(v.shoulder + v.elbow)",
        ], potential="(m1*c1 + m2*l1)*g*sin(shoulder) + m2*g*c2*sin(shoulder + elbow)", parameters={
            "m1": 2.0, "c1": 0.25, "I1": 0.041866666666666667, "l1": 0.5, "J": armature,
            "m2": 1.5, "c2": 0.25, "I2": 0.0314, "g": 9.81,
        }), Options(elastic=elastic))  # fmt: skip


def two_link_in_python():
    rigid = two_link(None)
    return Robot.build(
        Functions(
            coordinates=["shoulder", "elbow"],
            M=lambda q: rigid.snapshot(q).M,
            nle=lambda q, v: rigid.snapshot(q, v).nle,
            B=lambda q: np.eye(2),
            potential=lambda q: rigid.snapshot(q).energy().potential,
        ),
        Options(elastic=SPRINGS),
    )


@pytest.fixture(params=[two_link, two_link_in_text, two_link_in_python])
def robot(request):
    return request.param()


@pytest.mark.parametrize("state", STATES)
def test_the_motion_is_that_of_spongs_equations_written_by_hand(robot, state):
    (q, v), u = state, np.array([3.0, -2.0])
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    h = 1.5 * 0.5 * 0.25
    m22 = 1.5 * 0.25**2 + 0.0314
    m11 = 2.0 * 0.25**2 + 0.041866666666666667 + 1.5 * 0.5**2 + m22 + 2 * h * c2
    M = np.array([[m11, m22 + h * c2], [m22 + h * c2, m22]])
    coriolis = np.array([-h * s2 * v[1] * (2 * v[0] + v[1]), h * s2 * v[0] ** 2])
    tip = 1.5 * 9.81 * 0.25 * np.cos(q[0] + q[1])
    gravity = np.array([(2.0 * 0.25 + 1.5 * 0.5) * 9.81 * np.cos(q[0]) + tip, tip])
    torque = np.array([100.0, 60.0]) * (q[2:] - q[:2]) + np.array([0.0, 0.4]) * (v[2:] - v[:2])
    expected = [*np.linalg.solve(M, torque - coriolis - gravity), *((u - torque) / 0.2)]
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    np.testing.assert_allclose(dynamics.acceleration(u), expected, rtol=1e-11)


def test_names_units_and_limits_are_kept_and_motors_push_on_motors():
    robot = two_link()
    assert robot.coordinates == ("shoulder", "elbow", "shoulder_motor", "elbow_motor")
    assert robot.actuators == ("shoulder", "elbow")
    np.testing.assert_array_equal(robot.effort_limit, [40.0, 20.0])
    np.testing.assert_array_equal(robot.q_upper, [3.2, 2.8, np.inf, np.inf])
    np.testing.assert_array_equal(robot.actuation.constant, [[0, 0], [0, 0], [1, 0], [0, 1]])
    assert robot.frames == two_link(None).frames
    assert robot.elastic.joints == ("shoulder", "elbow")


def test_bodies_frames_and_centre_of_mass_do_not_feel_the_rotors():
    (q, v), rigid, robot = STATES[0], two_link(None), two_link()
    one, other = rigid.snapshot(q[:2], v[:2]), robot.snapshot(q, v)
    for a, b in [(one.com(), other.com()), (one.frame("tool"), other.frame("tool"))]:
        np.testing.assert_allclose(b.position, a.position, **EXACT)
        np.testing.assert_allclose(b.velocity, a.velocity, **EXACT)
        np.testing.assert_allclose(b.drift, a.drift, **EXACT)
        np.testing.assert_allclose(b.J[:, :2], a.J, **EXACT)
        assert not b.J[:, 2:].any()
    np.testing.assert_allclose(other.gravity, [*one.gravity, 0.0, 0.0], **EXACT)


def test_only_the_joints_of_a_table_are_elastic():
    robot = two_link(Elastic(stiffness={"elbow": 50.0}, motor_inertia=0.1))
    assert robot.coordinates == ("shoulder", "elbow", "elbow_motor")
    np.testing.assert_array_equal(robot.actuation.constant, [[1, 0], [0, 0], [0, 1]])


def test_numbers_alone_make_the_driven_joints_elastic():
    motors = [JointMotor(joint="elbow", name="u", gear=3.0)]
    robot = two_link(Elastic(stiffness=50.0, motor_inertia=0.1), actuator=motors)
    assert robot.elastic.joints == ("elbow",)
    np.testing.assert_array_equal(robot.actuation.constant, [[0.0], [0.0], [3.0]])
    np.testing.assert_allclose(robot.effort_limit, [20.0 / 3.0])


def test_transmissions_move_to_the_motors_and_other_torques_stay():
    robot = two_link(
        actuator=[
            Transmission(name="belt", ratios={"shoulder": 1.0, "elbow": -0.5}),
            TorqueBetween(name="brake", frames=("upper", "lower"), axis=(0.0, -1.0, 0.0)),
        ]
    )
    np.testing.assert_allclose(
        robot.actuation.constant, [[0, 0], [0, 1], [1, 0], [-0.5, 0]], **EXACT
    )


def test_a_gear_multiplies_the_inertia_by_its_square():
    geared = two_link(Elastic(stiffness=50.0, motor_inertia=0.002, gear={"shoulder": 10.0}))
    np.testing.assert_allclose(geared.elastic.inertia, [0.2, 0.002])
    M = geared.snapshot(geared.neutral).M
    np.testing.assert_allclose(np.diag(M)[2:], [0.2, 0.002])


def test_other_forces_may_act_on_the_motors():
    robot = two_link(force=[JointSpring(joint="elbow_motor", stiffness=2.0)])
    q, v = STATES[1]
    extra = robot.snapshot(q, v).f - two_link().snapshot(q, v).f
    np.testing.assert_allclose(extra, [0.0, 0.0, 0.0, -2.0 * q[3]], **EXACT)


def test_the_springs_store_what_they_take(robot):
    """The force is the negative gradient of the energy, by differences, but for the dampers."""
    q, v = STATES[2]
    h = 1e-5
    at_rest = robot.snapshot(q)
    gradient = [
        (
            robot.snapshot(q + h * e).energy().potential
            - robot.snapshot(q - h * e).energy().potential
        )
        / (2 * h)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(at_rest.gravity - at_rest.f, gradient, **DIFFERENCED)
    s = robot.snapshot(q, v)
    stored = [robot.snapshot(q + x * v).stored[0] for x in (h, -h)]
    np.testing.assert_allclose(s.stored[1], (stored[0] - stored[1]) / (2 * h), **DIFFERENCED)


FALL = """
title = "The arm falls"
robot = "two_link"
start.q = {{ shoulder = 0.3, elbow = -0.5 }}
[timing]
duration = {duration}
[integrator]
rtol = 1e-12
atol = 1e-13
"""


def fall(robot, duration=1.0):
    scenario = Scenario.from_toml(FALL.format(duration=duration))
    return simulate(scenario.replace({"robot": robot}))


def test_energy_is_kept_to_the_accuracy_of_integration():
    run = fall(two_link(Elastic(stiffness=100.0, motor_inertia=0.2)), 2.0)
    assert run.status == "completed", run.message
    turned = 0.5 * 0.2 * run["v"][:, 2] ** 2  # what the first rotor alone takes up and gives back
    assert turned.max() > 1.0
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-11  # rtol is 1e-12


def test_stiff_springs_make_the_arm_that_carries_its_rotors():
    """The elastic arm tends to the rigid one with mass matrix M + J, with an error like 1/K."""
    rigid = fall(two_link_in_text(None, armature=0.2))["q"]
    errors = []
    for stiffness in (1e3, 1e4, 1e5):
        soft = fall(two_link(Elastic(stiffness=stiffness, motor_inertia=0.2)))["q"]
        errors.append(np.abs(soft[:, :2] - rigid).max())
    assert errors[2] < 1e-3
    np.testing.assert_allclose(np.divide(errors[:2], errors[1:]), 10.0, rtol=0.25)


WHEEL = """<robot name="wheel"><link name="axle"/><link name="rim"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="axle"/><child link="rim"/>
<axis xyz="0 0 1"/></joint></robot>"""


def test_a_continuous_joint_is_pulled_the_shorter_way_round():
    robot = Robot.build(WHEEL, Options(elastic=Elastic(stiffness=10.0, motor_inertia=0.1)))
    assert robot.coordinates == ("turn_cos", "turn_sin", "turn_motor")
    for turns in (-2, 0, 3):
        angle, ahead = 3.0, 0.4  # the motor is beyond half a turn, where atan2 jumps
        q = [np.cos(angle), np.sin(angle), angle + ahead + 2 * np.pi * turns]
        s = robot.snapshot(q)
        np.testing.assert_allclose(s.f, [4.0, -4.0], **EXACT)
        np.testing.assert_allclose(s.energy().potential, 5.0 * 0.4**2, **EXACT)


def test_motors_that_a_start_leaves_out_relax_their_springs():
    robot = two_link()
    q, v, _ = start_state(StartState(q={"shoulder": 0.3}, v={"elbow": 2.0}), robot, ())
    np.testing.assert_array_equal(q, [0.3, 0.0, 0.3, 0.0])
    np.testing.assert_array_equal(v, [0.0, 2.0, 0.0, 2.0])
    q, v, _ = start_state(StartState(q={"shoulder": 0.3, "shoulder_motor": 0.5}), robot, ())
    np.testing.assert_array_equal(q, [0.3, 0.0, 0.5, 0.0])


def test_a_solved_start_relaxes_the_springs_too():
    from ukctrl.mechanics.constraints import Expression

    robot = two_link()
    rows = (Expression(phi="shoulder + elbow - 1.0"), Expression(phi="elbow_motor - 0.2", name="b"))
    q, _, _ = start_state(StartState(solve=True), robot, rows)
    np.testing.assert_allclose(q, [0.5, 0.5, 0.5, 0.2], **EXACT)


def test_numbers_for_all_joints_leave_the_rotors_alone():
    robot, (q, v) = two_link(), STATES[0]
    heavy = robot.perturbed(Perturbation(mass_scale=2.0, damping=0.1))
    one, other = robot.snapshot(q, v), heavy.snapshot(q, v)
    np.testing.assert_allclose(other.M[:2, :2], 2.0 * one.M[:2, :2], **EXACT)
    np.testing.assert_allclose(other.M[2:, 2:], one.M[2:, 2:], **EXACT)
    np.testing.assert_allclose(other.f - one.f, [*(-0.1 * v[:2]), 0.0, 0.0], **EXACT)
    named = robot.perturbed(
        Perturbation(inertia_scale={"elbow_motor": 3.0}, damping={"elbow_motor": 0.1})
    )
    np.testing.assert_allclose(named.snapshot(q, v).M[3, 3], 0.6, **EXACT)


def test_believed_springs_can_be_wrong():
    joints = {"stiffness": 100.0, "motor_inertia": 0.2}
    changes = {f"{whose}.elastic": joints for whose in ("robot", "believed.robot")}
    scenario = Scenario.from_toml(FALL.format(duration=0.1))
    run = simulate(scenario.replace({**changes, "believed.robot.elastic.stiffness": 90.0}))
    assert run.status == "completed", run.message


@pytest.mark.parametrize(
    ("elastic", "more", "answer"),
    [
        ({"stiffness": 0.0}, {}, "stiffness: must be positive; got 0"),
        ({"stiffness": {"elbw": 1.0}}, {}, "elastic.stiffness: no joint named 'elbw'; did you"),
        ({"motor_inertia": {"elbow": 1.0}, "stiffness": {"shoulder": 1.0}}, {}, "is missing"),
        ({"damping": -1.0}, {}, "damping: must be"),
        ({"damping": {"elbw": 1.0}}, {}, "no elastic joint .in elastic.damping. named 'elbw'"),
        ({}, {"actuator": []}, "no motor drives a joint, so it is not known which are elastic"),
        (
            {},
            {"actuator": [FormulaInput(name="u", column={"elbow": "cos(elbow)"})],
             "at": {"elbow": 1.0}},
            "input 'u' pushes the elastic joint 'elbow' by a formula of the coordinates",
        ),
    ],
)  # fmt: skip
def test_bad_springs_are_refused(elastic, more, answer):
    at = more.pop("at", None)
    table = {"stiffness": at or 10.0, "motor_inertia": 0.1, **elastic}
    with pytest.raises(InputError, match=answer):
        two_link(Elastic(**table), **more)


def test_a_joint_with_several_freedoms_cannot_be_elastic():
    with pytest.raises(InputError, match="joint 'root' has 6 freedoms; an elastic joint has one"):
        Robot.load(
            "floating_arm",
            override={"elastic": {"stiffness": {"root_vx": 1.0}, "motor_inertia": 0.1}},
        )


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(InputError, match="would be called 'a_motor', which is taken"):
        Robot.build(
            Lagrangian(coordinates=["a", "a_motor"], kinetic="v.a**2 + v.a_motor**2"),
            Options(elastic=Elastic(stiffness={"a": 1.0}, motor_inertia=1.0)),
        )
