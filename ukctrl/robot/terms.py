"""What a step of a simulation needs of a rigid robot, and no more than that."""

from __future__ import annotations

from typing import final

import pinocchio as pin

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.interface import RobotInterface
from ukctrl.robot.rigid import RigidStructure
from ukctrl.robot.rigid_snapshot import borrowed

_crba = pin.crba
_bias = pin.nonLinearEffects


@final
class RigidTerms:
    """Mass matrix and bias force of a rigid robot at one state after another.

    Attributes:
        M: Mass matrix, shape ``(nv, nv)``.
        nle: Coriolis, centrifugal and gravity force, shape ``(nv,)``.
    """

    __slots__ = ("M", "_data", "_model", "nle")

    def __init__(self, robot: RobotInterface) -> None:
        self._model = robot.structure.model
        self._data = data = self._model.createData()
        self.M: Matrix = borrowed(data.M, (robot.nv, robot.nv), data)
        self.nle: Vector = borrowed(data.nle, (robot.nv,), data)

    @staticmethod
    def suits(robot: RobotInterface) -> bool:
        """Return whether a robot is made of rigid bodies, and of no formulas."""
        return isinstance(robot.structure, RigidStructure)

    def evaluate(self, q: Vector, v: Vector) -> None:
        """Evaluate at another state, by the calls that `RigidSnapshot.move` makes too."""
        model, data = self._model, self._data
        _crba(model, data, q)
        _bias(model, data, q, v)
