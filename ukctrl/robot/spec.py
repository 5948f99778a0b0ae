"""Schema of ``robots/<name>/robot.toml``: the model, its actuators and its applied forces."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, model_validator

from ukctrl.errors import InputError
from ukctrl.fields import (
    Angles3,
    Direction,
    Formula,
    Listed,
    Matrix,
    NonNegative,
    Number,
    Position,
    Positive,
    Quantity,
    Text,
    Vec3,
    spec,
)
from ukctrl.robot.each import EACH, all_or_each
from ukctrl.robot.linkage import Linkage
from ukctrl.robot.model_file import ModelFile
from ukctrl.robot.motor import MotorLimits
from ukctrl.robot.particles import Particles
from ukctrl.robot.parts import Part
from ukctrl.robot.plant_spec import FunctionsTable, LagrangianTable


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
    matrix: Matrix | None = None
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


@spec
class JointSpring:
    """A spring (and damper) across a joint: ``-stiffness (q - rest) - damping v``."""

    kind: Literal["joint_spring"] = "joint_spring"
    joint: Text
    """Joint with one freedom and a plain coordinate."""
    stiffness: NonNegative
    """[N m/rad] or [N/m]."""
    rest: Number = 0.0
    """Coordinate at which it is relaxed [rad or m]."""
    damping: NonNegative = 0.0
    """[N m s/rad] or [N s/m]."""


@spec
class JointDamper:
    """Viscous friction in a joint: ``-damping v``."""

    kind: Literal["joint_damper"] = "joint_damper"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    damping: NonNegative
    """[N m s/rad] or [N s/m]."""


@spec
class DryFriction:
    """Dry friction in a joint, smoothed: ``-level tanh(v / velocity_scale)``."""

    kind: Literal["dry_friction"] = "dry_friction"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    level: NonNegative
    """Effort while sliding [N m or N]."""
    velocity_scale: Positive = 0.01
    """Velocity at which 76 % of the level is reached [rad/s or m/s]; smaller is stiffer."""


@spec
class Spring:
    """A spring and damper along the line between the origins of two frames."""

    kind: Literal["spring"] = "spring"
    frames: tuple[Text, Text]
    """The two ends; ``world`` is the ground."""
    stiffness: NonNegative
    """[N/m]."""
    rest: NonNegative = 0.0
    """Length at which it is relaxed [m]."""
    damping: NonNegative = 0.0
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


@spec
class ExtraFrame:
    """A frame that the model file does not have."""

    name: Text
    """Its name; must be new."""
    parent: Text
    """Frame of the model file that carries it."""
    position: Position = (0.0, 0.0, 0.0)
    """Origin in the parent's axes [m]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw in the parent's axes [rad]."""


Each = Annotated[
    float | dict[str, float],
    all_or_each(Quantity(minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Number above zero for all joints, or a table of them by joint."""
EachOrNone = Annotated[
    float | dict[str, float], all_or_each(Quantity(minimum=0.0).read), WithJsonSchema(EACH)
]
"""Number that is zero or above for all joints, or a table of them by joint."""


@spec
class Elastic:
    """Joints that their motors drive through springs; see `ukctrl.robot.elastic`.

    The elastic joints are those that a table of stiffness or inertia names; with numbers alone,
    every joint with a motor.
    """

    stiffness: Each
    """Of the springs [N m/rad or N/m]."""
    motor_inertia: Each
    """Of the motors, before the gear [kg m^2 or kg]."""
    damping: EachOrNone = 0.0
    """Of the springs [N m s/rad or N s/m]."""
    gear: Each = 1.0
    """Turns of the motor per turn of the joint. The motor's coordinate is counted after the gear,
    so that its inertia there is ``gear^2 motor_inertia``; inputs are efforts after the gear."""


@spec
class Extras:
    """What a user may add to any plant."""

    actuator: tuple[AnyActuator, ...] | None = None
    """The inputs; absent: one motor per joint with one freedom; ``[]``: none at all."""
    force: tuple[AnyForce, ...] = ()
    """Springs, dampers, friction and given forces."""
    passive: tuple[dict[str, Any], ...] = ()
    """Constraints that physics enforces; their keys are those of a scenario's constraints."""
    elastic: Elastic | None = None
    """Joints that their motors drive through springs."""


@spec
class Options(Extras):
    """What a user may add to a model file."""

    gravity: Vec3 | None = None
    """Gravitational acceleration in world axes [m/s^2]; absent: the model file's, or else
    ``[0, 0, -9.81]``."""
    floating_base: bool = False
    """Whether the root link of a URDF moves freely; its joint is then called ``root``."""
    friction_velocity: Positive = 0.01
    """``velocity_scale`` of the dry friction that the model file itself asks for."""
    frame: tuple[ExtraFrame, ...] = ()
    """Frames to add."""
    home: dict[Text, Number] = Field(default_factory=dict)
    """Coordinates where a start begins that says nothing else; those left out are neutral."""


@spec
class RobotFile(Options):
    """Everything that ``robot.toml`` can say."""

    title: Text
    """One line that says what the robot is."""
    source: str = ""
    """Where its numbers come from."""
    model: ModelFile | None = None
    """URDF, MJCF or SDF file, relative to this one; or ``zoo:NAME``, a model of the zoo."""
    part: Annotated[tuple[Part, ...], Listed(1)] | None = None
    """Several model files that make up one robot, instead of one."""
    lagrangian: LagrangianTable | None = None
    """A plant written as a Lagrangian, instead of a model file."""
    functions: FunctionsTable | None = None
    """A plant given as Python functions, instead of a model file."""
    linkage: Linkage | None = None
    """A planar linkage, instead of a model file."""
    particles: Particles | None = None
    """A swarm of particles, instead of a model file."""

    @model_validator(mode="after")
    def _one_plant(self) -> RobotFile:
        plants = ("model", "part", "lagrangian", "functions", "linkage", "particles")
        given = [name for name in plants if getattr(self, name) is not None]
        if len(given) != 1:
            came = " and ".join(given) or "none of them"
            raise InputError(f"needs exactly one of {', '.join(plants)}; got {came}.")
        if self.linkage is not None and self.elastic is not None:
            raise InputError(
                "elastic: the joints of a [linkage] are constraints and cannot be elastic; write "
                "the mechanism as a model file, and close its loops with [[passive]]."
            )
        if self.linkage is not None and self.home:
            raise InputError("home: a [linkage] begins as it is drawn, with at.")
        if self.linkage is not None and self.floating_base:
            raise InputError("floating_base: the bodies of a [linkage] move freely already.")
        if self.lagrangian is not None or self.functions is not None:
            wrong = {
                "gravity": self.gravity,
                "floating_base": self.floating_base,
                "frame": self.frame,
                "home": self.home,
            }
            for name, value in wrong.items():
                if value:
                    raise InputError(f"{name} goes with a model file; {_INSTEAD[name]}.")
        return self


_INSTEAD = {
    "gravity": "write gravity into the formulas, as a parameter",
    "floating_base": "give the base coordinates of its own",
    "frame": "a plant without bodies has no frames; write constraints as expressions",
    "home": "say where it begins with neutral, in the plant's table",
}
