"""A rigid-body robot at one state: views on Pinocchio's own memory.

The arrays are views, so that `RigidSnapshot.move` costs three calls and no allocation.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.interface import RobotInterface
from ukctrl.robot.snapshot import PointMotion, Snapshot

_crba = pin.crba
_bias = pin.nonLinearEffects
_jacobians = pin.computeJointJacobiansTimeVariation


@final
class RigidSnapshot(Snapshot):
    """A robot whose structure is a Pinocchio model, at one state."""

    __slots__ = ("_aux", "_data", "_model")

    def __init__(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> None:
        model = robot.structure.model
        data = model.createData()
        self._model, self._data, self._aux = model, data, None
        nv = robot.nv
        # The transpose of Eigen's column-major memory is C-contiguous.
        self.M = borrowed(data.M, (nv, nv), data)
        self.nle = borrowed(data.nle, (nv,), data)
        self.Jt = borrowed(data.J, (nv, 6), data)
        self.dJt = borrowed(data.dJ, (nv, 6), data)
        self.rotations, self.translations = _placements(data, model.njoints)
        super().__init__(robot, q, v, t)

    def move(self, q: Vector, v: Vector, t: float = 0.0) -> None:
        self.q[:] = q
        self.v[:] = v
        self.t = t
        model, data = self._model, self._data
        _crba(model, data, q)
        _bias(model, data, q, v)
        _jacobians(model, data, q, v)
        if self._forces is not None:
            self._forces.evaluate(self)
        if self._moving_B is not None:
            self._moving_B.evaluate(self)

    @property
    def gravity(self) -> Vector:
        return np.array(pin.computeGeneralizedGravity(self._model, self._scratch(), self.q))

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        data, size = self._scratch(), self.M.shape
        pin.computeRNEADerivatives(self._model, data, self.q, self.v, a)
        return np.array(data.dtau_dq).reshape(size), np.array(data.dtau_dv).reshape(size)

    def coriolis(self) -> Matrix:
        C = pin.computeCoriolisMatrix(self._model, self._scratch(), self.q, self.v)
        return np.array(C).reshape(self.M.shape)

    def regressor(self, w: Vector, a: Vector) -> Matrix:
        """Return ``Y`` of ``Y pi = M a + C(q, v) w + g(q)``; see `Snapshot.regressor`.

        Christoffel's ``C(v) w`` is symmetric in ``v`` and ``w``, so that
        ``C(v) w = (C(v + w)(v + w) - C(v - w)(v - w))/4``.
        """
        model, data, q, still = self._model, self._scratch(), self.q, np.zeros(len(a))
        Y = np.array(pin.computeJointTorqueRegressor(model, data, q, self.v + w, 4.0 * a))
        Y -= pin.computeJointTorqueRegressor(model, data, q, self.v - w, still)
        Y *= 0.25
        Y += pin.computeJointTorqueRegressor(model, data, q, still, still)
        return np.asarray(Y)

    def inertial_parameters(self) -> Matrix:
        bodies = list(self._model.inertias)[1:]
        return np.array([body.toDynamicParameters() for body in bodies]).reshape(-1, 10)

    def com(self) -> PointMotion:
        model, data = self._model, self._scratch()
        J = np.array(pin.jacobianCenterOfMass(model, data, self.q, False)).reshape(3, -1)
        pin.centerOfMass(model, data, self.q, self.v, np.zeros(model.nv), False)
        return PointMotion(np.array(data.com[0]), J, J @ self.v, np.array(data.acom[0]))

    def _own_potential(self) -> float:
        return float(pin.computePotentialEnergy(self._model, self._scratch(), self.q))

    def _scratch(self) -> Any:
        """Return a second Pinocchio data, so that rare questions never disturb the views."""
        if self._aux is None:
            self._aux = self._model.createData()
        return self._aux


class _Lender:
    """Lends memory to NumPy and keeps its owner alive.

    Pinocchio's own views do not, and would dangle in ``robot.snapshot(q, v).M``.
    """

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, owner: Any
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "<f8",
            "data": (address, False),
            "shape": shape,
            "strides": strides,
        }


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def borrowed(array: Any, shape: tuple[int, ...], owner: Any) -> NDArray[np.float64]:
    """Return the memory of an Eigen matrix as a C-contiguous array of a shape.

    Given explicitly, the shape is right for one velocity too, where Pinocchio's binding makes
    a vector of a matrix.
    """
    if array.size != np.prod(shape) or array.dtype != np.float64:
        raise RuntimeError("this version of Pinocchio stores its matrices differently.")
    return np.asarray(_Lender(_address(array), shape, None, owner))


def _placements(data: Any, count: int) -> tuple[Matrix, Matrix]:
    """Return all joint placements as two stacked views.

    ``data.oMi`` is one block of memory, each entry nine numbers of rotation (by columns) and
    three of translation; the addresses are compared, so a change in Pinocchio cannot pass.
    """
    first, step, translation = _address(data.oMi[0].rotation), 96, 72
    for j in range(count):
        place, start = data.oMi[j], first + step * j
        if (_address(place.rotation), _address(place.translation)) != (start, start + translation):
            raise RuntimeError("this version of Pinocchio stores joint placements differently.")
    rotations = _Lender(first, (count, 3, 3), (step, 8, 24), data)
    translations = _Lender(first + translation, (count, 3), (step, 8), data)
    return np.asarray(rotations), np.asarray(translations)
