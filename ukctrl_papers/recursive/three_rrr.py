r"""The planar 3RRR robot, built from modules as Orsino's Figures 2 to 4 show it.

Ten modules: in each of three legs a motor, a pivoted bar and a free bar, and the platform. Three
levels: the modules by themselves, the legs (9 rows), the robot (6 rows). The data are those of
the catalogue; the paper prints none. Beside the modules stands the same robot in the three
coordinates of its platform, where no constraint is left: the route that checks everything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_papers.motion import Hierarchy, Level

LEGS = ("A", "B", "C")
BASE = 0.5 * np.exp(1j * np.radians([90.0, 210.0, 330.0]))
"""Base joints in the complex plane [m]."""
JOINT = 0.15 * np.exp(1j * np.radians([90.0, 210.0, 330.0]))
"""Platform joints, from its centre, at orientation 0 [m]."""
LINK, CENTRE = 0.35, 0.175
"""Length of both bars of a leg, and where their centres lie [m]."""
M1, I1 = 1.2, 0.0123
"""Pivoted bar [kg, kg m^2]."""
M2, I2 = 0.9, 0.0092
"""Free bar."""
M_PLATFORM, I_PLATFORM = 2.0, 0.03
ROTOR = 0.02
"""Rotor inertia [kg m^2]."""
ELBOW = 1.0
"""All elbows lie to this side of the line from base joint to platform joint."""
MOTORS = (0, 5, 10)
"""Coordinates that the motors drive: (motor, bar angle, x, y, angle) of each leg, platform last."""


class ThreeRrrState(NamedTuple):
    """Where the robot is, and the map from platform to module accelerations."""

    q: Vector
    """Module coordinates, shape ``(18,)``."""
    v: Vector
    T: Matrix
    """``v = T s_dot`` with the platform coordinates ``s = (x, y, angle)``, shape ``(18, 3)``."""
    drift: Vector
    """``a = T s_ddot + drift``."""


def path(t: float) -> tuple[Vector, Vector, Vector]:
    """Return the platform's path and its two derivatives at a time [s]."""
    s = [0.05 * np.sin(2 * t), 0.03 * np.cos(3 * t) - 0.03, 0.2 * np.sin(t)]
    s_dot = [0.1 * np.cos(2 * t), -0.09 * np.sin(3 * t), 0.2 * np.cos(t)]
    s_ddot = [-0.2 * np.sin(2 * t), -0.27 * np.cos(3 * t), -0.2 * np.sin(t)]
    return np.array(s), np.array(s_dot), np.array(s_ddot)


@functools.cache
def _closed_form() -> Callable[..., tuple[Matrix, Matrix, Matrix]]:
    """Return the module coordinates as functions of the platform's, with two derivatives.

    Both bars of a leg are equally long, so its elbow lies above the middle of the line between
    its ends. Nothing of the constraint rows is used.
    """
    import sympy as sp

    x, y, angle, x_dot, y_dot, angle_dot = sp.symbols("x y angle x_dot y_dot angle_dot", real=True)
    s, s_dot = sp.Matrix([x, y, angle]), sp.Matrix([x_dot, y_dot, angle_dot])
    q = []
    for base, joint in zip(BASE, JOINT, strict=True):
        dx = x + joint.real * sp.cos(angle) - joint.imag * sp.sin(angle) - base.real
        dy = y + joint.real * sp.sin(angle) + joint.imag * sp.cos(angle) - base.imag
        bend = ELBOW * sp.acos(sp.sqrt(dx**2 + dy**2) / (2 * LINK))
        first, second = sp.atan2(dy, dx) + bend, sp.atan2(dy, dx) - bend
        centre_x = base.real + LINK * sp.cos(first) + CENTRE * sp.cos(second)
        centre_y = base.imag + LINK * sp.sin(first) + CENTRE * sp.sin(second)
        q += [first, first, centre_x, centre_y, second]
    F = sp.Matrix([*q, x, y, angle])
    T = F.jacobian(s)
    drift = (T * s_dot).jacobian(s) * s_dot
    formula: Callable[..., tuple[Matrix, Matrix, Matrix]] = sp.lambdify(
        [x, y, angle, x_dot, y_dot, angle_dot], (F, T, drift), modules="numpy", cse=True
    )
    return formula


def state(s: Vector, s_dot: Vector) -> ThreeRrrState:
    """Return the whole robot for a place and rate of its platform."""
    q, T, drift = _closed_form()(*s, *s_dot)
    return ThreeRrrState(q[:, 0], T @ s_dot, T, drift[:, 0])


def mass() -> Matrix:
    """Return the mass matrix of the ten modules."""
    leg = [ROTOR, I1 + M1 * CENTRE**2, M2, M2, I2]
    return np.diag([*leg, *leg, *leg, M_PLATFORM, M_PLATFORM, I_PLATFORM])


