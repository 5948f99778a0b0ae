"""Paths of any size in closed form: constant, line, harmonic sum, polynomial."""

from __future__ import annotations

import abc
import functools
import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Components, Hertz, Listed, Numbers, Radians, Seconds, spec
from ukctrl.mechanics.reference.compiled_paths import (
    Pieces,
    combination,
    finite_rows,
    padded,
    polynomial,
    unchanging,
)
from ukctrl.mechanics.reference.pieces import min_jerk_coefficients
from ukctrl.mechanics.reference.reference import Path, Reference, Smooth
from ukctrl.mechanics.reference.taylor import Series, factorials, sinusoid

MAX_POWERS = 20
"""Most coefficients of a polynomial; a higher degree is numerically meaningless."""


@spec
class Constant(Smooth):
    """A value that does not change."""

    kind: Literal["constant"] = "constant"
    value: Components
    """The value: one number or a list of them [m or rad]."""

    @property
    def size(self) -> int:
        return len(self.value)

    def compile(self) -> Path:
        return unchanging((*self.value, *([0.0] * 2 * self.size)))

    def series(self, t: float, order: int) -> Series:
        return np.array([self.value, *([[0.0] * self.size] * order)])


class _Polynomials(Reference):
    """A polynomial for all time, or one that begins at 0 and ends."""

    @abc.abstractmethod
    def _endless(self) -> Series:
        """Return the coefficients of what goes on for all time, shape (powers, size)."""

    @functools.cached_property
    @abc.abstractmethod
    def _pieces(self) -> Pieces | None:
        """What begins and ends; None: it goes on for all time."""

    def compile(self) -> Path:
        pieces = self._pieces
        return polynomial(self._endless()) if pieces is None else pieces.compile()

    @property
    def smoothness(self) -> float:
        pieces = self._pieces
        return math.inf if pieces is None else pieces.smoothness

    def breaks(self, first: float, last: float) -> list[float]:
        """Return the times within a span at which it begins or ends [s]."""
        pieces = self._pieces
        return [] if pieces is None else pieces.breaks(first, last)

    def series(self, t: float, order: int) -> Series:
        pieces = self._pieces
        return _taylor(self._endless(), t, order) if pieces is None else pieces.series(t, order)


