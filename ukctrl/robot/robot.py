"""The robot: a plant with names, actuators, forces and an audit.

Everything that depends on the state is in `ukctrl.robot.snapshot`.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Vector
from ukctrl.core.files.toml import read_spec
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.audit import Finding
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import Forces
from ukctrl.robot.perturb import Payload, Perturbation
from ukctrl.robot.schema import AnyActuator, AnyForce, Elastic, ExtraFrame, Options
from ukctrl.robot.sizes import Face
from ukctrl.robot.snapshot import Snapshot, checked
from ukctrl.robot.structure import Site, Structure


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Robot(Face):
    """A robot model.

    Build one with `Robot.load` (a name, a ``robot.toml`` or a model file), `Robot.from_urdf`,
    `Robot.from_lagrangian` or `Robot.from_functions`. It is immutable; `perturbed` returns another.
    """

    name: str
    title: str
    source: str
    structure: Structure
    """What it is made of: a Pinocchio model, or formulas; and the names of all that it has."""
    actuation: Actuation
    forces: Forces
    elastic: ElasticJoints | None = None
    """The joints that their motors drive through springs, if any."""
    passive: tuple[Mapping[str, Any], ...] = ()
    """The ``[[passive]]`` tables of its file and those that mimic joints imply, unread."""
    audit: tuple[Finding, ...] = ()
    """What loading dropped or finds suspicious."""
    path: Path | None = None
    """The file it was loaded from."""
    override: Mapping[str, Any] = dc.field(default_factory=dict)
    """What was laid over that file."""
    home: Vector | None = None
    """Where a start begins that says nothing else, shape ``(nq,)``; None: at `neutral`."""

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, nq={self.nq}, nv={self.nv}, nu={self.nu})"

    # States

    def snapshot(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Snapshot:
        """Evaluate the robot at ``(q, v, t)``; the velocity is zero when not given.

        Raises:
            ShapeError: ``q`` or ``v`` does not fit the robot.
            InputError: A number is not finite.
        """
        v = np.zeros(self.nv) if v is None else v
        q, v = checked("q", q, self.nq), checked("v", v, self.nv)
        return self.structure.snapshot(self, q, v, float(t))

    def site(self, name: str) -> Site:
        """Return where a frame is fixed.

        Raises:
            UnknownName: The robot has no frame of this name.
        """
        return self.structure.site(name)

    # Making robots

    @classmethod
    def load(
        cls,
        reference: str | Path,
        *,
        beside: Path | None = None,
        override: Mapping[str, Any] | None = None,
        trust: bool = False,
    ) -> Robot:
        """Load a robot of the catalogue by name, or from a ``robot.toml`` or a model file.

        Args:
            reference: A name such as ``"scara"``, or a path.
            beside: The file that refers to it; names are looked up beside it first.
            override: Keys of ``robot.toml`` to change, table by table, such as
                ``{"gravity": (0, 0, 0)}``; a model file has those of `Options`.
            trust: Whether Python code that a ``[functions]`` table names may run.

        Raises:
            UnknownName: There is no robot of this name.
            ModelError: The file is not a valid robot.
        """
        from ukctrl.robot.load import load

        robot = load(reference, beside, override or {}, trust)
        return dc.replace(robot, override=dict(override)) if override else robot

    @classmethod
    def from_urdf(
        cls,
        source: str | Path,
        *,
        name: str | None = None,
        floating_base: bool = False,
        gravity: Sequence[float] | None = None,
        frames: Sequence[ExtraFrame] = (),
        home: Mapping[str, float | str] | None = None,
        actuators: Sequence[AnyActuator] | None = None,
        forces: Sequence[AnyForce] = (),
        passive: Sequence[Mapping[str, Any]] = (),
        elastic: Elastic | None = None,
    ) -> Robot:
        """Build a robot from the text or the path of a URDF (or MJCF) model.

        Args:
            source: The text, when it starts with ``<``; else the path.
            name: What to call it; absent: as the file is called.
            floating_base: Whether the root link moves freely, as the joint ``root``.
            gravity: In world axes [m/s^2]; absent: the model's, or ``(0, 0, -9.81)``.
            frames: Frames to add.
            home: Coordinates where a start begins that says nothing else.
            actuators: The inputs; absent: one motor per joint with one freedom.
            forces: Springs, dampers, friction and given forces.
            passive: Constraints that physics enforces, as the tables of a file:
                ``{"kind": "closure", ...}``.
            elastic: Joints that their motors drive through springs.

        Raises:
            ModelError: The model is not valid.
            InputError: An argument does not fit the model.
        """
        from ukctrl.robot.load import from_source

        table = {
            "gravity": gravity, "floating_base": floating_base, "frame": tuple(frames),
            "home": home or {}, **_extras(actuators, forces, passive, elastic),
        }  # fmt: skip
        return from_source(source, read_spec(Options, table, "robot"), name)

    @classmethod
    def from_lagrangian(
        cls,
        coordinates: Mapping[str, str] | Sequence[str],
        kinetic: str | Sequence[str],
        potential: str | Sequence[str] = "0",
        *,
        dissipation: str | Sequence[str] = (),
        parameters: Mapping[str, float | str] | None = None,
        inputs: Mapping[str, Mapping[str, float | str]] | None = None,
        neutral: Mapping[str, float | str] | None = None,
        limits: Mapping[str, Sequence[float | str]] | None = None,
        actuators: Sequence[AnyActuator] | None = None,
        forces: Sequence[AnyForce] = (),
        passive: Sequence[Mapping[str, Any]] = (),
        elastic: Elastic | None = None,
        name: str = "lagrangian",
    ) -> Robot:
        """Build a robot from its kinetic and potential energy in text.

        The arguments are the keys of the ``[lagrangian]`` table of a ``robot.toml``.

        Args:
            coordinates: Unit, ``"rad"`` or ``"m"``, by name; a list of names stands for angles.
            kinetic: Kinetic energy in the coordinates, ``v.<name>``, parameters and ``t`` [J].
            potential: Potential energy [J].
            dissipation: Rayleigh's dissipation function [W].
            parameters: Numbers that formulas use by name.
            inputs: Generalised force per unit of input, by velocity, for every input; absent: one
                motor per coordinate.
            neutral: Coordinates where nothing else is said; absent: 0.
            limits: Lower and upper limit of coordinates.
            actuators: Further inputs, or the inputs where ``inputs`` is absent.
            forces: Springs, dampers, friction and given forces.
            passive: Constraints that physics enforces, as the tables of a file.
            elastic: Joints that their motors drive through springs.
            name: What to call it.

        Raises:
            InputError: A formula is not acceptable; the message names the argument.
            ModelError: The mass matrix is not positive definite.
        """
        from ukctrl.robot.load import from_table

        table = {
            "coordinates": coordinates, "kinetic": kinetic, "potential": potential,
            "dissipation": dissipation or (), "parameters": parameters or {}, "inputs": inputs,
            "neutral": neutral or {}, "limits": limits or {},
        }  # fmt: skip
        return from_table("lagrangian", table, _extras(actuators, forces, passive, elastic), name)

    @classmethod
    def from_functions(
        cls,
        coordinates: Mapping[str, str] | Sequence[str],
        M: Callable[[Vector], ArrayLike],
        nle: Callable[[Vector, Vector], ArrayLike],
        B: Callable[[Vector], ArrayLike] | None = None,
        potential: Callable[[Vector], float] | None = None,
        *,
        inputs: Mapping[str, str] | None = None,
        neutral: Mapping[str, float | str] | None = None,
        limits: Mapping[str, Sequence[float | str]] | None = None,
        forces: Sequence[AnyForce] = (),
        passive: Sequence[Mapping[str, Any]] = (),
        elastic: Elastic | None = None,
        name: str = "functions",
    ) -> Robot:
        """Build a robot from functions: ``M(q) a + nle(q, v) = B(q) u``.

        Args:
            coordinates: Unit, ``"rad"`` or ``"m"``, by name; a list of names stands for angles.
            M: Mass matrix, shape ``(n, n)``.
            nle: Coriolis, centrifugal and gravity force, shape ``(n,)``.
            B: Actuation, shape ``(n, nu)``; absent: one motor per coordinate.
            potential: Potential energy [J]; absent: not known, and so is the energy.
            inputs: Unit of every input, by name; absent: ``u1``, ``u2``, ...
            neutral: Coordinates where nothing else is said; absent: 0.
            limits: Lower and upper limit of coordinates.
            forces: Springs, dampers, friction and given forces.
            passive: Constraints that physics enforces, as the tables of a file.
            elastic: Joints that their motors drive through springs.
            name: What to call it.

        Raises:
            InputError: An argument does not fit.
            ModelError: A function returns something of another shape, or M is not positive
                definite.
        """
        from ukctrl.robot.formulas.functions import Callables
        from ukctrl.robot.load import from_table

        table = {
            "file": name, "coordinates": coordinates, "inputs": inputs, "neutral": neutral or {},
            "limits": limits or {},
        }  # fmt: skip
        functions = Callables(M, nle, B, potential)
        return from_table(
            "functions", table, _extras(None, forces, passive, elastic), name, functions
        )

    def perturbed(
        self,
        *,
        mass_scale: float | Mapping[str, float] = 1.0,
        inertia_scale: float | Mapping[str, float] = 1.0,
        com_shift: Sequence[float] | Mapping[str, Sequence[float]] = (0.0, 0.0, 0.0),
        damping: float | Mapping[str, float] = 0.0,
        friction: float | Mapping[str, float] = 0.0,
        friction_velocity: float = 0.01,
        payload: Payload | None = None,
        gravity: Sequence[float] | None = None,
        stiffness_scale: float | Mapping[str, float] = 1.0,
        parameters: Mapping[str, float] | None = None,
    ) -> Robot:
        """Return a robot that differs from this one as stated; see `Perturbation`.

        Raises:
            InputError: A value is out of range, or a joint or frame does not exist.
        """
        table = {
            "mass_scale": mass_scale, "inertia_scale": inertia_scale, "com_shift": com_shift,
            "damping": damping, "friction": friction, "friction_velocity": friction_velocity,
            "payload": payload, "gravity": gravity, "stiffness_scale": stiffness_scale,
            "parameters": parameters or {},
        }  # fmt: skip
        return read_spec(Perturbation, table, "perturbed").apply(self)


def _extras(
    actuators: Sequence[AnyActuator] | None,
    forces: Sequence[AnyForce],
    passive: Sequence[Mapping[str, Any]],
    elastic: Elastic | None,
) -> dict[str, Any]:
    """Return what may be added to any plant, as the table of a file."""
    return {
        "actuator": None if actuators is None else tuple(actuators),
        "force": tuple(forces),
        "passive": tuple(dict(table) for table in passive),
        "elastic": elastic,
    }
