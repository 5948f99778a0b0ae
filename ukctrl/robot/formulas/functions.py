"""A plant given as Python functions."""

from __future__ import annotations

import abc
import dataclasses as dc
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.robot.formulas.plant import Plant
from ukctrl.robot.schema.plant_tables import Functions
from ukctrl.robot.snapshot import Snapshot

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
        worst = np.unravel_index(int(np.argmax(np.abs(M - M.T) - SYMMETRY_RTOL * scale)), M.shape)
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
class FunctionColumn:
    """One column of the plant's own ``B(q)``."""

    plant: FunctionPlant
    index: int
    reached: NDArray[np.bool_]
    """Which velocities it may push, shape ``(nv,)``: those of the plant's own coordinates."""
    on_bodies: ClassVar[bool] = False

    def evaluate(self, snapshot: Snapshot) -> Vector:
        """Return the generalised force per unit of input, shape ``(nv,)``."""
        own = int(self.reached.sum())
        column = np.zeros(len(snapshot.v))
        B = self.plant.functions.B(snapshot.q[:own])
        column[:own] = np.asarray(B)[:, self.index]
        return column