@spec
class Line(_Polynomials):
    """A straight line: to an end point in a duration, or at a constant velocity without end.

    With an end point it holds the start before t = 0 and the end after the duration.
    """

    kind: Literal["line"] = "line"
    start: Components
    """Value at t = 0 [m or rad]."""
    end: Components | None = None
    """Value at the end [m or rad]; needs ``duration``."""
    duration: Seconds | None = None
    """Time from start to end [s]."""
    profile: Literal["min_jerk", "uniform"] = "min_jerk"
    """From rest to rest with least jerk, or at constant velocity (which jumps at both ends)."""
    velocity: Components | None = None
    """Constant velocity [m/s or rad/s], instead of ``end`` and ``duration``."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        finite = self.end is not None and self.duration is not None
        other = self.end is not None or self.duration is not None
        if (self.velocity is None and not finite) or (self.velocity is not None and other):
            raise InputError("must have either end and duration, or velocity.")
        for name in ("end", "velocity"):
            came = getattr(self, name)
            if came is not None and len(came) != self.size:
                raise InputError(
                    f"{name} must have as many components as start, {self.size}; got {len(came)}."
                )
        return self

    @property
    def size(self) -> int:
        return len(self.start)

    def _endless(self) -> Series:
        return padded(list(zip(self.start, self.velocity or (), strict=True)))

    @functools.cached_property
    def _pieces(self) -> Pieces | None:
        if self.end is None or self.duration is None:
            return None
        times, points = np.array([0.0, self.duration]), np.array([self.start, self.end])
        if self.profile == "min_jerk":
            return Pieces(times, min_jerk_coefficients(times, points))
        with np.errstate(over="ignore"):  # compiling says it in words
            velocity = (points[1] - points[0]) / self.duration
        return Pieces(times, np.array([[points[0], velocity]]))


@spec
class Harmonic:
    r"""One term of a harmonic sum, $A \sin(2\pi f t + \varphi)$."""

    amplitude: Components
    """Amplitude A of each component [m or rad]."""
    frequency: Hertz
    """Frequency f [Hz]."""
    phase: Radians = 0.0
    r"""Phase $\varphi$ [rad]; pi/2 makes a cosine."""


@spec
class HarmonicSum(Smooth):
    r"""A sum of sines, $r = r_0 + \sum_k A_k \sin(2\pi f_k t + \varphi_k)$."""

    kind: Literal["harmonic"] = "harmonic"
    offset: Components
    """Mean value [m or rad]; its length is the number of components."""
    terms: Annotated[tuple[Harmonic, ...], Listed()]
    """The sines."""

    @model_validator(mode="after")
    def _same_size(self) -> Self:
        for index, term in enumerate(self.terms):
            if len(term.amplitude) != self.size:
                raise InputError(
                    f"terms[{index}].amplitude must have as many components as offset, "
                    f"{self.size}; got {len(term.amplitude)}."
                )
        return self

    @property
    def size(self) -> int:
        return len(self.offset)

    def compile(self) -> Path:
        n, lines, basis = self.size, list[str](), ["1"]
        columns = [np.concatenate([self.offset, np.zeros(2 * n)])]
        for index, term in enumerate(self.terms):
            omega = 2.0 * math.pi * term.frequency
            lines += [f"a = {omega!r}*t + ({term.phase!r})"]
            lines += [f"s{index} = sin(a)", f"c{index} = cos(a)"]
            basis += [f"s{index}", f"c{index}"]
            amplitude, zero = np.array(term.amplitude), np.zeros(n)
            with np.errstate(over="ignore", invalid="ignore"):  # finite_rows says it in words
                columns.append(np.concatenate([amplitude, zero, -(omega * omega) * amplitude]))
                columns.append(np.concatenate([zero, omega * amplitude, zero]))
        return combination(lines, basis, finite_rows(np.stack(columns, axis=1)))

    def series(self, t: float, order: int) -> Series:
        coefficients = np.zeros((order + 1, self.size))
        coefficients[0] = self.offset
        for term in self.terms:
            omega = 2.0 * math.pi * term.frequency
            _, sine = sinusoid(omega, omega * t + term.phase, order)
            coefficients += np.outer(sine, term.amplitude)
        return coefficients


@spec
class Polynomial(_Polynomials):
    r"""A polynomial in time for each component, $r_i = \sum_k c_{ik} t^k$."""

    kind: Literal["polynomial"] = "polynomial"
    coefficients: Annotated[tuple[Numbers, ...], Listed()]
    """For each component its coefficients, constant first [m/s^k or rad/s^k]."""
    duration: Seconds | None = None
    """End [s]; held before 0 and after it. Without one the polynomial goes on for all time."""

    @model_validator(mode="after")
    def _few_powers(self) -> Self:
        longest = max(map(len, self.coefficients))
        if longest > MAX_POWERS:
            raise InputError(
                f"coefficients must be at most {MAX_POWERS} for a component; got {longest}."
            )
        return self

    @property
    def size(self) -> int:
        return len(self.coefficients)

    def _endless(self) -> Series:
        return padded(self.coefficients)

    @functools.cached_property
    def _pieces(self) -> Pieces | None:
        if self.duration is None:
            return None
        return Pieces(np.array([0.0, self.duration]), padded(self.coefficients))


def _taylor(coefficients: Series, t: float, order: int) -> Series:
    """Return the Taylor coefficients of a polynomial without end, shape (order + 1, size)."""
    parts = np.polynomial.polynomial
    rows = [coefficients[0]]
    for _ in range(order):
        rows.append(parts.polyder(rows[-1], axis=0))
    values = np.array([np.atleast_1d(parts.polyval(t, row)) for row in rows])
    return values / factorials(order)[:, None]
