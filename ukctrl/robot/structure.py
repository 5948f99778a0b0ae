"""What a plant is made of: its coordinates, joints, frames and limits, by name.

A `Structure` is either a Pinocchio model (`RigidStructure`) or a set of formulas or functions
(`FormulaStructure`); all else in this package reads it through the face that is stated here.
"""

from __future__ import annotations

import abc
import dataclasses as dc
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.robot.interface import RobotInterface, Site
from ukctrl.robot.layout import Block, identifier
from ukctrl.robot.snapshot import Snapshot


class Named:
    """Sizes, names and units of coordinates and velocities, as blocks say them."""

    if TYPE_CHECKING:

        @property
        def blocks(self) -> tuple[Block, ...]: ...

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(block.nq for block in self.blocks)

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(block.nv for block in self.blocks)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the entries of ``q``, as written in formulas."""
        return tuple(name for block in self.blocks for name in block.coordinates)

    @cached_property
    def dofs(self) -> tuple[str, ...]:
        """Names of the entries of ``v``; a formula writes ``v.<name>``."""
        return tuple(name for block in self.blocks for name in block.dofs)

    @cached_property
    def rates(self) -> tuple[str, ...]:
        """Text of the time derivative of every coordinate."""
        return tuple(rate for block in self.blocks for rate in block.rates)

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the entries of ``q``."""
        return tuple(unit for block in self.blocks for unit in block.coordinate_units)

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """Units of the entries of ``v``."""
        return tuple(unit for block in self.blocks for unit in block.dof_units)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints in the model file."""
        return tuple(block.name for block in self.blocks)

    @cached_property
    def is_euclidean(self) -> bool:
        """Whether ``nq == nv`` and configurations are integrated by plain addition."""
        return all(block.shape == "line" for block in self.blocks)


@dc.dataclass(frozen=True, eq=False)
class Structure(Named, abc.ABC):
    """The names of all that a plant has, its limits, and how its configurations move."""

    blocks: tuple[Block, ...]
    """Names, units and kinematics joint by joint."""

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values that formulas may use beside the coordinates."""
        return ()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of formulas about this plant: coordinates, velocities, parameters, ``t``."""
        return Vocabulary(self.coordinates, self.dofs, constants=self.parameters)

    def dof(self, name: str) -> int:
        """Return the index of a velocity, by its own name or that of a one-freedom joint.

        Raises:
            UnknownName: There is no such joint.
            InputError: The joint has several freedoms.
        """
        for block in self.blocks:
            if name in (block.name, identifier(block.name)) and name not in block.dofs:
                if block.nv == 1:
                    return block.iv
                raise InputError(
                    f"joint '{name}' has {block.nv} freedoms; name one of "
                    f"{', '.join(block.dofs)} instead."
                )
        if name not in self.dofs:
            raise unknown_name("joint", name, dict.fromkeys((*self.joints, *self.dofs)))
        return self.dofs.index(name)

    def block_of(self, dof: int) -> Block:
        """Return the block that a velocity belongs to."""
        return next(b for b in self.blocks if b.iv <= dof < b.iv + b.nv)

    @property
    @abc.abstractmethod
    def model(self) -> Any:
        """The ``pinocchio.Model``.

        Raises:
            ModelError: The plant is not made of one.
        """

    @property
    @abc.abstractmethod
    def frames(self) -> tuple[str, ...]:
        """Names of the frames; ``world`` is always one of them."""

    @abc.abstractmethod
    def site(self, name: str) -> Site:
        """Return where a frame is fixed.

        Raises:
            UnknownName: There is no frame of this name.
        """

    # Limits and what the joints themselves bring along

    @property
    @abc.abstractmethod
    def velocity_limit(self) -> Vector:
        """Largest absolute velocity, shape ``(nv,)``; infinite where unlimited."""

    @property
    def effort_limit(self) -> Vector:
        """Largest absolute effort of a motor there, shape ``(nv,)``; infinite where unlimited."""
        return np.full(self.nv, np.inf)

    @property
    @abc.abstractmethod
    def q_lower(self) -> Vector:
        """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""

    @property
    @abc.abstractmethod
    def q_upper(self) -> Vector:
        """Upper limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""

    @abc.abstractmethod
    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> Structure:
        """Return the structure with other limits of its coordinates and velocities.

        Args:
            lower: Lower limits of the coordinates, shape ``(nq,)``.
            upper: Upper limits, shape ``(nq,)``.
            fastest: Largest absolute velocities, shape ``(nv,)``.
        """

    @property
    def damping(self) -> Vector:
        """Viscous friction that the model itself asks for, shape ``(nv,)``."""
        return np.zeros(self.nv)

    @property
    def friction(self) -> Vector:
        """Dry friction that the model itself asks for, shape ``(nv,)``."""
        return np.zeros(self.nv)

    @property
    @abc.abstractmethod
    def gravity(self) -> Vector:
        """Gravitational acceleration in the world, shape ``(3,)`` [m/s^2].

        Raises:
            ModelError: The plant does not know of one.
        """

    # Configurations

    @property
    @abc.abstractmethod
    def neutral(self) -> Vector:
        """The configuration from which others are counted, shape ``(nq,)``."""

    @abc.abstractmethod
    def integrate(self, q: Vector, dv: Vector) -> Vector:
        """Return the configuration reached from ``q`` by the tangent step ``dv``."""

    @abc.abstractmethod
    def difference(self, q0: Vector, q1: Vector) -> Vector:
        """Return the tangent step from ``q0`` to ``q1``, the inverse of `integrate`."""

    @abc.abstractmethod
    def integrate_jacobian(self, q: Vector, dv: Vector) -> Matrix:
        """Return the right Jacobian of `integrate` in ``dv``, shape ``(nv, nv)``."""

    @abc.abstractmethod
    def normalize(self, q: Vector) -> Vector:
        """Return ``q`` with quaternions and (cos, sin) pairs scaled to unit length."""

    @abc.abstractmethod
    def snapshot(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> Snapshot:
        """Return a robot of this structure evaluated at ``(q, v, t)``."""

    @abc.abstractmethod
    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> Structure:
        """Return the structure with motors of elastic joints as further coordinates.

        Args:
            blocks: Their blocks, which follow the present ones.
            inertia: Their inertias, shape ``(k,)`` [kg m^2 or kg].
        """
