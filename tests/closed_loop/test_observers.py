"""Observers in a loop, beside filters written down with NumPy, SciPy and Pinocchio alone."""

import numpy as np
import pinocchio as pin
import pytest
import tomli_w
from scipy.linalg import expm, solve_discrete_are
from scipy.stats import chi2

from ukctrl import InputError, Loop, Scenario, check, judge, simulate
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints

APART = {"rtol": 0.0, "atol": 1e-9}
"""The same filter by other formulas, over a hundred ticks: far above rounding, and far below the
noise of the readings, 1e-4."""
T = 1e-3
TWO = {"robot": "two_mass_spring", "start": {"q": [0.0, 0.5]}}
"""A linear robot."""
STD, PUSHED = 1e-4, 2.0


def scenario(**changes):
    """Return a loop at 1 kHz with noise at the encoders, samples at every tick."""
    base = {
        "title": "observed",
        "robot": "scara",
        "start": {
            "q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg", "q4": 0.1},
            "solve": True,
        },
        "servo": [
            {"kind": "point_follows", "frame": "tool", "path": {
                "kind": "circle", "center": [0.0, 0.33, 0.1], "radius": 0.05, "period": 5.0}},
            {"kind": "expression", "name": "orientation", "phi": "q1 + q2 + q3", "unit": "rad"},
        ],
        "controller": {"use": "servo-baumgarte"},
        "timing": {"duration": 0.1, "sample": T, "control": T},
        "integrator": {"method": "RK4", "step": T},
        "effect": [{"kind": "noise", "std": STD}],
        "observer": {"kind": "ekf", "acceleration_std": PUSHED},
    }  # fmt: skip
    return Scenario.from_toml(tomli_w.dumps(base | changes))


def run(**changes):
    result = simulate(scenario(**changes))
    assert result.status == "completed", result.message
    return result


PUSHES = {"start": {"q": [0.0, 0.5], "v": [0.3, -0.1]}}


def linear(observer, **changes):
    """Run two masses with a spring, without control."""
    given = TWO | {
        "servo": [], "controller": {"kind": "none"}, "observer": observer, **PUSHES,
        "timing": {"duration": 0.3, "sample": T, "control": T},
    }  # fmt: skip
    return run(**(given | changes))


SPRING = np.array([[-50.0, 50.0], [25.0, -25.0]])
A = np.block([[np.zeros((2, 2)), np.eye(2)], [SPRING, np.zeros((2, 2))]])
H = np.eye(2, 4)


def discrete(A, E):
    """Return the transition over a period, and the covariance of accelerations held over it."""
    n, m = E.shape
    step = expm(T * np.block([[A, E], [np.zeros((m, n + m))]]))
    return step[:n, :n], step[:n, n:] @ step[:n, n:].T


F, Q = discrete(A, PUSHED * np.eye(4)[:, 2:])


def test_on_a_linear_robot_the_gain_is_that_of_the_riccati_equation():
    P = solve_discrete_are(F.T, H.T, Q, STD**2 * np.eye(2))
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + STD**2 * np.eye(2))
    given = TWO | PUSHES | {"servo": [], "controller": {"kind": "none"}}
    loop = Loop(scenario(**given, observer={"kind": "kalman", "acceleration_std": PUSHED}))
    np.testing.assert_allclose(loop.estimator.filter.gain.K, K, **APART)


def textbook(result, P, x):
    """Return the estimates of a Kalman filter in its first form."""
    estimates, R = [], STD**2 * np.eye(2)
    rest = np.array([0.0, 0.5])
    for k, y in enumerate(result["q_measured"]):
        if k:
            x, P = F @ x, F @ P @ F.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x, P = x + K @ (y - rest - H @ x), (np.eye(4) - K @ H) @ P
        estimates.append(x)
    return np.array(estimates) + np.concatenate([rest, np.zeros(2)])


