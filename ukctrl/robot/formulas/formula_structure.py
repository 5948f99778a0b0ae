"""A plant in plain coordinates, whose dynamics come from formulas or functions."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError, near_miss
from ukctrl.robot.formulas.formula_snapshot import FormulaSnapshot
from ukctrl.robot.formulas.plant import Plant
from ukctrl.robot.layout import Block
from ukctrl.robot.structure import Site, Structure

if TYPE_CHECKING:
    from ukctrl.robot.formulas.build_plant import Recipe
    from ukctrl.robot.robot import Robot
    from ukctrl.robot.snapshot import Snapshot


GROUND = "world"


class Range(NamedTuple):
    """Where coordinates may be, each of shape ``(nq,)``."""

    neutral: Vector
    """Where they are when nothing says otherwise."""
    lower: Vector
    """Lower limits; infinite where unlimited."""
    upper: Vector
    """Upper limits; infinite where unlimited."""


@final
@dc.dataclass(frozen=True, eq=False)
class FormulaStructure(Structure):
    """Named coordinates, each a plain number, and the plant that moves them.

    There are no bodies, so the only frame is the world. Rotors (`ukctrl.robot.elastic`) come
    after the plant's own coordinates.
    """

    plant: Plant
    """Where the dynamics come from."""
    range: Range
    """Where the coordinates may be."""
    recipe: Recipe
    """What the robot was made from, to make it again with other parameters."""
    rotors: Vector = dc.field(default_factory=lambda: np.zeros(0))
    """Inertias of the rotors, the last coordinates [kg m^2 or kg]."""
    fastest: Vector | None = None
    """Largest absolute velocities, shape ``(nv,)``; None: unlimited."""

    @property
    def own(self) -> int:
        """Number of coordinates that are the plant's own."""
        return self.nv - len(self.rotors)

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the plant's parameters."""
        return self.plant.parameters

    @property
    def model(self) -> Any:
        """There is none.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"{self.plant.kind} plant has no Pinocchio model; use the matrices of its "
            "snapshot, or give the robot a model file."
        )

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames: the world alone."""
        return (GROUND,)

    def site(self, name: str) -> Site:
        """Return the world's site.

        Raises:
            ModelError: Another frame is asked for.
        """
        if name == GROUND:
            return self._ground
        raise ModelError(
            f"no frame named '{name}'{near_miss(name, self.frames)} {self.plant.kind} plant has "
            'coordinates and no bodies; write the constraint with kind = "expression" in them '
            f"({', '.join(self.coordinates[:6])}{', ...' if self.nq > 6 else ''})."
        )

    @cached_property
    def _ground(self) -> Site:
        none = np.zeros(self.nv, dtype=bool)
        return Site(0, np.eye(3), np.zeros(3), none, np.flatnonzero(none))

    @cached_property
    def _unlimited(self) -> Vector:
        return np.full(self.nv, np.inf)

    @property
    def velocity_limit(self) -> Vector:
        """Largest absolute velocity, shape ``(nv,)``; infinite where unlimited."""
        return self._unlimited if self.fastest is None else self.fastest

    @property
    def effort_limit(self) -> Vector:
        """Infinite, shape ``(nv,)``."""
        return self._unlimited

    @property
    def q_lower(self) -> Vector:
        """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self.range.lower

    @property
    def q_upper(self) -> Vector:
        """Upper limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self.range.upper

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> FormulaStructure:
        """Return the structure with other limits of its coordinates and velocities."""
        where = Range(self.range.neutral, lower, upper)
        return dc.replace(self, range=where, fastest=fastest)

    @property
    def damping(self) -> Vector:
        """Zero, shape ``(nv,)``."""
        return np.zeros(self.nv)

    @property
    def friction(self) -> Vector:
        """Zero, shape ``(nv,)``."""
        return np.zeros(self.nv)

    @property
    def gravity(self) -> Vector:
        """Not known: it is inside the plant's potential.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"gravity of {self.plant.kind} plant is a part of its formulas; make it a parameter."
        )

    @property
    def neutral(self) -> Vector:
        """The configuration from which others are counted, shape ``(nq,)``."""
        return self.range.neutral.copy()

    def integrate(self, q: Vector, dv: Vector) -> Vector:
        """Return ``q + dv``."""
        return np.asarray(q + dv)

    def difference(self, q0: Vector, q1: Vector) -> Vector:
        """Return ``q1 - q0``."""
        return np.asarray(q1 - q0)

    def integrate_jacobian(self, q: Vector, dv: Vector) -> Matrix:
        """Return the identity, shape ``(nv, nv)``."""
        return np.eye(self.nv)

    def normalize(self, q: Vector) -> Vector:
        """Return ``q``: every number is a configuration."""
        return np.array(q)

    def snapshot(self, robot: Robot, q: Vector, v: Vector, t: float) -> Snapshot:
        """Return a robot of this structure evaluated at ``(q, v, t)``."""
        return FormulaSnapshot(robot, self, q, v, t)

    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> FormulaStructure:
        """Return the structure with motors of elastic joints as further coordinates."""
        links = [self.coordinates.index(block.name.removesuffix("_motor")) for block in blocks]
        neutral, free = self.range.neutral, np.full(len(links), np.inf)
        where = Range(
            np.concatenate([neutral, neutral[links]]),
            np.concatenate([self.range.lower, -free]),
            np.concatenate([self.range.upper, free]),
        )
        rotors = np.concatenate([self.rotors, inertia])
        return dc.replace(self, blocks=(*self.blocks, *blocks), range=where, rotors=rotors)


def plain_blocks(coordinates: Mapping[str, str]) -> tuple[Block, ...]:
    """Return one block for each coordinate.

    Args:
        coordinates: Unit, ``"rad"`` or ``"m"``, by name.
    """
    return tuple(
        Block(
            name=name, joint=0, shape="line", iq=index, iv=index, coordinates=(name,),
            dofs=(name,), rates=(f"v.{name}",), coordinate_units=(unit,), dof_units=(f"{unit}/s",),
        )
        for index, (name, unit) in enumerate(coordinates.items())
    )  # fmt: skip
