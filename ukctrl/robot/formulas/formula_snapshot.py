"""A plant of formulas or functions at one state."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from ukctrl.core.algebra.differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.robot.snapshot import PointMotion, Snapshot

if TYPE_CHECKING:
    from ukctrl.robot.formulas.formula_structure import FormulaStructure
    from ukctrl.robot.robot import Robot


@final
class FormulaSnapshot(Snapshot):
    """A robot whose structure has coordinates and no bodies, at one state."""

    __slots__ = ("_M", "_fill", "_nle", "_own", "_structure")

    def __init__(
        self, robot: Robot, structure: FormulaStructure, q: Vector, v: Vector, t: float = 0.0
    ) -> None:
        """Evaluate the robot at ``(q, v, t)``; `Robot.snapshot` checks the shapes first."""
        nv, own = structure.nv, structure.own
        self.M, self.nle = np.zeros((nv, nv)), np.zeros(nv)
        self.M[range(own, nv), range(own, nv)] = structure.rotors
        self._M, self._nle, self._own = self.M[:own, :own], self.nle[:own], own
        self._structure, self._fill = structure, structure.plant.fill
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self.rotations, self.translations = np.eye(3)[None].copy(), np.zeros((1, 3))
        super().__init__(robot, q, v, t)

    def move(self, q: Vector, v: Vector, t: float = 0.0) -> None:
        """Evaluate the robot at another state, in place; see `Snapshot.move`."""
        self.q[:] = q
        self.v[:] = v
        self.t = t
        own = self._own
        self._fill(q[:own], v[:own], t, self._M, self._nle)
        if self._forces is not None:
            self._forces.evaluate(self)
        if self._moving_B is not None:
            self._moving_B.evaluate(self)

    @property
    def gravity(self) -> Vector:
        """Return ``nle`` at rest, shape ``(nv,)``."""
        own = self._own
        M, nle = np.zeros((own, own)), np.zeros(len(self.v))
        self._fill(self.q[:own], np.zeros(own), self.t, M, nle[:own])
        return nle

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        """Return how ``M a + nle`` changes; see `Snapshot.force_derivatives`."""
        own, size = self._own, len(self.v)
        q, v, t, still = self.q[:own], self.v[:own], self.t, np.zeros(own)

        def force(dq: Vector, dv: Vector) -> Vector:
            M, nle = np.zeros((own, own)), np.zeros(own)
            self._fill(q + dq, v + dv, t, M, nle)
            nle += M @ a[:own]
            return nle

        by_q, by_v = np.zeros((size, size)), np.zeros((size, size))
        by_q[:own, :own] = jacobian(lambda dq: force(dq, still), own)
        by_v[:own, :own] = jacobian(lambda dv: force(still, dv), own)
        return by_q, by_v

    def coriolis(self) -> Matrix:
        """Refuse: nle may hold friction as well.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"{self._structure.plant.kind} plant does not say which part of its bias force is "
            "quadratic in the velocities, and a passivity-based law needs that part alone. Give "
            'the robot a model file, or use kind = "servo".'
        )

    def regressor(self, w: Vector, a: Vector) -> Matrix:
        """Refuse: there are no bodies.

        Raises:
            ModelError: Always.
        """
        return self.inertial_parameters()

    def inertial_parameters(self) -> Matrix:
        """Refuse: there are no bodies.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"{self._structure.plant.kind} plant has no bodies whose masses and inertias an "
            "adaptive law could estimate; give the robot a model file."
        )

    def com(self) -> PointMotion:
        """Refuse: there are no bodies.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"{self._structure.plant.kind} plant has no bodies, so no centre of mass; write what "
            'must hold with kind = "expression" in its coordinates.'
        )

    def _own_potential(self) -> float:
        return self._structure.plant.potential(self.q[: self._own], self.t)