@pytest.mark.slow(but=["ekf"])
@pytest.mark.parametrize("observer", [
    {"kind": "ekf"}, {"kind": "ukf"}, {"kind": "ukf", "spread": 0.5}], ids=["ekf", "ukf", "near"],
)  # fmt: skip
def test_on_a_linear_robot_they_are_the_kalman_filter(observer):
    given = {"acceleration_std": PUSHED, "start_std": 2e-3, "start_v_std": 0.5}
    result = linear(observer | given)
    # The chart has positions first; the state that the first reading has corrected is undone.
    P = np.diag([2e-3, 2e-3, 0.5, 0.5]) ** 2
    loop = Loop(Scenario.from_toml(tomli_w.dumps(result.scenario)))
    first = loop.estimator._first.at.state
    x = np.concatenate([first.q - [0.0, 0.5], first.v])
    assert np.abs(x - [0.0, 0.0, 0.3, -0.1]).max() > 0.05  # the first estimate is really off
    wanted = textbook(result, P, x)
    # The last sample is after the last tick.
    np.testing.assert_allclose(result["q_estimated"][:-1], wanted[:-1, :2], **APART)
    np.testing.assert_allclose(result["v_estimated"][:-1], wanted[:-1, 2:], **APART)


CHAIN = {
    "robot": "three_rrr",
    "start": {"solve": True},
    "servo": [{"kind": "joint_follows", "joints": ["platform_x", "platform_y", "platform_angle"],
               "path": {"kind": "expression", "components": [
                   "0.05*sin(2*t)", "0.03*cos(3*t) - 0.03", "0.2*sin(t)"]}}],
}  # fmt: skip
ROBOTS = {
    "scara": {},
    "panda": {
        "robot": "panda",
        "start": {},
        "servo": [{"kind": "joint_follows", "joints": [f"joint{i}" for i in range(1, 8)], "path": {
            "kind": "constant", "value": [0.1, -0.5, 0.1, -1.9, 0.1, 1.8, 0.9]}}],
    },
}  # fmt: skip


@pytest.mark.parametrize("changes", ROBOTS.values(), ids=ROBOTS)
def test_a_loop_with_an_extended_filter_is_that_of_numpy_and_pinocchio(changes):
    """Plant, prediction, linear system and filter are Pinocchio's and NumPy's; the law is ours."""
    result = run(**changes)
    loop = Loop(scenario(**changes))
    model, B = loop.robot.model, loop.robot.snapshot(loop.state.q).B.copy()
    data, n = model.createData(), loop.robot.nv
    noise = result["q_measured"] - result["q"]

    def step(x, u):
        def rate(x):
            return np.concatenate([x[n:], pin.aba(model, data, x[:n], x[n:], B @ u)])

        k1 = rate(x)
        k2 = rate(x + T / 2 * k1)
        k3 = rate(x + T / 2 * k2)
        k4 = rate(x + T * k3)
        return x + T / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    true = guess = np.concatenate([loop.state.q, loop.state.v])
    P, H, R = np.zeros((2 * n, 2 * n)), np.eye(n, 2 * n), STD**2 * np.eye(n)
    truth, estimates, u = [], [], np.zeros(B.shape[1])
    for k in range(100):
        if k:
            slopes = pin.computeABADerivatives(model, data, guess[:n], guess[n:], B @ u)[:2]
            A = np.block([[np.zeros((n, n)), np.eye(n)], [*slopes]])
            F, Q = discrete(A, PUSHED * np.eye(2 * n)[:, n:])
            true, guess, P = step(true, u), step(guess, u), F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        guess = guess + K @ (true[:n] + noise[k] - guess[:n])
        P = (np.eye(2 * n) - K @ H) @ P
        truth.append(true)
        estimates.append(guess)
        u = loop.law.command(k * T, guess[:n], guess[n:]).u.copy()
    ours = np.hstack([result["q"], result["v"]])[:-1]
    np.testing.assert_allclose(ours, truth, **APART)
    found = np.hstack([result["q_estimated"], result["v_estimated"]])[:-1]
    np.testing.assert_allclose(found, estimates, **APART)
    assert np.abs(ours - found).max() > 1e-4  # there is something to filter


