"""Actuators: from the ``[[actuator]]`` tables to the matrix ``B`` in ``B u``."""

from __future__ import annotations

import abc
import dataclasses as dc
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Matrix, Vector, lazy_zeros
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.symbolic import Vocabulary, check_names, parse
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import applied_force_kernels
from ukctrl.robot.frame_site import Site
from ukctrl.robot.motor_limits import InputBounds, LimitPair, MotorLimits
from ukctrl.robot.schema.force_tables import (
    AnyActuator,
    FormulaInput,
    JointMotor,
    TorqueBetween,
    Transmission,
    Wrench,
)
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure


@dc.dataclass(frozen=True, eq=False)
class InputColumn(abc.ABC):
    """A column of ``B`` that depends on the configuration."""

    acts_on: Flags
    """Which velocities it may push, shape ``(nv,)``."""
    on_bodies: ClassVar[bool] = True
    """Whether it pushes bodies, rather than coordinates."""

    @abc.abstractmethod
    def steps(self, snapshot: Snapshot, at: int) -> Sequence[KernelStep]:
        """Return what writes the generalised force per unit of input into a column of ``B``."""


@dc.dataclass(frozen=True, eq=False)
class WrenchColumn(InputColumn):
    """Column of a force and a torque fixed in a frame: ``J' [force; torque]``."""

    site: Site
    force: Vector
    torque: Vector

    def steps(self, snapshot: Snapshot, at: int) -> Sequence[KernelStep]:
        s, site = snapshot, self.site
        force, torque = site.rotation @ self.force, site.rotation @ self.torque
        kernel = applied_force_kernels.wrench_column
        return (BoundKernel(kernel, s.joints, site.place, force, torque, at, s.B),)


@dc.dataclass(frozen=True, eq=False)
class TorqueColumn(InputColumn):
    """Column of a torque between two frames: ``(J_2 - J_1)' [0; axis]``."""

    first: Site
    axis: Vector
    """In the axes of the joint that carries the first frame."""
    sign: Vector
    """+1 where a velocity turns the second frame only, -1 the first only, else 0."""

    def steps(self, snapshot: Snapshot, at: int) -> Sequence[KernelStep]:
        s, joint = snapshot, self.first.joint
        kernel = applied_force_kernels.torque_column
        return (BoundKernel(kernel, s.joints, joint, self.axis, self.sign, at, s.B),)


@dc.dataclass(frozen=True, eq=False)
class FormulaColumn(InputColumn):
    """Column given as formulas of the coordinates."""

    dofs: NDArray[np.intp]
    texts: tuple[str, ...]
    words: Vocabulary
    """Coordinates and parameters, without velocities and time."""
    on_bodies: ClassVar[bool] = False

    def steps(self, snapshot: Snapshot, at: int) -> Sequence[KernelStep]:
        values = np.zeros(len(self.dofs))
        formula = self._evaluate.as_step((snapshot.q,), values)
        return formula, BoundKernel(
            applied_force_kernels.scatter_column, self.dofs, values, at, snapshot.B
        )

    @cached_property
    def _evaluate(self) -> CompiledFormula:
        parsed = [parse(text, self.words) for text in self.texts]
        return compile_function(parsed, [self.words.plain], "; ".join(self.texts))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the formulas out: they are made again of their texts."""
        return {key: value for key, value in self.__dict__.items() if key != "_evaluate"}


@dc.dataclass(frozen=True, eq=False)
class Actuation:
    """The inputs of a robot and how they push on it."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    bounds: InputBounds
    """What the motors can give."""
    constant: Matrix
    """``B`` without the columns that depend on the configuration, shape ``(nv, nu)``."""
    varying_columns: tuple[tuple[int, InputColumn], ...] = ()

    @property
    def varies(self) -> bool:
        """Whether ``B`` depends on the configuration."""
        return bool(self.varying_columns)

    @property
    def acts_on(self) -> Flags:
        """Which velocities each input may push, shape ``(nv, nu)``."""
        pushed: Flags = np.not_equal(self.constant, 0.0)
        for at, column in self.varying_columns:
            pushed[:, at] = column.acts_on
        return pushed

    def steps(self, snapshot: Snapshot) -> list[KernelStep]:
        """Return what writes the columns that depend on the configuration into ``snapshot.B``."""
        return [step for at, column in self.varying_columns for step in column.steps(snapshot, at)]


@dc.dataclass(frozen=True)
class Input:
    """One input, and the column of ``B`` that says what it does."""

    name: str
    unit: str
    motor: MotorLimits
    """What it can give."""
    column: Vector | InputColumn
    """Generalised force per unit of input, shape ``(nv,)``; or what evaluates it."""
    limit: LimitPair = (-np.inf, np.inf)
    """Lowest and highest input where the motor does not say."""


