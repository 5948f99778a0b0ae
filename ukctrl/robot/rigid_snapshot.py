"""A rigid-body robot at one state, by kernels; Pinocchio answers what is rarely asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program import Call, Step
from ukctrl.robot.force_kernels import NUMBERS, Swept, coriolis_force, regressor
from ukctrl.robot.interface import RobotInterface
from ukctrl.robot.snapshot import PointMotion, Snapshot
from ukctrl.robot.tree import room_for
from ukctrl.robot.tree_kernels import Room, Tree, mass_and_bias, rigid_terms
from ukctrl.robot.whole_kernels import as_one_mass, gravity_load


@final
class RigidSnapshot(Snapshot):
    """A robot whose structure is a Pinocchio model, at one state."""

    __slots__ = ("_aux", "_model", "_room")

    def __init__(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> None:
        tree, nv = robot.structure.tree, robot.nv
        self._model, self._aux = robot.structure.model, None
        self.M, self.nle = np.zeros((nv, nv)), np.zeros(nv)
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self._room = room_for(tree, robot.structure.gravity)
        self.rotations, self.translations = self._room.rotations, self._room.translations
        super().__init__(robot, q, v, t)

    def terms(self) -> Sequence[Step]:
        tree, terms = self.robot.structure.tree, (self.M, self.nle, self.Jt, self.dJt)
        return (Call(rigid_terms, tree, self._room, self.q, self.v, *terms),)

    def inertia_steps(self) -> Sequence[Step]:
        if self.robot.forces.any or self.robot.actuation.varies:
            return self.steps.every
        tree = self.robot.structure.tree
        return (Call(mass_and_bias, tree, self._room, self.q, self.v, self.M, self.nle),)

    def gravity_steps(self, out: Vector) -> Sequence[Step]:
        return (Call(gravity_load, self.robot.structure.tree, self._room, out),)

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        data, size = self._scratch(), self.M.shape
        pin.computeRNEADerivatives(self._model, data, self.q, self.v, a)
        return np.array(data.dtau_dq).reshape(size), np.array(data.dtau_dv).reshape(size)

    def coriolis(self) -> Matrix:
        C = pin.computeCoriolisMatrix(self._model, self._scratch(), self.q, self.v)
        return np.array(C).reshape(self.M.shape)

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[Step]:
        both = np.zeros((2, len(out)))
        return (Call(coriolis_force, *self._apart(), self.q, self.v, w, both, out),)

    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[Step]:
        tree, room = self._apart()
        return (Call(regressor, tree, room, self.q, self.v, w, a, Swept.of(tree), Y),)

    def inertial_parameters(self) -> Matrix:
        bodies = list(self._model.inertias)[1:]
        parameters = [body.toDynamicParameters() for body in bodies]
        return np.array(parameters).reshape(-1, NUMBERS)

    def com_steps(self, com: PointMotion) -> Sequence[Step]:
        return self._as_one_mass(com, np.zeros(1))

    def _own_potential(self, potential: Vector) -> Sequence[Step]:
        return self._as_one_mass(PointMotion.zeros(len(self.v)), potential)

    def _as_one_mass(self, com: PointMotion, potential: Vector) -> Sequence[Step]:
        tree = self.robot.structure.tree
        return (Call(as_one_mass, tree, self._room, self.v, *com, potential),)

    def _apart(self) -> tuple[Tree, Room]:
        """Return the tree and a room of its own, so that rare questions leave ours as it is."""
        tree = self.robot.structure.tree
        return tree, room_for(tree, self.robot.structure.gravity)

    def _scratch(self) -> Any:
        """Return a second Pinocchio data, so that rare questions never disturb the views."""
        if self._aux is None:
            self._aux = self._model.createData()
        return self._aux
