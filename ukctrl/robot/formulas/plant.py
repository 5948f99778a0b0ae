"""Plants that are not rigid bodies of a model file: formulas or functions of the coordinates."""

from __future__ import annotations

import abc
import dataclasses as dc
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.differences import jacobian
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.formula import Formula
from ukctrl.core.expression.lagrange import Motion, derive_coriolis, derive_motion
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.core.extremes import first_largest
from ukctrl.core.program import Call, Step
from ukctrl.robot import push_kernels
from ukctrl.robot.actuators import Column
from ukctrl.robot.forces import Term
from ukctrl.robot.schema.plant_tables import Functions
from ukctrl.robot.snapshot import Snapshot


class Plant(abc.ABC):
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
    def fill(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        """Write the mass matrix, shape ``(n, n)``, and the bias force, shape ``(n,)``."""

    def steps(self, snapshot: Snapshot, own: int) -> Sequence[Step]:
        """Return what writes the terms of its ``own`` coordinates, the first ones of a robot."""
        s, M, nle = snapshot, snapshot.M[:own, :own], snapshot.nle[:own]
        return (lambda: self.fill(s.q[:own], s.v[:own], s.t, M, nle),)

    @abc.abstractmethod
    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        r"""Return a $C$ that makes $\dot M - 2 C$ skew-symmetric, shape ``(n, n)``."""

    def coriolis_steps(self, snapshot: Snapshot, own: int, C: Matrix) -> Sequence[Step]:
        """Return what writes `coriolis`; see `steps`."""
        s = snapshot
        return (lambda: copy_into(self.coriolis(s.q[:own], s.v[:own], s.t), C),)

    @abc.abstractmethod
    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy [J]; NaN where it is not known."""

    def potential_steps(self, snapshot: Snapshot, own: int, potential: Vector) -> Sequence[Step]:
        """Return what writes `potential`, shape ``(1,)``; see `steps`."""
        s = snapshot

        def ask() -> None:
            potential[0] = self.potential(s.q[:own], s.t)

        return (ask,)

    @abc.abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """Return the applied forces that the plant itself defines."""


Texts = tuple[str, ...]


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Lagrangian(Plant):
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
    def motion(self) -> Motion:
        """The equations of motion.

        Raises:
            ExpressionError: A formula is not acceptable; the message names its key.
        """
        return derive_motion(self.kinetic, self.potential_energy, self.dissipation, self.words)

    @cached_property
    def _mass(self) -> Matrix | None:
        motion = self.motion
        return np.array(motion.M, dtype=np.float64) if motion.constant else None

    @cached_property
    def _coriolis(self) -> Formula:
        return derive_coriolis(self.motion, self.words)

    def fill(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        n = len(q)
        values = self.motion.dynamics(q.tolist(), v.tolist(), t)
        constant = self._mass
        M[:] = np.reshape(values[: n * n], (n, n)) if constant is None else constant
        nle[:] = values[n * n :]

    def steps(self, snapshot: Snapshot, own: int) -> Sequence[Step]:
        s, values = snapshot, np.zeros(own * own + own)
        formula = self.motion.dynamics.step((s.q, s.v, s.clock), values)
        return formula, Call(push_kernels.formula_terms, values, own, s.M, s.nle)

    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        """Return it by the plant's own formulas; derived when first asked for."""
        C = self._coriolis(q.tolist(), v.tolist(), t)
        return np.array(C, dtype=np.float64).reshape(len(q), len(q))

    def coriolis_steps(self, snapshot: Snapshot, own: int, C: Matrix) -> Sequence[Step]:
        given = snapshot.q, snapshot.v, snapshot.clock
        return (self._coriolis.step(given, C.reshape(-1)),)

    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy, less what the kinetic energy has at rest [J]."""
        return self.motion.potential(q.tolist(), t)[0]

    def potential_steps(self, snapshot: Snapshot, own: int, potential: Vector) -> Sequence[Step]:
        return (self.motion.potential.step((snapshot.q, snapshot.clock), potential),)

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

    plant: Lagrangian

    def steps(self, snapshot: Snapshot, f: Vector) -> Sequence[Step]:
        """Return what adds the force of the dissipation.

        Of a plant whose Lagrangian depends on time, the power -dL/dt that feeds it is added to
        that which is stored [W].
        """
        s, motion = snapshot, self.plant.motion
        everywhere = np.arange(len(self.plant.words.plain))
        steps: list[Step] = []
        for formula, places, out in (
            (motion.friction, everywhere, f),
            (motion.drive, np.array([push_kernels.POWER]), s.stored),
        ):
            if formula is not None:
                values = np.zeros(len(places))
                steps.append(formula.step((s.q, s.v, s.clock), values))
                steps.append(Call(push_kernels.add_at, places, values, out))
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
class OneByOne(PlantFunctions):
    """Functions that were given one by one, as methods."""

    given: Functions

    def M(self, q: Vector) -> ArrayLike:
        matrix: ArrayLike = self.given.M(q)
        return matrix

    def nle(self, q: Vector, v: Vector) -> ArrayLike:
        force: ArrayLike = self.given.nle(q, v)
        return force

    def B(self, q: Vector) -> ArrayLike | None:
        return None if self.given.B is None else self.given.B(q)

    def potential(self, q: Vector) -> float:
        given = self.given.potential
        return super().potential(q) if given is None else float(given(q))


@final
@dc.dataclass(frozen=True, eq=False)
class FunctionPlant(Plant):
    """The plant that `PlantFunctions` describe."""

    functions: PlantFunctions

    @property
    def kind(self) -> str:
        return "a [functions]"

    @property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the fields that are numbers."""
        given: Any = self.functions
        if not dc.is_dataclass(given):
            return ()
        fields = ((field.name, getattr(given, field.name)) for field in dc.fields(given))
        return tuple((name, float(x)) for name, x in fields if isinstance(x, int | float))

    def fill(self, q: Vector, v: Vector, t: float, M: Matrix, nle: Vector) -> None:
        M[:] = self.functions.M(q)
        nle[:] = self.functions.nle(q, v)

    def coriolis(self, q: Vector, v: Vector, t: float) -> Matrix:
        """Return that of Christoffel's symbols, of differences of the mass matrix."""
        n = len(q)
        moved = jacobian(lambda dq: np.ravel(self.functions.M(q + dq)), n).reshape(n, n, n)
        turning = np.einsum("ikj,k->ij", moved, v)
        return np.asarray(0.5 * (moved @ v + turning - turning.T))

    def potential(self, q: Vector, t: float) -> float:
        return float(self.functions.potential(q))

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
        B = self.functions.B(q)
        if B is None:
            return None
        shape = np.shape(B)
        return _array("B(q)", B, (len(q), shape[1] if len(shape) == 2 else 1))


def _array(what: str, value: ArrayLike, shape: tuple[int, ...]) -> Matrix:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be an array of numbers; got {value!r:.80}.") from None
    if array.shape != shape:
        raise ModelError(f"{what} must have shape {shape}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite; got {array.tolist()}.")
    return array


@final
@dc.dataclass(frozen=True, eq=False)
class FunctionColumn(Column):
    """One column of the plant's own ``B(q)``; it may push the plant's own coordinates."""

    plant: FunctionPlant
    index: int
    on_bodies: ClassVar[bool] = False

    def steps(self, snapshot: Snapshot, at: int) -> Sequence[Step]:
        own = int(self.reached.sum())
        q, column = snapshot.q[:own], snapshot.B[:own, at]

        def write() -> None:
            column[:] = np.asarray(self.plant.functions.B(q))[:, self.index]

        return (write,)
