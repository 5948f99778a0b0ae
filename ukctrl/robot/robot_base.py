"""A robot put together, what it is asked for most, and how it is tried out."""

from __future__ import annotations

import dataclasses as dc
import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.block_diagonal import mass_blocks
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import ShapeError
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import Forces
from ukctrl.robot.frame_site import Site
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.model_audit import ModelDiagnostic
from ukctrl.robot.shape_sources import NO_SOURCES, ShapeSources
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import CoordinateNames, Structure
from ukctrl.robot.values_by_name import configuration

R = TypeVar("R", bound="RobotBase")


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class RobotBase(CoordinateNames):
    """The parts of a robot, put together. `Robot` adds the ways to make one."""

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
    audit: tuple[ModelDiagnostic, ...] = ()
    """What loading dropped or finds suspicious."""
    path: Path | None = None
    """The file it was loaded from."""
    override: Mapping[str, Any] = dc.field(default_factory=dict)
    """What was laid over that file."""
    home: Vector | None = None
    """Where a start begins that says nothing else, shape ``(nq,)``; None: at `neutral`."""
    keyframes: Mapping[str, tuple[Vector, Vector]] = dc.field(default_factory=dict)
    """Configurations and velocities that its model file has names for."""
    shape_sources: ShapeSources = NO_SOURCES
    """What its files say of its looks; see `look`."""

    @classmethod
    def of(cls: type[R], source: RobotBase) -> R:
        """Return one of this class with the parts of another."""
        return cls(**{field.name: getattr(source, field.name) for field in dc.fields(source)})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, nq={self.nq}, nv={self.nv}, nu={self.nu})"

    # States

    def snapshot(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Snapshot:
        """Evaluate the robot at ``(q, v, t)``; the velocity is zero when not given.

        Raises:
            ShapeError: ``q`` or ``v`` does not fit the robot.
            InputError: A number is not finite, a rotation not of unit length, or the entries are
                labelled by names that the robot does not have.
        """
        v = np.zeros(self.nv) if v is None else v
        return self.structure.snapshot(self, self.checked_q(q), self.checked_v(v), float(t))

    def take_inertias(self, source: RobotBase) -> bool:
        """Become another robot that differs in the inertias of bodies alone, where it does.

        See `Structure.copy_inertias_from`.
        """
        ours, theirs = self.forces.terms, source.forces.terms
        same = len(ours) == len(theirs) and all(map(operator.is_, ours, theirs))
        for field in dc.fields(self):
            if field.name not in ("structure", "forces"):
                same = same and getattr(self, field.name) is getattr(source, field.name)
        return same and self.structure.copy_inertias_from(source.structure)

    def site(self, name: str) -> Site:
        """Return where a frame is fixed.

        Raises:
            UnknownName: The robot has no frame of this name.
        """
        return self.structure.site(name)

    # Sizes and names

    @property
    def model(self) -> Any:
        """The ``pinocchio.Model``.

        Raises:
            ModelError: The robot is not made of one, but of formulas or functions.
        """
        return self.structure.model

    @property
    def blocks(self) -> tuple[JointBlock, ...]:
        """Names, units and kinematics joint by joint."""
        return self.structure.blocks

    @cached_property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.actuation.names)

    @cached_property
    def ties(self) -> Indices:
        """Which freedoms share entries of ``M`` and ``B``; see
        `ukctrl.core.algebra.block_diagonal`.
        """
        return mass_blocks(self.structure.trees, self.actuation.acts_on)

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.actuation.names

    @property
    def actuator_units(self) -> tuple[str, ...]:
        """Units of the inputs."""
        return self.actuation.units

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames; ``world`` is always one of them."""
        return self.structure.frames

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
        bounds = self.actuation.bounds
        return np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))

    @property
    def input_rate_limit(self) -> Vector:
        """Largest rate of change of the inputs, shape ``(nu,)``; infinite where unlimited."""
        return self.actuation.bounds.rate_limit.copy()

    def input_bounds(self, rate: ArrayLike) -> tuple[Vector, Vector]:
        """Return the lowest and the highest input that the motors can give at a speed.

        Args:
            rate: Rates of the inputs, ``v @ B``, shape ``(nu,)`` [rad/s or m/s].

        Returns:
            Both of shape ``(nu,)`` [N m or N]; infinite where unlimited.

        Raises:
            ShapeError: ``rate`` does not have one entry for each input.
        """
        rate_ = np.asarray(rate, dtype=np.float64)
        if rate_.shape != (self.nu,):
            raise ShapeError(f"rate must have shape ({self.nu},); got {rate_.shape}.")
        return self.actuation.bounds.at(rate_)

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
        """Every joint at zero, or at the ``qpos0`` of an MJCF file, shape ``(nq,)``."""
        return self.structure.neutral

    def configuration(self, table: Mapping[str, float]) -> Vector:
        """Return the configuration with some coordinates given by name, the others neutral.

        A continuous joint may be given by its angle: ``{"pole": np.pi}``.

        Raises:
            InputError: A coordinate does not exist, or is beyond its limits.
        """
        return configuration(self.structure, table)

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


CONSTANT_ATOL = 1e-13
"""A column of ``B`` that varies by no more than this between configurations is constant."""
PROBES = 5
"""Configurations at which a model is tried out. What holds at a few drawn at random holds
everywhere, but for analytic accidents of measure zero."""


def fold_constant_columns(robot: RobotBase, probes: Sequence[Vector]) -> Actuation:
    """Return the actuation with columns that turn out not to depend on ``q`` made constant.

    In a planar mechanism a torque between two links pushes the same way everywhere.
    """
    actuation = robot.actuation
    if not actuation.varies:
        return actuation
    at_rest = robot.snapshot(robot.neutral).B
    samples = np.array([robot.snapshot(q).B for q in probes])
    # absolute, as entries of B are of order one: a far weaker motor would count as constant
    varies = np.abs(samples - at_rest).max(axis=(0, 1)) > CONSTANT_ATOL
    constant = actuation.constant.copy()
    for index, _ in actuation.varying_columns:
        if not varies[index]:
            constant[:, index] = at_rest[:, index]
    moving = tuple((index, column) for index, column in actuation.varying_columns if varies[index])
    return dc.replace(actuation, constant=constant, varying_columns=moving)
