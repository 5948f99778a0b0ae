"""A plant in plain coordinates, of formulas or functions, and what it was made from."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import numpy as np

from ukctrl.core.algebra.factorisation import matvec, symmetric_matvec
from ukctrl.core.algebra.finite_differences import SIXTH_ORDER_WEIGHTS, STEP
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import ModelError, did_you_mean, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep, run
from ukctrl.robot.formulas.equation_plants import (
    EquationPlant,
    FunctionPlant,
    LagrangianPlant,
    PlantFunctions,
)
from ukctrl.robot.frame_site import Site
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.schema.plant_tables import Functions, FunctionsTable, LagrangianTable
from ukctrl.robot.schema.robot_file import Extras
from ukctrl.robot.snapshot import PointMotion, Snapshot
from ukctrl.robot.structure import Structure

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class EquationPlantSpec:
    """What a robot of formulas or functions is made from."""

    table: LagrangianTable | FunctionsTable | Functions
    extras: Extras
    functions: PlantFunctions | Functions | None
    """The methods of a plant of functions."""
    name: str
    title: str
    source: str
    path: Path | None

    @cached_property
    def plant(self) -> LagrangianPlant | FunctionPlant:
        """Where the dynamics come from."""
        table = self.table
        if not isinstance(table, LagrangianTable):
            assert self.functions is not None  # the loader put it there
            return FunctionPlant(self.functions)
        names = tuple(table.coordinates)
        return LagrangianPlant(
            kinetic=table.kinetic,
            potential_energy=table.potential,
            dissipation=table.dissipation,
            words=Vocabulary(names, names, constants=tuple(table.parameters.items())),
        )

    def with_parameters(self, values: Mapping[str, float]) -> EquationPlantSpec:
        """Return the recipe with some parameters changed.

        Raises:
            UnknownName: There is no such parameter.
        """
        parameters = dict(self.plant.parameters)
        for name in values:
            if name not in parameters:
                raise unknown_name("parameter", name, parameters)
        if isinstance(self.table, LagrangianTable):
            table = dc.replace(self.table, parameters={**self.table.parameters, **values})
            return dc.replace(self, table=table)
        functions: Any = self.functions
        return dc.replace(self, functions=dc.replace(functions, **values))


GROUND = "world"


class CoordinateRange(NamedTuple):
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

    plant: EquationPlant
    """Where the dynamics come from."""
    range: CoordinateRange
    """Where the coordinates may be."""
    recipe: EquationPlantSpec
    """What the robot was made from, to make it again with other parameters."""
    rotors: Vector = dc.field(default_factory=lambda: np.zeros(0))
    """Inertias of the rotors, the last coordinates [kg m^2 or kg]."""
    max_velocity: Vector | None = None
    """Largest absolute velocities, shape ``(nv,)``; None: unlimited."""

    @property
    def n_plant(self) -> int:
        """Number of coordinates that are the plant's own."""
        return self.nv - len(self.rotors)

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the plant's parameters."""
        return self.plant.parameters

    @property
    def model(self) -> Any:
        raise self.no_answer_error(
            "has no Pinocchio model; use the matrices of its snapshot, or give the robot a model "
            "file."
        )

    def no_answer_error(self, reason: str) -> ModelError:
        """Return the error for a question to which this kind of plant has no answer."""
        return ModelError(f"{self.plant.kind} plant {reason}")

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames: the world alone."""
        return (GROUND,)

    def site(self, name: str) -> Site:
        if name == GROUND:
            return self._ground
        raise ModelError(
            f"no frame named '{name}'{did_you_mean(name, self.frames)} {self.plant.kind} plant has "
            'coordinates and no bodies; write the constraint with kind = "expression" in them '
            f"({', '.join(self.coordinates[:6])}{', ...' if self.nq > 6 else ''})."
        )

    @cached_property
    def _ground(self) -> Site:
        none = np.zeros(self.nv, dtype=bool)
        return Site(0, np.eye(3), np.zeros(3), none, np.flatnonzero(none))

    @property
    def velocity_limit(self) -> Vector:
        return np.full(self.nv, np.inf) if self.max_velocity is None else self.max_velocity

    @property
    def q_lower(self) -> Vector:
        return self.range.lower

    @property
    def q_upper(self) -> Vector:
        return self.range.upper

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> FormulaStructure:
        where = CoordinateRange(self.range.neutral, lower, upper)
        return dc.replace(self, range=where, max_velocity=fastest)

    @property
    def gravity(self) -> Vector:
        raise ModelError(
            f"gravity of {self.plant.kind} plant is a part of its formulas; make it a parameter."
        )

    @property
    def neutral(self) -> Vector:
        return self.range.neutral.copy()

    def snapshot(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> Snapshot:
        return FormulaSnapshot(robot, q, v, t)

    def with_rotors(self, blocks: tuple[JointBlock, ...], inertia: Vector) -> FormulaStructure:
        links = [self.coordinates.index(block.name.removesuffix("_motor")) for block in blocks]
        neutral, free = self.range.neutral, np.full(len(links), np.inf)
        where = CoordinateRange(
            np.concatenate([neutral, neutral[links]]),
            np.concatenate([self.range.lower, -free]),
            np.concatenate([self.range.upper, free]),
        )
        rotors = np.concatenate([self.rotors, inertia])
        return dc.replace(self, blocks=(*self.blocks, *blocks), range=where, rotors=rotors)


@final
class FormulaSnapshot(Snapshot):
    """A robot whose structure has coordinates and no bodies, at one state."""

    __slots__ = ("_own", "_structure")

    def __init__(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> None:
        structure = cast("FormulaStructure", robot.structure)
        nv, n_plant = structure.nv, structure.n_plant
        self.M, self.nle = np.zeros((nv, nv)), np.zeros(nv)
        self.M[range(n_plant, nv), range(n_plant, nv)] = structure.rotors
        self._own, self._structure = n_plant, structure
        self.Jt, self.dJt = np.zeros((nv, 6)), np.zeros((nv, 6))
        self.rotations, self.translations = np.eye(3)[None].copy(), np.zeros((1, 3))
        super().__init__(robot, q, v, t)

    def terms(self) -> Sequence[KernelStep]:
        return self._structure.plant.steps(self, self._own)

    def force_derivative_steps(self, a: Vector, by_q: Matrix, by_v: Matrix) -> Sequence[KernelStep]:
        terms, n_plant = KernelSequence(self.terms()), self._own
        plant = n_plant, self.q, self.v, self.M, self.nle, a, np.array(SIXTH_ORDER_WEIGHTS)
        written = np.zeros((2, n_plant)), by_q, by_v
        return (BoundKernel(difference_force, terms.lines, *plant, *written, inside=terms),)

    def coriolis(self) -> Matrix:
        C, n_plant = np.zeros(self.M.shape), self._own
        plant = self._structure.plant
        C[:n_plant, :n_plant] = plant.coriolis(self.q[:n_plant], self.v[:n_plant], self.t)
        return C

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[KernelStep]:
        n_plant = self._own
        C = np.zeros((n_plant, n_plant))
        of_plant = self._structure.plant.coriolis_steps(self, n_plant, C)
        return *of_plant, BoundKernel(matvec, C, w[:n_plant], out[:n_plant])

    def momentum_drift_steps(self, out: Vector) -> Sequence[KernelStep]:
        n_plant = self._own
        C = np.zeros((n_plant, n_plant))
        of_plant = self._structure.plant.coriolis_steps(self, n_plant, C)
        return *of_plant, BoundKernel(symmetric_matvec, C, self.v[:n_plant], out[:n_plant])

    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[KernelStep]:
        self.inertial_parameters()
        return ()

    def inertial_parameters(self) -> Matrix:
        raise self._structure.no_answer_error(
            "has no bodies whose masses and inertias an adaptive law could estimate; give the "
            "robot a model file."
        )

    def com_steps(self, com: PointMotion) -> Sequence[KernelStep]:
        raise self._structure.no_answer_error(
            "has no bodies, so no centre of mass; write what must hold with kind = "
            '"expression" in its coordinates.'
        )

    def _own_potential(self, potential: Vector) -> Sequence[KernelStep]:
        return self._structure.plant.potential_steps(self, self._own, potential)


def plain_blocks(coordinates: Mapping[str, str]) -> tuple[JointBlock, ...]:
    """Return one block for each coordinate.

    Args:
        coordinates: Unit, ``"rad"`` or ``"m"``, by name.
    """
    return tuple(
        JointBlock.scalar(name, unit, index, index)
        for index, (name, unit) in enumerate(coordinates.items())
    )


@compiled
def difference_force(
    lines: Indices,
    count: int,
    q: Vector,
    v: Vector,
    M: Matrix,
    nle: Vector,
    a: Vector,
    weights: Vector,
    force: Matrix,
    by_q: Matrix,
    by_v: Matrix,
) -> int:
    """Write how ``M a + nle`` of the first coordinates changes with them and their rates.

    Args:
        lines: The table that writes ``M`` and ``nle``, and does so again at the end.
        count: How many coordinates.
        q: Coordinates, moved about and put back.
        v: Their rates, likewise.
        M: Mass matrix.
        nle: Bias force.
        a: Acceleration.
        weights: Of the differences over 2, 4, ... steps.
        force: Scratch, shape ``(2, count)``.
        by_q: Receives the derivatives.
        by_v: And those with the rates.

    Returns:
        What `run` does.
    """
    for c in range(2 * count):
        x, slopes, at = (q, by_q, c) if c < count else (v, by_v, c - count)
        center = x[at]
        for i in range(count):
            slopes[i, at] = 0.0
        for k in range(len(weights)):
            for side in range(2):
                x[at] = center + (1 - 2 * side) * (k + 1) * STEP
                code = run(lines)
                if code < 0:
                    x[at] = center
                    return code
                for i in range(count):
                    force[side, i] = nle[i]
                    for j in range(count):
                        force[side, i] += M[i, j] * a[j]
            for i in range(count):
                slopes[i, at] += weights[k] * (force[0, i] - force[1, i])
        for i in range(count):
            slopes[i, at] /= STEP
        x[at] = center
    return run(lines)
