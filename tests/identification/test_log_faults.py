"""Every fault is made on purpose, channel by channel, and found; sound logs are met by silence."""

from __future__ import annotations

import os

import numpy as np
import pytest
from joint_logs import changed, smooth_motion, sound_log
from scipy.signal import butter, filtfilt

from ukctrl import Robot, Scenario, simulate
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_faults import log_faults
from ukctrl_identification.log_settings import LogSettings
from ukctrl_identification.read_log import read_logs

PANDA_LOG = os.environ.get("UKCTRL_PANDA_LOG", "")
QUANTITIES = ("position", "velocity", "effort")
ARMS = ("panda", "ur5", "scara", "two_link")
PANDA_JOINTS = tuple(f"joint{k}" for k in range(1, 8))
DEGREES = 180.0 / np.pi


@pytest.fixture(scope="module", params=ARMS)
def arm(request):
    robot = Robot.load(request.param)
    return robot, sound_log(robot)


@pytest.fixture(scope="module")
def panda():
    robot = Robot.load("panda")
    return robot, sound_log(robot, noise=1e-5, friction=0.05)


def kinds(faults):
    return {(fault.kind, fault.channel) for fault in faults}


def only(faults, kind, channel, is_fatal):
    """Return the one fault, which is all that is told of its kind, and no other is fatal."""
    assert [f.channel for f in faults if f.kind == kind] == [channel]
    assert {f.channel for f in faults if f.is_fatal} <= {channel}
    (fault,) = (f for f in faults if f.kind == kind)
    assert fault.is_fatal == is_fatal
    assert "\n" not in fault.message
    return fault


def simulated_log(name, folder):
    """Return the robot of a scenario and the log of its run."""
    scenario = Scenario.load(name)
    robot = true_robot(scenario.robot)
    simulate(scenario).save(folder)
    return robot, read_logs(robot, folder)[0]


# Silence


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
@pytest.mark.parametrize("friction", [0.0, 0.2])
@pytest.mark.parametrize("name", ARMS)
def test_a_sound_log_is_met_by_silence(name, noise, friction):
    robot = Robot.load(name)
    for seed in range(2):
        log = sound_log(robot, noise=noise, friction=friction, seed=seed)
        assert log_faults(robot, log) == []


@pytest.mark.parametrize("period", [1e-3, 4e-3, 1e-2, 2e-2])
def test_silence_does_not_depend_on_the_period(period):
    robot = Robot.load("ur5")
    assert log_faults(robot, sound_log(robot, seconds=8.0, period=period)) == []


def test_a_model_that_is_wrong_is_no_fault_of_the_log():
    robot = Robot.load("ur5")
    log = sound_log(robot, friction=0.1)
    efforts = {name: 1.4 * effort + 2.0 for name, effort in log.effort.items()}
    assert log_faults(robot, log._replace(effort=efforts)) == []


def test_positions_alone_are_met_by_silence(arm):
    robot, log = arm
    assert log_faults(robot, log._replace(velocity={}, effort={})) == []
    assert log_faults(robot, log._replace(velocity={})) == []


def test_a_joint_at_rest_between_moves_is_no_fault():
    robot = Robot.load("two_link")
    time = np.arange(0.0, 6.0, 2e-3)
    # smooth moves of one second, rests of one second
    phase = np.mod(time, 2.0)
    s = np.clip(phase, 0.0, 1.0)
    travel = 10 * s**3 - 15 * s**4 + 6 * s**5
    speed = np.where(phase < 1.0, 30 * s**2 - 60 * s**3 + 30 * s**4, 0.0)
    q = 0.4 * (np.floor(time / 2.0) + travel)
    log = JointLog(
        "made up", time, dict.fromkeys(robot.dofs, q), dict.fromkeys(robot.dofs, 0.4 * speed), {}
    )
    assert log_faults(robot, log) == []


SIMULATED = (
    "acrobot-swing-up", "cart-pole-swing-up", "coordinated-arms", "crane-planar",
    "elastic-arm-middle",
    "elastic-arm-tip", "elastic-two-link", "five-bar", "five-bar-drift", "five-bar-relative",
    "flexible-joint-arm-links", "flexible-joint-arm-motor", "four-mass-chain", "furuta-swing-up",
    "log-spiral-particle", "log-spiral-particle-polar", "mass-on-car", "mobile-manipulator",
    "panda-elastic", "panda-pose", "panda-pose-sampled", "panda-priorities", "pendubot-swing-up",
    "projectile", "quadrotor-hover", "quadrotor-upside-down", "scara-helix", "scara-helix-bench",
    "scara-weak-motors", "stretched-arm", "swarm", "three-rrr", "two-arms-carry", "two-mass-spring",
    "ur5-pose", "a1-squat", "a1-push",
)  # fmt: skip
HARMLESS = {"constant", "saturated", "repeat", "resolution", "limit", "delay"}


