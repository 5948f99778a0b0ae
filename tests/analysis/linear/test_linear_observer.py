"""Loops with an observer: separation, and matrices written down by hand."""

import numpy as np
import pytest
import tomli_w

from ukctrl import InputError, Scenario
from ukctrl.analysis.linear.linear_loop import linear_loop
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.observers.estimates import TimedState

T = 1e-3
POLES = {"rtol": 0.0, "atol": 1e-6}
"""Of poles that are double: the root of rounding [1]."""


def scenario(**changes):
    """Return a robot at rest under a law that holds it."""
    joints = ["q1", "q2", "q3", "q4"]
    base = {
        "title": "held", "robot": "scara", "start": {"q": {"q1": 0.3, "q2": 0.4, "q3": 0.1}},
        "servo": [{"kind": "joint_follows", "joints": joints, "path": {
            "kind": "constant", "value": [0.3, 0.4, 0.1, 0.0]}}],
        "controller": {"use": "servo-baumgarte"},
        "timing": {"duration": 1.0, "control": T},
        "effect": [{"kind": "noise", "std": 1e-4}],
    }  # fmt: skip
    return Scenario.from_toml(tomli_w.dumps(base | changes))


PARTICLE = {
    "robot": "particle",
    "start": {"q": [0.0, 0.0]},
    "servo": [{"kind": "joint_follows", "joints": ["x", "y"], "path": {
        "kind": "constant", "value": [0.0, 0.0]}}],
    "controller": {"kind": "servo", "allocation": {"kind": "least_norm"},
                   "feedback": {"kind": "baumgarte", "alpha": 30.0, "beta": 400.0}},
}  # fmt: skip
KINDS = {
    "luenberger": {"kind": "luenberger", "bandwidth": 90.0, "damping": 0.8},
    "kalman": {"kind": "kalman", "acceleration_std": 2.0},
    "ekf": {"kind": "ekf", "acceleration_std": 2.0},
    "ukf": {"kind": "ukf", "acceleration_std": 2.0},
}


def moments(poles):
    """Return sums of powers of poles: of those that rounding scatters, means stay."""
    return np.array([np.sum(poles**k).real for k in range(1, 7)])


@pytest.mark.slow(only=["ekf"])
@pytest.mark.parametrize("observer", KINDS.values(), ids=KINDS)
def test_with_a_right_model_observer_and_law_have_their_poles_apart(observer):
    """The separation principle: those of the state feedback, and those of the observer's error."""
    loop = linear_loop(scenario(observer=observer))
    alone = linear_loop(scenario(effect=[])).poles()
    ready = Loop(scenario(observer=observer))
    point, motion = loop.plant.point, ready.estimator.filter.motion
    from scipy.linalg import expm

    F = expm(T * motion.linear(0.0, point.q, point.v, point.u).A)
    at = TimedState(point.t, motion_state(point), point.u)
    K = ready.estimator.filter.gain_at(at, T, ready.estimator.joints)
    error = np.linalg.eigvals((np.eye(8) - K @ np.eye(4, 8)) @ F)
    wanted = np.concatenate([alone, error])  # and four at zero, of inputs that have acted
    assert len(loop.poles()) == len(wanted) + 4
    np.testing.assert_allclose(moments(loop.poles()), moments(wanted), **POLES)
    assert np.abs(error).max() < 0.95  # an observer that is faster than the law


def motion_state(point):
    from ukctrl.mechanics.integrate.ode_system import IntegratorState

    return IntegratorState(point.q, point.v, np.zeros(0))


