"""A plant in plain coordinates, of formulas or functions, and what it was made from."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.differences import jacobian
from ukctrl.core.algebra.factorisation import multiplied, multiplied_both_ways
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError, near_miss, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.core.program import Call, Step
from ukctrl.robot.formulas.plant import FunctionPlant, Lagrangian, Plant, PlantFunctions
from ukctrl.robot.interface import RobotInterface, Site
from ukctrl.robot.layout import Block
from ukctrl.robot.schema.plant_tables import Functions, FunctionsTable, LagrangianTable
from ukctrl.robot.schema.robot_file import Extras
from ukctrl.robot.snapshot import PointMotion, Snapshot
from ukctrl.robot.structure import Structure


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """What a robot of formulas or functions is made from."""

    table: LagrangianTable | FunctionsTable | Functions
    extras: Extras
    functions: PlantFunctions | None
    """The methods of a plant of functions."""
    name: str
    title: str
    source: str
    path: Path | None

    @cached_property
    def plant(self) -> Lagrangian | FunctionPlant:
        """Where the dynamics come from."""
        table = self.table
        if not isinstance(table, LagrangianTable):
            assert self.functions is not None  # the loader put it there
            return FunctionPlant(self.functions)
        names = tuple(table.coordinates)
        return Lagrangian(
            kinetic=table.kinetic,
            potential_energy=table.potential,
            dissipation=table.dissipation,
            words=Vocabulary(names, names, constants=tuple(table.parameters.items())),
        )

    def with_parameters(self, values: Mapping[str, float]) -> Recipe:
        """Return the recipe with some parameters changed.

        Raises:
            UnknownName: There is no such parameter.
        """
        known = dict(self.plant.parameters)
        for name in values:
            if name not in known:
                raise unknown_name("parameter", name, known)
        if isinstance(self.table, LagrangianTable):
            table = dc.replace(self.table, parameters={**self.table.parameters, **values})
            return dc.replace(self, table=table)
        functions: Any = self.functions
        return dc.replace(self, functions=dc.replace(functions, **values))


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
        raise self.lacks(
            "has no Pinocchio model; use the matrices of its snapshot, or give the robot a model "
            "file."
        )

    def lacks(self, what: str) -> ModelError:
        """Return the error for a question to which this kind of plant has no answer."""
        return ModelError(f"{self.plant.kind} plant {what}")

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames: the world alone."""
        return (GROUND,)

    def site(self, name: str) -> Site:
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

    @property
    def velocity_limit(self) -> Vector:
        return np.full(self.nv, np.inf) if self.fastest is None else self.fastest

    @property
    def q_lower(self) -> Vector:
        return self.range.lower

    @property
    def q_upper(self) -> Vector:
        return self.range.upper

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> FormulaStructure:
        where = Range(self.range.neutral, lower, upper)
        return dc.replace(self, range=where, fastest=fastest)

    @property
    def gravity(self) -> Vector:
        raise ModelError(
            f"gravity of {self.plant.kind} plant is a part of its formulas; make it a parameter."
        )

    @property
    def neutral(self) -> Vector:
        return self.range.neutral.copy()

    def snapshot(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> Snapshot:
        return FormulaSnapshot(robot, q, v, t)

    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> FormulaStructure:
        links = [self.coordinates.index(block.name.removesuffix("_motor")) for block in blocks]
        neutral, free = self.range.neutral, np.full(len(links), np.inf)
        where = Range(
            np.concatenate([neutral, neutral[links]]),
            np.concatenate([self.range.lower, -free]),
            np.concatenate([self.range.upper, free]),
        )
        rotors = np.concatenate([self.rotors, inertia])
        return dc.replace(self, blocks=(*self.blocks, *blocks), range=where, rotors=rotors)


@final
class FormulaSnapshot(Snapshot):
    """A robot whose structure has coordinates and no bodies, at one state."""

    __slots__ = ("_fill", "_own", "_structure")

    def __init__(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> None:
        structure: FormulaStructure = robot.structure
        nv, own = structure.nv, structure.own
        self.M, self.nle = np.zeros((nv, nv)), np.zeros(nv)
        self.M[range(own, nv), range(own, nv)] = structure.rotors
        self._own, self._structure, self._fill = own, structure, structure.plant.fill
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self.rotations, self.translations = np.eye(3)[None].copy(), np.zeros((1, 3))
        super().__init__(robot, q, v, t)

    def terms(self) -> Sequence[Step]:
        return self._structure.plant.steps(self, self._own)

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        own, size = self._own, len(self.v)
        q, v, t, still = self.q[:own], self.v[:own], self.t, np.zeros(own)

        def force(dq: Vector, dv: Vector) -> Vector:
            M, nle = np.zeros((own, own)), np.zeros(own)
            self._fill(q + dq, v + dv, t, M, nle)
            nle += M @ a[:own]
            return nle

        by_q, by_v = np.zeros((size, size)), np.zeros((size, size))
        by_q[:own, :own] = jacobian(lambda dq: force(dq, still), own)
        by_v[:own, :own] = jacobian(lambda dv: force(still, dv), own)
        return by_q, by_v

    def coriolis(self) -> Matrix:
        C, own = np.zeros(self.M.shape), self._own
        plant = self._structure.plant
        C[:own, :own] = plant.coriolis(self.q[:own], self.v[:own], self.t)
        return C

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[Step]:
        own = self._own
        C = np.zeros((own, own))
        of_plant = self._structure.plant.coriolis_steps(self, own, C)
        return *of_plant, Call(multiplied, C, w[:own], out[:own])

    def momentum_drift_steps(self, out: Vector) -> Sequence[Step]:
        own = self._own
        C = np.zeros((own, own))
        of_plant = self._structure.plant.coriolis_steps(self, own, C)
        return *of_plant, Call(multiplied_both_ways, C, self.v[:own], out[:own])

    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[Step]:
        self.inertial_parameters()
        return ()

    def inertial_parameters(self) -> Matrix:
        raise self._structure.lacks(
            "has no bodies whose masses and inertias an adaptive law could estimate; give the "
            "robot a model file."
        )

    def com_steps(self, com: PointMotion) -> Sequence[Step]:
        raise self._structure.lacks(
            "has no bodies, so no centre of mass; write what must hold with kind = "
            '"expression" in its coordinates.'
        )

    def _own_potential(self, potential: Vector) -> Sequence[Step]:
        return self._structure.plant.potential_steps(self, self._own, potential)


def plain_blocks(coordinates: Mapping[str, str]) -> tuple[Block, ...]:
    """Return one block for each coordinate.

    Args:
        coordinates: Unit, ``"rad"`` or ``"m"``, by name.
    """
    return tuple(
        Block.scalar(name, unit, index, index)
        for index, (name, unit) in enumerate(coordinates.items())
    )
