"""Where the makers' tables put the tools of their arms, apart from the model files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl import Matrix, Vector

HALF = 0.5 * np.pi


class Link(NamedTuple):
    """One row of Universal Robots' table."""

    a: float
    """[m]"""
    d: float
    """[m]"""
    alpha: float
    """[rad]"""
    mass: float
    """[kg]"""
    centre: tuple[float, float, float]
    """Centre of mass in the frame after the joint [m]."""


UR5 = (
    Link(0.0, 0.089159, HALF, 3.7, (0.0, -0.02561, 0.00193)),
    Link(-0.425, 0.0, 0.0, 8.393, (0.2125, 0.0, 0.11336)),
    Link(-0.39225, 0.0, 0.0, 2.33, (0.15, 0.0, 0.0265)),
    Link(0.0, 0.10915, HALF, 1.219, (0.0, -0.0018, 0.01634)),
    Link(0.0, 0.09465, -HALF, 1.219, (0.0, 0.0018, 0.01634)),
    Link(0.0, 0.0823, 0.0, 0.1879, (0.0, 0.0, -0.001159)),
)
"""Universal Robots, "DH parameters for calculations of kinematics and dynamics"."""
PANDA = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -HALF),
    (0.0, 0.316, HALF),
    (0.0825, 0.0, HALF),
    (-0.0825, 0.384, -HALF),
    (0.0, 0.0, HALF),
    (0.088, 0.0, HALF),
)
"""Franka Emika's interface documentation: a [m], d [m] and alpha [rad] in Craig's form."""
FLANGE, TOOL = 0.107, 0.1034
"""From the last joint of the Panda to its flange, and on to between its finger tips [m]."""


def about_x(angle: float, along: float = 0.0) -> Matrix:
    """Return a turn about x and a shift along it, shape ``(4, 4)``."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array(
        [[1.0, 0.0, 0.0, along], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )


def about_z(angle: float, along: float = 0.0) -> Matrix:
    """Return a turn about z and a shift along it, shape ``(4, 4)``."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array(
        [[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, along], [0.0, 0.0, 0.0, 1.0]]
    )


def ur5_frames(q: Sequence[float] | Vector) -> list[Matrix]:
    """Return the frames after the joints of a UR5, by Denavit and Hartenberg's form."""
    T, frames = np.eye(4), []
    for angle, link in zip(q, UR5, strict=True):
        T = T @ about_z(angle, link.d) @ about_x(link.alpha, link.a)
        frames.append(T)
    return frames


def ur5_tool(q: Sequence[float] | Vector) -> Matrix:
    """Return the pose of a UR5's flange in its base."""
    return ur5_frames(q)[-1]


def panda_flange(q: Sequence[float] | Vector) -> Matrix:
    """Return the pose of a Panda's flange in its base, by Craig's form."""
    T = np.eye(4)
    for angle, (a, d, alpha) in zip(q, PANDA, strict=True):
        T = T @ about_x(alpha, a) @ about_z(angle, d)
    return T @ about_z(0.0, FLANGE)


def panda_tool(q: Sequence[float] | Vector) -> Matrix:
    """Return the pose of the point between a Panda's finger tips in its base."""
    return panda_flange(q) @ about_z(-0.25 * np.pi, TOOL)
