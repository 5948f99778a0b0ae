"""Paths of any size in closed form: constant, line, harmonic sum, polynomial."""

from __future__ import annotations

import abc
import functools
import math
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Components, Hertz, ListSize, Numbers, Radians, Seconds, spec
from ukctrl.mechanics.reference.piecewise_polynomial import (
    PiecewisePolynomial,
    PiecewiseReference,
    compile_combination,
    compile_constant,
    require_finite,
    single_piece,
    unbounded_polynomial,
)
from ukctrl.mechanics.reference.reference import Path, SmoothReference
from ukctrl.mechanics.reference.rest_to_rest import MIN_JERK_ORDER, rest_to_rest_coefficients
from ukctrl.mechanics.reference.taylor import Series, sinusoid

MAX_POWERS = 20
"""Most coefficients of a polynomial; a higher degree is numerically meaningless."""


@spec
class Constant(SmoothReference):
    """A value that does not change."""

    kind: Literal["constant"] = "constant"
    value: Components
    """The value: one number or a list of them [m or rad]."""

    @property
    def size(self) -> int:
        return len(self.value)

    def compile(self) -> Path:
        return compile_constant((*self.value, *([0.0] * 2 * self.size)))

    def series(self, t: float, order: int) -> Series:
        return np.array([self.value, *([[0.0] * self.size] * order)])


@spec
class Line(PiecewiseReference):
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
        any_finite = self.end is not None or self.duration is not None
        if (self.velocity is None and not finite) or (self.velocity is not None and any_finite):
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

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        if self.end is None or self.duration is None:
            return unbounded_polynomial(list(zip(self.start, self.velocity or (), strict=True)))
        times, points = np.array([0.0, self.duration]), np.array([self.start, self.end])
        if self.profile == "min_jerk":
            return PiecewisePolynomial(
                times, rest_to_rest_coefficients(times, points, MIN_JERK_ORDER)
            )
        with np.errstate(over="ignore"):  # compiling says it in words
            velocity = (points[1] - points[0]) / self.duration
        return PiecewisePolynomial(times, np.array([[points[0], velocity]]))


class SinusoidSum(NamedTuple):
    r"""A sum of waves on a line, $c + \dot c\, t + \sum_k (a_k \cos\theta_k + b_k \sin\theta_k)$
    with $\theta_k = \omega_k t + \varphi_k$.
    """

    offset: Vector
    """c, shape ``(size,)``."""
    rate: Vector
    r"""$\dot c$ [1/s]."""
    terms: tuple[tuple[float, float, Vector, Vector], ...]
    r"""Of each wave $\omega$ [rad/s], $\varphi$ [rad], a and b."""

    def path(self) -> Path:
        """Return the flat function of time.

        Raises:
            InputError: It is so quick that its acceleration overflows.
        """
        none, lines, basis = np.zeros(len(self.offset)), list[str](), ["1", "t"]
        columns = [(self.offset, self.rate, none), (self.rate, none, none)]
        for k, (omega, phase, c, s) in enumerate(self.terms):
            lines += sine_cosine_lines(omega, phase, k)
            basis += [f"c{k}", f"s{k}"]
            with np.errstate(over="ignore", invalid="ignore"):  # finite_rows says it in words
                square = np.float64(omega) * omega
                columns += [(c, omega * s, -square * c), (s, -omega * c, -square * s)]
        return compile_combination(
            lines, basis, require_finite(np.reshape(columns, (len(basis), -1)).T)
        )

    def series(self, t: float, order: int) -> Series:
        """Return the Taylor coefficients about an instant [s], shape (order + 1, size)."""
        coefficients = np.zeros((order + 1, len(self.offset)))
        coefficients[0] = self.offset + self.rate * t
        coefficients[1:2] = self.rate
        for omega, phase, c, s in self.terms:
            cosine, sine = sinusoid(omega, omega * t + phase, order)
            coefficients += np.outer(cosine, c) + np.outer(sine, s)
        return coefficients


def sine_cosine_lines(omega: float, phase: float, number: int | str = "") -> list[str]:
    """Return lines that make the cosine and the sine of an angle, ``c`` and ``s`` and a number."""
    shift = f" + ({phase!r})" if phase != 0.0 else ""
    return [f"a = {omega!r}*t{shift}", f"c{number} = cos(a)", f"s{number} = sin(a)"]


class SinusoidReference(SmoothReference):
    """A path that waves make."""

    @property
    @abc.abstractmethod
    def waves(self) -> SinusoidSum:
        """The waves."""

    def compile(self) -> Path:
        return self.waves.path()

    def series(self, t: float, order: int) -> Series:
        return self.waves.series(t, order)


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
class HarmonicSum(SinusoidReference):
    r"""A sum of sines, $r = r_0 + \sum_k A_k \sin(2\pi f_k t + \varphi_k)$."""

    kind: Literal["harmonic"] = "harmonic"
    offset: Components
    """Mean value [m or rad]; its length is the number of components."""
    terms: Annotated[tuple[Harmonic, ...], ListSize()]
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

    @property
    def waves(self) -> SinusoidSum:
        still = np.zeros(self.size)
        terms = (
            (2.0 * math.pi * term.frequency, term.phase, still, np.array(term.amplitude))
            for term in self.terms
        )
        return SinusoidSum(np.array(self.offset), still, tuple(terms))


@spec
class Polynomial(PiecewiseReference):
    r"""A polynomial in time for each component, $r_i = \sum_k c_{ik} t^k$."""

    kind: Literal["polynomial"] = "polynomial"
    coefficients: Annotated[tuple[Numbers, ...], ListSize()]
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

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        if self.duration is None:
            return unbounded_polynomial(self.coefficients)
        return PiecewisePolynomial(np.array([0.0, self.duration]), single_piece(self.coefficients))
