"""Schema of the whole ``robot.toml``: one plant, and what is added to it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Angles3, JointSpeed, Listed, Number, Position, Text, Vec3, spec
from ukctrl.robot.schema.actuator_tables import AnyActuator
from ukctrl.robot.schema.elastic_table import Elastic
from ukctrl.robot.schema.force_tables import AnyForce
from ukctrl.robot.schema.limit_tables import JointLimit
from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.model_file import ModelFile
from ukctrl.robot.schema.part_table import Part
from ukctrl.robot.schema.particles_table import Particles
from ukctrl.robot.schema.plant_tables import FunctionsTable, LagrangianTable


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
            self.refuse_bodies()
        return self


_INSTEAD = {
    "gravity": "write gravity into the formulas, as a parameter",
    "floating_base": "give the base coordinates of its own",
    "frame": "a plant without bodies has no frames; write constraints as expressions",
    "home": "say where it begins with neutral, in the plant's table",
}
