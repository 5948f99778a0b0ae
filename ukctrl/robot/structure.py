"""What a plant is made of: its coordinates, joints, frames and limits, by name.

A `Structure` is either rigid bodies (`RigidStructure`) or a set of formulas or functions
(`FormulaStructure`); all else in this package reads it through the face that is stated here.
"""

from __future__ import annotations

import abc
import dataclasses as dc
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.robot import manifold_kernels as kernels
from ukctrl.robot.frame_site import Site
from ukctrl.robot.joint_layout import JointBlock, JointManifold, identifier
from ukctrl.robot.snapshot import Snapshot, state_vector

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase

SHAPES = get_args(JointManifold)
"""In the order of the kinds of `ukctrl.robot.manifold_kernels`."""


class CoordinateNames:
    """Names, units and manifold of coordinates and velocities, as joint blocks say them."""

    if TYPE_CHECKING:

        @property
        def blocks(self) -> tuple[JointBlock, ...]: ...

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

    def checked_q(self, q: ArrayLike, name: str = "q") -> Vector:
        """Return a configuration as an array of shape ``(nq,)``, which may be the one given.

        Raises:
            ShapeError: It has another shape.
            InputError: It is not numbers, not finite, labelled by other names, or has a rotation
                that is no quaternion or no (cos, sin) of length one within 1e-3.
        """
        array = state_vector(name, q, self.coordinates)
        fault = self.unit_norm_fault(array)
        if fault:
            raise InputError(f"{name}: {fault}. A joint without end goes by cos(x) and sin(x).")
        return array

    def checked_v(self, v: ArrayLike, name: str = "v") -> Vector:
        """Return a velocity or a tangent step as an array of shape ``(nv,)``; see `checked_q`."""
        return state_vector(name, v, self.dofs)

    def unit_norm_fault(self, q: Vector) -> str:
        """Say which quaternion or (cos, sin) pair is not of unit length; empty: all are."""
        if self.is_euclidean or kernels.has_unit_norms(self.manifold_table, np.array(q)):
            return ""
        for block in self.blocks:
            at = [block.iq + i for i, u in enumerate(block.coordinate_units) if u in ("", "1")]
            length = float(np.linalg.norm(q[at]))
            if at and abs(length - 1.0) > kernels.NOT_UNIT:
                break
        listed = ", ".join(self.coordinates[i] for i in at)
        return f"{listed} must have unit length; got {length:.4g}"

    @cached_property
    def manifold_table(self) -> Indices:
        """How configurations move, as `ukctrl.robot.manifold_kernels` take it, ``(k, 4)``."""
        table: list[list[int]] = []
        for block in self.blocks:
            kind = SHAPES.index(block.shape)
            if table and kind == table[-1][kernels.KIND] == kernels.LINE:
                table[-1][kernels.NV] += block.nv
            else:
                table.append([kind, block.iq, block.iv, block.nv])
        return np.array(table, dtype=np.int64).reshape(-1, 4)

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

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Vector:
        """Return the configuration reached from ``q`` by the tangent step ``dv``."""
        reached, step = np.array(self.checked_q(q)), np.array(self.checked_v(dv, "dv"))
        kernels.integrate(self.manifold_table, reached, step, reached)
        return reached

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Vector:
        """Return the tangent step from ``q0`` to ``q1``, the inverse of `integrate`."""
        first, last = np.array(self.checked_q(q0, "q0")), np.array(self.checked_q(q1, "q1"))
        step = np.empty(self.nv)
        kernels.difference(self.manifold_table, first, last, step)
        return step

    def integrate_jacobian(self, q: ArrayLike, dv: ArrayLike) -> Matrix:
        r"""Return the right Jacobian $J_r$ of `integrate` in ``dv``, shape ``(nv, nv)``.

        Along $q(t) = q_0 \oplus \xi(t)$ the velocity is $v = J_r(\xi)\,\dot\xi$.
        """
        jacobian, step = np.zeros((self.nv, self.nv)), np.array(self.checked_v(dv, "dv"))
        kernels.write_tangent_map(self.manifold_table, step, False, jacobian)
        return jacobian

    def chart_rate(self, xi: ArrayLike, v: ArrayLike) -> Vector:
        r"""Return $\dot\xi$ with $J_r(\xi)\,\dot\xi = v$; see `integrate_jacobian`.

        A step of an integrator adds these up, where configurations do not add.
        """
        step, rate = np.array(self.checked_v(xi, "xi")), np.array(self.checked_v(v))
        kernels.chart_rate(self.manifold_table, step, rate, rate)
        return rate

    def coordinate_rate(self, q: ArrayLike, v: ArrayLike) -> Vector:
        """Return ``q_dot``, shape ``(nq,)``, of the motion with velocity ``v``."""
        rate = np.empty(self.nq)
        position, velocity = np.array(self.checked_q(q)), np.array(self.checked_v(v))
        kernels.coordinate_rate(self.manifold_table, position, velocity, rate)
        return rate

    def bracket(self, v: ArrayLike) -> Matrix:
        r"""Return the matrix of the Lie bracket $[v, \cdot]$, shape ``(nv, nv)``.

        Zero but for joints whose freedoms do not commute. Of two neighbouring motions the second
        is at $\delta$ of the first, $q_2 = q_1 \oplus \delta$; then $\dot\delta = v_2 - v_1 -
        [v_1, \delta]$ to first order.
        """
        matrix = np.zeros((self.nv, self.nv))
        kernels.write_tangent_map(self.manifold_table, np.array(self.checked_v(v)), True, matrix)
        return matrix

    def normalize(self, q: ArrayLike) -> Vector:
        """Return ``q`` with quaternions and (cos, sin) pairs scaled to unit length."""
        unit = np.array(state_vector("q", q, self.coordinates))
        kernels.normalize(self.manifold_table, unit, unit)
        return unit