@pytest.mark.slow(but=["panda-pose-sampled", "two-mass-spring", "stretched-arm"])
@pytest.mark.parametrize("name", SIMULATED)
def test_no_simulated_log_has_a_fatal_fault(tmp_path, name):
    faults = log_faults(*simulated_log(name, tmp_path))
    assert [fault for fault in faults if fault.is_fatal] == []
    assert {fault.kind for fault in faults} <= HARMLESS


# Time


def test_a_time_that_goes_back_is_told_with_its_place(panda):
    robot, log = panda
    time = log.time.copy()
    time[500:] -= 0.1
    fault = only(log_faults(robot, log._replace(time=time)), "time_order", "time", True)
    assert fault.time == time[499]
    assert "goes back at t = 0.998 s" in fault.message


def test_a_time_that_repeats_is_told_with_its_place_and_count(panda):
    robot, log = panda
    time = log.time.copy()
    time[[100, 200, 300]] = time[[99, 199, 299]]
    fault = only(log_faults(robot, log._replace(time=time)), "time_order", "time", True)
    assert fault.time == time[99]
    assert "stands still at t = 0.198 s, 3 times" in fault.message


@pytest.mark.parametrize(("length", "is_fatal"), [(0.05, False), (0.5, True)])
def test_a_gap_is_told_with_its_length_and_is_fatal_where_motion_is_lost(panda, length, is_fatal):
    robot, log = panda
    kept = (log.time < 1.0) | (log.time >= 1.0 + length)
    cut = JointLog("cut", log.time[kept], *({n: x[kept] for n, x in c.items()} for c in log[2:5]))
    fault = only(log_faults(robot, cut), "gap", "time", is_fatal)
    assert fault.time == pytest.approx(0.998)
    assert f"a gap of {length + 0.002:.3g} s at t = 0.998 s" in fault.message


def test_a_period_that_jitters_is_told_with_its_range():
    robot = Robot.load("ur5")
    rng = np.random.default_rng(0)
    time = np.cumsum(rng.uniform(1e-3, 3e-3, 1500))
    q, v, _ = smooth_motion(robot, time)
    channels = ({n: x[:, k] for k, n in enumerate(robot.dofs)} for x in (q, v))
    faults = log_faults(robot, JointLog("jitter", time, *channels, {}))
    fault = only(faults, "period", "time", False)
    assert "vary from 1 to 3 ms; their median is 2" in fault.message
    assert len(faults) == 1


def test_samples_that_repeat_are_counted(panda):
    robot, log = panda
    rows = np.arange(len(log.time))
    rows[100::10] -= 1
    stale = JointLog("stale", log.time, *({n: x[rows] for n, x in c.items()} for c in log[2:5]))
    fault = only(log_faults(robot, stale), "repeat", "time", False)
    assert f"{len(rows[100::10])} samples of {len(rows)} repeat the one before" in fault.message


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_a_time_in_another_unit_is_asked_about(arm, unit, factor):
    robot, log = arm
    faults = log_faults(robot, log._replace(time=factor * log.time))
    fault = only(faults, "unit", "time", True)
    assert f'is it in {unit}? Then say time_unit = "{unit}".' in fault.message


def test_a_time_in_milliseconds_is_asked_about_without_velocities(panda):
    robot, log = panda
    faults = log_faults(robot, log._replace(time=1e3 * log.time, velocity={}))
    assert 'say time_unit = "ms"' in next(f.message for f in faults if f.channel == "time")


# Single channels


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("joint", ["joint1", "joint6"])
def test_what_is_no_number_is_told_with_its_place_and_count(panda, quantity, joint, value):
    robot, log = panda
    samples = getattr(log, quantity)[joint].copy()
    samples[700:703] = value
    faults = log_faults(robot, changed(log, quantity, joint, samples))
    fault = only(faults, "not_a_number", f"{quantity}.{joint}", True)
    assert fault.time == log.time[700]
    assert "3 of 1500 are none, the first at t = 1.4 s" in fault.message


