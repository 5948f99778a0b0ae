"""Systems whose accelerations are known without any of the equations that are compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl import Matrix, Vector, papers

three_rrr = papers.recursive.three_rrr


class Known(NamedTuple):
    """A constrained system and its acceleration by another route."""

    M: Matrix
    Q: Vector
    A: Matrix
    b: Vector
    exact: Vector


def linkage(degrees: float) -> Known:
    """The overconstrained parallelogram linkage: it is a pendulum."""
    theta, rate = np.radians(degrees), 1.5
    return Known(
        *papers.parallelogram.linkage_arrays(theta, rate),
        papers.parallelogram.acceleration(theta, rate),
    )


def two_masses() -> Known:
    """Two masses in a row on springs, put together from two modules as Udwadia & Phohomsiri do.

    Coordinates: x of the first mass; for the second one a base point p and the distance d from
    it, which gives a singular block; and the row that makes the base point the first mass.
    """
    m1, m2, k1, k2 = 1.0, 2.0, 40.0, 50.0
    x, d = 0.1, -0.05  # extensions of the springs
    M = np.array([[m1, 0.0, 0.0], [0.0, m2, m2], [0.0, m2, m2]])
    Q = np.array([-k1 * x, 0.0, -k2 * d])
    first = (-k1 * x + k2 * d) / m1
    exact = np.array([first, first, -k2 * d / m2 - first])
    return Known(M, Q, np.array([[1.0, -1.0, 0.0]]), np.zeros(1), exact)


def rigid_body() -> Known:
    """A free rigid body in Euler parameters: Euler's equations know its acceleration."""
    J, moment = np.diag([0.4, 0.7, 1.1]), np.array([0.3, -0.2, 0.5])
    p, w = np.array([0.8, 0.2, -0.4, 0.4]), np.array([1.0, -2.0, 0.5])
    G = parameters(p)
    p_dot = 0.5 * G.T @ w
    M = 4.0 * G.T @ J @ G
    Q = 2.0 * G.T @ moment - 4.0 * parameters(p_dot).T @ J @ w
    w_dot = np.linalg.solve(J, moment - np.cross(w, J @ w))
    exact = 0.5 * G.T @ w_dot - 0.25 * (w @ w) * p
    return Known(M, Q, 2.0 * p[None, :], np.array([-2.0 * p_dot @ p_dot]), exact)


def parameters(p: Matrix) -> Matrix:
    """Return G with the body's angular velocity ``2 G p_dot``."""
    e0, e1, e2, e3 = p
    return np.array([[-e1, e0, e3, -e2], [-e2, -e3, e0, e1], [-e3, e2, -e1, e0]])


def parallel_robot() -> Known:
    """The 3RRR robot of ten modules, and the three equations of its platform."""
    s, s_dot, s_ddot = three_rrr.path(1.0)
    at = three_rrr.state(s, s_dot)
    u = three_rrr.torques(at, s_ddot)
    Q = np.zeros(18)
    Q[list(three_rrr.MOTORS)] = u
    exact = three_rrr.reduced_accelerations(at, u)
    return Known(three_rrr.mass(), Q, *three_rrr.all_rows(at, u), exact)