@dc.dataclass(frozen=True, eq=False)
class Structure(CoordinateNames, abc.ABC):
    """The names of all that a plant has, its limits, and how its configurations move."""

    is_autonomous: ClassVar[bool] = False
    """Whether mass matrix and bias force know nothing of the time."""
    has_bodies: ClassVar[bool] = False
    """Whether it is a `RigidStructure`, of bodies on joints."""
    blocks: tuple[JointBlock, ...]
    """Names, units and kinematics joint by joint."""

    @cached_property
    def trees(self) -> Indices:
        """Number of the tree that carries each velocity, shape ``(nv,)``; trees share no mass."""
        return np.zeros(self.nv, dtype=np.int64)

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values that formulas may use beside the coordinates."""
        return ()

    def copy_inertias_from(self, source: Structure) -> bool:
        """Become another that differs in the inertias of bodies alone; return whether it does.

        The numbers go into the arrays that tables of kernels know, so nobody else may have this
        structure: it must have been made for one run, with inertias of its own.
        """
        return False

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of formulas about this plant: coordinates, velocities, parameters, ``t``."""
        return Vocabulary(self.coordinates, self.dofs, constants=self.parameters)

    @property
    def picture_vocabulary(self) -> Vocabulary:
        """The words of formulas of pictures: the same without velocities."""
        return dc.replace(self.vocabulary, velocities=())

    def dof(self, name: str) -> int:
        """Return the index of a velocity, by its own name or that of a one-freedom joint.

        Raises:
            UnknownName: There is no such joint.
            InputError: The joint has several freedoms.
        """
        block = self._by_joint.get(name)
        if block is not None:
            if block.nv == 1:
                return block.iv
            raise InputError(
                f"joint '{name}' has {block.nv} freedoms; name one of "
                f"{', '.join(block.dofs)} instead."
            )
        if name not in self._places:
            raise unknown_name("joint", name, dict.fromkeys((*self.joints, *self.dofs)))
        return self._places[name]

    @cached_property
    def _by_joint(self) -> dict[str, JointBlock]:
        """The blocks by the name of their joint, as it is and as formulas write it; first come."""
        blocks: dict[str, JointBlock] = {}
        for block in self.blocks:
            for name in (block.name, identifier(block.name)):
                if name not in block.dofs:
                    blocks.setdefault(name, block)
        return blocks

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.dofs)}

    def block_of(self, dof: int) -> JointBlock:
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

    def effort_range(self, dof: int) -> tuple[float, float]:
        """Return the lowest and the highest effort of a motor there; infinite where unlimited."""
        limit = float(self.effort_limit[dof])
        return -limit, limit

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
    def snapshot(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> Snapshot:
        """Return a robot of this structure evaluated at ``(q, v, t)``."""

    @abc.abstractmethod
    def with_rotors(self, blocks: tuple[JointBlock, ...], inertia: Vector) -> Structure:
        """Return the structure with motors of elastic joints as further coordinates.

        Args:
            blocks: Their blocks, which follow the present ones.
            inertia: Their inertias, shape ``(k,)`` [kg m^2 or kg].
        """