def test_a_time_that_is_no_number_is_told(panda):
    robot, log = panda
    time = log.time.copy()
    time[4] = np.nan
    fault = only(log_faults(robot, log._replace(time=time)), "not_a_number", "time", True)
    assert "at sample 5" in fault.message


@pytest.mark.parametrize("joint", PANDA_JOINTS)
@pytest.mark.parametrize("quantity", ["position", "velocity"])
def test_a_sensor_that_is_stuck_throughout_is_told(panda, quantity, joint):
    robot, log = panda
    samples = np.full_like(log.time, 0.1)
    faults = log_faults(robot, changed(log, quantity, joint, samples))
    fault = only(faults, "stuck", f"{quantity}.{joint}", True)
    assert f"{quantity}.{joint} is 0.1 throughout, while the " in fault.message


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_an_effort_that_never_changes_is_told(panda, joint):
    robot, log = panda
    faults = log_faults(robot, changed(log, "effort", joint, np.full_like(log.time, 3.0)))
    only(faults, "constant", f"effort.{joint}", False)


def test_a_joint_that_stands_while_others_move_is_no_stuck_sensor(panda):
    robot, log = panda
    still = changed(log, "position", "joint7", np.full_like(log.time, 0.5))
    still = changed(still, "velocity", "joint7", np.zeros_like(log.time))._replace(effort={})
    assert [fault for fault in log_faults(robot, still) if fault.is_fatal] == []


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_position_that_is_stuck_for_a_while_is_told_with_its_place(panda, joint):
    robot, log = panda
    samples = log.position[joint].copy()
    fastest = int(np.argmax(np.abs(log.velocity[joint][100:-200]))) + 50
    samples[fastest : fastest + 100] = samples[fastest]
    faults = log_faults(robot, changed(log, "position", joint, samples))
    assert ("stuck", f"position.{joint}") in kinds(faults)
    fault = next(f for f in faults if f.kind == "stuck")
    assert fault.time == pytest.approx(log.time[fastest], abs=0.01)
    assert {f.channel for f in faults} == {f"position.{joint}"}


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_velocity_that_is_stuck_for_a_while_is_told_with_its_place(panda, joint):
    robot, log = panda
    samples = log.velocity[joint].copy()
    q = log.position[joint]
    # where half a second of standing still leaves most out
    missed = np.abs(q[350:-50] - q[100:-300] - 0.5 * samples[100:-300])
    turn = int(np.argmax(missed)) + 100
    samples[turn : turn + 250] = samples[turn]
    faults = log_faults(robot, changed(log, "velocity", joint, samples))
    fault = only(faults, "stuck", f"velocity.{joint}", True)
    assert fault.time == pytest.approx(log.time[turn], abs=0.01)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["largest", "smallest"])
@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_an_effort_at_its_limit_is_told_with_its_place(panda, joint, sign):
    robot, log = panda
    effort = sign * log.effort[joint]
    limit = np.quantile(effort, 0.9)
    clipped = sign * np.minimum(effort, limit)
    faults = log_faults(robot, changed(log, "effort", joint, clipped))
    fault = only(faults, "saturated", f"effort.{joint}", False)
    assert effort[np.searchsorted(log.time, fault.time)] >= limit
    assert f"stays at its {'largest' if sign > 0 else 'smallest'} value" in fault.message


def test_a_sensor_of_coarse_torques_is_not_saturated(panda):
    robot, log = panda
    coarse = {name: 0.2 * np.round(effort / 0.2) for name, effort in log.effort.items()}
    assert "saturated" not in {f.kind for f in log_faults(robot, log._replace(effort=coarse))}


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_coarse_position_is_told_with_its_resolution(panda, joint):
    robot, log = panda
    coarse = 0.01 * np.round(log.position[joint] / 0.01)
    faults = log_faults(robot, changed(log, "position", joint, coarse))
    fault = only(faults, "resolution", f"position.{joint}", False)
    assert "a resolution of 0.01 rad, which in one step of 2 ms is 5 rad/s" in fault.message


def test_an_encoder_as_fine_as_the_motion_is_not_told(panda):
    robot, log = panda
    fine = {name: 1e-6 * np.round(q / 1e-6) for name, q in log.position.items()}
    assert log_faults(robot, log._replace(position=fine)) == []


