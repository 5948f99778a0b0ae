"""Schema of the whole ``robot.toml``: one plant, and what is added to it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import (
    Angles3,
    ByName,
    InputFile,
    InputFolder,
    JointPosition,
    JointSpeed,
    ListSize,
    Number,
    NumberByName,
    Position,
    Quantity,
    Text,
    Vec3,
    spec,
)
from ukctrl.core.files import AnyPath, catalog
from ukctrl.core.files.toml import read_toml
from ukctrl.robot.schema.force_tables import AnyActuator, AnyForce, Dampings, Factors
from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import MAX_PICTURES, AnyPicture
from ukctrl.robot.schema.plant_tables import FunctionsTable, LagrangianTable, Particles


@spec
class Elastic:
    """Joints that their motors drive through springs; see `ukctrl.robot.elastic`.

    The elastic joints are those that a table of stiffness or inertia names; with numbers alone,
    every joint with a motor.
    """

    stiffness: Annotated[
        NumberByName, ByName(Quantity("N m/rad or N/m", minimum=0.0, open_minimum=True).read)
    ]
    """Of the springs [N m/rad or N/m]."""
    motor_inertia: Annotated[
        NumberByName, ByName(Quantity("kg m^2 or kg", minimum=0.0, open_minimum=True).read)
    ]
    """Of the motors, before the gear [kg m^2 or kg]."""
    damping: Dampings = 0.0
    """Of the springs [N m s/rad or N s/m]."""
    gear: Factors = 1.0
    """Turns of the motor per turn of the joint. The motor's coordinate is counted after the gear,
    so that its inertia there is ``gear^2 motor_inertia``; inputs are efforts after the gear."""


PositionRange = Annotated[tuple[JointPosition, JointPosition], ListSize(2, 2)]
"""A lower and a higher position [rad or m]."""


@spec
class JointLimit:
    """Where a joint may be and how fast it may move, in place of what the model says.

    Nothing stops a joint at its limits: they are what `ukctrl check` measures a task by.
    """

    joint: Text
    """Joint; or one velocity, such as ``root_vx``, of a joint with several freedoms."""
    position: PositionRange | None = None
    """Lowest and highest position [rad or m]; absent: the model's."""
    velocity: JointSpeed | None = None
    """Largest speed [rad/s or m/s]; absent: the model's."""

    @model_validator(mode="after")
    def _limits_something(self) -> JointLimit:
        if self.position is None and self.velocity is None:
            raise InputError("needs a position or a velocity; got neither.")
        if self.position is not None and not self.position[0] < self.position[1]:
            raise InputError(
                "position must be a lower and a higher number; got "
                f"{self.position[0]:g} and {self.position[1]:g}."
            )
        return self


def _model_file(value: object) -> object:
    return catalog.collection_model(str(value)) if catalog.is_collection_name(value) else value


ModelFile = Annotated[InputFile, BeforeValidator(_model_file)]
"""A model file, relative to the file that names it; ``zoo:NAME``, a model of the zoo;
or ``description:NAME``, one of robot_descriptions."""


@spec
class RobotPart:
    """A model file that is part of a robot."""

    model: ModelFile
    """URDF or .xacro file, relative to this one; ``zoo:NAME`` or ``description:NAME``."""
    prefix: str = ""
    """Put before the names of its links and joints, such as ``"left_"``."""
    parent: str | None = None
    """Link, of a part further up, that carries it; absent: the ground."""
    position: Position = (0.0, 0.0, 0.0)
    """Origin of its root link in the parent's axes [m]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of its root link in the parent's axes [rad]."""


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
    limit: tuple[JointLimit, ...] = ()
    """How far and how fast joints may go, in place of what the model says."""
    picture: Annotated[tuple[AnyPicture, ...], ListSize(0, MAX_PICTURES)] = ()
    """What it looks like, beside or instead of what its model shows."""


@spec
class Options(Extras):
    """What a user may add to a model file."""

    gravity: Vec3 | None = None
    """Gravitational acceleration in world axes [m/s^2]; absent: the model file's, or else
    ``[0, 0, -9.81]``."""
    floating_base: bool = False
    """Whether the root link of a URDF moves freely; its joint is then called ``root``."""
    friction_velocity: JointSpeed = 0.01
    """``velocity_scale`` of the dry friction that the model file itself asks for."""
    frame: tuple[ExtraFrame, ...] = ()
    """Frames to add."""
    servos: Literal["motors", "commands"] = "motors"
    """What stands for position and velocity servos of an MJCF file: the motors behind them, or they
    themselves, whose inputs are commands."""
    xacro_arguments: dict[Text, bool | int | float | str] = Field(default_factory=dict)
    """Values of the ``<xacro:arg>`` of a .xacro file."""
    package_path: tuple[InputFolder, ...] = ()
    """Folders that hold the packages of ``package://NAME`` and ``$(find NAME)``, before those of
    ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``."""
    home: dict[Text, Number] = Field(default_factory=dict)
    """Coordinates where a start begins that says nothing else; those left out are neutral."""

    def refuse_bodies(self) -> None:
        """Refuse what only a model file can have.

        Raises:
            InputError: Something of that kind is given.
        """
        for name, instead in _INSTEAD.items():
            if getattr(self, name):
                raise InputError(f"{name} goes with a model file; {instead}.")


@spec
class RobotFile(Options):
    """Everything that ``robot.toml`` can say."""

    title: Text
    """One line that says what the robot is."""
    source: str = ""
    """Where its numbers come from."""
    model: ModelFile | None = None
    """URDF, .xacro, MJCF or SDF file, relative to this one; or ``zoo:NAME`` or
    ``description:NAME``."""
    part: Annotated[tuple[RobotPart, ...], ListSize(1)] | None = None
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
        keys = [name for name in catalog.PLANT_KEYS if getattr(self, name) is not None]
        if len(keys) != 1:
            came = " and ".join(keys) or "none of them"
            raise InputError(f"needs exactly one of {', '.join(catalog.PLANT_KEYS)}; got {came}.")
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
            self.refuse_bodies()
        return self


def runs_code(reference: AnyPath, referrer: AnyPath | None = None) -> bool:
    """Return whether loading a robot would run Python code that its file names or holds."""
    path = catalog.find("robots", reference, referrer)
    if path.suffix != ".toml":
        return path.suffix == catalog.MACRO_ENDING
    table = read_toml(path)
    components = table.get("part")
    models = [table, *(components if isinstance(components, list) else ())]
    names = (entry.get("model") for entry in models if isinstance(entry, dict))
    return "functions" in table or any(str(name).endswith(catalog.MACRO_ENDING) for name in names)


_INSTEAD = {
    "gravity": "write gravity into the formulas, as a parameter",
    "floating_base": "give the base coordinates of its own",
    "frame": "a plant without bodies has no frames; write constraints as expressions",
    "home": "say where it begins with neutral, in the plant's table",
}
