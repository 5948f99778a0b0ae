"""Schema of ``[[actuator]]`` and ``[[force]]``: what pushes on a robot."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import (
    ByName,
    Direction,
    Formula,
    JointDamping,
    JointEffort,
    JointPosition,
    JointSpeed,
    JointStiffness,
    Number,
    NumberByName,
    NumberRows,
    Quantity,
    Text,
    Vec3,
    spec,
)
from ukctrl.robot.motor_limits import MotorLimits


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


Efforts = Annotated[NumberByName, ByName(Quantity("N m or N", minimum=0.0).read)]
"""Torques or forces, zero or above, for all joints, or a table of them by joint [N m or N]."""
Factors = Annotated[NumberByName, ByName(Quantity("1", minimum=0.0, open_minimum=True).read)]
"""Positive factors for all joints, or a table of them by joint."""
Dampings = Annotated[NumberByName, ByName(Quantity("N m s/rad or N s/m", minimum=0.0).read)]
"""Damping, zero or above, for all joints, or a table of it by joint [N m s/rad or N s/m]."""


@spec
class JointSpring:
    """A spring (and damper) across a joint: ``-stiffness (q - rest) - damping v``."""

    kind: Literal["joint_spring"] = "joint_spring"
    joint: Text
    """Joint with one freedom and a plain coordinate."""
    stiffness: JointStiffness
    """[N m/rad] or [N/m]."""
    rest: JointPosition = 0.0
    """Coordinate at which it is relaxed [rad or m]."""
    damping: JointDamping = 0.0
    """[N m s/rad] or [N s/m]."""


@spec
class JointDamper:
    """Viscous friction in a joint: ``-damping v``."""

    kind: Literal["joint_damper"] = "joint_damper"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    damping: JointDamping
    """[N m s/rad] or [N s/m]."""


@spec
class DryFriction:
    r"""Dry friction in a joint, smoothed.

    $$ f = -\left(F_c + (F_s - F_c)\, e^{-(v/v_s)^2}\right) \tanh\frac{v}{v_\varepsilon} - f_0 . $$
    """

    kind: Literal["dry_friction"] = "dry_friction"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    level: JointEffort
    """Effort while sliding, $F_c$ [N m or N]."""
    static: JointEffort | None = None
    """Level that must be overcome, $F_s$, at least that of sliding [N m or N]; absent: the same."""
    asymmetry: Annotated[float, Quantity("N m or N")] = 0.0
    """$f_0$: half of what sliding forward takes more than sliding back [N m or N]."""
    stribeck_velocity: JointSpeed = 0.1
    """$v_s$, at which the static excess has fallen to 37 % [rad/s or m/s]."""
    velocity_scale: JointSpeed = 0.01
    r"""$v_\varepsilon$, at which 76 % of the level is reached [rad/s or m/s]; smaller sticks better
    and is stiffer."""

    @model_validator(mode="after")
    def _falls(self) -> DryFriction:
        if self.static is not None and self.static < self.level:
            raise InputError(f"static must be at least level, {self.level:g}; got {self.static:g}.")
        if self.static is not None and not self.velocity_scale < self.stribeck_velocity:
            raise InputError(
                f"velocity_scale must be below stribeck_velocity, {self.stribeck_velocity:g}, for "
                f"static friction to be felt; got {self.velocity_scale:g}."
            )
        return self


@spec
class Spring:
    """A spring and damper along the line between the origins of two frames."""

    kind: Literal["spring"] = "spring"
    frames: tuple[Text, Text]
    """The two ends; ``world`` is the ground."""
    stiffness: Annotated[float, Quantity("N/m", minimum=0.0)]
    """[N/m]."""
    rest: Annotated[float, Quantity("m", minimum=0.0)] = 0.0
    """Length at which it is relaxed [m]."""
    damping: Annotated[float, Quantity("N s/m", minimum=0.0)] = 0.0
    """[N s/m], on the rate of the length."""


@spec
class GivenForce:
    """A generalised force given as a formula of the coordinates, ``v.<name>`` and ``t``."""

    kind: Literal["given"] = "given"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    force: Formula
    """The force on that velocity [N m or N]."""


AnyForce = Annotated[
    JointSpring | JointDamper | DryFriction | Spring | GivenForce, Field(discriminator="kind")
]
