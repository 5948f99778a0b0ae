"""Inertial sensors: what they read beside Pinocchio, and what filters make of it."""

import numpy as np
import pinocchio as pin
import pytest
import tomli_w
from scipy.stats import chi2

from ukctrl import InputError, Loop, Scenario, simulate
from ukctrl.simulation.effects.effect import effect_rng
from ukctrl.simulation.observers.estimates import TimedState
from ukctrl.simulation.observers.frame_sensors import ImuModel, TrueMotion

T = 2e-3
EXACT = {"rtol": 0.0, "atol": 1e-9}
"""Rounding of accelerations of some 10 m/s^2, and differences good to nine digits."""
QUIET = {"density": 1e-12}
BOTH = {"accelerometer": QUIET, "gyroscope": QUIET}
NOISY = {
    "accelerometer": {"density": 2e-3, "bias": 0.05, "walk": 1e-3},
    "gyroscope": {"density": 2e-4, "bias": 0.01, "walk": 1e-4},
}
CAMERA = {"frame": "body", "std": 1e-3, "period": 5 * T, "delay": 2 * T}
UNSURE = {"start_std": 5e-3, "start_v_std": 0.05}


def scenario(name, sensing, observer, duration=0.1, **changes):
    """Return a scenario of the catalogue, sampled, with an observer."""
    table = Scenario.load(name).to_table()
    table |= {
        "timing": {"duration": duration, "control": T, "sample": T},
        "integrator": {"method": "RK4", "step": T},
        "effect": [{"kind": "noise", "std": 1e-4}],
        "sensing": sensing,
        "observer": {"kind": "ekf"} | observer,
    }
    return Scenario.from_toml(tomli_w.dumps(table | changes))


def hover(observer=UNSURE, imu=NOISY, **changes):
    """Return a quadrotor that sees its place by a camera, late, and feels itself turn and move."""
    sensing = {"joints": [], "camera": [CAMERA], "imu": [{"frame": "body"} | imu]}
    return scenario("quadrotor-hover", sensing, observer, **{"effect": []} | changes)


def told(monkeypatch):
    """Return a list that fills with what inertial sensors are told and what arrives of them."""
    heard, arrived = [], ImuModel.take_arrival

    def spy(self, tick, true):
        y = arrived(self, tick, true)
        heard.append((TrueMotion(true.t, *(part.copy() for part in true[1:])), y))
        return y

    monkeypatch.setattr(ImuModel, "take_arrival", spy)
    return heard


@pytest.mark.parametrize(
    ("name", "frame"),
    [("quadrotor-hover", "rotor2"), ("ur5-pose", "tool"), ("scara-helix", "tool")],
)
def test_it_reads_what_pinocchio_says_under_the_input_that_was_held(name, frame, monkeypatch):
    heard = told(monkeypatch)
    given = scenario(name, {"imu": [{"frame": frame} | BOTH]}, UNSURE | {"acceleration_std": 1.0})
    result = simulate(given)
    assert result.status == "completed", result.message
    loop = Loop(given)
    model, robot = loop.robot.model, loop.robot
    data, held = model.createData(), np.zeros(robot.nu)
    site = robot.site(frame)
    local = pin.SE3(site.rotation, site.translation)
    for k, (true, y) in enumerate(heard):
        s = robot.snapshot(true.q, true.v)
        a = np.linalg.solve(s.M, s.f + s.B @ held - s.nle)
        pin.forwardKinematics(model, data, true.q, true.v, a)
        joint = site.joint
        speed = local.actInv(data.v[joint])
        moved = local.actInv(data.a[joint]).linear + np.cross(speed.angular, speed.linear)
        turn = (data.oMi[joint] * local).rotation
        wanted = np.concatenate([moved - turn.T @ model.gravity.linear, speed.angular])
        np.testing.assert_allclose(y, wanted, **EXACT)
        held = result["u"][k]
    assert np.ptp([y for _, y in heard], axis=0).max() > 0.1


