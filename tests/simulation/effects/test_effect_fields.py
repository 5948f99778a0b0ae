"""Every field of every effect on the plant: what it changes, by its formula; what it refuses; what
it records.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukctrl import Robot, UkctrlError
from ukctrl.simulation.effects import (
    Backlash,
    CarriedPayload,
    DeadZone,
    Disturbance,
    Drive,
    InputEffect,
    Jitter,
    JointFriction,
    Mismatch,
    MissedTicks,
    Push,
    Quantisation,
    RateLimit,
    RunContext,
    Saturation,
    Sensor,
    SensorEffect,
)
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.effect import ClockEffect, effect_rng

EXACT = {"rtol": 0.0, "atol": 1e-12}
Q, V = np.array([0.4, -0.7]), np.array([1.0, -2.0])


def bench(name="two_link", period=1e-3):
    return RunContext(Robot.load(name), 0.0, 10.0, period)


def altered(effect, robot, at=0.0, draw=0):
    return effect.altered(robot, at, effect_rng(draw, "it"))


def added(effect, robot, t=0.0, q=Q, v=V):
    """Return the generalised forces that an effect adds at a time."""
    changed = altered(effect, robot, t).snapshot(q, v, t)
    return changed.f - robot.snapshot(q, v, t).f


FRICTION = [
    (JointFriction(coulomb=2.0), 2.0, 2.0, 0.0, 0.1, 0.01),
    (JointFriction(coulomb=2.0, static=3.0), 2.0, 3.0, 0.0, 0.1, 0.01),
    (JointFriction(static=3.0), 0.0, 3.0, 0.0, 0.1, 0.01),
    (JointFriction(viscous=0.7), 0.0, 0.0, 0.7, 0.1, 0.01),
    (JointFriction(coulomb=2.0, static=3.0, stribeck_velocity=0.5), 2.0, 3.0, 0.0, 0.5, 0.01),
    (JointFriction(coulomb=2.0, velocity_scale=0.05), 2.0, 2.0, 0.0, 0.1, 0.05),
]


@pytest.mark.parametrize(("effect", "coulomb", "static", "viscous", "falls", "scale"), FRICTION)
@pytest.mark.parametrize("slip", [-0.3, -0.03, 0.0, 0.01, 0.2])
def test_each_level_of_friction_enters_its_curve(
    effect, coulomb, static, viscous, falls, scale, slip
):
    robot, v = Robot.load("two_link"), np.array([slip, -2.0 * slip])
    level = coulomb + (static - coulomb) * np.exp(-((v / falls) ** 2))
    expected = -level * np.tanh(v / scale) - viscous * v
    np.testing.assert_allclose(added(effect, robot, v=v), expected, **EXACT)
    signals = effect.signals(robot.snapshot(Q, v), 0.0)
    np.testing.assert_allclose(signals["force"].value, expected, **EXACT)
    assert signals["loss"].value == pytest.approx(-float(expected @ v), abs=1e-12)
    assert (signals["force"].units, signals["force"].components) == ("N m", robot.dofs)


def test_a_joint_that_static_friction_does_not_name_has_coulombs_level_alone():
    effect = JointFriction(coulomb=2.0, static={"elbow": 3.0})
    v = np.array([0.02, 0.02])
    levels = np.array([2.0, 2.0 + math.exp(-0.04)])
    np.testing.assert_allclose(
        added(effect, Robot.load("two_link"), v=v), -levels * math.tanh(2.0), **EXACT
    )


def world_push(robot, frame, force, torque):
    """Return J' times a force and a torque in world axes, from the Jacobian of the frame."""
    J = robot.snapshot(Q, V).frame(frame).J
    return J[:3].T @ force + J[3:].T @ torque


