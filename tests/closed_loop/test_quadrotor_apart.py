"""The quadrotor's law, coded anew with quaternions and nothing of ukctrl: the same flight."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl_laws import thrust_vectoring

MASS, G, INERTIA = 0.5, 9.81, np.diag([3.65e-3, 3.68e-3, 7.03e-3])
ARM, DRAG = 0.120208153, 0.0244
MIXER = np.array(
    [[1, 1, 1, 1], [ARM, -ARM, -ARM, ARM], [-ARM, -ARM, ARM, ARM], [DRAG, -DRAG, DRAG, -DRAG]]
)
"""From propellers to thrust and moments."""
ALPHA, BETA, ALPHA_R, BETA_R = 4.0, 6.0, 40.0, 600.0
RADIUS, RATE = 0.5, 2.0
START = np.array([0.4, 0.2, 1.1, 0.1, -0.2, 0.05, 0.0, 0.3, -0.2, 0.4, 0.2, 1.0, -0.5])
"""Place, quaternion (x, y, z, w) before it is normalised, velocity and rate in body axes."""
START[3:7] = np.array([0.1, -0.2, 0.05, 1.0]) / np.linalg.norm([0.1, -0.2, 0.05, 1.0])


def path(t):
    """Return a circle and its first four derivatives."""
    angles = [RATE * t + k * np.pi / 2.0 for k in range(5)]
    around = [RATE**k * np.array([np.cos(x), np.sin(x), 0.0]) for k, x in enumerate(angles)]
    return [RADIUS * each + (k == 0) * np.array([0.0, 0.0, 1.0]) for k, each in enumerate(around)]


def unit(w, w1, w2):
    """Return the direction of a vector with its first two derivatives."""
    s = np.linalg.norm(w)
    n = w / s
    s1 = n @ w1
    s2 = (w1 @ w1 + w @ w2 - s1**2) / s
    n1 = (w1 - n * s1) / s
    return n, n1, (w2 - 2.0 * n1 * s1 - n * s2) / s


def crossed(a, b):
    """Return a cross product with its first two derivatives."""
    return (
        np.cross(a[0], b[0]),
        np.cross(a[1], b[0]) + np.cross(a[0], b[1]),
        np.cross(a[2], b[0]) + 2.0 * np.cross(a[1], b[1]) + np.cross(a[0], b[2]),
    )


def matrix(x, y, z, w):
    """Return the rotation of a unit quaternion."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def law(t, p, R, v, omega):
    """Return the thrusts; velocities in world axes."""
    r, up, e = path(t), np.array([0.0, 0.0, 1.0]), R[:, 2]
    d = r[2] - ALPHA * (v - r[1]) - BETA * (p - r[0]) + G * up
    push = e @ d
    a = push * e - G * up
    d1 = r[3] - ALPHA * (a - r[2]) - BETA * (v - r[1])
    e1 = np.cross(omega, e)
    jerk = (e1 @ d + e @ d1) * e + push * e1
    d2 = r[4] - ALPHA * (jerk - r[3]) - BETA * (a - r[2])
    z = unit(d, d1, d2)
    still = np.zeros(3)
    y = unit(*crossed(z, (np.array([1.0, 0.0, 0.0]), still, still)))
    x = crossed(y, z)
    wanted = np.column_stack([x[0], y[0], z[0]])
    omega_d, omega_d1 = (
        0.5 * sum(np.cross(axis[0], axis[k]) for axis in (x, y, z)) for k in (1, 2)
    )
    E = wanted.T @ R
    w = R.T @ (omega - omega_d)
    scalar = 0.5 * np.sqrt(1.0 + np.trace(E))
    skew = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    sigma = skew / (4.0 * scalar) / (1.0 + scalar)

    def rate(sigma, w):  # four times the rate of the modified Rodrigues vector
        return (1 - sigma @ sigma) * w + 2 * np.cross(sigma, w) + 2 * sigma * (sigma @ w)

    sigma1 = 0.25 * rate(sigma, w)
    T = np.column_stack([rate(sigma, axis) for axis in np.eye(3)])
    # d(T w)/dt with w held: the derivative of `rate` along sigma1
    drift = -2 * (sigma @ sigma1) * w + 2 * np.cross(sigma1, w)
    drift += 2 * sigma1 * (sigma @ w) + 2 * sigma * (sigma1 @ w)
    w1 = np.linalg.solve(T, -ALPHA_R * 4 * sigma1 - BETA_R * 4 * sigma - drift)
    omega1 = omega_d1 + R @ w1 + np.cross(omega, omega - omega_d)
    body = R.T @ omega
    moment = INERTIA @ (R.T @ omega1) + np.cross(body, INERTIA @ body)
    return np.linalg.solve(MIXER, [MASS * push, *moment])


def flight(duration):
    """Return the state at the end, by scipy, and the thrusts there."""
    from scipy.integrate import solve_ivp

    def rates(t, y):
        p, quaternion, v, body = y[:3], y[3:7], y[7:10], y[10:]
        R = matrix(*quaternion / np.linalg.norm(quaternion))
        total, *moment = MIXER @ law(t, p, R, v, R @ body)
        a = R[:, 2] * total / MASS - (0.0, 0.0, G)
        vector, scalar = quaternion[:3], quaternion[3]
        turn = 0.5 * np.append(scalar * body + np.cross(vector, body), -vector @ body)
        spin = np.linalg.solve(INERTIA, moment - np.cross(body, INERTIA @ body))
        return np.concatenate([v, turn, a, spin])

    y0 = START.copy()
    y0[7:10] = matrix(*START[3:7]) @ START[7:10]
    y = solve_ivp(rates, (0.0, duration), y0, method="DOP853", rtol=1e-9, atol=1e-11).y[:, -1]
    R = matrix(*y[3:7] / np.linalg.norm(y[3:7]))
    return y, R, law(duration, y[:3], R, y[7:10], R @ y[10:])


def differences(ahead, monkeypatch):
    """Return how far the two flights are apart in place, attitude and thrusts."""
    monkeypatch.setattr(thrust_vectoring, "DIFFERENCE_STEP", ahead)
    monkeypatch.setattr("ukctrl.simulation.simulate._LAST.run", None)  # of another constant
    circle = {"kind": "circle", "center": [0, 0, 1], "radius": RADIUS, "period": 2 * np.pi / RATE}
    changes = {
        "servo.body.path": circle,
        "start": {"q": START[:7].tolist(), "v": START[7:].tolist()},
        "controller.allocation": {"kind": "least_norm"},
        "timing": {"duration": 0.3, "sample": 0.1},
    }
    run = simulate(Scenario.load("quadrotor-lemniscate", changes))
    y, R, u = flight(0.3)
    pairs = ((run["q"][-1, :3], y[:3]), (matrix(*run["q"][-1, 3:]), R), (run["u"][-1], u))
    return np.array([np.abs(ours - theirs).max() for ours, theirs in pairs])


@pytest.mark.slow
def test_a_law_coded_apart_flies_the_same_but_for_how_it_differentiates(monkeypatch):
    coarse, fine = (differences(ahead, monkeypatch) for ahead in (2e-4, 1e-4))
    np.testing.assert_array_less(coarse, [2e-5, 1e-4, 1e-3])  # [m], of the matrix, [N]
    np.testing.assert_allclose(coarse / fine, 2.0, rtol=0.05)
