"""What every reference is: a path r(t) with its exact first and second derivative."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.program import KernelStep
from ukctrl.mechanics.reference.taylor import Series, factorials

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


class MotionPlan(NamedTuple):
    """A motion that was worked out from a scenario and its robot."""

    servo: tuple[Any, ...]
    """The servo constraints of the scenario that follow it."""
    end: float
    """[s]."""
    sentence: str
    """The motion in words."""


class TimeFunction(abc.ABC):
    """Something that is compiled to a function of time when it is first asked for."""

    shares_time: ClassVar[bool] = False
    """Whether paths that it holds get its own time."""

    @abc.abstractmethod
    def compile(self) -> Path:
        """Return a fast function of time [s] with flat numbers out."""

    @functools.cached_property
    def compiled(self) -> Path:
        """What `compile` has returned first."""
        return self.compile()

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: generated code is made again where it is needed."""
        return {key: value for key, value in self.__dict__.items() if key != "compiled"}


class Reference(TimeFunction):
    """A path r(t) of ``size`` components with exact derivatives.

    Before the start and after the end of a finite path the reference holds the end point, with
    zero derivatives. ``path(t)`` is convenient; ``path.compile()`` is for loops.
    """

    is_planned: ClassVar[bool] = False
    """Whether `plan` works it out from the robot that shall follow it; it has no value before."""

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
        flat = np.array(self.compiled(float(t)))
        return Sample(*flat.reshape(3, self.size))

    def sample(self, times: Iterable[float]) -> Sample:
        """Return value and derivatives at many times [s], each of shape (n, size)."""
        flat = np.array([self.compiled(float(t)) for t in times]).reshape(-1, 3, self.size)
        return Sample(flat[:, 0], flat[:, 1], flat[:, 2])

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous at all times; infinite where all are."""
        return 2.0

    @property
    def miss(self) -> float:
        """By how much its accelerations may miss what the robot can make of them that it was
        worked out for, in parts of the largest.
        """
        return 0.0

    def plan(self, scenario: Any, robot: Any) -> MotionPlan:
        """Work out the paths of a scenario that are such as this one, for its robot.

        Raises:
            InputError: There is no such motion.
        """
        raise NotImplementedError

    @property
    def remark(self) -> str:
        """What is worth knowing of it before a run, in a sentence; empty: nothing."""
        return ""

    @property
    def extent(self) -> tuple[float, float] | None:
        """When the path begins and ends [s]; None where it goes on for ever."""
        return None

    def breaks(self, first: float, last: float) -> list[float]:
        """Return the times within a span at which some derivative may jump [s], in order."""
        return []

    def series(self, t: float, order: int) -> Series:
        """Return the Taylor coefficients about an instant [s], shape (order + 1, size).

        Where a derivative jumps, those of what comes after.

        Raises:
            InputError: This kind of path does not give so many.
        """
        if order > 2:
            raise InputError(
                f"path of class '{type(self).__name__}' must give {order} derivatives; it gives "
                "two. Write it with a built-in kind, or give the class a method series."
            )
        return np.array(self(t))[: order + 1] / factorials(order)[:, None]

    def derivatives(self, t: float, order: int) -> NDArray[np.float64]:
        """Return value and derivatives at an instant [s], shape (order + 1, size).

        Raises:
            InputError: This kind of path does not give so many.
        """
        return self.series(t, order) * factorials(order)[:, None]

    def derivative_step(self, order: int, clock: Vector, out: Matrix) -> KernelStep:
        """Return what writes `derivatives` at the time that the clock shows then."""

        def write() -> None:
            out[:] = self.derivatives(float(clock[0]), order)

        return write


class SmoothReference(Reference):
    """A path without corners in any derivative."""

    @property
    def smoothness(self) -> float:
        return math.inf