def torques(at: ThreeRrrState, s_ddot: Vector) -> Vector:
    """Return the motor torques for a platform acceleration, from the reduced equation [N m]."""
    B = np.zeros((18, 3))
    B[list(MOTORS), range(3)] = 1.0
    force = at.T.T @ mass() @ (at.T @ s_ddot + at.drift)
    return np.asarray(np.linalg.solve(at.T.T @ B, force), dtype=np.float64)


def reduced_accelerations(at: ThreeRrrState, u: Vector) -> Vector:
    """Return the accelerations of all modules from the three equations of the platform."""
    Q = np.zeros(18)
    Q[list(MOTORS)] = u
    M = mass()
    s_ddot = np.linalg.solve(at.T.T @ M @ at.T, at.T.T @ (Q - M @ at.drift))
    return at.T @ s_ddot + at.drift


def leg(at: ThreeRrrState, u: Vector, k: int, level: str = "joints") -> Hierarchy:
    """Return a leg: motor, pivoted bar and free bar, and the three rows that join them."""
    q, v = at.q[5 * k : 5 * k + 5], at.v[5 * k : 5 * k + 5]
    modules = {
        "motor": Hierarchy.module([[ROTOR]], [u[k]]),
        "pivoted": Hierarchy.module([[I1 + M1 * CENTRE**2]], [0.0]),
        "free": Hierarchy.module(np.diag([M2, M2, I2]), np.zeros(3)),
    }
    assembly = Hierarchy.assemble(modules)
    first, second = np.exp(1j * q[1]), np.exp(1j * q[4])
    blocks = {
        "motor": [[1.0], [0.0], [0.0]],
        "pivoted": [[-1.0], *_column(-LINK * 1j * first)],
        "free": [[0.0, 0.0, 0.0], *np.hstack([np.eye(2), _column(-CENTRE * 1j * second)])],
    }
    b = np.append(0.0, _column(-LINK * first * v[1] ** 2 - CENTRE * second * v[4] ** 2))
    return assembly.enforce(
        Level(level, assembly.rows(blocks), b, rows=("shaft", "pin.x", "pin.y"))
    )


def platform_level(at: ThreeRrrState, robot: Hierarchy, name: str = "platform") -> Level:
    """Return the six rows that pin the legs to the platform."""
    A, b = np.zeros((6, 18)), np.zeros(6)
    joint = JOINT * np.exp(1j * at.q[17])
    for k, leg_name in enumerate(LEGS):
        second = np.exp(1j * at.q[5 * k + 4])
        blocks = {
            f"{leg_name}.free": np.hstack([np.eye(2), _column(CENTRE * 1j * second)]),
            "platform": np.hstack([-np.eye(2), _column(-1j * joint[k])]),
        }
        A[2 * k : 2 * k + 2] = robot.rows(blocks)
        turning = CENTRE * second * at.v[5 * k + 4] ** 2 - joint[k] * at.v[17] ** 2
        b[2 * k : 2 * k + 2] = _column(turning)[:, 0]
    names = tuple(f"{leg_name}.pin.{axis}" for leg_name in LEGS for axis in "xy")
    return Level(name, A, b, rows=names)


def leg_level(at: ThreeRrrState, u: Vector) -> Hierarchy:
    """Return level 2: three legs and the platform, not yet tied."""
    legs = {leg_name: leg(at, u, k) for k, leg_name in enumerate(LEGS)}
    platform = Hierarchy.module(np.diag([M_PLATFORM, M_PLATFORM, I_PLATFORM]), np.zeros(3))
    return Hierarchy.assemble({**legs, "platform": platform})


def robot(at: ThreeRrrState, u: Vector) -> Hierarchy:
    """Return level 3, the robot."""
    level_2 = leg_level(at, u)
    return level_2.enforce(platform_level(at, level_2))


def all_rows(at: ThreeRrrState, u: Vector) -> tuple[Matrix, Vector]:
    """Return the fifteen rows at once: nine of the legs, six of the platform."""
    level_2 = leg_level(at, u)
    A, b = np.zeros((9, 18)), np.zeros(9)
    for k, leg_name in enumerate(LEGS):
        level = level_2.parts[leg_name].level
        if level is not None:
            A[3 * k : 3 * k + 3, level_2.columns[leg_name]] = level.A
            b[3 * k : 3 * k + 3] = level.b
    last = platform_level(at, level_2)
    return np.vstack([A, last.A]), np.append(b, last.b)


def _column(z: complex) -> Matrix:
    """Return a complex number as a column."""
    return np.array([[z.real], [z.imag]])