CASES = {
    "quadrotor": ("quadrotor-hover", "rotor1", {}),
    "feet of a1": ("a1-squat", "trunk", {}),
    "closed chain": ("three-rrr", "platform.B1", {}),
}


@pytest.mark.parametrize(("name", "frame", "changes"), CASES.values(), ids=CASES)
def test_a_filter_expects_what_is_read_and_how_it_changes(name, frame, changes):
    """Of the believed robot, for any bias and push; slopes against differences of readings."""
    imu = {"frame": frame} | {key: QUIET | {"bias": 1.0} for key in BOTH}
    observer = {"acceleration_std": 0.5, "input_std": 0.1}
    loop = Loop(scenario(name, {"imu": [imu]}, observer, **changes))
    estimator, u = loop.estimator, 0.3 * np.ones(loop.robot.nu)
    motion, (_, felt) = estimator.filter.motion, estimator.measurements
    q, v = loop.state.q, loop.state.v
    assert motion.biases == 6
    assert len(motion.process_noise_indices) == loop.robot.nv + loop.robot.nu
    memory = np.random.default_rng(1).standard_normal(6 + len(motion.process_noise_indices))
    state = loop.state._replace(memory=memory)
    at = TimedState(loop.t0, state, u)
    instrument = estimator._instruments[0]
    instrument.bias = memory[:6]
    loop.plant.move(loop.t0, q, v)
    w_a, w_u = np.split(memory[6:], [loop.robot.nv])
    M, A = loop.plant.snapshot.M, loop.plant.passive.rows.A
    back = np.linalg.solve(M, A.T)
    through = np.eye(len(M)) - back @ np.linalg.pinv(A @ back, rcond=1e-9) @ A
    a = loop.plant.acceleration(u + w_u) + through @ w_a
    y = instrument.take_arrival(0, TrueMotion(loop.t0, q, v, a))
    np.testing.assert_allclose(felt.innovation(at, y), 0.0, **EXACT)
    full = motion.tangent_basis(at.t, state)
    slopes = felt.slopes(at._replace(state=state._replace(memory=0.0 * memory)), full)
    step = 1e-4
    for column, slope in zip(full.T, slopes.T, strict=True):
        zero = state._replace(memory=0.0 * memory)
        ends = [
            felt.read(at._replace(state=motion.retract(at.t, zero, sign * step * column)))
            for sign in (1.0, -1.0)
        ]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2.0 * step), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_push_that_is_felt_hangs_together_with_the_state(monkeypatch):
    """Against a Kalman filter in its first form, with noise of model and reading correlated."""
    heard = told(monkeypatch)
    acc, pushed, noise, bias = 2e-3, 2.0, 1e-4, 0.1
    imu = {"frame": "particle", "accelerometer": {"density": acc, "bias": bias}}
    base = {
        "title": "falling", "robot": "particle", "start": {"q": [0.0, 0.0]}, "servo": [],
        "controller": {"kind": "none"}, "effect": [{"kind": "noise", "std": noise}],
        "timing": {"duration": 0.2, "control": T, "sample": T},
        "integrator": {"method": "RK4", "step": T}, "sensing": {"imu": [imu]},
    }  # fmt: skip
    observer = {"acceleration_std": pushed, "start_std": 1e-3, "start_v_std": 1e-2}
    runs = {}
    for kind in ("ekf", "ukf"):
        heard.clear()
        given = Scenario.from_toml(tomli_w.dumps(base | {"observer": {"kind": kind} | observer}))
        runs[kind] = simulate(given), [y for _, y in heard]
    result, readings = runs["ekf"]
    one, gravity = np.eye(2), np.array([0.0, -9.81])
    none = np.zeros((2, 2))
    F = np.block([[one, T * one, none], [none, one, none], [none, none, one]])
    step = np.vstack([T**2 / 2 * one, T * one, none])
    H = np.block([[one, none, none], [none, none, one]])
    R = np.diag([noise**2] * 2 + [acc**2 / T + pushed**2] * 2)
    C = np.hstack([np.zeros((6, 2)), pushed**2 * step])
    P = np.diag([1e-3] * 2 + [1e-2] * 2 + [bias] * 2) ** 2
    draw = effect_rng(0, "observer").standard_normal(4)
    x = np.concatenate([np.diag(P)[:4] ** 0.5 * draw, np.zeros(2)])
    found = np.hstack([result["q_estimated"], result["v_estimated"]])
    told_bias = np.array(result.samples.signals["observer.bias"].values)
    for k, y in enumerate(readings):
        cross = C if k else 0.0 * C
        if k:
            x, P = F @ x + step @ gravity, F @ P @ F.T + pushed**2 * step @ step.T
        off = np.concatenate([result["q_measured"][k], y[:2]]) - H @ x
        S = H @ P @ H.T + R + H @ cross + cross.T @ H.T
        K = (P @ H.T + cross) @ np.linalg.inv(S)
        x, P = x + K @ off, P - K @ S @ K.T
        np.testing.assert_allclose(found[k], x[:4], **EXACT)
        np.testing.assert_allclose(told_bias[k, :2], x[4:], **EXACT)
    np.testing.assert_allclose(runs["ukf"][0]["q_estimated"], result["q_estimated"], **EXACT)


