"""Plants that are not rigid bodies of a model file: formulas or functions of the coordinates."""

from __future__ import annotations

import abc

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.forces import Term


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

    @abc.abstractmethod
    def potential(self, q: Vector, t: float) -> float:
        """Return the potential energy [J]; NaN where it is not known."""

    @abc.abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """Return the applied forces that the plant itself defines."""
