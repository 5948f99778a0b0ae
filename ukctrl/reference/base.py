"""What every reference is: a path r(t) with its exact first and second derivative."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Path = Callable[[float], tuple[float, ...]]
"""Compiled reference: time in, flat ``(r, r_dot, r_ddot)`` out, 3 * size floats."""


class Sample(NamedTuple):
    """A reference at one time, arrays of shape (size,), or at n times, (n, size)."""

    r: NDArray[np.float64]
    """Value."""
    r_dot: NDArray[np.float64]
    """First derivative [1/s of the value's unit]."""
    r_ddot: NDArray[np.float64]
    """Second derivative [1/s^2 of the value's unit]."""


class Reference(abc.ABC):
    """A path r(t) of ``size`` components with exact derivatives.

    Before the start and after the end of a finite path the reference holds the end point, with
    zero derivatives. ``path(t)`` is convenient; ``path.compile()`` is for loops.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number of components."""

    @abc.abstractmethod
    def compile(self) -> Path:
        """Return a fast function of time [s]: flat ``(r, r_dot, r_ddot)``, 3 * size floats.

        It raises ``DomainError`` where the path has no finite value.
        """

    def __call__(self, t: float) -> Sample:
        """Return value and derivatives at one time [s]."""
        flat = np.array(self._compiled(float(t)))
        return Sample(*flat.reshape(3, self.size))

    def sample(self, times: Iterable[float]) -> Sample:
        """Return value and derivatives at many times [s], each of shape (n, size)."""
        flat = np.array([self._compiled(float(t)) for t in times]).reshape(-1, 3, self.size)
        return Sample(flat[:, 0], flat[:, 1], flat[:, 2])

    @functools.cached_property
    def _compiled(self) -> Path:
        return self.compile()

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: generated code is made again where it is needed."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}
