"""Joint laws and null-space inputs: what they give at random states, beside their formulas.

Arms with springs and dampers of their own, with as many motors as joints, with more and with fewer,
and with a joint that turns without end; every gain is another number at every joint.
"""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task
from ukctrl.control import (
    Baumgarte,
    ComputedTorque,
    Damping,
    JointPid,
    LeastNorm,
    PdGravity,
    Posture,
    SelfMotion,
    Servo,
    SlotineLi,
    SlotineLiAdaptive,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec, natural_frequency
from ukctrl.control.joint_motion import joint_motion
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Expression
from ukctrl.robot import JointDamper, JointSpring, Lagrangian, Options
from ukctrl.simulation.assemble import Loop

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
KP, KI, KD = (30.0, 12.0), (7.0, 19.0), (5.0, 2.5)
KAPPA, GAMMA = (6.0, 3.5), {"mass": 4.0, "first_moment": 2.5, "inertia": 1.5}
PATH = Expression(components=("0.8*sin(1.3*t)", "0.5 + 0.7*cos(2.1*t)"))
FORCES = [
    JointSpring(joint="shoulder", stiffness=9.0, rest=0.4),
    JointDamper(joint="elbow", damping=0.5),
]
FULL = {"a": {"shoulder": 2.0}, "b": {"elbow": 0.5, "shoulder": -0.3}}
MORE = {**FULL, "c": {"shoulder": 1.0, "elbow": -1.5}}
FEWER = {"a": {"shoulder": 2.0, "elbow": 0.6}}


def pendulum(inputs):
    return Robot.build(
        Lagrangian(
            coordinates=["shoulder", "elbow"],
            kinetic=[
                "(0.5*v.shoulder)**2 + 0.75*(0.25*v.shoulder**2 + 0.16*(v.shoulder + v.elbow)**2)",
                "1.5*0.2*cos(elbow)*v.shoulder*(v.shoulder + v.elbow)",
            ],
            potential="17*sin(shoulder) + 6*sin(shoulder + elbow)",
            inputs=inputs,
        ),
        Options(force=FORCES),
        name="arm",
    )


LINK = """<link name="{0}"><inertial><origin xyz="{1} 0.1 0"/><mass value="{2}"/>
<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.1"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{4}"><parent link="{1}"/><child link="{2}"/>
<origin xyz="{3} 0 0"/><axis xyz="0 -1 0"/>
<limit lower="-9" upper="9" effort="1000" velocity="100"/></joint>"""
TURNING = Robot.build(
    "".join(
        (
            '<robot name="turning"><link name="base"/>',
            LINK.format("upper", 0.3, 2.0),
            LINK.format("lower", 0.2, 1.5),
            JOINT.format("shoulder", "base", "upper", 0.0, "continuous"),
            JOINT.format("elbow", "upper", "lower", 0.5, "revolute"),
            "</robot>",
        )
    ),
    Options(force=FORCES[1:]),
)
ROBOTS = {"one a joint": pendulum(FULL), "more motors": pendulum(MORE), "turning": TURNING}
every = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
seeds = pytest.mark.parametrize("seed", range(3))


class Place:
    """A robot at a random state, and how far it is from the path."""

    def __init__(self, robot, seed):
        rng = np.random.default_rng(seed)
        self.t, self.v, self.robot = 0.7, rng.standard_normal(2), robot
        self.angles = rng.uniform(-1.0, 1.0, 2)
        self.q = self.configuration(self.angles)
        self.s = robot.snapshot(self.q, self.v, self.t)
        self.rest = robot.snapshot(self.q, np.zeros(2), self.t)
        t, w, u = self.t, 1.3, 2.1
        r = np.array([0.8 * np.sin(w * t), 0.5 + 0.7 * np.cos(u * t)])
        self.r_dot = np.array([0.8 * w * np.cos(w * t), -0.7 * u * np.sin(u * t)])
        self.r_ddot = np.array([-0.8 * w * w * np.sin(w * t), -0.7 * u * u * np.cos(u * t)])
        self.e, self.e_dot = self.angles - r, self.v - self.r_dot

    def configuration(self, angles):
        if self.robot.nq == 2:
            return np.array(angles)
        return np.array([np.cos(angles[0]), np.sin(angles[0]), angles[1]])

    def task(self, *servo):
        start = self.configuration((0.2, -0.4))
        return Task(robot=self.robot, servo=servo, q=start, v=np.zeros(2), duration=1.0)

    def command(self, law, memory=None, *servo):
        law = law.start(self.task(*servo))
        return law.command(self.t, self.q, self.v, law.memory if memory is None else memory), law

    def input(self, force):
        """Return the least input that gives a force."""
        return np.linalg.pinv(self.s.B) @ force

    def signals(self, law, memory):
        dynamics = Dynamics(self.robot)
        dynamics.move(self.t, self.q, self.v)
        return law.signals(dynamics, memory)


@pytest.mark.slow(only=["0-one a joint"])
@every
@seeds
def test_computed_torque_is_its_formula(robot, seed):
    at = Place(robot, seed)
    command, _ = at.command(ComputedTorque(kp=KP, kd=KD, path=PATH))
    a = at.r_ddot - np.array(KD) * at.e_dot - np.array(KP) * at.e
    np.testing.assert_allclose(command.u, at.input(at.s.M @ a + at.s.nle - at.s.f), **CLOSED)


@pytest.mark.slow(only=["0-one a joint"])
@every
@seeds
def test_pd_with_gravity_is_its_formula(robot, seed):
    """What springs and gravity take at rest, without the dampers."""
    at = Place(robot, seed)
    command, _ = at.command(PdGravity(kp=KP, kd=KD, path=PATH))
    force = at.rest.nle - at.rest.f - np.array(KP) * at.e - np.array(KD) * at.e_dot
    np.testing.assert_allclose(command.u, at.input(force), **CLOSED)


@every
@seeds
def test_joint_pid_is_its_formula(robot, seed):
    at, memory = Place(robot, seed), np.array([0.3, -0.2])
    command, law = at.command(JointPid(kp=KP, ki=KI, kd=KD, path=PATH), memory)
    force = -np.array(KP) * at.e - np.array(KI) * memory - np.array(KD) * at.e_dot
    np.testing.assert_allclose(command.u, at.input(force), **CLOSED)
    np.testing.assert_allclose(command.memory_rate, at.e, **CLOSED)
    np.testing.assert_array_equal(law.memory, np.zeros(2))
    push = at.signals(law, memory)["integral_push"].value
    np.testing.assert_allclose(push, -np.array(KI) * memory, **CLOSED)


@pytest.mark.slow(only=["0-one a joint", "0-turning", "0-more motors", "1-turning"])
@every
@seeds
def test_slotine_and_lis_law_is_its_formula(robot, seed):
    at, s = Place(robot, seed), Place(robot, seed).s
    command, law = at.command(SlotineLi(kappa=KAPPA, kd=KD, path=PATH))
    sigma = at.e_dot + np.array(KAPPA) * at.e
    v_r, a_r = at.v - sigma, at.r_ddot - np.array(KAPPA) * at.e_dot
    C = s.coriolis()
    force = s.M @ a_r + C @ v_r + (s.nle - C @ at.v) - s.f - np.array(KD) * sigma
    np.testing.assert_allclose(command.u, at.input(force), **CLOSED)
    energy = at.signals(law, law.memory)["lyapunov"]
    np.testing.assert_allclose(energy.value, sigma @ s.M @ sigma / 2.0, **CLOSED)
    assert energy.units == "J"


@pytest.mark.slow(only=["0", "1"])
@seeds
def test_the_adaptive_law_is_its_formula(seed):
    at, s = Place(TURNING, seed), Place(TURNING, seed).s
    memory = 1.3 * s.inertial_parameters().ravel()
    law = SlotineLiAdaptive(kappa=KAPPA, kd=KD, gamma=GAMMA, path=PATH)
    command, law = at.command(law, memory)
    np.testing.assert_allclose(law.memory, memory / 1.3, **CLOSED)
    sigma = at.e_dot + np.array(KAPPA) * at.e
    v_r, a_r = at.v - sigma, at.r_ddot - np.array(KAPPA) * at.e_dot
    Y = s.regressor(v_r, a_r)
    force = Y @ memory - s.f - np.array(KD) * sigma
    np.testing.assert_allclose(command.u, at.input(force), **CLOSED)
    rates = np.tile([4.0, *3 * [2.5], *6 * [1.5]], 2)
    np.testing.assert_allclose(command.memory_rate, -rates * (Y.T @ sigma), **CLOSED)
    told = at.signals(law, memory)
    np.testing.assert_array_equal(told["mass_hat"].value, memory[::10])
    np.testing.assert_array_equal(told["parameter_hat"].value, memory)
    assert told["mass_hat"].long_name == "estimated mass of every moving body"
    assert told["parameter_hat"].long_name == (
        "estimates, ten a body: mass, first moments, inertia"
    )
    np.testing.assert_allclose(told["lyapunov"].value, sigma @ s.M @ sigma / 2.0, **CLOSED)


LAWS = [
    ComputedTorque(kp=KP, kd=KD, path=PATH),
    PdGravity(kp=KP, kd=KD, path=PATH),
    JointPid(kp=KP, ki=KI, kd=KD, path=PATH),
    SlotineLi(kappa=KAPPA, kd=KD, path=PATH),
    SlotineLiAdaptive(kappa=KAPPA, kd=KD, gamma=GAMMA, path=PATH),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_joints_may_be_named_in_any_order(law):
    at = Place(TURNING, 1)
    turned = Expression(components=PATH.components[::-1])
    gains = {
        name: getattr(law, name)[::-1]
        for name in ("kp", "ki", "kd", "kappa")
        if isinstance(getattr(law, name, None), tuple)
    }
    other = dc.replace(law, joints=("elbow", "shoulder"), path=turned, **gains)
    np.testing.assert_allclose(at.command(other)[0].u, at.command(law)[0].u, **CLOSED)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_without_a_path_joints_follow_what_keeps_the_rows(law):
    """Rows whose joint motion is the path: both laws give the same."""
    phi = ("shoulder - 0.8*sin(1.3*t)", "elbow - 0.5 - 0.7*cos(2.1*t)")
    at = Place(pendulum(FULL), 1) if law.kind != "slotine_li_adaptive" else Place(TURNING, 1)
    if at.robot is TURNING:
        turn = "shoulder_sin*cos(0.8*sin(1.3*t)) - shoulder_cos*sin(0.8*sin(1.3*t))"
        phi = (turn, phi[1])
    found, _ = at.command(dc.replace(law, path=None), None, Rows(phi=phi, unit="rad"))
    np.testing.assert_allclose(found.u, at.command(law)[0].u, rtol=0.0, atol=1e-6)


def test_gains_follow_from_a_settling_time_and_the_inertia_of_every_joint():
    load = np.array([2.0, 0.3])
    w = natural_frequency(1.5, 0.6)
    second = {"kp": w * w, "kd": 1.2 * w}
    kp, ki, kd = ErrorSpec(settling=1.5, damping=0.6).third_order()
    wanted = {
        ComputedTorque: second,
        PdGravity: {name: gain * load for name, gain in second.items()},
        JointPid: {"kp": kp * load, "ki": ki * load, "kd": kd * load},
    }
    for law, gains in wanted.items():
        named = dict.fromkeys(gains, 1.0)
        found = law(**named).gains_for(ErrorSpec(settling=1.5, damping=0.6), lambda: load)
        assert found.keys() == gains.keys()
        for name, gain in gains.items():
            np.testing.assert_allclose(found[name], gain, **CLOSED)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_a_path_of_another_length_and_missing_motors_are_refused(law):
    short = dc.replace(law, path=Expression(components=("t", "t", "t")))
    with pytest.raises(InputError) as caught:
        Place(TURNING, 0).command(short)
    assert str(caught.value) == (
        "controller.path must have 2 components, one for each of shoulder, elbow; got 3."
    )
    if law.kind != "slotine_li_adaptive":
        with pytest.raises(InputError) as caught:
            Place(pendulum(FEWER), 0).command(law)
        whole = law.kind == "slotine_li"
        cure = (
            "Use" if whole else "Name joints with motors of their own as controller.joints, or use"
        )
        assert str(caught.value) == (
            "robot 'arm' must have a motor for each of its 2 freedoms to follow a joint motion; "
            f"its motors reach 1. {cure} the card 'servo-baumgarte'."
        )


@pytest.mark.parametrize("law", [PdGravity(kp=30.0, kd=5.0), JointPid(kp=30.0, ki=0.0, kd=5.0)])
def test_joints_that_are_named_need_motors_of_their_own_and_others_none(law):
    """An arm whose elbow hangs: the shoulder follows."""
    at = Place(pendulum({"a": {"shoulder": 2.0}}), 0)
    path = Expression(components=("0.8*sin(1.3*t)",))
    found, _ = at.command(dc.replace(law, joints=("shoulder",), path=path))
    load = at.s.gravity[0] - FORCES[0].stiffness * (0.4 - at.angles[0])
    push = -30.0 * at.e[0] - 5.0 * at.e_dot[0] + (load if law.kind == "pd_gravity" else 0.0)
    np.testing.assert_allclose(found.u, [push / 2.0], **CLOSED)
    for robot in (at.robot, pendulum(FEWER)):
        with pytest.raises(InputError) as caught:
            Place(robot, 0).command(dc.replace(law, joints=("elbow",), path=path))
        assert str(caught.value) == (
            "controller.joints must name joints with motors of their own; 'elbow' has none. Leave "
            "it out, or use the card 'servo-baumgarte'."
        )


# Null-space inputs: a row on one joint, and what the rest of the motors do.

ROW = Rows(phi="elbow - 0.3*sin(t)", unit="rad")
FEEDBACK = Baumgarte(alpha=8.0, beta=21.0)
GIVEN = (0.9, -0.7)


def preferred(at, null_space):
    """Return u0 of a null-space input, written out."""
    s = at.s
    if isinstance(null_space, Damping):
        return at.input(-null_space.gain * at.v + (s.gravity if null_space.gravity else 0.0))
    goal = np.array((0.2, -0.4) if null_space.q is None else GIVEN)
    back = null_space.kp * (goal - at.angles) - null_space.kd * at.v
    if isinstance(null_space, Posture):
        return at.input(back + (s.gravity if null_space.gravity else 0.0))
    if s.B.shape[1] > 1:
        return at.input(s.M @ back + s.nle - s.f)
    G = np.linalg.solve(s.M, s.B)
    return np.linalg.pinv(G) @ (back - np.linalg.solve(s.M, s.f - s.nle))


NULL = [
    Damping(gain=3.0),
    Damping(gain=3.0, gravity=False),
    Posture(kp=5.0, kd=1.7),
    Posture(kp=5.0, kd=1.7, q=GIVEN, gravity=False),
    SelfMotion(kp=4.0, kd=2.3),
    SelfMotion(kp=4.0, kd=2.3, q=GIVEN),
    SelfMotion(kd=2.3),
]
NULL_ROBOTS = {**ROBOTS, "fewer motors": pendulum(FEWER)}


# Gauss' metric does not tell apart motors that push alike.
METRICS = [(name, "effort") for name in NULL_ROBOTS]
METRICS += [(name, "gauss") for name in NULL_ROBOTS if name != "more motors"]


@pytest.mark.slow(
    only=[
        "self_motion0-fewer motors-effort",
        "damping0-one a joint-gauss",
        "self_motion0-fewer motors-gauss",
    ]
)
@pytest.mark.parametrize(("name", "metric"), METRICS)
@pytest.mark.parametrize("null_space", NULL, ids=lambda one: one.kind)
def test_the_input_is_the_nearest_to_what_the_null_space_prefers(name, null_space, metric):
    robot = NULL_ROBOTS[name]
    at = Place(robot, 5)
    if robot is TURNING and null_space.kind != "damping" and null_space.q is not None:
        whole = tuple(at.configuration(GIVEN))
        null_space = dc.replace(null_space, q=whole)
    law = Servo(feedback=FEEDBACK, allocation=LeastNorm(metric=metric, null_space=null_space))
    command, _ = at.command(law, None, ROW)
    s, u0 = at.s, preferred(at, null_space)
    phi, rate = at.angles[1] - 0.3 * np.sin(at.t), at.v[1] - 0.3 * np.cos(at.t)
    d = -0.3 * np.sin(at.t) - 8.0 * rate - 21.0 * phi
    G = np.linalg.solve(s.M, s.B)
    H, free = G[1:], np.linalg.solve(s.M, s.f - s.nle)[1]
    R = np.eye(s.B.shape[1]) if metric == "effort" else s.B.T @ G
    back = np.linalg.solve(R, H.T)
    u = u0 + back @ np.linalg.solve(H @ back, d - free - H @ u0)
    np.testing.assert_allclose(command.u, u, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("null_space", [Posture(kp=1.0, kd=1.0), SelfMotion(kd=1.0)])
def test_a_posture_has_one_number_a_coordinate(null_space):
    wrong = LeastNorm(null_space=dc.replace(null_space, q=(1.0, 2.0, 3.0)))
    with pytest.raises(GainError) as caught:
        Place(pendulum(FULL), 0).command(Servo(feedback=FEEDBACK, allocation=wrong), None, ROW)
    assert str(caught.value) == "posture must have one number a coordinate, 2; got 3."


def test_runs_that_differ_in_gains_or_seeds_alone_plan_their_motion_once():
    robot = Robot.load("scara")
    base = Scenario.load(
        "scara-helix", {"timing.duration": 0.05, "controller.use": "servo-baumgarte"}
    )

    def motion(**changes):
        scenario = base.replace(changes)
        state = Loop(scenario).state
        task = Task(robot=robot, servo=scenario.servo, q=state.q, v=state.v, duration=0.05)
        return joint_motion(task, 0.005)

    first = motion()
    assert motion(seed=5, **{"controller.feedback.alpha": 7.0}) is first
    for change in (
        {"servo.tool.path.z": "0.03*t"},
        {"start.q.q4": 0.001, "start.solve": False},
    ):
        other, again = motion(**change), motion()
        assert other is not first
        assert other != again
        assert again == first
