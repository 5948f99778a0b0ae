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
from scipy.special import ellipj, ellipk, ellipkinc

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating

LENGTH, MASS, INERTIA = 1.0, 1.0, 0.1
"""Of every link: length [m], mass [kg], moment of inertia about its centre [kg m^2]."""
GRAVITY = 9.81
"""[m/s^2]"""


class LinkageArrays(NamedTuple):
    """A constrained system at one state: ``M a = Q + A' lam``, ``A a = b``."""

    M: Matrix
    Q: Vector
    A: Matrix
    b: Vector


def linkage_arrays(theta: float, rate: float, loops: int = 2) -> LinkageArrays:
    """Return the linkage at a link angle and its rate.

    Coordinates are ``(x, y, angle)`` of the centre of each link and then of the coupler; rows are
    the two of each ground joint and then the two of each joint on the coupler.

    Args:
        theta: Angle of the links from the ground line [rad].
        rate: Its rate [rad/s].
        loops: Parallelograms side by side; 2 is the paper's, with coupler mass 2 and inertia 0.2.
    """
    q, v = closed_configuration(theta, rate, loops)
    A, b = constraint_rows(q, v)
    return LinkageArrays(np.diag(mass_diagonal(loops)), gravity(loops), A, b)


def mass_diagonal(loops: int = 2) -> Vector:
    """Return the diagonal of the mass matrix [kg, kg m^2]."""
    mass = np.tile([MASS, MASS, INERTIA], loops + 2)
    mass[-3:] *= loops  # the coupler is as long as the row of ground joints
    return mass


def gravity(loops: int = 2) -> Vector:
    """Return the weights [N]."""
    return np.tile([0.0, -GRAVITY, 0.0], loops + 2) * mass_diagonal(loops)


def closed_configuration(theta: float, rate: float = 0.0, loops: int = 2) -> tuple[Vector, Vector]:
    """Return coordinates and velocities that close every joint, at a link angle and its rate."""
    along = LENGTH * np.array([np.cos(theta), np.sin(theta)])
    across = LENGTH * rate * np.array([-np.sin(theta), np.cos(theta)])
    q = [np.append(np.array([i, 0.0]) + 0.5 * along, theta) for i in range(loops + 1)]
    v = [np.append(0.5 * across, rate)] * (loops + 1)
    middle = np.append(np.array([0.5 * loops, 0.0]) + along, 0.0)
    return np.concatenate([*q, middle]), np.concatenate([*v, np.append(across, 0.0)])


@allocating
def position_errors(q: Vector) -> Vector:
    r"""Return how far each joint is open, $\Psi(q)$, closed or not, shape ``(4 links,)`` [m]."""
    links = q.shape[0] // 3 - 1
    x, y, angle = q[3 * links], q[3 * links + 1], q[3 * links + 2]
    psi = np.empty(4 * links)
    for i in range(links):
        half_x, half_y = 0.5 * LENGTH * np.cos(q[3 * i + 2]), 0.5 * LENGTH * np.sin(q[3 * i + 2])
        arm = i - 0.5 * (links - 1)  # the joint lies this far along the coupler
        psi[2 * i] = q[3 * i] - half_x - i
        psi[2 * i + 1] = q[3 * i + 1] - half_y
        psi[2 * (links + i)] = q[3 * i] + half_x - x - arm * np.cos(angle)
        psi[2 * (links + i) + 1] = q[3 * i + 1] + half_y - y - arm * np.sin(angle)
    return psi


@allocating
def constraint_rows(q: Vector, v: Vector) -> tuple[Matrix, Vector]:
    r"""Return $A = \Psi_q$, shape ``(4 links, 3 links + 3)``, and $b = \gamma = -\dot A v$."""
    links = q.shape[0] // 3 - 1
    n = 3 * links + 3
    A, b = np.zeros((4 * links, n)), np.empty(4 * links)
    for i in range(links):
        cos, sin = 0.5 * LENGTH * np.cos(q[3 * i + 2]), 0.5 * LENGTH * np.sin(q[3 * i + 2])
        square = v[3 * i + 2] ** 2
        arm = i - 0.5 * (links - 1)
        arm_cos, arm_sin = arm * np.cos(q[n - 1]), arm * np.sin(q[n - 1])
        ground, top = 2 * i, 2 * (links + i)
        for k in range(2):
            A[ground + k, 3 * i + k] = 1.0
            A[top + k, 3 * i + k] = 1.0
            A[top + k, n - 3 + k] = -1.0
        A[ground, 3 * i + 2], A[ground + 1, 3 * i + 2] = sin, -cos
        A[top, 3 * i + 2], A[top + 1, 3 * i + 2] = -sin, cos
        A[top, n - 1], A[top + 1, n - 1] = arm_sin, -arm_cos
        b[ground], b[ground + 1] = -cos * square, -sin * square
        b[top] = cos * square - arm_cos * v[n - 1] ** 2
        b[top + 1] = sin * square - arm_sin * v[n - 1] ** 2
    return A, b


