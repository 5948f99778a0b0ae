r"""Which combinations of parameters motions can tell: the base parameters.

A column that others make up adds nothing: $Y = Y_b\,[\,1\;\;K\,]$, so that motions tell
$\beta = \pi_b + K \pi_d$ alone (Gautier, "Numerical calculation of the base inertial parameters of
robots", J. Robotic Systems 8, 1991). Columns are scaled to unit length first, so that units do not
decide; in order from the robot's root, so that a dependent one is told by those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl_identification.regression import Parameter

DEPENDENT = 1e-8
"""A column of unit length counts as dependent where less than this of it is new."""
NEGLIGIBLE = 1e-9
"""Factors of a formula below this are rounding."""
WEAK = 1e-7
"""Directions that a log excites by less than this of the strongest, columns of unit length."""
MAX_TERMS = 4
"""Parameters of a direction that are named."""


class BaseParameters(NamedTuple):
    """Which parameters are independent, and what the others add to them."""

    independent: Indices
    """Parameters whose columns are kept, shape ``(b,)``."""
    map: Matrix
    """``[1 K]`` in the order of the parameters, shape ``(b, p)``: base values of any values."""

    def values(self, parameters: Vector) -> Vector:
        """Return the base parameters of a robot's parameters, shape ``(p,)``."""
        return np.asarray(self.map @ parameters)

    def kept(self) -> NDArray[np.bool_]:
        """Return which columns are kept, shape ``(p,)``."""
        result = np.zeros(self.map.shape[1], dtype=bool)
        result[self.independent] = True
        return result

    def formulas(self, parameters: Sequence[Parameter]) -> list[str]:
        """Return each as a sum of parameters, such as ``link2.Izz + 0.1 link3.m``."""
        texts = []
        for k, row in zip(self.independent, self.map, strict=True):
            text = parameters[k].name
            for j in map(int, np.flatnonzero(row)):
                if j != k:
                    sign = "-" if row[j] < 0.0 else "+"
                    size = abs(row[j])
                    factor = "" if abs(size - 1.0) < NEGLIGIBLE else f"{size:.6g} "
                    text += f" {sign} {factor}{parameters[j].name}"
            texts.append(text)
        return texts


def base_parameters(R: Matrix) -> BaseParameters:
    """Return the base parameters of columns.

    Args:
        R: The columns, or their triangle, at motions of every kind, shape ``(m, p)``.
    """
    p = R.shape[1]
    lengths = np.linalg.norm(R, axis=0)
    independent = list[int]()
    Q = np.zeros((len(R), 0))
    for k in range(p):
        if lengths[k] <= DEPENDENT * lengths.max(initial=0.0):
            continue
        unit = R[:, k] / lengths[k]
        rest = unit - Q @ (Q.T @ unit)
        rest -= Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > DEPENDENT:
            Q = np.column_stack([Q, rest / size])
            independent.append(k)
    kept = np.array(independent, dtype=np.int64)
    factors: Matrix = np.zeros((len(kept), p))
    if independent:
        factors[:] = np.linalg.solve(Q.T @ R[:, kept], Q.T @ R)
    scale = lengths[kept, None] / np.where(lengths > 0.0, lengths, 1.0)
    factors[np.abs(factors * scale) < NEGLIGIBLE] = 0.0
    factors[:, lengths <= DEPENDENT * lengths.max(initial=0.0)] = 0.0
    factors[:, kept] = np.eye(len(kept))
    return BaseParameters(kept, factors)


class Excitation(NamedTuple):
    """What a log can tell of base parameters, before any fit."""

    condition: float
    """Condition number of the columns at unit length, in the directions that are excited."""
    weak: Matrix
    """Directions that are not, in columns of unit length, shape ``(k, b)``."""
    scale: Vector
    """Lengths of the columns, shape ``(b,)``."""

    def names(self, formulas: Sequence[str]) -> list[str]:
        """Return what is not excited: the base parameters with the largest parts of a direction."""
        texts = []
        for direction in self.weak:
            order = np.argsort(-np.abs(direction))
            large = [
                k for k in order[:MAX_TERMS] if abs(direction[k]) > 0.1 * abs(direction[order[0]])
            ]
            texts.append(", ".join(formulas[k].partition(" ")[0] for k in large))
        return texts


def excitation(R: Matrix) -> Excitation:
    """Return what a triangle of base columns, shape ``(m, b)``, says of the motion."""
    lengths = np.linalg.norm(R, axis=0)
    scale = np.where(lengths > 0.0, lengths, 1.0)
    values, directions = np.linalg.svd(R / scale)[1:]
    full = np.zeros(R.shape[1])
    full[: len(values)] = values
    strong = full > WEAK * full[0] if len(full) else np.zeros(0, dtype=bool)
    condition = float(full[0] / full[strong][-1]) if strong.any() else np.inf
    return Excitation(condition, directions[~strong], scale)
