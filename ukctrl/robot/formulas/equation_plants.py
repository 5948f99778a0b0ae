"""Plants that are not rigid bodies of a model file: formulas or functions of the coordinates."""

from __future__ import annotations

import abc
import dataclasses as dc
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.lagrange_equations import (
    LagrangeEquations,
    derive_coriolis,
    derive_lagrange_equations,
)
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import first_largest
from ukctrl.robot import applied_force_kernels
from ukctrl.robot.actuators import InputColumn
from ukctrl.robot.forces import AppliedForce
from ukctrl.robot.schema.plant_tables import Functions
from ukctrl.robot.snapshot import Snapshot


class EquationPlant(abc.ABC):
    """Where the dynamics of a plant without a model file come from.

    Coordinates are plain numbers, ``q_dot = v``, so that ``nq == nv == n``.
    """

    @property
    @abc.abstractmethod
    def kind(self) -> str:
        """What messages call it, such as ``"a [lagrangian]"``."""

    @property
    @abc.abstractmethod
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values of its parameters."""

    @abc.abstractmethod
    def write_terms(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        """Write the mass matrix, shape ``(n, n)``, and the bias force, shape ``(n,)``."""

    def steps(self, snapshot: Snapshot, n_plant: int) -> Sequence[KernelStep]:
        """Return what writes the terms of its ``n_plant`` coordinates, the first ones of a
        robot.
        """
        s, M, nle = snapshot, snapshot.M[:n_plant, :n_plant], snapshot.nle[:n_plant]
        return (lambda: self.write_terms(s.q[:n_plant], s.v[:n_plant], s.t, M, nle),)

    @abc.abstractmethod
    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        r"""Return a $C$ that makes $\dot M - 2 C$ skew-symmetric, shape ``(n, n)``."""

    def coriolis_steps(self, snapshot: Snapshot, n_plant: int, C: Matrix) -> Sequence[KernelStep]:
        """Return what writes `coriolis`; see `steps`."""
        s = snapshot
        return (lambda: copy_into(self.coriolis(s.q[:n_plant], s.v[:n_plant], s.t), C),)

    @abc.abstractmethod
    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy [J]; NaN where it is not known."""

    def potential_steps(
        self, snapshot: Snapshot, n_plant: int, potential: Vector
    ) -> Sequence[KernelStep]:
        """Return what writes `potential`, shape ``(1,)``; see `steps`."""
        s = snapshot

        def ask() -> None:
            potential[0] = self.potential(s.q[:n_plant], s.t)

        return (ask,)

    @abc.abstractmethod
    def terms(self) -> tuple[AppliedForce, ...]:
        """Return the applied forces that the plant itself defines."""


