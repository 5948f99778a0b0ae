"""Effects one by one, against closed forms: sensors, drives, clocks, plants."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tests.shared.free_bodies import free, inertial
from ukctrl import Robot, UkctrlError
from ukctrl.core.errors import InputError
from ukctrl.robot import Lagrangian, Options
from ukctrl.simulation.effects import (
    Backlash,
    Bias,
    CarriedPayload,
    DeadZone,
    Differentiation,
    Disturbance,
    EncoderPlay,
    InputDelay,
    Jitter,
    JointFriction,
    MeasurementDelay,
    Mismatch,
    MissedTicks,
    Noise,
    Push,
    Quantisation,
    RateLimit,
    RunContext,
    Saturation,
)
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.effect import effect_labels, effect_rng

EXACT = {"rtol": 0.0, "atol": 1e-14}
TURN = {"rtol": 0.0, "atol": 1e-12}  # angles through cosine, sine and back
NONE = np.zeros(2)


def bench(name="two_link", period=1e-3, duration=10.0):
    return RunContext(Robot.load(name), 0.0, duration, period)


def attached(effect, name="two_link", **changes):
    return effect.attach(bench(name, **changes), effect_rng(0, "it"))


def readings(sensor, count, q, v):
    pairs = [sensor.read(1e-3 * k, q, v) for k in range(count)]
    return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])


def test_noise_has_the_mean_and_deviation_that_it_was_given():
    n, std, v_std = 20_000, 2e-3, 5e-2
    q, v = np.array([0.4, -0.7]), np.array([1.0, 2.0])
    read_q, read_v = readings(attached(Noise(std=std, v_std={"elbow": v_std})), n, q, v)
    four_sigma = 4.0 * std / math.sqrt(n)  # of the mean: missed once in 16 000
    assert np.abs((read_q - q).mean(axis=0)).max() < four_sigma
    np.testing.assert_allclose((read_q - q).std(axis=0), std, rtol=4.0 / math.sqrt(2 * n))
    np.testing.assert_allclose((read_v - v)[:, 1].std(), v_std, rtol=4.0 / math.sqrt(2 * n))
    assert not (read_v - v)[:, 0].any()
    off = (read_q - q) / std
    assert np.abs(np.mean(off[1:] * off[:-1], axis=0)).max() < 4.0 / math.sqrt(n)  # white
    assert abs(np.mean(off[:, 0] * off[:, 1])) < 4.0 / math.sqrt(n)  # joint by joint


def test_noise_of_one_quantity_says_nothing_about_the_numbers_of_another():
    q, v = NONE, NONE
    alone, _ = readings(attached(Noise(std=1e-3)), 50, q, v)
    beside, _ = readings(attached(Noise(std=1e-3, v_std=0.2)), 50, q, v)
    np.testing.assert_array_equal(alone, beside)


def test_the_numbers_of_an_effect_depend_on_the_seed_and_its_own_name_alone():
    first, same = (effect_rng(7, "gyro").standard_normal(5) for _ in range(2))
    np.testing.assert_array_equal(first, same)
    assert (first != effect_rng(8, "gyro").standard_normal(5)).all()
    assert (first != effect_rng(7, "noise").standard_normal(5)).all()


def test_noise_keeps_rotations_and_turning_joints_on_their_manifold():
    robot = Robot.load("floating_arm")
    q, v = robot.random(np.random.default_rng(3)), np.zeros(robot.nv)
    sensor = Noise(std=0.05).attach(RunContext(robot, 0.0, 1.0, 1e-3), effect_rng(0, "it"))
    n = 4000
    read = [sensor.read(0.0, q, v)[0] for _ in range(n)]
    np.testing.assert_allclose(np.linalg.norm([r[3:7] for r in read], axis=1), 1.0, **TURN)
    off = np.array([robot.difference(q, r) for r in read])
    np.testing.assert_allclose(off.std(axis=0), 0.05, rtol=4.0 / math.sqrt(2 * n))


def test_a_bias_is_a_constant_step_in_the_tangent_space():
    robot = Robot.load("floating_arm")
    q, v = robot.random(np.random.default_rng(4)), np.ones(robot.nv)
    sensor = Bias(offset={"root": 0.01, "wrist": -0.2}, v_offset=0.3).attach(
        RunContext(robot, 0.0, 1.0), effect_rng(0, "it")
    )
    read_q, read_v = sensor.read(0.0, q, v)
    step = robot.difference(q, read_q)
    expected = np.zeros(robot.nv)
    expected[:6], expected[robot.dofs.index("wrist")] = 0.01, -0.2
    np.testing.assert_allclose(step, expected, **TURN)
    np.testing.assert_allclose(read_v, 1.3, **EXACT)


def test_an_encoder_reads_the_nearest_step_and_leaves_velocities_alone():
    sensor = attached(Quantisation(step={"elbow": 0.01}))
    for angle in np.linspace(-0.3, 0.3, 101):
        read, v = sensor.read(0.0, np.array([angle, angle]), np.array([1.0, 2.0]))
        assert read[0] == angle
        assert abs(read[1] / 0.01 - round(read[1] / 0.01)) < 1e-9
        assert abs(read[1] - angle) <= 0.005 + 1e-15
        np.testing.assert_array_equal(v, [1.0, 2.0])


def test_the_encoder_of_a_joint_without_end_rounds_its_angle():
    robot = Robot.load("floating_arm")
    at, step = robot.coordinates.index("wrist_cos"), math.tau / 64
    sensor = Quantisation(step=step).attach(RunContext(robot, 0.0, 1.0, 1e-3), effect_rng(0, "it"))
    q, turn = robot.neutral, np.zeros(robot.nv)
    for angle in (-3.1, -0.06, 0.04, 1.0, 3.13):
        turn[robot.dofs.index("wrist")] = angle
        read, _ = sensor.read(0.0, robot.integrate(q, turn), turn)
        seen = math.atan2(read[at + 1], read[at])
        expected = step * round(angle / step)
        assert math.remainder(seen - expected, math.tau) == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_array_equal(read[:7], q[:7])  # the base has no encoder


def test_play_at_an_encoder_lags_by_half_the_gap_and_loses_the_whole_gap_on_return():
    gap = 0.02
    sensor = attached(EncoderPlay(gap={"shoulder": gap}))
    angles = np.concatenate([np.linspace(0.0, 0.1, 101), np.linspace(0.1, 0.0, 101)])
    read, v = zip(
        *(sensor.read(0.0, np.array([a, 0.0]), np.array([1.0, 0.0])) for a in angles), strict=True
    )
    seen = np.array(read)[:, 0]
    np.testing.assert_allclose(seen[15:101], angles[15:101] - gap / 2, **TURN)
    np.testing.assert_allclose(seen[101:120], 0.1 - gap / 2, **TURN)  # it crosses the gap
    np.testing.assert_allclose(seen[125:], angles[125:] + gap / 2, **TURN)
    assert v[5][0] == 0.0
    assert v[50][0] == 1.0


def test_differentiation_gives_the_slope_between_two_ticks():
    sensor = attached(Differentiation())
    times = [0.0, 0.001, 0.0025, 0.003]
    q = [np.array([0.1 * t * t, 2.0 * t]) for t in times]
    v = [sensor.read(t, each, np.array([9.0, 9.0]))[1] for t, each in zip(times, q, strict=True)]
    np.testing.assert_array_equal(v[0], [9.0, 9.0])
    for k in range(1, 4):
        slope = (q[k] - q[k - 1]) / (times[k] - times[k - 1])
        np.testing.assert_allclose(v[k], slope, rtol=1e-12)


def test_the_low_pass_of_a_differentiation_answers_a_step_as_an_exponential():
    cutoff, period = 20.0, 1e-3
    sensor = attached(Differentiation(cutoff=cutoff))
    sensor.read(0.0, NONE, NONE)
    for k in range(1, 60):
        _, v = sensor.read(k * period, np.full(2, 3.0 * k * period), NONE)
        expected = 3.0 * (1.0 - math.exp(-math.tau * cutoff * k * period))
        np.testing.assert_allclose(v, expected, rtol=1e-9)


def test_a_measurement_delay_is_exactly_its_ticks():
    sensor = attached(MeasurementDelay(ticks=3))
    seen = [sensor.read(0.0, np.full(2, float(k)), NONE)[0][0] for k in range(8)]
    assert seen == [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    in_seconds = attached(MeasurementDelay(time="3*ms"))
    assert [in_seconds.read(0.0, np.full(2, float(k)), NONE)[0][0] for k in range(8)] == seen


def test_a_saturation_keeps_the_tighter_of_its_own_and_the_robots_bounds():
    robot = Robot.load("two_link")
    drive = attached(Saturation(limit={"elbow": 2.0}))
    u = drive.apply(0.0, np.array([5.0, -5.0]), NONE)
    low, high = robot.input_bounds(NONE)
    np.testing.assert_array_equal(u, [min(5.0, high[0]), max(-2.0, low[1])])


def test_a_dead_zone_answers_nothing_to_little_and_is_continuous():
    drive = attached(DeadZone(width={"shoulder": 0.5}))
    for command, answer in ((0.3, 0.0), (-0.5, 0.0), (0.7, 0.2), (-2.0, -1.5)):
        u = drive.apply(0.0, np.array([command, command]), NONE)
        np.testing.assert_allclose(u, [answer, command], **EXACT)


def test_a_rate_limit_turns_a_step_into_a_slope():
    drive = attached(RateLimit(rate=50.0))
    drive.apply(0.0, NONE, NONE)
    for k in range(1, 30):
        u = drive.apply(1e-3 * k, np.array([1.0, -0.01]), NONE)
        np.testing.assert_allclose(u, [min(1.0, 0.05 * k), -0.01], rtol=1e-12)


def test_jitter_delays_ticks_by_less_than_its_bound_and_keeps_their_order():
    times = 1e-3 * np.arange(5000)
    ticks = Jitter(bound=4e-4).ticks(times, bench(), effect_rng(0, "jitter"))
    late = ticks - times
    assert ticks[0] == 0.0
    assert late.min() >= 0.0
    assert late.max() < 4e-4
    assert (np.diff(ticks) > 0.0).all()
    np.testing.assert_allclose(late.mean(), 2e-4, rtol=4.0 / math.sqrt(3 * 5000))


def test_ticks_are_missed_as_often_as_they_should_be_and_never_the_first():
    times, p = 1e-3 * np.arange(20_000), 0.1
    ticks = MissedTicks(probability=p).ticks(times, bench(), effect_rng(0, "missed"))
    sigma = math.sqrt(p * (1.0 - p) / len(times))
    assert abs(1.0 - len(ticks) / len(times) - p) < 4.0 * sigma
    only = MissedTicks(probability=1.0).ticks(times, bench(), effect_rng(0, "missed"))
    np.testing.assert_array_equal(only, [0.0])


def test_friction_follows_the_curve_of_stribeck():
    robot = Robot.load("two_link")
    made = JointFriction(coulomb={"elbow": 2.0}, static={"elbow": 3.0}, viscous={"elbow": 0.7})
    rubbed = made.altered(robot, 0.0, effect_rng(0, "it"))
    for slip in (-1.5, -0.08, -0.004, 0.0, 0.02, 0.3):
        v = np.array([0.5, slip])
        level = 2.0 + 1.0 * math.exp(-((slip / 0.1) ** 2))
        expected = -level * math.tanh(slip / 0.01) - 0.7 * slip
        more = rubbed.snapshot(NONE, v).f - robot.snapshot(NONE, v).f
        np.testing.assert_allclose(more, [0.0, expected], **EXACT)


def test_a_payload_of_no_mass_is_none():
    robot = Robot.load("two_link")
    loaded = CarriedPayload(frame="tool", mass=0.0).altered(robot, 0.0, effect_rng(0, "it"))
    np.testing.assert_array_equal(loaded.snapshot([0.3, 0.4]).M, robot.snapshot([0.3, 0.4]).M)


def test_a_payload_is_a_robot_with_that_mass():
    robot = Robot.load("scara")
    made = CarriedPayload(frame="tool", mass=2.0, com=(0.1, 0.0, 0.05), inertia=(0.01, 0.02, 0.03))
    loaded = made.altered(robot, 0.0, effect_rng(0, "it"))
    rng = np.random.default_rng(1)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    bare, heavy = robot.snapshot(q, v), loaded.snapshot(q, v)
    tool = bare.frame("tool")
    r = tool.rotation @ [0.1, 0.0, 0.05]
    cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    J_v, J_w = tool.J[:3] - cross @ tool.J[3:], tool.J[3:]
    inertia = tool.rotation @ np.diag([0.01, 0.02, 0.03]) @ tool.rotation.T
    added = 2.0 * J_v.T @ J_v + J_w.T @ inertia @ J_w
    np.testing.assert_allclose(heavy.M, bare.M + added, rtol=0.0, atol=1e-12)
    weight = heavy.gravity - bare.gravity
    np.testing.assert_allclose(weight, 2.0 * 9.81 * J_v[2], rtol=0.0, atol=1e-12)


def test_a_mismatch_stays_within_its_shares_and_one_setting_leaves_another_alone():
    robot = Robot.load("scara")
    drawn = [
        Mismatch(mass=0.2, com=com).facts(robot, effect_rng(5, "mismatch")) for com in (0.0, 0.01)
    ]
    assert drawn[0]["mass_scale"] == drawn[1]["mass_scale"]
    factors = np.array(list(drawn[0]["mass_scale"].values()))
    assert (np.abs(factors - 1.0) < 0.2).all()
    assert len(set(factors)) == 4
    assert np.abs(list(drawn[1]["com_shift"].values())).max() < 0.01
    other = Mismatch(mass=0.2).facts(robot, effect_rng(6, "mismatch"))
    assert other["mass_scale"] != drawn[0]["mass_scale"]


def test_a_gap_is_free_of_torque_and_its_flanks_never_pull():
    robot = Robot.load("flexible_joint_arm")
    springs, gap = robot.elastic, 0.1
    loose = Backlash(gap=gap).altered(robot, 0.0, effect_rng(0, "it"))
    for lead in (-0.3, -0.05, 0.02, 0.05, 0.2):
        q = robot.neutral.copy()
        q[springs.motor_coordinates[0]] = q[springs.link_coordinates[0]] + lead
        squeezed = math.copysign(max(abs(lead) - gap / 2, 0.0), lead)
        f = loose.snapshot(q).f
        np.testing.assert_allclose(f[springs.links[0]], springs.stiffness[0] * squeezed, **EXACT)
        np.testing.assert_allclose(f[springs.motors[0]], -f[springs.links[0]], **EXACT)


def test_conditions_say_which_effect_does_not_fit_and_why():
    cases = {
        "effect[1]: std: no joint named 'elbwo'; did you mean 'elbow'?": Noise(std={"elbwo": 1.0}),
        "effect[1]: no frame named 'tol'; did you mean 'tool'?": Push(
            frame="tol", force=(1.0, 0.0, 0.0), start=1.0, duration=1.0
        ),
        "effect[1]: limit: no actuator named 'elbw'; did you mean 'elbow'?": Saturation(
            limit={"elbw": 1.0}
        ),
        "effect[1]: static must be at least coulomb, 2 at joint 'shoulder'; got 1.": JointFriction(
            coulomb=2.0, static=1.0
        ),
        "effect[1]: every joint of robot 'two_link' is rigid": Backlash(gap=0.1),
        "effect[1]: frame 'world' does not move": CarriedPayload(frame="world", mass=1.0),
        "effect[1]: time must be a whole number of control periods": MeasurementDelay(time=1.5e-3),
        "effect[1]: the delay must be shorter than the run, 10 s": InputDelay(time=20.0),
        "effect[1]: no actuator of robot 'two_link' has a rate_limit": RateLimit(),
    }
    for says, effect in cases.items():
        with pytest.raises(UkctrlError) as caught:
            AttachedEffects((Bias(offset=0.1), effect), bench(), 0)
        assert str(caught.value).startswith(says)


def test_two_effects_of_one_kind_are_told_apart_and_a_name_goes_first():
    effects = (Noise(std=1.0), Noise(std=2.0), Noise(std=3.0, name="gyro"))
    assert effect_labels(effects) == ("noise", "noise_2", "gyro")


@pytest.mark.parametrize("made", [Noise, Bias, JointFriction, Mismatch])
def test_an_effect_whose_levels_are_all_zero_is_refused(made):
    with pytest.raises(
        UkctrlError, match=r"must have some .* that is not zero, or it does nothing"
    ):
        made()


def test_a_table_of_zeros_is_refused_as_zero_is():
    with pytest.raises(UkctrlError, match="std or v_std that is not zero"):
        Noise(std={"elbow": 0.0})
    assert Noise(std={"elbow": 0.0, "shoulder": 1e-3}).v_std == 0.0


NO_JOINT = "robot 'quadrotor' has no joint with one freedom"
NO_ENCODER = "and so no encoder. Remove the effect."


@pytest.mark.parametrize(
    ("effect", "says"),
    [
        (Quantisation(step=1e-3), f"step: there is nothing to act on; {NO_JOINT}, {NO_ENCODER}"),
        (EncoderPlay(gap=1e-3), f"gap: there is nothing to act on; {NO_JOINT}, {NO_ENCODER}"),
        (
            JointFriction(viscous=1.0),
            f"there is nothing to rub; {NO_JOINT}. Name single freedoms, such as coulomb = "
            "{ root_wz = 1.0 }, or remove the effect.",
        ),
        (
            Mismatch(mass=0.1, friction=1.0),
            f"friction: there is nothing to rub; {NO_JOINT}. Remove it.",
        ),
    ],
)
def test_what_no_joint_of_the_robot_has_is_refused(effect, says):
    with pytest.raises(UkctrlError) as caught:
        AttachedEffects((effect,), bench("quadrotor"), 0)
    assert str(caught.value) == f"effect[0]: {says}"


def test_friction_on_a_named_freedom_of_a_joint_with_several_acts():
    friction = JointFriction(viscous={"root_wz": 1.0})
    (plant,) = AttachedEffects((friction,), bench("quadrotor"), 0).plants
    robot = plant.robot
    v = np.arange(1.0, robot.nv + 1.0)
    added = (
        robot.snapshot(robot.neutral, v).f - bench("quadrotor").robot.snapshot(robot.neutral, v).f
    )
    expected = np.zeros(robot.nv)
    expected[robot.structure.dof("root_wz")] = -v[robot.structure.dof("root_wz")]
    np.testing.assert_allclose(added, expected, **EXACT)


@pytest.mark.parametrize(
    "effect",
    [
        Push(joint="elbow", effort=1.0, start=-2.0, duration=1.0),
        CarriedPayload(frame="tool", mass=1.0, stop=-0.5),
        Disturbance(joint="elbow", effort=1.0, frequency=1.0, start=-2.0, stop=0.0),
    ],
)
def test_what_is_over_before_the_run_starts_is_refused(effect):
    with pytest.raises(
        UkctrlError, match=r"effect\[0\]: '.*' never acts: it ends at .* and the run"
    ):
        AttachedEffects((effect,), bench(), 0)


def test_what_began_before_the_run_starts_is_not_over():
    assert AttachedEffects(
        (CarriedPayload(frame="tool", mass=1.0, start=-1.0),), bench(), 0
    ).acts_on_plant


# What a mismatch draws


ALL = {"mass": 0.2, "inertia": 0.1, "com": 0.01, "friction": 2.0, "parameters": 0.3}


@pytest.mark.parametrize("name", ["two_link", "floating_arm"])
def test_a_mismatch_is_drawn_evenly_within_what_it_was_given(name):
    robot = Robot.load(name)
    given = {key: size for key, size in ALL.items() if key != "parameters"}
    drawn = [Mismatch(**given).facts(robot, np.random.default_rng(k)) for k in range(200)]
    bodies = [block.name for block in robot.blocks if not block.rotor]
    single = [block.name for block in robot.blocks if block.nv == 1 and not block.rotor]
    for key, low, high, names in [
        ("mass_scale", 0.8, 1.2, bodies), ("inertia_scale", 0.9, 1.1, bodies),
        ("com_shift", -0.01, 0.01, bodies), ("friction", 0.0, 2.0, single),
    ]:  # fmt: skip
        assert all(list(each[key]) == names for each in drawn)
        values = np.array([list(each[key].values()) for each in drawn]).reshape(200, -1)
        room = high - low
        assert (values >= low).all()
        assert (values <= high).all()
        assert (values.min(axis=0) < low + 0.1 * room).all()  # one of 200 is, but for 1e-9
        assert (values.max(axis=0) > high - 0.1 * room).all()
        assert (np.abs(values.mean(axis=0) - 0.5 * (low + high)) < 0.15 * room).all()


def test_one_more_setting_of_a_mismatch_leaves_the_others_alone():
    robot = Robot.load("two_link")
    alone = Mismatch(mass=0.2).facts(robot, np.random.default_rng(1))
    given = {key: size for key, size in ALL.items() if key != "parameters"}
    both = Mismatch(**given).facts(robot, np.random.default_rng(1))
    assert list(alone) == ["mass_scale"]
    assert alone["mass_scale"] == both["mass_scale"]
    assert Mismatch(mass=0.4).facts(robot, np.random.default_rng(1))["mass_scale"] == {
        joint: pytest.approx(1.0 + 2.0 * (scale - 1.0), rel=1e-12)
        for joint, scale in alone["mass_scale"].items()
    }


def test_parameters_of_a_plant_are_drawn_about_their_values():
    plant = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="m/2*v.x**2", potential="k/2*x**2",
                   parameters={"m": 2.0, "k": -5.0}),
        Options(),
    )  # fmt: skip
    drawn = [Mismatch(parameters=0.3).facts(plant, np.random.default_rng(k)) for k in range(100)]
    shares = np.array([[each["parameters"]["m"] / 2.0, each["parameters"]["k"] / -5.0]
                       for each in drawn])  # fmt: skip
    assert (np.abs(shares - 1.0) <= 0.3).all()
    assert (shares.max(axis=0) > 1.2).all()
    assert (shares.min(axis=0) < 0.8).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"friction": 1.0},
         "friction: there is nothing to rub; robot 'puck' has no joint with one freedom. Remove "
         "it."),
        ({"parameters": 0.1},
         "parameters: robot 'puck' has no parameters but bodies; give mass, inertia or com "
         "instead."),
    ],
)  # fmt: skip
def test_a_mismatch_that_finds_nothing_to_change_is_refused(given, message):
    urdf = f'<robot name="puck"><link name="puck">{inertial(2.0, 0.1, 0.2, 0.3)}</link></robot>'
    with pytest.raises(InputError) as caught:
        Mismatch(**given).facts(free(urdf), np.random.default_rng(0))
    assert str(caught.value) == message


@pytest.mark.parametrize("seed", range(5))
def test_the_first_tick_is_on_time_and_none_comes_early_or_after_the_next(seed):
    times, bench = np.linspace(2.0, 3.0, 101), SimpleNamespace(period=0.01)
    late = Jitter(bound=0.009).ticks(times, bench, np.random.default_rng(seed))
    assert late[0] == 2.0
    assert ((late[1:] > times[1:]) & (late[1:] < times[1:] + 0.009)).all()
    heard = MissedTicks(probability=0.9).ticks(times, bench, np.random.default_rng(seed))
    assert heard[0] == 2.0
    assert set(heard) <= set(times)
    assert len(heard) < 40