# Jumps and limits


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_wrapped_angle_is_told_with_its_period(panda, joint):
    robot, log = panda
    middle = float(np.median(log.position[joint]))
    wrapped = np.mod(log.position[joint] - middle, 2 * np.pi)
    faults = log_faults(robot, changed(log, "position", joint, wrapped))
    fault = only(faults, "wrapped", f"position.{joint}", True)
    first = int(np.flatnonzero(np.abs(np.diff(wrapped)) > 3.0)[0])
    assert fault.time == log.time[first + 1]
    assert "If the sensor starts again there, say unwrap = true." in fault.message


@pytest.mark.parametrize("period", [1.0, 0.3, np.pi / 2])
def test_a_sensor_that_starts_again_after_any_angle_is_told_with_it(panda, period):
    robot, log = panda
    wrapped = np.mod(log.position["joint2"], period)
    fault = only(
        log_faults(robot, changed(log, "position", "joint2", wrapped)), "wrapped",
        "position.joint2", True,
    )  # fmt: skip
    assert float(fault.message.rsplit("unwrap = ", 1)[1].split()[0]) == pytest.approx(
        period, rel=1e-3
    )


def test_a_wrapped_angle_in_degrees_is_asked_about(panda):
    robot, log = panda
    wrapped = np.mod(DEGREES * (log.position["joint5"] - np.median(log.position["joint5"])), 360.0)
    faults = log_faults(robot, changed(log._replace(velocity={}), "position", "joint5", wrapped))
    fault = only(faults, "wrapped", "position.joint5", True)
    assert 'say position_unit = "deg" and unwrap = true.' in fault.message


def test_a_wrapped_angle_is_sound_once_the_settings_unwrap_it(panda, tmp_path):
    robot, log = panda
    q = np.array([log.position[name] for name in robot.dofs]).T
    arrays = {"t": log.time, "q": np.mod(q, 2 * np.pi)}
    np.savez(tmp_path / "log.npz", **arrays)
    (wrapped,) = read_logs(robot, [tmp_path / "log.npz"])
    assert "wrapped" in {fault.kind for fault in log_faults(robot, wrapped)}
    (mended,) = read_logs(robot, [tmp_path / "log.npz"], LogSettings(unwrap=True))
    faults = log_faults(robot, mended)
    assert "wrapped" not in {fault.kind for fault in faults}
    assert {f.message for f in faults if f.kind == "reading"} == set(mended.notes) != set()


def test_a_joint_without_end_may_turn_as_often_as_it_likes():
    robot = Robot.load("cart_pole")
    time = np.arange(0.0, 10.0, 1e-3)
    angle = 8.0 * time + np.sin(time)
    position = {"cart": 0.3 * np.sin(time), "pole_cos": np.cos(angle), "pole_sin": np.sin(angle)}
    velocity = {"cart": 0.3 * np.cos(time), "pole": 8.0 + np.cos(time)}
    assert log_faults(robot, JointLog("turns", time, position, velocity, {})) == []


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_an_encoder_that_slips_is_told_with_its_place(panda, joint):
    robot, log = panda
    samples = log.position[joint].copy()
    samples[800:] += 0.2
    faults = log_faults(robot, changed(log, "position", joint, samples))
    fault = only(faults, "jump", f"position.{joint}", True)
    assert fault.time == log.time[800]


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_sample_that_is_wrong_is_told_with_its_place(panda, joint):
    robot, log = panda
    samples = log.position[joint].copy()
    samples[800] += 0.4
    fault = only(
        log_faults(robot, changed(log, "position", joint, samples)), "jump", f"position.{joint}",
        True,
    )  # fmt: skip
    assert fault.time == log.time[800]
    assert "2 times" in fault.message


def test_a_slip_without_a_jump_is_told_where_velocities_are_logged(panda):
    robot, log = panda
    slip = 0.3 / (1.0 + np.exp(-(log.time - 1.5) / 0.02))
    faults = log_faults(robot, changed(log, "position", "joint3", log.position["joint3"] + slip))
    fault = only(faults, "disagreement", "position.joint3", True)
    assert fault.time == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_positions_beyond_the_limits_are_told_with_the_excess(panda, joint):
    robot, log = panda
    upper = robot.q_upper[robot.coordinates.index(joint)]
    samples = log.position[joint] - log.position[joint].max() + upper + 0.25
    faults = log_faults(robot, changed(log._replace(effort={}), "position", joint, samples))
    fault = only(faults, "limit", f"position.{joint}", False)
    assert "by 0.25 rad at" in fault.message