@pytest.mark.parametrize("axes", ["world", "frame"])
def test_a_force_and_a_torque_push_along_the_axes_that_they_are_given_in(axes):
    robot = Robot.load("two_link")
    force, torque = np.array([1.0, 0.3, -2.0]), np.array([0.2, 5.0, 0.4])
    effect = Push(
        frame="tool", force=tuple(force), torque=tuple(torque), axes=axes, start=0.0, duration=1.0
    )
    turn = robot.snapshot(Q, V).frame("tool").rotation if axes == "frame" else np.eye(3)
    expected = world_push(robot, "tool", turn @ force, turn @ torque)
    np.testing.assert_allclose(added(effect, robot), expected, **EXACT)
    signals = effect.signals(robot.snapshot(Q, V), 0.0)
    assert [(name, one.units, one.components) for name, one in signals.items()] == [
        ("force", "N", ("x", "y", "z")), ("torque", "N m", ("x", "y", "z"))
    ]  # fmt: skip
    np.testing.assert_allclose(signals["force"].value, force, **EXACT)
    assert effect.signals(robot.snapshot(Q, V), 1.0)["torque"].value.tolist() == [0.0] * 3


PUSHES = [
    (Push(joint="elbow", effort=3.0, start=1.0, duration=2.0), lambda t: 3.0, 1.0, 3.0),
    (
        Push(joint="elbow", effort=3.0, start=1.0, duration=2.0, shape="half_sine"),
        lambda t: 3.0 * math.sin(math.pi * (t - 1.0) / 2.0), 1.0, 3.0,
    ),
    (
        Disturbance(joint="elbow", effort=3.0, frequency=0.5, phase=0.4, start=1.0, stop=3.0),
        lambda t: 3.0 * math.sin(math.pi * t + 0.4), 1.0, 3.0,
    ),
    (
        Disturbance(joint="elbow", effort=3.0, frequency=0.5),
        lambda t: 3.0 * math.sin(math.pi * t), -math.inf, math.inf,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("effect", "strength", "begin", "end"), PUSHES)
def test_a_push_on_a_joint_lasts_from_its_start_to_before_its_end(effect, strength, begin, end):
    robot = Robot.load("two_link")
    for t in (0.0, 0.999, 1.0, 1.7, 2.999, 3.0, 4.0):
        expected = strength(t) if begin <= t < end else 0.0
        np.testing.assert_allclose(added(effect, robot, t), [0.0, expected], **EXACT)
        signal = effect.signals(robot.snapshot(Q, V, t), t)["effort"]
        assert signal.value == pytest.approx(expected, abs=1e-12)
        assert (signal.units, signal.long_name) == ("N m", "effort on 'elbow'")
    edges = tuple(t for t in (begin, end) if math.isfinite(t))
    assert effect.instants() == edges


@pytest.mark.parametrize(
    "effect",
    [
        JointFriction(coulomb=1.0, static=2.0, viscous=0.3),
        Push(frame="tool", force=(1.0, 0.0, 0.0), axes="frame", start=0.0, duration=1.0),
        Disturbance(joint="joint2", effort=3.0, frequency=0.5),
        Backlash(gap=0.1),
        Mismatch(mass=0.1, friction=0.2),
    ],
    ids=lambda effect: effect.kind,
)
def test_a_compiled_loop_can_run_what_an_effect_does_to_the_robot(effect):
    robot = altered(effect, Robot.load("panda_elastic"))
    assert robot.snapshot(robot.neutral).steps.python_owners == ()


def test_a_force_on_a_sliding_joint_is_recorded_in_newtons():
    robot = Robot.load("scara")
    slide = next(
        dof for dof, unit in zip(robot.dofs, robot.dof_units, strict=True) if unit == "m/s"
    )
    effect = Disturbance(joint=slide, effort=3.0, frequency=1.0)
    assert effect.signals(robot.snapshot(robot.neutral), 0.0)["effort"].units == "N"


def test_a_payload_is_recorded_while_it_is_carried():
    at = {"frame": "tool", "mass": 2.0}
    snapshot = Robot.load("two_link").snapshot(Q, V)
    assert CarriedPayload(**at).signals(snapshot, 0.0) == {}
    carried = CarriedPayload(**at, start=1.0, stop=2.0)
    masses = [carried.signals(snapshot, t)["mass"].value for t in (0.9, 1.0, 1.9, 2.0)]
    np.testing.assert_array_equal(masses, [0.0, 2.0, 2.0, 0.0])
    for only, expected in (({"start": 1.0}, [0.0, 2.0, 2.0]), ({"stop": 2.0}, [2.0, 2.0, 0.0])):
        effect = CarriedPayload(**at, **only)
        assert [effect.signals(snapshot, t)["mass"].value for t in (0.9, 1.5, 2.0)] == expected


def elastic(gap):
    """Return an arm with damped springs, one with and one without a gap, and its springs."""
    springs = {"stiffness": 1.0, "motor_inertia": 1.0, "damping": 0.5}
    robot = Robot.load("flexible_joint_arm", override={"elastic": springs})
    return robot, altered(Backlash(gap=gap), robot), robot.elastic


LEADS = [  # lead, its rate, what the flank gives: K = 1, D = 0.5, a gap of 0.2
    (0.05, 4.0, 0.0),
    (0.1, 4.0, 0.0),
    (-0.1, -4.0, 0.0),
    (0.3, 0.0, 0.2),
    (0.3, 1.0, 0.7),
    (0.3, -0.2, 0.1),
    (0.3, -1.0, 0.0),
    (-0.3, -1.0, -0.7),
    (-0.3, 1.0, 0.0),
]


@pytest.mark.parametrize(("lead", "rate", "torque"), LEADS)
def test_a_damped_gap_gives_nothing_inside_and_never_pulls(lead, rate, torque):
    for gap in (0.2, {"q2": 0.2}):
        robot, loose, springs = elastic(gap)
        q, v = robot.neutral.copy(), np.zeros(robot.nv)
        for k in range(2):
            q[springs.motor_coordinates[k]] = q[springs.link_coordinates[k]] + lead
            v[springs.motors[k]] = rate
        f = loose.snapshot(q, v).f - robot.snapshot(q, v).f
        plain = lead + 0.5 * rate
        second = plain if isinstance(gap, dict) else torque  # without a gap, a spring pulls too
        expected = np.zeros(robot.nv)
        expected[springs.links] += np.array([torque, second]) - plain
        expected[springs.motors] -= np.array([torque, second]) - plain
        np.testing.assert_allclose(f, expected, **EXACT)


def test_a_gap_stores_what_its_flank_is_squeezed_by_and_records_the_lead():
    robot, loose, springs = elastic(0.2)
    q, v = robot.neutral.copy(), np.zeros(robot.nv)
    q[springs.motor_coordinates] = q[springs.link_coordinates] + [0.05, -0.4]
    v[springs.motors] = [3.0, 2.0]
    at = loose.snapshot(q, v)
    np.testing.assert_allclose(at.stored, [0.5 * 0.3**2, -0.3 * 2.0], **EXACT)
    lead = Backlash(gap=0.2).signals(at, 0.0)["lead"]
    np.testing.assert_allclose(lead.value, [0.05, -0.4], **EXACT)
    assert (lead.units, lead.components) == ("rad", ("q2", "q4"))


@pytest.mark.parametrize("name", ["two_link", "flexible_joint_arm"])
def test_dry_friction_is_drawn_for_each_joint_of_a_robot_whatever_drives_it(name):
    robot = Robot.load(name)
    drawn = Mismatch(friction=2.0).facts(robot, effect_rng(3, "it"))["friction"]
    assert set(drawn) == {block.name for block in robot.blocks if not block.rotor}
    assert all(0.0 <= value <= 2.0 for value in drawn.values())
    assert len(set(drawn.values())) == 2
    v = np.full(robot.nv, 0.01)
    f = altered(Mismatch(friction=2.0), robot, draw=3).snapshot(robot.neutral, v).f
    expected = robot.snapshot(robot.neutral, v).f.copy()
    for joint, level in drawn.items():
        expected[robot.structure.dof(joint)] -= level * math.tanh(1.0)
    np.testing.assert_allclose(f, expected, **EXACT)


def test_what_a_mismatch_draws_is_what_moves():
    robot = Robot.load("two_link")
    effect = Mismatch(mass=0.2, inertia=0.3, com=0.05)
    drawn = effect.facts(robot, effect_rng(4, "it"))
    off = altered(effect, robot, draw=4)
    for block in robot.blocks:
        old, new = (r.structure.model.inertias[block.joint] for r in (robot, off))
        density = drawn["mass_scale"][block.name]
        turn = density * drawn["inertia_scale"][block.name]
        assert abs(density - 1.0) <= 0.2
        assert abs(turn / density - 1.0) <= 0.3
        assert new.mass == pytest.approx(density * old.mass, rel=1e-14)
        np.testing.assert_allclose(new.inertia, turn * old.inertia, rtol=1e-14)
        shift = new.lever - old.lever
        np.testing.assert_allclose(shift, drawn["com_shift"][block.name], **EXACT)
    assert effect.facts(robot, effect_rng(4, "it")).keys() == {
        "mass_scale", "inertia_scale", "com_shift"
    }  # fmt: skip


def test_the_parameters_of_a_plant_of_formulas_are_off_by_their_share():
    robot = Robot.load("flexible_joint_arm")
    effect = Mismatch(parameters=0.1)
    drawn = effect.facts(robot, effect_rng(5, "it"))["parameters"]
    shares = np.array([drawn[name] / value - 1.0 for name, value in robot.parameters.items()])
    assert (np.abs(shares) <= 0.1).all()
    assert len(set(shares)) == len(shares)
    assert altered(effect, robot, draw=5).parameters == pytest.approx(drawn)


def test_drives_by_actuator_leave_those_that_are_not_named_alone():
    made = bench()
    u = np.array([0.9, -5.0])
    low, high = made.robot.input_bounds(np.zeros(2))
    saturated = Saturation(limit={"elbow": 2.0}).attach(made, effect_rng(0, "it"))
    assert saturated.bounds(np.zeros(2)).low.tolist() == [low[0], max(low[1], -2.0)]
    assert saturated.bounds(np.zeros(2)).high.tolist() == [high[0], min(high[1], 2.0)]
    dead = DeadZone(width={"elbow": 2.0}).attach(made, effect_rng(0, "it"))
    assert dead.apply(0.0, u, np.zeros(2)).tolist() == [0.9, -3.0]
    slow = RateLimit(rate={"elbow": 10.0}).attach(made, effect_rng(0, "it"))
    slow.apply(0.0, np.zeros(2), np.zeros(2))
    assert slow.apply(0.1, u, np.zeros(2)).tolist() == [0.9, -1.0]
    assert slow.apply(0.2, u, np.zeros(2)).tolist() == [0.9, -2.0]


def test_no_tick_is_due_at_the_end_of_the_run():
    clock = AttachedEffects((MissedTicks(probability=0.0),), bench(), 0)
    assert clock.ticks([0.0, 0.5, 1.0], 1.0) == [0.0, 0.5]


class NoSensor(SensorEffect):
    def attach(self, context, rng):
        return None


class NoDrive(InputEffect):
    def attach(self, context, rng):
        return None


class BackInTime(ClockEffect):
    def ticks(self, times, context, rng):
        return times[::-1]


class LateStart(ClockEffect):
    def ticks(self, times, context, rng):
        return times + 1e-4


PLACE = (
    "Push: needs either a frame with a force or a torque that is not zero, or a joint with an "
    "effort that is not zero, and not both."
)
AT = {"start": 0.0, "duration": 1.0}
UNFIT = [
    (lambda: Push(**AT), PLACE),
    (lambda: Push(frame="tool", **AT), PLACE),
    (lambda: Push(frame="tool", force=(0.0, 0.0, 0.0), **AT), PLACE),
    (lambda: Push(joint="elbow", effort=0.0, **AT), PLACE),
    (lambda: Push(joint="elbow", effort=1.0, frame="tool", **AT), PLACE),
    (lambda: Push(joint="elbow", frame="tool", torque=(1.0, 0.0, 0.0), **AT), PLACE),
    (
        lambda: CarriedPayload(frame="tool", mass=1.0, start=2.0, stop=2.0),
        "CarriedPayload: stop must be after start, 2 s; got 2 s.",
    ),
    (
        lambda: JointFriction(static=1.0, velocity_scale=0.1),
        "JointFriction: velocity_scale must be below stribeck_velocity, 0.1, for static friction "
        "to be felt; got 0.1.",
    ),
    (
        lambda: AttachedEffects((Jitter(bound=1e-3),), bench(), 0).ticks([0.0, 1e-3], 1.0),
        "effect[0]: bound must be below the control period, 0.001 s, so that ticks stay in order; "
        "got 0.001 s.",
    ),
    (
        lambda: AttachedEffects((BackInTime(),), bench(), 0).ticks([0.0, 1e-3], 1.0),
        "effect[0]: ticks must increase, and the first one must stay.",
    ),
    (
        lambda: AttachedEffects((LateStart(),), bench(), 0).ticks([0.0, 1e-3], 1.0),
        "effect[0]: ticks must increase, and the first one must stay.",
    ),
    (
        lambda: AttachedEffects((NoSensor(),), bench(), 0),
        "effect[0]: attach must return a Sensor; got None.",
    ),
    (
        lambda: AttachedEffects((NoDrive(),), bench(), 0),
        "effect[0]: attach must return a Drive; got None.",
    ),
    (
        lambda: AttachedEffects((Mismatch(parameters=0.1),), bench(), 0),
        "effect[0]: parameters: robot 'two_link' has no parameters but bodies; give mass, inertia "
        "or com instead.",
    ),
    (
        lambda: AttachedEffects((Quantisation(step={"root_wz": 0.1}),), bench("quadrotor"), 0),
        "effect[0]: step: 'root_wz' is one of several freedoms and has no encoder.",
    ),
    (
        lambda: AttachedEffects((Saturation(),), bench("two_mass_spring"), 0),
        "effect[0]: no actuator of robot 'two_mass_spring' has a limit; give one here, such as "
        "limit = 10.0, or one for each actuator in the robot's file.",
    ),
    (
        lambda: AttachedEffects((Backlash(gap={"shoulder": 0.1}),), bench(), 0),
        "effect[0]: every joint of robot 'two_link' is rigid: its motor moves with it, and a gap "
        'has no room. Give the robot an [elastic] table, or use kind = "encoder_play" for play '
        "between a joint and its encoder.",
    ),
    (
        lambda: AttachedEffects((Backlash(gap={"q3": 0.1}),), bench("flexible_joint_arm"), 0),
        "effect[0]: gap: no elastic joint named 'q3'. Known: q2, q4.",
    ),
    (
        lambda: AttachedEffects((Backlash(gap={"q2_motor": 0.1}),), bench("flexible_joint_arm"), 0),
        "effect[0]: gap: joint 'q2_motor' is rigid: its motor moves with it, and a gap has no "
        'room. Give the robot an [elastic] table, or use kind = "encoder_play" for play between a '
        "joint and its encoder.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "says"), UNFIT)
def test_what_does_not_fit_is_refused_with_what_must_hold(made, says):
    with pytest.raises(UkctrlError) as caught:
        made()
    assert str(caught.value) == says


def test_a_sensor_or_a_drive_that_makes_no_number_is_named():
    class Blind(SensorEffect):
        kind = "blind"

        def attach(self, context, rng):
            class Reads(Sensor):
                def read(self, t, q, v):
                    return q, v * (np.nan if t > 0.0 else 1.0)

            return Reads()

    class Cut(InputEffect):
        kind = "cut"

        def attach(self, context, rng):
            class Gives(Drive):
                def apply(self, t, u, rate):
                    return u[:1]

            return Gives()

    met = AttachedEffects((Blind(), Cut()), bench(), 0)
    assert met.sense(0.0, Q, V)[1].tolist() == V.tolist()
    with pytest.raises(UkctrlError, match="effect 'blind' must read 2 finite velocities 'v'; got"):
        met.sense(0.5, Q, V)
    assert np.isnan(met.sense(0.5, Q, np.nan * V)[1]).all()
