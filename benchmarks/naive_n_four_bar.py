"""N four-bar loops as a user would write them today, with NumPy and SciPy alone."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ukctrl import Matrix, Vector

GRAVITY = 9.81
RATE = 20.0
"""Decay of closure errors, as ukctrl's [1/s]."""


class NaiveFourBars:
    """Rods of 1 m and 1 kg: N + 1 upright, N on top; coordinates rod 0, rod 1, coupler 0, ..."""

    def __init__(self, loops: int) -> None:
        bodies = 2 * loops + 1
        self.mass = np.tile([1.0, 1.0, 1.0 / 12.0], bodies)
        self.weight = np.tile([0.0, -GRAVITY, 0.0], bodies)
        rods = [0, *range(1, bodies, 2)]
        # Joints: (body, end, other body or -1, its end, place on the ground)
        self.joints = [(rod, -0.5, -1, 0.0, float(i)) for i, rod in enumerate(rods)]
        for i in range(loops):
            coupler = 2 + 2 * i
            self.joints.append((coupler, -0.5, rods[i], 0.5, 0.0))
            self.joints.append((coupler, 0.5, rods[i + 1], 0.5, 0.0))

    def state(self, angle: float, rate: float) -> tuple[Vector, Vector]:
        """Return the closed linkage with all rods at one angle."""
        along = np.array([np.cos(angle), np.sin(angle)])
        across = rate * np.array([-np.sin(angle), np.cos(angle)])
        q, v = [0.5 * along, [angle]], [0.5 * across, [rate]]
        for i in range((len(self.mass) // 3 - 1) // 2):
            q += [
                np.array([i + 1.0, 0.0]) + 0.5 * along,
                [angle],
                np.array([i + 0.5, 0.0]) + along,
                [0.0],
            ]
            v += [0.5 * across, [rate], across, [0.0]]
        return np.concatenate(q), np.concatenate(v)

    def rows(self, q: Vector, v: Vector) -> tuple[Matrix, Vector]:
        """Return ``A`` and the stabilised ``b``."""
        A, b = np.zeros((2 * len(self.joints), len(q))), np.zeros(2 * len(self.joints))
        for k, (body, end, other, other_end, ground) in enumerate(self.joints):
            row = slice(2 * k, 2 * k + 2)
            x, y, angle = q[3 * body : 3 * body + 3]
            arm = end * np.array([np.cos(angle), np.sin(angle)])
            phi = np.array([x, y]) + arm
            A[row, 3 * body : 3 * body + 2] = np.eye(2)
            A[row, 3 * body + 2] = -arm[1], arm[0]
            b[row] = arm * v[3 * body + 2] ** 2
            if other < 0:
                phi = phi - [ground, 0.0]
            else:
                x, y, angle = q[3 * other : 3 * other + 3]
                arm = other_end * np.array([np.cos(angle), np.sin(angle)])
                phi = phi - [x, y] - arm
                A[row, 3 * other : 3 * other + 2] = -np.eye(2)
                A[row, 3 * other + 2] = arm[1], -arm[0]
                b[row] -= arm * v[3 * other + 2] ** 2
            b[row] -= 2.0 * RATE * (A[row] @ v) + RATE**2 * phi
        return A, b

    def acceleration(self, q: Vector, v: Vector) -> Vector:
        r"""Return ``a + M^-1/2 (A M^-1/2)^+ (b - A a)``, as the textbook has it."""
        M = np.diag(self.mass)
        A, b = self.rows(q, v)
        root = np.linalg.inv(linalg.sqrtm(M).real)
        a = np.linalg.inv(M) @ self.weight
        result: Vector = a + root @ np.linalg.pinv(A @ root) @ (b - A @ a)
        return result
