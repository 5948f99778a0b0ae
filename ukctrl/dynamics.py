"""A robot's affine answer to its input, at one state after another."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl import kernels, large
from ukctrl.certify import RANK, RankPolicy, raise_if_conflicting, raise_if_singular
from ukctrl.constraints import AnyConstraint, Constraint, Stack
from ukctrl.errors import ShapeError
from ukctrl.factor import Vector
from ukctrl.fields import spec
from ukctrl.files import read_spec
from ukctrl.robot import Robot

STABILISATION = 20.0
"""Rate at which the error of a passive constraint decays [1/s]."""


@spec
class PassiveTables:
    """The ``[[passive]]`` tables of a robot, as constraints."""

    passive: tuple[AnyConstraint, ...] = ()


def passive_constraints(robot: Robot) -> tuple[Constraint, ...]:
    """Return the constraints that physics enforces on a robot, read from its file.

    Raises:
        InputError: A table of its file is no constraint.
    """
    label = f"robot '{robot.name}'"
    tables = {"passive": tuple(dict(table) for table in robot.passive)}
    return read_spec(PassiveTables, tables, label).passive


@final
class Dynamics:
    r"""The equation of motion of a robot and its passive constraints, ``a = a_free + G u``.

    Plant and law each hold one: the plant's is made of the true robot, the law's of the believed
    one; where both are the same robot they share it, and the work is done once. The arrays are
    zero until `move` is called for the first time, and overwritten by it.

    Attributes:
        robot: The robot.
        snapshot: The robot at the current state.
        passive: The passive constraints.
        L: Cholesky factor of the mass matrix, shape ``(nv, nv)``.
        a_free: Acceleration at zero input, shape ``(nv,)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
    """

    def __init__(self, robot: Robot, rank: RankPolicy = RANK) -> None:
        self.robot = robot
        self.passive = Stack(
            passive_constraints(robot), robot, key=f"robot '{robot.name}': passive"
        )
        self.rank = rank
        self.snapshot = robot.snapshot(robot.neutral)
        n = robot.nv
        self.L, self.a_free, self.G = np.zeros((n, n)), np.zeros(n), np.zeros((n, robot.nu))
        self._inputs = robot.nu
        self._answer = (large if n >= large.SIZE else kernels).affine_answer
        self._count = len(self.passive)
        self._A_p, self._b_p = self.passive.rows.A, self.passive.rows.b

    def move(self, t: float, q: Vector, v: Vector) -> None:
        """Evaluate at another state.

        Raises:
            SingularMass: The mass matrix is not positive definite there.
            ConflictingConstraints: No acceleration satisfies all passive rows.
        """
        s = self.snapshot
        s.move(q, v, t)
        A_p, b_p, rtol = self._A_p, self._b_p, self.rank.passive
        if self._count:
            self.passive.write(s)
            self._stabilise()
        found = self._answer(s.M, s.nle, s.f, s.B, A_p, b_p, rtol, self.L, self.a_free, self.G)
        if found < 0:
            raise_if_singular(found)
        if found < self._count:
            raise_if_conflicting(A_p, b_p, self.a_free, self.rank, self.passive.names)

    def _stabilise(self) -> None:
        """Let the error of a passive row decay, critically damped: ``b -= 2 w beta + w^2 phi``."""
        w, holonomic = STABILISATION, self.passive.holonomic
        _, b, beta, phi = self.passive.rows
        b -= np.where(holonomic, 2.0 * w * beta + w * w * phi, w * beta)

    def acceleration(self, u: Vector) -> Vector:
        """Return ``a_free + G u``, shape ``(nv,)``.

        Raises:
            ShapeError: ``u`` does not have one entry for each actuator.
        """
        if u.size != self._inputs:
            raise ShapeError(f"u must have shape ({self._inputs},); got {u.shape}.")
        a: Vector = np.empty(len(self.a_free))
        kernels.acceleration(self.a_free, self.G, u, a)
        return a

    def power(self, a: Vector, u: Vector) -> float:
        """Return the power fed to the robot by motors, applied forces and reactions [W].

        Springs are not counted, because their energy is part of the robot's.
        """
        s, forces = self.snapshot, self.robot.forces
        total = float(u @ (s.v @ s.B))
        if forces.any:
            total += float(s.f @ s.v) + forces.potential_rate(s)
        if self._count:
            total += float(self.passive_force(a, u) @ s.v)
        return total

    def passive_force(self, a: Vector, u: Vector) -> Vector:
        """Return the generalised reaction ``M a + nle - f - B u`` of the passive rows."""
        s = self.snapshot
        force: Vector = s.M @ a + s.nle - s.f - s.B @ u
        return force
