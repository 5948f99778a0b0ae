r"""The coordinated robots in the paper's own closed form: section V and the appendix.

Nothing here uses the rest of the framework, so that either checks the other. Coordinates are
the absolute link angles $\theta_1 \dots \theta_5$ along the chain from the left base to the right
one; (58), (A1) and (A3) are taken as corrected (the signs of (58), the third row of (64)).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

G0 = 9.8
"""Acceleration of gravity, section VI [m/s^2]."""
BASE_DISTANCE = 3.0
"""Distance of the bases ``L`` [m]; follows from the initial configuration."""
PERIOD = 2.0 * np.pi
"""The load's period [s]."""
CENTROID_WEIGHTS = np.array(
    [[1.0 if j < i else 0.5 if j == i else 0.0 for j in range(5)] for i in range(5)]
)
"""How far along link j the centroid of link i is."""
INERTIA = CENTROID_WEIGHTS.T @ CENTROID_WEIGHTS
"""``sum_i m_i w_ij w_ik``: the coefficients of (A2), without the moments."""
GRAVITY_COEFFICIENTS = CENTROID_WEIGHTS.sum(axis=0)
"""``sum_i m_i w_ij``: the coefficients of (A4)."""
B = np.array(
    [
        [1.0, -1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, -1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, -1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, -1.0, 1.0],
    ]
)
"""Eq (70)."""
Reading = Literal["minimum norm", "consistent", "literal", "stacked"]
READINGS: tuple[Reading, ...] = ("minimum norm", "consistent", "literal", "stacked")


def mass(theta: Vector) -> Matrix:
    """Return ``M``, eq (A2), shape (5, 5) [kg m^2]."""
    M: Matrix = INERTIA * np.cos(theta[:, None] - theta) + np.eye(5)
    return M


def coriolis(theta: Vector, rate: Vector) -> Matrix:
    """Return ``C``, eq (A3), shape (5, 5)."""
    C: Matrix = INERTIA * np.sin(theta[:, None] - theta) * rate
    return C


def gravity(theta: Vector) -> Vector:
    """Return ``G``, eq (A4), shape (5,) [N m]."""
    G: Vector = GRAVITY_COEFFICIENTS * G0 * np.cos(theta)
    return G


def closure_rows(theta: Vector, rate: Vector) -> tuple[Matrix, Vector]:
    """Return the closure's matrix and right-hand side, eq (63), shapes (2, 5) and (2,)."""
    A = np.array([-np.sin(theta), np.cos(theta)])
    return A, np.array([np.cos(theta), np.sin(theta)]) @ rate**2


def closure_error(theta: Vector) -> Vector:
    """Return how far the closure (60) is open, shape (2,) [m]."""
    return np.array([np.cos(theta).sum() - BASE_DISTANCE, np.sin(theta).sum()])


def servo_rows(t: float, theta: Vector, rate: Vector) -> tuple[Matrix, Vector]:
    """Return the servo rows, eq (68), shapes (3, 5) and (3,)."""
    along = np.array([1.0, 1.0, 0.5, 0.0, 0.0])
    A = np.array([-along * np.sin(theta), along * np.cos(theta), [0.0, 0.0, 1.0, 0.0, 0.0]])
    b = np.array([along * np.cos(theta), along * np.sin(theta), np.zeros(5)]) @ rate**2
    b[1] += 0.5 * np.cos(t)
    return A, b


class ArmMotion(NamedTuple):
    """The one motion that the three servo rows and the two closure rows leave."""

    theta: Vector
    rate: Vector
    acceleration: Vector


def known_motion(t: float) -> ArmMotion:
    r"""Return the motion in closed form.

    The bar is level, with its left end at $(1, h)$, $h = (1 - \cos t)/2$; links 1 and 2 are the
    sides of an isosceles triangle over the line from the base to it, and the right arm mirrors
    the left one. Rates and accelerations follow by solving the five rows.
    """
    h = 0.5 * (1.0 - np.cos(t))
    bend = np.arccos(0.5 * np.hypot(1.0, h))
    slope = np.arctan2(h, 1.0)
    theta = np.array([slope + bend, slope - bend, 0.0, bend - slope, -bend - slope])
    still = np.zeros(5)
    rows = np.vstack((servo_rows(t, theta, still)[0], closure_rows(theta, still)[0]))
    rate = np.linalg.solve(rows, np.array([0.0, 0.5 * np.sin(t), 0.0, 0.0, 0.0]))
    right = np.concatenate((servo_rows(t, theta, rate)[1], closure_rows(theta, rate)[1]))
    return ArmMotion(theta, rate, np.asarray(np.linalg.solve(rows, right), dtype=np.float64))


def torques(reading: Reading, t: float, theta: Vector, rate: Vector) -> Vector:
    r"""Return the input of (71) under one of its readings, shape (6,) [N m].

    With $Q = -C \dot\theta - G$ and pseudoinverses of NumPy alone:

    - *literal*: steps 1) to 5) word by word, the reaction that of motors at rest;
    - *consistent*: $u = (A M^{-1} B)^\top \mu$ and the reaction that acts with $u$, from the
      5 x 5 system of ERRATA;
    - *minimum norm*: the least $|u|$ that keeps both, by $N = \ker \hat A$;
    - *stacked*: all five rows served by $u$, with the reaction of motors at rest.
    """
    M, Q = mass(theta), -coriolis(theta, rate) @ rate - gravity(theta)
    A, b = servo_rows(t, theta, rate)
    A_c, b_c = closure_rows(theta, rate)
    rows, right = np.vstack((A, A_c)), np.concatenate((b, b_c))
    MB, MA, a = np.linalg.solve(M, B), np.linalg.solve(M, A_c.T), np.linalg.solve(M, Q)
    if reading == "consistent":
        N = (A @ MB).T
        answer = np.hstack((MB @ N, MA))
        unknown = np.linalg.solve(rows @ answer, right - rows @ a)
        return np.asarray(N @ unknown[:3])
    if reading == "minimum norm":
        kernel = np.linalg.svd(A_c)[2][2:].T
        reduced = kernel.T @ M @ kernel
        drift = np.linalg.pinv(A_c) @ b_c
        # theta'' = kernel z + drift; the task fixes z, and the rest of u is free
        z = np.linalg.solve(A @ kernel, b - A @ drift)
        load = reduced @ z + kernel.T @ (M @ drift - Q)
        return np.asarray(np.linalg.pinv(kernel.T @ B) @ load)
    a = a + MA @ np.linalg.solve(A_c @ MA, b_c - A_c @ a)
    if reading == "literal":
        return np.asarray(np.linalg.pinv(A @ MB) @ (b - A @ a))
    return np.asarray(np.linalg.pinv(rows @ MB) @ (right - rows @ a))


def period_torques(reading: Reading, samples: int = 721) -> tuple[Vector, Matrix]:
    """Return times and torques along the known motion, shapes (n,) and (n, 6)."""
    times = np.linspace(0.0, PERIOD, samples)
    return times, np.array([torques(reading, t, *known_motion(t)[:2]) for t in times])
