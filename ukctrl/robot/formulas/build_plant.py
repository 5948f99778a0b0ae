"""From what describes a plant without a model file to a robot."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from collections.abc import Mapping, Sequence

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, ModelError, UkctrlError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.files.toml import error_context
from ukctrl.core.message_text import error_text
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.robot import model_audit
from ukctrl.robot.actuators import Actuation, Input, actuation, formula_input
from ukctrl.robot.elastic import add_elastic_joints
from ukctrl.robot.forces import Forces, forces
from ukctrl.robot.formulas.coordinate_structure import (
    CoordinateRange,
    EquationPlantSpec,
    FormulaStructure,
    plain_blocks,
)
from ukctrl.robot.formulas.equation_plants import (
    EquationPlant,
    FunctionColumn,
    FunctionPlant,
    LagrangianPlant,
)
from ukctrl.robot.motor_limits import MotorLimits
from ukctrl.robot.robot_base import PROBES, R, RobotBase, fold_constant_columns
from ukctrl.robot.schema.force_tables import FormulaInput
from ukctrl.robot.schema.picture_tables import refuse_unknown_names
from ukctrl.robot.schema.plant_tables import Functions, FunctionsTable, LagrangianTable, PlantTable
from ukctrl.robot.shape_sources import ShapeSources
from ukctrl.robot.structure import Structure
from ukctrl.robot.values_by_name import with_limits


def with_parameters(robot: R, values: Mapping[str, float]) -> R:
    """Return a robot of formulas or functions with some parameters changed.

    Raises:
        InputError: The robot has no such parameter, or is not defined with this value.
    """
    structure = robot.structure
    if not isinstance(structure, FormulaStructure):
        raise InputError(
            f"robot '{robot.name}' is a model of rigid bodies and has no parameters; use "
            "mass_scale, inertia_scale, com_shift or payload."
        )
    recipe = structure.recipe
    added = robot.forces.terms[len(build_plant(recipe).forces.terms) :]  # earlier perturbations
    plant = build_plant(recipe.with_parameters(values))
    return type(robot).of(dc.replace(plant, forces=Forces((*plant.forces.terms, *added))))


def build_plant(recipe: EquationPlantSpec) -> RobotBase:
    """Return the robot of a recipe.

    Raises:
        InputError: A formula, a name or a function is not acceptable.
    """
    with error_context(recipe.path) if recipe.path is not None else contextlib.nullcontext():
        return _assembled(recipe)


def _assembled(recipe: EquationPlantSpec) -> RobotBase:
    table, extras, plant = recipe.table, recipe.extras, recipe.plant
    key = "functions" if isinstance(plant, FunctionPlant) else "lagrangian"
    with error_context(key):
        if isinstance(plant, LagrangianPlant):
            _ = plant.motion  # derived now, so that its faults are the file's
        structure = FormulaStructure(plain_blocks(table.coordinates), plant, _range(table), recipe)
        probes = _probe_configurations(structure)
        states = _valid_configurations(plant, structure, probes)

    def made_inputs(structure: Structure, without: frozenset[str] = frozenset()) -> Actuation:
        with error_context(key):
            plant_inputs = _inputs(table, plant, structure, states)
        specs = extras.actuator if extras.actuator is not None or plant_inputs is None else ()
        return actuation(structure, specs, without, plant_inputs or ())

    inputs, joints = made_inputs(structure), None
    whole: Structure = structure
    findings = [*model_audit.actuation_diagnostics(structure, inputs)]
    if extras.elastic is not None:
        whole, inputs, joints = add_elastic_joints(extras.elastic, structure, made_inputs)
    whole = with_limits(whole, extras.limit)
    findings += model_audit.unit_diagnostics(whole)
    refuse_unknown_names(
        extras.picture, whole.picture_vocabulary, whole.frames, inputs.names, extras.passive
    )
    pushes = Forces(
        (*plant.terms(), *forces(whole, extras.force).terms, *((joints,) if joints else ()))
    )
    robot = RobotBase(
        name=recipe.name,
        title=recipe.title,
        source=recipe.source,
        structure=whole,
        actuation=inputs,
        forces=pushes,
        passive=extras.passive,
        path=recipe.path,
        elastic=joints,
        shape_sources=ShapeSources(extras.picture),
    )
    rotors = whole.neutral[structure.nv :]
    tried = [np.concatenate([q, rotors]) for q in states]
    _refuse_singular_mass(robot, key, tried)
    return dc.replace(robot, actuation=fold_constant_columns(robot, tried), audit=tuple(findings))


def _range(table: PlantTable) -> CoordinateRange:
    names = list(table.coordinates)
    neutral, lower, upper = np.zeros(len(names)), *np.full((2, len(names)), [[-np.inf], [np.inf]])
    for name, value in table.neutral.items():
        neutral[names.index(name)] = value
    for name, (low, high) in table.limits.items():
        lower[names.index(name)], upper[names.index(name)] = low, high
    return CoordinateRange(neutral, lower, upper)


def _probe_configurations(structure: FormulaStructure) -> list[Vector]:
    """Return configurations at which to try the plant out, the neutral one first."""
    rng, where = np.random.default_rng(0), structure.range
    reach = np.where([unit == "rad/s" for unit in structure.dof_units], np.pi, 1.0)
    lower = np.where(np.isfinite(where.lower), where.lower, where.neutral - reach)
    upper = np.where(np.isfinite(where.upper), where.upper, where.neutral + reach)
    return [where.neutral, *(rng.uniform(lower, upper) for _ in range(PROBES))]


def _valid_configurations(
    plant: EquationPlant, structure: FormulaStructure, probes: list[Vector]
) -> list[Vector]:
    """Return the configurations at which the plant is defined.

    Raises:
        ModelError: It is not defined at the neutral one, or a function is wrong.
    """
    n = len(probes[0])
    good = []
    for number, q in enumerate(probes):
        M, nle = np.empty((n, n)), np.empty(n)
        try:
            if isinstance(plant, FunctionPlant):
                plant.check(q, np.ones(n))
            plant.write_terms(q, np.zeros(n), 0.0, M, nle)
            plant.potential(q, 0.0)
        except DomainError as error:
            fault: Exception = error
        except (UkctrlError, MemoryError):
            raise
        except Exception as error:  # a user's function may raise anything
            fault = error
            if number == 0 or not isinstance(error, ArithmeticError):
                raise ModelError(
                    f"it fails at {_state_text(structure, q)}: {_sentence(error)}"
                ) from error
        else:
            if np.isfinite(M).all() and np.isfinite(nle).all():
                good.append(q)
                continue
            fault = DomainError("the mass matrix or a force is not finite")
        if number == 0:
            raise ModelError(
                f"it has no finite value at {_state_text(structure, q)}: {_sentence(fault)} Give "
                "a neutral "
                "configuration where it has, such as neutral = { "
                f"{structure.coordinates[0]} = 1.0 }}."
            )
    return good


def _sentence(error: Exception) -> str:
    """Return what an error says; one of Python's with its class."""
    message = (
        str(error).strip().rstrip(".") if isinstance(error, UkctrlError) else error_text(error)
    )
    return f"{message}."