def consistent(kind, runs):
    first = hover({"kind": kind} | UNSURE, duration=0.06)
    results = [simulate(first.replace({"seed": seed})) for seed in range(runs)]
    assert results[0].provenance["observer"]["states"] == 18
    found = np.array([result["nees"][:-1] for result in results])
    low, high = chi2.ppf([0.025, 0.975], 18) / 18
    inside = np.mean((found > low) & (found < high), axis=0)
    # Of so many runs 95 % are inside but for luck, and errors hang together from tick to tick.
    assert np.all(np.abs(inside - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / runs))
    low, high = chi2.ppf([0.5e-4, 1.0 - 0.5e-4], 18 * runs) / (18 * runs)
    assert np.all((found.mean(axis=0) > low) & (found.mean(axis=0) < high))


@pytest.mark.slow
def test_a_quadrotor_is_as_sure_as_it_may_be_of_its_state_and_its_biases():
    consistent("ekf", 30)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ekf", "ukf"])
def test_over_two_hundred_runs_it_is_so_too(kind):
    consistent(kind, 200)


WIND = {"kind": "push", "frame": "body", "force": [1.5, 0.0, 0.0], "start": 0.1, "duration": 1.0}


@pytest.mark.slow
def test_what_the_model_does_not_explain_is_felt():
    """A gust is an acceleration that no model has: felt, it is followed; unfelt, found out late."""
    sure = {"start_std": 1e-3, "start_v_std": 1e-3, "acceleration_std": 5.0}
    feels = simulate(hover(sure, effect=[WIND], duration=0.5))
    turns = simulate(hover(sure, {"gyroscope": NOISY["gyroscope"]}, effect=[WIND], duration=0.5))
    assert feels.metric("rms_estimate_v") < 0.5 * turns.metric("rms_estimate_v")


def test_a_reading_has_steps_and_an_end():
    rough = {"density": 1e-9, "step": 0.25, "range": 9.0}
    loop = Loop(hover(imu={"accelerometer": rough}))
    inertial = loop.estimator._instruments[1]
    np.testing.assert_allclose(inertial.measurement.std, 0.25 / np.sqrt(12.0), rtol=1e-6)
    v = np.zeros(6)
    lifted = TrueMotion(0.0, loop.state.q, v, np.zeros(6))
    up = inertial.take_arrival(0, lifted)
    np.testing.assert_array_equal(up, [0.0, 5.0, 8.5])  # 9.81 of a body tilted by 30 degrees
    fast = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(
        inertial.take_arrival(1, lifted._replace(a=fast)), [0.0, 5.0, 9.0]
    )