def actuation(
    structure: Structure,
    specs: Sequence[AnyActuator] | None,
    without: frozenset[str] = frozenset(),
    plant_inputs: Sequence[Input] = (),
) -> Actuation:
    """Put the actuators of a robot together.

    Args:
        structure: The robot's names.
        specs: The actuators; ``None`` for one motor per joint with one freedom.
        without: Joints that get no motor by default, such as those that mimic another.
        plant_inputs: Inputs that the plant itself defines; they come first.

    Raises:
        ModelError: Two inputs have one name.
        InputError: A joint or frame does not exist.
    """
    if specs is None:
        specs = [
            JointMotor(joint=block.dofs[0])
            for block in structure.blocks
            if block.nv == 1 and block.name not in without
        ]
    inputs = list(plant_inputs)
    for number, spec in enumerate(specs):
        with error_context(f"actuator[{number}]"):
            inputs += _inputs(structure, spec)
    names = tuple(channel.name for channel in inputs)
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise ModelError(f"actuator names must differ; '{double}' appears more than once.")
    constant = lazy_zeros(structure.nv, len(inputs))
    moving: list[tuple[int, InputColumn]] = []
    for index, channel in enumerate(inputs):
        if isinstance(channel.column, np.ndarray):
            at = np.flatnonzero(channel.column)
            constant[at, index] = channel.column[at]
        else:
            moving.append((index, channel.column))
    bounds = InputBounds.of([(channel.name, channel.motor, channel.limit) for channel in inputs])
    return Actuation(
        names, tuple(channel.unit for channel in inputs), bounds, constant, tuple(moving)
    )


def _inputs(structure: Structure, spec: AnyActuator) -> list[Input]:
    match spec:
        case JointMotor():
            return [_joint_motor(structure, spec)]
        case Transmission():
            return _transmission(structure, spec)
        case TorqueBetween():
            return [_torque_between(structure, spec)]
        case Wrench():
            return [_wrench(structure, spec)]
        case FormulaInput():
            with error_context("column"):
                return [formula_input(structure, spec)]


def _joint_motor(structure: Structure, spec: JointMotor) -> Input:
    if spec.gear == 0.0:
        raise ModelError(f"gear of the motor at joint '{spec.joint}' must not be zero.")
    index = structure.dof(spec.joint)
    column = np.zeros(structure.nv)
    column[index] = spec.gear
    low, high = sorted(effort / spec.gear for effort in structure.effort_range(index))
    return Input(
        name=spec.name or structure.dofs[index],
        unit=spec.unit or _effort_unit(structure.dof_units[index]),
        motor=spec,
        column=column,
        limit=(low, high),
    )


def _effort_unit(velocity_unit: str) -> str:
    return "N" if velocity_unit == "m/s" else "N m"


def _transmission(structure: Structure, spec: Transmission) -> list[Input]:
    names: tuple[str, ...]
    joints: tuple[str, ...]
    if spec.ratios is not None:
        names, joints = (spec.name or "",), tuple(spec.ratios)
        matrix = np.array(list(spec.ratios.values()))[:, None]
    else:
        names, joints = spec.names or (), spec.joints or ()
        matrix = np.array(spec.matrix)
    rows = [structure.dof(joint) for joint in joints]
    if len(set(rows)) < len(rows):
        raise ModelError(f"a transmission must name every joint once; got {', '.join(joints)}.")
    units = {_effort_unit(structure.dof_units[row]) for row in rows}
    columns = np.zeros((structure.nv, len(names)))
    columns[rows] = matrix
    unit = spec.unit or (units.pop() if len(units) == 1 else "N m")
    return [Input(name, unit, spec, columns[:, index].copy()) for index, name in enumerate(names)]


def formula_input(structure: Structure, spec: FormulaInput) -> Input:
    """Return the input whose column of ``B`` formulas by velocity describe.

    Raises:
        InputError: A velocity does not exist, or a formula is not acceptable.
    """
    words = dc.replace(structure.vocabulary, velocities=(), time=False)
    dofs, used = [], set[str]()
    for name, text in spec.column.items():
        with error_context(name):
            dofs.append(structure.dof(name))
            used |= check_names(text, words)
    if len(set(dofs)) < len(dofs):
        raise ModelError(f"a column must name every joint once; got {', '.join(spec.column)}.")
    units = {_effort_unit(structure.dof_units[dof]) for dof in dofs}
    unit = spec.unit or (units.pop() if len(units) == 1 else "1")
    texts = tuple(spec.column.values())
    if used:
        reached = np.isin(np.arange(structure.nv), dofs)
        column = FormulaColumn(reached, np.array(dofs), texts, words)
        return Input(spec.name, unit, spec, column)
    constant = np.zeros(structure.nv)
    constant[dofs] = [float(parse(text, words)) for text in texts]
    return Input(spec.name, unit, spec, constant)


def _torque_between(structure: Structure, spec: TorqueBetween) -> Input:
    first, second = (structure.site(frame) for frame in spec.frames)
    axis = np.array(spec.axis) / np.linalg.norm(spec.axis)
    sign = second.support.astype(float) - first.support.astype(float)
    if first.joint == second.joint:
        raise ModelError(
            f"frames '{spec.frames[0]}' and '{spec.frames[1]}' of actuator '{spec.name}' are on "
            "one body; a torque between them does nothing."
        )
    column = TorqueColumn(np.not_equal(sign, 0.0), first, first.rotation @ axis, sign)
    return Input(spec.name, "N m", spec, column)


def _wrench(structure: Structure, spec: Wrench) -> Input:
    site = structure.site(spec.frame)
    force, torque = np.array(spec.force or (0.0,) * 3), np.array(spec.torque or (0.0,) * 3)
    if not site.support.any():
        raise ModelError(f"frame '{spec.frame}' of actuator '{spec.name}' does not move.")
    unit = spec.unit or ("N" if force.any() else "N m")
    return Input(spec.name, unit, spec, WrenchColumn(site.support, site, force, torque))
