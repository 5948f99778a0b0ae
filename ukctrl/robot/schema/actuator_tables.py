"""Schema of ``[[actuator]]``: how an input pushes on a robot."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Direction, Formula, Number, NumberRows, Text, Vec3, spec
from ukctrl.robot.motor import MotorLimits


@spec
class JointMotor(MotorLimits):
    """A motor on one freedom of a joint: the joint feels ``gear * u``."""

    kind: Literal["joint"] = "joint"
    joint: Text
    """Joint; or one velocity, such as ``wrist_wx``, of a joint with several freedoms."""
    name: Text | None = None
    """Name of the input; absent: the joint's."""
    gear: Number = 1.0
    """Joint effort per unit of input."""
    unit: Text | None = None
    """Unit of the input; absent: ``N m`` at a revolute joint, ``N`` at a prismatic one."""


@spec
class Transmission(MotorLimits):
    r"""Inputs that push on several joints at once: tendons, belts, differentials.

    Either one input with a table of ratios, $\tau_j = r_j\, u$, or several inputs with a
    matrix, $\tau = T u$. Joints not listed feel nothing.
    """

    kind: Literal["transmission"] = "transmission"
    name: Text | None = None
    """Name of the one input that ``ratios`` describes."""
    ratios: dict[str, Number] | None = None
    """Joint effort per unit of input, joint by joint."""
    names: tuple[Text, ...] | None = None
    """Names of the inputs: the columns of ``matrix``."""
    joints: tuple[Text, ...] | None = None
    """Joints: the rows of ``matrix``."""
    matrix: NumberRows | None = None
    """Joint effort per unit of input, shape ``(len(joints), len(names))``."""
    unit: Text | None = None
    """Unit of the inputs; absent: ``N m``, or ``N`` if all the joints are prismatic."""

    @model_validator(mode="after")
    def _one_form(self) -> Transmission:
        table = (self.name, self.ratios)
        full = (self.names, self.joints, self.matrix)
        if None not in table and full == (None, None, None):
            if not self.ratios:
                raise InputError("ratios must list at least one joint.")
            return self
        if self.names is None or self.joints is None or self.matrix is None or any(table):
            raise InputError(
                "needs either name and ratios, or names, joints and matrix, and not both."
            )
        shape = (len(self.matrix), len(self.matrix[0]))
        if shape != (len(self.joints), len(self.names)):
            raise InputError(
                f"matrix must have {len(self.joints)} rows (joints) and {len(self.names)} "
                f"columns (names); got {shape[0]} and {shape[1]}."
            )
        return self


@spec
class TorqueBetween(MotorLimits):
    """A torque ``u`` on the second frame and ``-u`` on the first, about a common axis."""

    kind: Literal["torque_between"] = "torque_between"
    name: Text
    """Name of the input."""
    frames: tuple[Text, Text]
    """The two frames; ``world`` is the ground."""
    axis: Direction
    """Axis in the first frame; its length does not matter."""


@spec
class Wrench(MotorLimits):
    """A force and a torque that move with a frame, both proportional to one input."""

    kind: Literal["wrench"] = "wrench"
    name: Text
    """Name of the input."""
    frame: Text
    """Frame at whose origin it acts."""
    force: Vec3 | None = None
    """Force per unit of input, in the frame's axes."""
    torque: Vec3 | None = None
    """Torque per unit of input, in the frame's axes."""
    unit: Text | None = None
    """Unit of the input; absent: ``N`` with a force, ``N m`` with a torque alone."""

    @model_validator(mode="after")
    def _pushes(self) -> Wrench:
        if not any(self.force or ()) and not any(self.torque or ()):
            raise InputError("needs a force or a torque that is not zero.")
        return self


@spec
class FormulaInput(MotorLimits):
    """An input whose column of ``B`` is given as formulas of the coordinates."""

    kind: Literal["formula"] = "formula"
    name: Text
    """Name of the input."""
    column: dict[str, Formula]
    """Generalised force per unit of input, by velocity; those not listed feel nothing."""
    unit: Text | None = None
    """Unit of the input; absent: ``N m`` or ``N`` where all velocities are of one kind."""

    @model_validator(mode="after")
    def _pushes(self) -> FormulaInput:
        if not self.column:
            raise InputError("column must name at least one velocity.")
        return self


AnyActuator = Annotated[
    JointMotor | Transmission | TorqueBetween | Wrench | FormulaInput, Field(discriminator="kind")
]