# Units


@pytest.mark.parametrize("joint", PANDA_JOINTS)
@pytest.mark.parametrize(
    ("quantity", "factor", "question"),
    [
        ("position", DEGREES, 'position_unit = "deg"'),
        ("velocity", DEGREES, 'velocity_unit = "deg/s"'),
        ("velocity", 30.0 / np.pi, 'velocity_unit = "rpm"'),
        ("velocity", 0.5 / np.pi, 'velocity_unit = "rev/s"'),
    ],
)
def test_a_joint_in_another_unit_is_asked_about(panda, joint, quantity, factor, question):
    robot, log = panda
    samples = factor * getattr(log, quantity)[joint]
    faults = log_faults(robot, changed(log, quantity, joint, samples))
    (fault,) = (f for f in faults if f.kind == "unit")
    assert (fault.channel, fault.is_fatal) == (f"{quantity}.{joint}", True)
    assert f"Then say {question}" in fault.message
    assert {f.channel.split(".")[1] for f in faults} == {joint}


@pytest.mark.parametrize("with_velocity", [True, False])
def test_a_log_in_degrees_is_asked_about(panda, with_velocity):
    robot, log = panda
    degrees = log._replace(position={name: DEGREES * q for name, q in log.position.items()})
    speeds = {name: DEGREES * v for name, v in log.velocity.items()} if with_velocity else {}
    fault = next(
        f for f in log_faults(robot, degrees._replace(velocity=speeds)) if f.kind == "unit"
    )
    assert fault.is_fatal
    assert 'within them if in degrees. Are they? Then say position_unit = "deg".' in fault.message


@pytest.mark.parametrize(
    ("quantity", "factor", "question"),
    [("position", 1e3, 'position_unit = "mm"'), ("velocity", 1e3, 'velocity_unit = "mm/s"')],
)
def test_a_length_in_millimetres_is_asked_about(quantity, factor, question):
    robot = Robot.load("scara")
    log = sound_log(robot)
    faults = log_faults(robot, changed(log, quantity, "q4", factor * getattr(log, quantity)["q4"]))
    (fault,) = (f for f in faults if f.kind == "unit")
    assert question in fault.message


def test_a_velocity_on_the_motors_side_is_asked_about(panda):
    robot, log = panda
    faults = log_faults(robot, changed(log, "velocity", "joint4", 100.0 * log.velocity["joint4"]))
    fault = only(faults, "unit", "velocity.joint4", True)
    assert "it is 100 times the rate of position.joint4" in fault.message
    assert "the motor's side of a gear" in fault.message


def test_efforts_in_millinewtonmetres_are_asked_about(arm):
    robot, log = arm
    for name in robot.dofs:
        faults = log_faults(robot, changed(log, "effort", name, 1e3 * log.effort[name]))
        if np.ptp(log.effort[name]) > 1e-6:
            fault = only(faults, "unit", f"effort.{name}", True)
            assert 'Then say effort_unit = "mN m".' in fault.message


# Signs, joints, delays


def test_a_velocity_against_its_position_is_told(arm):
    robot, log = arm
    for name in robot.dofs:
        faults = log_faults(robot, changed(log, "velocity", name, -log.velocity[name]))
        only(faults, "sign", f"velocity.{name}", True)


def test_an_effort_against_the_model_is_told(arm):
    robot, log = arm
    for name in robot.dofs:
        if np.ptp(log.effort[name]) > 1e-6:
            faults = log_faults(robot, changed(log, "effort", name, -log.effort[name]))
            only(faults, "sign", f"effort.{name}", True)


@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_an_effort_that_is_mostly_friction_is_told_where_it_feeds_the_motion(joint):
    robot = Robot.load("panda")
    log = sound_log(robot, noise=1e-4, friction=3.0)
    assert log_faults(robot, log) == []
    faults = log_faults(robot, changed(log, "effort", joint, -log.effort[joint]))
    only(faults, "sign", f"effort.{joint}", True)


@pytest.mark.parametrize(("first", "second"), [("joint1", "joint2"), ("joint3", "joint7")])
def test_velocities_of_swapped_joints_are_told(panda, first, second):
    robot, log = panda
    swapped = changed(log, "velocity", first, log.velocity[second])
    swapped = changed(swapped, "velocity", second, log.velocity[first])
    faults = log_faults(robot, swapped)
    told = {f.channel: f.message for f in faults if f.kind == "other_joint"}
    assert told.keys() == {f"velocity.{first}", f"velocity.{second}"}
    assert f"follows the position of '{second}'" in told[f"velocity.{first}"]


