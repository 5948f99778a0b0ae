"""The robot: a plant with names, actuators, forces and an audit, and the ways to make one.

Everything that depends on the state is in `ukctrl.robot.snapshot`.
"""

from __future__ import annotations

import dataclasses as dc
import os
from collections.abc import Mapping
from typing import Any, ClassVar, final

from numpy.typing import ArrayLike

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import argument_error
from ukctrl.core.files import AnyPath
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.robot.load import build_equation_plant, load
from ukctrl.robot.perturbation import Perturbation
from ukctrl.robot.robot_base import RobotBase
from ukctrl.robot.schema.plant_tables import Functions, LagrangianTable
from ukctrl.robot.schema.robot_file import Options


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Robot(RobotBase, NotebookRepr):
    """A robot model.

    Make one with `Robot.load` (a name, a ``robot.toml`` or a model file) or `Robot.build` (the
    text of a model, a Lagrangian, functions). It is immutable; `perturbed` returns another. In a
    notebook it shows itself.
    """

    repr_module: ClassVar[str] = "ukctrl.reports.notebook_card"

    @classmethod
    @explain_argument_errors
    def load(
        cls,
        reference: AnyPath,
        *,
        beside: AnyPath | None = None,
        override: Mapping[str, Any] | None = None,
        trust: bool = False,
    ) -> Robot:
        """Load a robot of the catalogue by name, or from a ``robot.toml`` or a model file.

        Args:
            reference: A name such as ``"scara"``, or a path.
            beside: The file that refers to it; names are looked up beside it first.
            override: Keys of ``robot.toml`` to change, table by table, such as
                ``{"gravity": (0, 0, 0)}``; a model file has those of `Options`.
            trust: Whether Python code may run that a ``[functions]`` table names, or a .xacro file
                holds.

        Raises:
            UnknownName: There is no robot of this name.
            ModelError: The file is not a valid robot.
        """
        robot = cls.of(load(reference, beside, override or {}, trust))
        return dc.replace(robot, override=dict(override)) if override else robot

    @classmethod
    @explain_argument_errors
    def build(
        cls,
        plant: AnyPath | LagrangianTable | Functions,
        options: Options | None = None,
        *,
        name: str | None = None,
    ) -> Robot:
        """Build a robot in Python, with the keys of a ``robot.toml`` as fields.

        Args:
            plant: The text of a URDF (or MJCF) model, when it starts with ``<``, or its path; a
                `Lagrangian`; or `Functions`.
            options: What is added to it: actuators, forces, passive constraints, elastic joints.
            name: What to call it; absent: as the model is called, or its kind of plant.

        Raises:
            InputError: A formula is not acceptable, or an option does not fit the plant.
            ModelError: The model is not valid, or a mass matrix is not positive definite.
        """
        options = options or Options()
        if isinstance(plant, str | os.PathLike):
            from ukctrl.robot.load_bodies import robot_from_source

            return cls.of(robot_from_source(plant, options, name))
        kind = "functions" if isinstance(plant, Functions) else "lagrangian"
        return cls.of(build_equation_plant(plant, options, name or kind))

    def show(self, q: ArrayLike | None = None) -> Any:
        """Show it at a configuration: in a notebook below the cell, else in the browser.

        Args:
            q: Where it is, shape ``(nq,)``; absent: at home.

        Raises:
            ShapeError: The configuration is not the robot's.
        """
        return self.load_repr_module().show(self, q)

    def look(self) -> Any:
        """Return what the robot looks like, and where its parts are at a configuration.

        Links have the shapes of their model files, pictures come from ``[[picture]]`` tables, and
        what has neither is rods and joints. No mesh that is missing or unfit is an error: the
        look's notes say so.
        """
        return self.load_repr_module().look(self)

    def perturbed(self, difference: Perturbation) -> Robot:
        """Return a robot that differs from this one as stated.

        Raises:
            InputError: A joint or frame does not exist.
        """
        return difference.apply(self)


AnyRobot = Robot | str | os.PathLike[str]
"""A robot, its name, or the path of its file."""


def as_robot(robot: AnyRobot) -> Robot:
    """Return the robot that an argument stands for.

    Raises:
        ArgumentError: It stands for none.
        InputError: Its file is not there, or not acceptable.
    """
    if isinstance(robot, str | os.PathLike):
        return Robot.load(robot)
    if isinstance(robot, Robot):
        return robot
    raise argument_error("robot", "a Robot, its name, or the path of its file", robot)