def test_an_axis_at_its_end_tells_nothing_and_the_others_all_they_know():
    """A quadrotor at rest feels its thrust along z, beyond what this sensor can read."""
    short = {"accelerometer": {"density": 1e-3, "range": 2.0}}
    at_rest = {"start": {"q": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]}}
    runs = [hover({"acceleration_std": 1.0} | UNSURE, imu, **at_rest)
            for imu in (short, {"gyroscope": {"density": 1e3}})]  # fmt: skip
    ended, deaf = (simulate(each) for each in runs)
    assert ended.metric("mean_nees") < 2.0
    estimator = Loop(runs[0]).estimator
    inertial, still = estimator._instruments[1], np.zeros(6)
    y = inertial.take_arrival(0, TrueMotion(0.0, np.array([0, 0, 1.0, 0, 0, 0, 1]), still, still))
    measurement, heard = inertial.in_range(y)
    assert y[2] == 2.0
    assert measurement.names == ("body.a_x", "body.a_y")
    moment = estimator._first.at
    np.testing.assert_allclose(measurement.innovation(moment, heard), y[:2], atol=1e-1)
    assert np.abs(ended["q_estimated"] - deaf["q_estimated"]).max() > 1e-6


@pytest.mark.slow
def test_a_bias_is_drawn_once_and_walks():
    imu = {"gyroscope": {"density": 1e-9, "bias": 0.1, "walk": 0.2}}
    inertials = [Loop(hover(imu=imu).replace({"seed": seed})).estimator._instruments[1]
                 for seed in range(300)]  # fmt: skip
    still = TrueMotion(0.0, np.array([0.0, 0, 0, 0, 0, 0, 1]), np.zeros(6), np.zeros(6))
    first = np.array([each.take_arrival(0, still) for each in inertials])
    last = [[each.take_arrival(k, still) for k in range(1, 101)][-1] for each in inertials]
    luck = 4.0 / np.sqrt(2 * first.size)
    assert np.std(first) == pytest.approx(0.1, rel=luck)
    assert np.std(last - first) == pytest.approx(0.2 * np.sqrt(100 * T), rel=luck)


def test_readings_that_come_late_count_when_they_were_taken():
    given = {"servo": [], "controller": {"kind": "none"}}
    imu = {key: part | {"bias": 0.0} for key, part in NOISY.items()}
    now = simulate(hover(imu=imu | {"period": 10 * T}, **given))
    then = simulate(hover(imu=imu | {"period": 10 * T, "delay": 4 * T}, **given))
    off = np.abs(now["q_estimated"] - then["q_estimated"]).max(axis=1)
    assert off[11] > 1e-7
    np.testing.assert_allclose(off[[4, 9, 14, 19, 44]], 0.0, atol=1e-12)


REFUSED = {
    "neither": ({}, "accelerometer or a gyroscope"),
    "no noise": ({"gyroscope": {"density": 0.0}}, "density"),
    "a frame that is not there": ({"frame": "bdy", **BOTH}, "imu.0.: .*'body'"),
    "a period between ticks": ({"period": 1.5 * T, **BOTH}, "whole number of control periods"),
    "a negative range": ({"gyroscope": QUIET | {"range": -1.0}}, "range"),
    "a delay as long as the run": ({"delay": 0.1, **BOTH}, "delay must be shorter than the run"),
    "an unknown key": ({"gyroscope": QUIET | {"noise": 1.0}}, "noise"),
}


@pytest.mark.parametrize(("imu", "said"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused_by_name(imu, said):
    with pytest.raises(InputError, match=said):
        Loop(hover(imu=imu))


def test_only_filters_take_it():
    given = {"imu": [{"frame": "tool"} | BOTH]}
    with pytest.raises(InputError, match="imu, needs an observer that takes"):
        Loop(scenario("scara-helix", given, {"kind": "kalman", "acceleration_std": 1.0}))


def test_a_robot_of_formulas_has_no_frames_to_feel():
    with pytest.raises(InputError, match="imu.0.: no frame named 'body'"):
        Loop(scenario("two-mass-spring", {"imu": [{"frame": "body"} | BOTH]}, UNSURE))