@pytest.mark.parametrize("joint", PANDA_JOINTS)
@pytest.mark.parametrize("delay", [-0.1, -0.01, 0.01, 0.1])
def test_a_velocity_that_is_late_is_told_in_milliseconds(panda, joint, delay):
    robot, log = panda
    late = np.interp(log.time - delay, log.time, log.velocity[joint])
    whole = changed(log, "velocity", joint, late)
    inner = (log.time > 0.1) & (log.time < log.time[-1] - 0.1)  # where nothing is made up
    log = JointLog(
        "late", log.time[inner], *({n: x[inner] for n, x in c.items()} for c in whole[2:5])
    )
    faults = log_faults(robot, log)
    fault = only(faults, "delay", f"velocity.{joint}", False)
    words = fault.message.split()
    assert float(words[words.index("ms") - 1]) == pytest.approx(1e3 * abs(delay), rel=0.1)
    assert ("later" in words) == (delay > 0.0)


def test_a_velocity_that_is_late_by_less_than_a_sample_is_not_told(panda):
    robot, log = panda
    late = {n: np.interp(log.time - 1e-3, log.time, v) for n, v in log.velocity.items()}
    assert log_faults(robot, log._replace(velocity=late)) == []


def test_signs_are_told_through_closed_chains(tmp_path):
    robot, log = simulated_log("three-rrr", tmp_path)
    driven = zip(robot.dofs, robot.actuation.acts_on, strict=True)
    motors = [name for name, row in driven if row.any()]
    assert len(motors) == 3
    for name in motors:
        faults = log_faults(robot, changed(log, "effort", name, -log.effort[name]))
        only(faults, "sign", f"effort.{name}", True)
    unknown = {motors[0]: -log.effort[motors[0]], motors[1]: log.effort[motors[1]]}
    assert log_faults(robot, log._replace(effort=unknown)) == []


def test_signs_are_told_of_what_flies(tmp_path):
    robot, log = simulated_log("quadrotor-attitude", tmp_path)
    for name in ("root_wx", "root_wy", "root_wz"):
        faults = log_faults(robot, changed(log, "effort", name, -log.effort[name]))
        only(faults, "sign", f"effort.{name}", True)


# Several at once, and little to go by


def test_all_faults_of_one_log_are_told_the_fatal_first(panda):
    robot, log = panda
    bad = changed(log, "velocity", "joint1", -log.velocity["joint1"])
    bad = changed(bad, "velocity", "joint2", DEGREES * bad.velocity["joint2"])
    bad = changed(bad, "effort", "joint4", -bad.effort["joint4"])
    bad = changed(bad, "position", "joint6", 0.01 * np.round(bad.position["joint6"] / 0.01))
    faults = log_faults(robot, bad)
    assert kinds(faults) == {
        ("sign", "velocity.joint1"),
        ("unit", "velocity.joint2"),
        ("sign", "effort.joint4"),
        ("resolution", "position.joint6"),
    }
    fatal = [fault.is_fatal for fault in faults]
    assert fatal == sorted(fatal, reverse=True)


@pytest.mark.parametrize("count", [10, 11, 30, 60])
def test_a_short_log_is_no_trouble(panda, count):
    robot, log = panda
    short = JointLog(
        "short", log.time[:count], *({n: x[:count] for n, x in c.items()} for c in log[2:5])
    )
    assert [fault for fault in log_faults(robot, short) if fault.is_fatal] == []


def test_nothing_but_noise_is_no_trouble(panda):
    robot, log = panda
    rng = np.random.default_rng(0)
    noise = ({n: 1e-3 * rng.standard_normal(len(log.time)) for n in robot.dofs} for _ in range(3))
    faults = log_faults(robot, JointLog("noise", log.time, *noise))
    assert {fault.kind for fault in faults} <= {"limit"}


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_logs_without_any_information_are_no_trouble(panda, value):
    robot, log = panda
    flat = ({n: np.full_like(log.time, value) for n in robot.dofs} for _ in range(3))
    faults = log_faults(robot, JointLog("flat", log.time, *flat))
    assert {fault.kind for fault in faults} <= {"not_a_number", "limit"}