def test_the_luenberger_error_has_the_poles_that_are_asked_for():
    """A particle under gravity is a double integrator in every direction."""
    given = {
        "robot": "particle", "start": {"q": [0.0, 0.0]}, "servo": [],
        "controller": {"kind": "none"}, "effect": [], "timing": {
            "duration": 0.2, "sample": T, "control": T},
        "observer": {"kind": "luenberger", "bandwidth": 80.0, "damping": 0.6,
                     "start_std": 0.1, "start_v_std": 1.0},
    }  # fmt: skip
    result = run(**given)
    error = np.stack([result["q_estimate_error"], result["v_estimate_error"]])[:, :-1, 0]
    root = 80.0 * (-0.6 + 1j * 0.8)
    z = np.exp(root * T)
    later = error[:, 2:] - 2.0 * z.real * error[:, 1:-1] + abs(z) ** 2 * error[:, :-2]
    assert np.abs(error).max() > 1e-2
    np.testing.assert_allclose(later, 0.0, atol=1e-11)  # rounding of 1 m/s over a period


UNSURE = {"start_std": 1e-3, "start_v_std": 0.05}
"""Of the first estimate; the model is right, and nothing disturbs it."""


def errors(changes, kind, runs, ticks=20):
    """Return the normalised squared errors of runs with first estimates and noise of their own."""
    timing = {"duration": ticks * T, "sample": T, "control": T}
    first = scenario(**(changes | {"observer": {"kind": kind} | UNSURE, "timing": timing}))
    results = [simulate(first.replace({"seed": seed})) for seed in range(runs)]
    return np.array([result["nees"][:-1] for result in results]), results[0]


def consistent(found, states):
    """Judge by Bar-Shalom's two tests: a run's own bound, and that of the mean over the runs."""
    runs = len(found)
    low, high = chi2.ppf([0.025, 0.975], states) / states
    inside = np.mean((found > low) & (found < high), axis=0)
    # Of so many runs 95 % are inside but for luck, and errors hang together from tick to tick.
    luck = 4.0 * np.sqrt(0.95 * 0.05 / runs)
    assert np.all(np.abs(inside - 0.95) < luck)
    low, high = chi2.ppf([0.5e-4, 1.0 - 0.5e-4], states * runs) / (states * runs)
    mean = found.mean(axis=0)
    assert np.all((mean > low) & (mean < high))


