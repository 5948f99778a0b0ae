"""The robot: a plant with names, actuators, forces and an audit.

Everything that depends on the state is in `ukctrl.robot.snapshot`.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.files import read_spec
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.audit import Finding
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import Forces
from ukctrl.robot.layout import Block
from ukctrl.robot.perturb import Payload, Perturbation
from ukctrl.robot.snapshot import Snapshot, checked
from ukctrl.robot.spec import AnyActuator, AnyForce, Elastic, ExtraFrame, Options
from ukctrl.robot.structure import Site, Structure

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """A robot model.

    Build one with `Robot.load` (a name, a ``robot.toml`` or a model file) or
    `Robot.from_urdf`. It is immutable; `perturbed` returns another.
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

    # Sizes and names

    @property
    def model(self) -> Any:
        """The ``pinocchio.Model``.

        Raises:
            ModelError: The robot is not made of one, but of formulas or functions.
        """
        return self.structure.model

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Names, units and kinematics joint by joint."""
        return self.structure.blocks

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.structure.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.structure.nv

    @cached_property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.actuation.names)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the entries of ``q``, as written in formulas."""
        return self.structure.coordinates

    @property
    def dofs(self) -> tuple[str, ...]:
        """Names of the entries of ``v``; a formula writes ``v.<name>``."""
        return self.structure.dofs

    @cached_property
    def rates(self) -> tuple[str, ...]:
        """Text of the time derivative of every coordinate."""
        return tuple(rate for block in self.blocks for rate in block.rates)

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the entries of ``q``."""
        return tuple(unit for block in self.blocks for unit in block.coordinate_units)

    @property
    def dof_units(self) -> tuple[str, ...]:
        """Units of the entries of ``v``."""
        return self.structure.dof_units

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.actuation.names

    @property
    def actuator_units(self) -> tuple[str, ...]:
        """Units of the inputs."""
        return self.actuation.units

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints in the model file."""
        return self.structure.joints

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames; ``world`` is always one of them."""
        return self.structure.frames

    @cached_property
    def is_euclidean(self) -> bool:
        """Whether ``nq == nv`` and configurations are integrated by plain addition."""
        return all(block.shape == "line" for block in self.blocks)

    @property
    def gravity(self) -> Vector:
        """Gravitational acceleration in the world, shape ``(3,)`` [m/s^2]."""
        return self.structure.gravity

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of a plant of formulas or functions; a model file has none."""
        return dict(self.structure.parameters)

    # Limits

    @property
    def effort_limit(self) -> Vector:
        """Largest absolute input, shape ``(nu,)``; infinite where unlimited."""
        return self.actuation.limits.copy()

    @property
    def velocity_limit(self) -> Vector:
        """Largest absolute velocity, shape ``(nv,)``; infinite where unlimited."""
        return self.structure.velocity_limit.copy()

    @property
    def q_lower(self) -> Vector:
        """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self.structure.q_lower.copy()

    @property
    def q_upper(self) -> Vector:
        """Upper limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self.structure.q_upper.copy()

    # Configurations

    @property
    def neutral(self) -> Vector:
        """The configuration with every joint at zero, shape ``(nq,)``."""
        return self.structure.neutral

    def integrate(self, q: Vector, dv: Vector) -> Vector:
        """Return the configuration reached from ``q`` by the tangent step ``dv``."""
        return self.structure.integrate(q, dv)

    def difference(self, q0: Vector, q1: Vector) -> Vector:
        """Return the tangent step from ``q0`` to ``q1``, the inverse of `integrate`."""
        return self.structure.difference(q0, q1)

    def integrate_jacobian(self, q: Vector, dv: Vector) -> Matrix:
        r"""Return the right Jacobian $J_r$ of `integrate` in ``dv``, shape ``(nv, nv)``.

        Along $q(t) = q_0 \oplus \xi(t)$ the velocity is $v = J_r(\xi)\,\dot\xi$.
        """
        return self.structure.integrate_jacobian(q, dv)

    def normalize(self, q: Vector) -> Vector:
        """Return ``q`` with quaternions and (cos, sin) pairs scaled to unit length."""
        return self.structure.normalize(q)

    def random(self, rng: np.random.Generator) -> Vector:
        """Draw a configuration: uniform within limits, or within one half turn or metre."""
        q = self.neutral
        step = rng.uniform(-1.0, 1.0, self.nv)
        step[[unit == "rad/s" for unit in self.dof_units]] *= np.pi
        q = self.integrate(q, step)
        bounded = np.isfinite(self.q_lower) & np.isfinite(self.q_upper)
        share = rng.uniform(0.0, 1.0, self.nq)[bounded]
        q[bounded] = self.q_lower[bounded] * (1.0 - share) + self.q_upper[bounded] * share
        return q

    def coordinate_rate(self, q: Vector, v: Vector) -> Vector:
        """Return ``q_dot``, shape ``(nq,)``, of the motion with velocity ``v``."""
        if self.is_euclidean:
            return np.array(v)
        q_dot = np.empty(self.nq)
        for block in self.blocks:
            iq, iv = slice(block.iq, block.iq + block.nq), slice(block.iv, block.iv + block.nv)
            q_dot[iq] = block.rate(q[iq], v[iv])
        return q_dot

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
            **_extras(actuators, forces, passive, elastic),
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
        from ukctrl.robot.functions import Callables
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
        parameters: Mapping[str, float] | None = None,
    ) -> Robot:
        """Return a robot that differs from this one as stated; see `Perturbation`.

        Raises:
            InputError: A value is out of range, or a joint or frame does not exist.
        """
        table = {
            "mass_scale": mass_scale, "inertia_scale": inertia_scale, "com_shift": com_shift,
            "damping": damping, "friction": friction, "friction_velocity": friction_velocity,
            "payload": payload, "gravity": gravity, "parameters": parameters or {},
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