def strange_channel(rng, n):
    """Return numbers that no robot has, but a file may."""
    t = np.linspace(0.0, 10.0, n)
    spike = np.sin(t)
    spike[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 0.0])
    choices = [
        np.zeros(n),
        rng.standard_normal(n),
        np.sin(rng.uniform(0.1, 9.0) * t) * 10.0 ** rng.uniform(-12, 12),
        np.round(np.sin(t), 1),
        np.full(n, 10.0 ** rng.uniform(-300, 300)),
        np.cumsum(rng.standard_normal(n)),
        np.mod(5.0 * t, 1.0),
        np.where(rng.random(n) < 0.02, 10.0 ** rng.uniform(0, 150), 0.0),
        spike,
    ]
    return choices[rng.integers(len(choices))]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["panda", "cart_pole", "floating_arm", "five_bar_relative"])
def test_no_numbers_however_strange_are_trouble(name, seed):
    robot, rng = Robot.load(name), np.random.default_rng(seed)
    n = int(rng.choice([10, 12, 25, 60, 200]))
    times = [
        np.arange(n) * 10.0 ** rng.uniform(-9, 4),
        np.zeros(n),
        np.cumsum(rng.random(n)),
        np.sort(rng.random(n))[::-1],
        np.repeat(np.arange(n), 2)[:n] * 1e-3,
    ]
    channels = (
        {name: strange_channel(rng, n) for name in names if rng.random() < 0.9}
        for names in (robot.coordinates, robot.dofs, robot.dofs)
    )
    log = JointLog("strange", times[rng.integers(len(times))].astype(float), *channels)
    for fault in log_faults(robot, log):
        assert "\n" not in fault.message


def test_a_floating_base_without_forces_is_met_by_silence():
    robot = Robot.load("floating_arm")
    time = np.arange(0.0, 3.0, 2e-3)
    names = ("shoulder", "elbow")
    position = {n: np.sin(time + k) for k, n in enumerate(names)}
    velocity = {n: np.cos(time + k) for k, n in enumerate(names)}
    position |= {"wrist_cos": np.cos(time), "wrist_sin": np.sin(time)}
    velocity |= {"wrist": np.ones_like(time)}
    effort = {n: np.sin(3 * time) for n in names}
    faults = log_faults(robot, JointLog("space", time, position, velocity, effort))
    assert [f for f in faults if f.is_fatal] == []


# A real robot


@pytest.mark.skipif(not PANDA_LOG, reason="UKCTRL_PANDA_LOG names no file")
def test_of_a_real_panda_only_what_is_true_is_told():
    robot = Robot.load("panda")
    (log,) = read_logs(robot, [PANDA_LOG])
    faults = log_faults(robot, log)
    assert kinds(faults) == {
        ("period", "time"),
        ("repeat", "time"),
        *(("delay", f"velocity.{joint}") for joint in PANDA_JOINTS),
    }
    assert [fault for fault in faults if fault.is_fatal] == []
    # by another route: the delay at which both fit best below 8 Hz, on an even grid
    grid = np.arange(log.time[0], log.time[-1], 1e-3)
    b, a = butter(2, 8.0, fs=1e3)
    inner = slice(500, -500)
    delays = np.arange(-0.02, 0.02, 5e-4)
    for joint in PANDA_JOINTS:
        q, v = (
            filtfilt(b, a, np.interp(grid, log.time, c[joint]))
            for c in (log.position, log.velocity)
        )
        rate = np.gradient(q, grid)[inner]
        misses = [np.sum((rate - np.interp(grid[inner] + d, grid, v)) ** 2) for d in delays]
        told = next(f for f in faults if f.channel == f"velocity.{joint}")
        words = told.message.split()
        expected = 1e3 * delays[int(np.argmin(misses))]
        assert float(words[words.index("ms") - 1]) == pytest.approx(expected, abs=1.5)  # samples


@pytest.mark.skipif(not PANDA_LOG, reason="UKCTRL_PANDA_LOG names no file")
@pytest.mark.parametrize("joint", PANDA_JOINTS)
def test_a_sign_of_a_real_pandas_torque_is_told(joint):
    robot = Robot.load("panda")
    (log,) = read_logs(robot, [PANDA_LOG])
    faults = log_faults(robot, changed(log, "effort", joint, -log.effort[joint]))
    only(faults, "sign", f"effort.{joint}", True)