def _state_text(structure: Structure, q: Vector) -> str:
    return ", ".join(f"{name} = {x:.3g}" for name, x in zip(structure.coordinates, q, strict=True))


def _inputs(
    table: LagrangianTable | FunctionsTable | Functions,
    plant: EquationPlant,
    structure: Structure,
    states: list[Vector],
) -> Sequence[Input] | None:
    """Return the inputs that the plant itself defines; None where it leaves them open."""
    if isinstance(plant, FunctionPlant):
        assert not isinstance(table, LagrangianTable)
        return _columns(table, plant, structure, states)
    assert isinstance(table, LagrangianTable)
    if table.inputs is None:
        return None
    inputs = []
    for name, text in table.inputs.items():
        with error_context(f"inputs.{name}"):
            if not text:
                raise InputError("must name at least one velocity that it pushes.")
            inputs.append(formula_input(structure, FormulaInput(name=name, column=text)))
    return inputs


def _columns(
    table: FunctionsTable | Functions,
    plant: FunctionPlant,
    structure: Structure,
    states: list[Vector],
) -> Sequence[Input] | None:
    """Return the inputs that the columns of ``B(q)`` are."""
    B = plant.actuation(states[0])
    if B is None:
        if table.inputs is not None:
            raise InputError("inputs needs a method B(q); without it every coordinate has a motor.")
        return None
    units = table.inputs or {f"u{i + 1}": "1" for i in range(B.shape[1])}
    if len(units) != B.shape[1]:
        raise InputError(
            f"inputs must have one entry for each of the {B.shape[1]} columns of B(q); "
            f"got {len(units)}."
        )
    mask = np.arange(structure.nv) < len(states[0])
    varies = np.zeros(B.shape[1], dtype=bool)
    for q in states[1:]:
        varies |= (np.asarray(plant.actuation(q)) != B).any(axis=0)
    inputs = []
    for index, (name, unit) in enumerate(units.items()):
        constant = np.zeros(structure.nv)
        constant[mask] = B[:, index]
        column = FunctionColumn(mask, plant, index) if varies[index] else constant
        inputs.append(Input(name, unit, MotorLimits(), column))
    return inputs


def _refuse_singular_mass(robot: RobotBase, key: str, states: list[Vector]) -> None:
    where = "kinetic" if key == "lagrangian" else "M"
    structure = robot.structure
    masses = [robot.snapshot(q).M for q in states]
    for q, M in zip(states, masses, strict=True):
        diagonal = np.diag(M)
        worst = first_smallest(diagonal)
        if diagonal[worst] < 0.0:
            raise ModelError(
                f"{key}: {where} must be positive definite; at "
                f"{_state_text(structure, q)} moving '{robot.dofs[worst]}' has the inertia "
                f"{diagonal[worst]:.3g}."
            )
    findings = model_audit.mass_diagnostics(
        structure, masses, where, "an absurd number", f"Add what it moves to {where}."
    )
    for finding in findings:
        raise ModelError(f"{key}: {where}: {finding.message}")
