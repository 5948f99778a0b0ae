"""What Xu & Liu (2017) say, in their own formulas, and integrated as MATLAB's ``ode45`` does.

There is no robot model here, and no simulation of ukctrl.

The other modules of this package set these numbers beside the simulated ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import RK45
from scipy.optimize import brentq

from ukctrl.core.arrays import Matrix, Vector

L1, L2, R1, R2 = 0.2, 0.25, 0.1, 0.125
"""Lengths of the links, and distances of their centres from the joints before them [m]."""
MASSES, INERTIAS = (20.0, 15.0, 15.0, 0.5), (0.27, 0.31, 0.02, 0.0001)
"""Masses [kg] and moments of inertia about the vertical [kg m^2]."""
GRAVITY = 9.81
"""Not printed; it enters the force on the slide alone [m/s^2]."""
OMEGA, RADIUS, CENTRE, CLIMB_RATE = 0.4 * np.pi, 0.05, 0.35, 0.02
"""The path (40) [rad/s, m, m, m/s]."""
ALPHA, BETA = 0.5, 200.0
"""Gains of (52) [1/s, 1/s^2]."""
DECAY, FREQUENCY = ALPHA / 2.0, float(np.sqrt(BETA - ALPHA**2 / 4.0))
"""What they make of an error: exp(-DECAY t) times an oscillation [1/s, rad/s]."""
DURATION = 20.0
V_PRINTED = np.array([-0.157, 0.0001, 0.157, 0.0195])
X_PRINTED, Y_PRINTED, Z_PRINTED = 8e-4, 7e-3, 1e-2
"""Largest displacement errors without stabilisation, as printed [m]."""


def exact_start(elbow: float) -> tuple[Vector, Vector]:
    """Return q and v on the path at t = 0; ``elbow`` is the sign of q2."""
    q2 = elbow * np.arccos(((CENTRE + RADIUS) ** 2 - L1**2 - L2**2) / (2.0 * L1 * L2))
    q1 = -np.arctan2(L2 * np.sin(q2), L1 + L2 * np.cos(q2))
    v1 = -RADIUS * OMEGA / (CENTRE + RADIUS)
    return np.array([q1, q2, -q1 - q2, 0.0]), np.array([v1, 0.0, -v1, CLIMB_RATE])


LITERAL_START, SIGNED_START, NEAREST_START = (
    "(30, 55, 24), literally",
    "(30, −55, 24)",
    "(31, −55, 24)",
)
EXACT_LEFT, EXACT_RIGHT = "exact, q2 > 0", "exact, q2 < 0"
START_READINGS = {
    LITERAL_START: np.radians([30.0, 55.0, 24.0, 0.0]),
    SIGNED_START: np.radians([30.0, -55.0, 24.0, 0.0]),
    "(−30, 55, −24)": np.radians([-30.0, 55.0, -24.0, 0.0]),
    NEAREST_START: np.radians([31.0, -55.0, 24.0, 0.0]),
    "(−31, 55, −24)": np.radians([-31.0, 55.0, -24.0, 0.0]),
    EXACT_RIGHT: exact_start(-1.0)[0],
    EXACT_LEFT: exact_start(+1.0)[0],
}
"""Readings of the initial angles [rad, m]."""


def violation(q: Vector, v: Vector, t: float = 0.0) -> tuple[Vector, Vector]:
    """Return Phi of (48) and its rate, in the order x, y, orientation, z."""
    s1, c1 = L1 * np.sin(q[0]), L1 * np.cos(q[0])
    s12, c12 = L2 * np.sin(q[0] + q[1]), L2 * np.cos(q[0] + q[1])
    sin, cos = RADIUS * np.sin(OMEGA * t), RADIUS * np.cos(OMEGA * t)
    phi = [-s1 - s12 - sin, c1 + c12 - CENTRE - cos, q[:3].sum(), q[3] - CLIMB_RATE * t]
    rate = [
        -(c1 + c12) * v[0] - c12 * v[1] - OMEGA * cos,
        -(s1 + s12) * v[0] - s12 * v[1] + OMEGA * sin,
        v[:3].sum(),
        v[3] - CLIMB_RATE,
    ]
    return np.array(phi), np.array(rate)


def mass(q: Vector) -> Matrix:
    """Return M of (34)."""
    m1, m2, m3, m4 = MASSES
    alpha = INERTIAS[0] + R1**2 * m1 + L1**2 * (m2 + m3 + m4)
    beta = sum(INERTIAS[1:]) + L2**2 * (m3 + m4) + m2 * R2**2
    delta, coupling = INERTIAS[2] + INERTIAS[3], _coupling() * np.cos(q[1])
    return np.array(
        [
            [alpha + beta + 2.0 * coupling, beta + coupling, delta, 0.0],
            [beta + coupling, beta, delta, 0.0],
            [delta, delta, delta, 0.0],
            [0.0, 0.0, 0.0, m4],
        ]
    )


def bias(q: Vector, v: Vector) -> Vector:
    """Return C q' + G of (35) and (36)."""
    h = _coupling() * np.sin(q[1])
    turn = [-h * v[1] * v[0] - h * (v[0] + v[1]) * v[1], h * v[0] ** 2]
    return np.array([*turn, 0.0, MASSES[3] * GRAVITY])