@pytest.mark.slow
def test_a_filter_is_as_sure_as_it_may_be():
    found, result = errors({}, "ekf", 30)
    assert result.provenance["observer"]["states"] == 8
    consistent(found, 8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ekf", "ukf"])
@pytest.mark.parametrize(
    ("changes", "states"),
    [({}, 8), (ROBOTS["panda"], 14), (CHAIN, 6)],
    ids=["scara", "panda", "3rrr"],
)
def test_over_two_hundred_runs_it_is_so_too(changes, states, kind):
    found, _ = errors(changes, kind, 200)
    consistent(found, states)


@pytest.mark.parametrize("kind", ["ekf", "ukf"])
def test_on_a_closed_chain_the_estimate_is_on_the_constraints(kind):
    timing = {"duration": 0.02, "sample": T, "control": T}
    result = run(**CHAIN, observer={"kind": kind} | UNSURE, timing=timing)
    robot = Loop(scenario(**CHAIN)).robot
    rows = Stack(passive_constraints(robot), robot)
    for q, v in zip(result["q_estimated"], result["v_estimated"], strict=True):
        found = rows.write(robot.snapshot(q, v))
        assert np.abs(found.phi).max() < 1e-8  # a projection of what is off by some 1e-3, squared
        assert np.abs(found.beta).max() < 1e-8
    assert np.abs(result["v_estimate_error"][0]).max() > 1e-3


def test_speeds_that_are_measured_make_the_speeds_better():
    noise = [{"kind": "noise", "std": STD, "v_std": 1e-3}]
    both = run(effect=noise, sensing={"speeds": True})
    alone = run(effect=noise)
    assert both.metric("rms_estimate_v") < 0.5 * alone.metric("rms_estimate_v")
    assert both.provenance["observer"]["measured"][-1] == "v.q4"


@pytest.mark.slow
def test_an_encoder_that_is_missing_is_made_up_for_by_the_model():
    """Of two masses with a spring the force of the spring tells where the other one is."""
    given = {"kind": "ekf", "acceleration_std": 1e-3, "start_std": 1e-2, "start_v_std": 1e-2}
    result = linear(given, sensing={"joints": ["x1"]}, timing={
        "duration": 2.0, "sample": 1e-2, "control": T})  # fmt: skip
    error = np.abs(result["q_estimate_error"][:, 1])
    assert error[-2] < 0.05 * error[0]


CAMERA = {"frame": "tool", "std": 1e-4}


@pytest.mark.parametrize("kind", ["ekf", "ukf"])
def test_a_camera_alone_finds_where_three_joints_are(kind):
    """A tool's place has three coordinates; the fourth joint's encoder is there."""
    given = {"observer": {"kind": kind, "acceleration_std": 0.1} | UNSURE,
             "sensing": {"joints": ["q3"], "camera": [CAMERA]}}  # fmt: skip
    result = run(**given)
    error = np.linalg.norm(result["q_estimate_error"], axis=1)
    assert error[-2] < 0.3 * error[0]


def test_a_picture_that_comes_late_counts_when_it_was_taken():
    """A filter that waited for it knows the same: the estimates meet once the last has come."""
    sensing = {"camera": [CAMERA | {"period": 10 * T}]}
    late = {"camera": [CAMERA | {"period": 10 * T, "delay": 5 * T}]}
    # Without control, so that both runs have one motion.
    given = {"servo": [], "controller": {"kind": "none"}, "start": {"q": {"q1": 0.3, "q2": 0.4}},
             "observer": {"kind": "ekf", "acceleration_std": 1.0} | UNSURE}  # fmt: skip
    now, then = run(**given, sensing=sensing), run(**given, sensing=late)
    off = np.abs(now["q_estimated"] - then["q_estimated"]).max(axis=1)
    assert off[12] > 1e-7
    np.testing.assert_allclose(off[[5, 9, 15, 19, 99]], 0.0, atol=1e-12)


def test_pictures_that_are_dropped_tell_nothing():
    blind = {"camera": [CAMERA | {"dropped": 1.0}]}
    np.testing.assert_array_equal(run(sensing=blind)["q_estimated"], run()["q_estimated"])


GIVEN = scenario().to_table()
REFUSED = {
    "continuous control": (
        {"timing": {"duration": 0.1}, "effect": []}, "observer estimates at the ticks"
    ),
    "sensing alone": ({"observer": None, "sensing": {}}, "sensing needs an observer"),
    "a joint that is not there": ({"sensing": {"joints": ["q9"]}}, "sensing: joints: .*'q9'"),
    "nothing": ({"sensing": {"joints": []}}, "must measure something"),
    "no noise": ({"effect": []}, "std of 'q1' must be positive"),
    "zero noise": (
        {"observer": {"kind": "ekf", "acceleration_std": 1.0, "std": 0.0}}, "'q1' must be positive"
    ),
    "a wholly trusted model": ({"observer": {"kind": "ukf"}}, "never looks at what is measured"),
    "a steady gain without disturbance": (
        {"observer": {"kind": "kalman", "start_std": 1.0}}, "never looks at what is measured"
    ),
    "an actuator that is not there": (
        {"observer": {"kind": "ekf", "input_std": {"u9": 1.0}}}, "input_std: .*'u9'"
    ),
    "negative noise": (
        {"observer": {"kind": "ekf", "acceleration_std": -1.0}}, "observer.acceleration_std"
    ),
    "text": ({"observer": {"kind": "ekf", "acceleration_std": [1.0]}}, "acceleration_std"),
    "another kind": ({"observer": {"kind": "kalmann"}}, "kalman"),
    "speeds twice": (
        {"effect": [{"kind": "noise", "std": 1e-4}, {"kind": "differentiation"}],
         "sensing": {"speeds": True}}, "must have sensors of their own"
    ),
    "a frame that is not there": (
        {"sensing": {"camera": [{"frame": "tol", "std": 1e-3}]}}, "camera.0.: .*'tool'"
    ),
    "a camera with a steady gain": (
        {"sensing": {"camera": [CAMERA]}, "observer": {"kind": "kalman", "acceleration_std": 1.0}},
        "kind = 'ekf' or 'ukf'"
    ),
    "a camera between ticks": (
        {"sensing": {"camera": [CAMERA | {"period": 1.5 * T}]}}, "whole number of control periods"
    ),
    "a camera that foresees": (
        {"sensing": {"camera": [CAMERA | {"delay": -T}]}}, "delay must be zero or positive"
    ),
    "a Luenberger observer without an encoder": (
        {"sensing": {"joints": ["q1", "q2"]}, "observer": {"kind": "luenberger", "bandwidth": 9.0}},
        "the position of every joint"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused_by_name(changes, said):
    table = {key: value for key, value in (GIVEN | changes).items() if value is not None}
    with pytest.raises(InputError, match=said):
        Loop(Scenario.from_toml(tomli_w.dumps(table)))


def test_a_result_says_what_is_measured_and_how_sure_the_estimate():
    result = run()
    assert result.provenance["loop"] == {"compiled": True, "python": []}
    assert result.provenance["observer"] == {"states": 8, "measured": ["q1", "q2", "q3", "q4"]}
    assert 0.0 < result.metric("mean_nees") < 1.5
    assert any(verdict.subject == "estimate" for verdict in judge(result))
    assert result.samples.signals["observer.innovation"].components == ("q1", "q2", "q3", "q4")


@pytest.mark.parametrize("kind", ["ekf", "ukf"])
def test_noise_beyond_numbers_ends_the_run_by_name(kind):
    result = simulate(scenario(observer={"kind": kind, "acceleration_std": 1e200}))
    assert result.status == "diverged"
    assert "the observer" in result.message
    assert "estimate" in result.message


def about(scenario):
    return [said for said in check(scenario).judgements if said.subject == "observer"]


def test_check_says_what_an_observer_does_not_see():
    (whole,) = about(scenario())
    assert whole.level == "note"
    (blind,) = about(scenario(sensing={"joints": ["q1", "q2", "q3"]}))
    assert blind.level == "warning"
    assert "'q4'" in blind.text  # a lift without encoder: gravity is the same at any height
    (planar,) = about(scenario(sensing={"joints": ["q4"], "camera": [CAMERA]}))
    assert planar.level == "warning"  # the tool's place leaves one of three turning joints open
    (seen,) = about(scenario(sensing={"joints": ["q3"], "camera": [CAMERA]}))
    assert seen.level == "note"


def test_check_says_when_an_observer_hardly_sees():
    """A camera sees a stretched arm's joints through a Jacobian that is nearly singular."""
    bent = {"q1": 0.5, "q2": 1e-4, "q3": 0.0, "q4": 0.0}
    given = {"servo": [], "controller": {"kind": "none"}, "start": {"q": bent},
             "sensing": {"joints": ["q3"], "camera": [CAMERA]}}  # fmt: skip
    (said,) = about(scenario(**given))
    assert said.level == "warning"
    assert "hardly observable" in said.text
