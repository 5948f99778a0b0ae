"""A rigid-body robot at one state, by kernels; Pinocchio answers what is rarely asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector, blank
from ukctrl.core.program import Call, Step
from ukctrl.robot.force_kernels import Swept, coriolis_force, regressor
from ukctrl.robot.interface import RobotInterface
from ukctrl.robot.snapshot import PointMotion, Snapshot
from ukctrl.robot.tree_kernels import Room, Tree, mass_and_bias, rigid_terms
from ukctrl.robot.whole_kernels import as_one_mass, gravity_load, momentum_drift


def room_for(tree: Tree, gravity: Vector, nq: int) -> Room:
    """Return what the recursions write, at rest under a gravity [m/s^2], of so many coordinates."""
    n, nv = len(tree.joints), len(tree.subspace)
    acceleration = np.zeros((n, 6))
    acceleration[0, :3] = -gravity
    rotations = np.tile(np.eye(3), (n, 1, 1))
    return Room(
        rotations, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((nv, 6)), np.zeros((n, 6)),
        acceleration, np.zeros((n, 6)), np.zeros((n, 10)), np.full(nq + nv, np.nan),
    )  # fmt: skip


@final
class RigidSnapshot(Snapshot):
    """A robot of rigid bodies at one state."""

    __slots__ = ("_aux", "_room")

    def __init__(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> None:
        tree, nv = robot.structure.tree, robot.nv
        self._aux: Any = None
        self.M, self.nle = blank(nv, nv), np.zeros(nv)
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self._room = room_for(tree, robot.structure.gravity, robot.nq)
        self.rotations, self.translations = self._room.rotations, self._room.translations
        super().__init__(robot, q, v, t)

    def terms(self) -> Sequence[Step]:
        tree, terms = self.robot.structure.tree, (self.M, self.nle, self.Jt, self.dJt)
        return (Call(rigid_terms, tree, self._room, self.q, self.v, *terms),)

    def forget(self) -> None:
        super().forget()
        self._room.state[:] = np.nan

    def inertia_steps(self) -> Sequence[Step]:
        if self.robot.forces.any or self.robot.actuation.varies:
            return self.steps.every
        tree = self.robot.structure.tree
        return (Call(mass_and_bias, tree, self._room, self.q, self.v, self.M, self.nle),)

    def gravity_steps(self, out: Vector) -> Sequence[Step]:
        return (Call(gravity_load, self.robot.structure.tree, self._room, out),)

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        import pinocchio as pin

        model, data, size = *self._scratch(), self.M.shape
        pin.computeRNEADerivatives(model, data, self.q, self.v, a)
        return np.array(data.dtau_dq).reshape(size), np.array(data.dtau_dv).reshape(size)

    def coriolis(self) -> Matrix:
        import pinocchio as pin

        C = pin.computeCoriolisMatrix(*self._scratch(), self.q, self.v)
        return np.array(C).reshape(self.M.shape)

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[Step]:
        both = np.zeros((2, len(out)))
        return (Call(coriolis_force, *self._apart(), self.q, self.v, w, both, out),)

    def momentum_drift_steps(self, out: Vector) -> Sequence[Step]:
        tree, room = self.robot.structure.tree, self._room
        carried = np.zeros((len(tree.joints), 6))
        return (Call(momentum_drift, tree, room, self.nle, carried, out),)

    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[Step]:
        tree, room = self._apart()
        return (Call(regressor, tree, room, self.q, self.v, w, a, Swept.of(tree), Y),)

    def inertial_parameters(self) -> Matrix:
        bodies: Matrix = self.robot.structure.tree.inertias[1:]
        return bodies.copy()

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
        return tree, room_for(tree, self.robot.structure.gravity, self.robot.nq)

    def _scratch(self) -> tuple[Any, Any]:
        """Return the Pinocchio model, and data for rare questions, which disturb no view."""
        model = self.robot.structure.model
        if self._aux is None:
            self._aux = model.createData()
        return model, self._aux