Texts = tuple[str, ...]


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class LagrangianPlant(EquationPlant):
    """Kinetic and potential energy as formulas; the dynamics are derived from them."""

    kinetic: Texts
    """Kinetic energy [J]; the texts are added."""
    potential_energy: Texts
    """Potential energy [J]."""
    dissipation: Texts
    """Rayleigh's dissipation function [W]."""
    words: Vocabulary
    """The coordinates, their velocities and the parameters."""

    @property
    def kind(self) -> str:
        return "a [lagrangian]"

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        return self.words.constants

    @cached_property
    def motion(self) -> LagrangeEquations:
        """The equations of motion.

        Raises:
            ExpressionError: A formula is not acceptable; the message names its key.
        """
        return derive_lagrange_equations(
            self.kinetic, self.potential_energy, self.dissipation, self.words
        )

    @cached_property
    def _mass(self) -> Matrix | None:
        motion = self.motion
        return np.array(motion.M, dtype=np.float64) if motion.constant else None

    @cached_property
    def _coriolis(self) -> CompiledFormula:
        return derive_coriolis(self.motion, self.words)

    def write_terms(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        n = len(q)
        values = self.motion.dynamics(q.tolist(), v.tolist(), t)
        constant = self._mass
        M[:] = np.reshape(values[: n * n], (n, n)) if constant is None else constant
        nle[:] = values[n * n :]

    def steps(self, snapshot: Snapshot, n_plant: int) -> Sequence[KernelStep]:
        s, values = snapshot, np.zeros(n_plant * n_plant + n_plant)
        formula = self.motion.dynamics.as_step((s.q, s.v, s.clock), values)
        return formula, BoundKernel(
            applied_force_kernels.unpack_mass_and_bias, values, n_plant, s.M, s.nle
        )

    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        """Return it by the plant's own formulas; derived when first asked for."""
        C = self._coriolis(q.tolist(), v.tolist(), t)
        return np.array(C, dtype=np.float64).reshape(len(q), len(q))

    def coriolis_steps(self, snapshot: Snapshot, n_plant: int, C: Matrix) -> Sequence[KernelStep]:
        state = snapshot.q, snapshot.v, snapshot.clock
        return (self._coriolis.as_step(state, C.reshape(-1)),)

    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy, less what the kinetic energy has at rest [J]."""
        return self.motion.potential(q.tolist(), t)[0]

    def potential_steps(
        self, snapshot: Snapshot, n_plant: int, potential: Vector
    ) -> Sequence[KernelStep]:
        return (self.motion.potential.as_step((snapshot.q, snapshot.clock), potential),)

    def terms(self) -> tuple[LagrangianForce, ...]:
        """Return dissipation and drive, where there are any."""
        motion = self.motion
        return (LagrangianForce(self),) if motion.drive or motion.friction else ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the formulas out: they are made again of their texts."""
        compiled = ("motion", "_mass", "_coriolis")
        return {key: value for key, value in self.__dict__.items() if key not in compiled}


@final
@dc.dataclass(frozen=True, eq=False)
class LagrangianForce:
    """What a Lagrangian plant does beside conserving energy: its dissipation, its own drive."""

    plant: LagrangianPlant

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[KernelStep]:
        """Return what adds the force of the dissipation.

        Of a plant whose Lagrangian depends on time, the power -dL/dt that feeds it is added to
        that which is stored [W].
        """
        s, motion = snapshot, self.plant.motion
        everywhere = np.arange(len(self.plant.words.plain))
        steps: list[KernelStep] = []
        for formula, indices, out in (
            (motion.friction, everywhere, f),
            (motion.drive, np.array([applied_force_kernels.POWER]), s.stored),
        ):
            if formula is not None:
                values = np.zeros(len(indices))
                steps.append(formula.as_step((s.q, s.v, s.clock), values))
                steps.append(BoundKernel(applied_force_kernels.scatter_add, indices, values, out))
        return steps


SYMMETRY_RTOL = 1e-9
"""Entries of a mass matrix may differ from those across its diagonal by this fraction."""


class PlantFunctions(abc.ABC):
    """The dynamics of a plant as methods; derive from it, and give it fields for parameters.

    With the decorator `ukctrl.core.fields.spec` its fields are checked and can be set in the file,
    in a scenario's ``believed.parameters``, and by `Robot.perturbed`.
    """

    @abc.abstractmethod
    def M(self, q: Vector) -> ArrayLike:
        """Return the mass matrix, shape ``(n, n)``, symmetric and positive definite."""

    @abc.abstractmethod
    def nle(self, q: Vector, v: Vector) -> ArrayLike:
        """Return the Coriolis, centrifugal and gravity force, shape ``(n,)``."""

    def B(self, q: Vector) -> ArrayLike | None:
        """Return the actuation, shape ``(n, nu)``; absent, None: one motor per coordinate."""
        return None

    def potential(self, q: Vector) -> float:
        """Return the potential energy [J]; absent: not known (NaN), and so is the energy."""
        return float("nan")


@final
@dc.dataclass(frozen=True, eq=False)
class FunctionPlant(EquationPlant):
    """The plant that functions describe: methods of one object, or given one by one."""

    functions: PlantFunctions | Functions

    @property
    def kind(self) -> str:
        return "a [functions]"

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the fields that are numbers."""
        functions: Any = self.functions
        if not dc.is_dataclass(functions):
            return ()
        fields = ((field.name, getattr(functions, field.name)) for field in dc.fields(functions))
        return tuple((name, float(x)) for name, x in fields if isinstance(x, int | float))

    def write_terms(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        M[:] = self.functions.M(q)
        nle[:] = self.functions.nle(q, v)

    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        """Return that of Christoffel's symbols, of differences of the mass matrix."""
        n = len(q)
        moved = jacobian(lambda dq: np.ravel(self.functions.M(q + dq)), n).reshape(n, n, n)
        turning = np.einsum("ikj,k->ij", moved, v)
        return np.asarray(0.5 * (moved @ v + turning - turning.T))

    def potential(self, q: Vector, t: float) -> float:
        function = self.functions.potential
        return float("nan") if function is None else float(function(q))

    def terms(self) -> tuple[()]:
        """Return nothing: all forces are in the functions."""
        return ()

    def check(self, q: Vector, v: Vector) -> None:
        """Try the functions out at one state.

        Raises:
            ModelError: A function returns the wrong shape, no numbers, or M is not symmetric.
        """
        n = len(q)
        M = _array("M(q)", self.functions.M(q), (n, n))
        _array("nle(q, v)", self.functions.nle(q, v), (n,))
        scale = np.sqrt(np.abs(np.outer(np.diag(M), np.diag(M))))
        worst = np.unravel_index(first_largest(np.abs(M - M.T) - SYMMETRY_RTOL * scale), M.shape)
        if abs(M[worst] - M.T[worst]) > SYMMETRY_RTOL * scale[worst]:
            i, j = (int(k) for k in worst)
            raise ModelError(
                f"M(q) must be symmetric; got M[{i}, {j}] = {M[i, j]:.6g} and "
                f"M[{j}, {i}] = {M[j, i]:.6g}."
            )
        self.actuation(q)

    def actuation(self, q: Vector) -> Matrix | None:
        """Return ``B(q)``, shape ``(n, nu)``; None where the functions have none.

        Raises:
            ModelError: It has the wrong shape, or no numbers.
        """
        B = None if self.functions.B is None else self.functions.B(q)
        if B is None:
            return None
        shape = np.shape(B)
        return _array("B(q)", B, (len(q), shape[1] if len(shape) == 2 else 1))


def _array(label: str, value: ArrayLike, shape: tuple[int, ...]) -> Matrix:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{label} must be an array of numbers; got {value!r:.80}.") from None
    if array.shape != shape:
        raise ModelError(f"{label} must have shape {shape}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise ModelError(f"{label} must be finite; got {array.tolist()}.")
    return array


@final
@dc.dataclass(frozen=True, eq=False)
class FunctionColumn(InputColumn):
    """One column of the plant's own ``B(q)``; it may push the plant's own coordinates."""

    plant: FunctionPlant
    index: int
    on_bodies: ClassVar[bool] = False

    def steps(self, snapshot: Snapshot, at: int) -> Sequence[KernelStep]:
        n_plant = int(self.acts_on.sum())
        q, column = snapshot.q[:n_plant], snapshot.B[:n_plant, at]
        actuation = self.plant.functions.B
        assert actuation is not None

        def write() -> None:
            column[:] = np.asarray(actuation(q))[:, self.index]

        return (write,)