def angular_acceleration(theta: float, loops: int = 2) -> float:
    r"""Return $\ddot\theta$ of the pendulum that the linkage is: $3.05\, \ddot\theta = -3.5\, g
    \cos\theta$ for two loops.

    Links turn about their ground joints, and the coupler adds its mass at their ends.
    """
    inertia, moment = pendulum(loops)
    return float(-moment * GRAVITY * np.cos(theta) / inertia)


def pendulum(loops: int = 2) -> tuple[float, float]:
    """Return the inertia [kg m^2] and the moment of mass [kg m] of the one freedom."""
    links = loops + 1
    inertia = links * (INERTIA + MASS * (0.5 * LENGTH) ** 2) + loops * MASS * LENGTH**2
    return inertia, (links * 0.5 + loops) * MASS * LENGTH


def angle_from_rest(t: Vector, start: float, loops: int = 2) -> Vector:
    r"""Return $\theta(t)$ [rad] from rest at ``start``, by Jacobi's elliptic functions.

    With $\varphi = \theta + \pi/2$ the linkage is the pendulum
    $\ddot\varphi = -\omega_0^2 \sin\varphi$, and
    $\sin(\varphi / 2) = k\, \mathrm{sn}(K(k) + \omega_0 t, k)$ with $k = \sin(\varphi_0 / 2)$.
    """
    inertia, moment = pendulum(loops)
    k = np.sin(0.5 * start + 0.25 * np.pi)
    turns = ellipk(k**2) + np.sqrt(moment * GRAVITY / inertia) * np.asarray(t)
    angle: Vector = 2.0 * np.arcsin(k * ellipj(turns, k**2)[0]) - 0.5 * np.pi
    return angle


def pendulum_motion(t: Vector, square: float, start: float, rate: float) -> tuple[Vector, Vector]:
    r"""Return angle and rate of $\ddot\theta = -\omega_0^2 \cos\theta$ from any start.

    With $\varphi = \theta + \pi/2$ and
    $k^2 = \sin^2(\varphi_0/2) + \dot\varphi_0^2 / 4\omega_0^2$ it swings for $k < 1$,
    $\sin(\varphi/2) = k\, \mathrm{sn}(u_0 + \omega_0 t, k)$, and turns over for $k > 1$,
    $\varphi/2 = \pm \mathrm{am}(u_0 + k\omega_0 t, 1/k)$.

    Args:
        t: Times [s].
        square: $\omega_0^2$ [1/s^2].
        start: Angle at the start, between -3/2 and 1/2 pi [rad].
        rate: Its rate; no case of both at rest upright is meant [rad/s].
    """
    omega, half = np.sqrt(square), 0.5 * start + 0.25 * np.pi
    k = np.sqrt(np.sin(half) ** 2 + rate**2 / (4.0 * square))
    if k < 1.0:
        u = ellipkinc(np.arcsin(np.clip(np.sin(half) / k, -1.0, 1.0)), k**2)
        u = u if rate >= 0.0 else 2.0 * ellipk(k**2) - u
        sn, cn, _, _ = ellipj(u + omega * np.asarray(t), k**2)
        return 2.0 * np.arcsin(k * sn) - 0.5 * np.pi, 2.0 * omega * k * cn
    sign = np.sign(rate)
    u = sign * ellipkinc(half, k**-2) + k * omega * np.asarray(t)
    _, _, dn, turned = ellipj(u, k**-2)
    return 2.0 * sign * turned - 0.5 * np.pi, 2.0 * sign * k * omega * dn


def acceleration(theta: float, rate: float, loops: int = 2) -> Vector:
    """Return the accelerations of all coordinates that belong to the pendulum's."""
    links = loops + 1
    turn = angular_acceleration(theta, loops)
    along = np.array([np.cos(theta), np.sin(theta)])
    across = np.array([-np.sin(theta), np.cos(theta)])
    tip = LENGTH * (across * turn - along * rate**2)
    one = np.append(0.5 * tip, turn)
    return np.concatenate([np.tile(one, links), np.append(tip, 0.0)])