def _coupling() -> float:
    """Return gamma of (34)."""
    return L1 * L2 * (MASSES[2] + MASSES[3]) + L1 * MASSES[1] * R2


def tool_pose(q: Vector) -> tuple[Vector, Matrix]:
    """Return the position and the rotation of the tool by (39)."""
    x = -L1 * np.sin(q[0]) - L2 * np.sin(q[0] + q[1])
    y = L1 * np.cos(q[0]) + L2 * np.cos(q[0] + q[1])
    c, s = np.cos(q[:3].sum()), np.sin(q[:3].sum())
    return np.array([x, y, q[3]]), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rows(q: Vector, v: Vector, t: float = 0.0) -> tuple[Matrix, Vector]:
    """Return A and b of (49), in the order x, y, orientation, z."""
    s1, c1 = L1 * np.sin(q[0]), L1 * np.cos(q[0])
    s12, c12 = L2 * np.sin(q[0] + q[1]), L2 * np.cos(q[0] + q[1])
    A = np.array(
        [
            [-c1 - c12, -c12, 0.0, 0.0],
            [-s1 - s12, -s12, 0.0, 0.0],
            [1.0, 1.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    turn, both, pull = v[0] ** 2, (v[0] + v[1]) ** 2, RADIUS * OMEGA**2
    x = -turn * s1 - both * s12 - pull * np.sin(OMEGA * t)
    y = turn * c1 + both * c12 - pull * np.cos(OMEGA * t)
    return A, np.array([x, y, 0.0, 0.0])


def stabilised(q: Vector, v: Vector, t: float = 0.0) -> Vector:
    """Return the right-hand side of (54)."""
    phi, rate = violation(q, v, t)
    return rows(q, v, t)[1] - ALPHA * rate - BETA * phi


def constraint_torque(q: Vector, v: Vector, b: Vector, exponent: float = 0.5) -> Vector:
    """Return Q^c of (50) with Q = -C q' - G; (8) prints the exponent of M as -1/2."""
    eigenvalues, vectors = np.linalg.eigh(mass(q))
    A, Q = rows(q, v)[0], -bias(q, v)

    def power(exponent: float) -> Matrix:
        answer: Matrix = vectors * eigenvalues**exponent @ vectors.T
        return answer

    B = A @ power(-0.5)
    return power(exponent) @ np.linalg.pinv(B) @ (b - A @ power(-1.0) @ Q)


def linear_drift(start: Vector, t: Vector) -> Vector:
    """Return the error of Phi'' = 0 over time: linear."""
    phi, rate = violation(start, V_PRINTED)
    return phi + np.multiply.outer(t, rate)


def damped_error(start: Vector, t: Vector) -> Vector:
    """Return the error of Phi'' + alpha Phi' + beta Phi = 0 over time."""
    phi, rate = violation(start, V_PRINTED)
    swing = np.multiply.outer(np.cos(FREQUENCY * t), phi)
    swing += np.multiply.outer(np.sin(FREQUENCY * t), (rate + DECAY * phi) / FREQUENCY)
    return np.exp(-DECAY * t)[:, None] * swing


def workspace_exit_time(error: Callable[[Vector, Vector], Vector]) -> float:
    """Return when the path plus its error leaves the reach of the outstretched arm [s]."""

    def margin(t: float) -> float:
        x, y = error(START_READINGS[LITERAL_START], np.array([t]))[0, :2]
        tool = (x + RADIUS * np.sin(OMEGA * t), y + CENTRE + RADIUS * np.cos(OMEGA * t))
        return L1 + L2 - float(np.hypot(*tool))

    times = np.linspace(0.0, DURATION, 20001)
    first = int(np.argmax(np.array([margin(t) for t in times]) < 0.0))
    return float(brentq(margin, times[first - 1], times[first]))


def largest_y_error() -> float:
    """Return the largest y error that goes with the printed x error [m].

    Tried are all starts, on both branches, whose velocities round to the printed ones and whose
    x error rounds to 8e-4 m or less, on a grid of tool positions.
    """
    x0, y0, v1, v2 = np.meshgrid(
        np.linspace(-8.5e-4, 8.5e-4, 69),
        np.linspace(-1e-2, 1e-2, 401),
        np.linspace(-0.1575, -0.1565, 21),
        np.linspace(0.00005, 0.00015, 3),
    )
    x, y = x0, CENTRE + RADIUS + y0
    largest = 0.0
    for elbow in (-1.0, 1.0):
        q2 = elbow * np.arccos((x**2 + y**2 - L1**2 - L2**2) / (2.0 * L1 * L2))
        q1 = np.arctan2(-x, y) - np.arctan2(L2 * np.sin(q2), L1 + L2 * np.cos(q2))
        x_rate = -y * v1 - L2 * np.cos(q1 + q2) * v2 - RADIUS * OMEGA
        y_rate = x * v1 - L2 * np.sin(q1 + q2) * v2
        x_error = np.maximum(np.abs(x0), np.abs(x0 + DURATION * x_rate))
        y_error = np.maximum(np.abs(y0), np.abs(y0 + DURATION * y_rate))
        largest = max(largest, float(y_error[x_error <= 8.5e-4].max()))
    return largest


def constrained_rate(t: float, state: Vector) -> Vector:
    """Return the rate of (q, v) under (49): four rows fix all four accelerations."""
    A, b = rows(state[:4], state[4:], t)
    return np.concatenate([state[4:], np.linalg.solve(A, b)])


def dormand_prince(start: Vector, rtol: float = 1e-3, atol: float = 1e-6) -> tuple[Vector, Matrix]:
    """Integrate (49) from the printed velocities with the step control of MATLAB's ``ode45``.

    The formula is that of SciPy's RK45. The control differs: the error of a step is measured by
    its worst component, relative to the larger of the state before and after, and a step changes
    by the rules of Shampine & Reichelt (1997).

    Returns:
        Times, shape ``(n,)``, and errors x, y, orientation, z at every tenth of a step.
    """
    y = np.concatenate([start, V_PRINTED])
    t, slope, floor, longest = 0.0, constrained_rate(0.0, y), atol / rtol, DURATION / 10.0
    h = min(longest, 0.8 * rtol**0.2 / float(np.max(np.abs(slope) / np.maximum(np.abs(y), floor))))
    times, errors = [t], [violation(y[:4], y[4:], t)[0]]
    while t < DURATION:
        if 1.1 * h >= DURATION - t:
            h = DURATION - t
        fresh = True
        while True:
            K = np.zeros((7, 8))
            K[0] = slope
            for i in range(1, 6):
                K[i] = constrained_rate(t + RK45.C[i] * h, y + h * (RK45.A[i, :i] @ K[:i]))
            y_new = y + h * (RK45.B @ K[:6])
            K[6] = constrained_rate(t + h, y_new)
            scale = np.maximum(np.maximum(np.abs(y), np.abs(y_new)), floor)
            error = h * float(np.max(np.abs(RK45.E @ K) / scale))
            if error <= rtol:
                break
            h *= max(0.1, 0.8 * (rtol / error) ** 0.2) if fresh else 0.5
            fresh = False
        for fraction in np.linspace(0.1, 1.0, 10):
            between = y + h * (K.T @ RK45.P @ fraction ** np.arange(1, 5))
            times.append(t + fraction * h)
            errors.append(violation(between[:4], between[4:], times[-1])[0])
        t, y, slope = t + h, y_new, K[6]
        if fresh:
            h *= min(5.0, 0.8 * (rtol / error) ** 0.2) if error > 0.0 else 5.0
        h = min(h, longest)
    return np.array(times), np.array(errors)
