"""A rigid-body robot at one state, by kernels; Pinocchio answers what is rarely asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector, lazy_zeros
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot.rigid.com_kernels import centre_of_mass_motion, gravity_load, momentum_rate
from ukctrl.robot.rigid.derivative_kernels import DerivativeBuffers, force_derivatives
from ukctrl.robot.rigid.regressor_kernels import RegressorBuffers, coriolis_force, regressor
from ukctrl.robot.rigid.tree_kernels import KinematicTree, TreeBuffers, mass_and_bias, rigid_terms
from ukctrl.robot.snapshot import PointMotion, Snapshot

if TYPE_CHECKING:
    from ukctrl.robot.rigid.rigid_structure import RigidStructure
    from ukctrl.robot.robot_base import RobotBase


def tree_buffers(tree: KinematicTree, gravity: Vector, nq: int) -> TreeBuffers:
    """Return what the recursions write, at rest under a gravity [m/s^2], of so many coordinates."""
    n, nv = len(tree.joints), len(tree.subspace)
    acceleration = np.zeros((n, 6))
    acceleration[0, :3] = -gravity
    rotations = np.tile(np.eye(3), (n, 1, 1))
    return TreeBuffers(
        rotations, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((nv, 6)), np.zeros((n, 6)),
        acceleration, np.zeros((n, 6)), np.zeros((n, 10)), np.full(nq + nv, np.nan),
    )  # fmt: skip


@final
class RigidSnapshot(Snapshot):
    """A robot of rigid bodies at one state."""

    __slots__ = ("_pinocchio_data", "_room", "_tree")

    def __init__(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> None:
        tree, nv = cast("RigidStructure", robot.structure).tree, robot.nv
        self._tree = tree
        self._pinocchio_data: Any = None
        self.M, self.nle = lazy_zeros(nv, nv), np.zeros(nv)
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self._room = tree_buffers(tree, robot.structure.gravity, robot.nq)
        self.rotations, self.translations = self._room.rotations, self._room.translations
        super().__init__(robot, q, v, t)

    def terms(self) -> Sequence[KernelStep]:
        tree, terms = self._tree, (self.M, self.nle, self.Jt, self.dJt)
        return (BoundKernel(rigid_terms, tree, self._room, self.q, self.v, *terms),)

    def forget(self) -> None:
        super().forget()
        self._room.state[:] = np.nan

    def inertia_steps(self) -> Sequence[KernelStep]:
        # forces and columns of B go by Jacobians, so that all is evaluated
        if self.robot.forces.is_nonempty or self.robot.actuation.varies:
            return self.steps.items
        tree = self._tree
        return (BoundKernel(mass_and_bias, tree, self._room, self.q, self.v, self.M, self.nle),)

    def gravity_steps(self, out: Vector) -> Sequence[KernelStep]:
        return (BoundKernel(gravity_load, self._tree, self._room, out),)

    def force_derivative_steps(self, a: Vector, by_q: Matrix, by_v: Matrix) -> Sequence[KernelStep]:
        tree = self._tree
        args = tree, self._room, a, DerivativeBuffers.of(tree), by_q, by_v
        return (BoundKernel(force_derivatives, *args),)

    def coriolis(self) -> Matrix:
        import pinocchio as pin

        C = pin.computeCoriolisMatrix(*self._scratch(), self.q, self.v)
        return np.array(C).reshape(self.M.shape)

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[KernelStep]:
        both = np.zeros((2, len(out)))
        return (
            BoundKernel(coriolis_force, *self._private_buffers(), self.q, self.v, w, both, out),
        )

    def momentum_drift_steps(self, out: Vector) -> Sequence[KernelStep]:
        tree, buffers = self._tree, self._room
        carried = np.zeros((len(tree.joints), 6))
        return (BoundKernel(momentum_rate, tree, buffers, self.nle, carried, out),)

    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[KernelStep]:
        tree, buffers = self._private_buffers()
        return (
            BoundKernel(
                regressor, tree, buffers, self.q, self.v, w, a, RegressorBuffers.of(tree), Y
            ),
        )

    def inertial_parameters(self) -> Matrix:
        bodies: Matrix = self._tree.inertias[1:]
        return bodies.copy()

    def com_steps(self, com: PointMotion) -> Sequence[KernelStep]:
        return self._as_one_mass(com, np.zeros(1))

    def _own_potential(self, potential: Vector) -> Sequence[KernelStep]:
        return self._as_one_mass(PointMotion.zeros(len(self.v)), potential)

    def _as_one_mass(self, com: PointMotion, potential: Vector) -> Sequence[KernelStep]:
        tree = self._tree
        return (BoundKernel(centre_of_mass_motion, tree, self._room, self.v, *com, potential),)

    def _private_buffers(self) -> tuple[KinematicTree, TreeBuffers]:
        """Return the tree and a room of its own, so that rare questions leave ours as it is."""
        tree = self._tree
        return tree, tree_buffers(tree, self.robot.structure.gravity, self.robot.nq)

    def _scratch(self) -> tuple[Any, Any]:
        """Return the Pinocchio model, and data for rare questions, which disturb no view."""
        model = self.robot.structure.model
        if self._pinocchio_data is None:
            self._pinocchio_data = model.createData()
        return model, self._pinocchio_data
