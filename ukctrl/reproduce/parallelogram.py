r"""Parallel links under a coupler, in maximal coordinates: the linkage of de Falco et al.

Their overconstrained five-bar is two parallelogram loops; any number of loops is built alike. A
loop more adds a link, its ground joint and a joint on the coupler: three coordinates, four rows,
of which one is redundant. Links stand on the ground line at 0, 1, 2, ... and share one angle
$\theta$; the coupler translates. So the motion is that of a pendulum, which is known without any
of the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.factor import Matrix, Vector

LENGTH, MASS, INERTIA = 1.0, 1.0, 0.1
"""Of every link: length [m], mass [kg], moment of inertia about its centre [kg m^2]."""
GRAVITY = 9.81
"""[m/s^2]"""


class Arrays(NamedTuple):
    """A constrained system at one state: ``M a = Q + A' lam``, ``A a = b``."""

    M: Matrix
    Q: Vector
    A: Matrix
    b: Vector


def arrays(theta: float, rate: float, loops: int = 2) -> Arrays:
    """Return the linkage at a link angle and its rate.

    Coordinates are ``(x, y, angle)`` of the centre of each link and then of the coupler; rows are
    the two of each ground joint and then the two of each joint on the coupler.

    Args:
        theta: Angle of the links from the ground line [rad].
        rate: Its rate [rad/s].
        loops: Parallelograms side by side; 2 is the paper's, with coupler mass 2 and inertia 0.2.
    """
    links = loops + 1
    n = 3 * (links + 1)
    mass = np.tile([MASS, MASS, INERTIA], links + 1)
    mass[-3:] *= loops  # the coupler is as long as the row of ground joints
    Q = np.zeros(n)
    Q[1::3] = -GRAVITY * mass[1::3]
    A, b = np.zeros((4 * links, n)), np.zeros(4 * links)
    along = np.array([np.cos(theta), np.sin(theta)])
    across = np.array([-np.sin(theta), np.cos(theta)])
    half = 0.5 * LENGTH
    for i in range(links):
        x, ground, top = 3 * i, 2 * i, 2 * (links + i)
        A[ground : ground + 2, x : x + 2] = np.eye(2)
        A[ground : ground + 2, x + 2] = -half * across
        b[ground : ground + 2] = -half * along * rate**2
        A[top : top + 2, x : x + 2] = np.eye(2)
        A[top : top + 2, x + 2] = half * across
        A[top : top + 2, n - 3 : n - 1] = -np.eye(2)
        A[top + 1, n - 1] = -(i - 0.5 * loops)  # the joint lies this far along the coupler
        b[top : top + 2] = half * along * rate**2
    return Arrays(np.diag(mass), Q, A, b)


def angular_acceleration(theta: float, loops: int = 2) -> float:
    r"""Return $\ddot\theta$ of the pendulum that the linkage is: $3.05\, \ddot\theta = -3.5\, g
    \cos\theta$ for two loops.

    Links turn about their ground joints, and the coupler adds its mass at their ends.
    """
    links = loops + 1
    inertia = links * (INERTIA + MASS * (0.5 * LENGTH) ** 2) + loops * MASS * LENGTH**2
    moment = (links * 0.5 + loops) * MASS * LENGTH
    return float(-moment * GRAVITY * np.cos(theta) / inertia)


def acceleration(theta: float, rate: float, loops: int = 2) -> Vector:
    """Return the accelerations of all coordinates that belong to the pendulum's."""
    links = loops + 1
    turn = angular_acceleration(theta, loops)
    along = np.array([np.cos(theta), np.sin(theta)])
    across = np.array([-np.sin(theta), np.cos(theta)])
    tip = LENGTH * (across * turn - along * rate**2)
    one = np.append(0.5 * tip, turn)
    return np.concatenate([np.tile(one, links), np.append(tip, 0.0)])