@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("mass", [1.0, 0.7])
def test_a_particle_under_a_wrong_mass_and_a_delay_is_that_of_the_hand(mass, late):
    """Two directions alike; states are place, speed, their estimates, and inputs on their way."""
    effects = [{"kind": "noise", "std": 1e-4}]
    effects += [{"kind": "input_delay", "ticks": late}] if late else []
    given = PARTICLE | {"observer": KINDS["luenberger"], "effect": effects}
    loop = linear_loop(scenario(**given, believed={"mass_scale": mass}))
    F, step = np.array([[1.0, T], [0.0, 1.0]]), np.array([[T**2 / 2], [T]])
    z = np.exp(T * 90.0 * (-0.8 + 0.6j))
    K = np.array([[1.0 - abs(z) ** 2], [(1.0 + abs(z) ** 2 - 2.0 * z.real) / T]])
    H, feedback = np.eye(1, 2), mass * np.array([[400.0, 30.0]])
    left = np.eye(2) - K @ H
    n = 5 + late  # x, x_hat, u 1 back ... u (late + 1) back
    whole = np.zeros((n, n))
    # The estimate of this tick, from that of the last, the reading and the input that acted.
    now = np.zeros((2, n))
    now[:, :2], now[:, 2:4], now[:, -1:] = K @ H, left @ F, left @ step / mass
    u = -feedback @ now
    whole[:2, :2] = F
    whole[2:4] = now
    whole[4] = u
    whole[5:, 4:-1] = np.eye(late)
    # What acts over the next period was asked for so many ticks ago.
    whole[:2] += step @ (u if late == 0 else np.eye(1, n, 3 + late))
    wanted = np.repeat(np.linalg.eigvals(whole), 2)
    np.testing.assert_allclose(moments(loop.poles()), moments(wanted), **POLES)
    assert len(loop.poles()) == len(wanted)


def test_what_is_left_out_is_said():
    camera = {"camera": [{"frame": "tool", "std": 1e-3}]}
    notes = linear_loop(scenario(observer=KINDS["ekf"], sensing=camera)).notes
    assert any("settle" in note for note in notes)
    assert any("cameras count as on time" in note for note in notes)
    assert not any("settle" in n for n in linear_loop(scenario(observer=KINDS["kalman"])).notes)


def test_a_camera_at_every_fourth_tick_counts_as_half_as_sure_at_every_one():
    """Without it nothing shows the lift, and there is no gain; poles are those of the error."""
    observer = KINDS["ekf"] | {"acceleration_std": 2.0}
    with pytest.raises(InputError, match="steady gain"):
        linear_loop(scenario(observer=observer, sensing={"joints": ["q1", "q2", "q3"]}))
    poles = []
    for camera in ({"std": 2e-3}, {"std": 1e-3, "period": 4 * T}, {"std": 1e-3, "dropped": 0.75}):
        sensing = {"joints": ["q1", "q2", "q3"], "camera": [{"frame": "tool"} | camera]}
        poles.append(moments(linear_loop(scenario(observer=observer, sensing=sensing)).poles()))
    np.testing.assert_allclose(poles[1], poles[0], **POLES)
    np.testing.assert_allclose(poles[2], poles[0], **POLES)


def test_a_gyroscope_makes_the_estimate_of_speeds_faster():
    """A base that turns: against a Kalman filter with encoders and the turn of the tool."""
    from scipy.linalg import expm, solve_discrete_are

    gyro = {"frame": "tool", "gyroscope": {"density": 1e-4}, "accelerometer": {"density": 1.0}}
    observer = KINDS["ekf"]
    loop = linear_loop(scenario(observer=observer, sensing={"imu": [gyro]}))
    assert any("gyroscopes count" in note for note in loop.notes)
    ready, point = Loop(scenario(observer=observer)), loop.plant.point
    motion = ready.estimator.filter.motion
    A = motion.linear(0.0, point.q, point.v, point.u).A
    F, Q = motion.transition(0.0, motion_state(point), point.u, T, (np.full(4, 2.0), np.zeros(4)))
    turn = np.zeros((3, 8))
    turn[2, 4:7] = 1.0  # the tool turns about z with the sum of three speeds, or against it
    H = np.vstack([np.eye(4, 8), turn])
    R = np.diag([1e-4**2] * 4 + [1e-4**2 / T] * 3)
    P = solve_discrete_are(F.T, H.T, Q, R)
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
    error = np.linalg.eigvals((np.eye(8) - K @ H) @ expm(T * A))
    alone = linear_loop(scenario(effect=[])).poles()
    wanted = np.concatenate([alone, error])
    np.testing.assert_allclose(moments(loop.poles()), moments(wanted), **POLES)
