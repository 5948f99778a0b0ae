"""Curves about a centre in a plane of space: circle, helix, lemniscate."""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Direction, Length, Meters, Position, Radians, Seconds, Speed, spec
from ukctrl.mechanics.reference.closed_form import SinusoidReference, SinusoidSum, sine_cosine_lines
from ukctrl.mechanics.reference.piecewise_polynomial import compile_combination, require_finite
from ukctrl.mechanics.reference.reference import Path, SmoothReference
from ukctrl.mechanics.reference.taylor import Series, product, quotient, sinusoid

Triple = tuple[float, float, float]

PARALLEL = 1e-6
"""A first axis this close to the normal (sine of the angle) has no direction in the plane."""


def plane_axes(normal: Triple, first_axis: Triple | None) -> NDArray[np.float64]:
    """Return the axes (e1, e2, n) of a plane as rows, orthonormal and right-handed.

    e1 is ``first_axis`` projected into the plane. Without one, it is the world axis that follows,
    in the order x, y, z, x, the one nearest to the normal, projected; so for the normals z, x and y
    the pair (e1, e2) is (x, y), (y, z) and (z, x).

    Args:
        normal: Normal of the plane, not zero.
        first_axis: Direction of e1, not zero and not along the normal.

    Raises:
        InputError: The first axis is along the normal.
    """
    n = np.array(normal) / np.linalg.norm(normal)
    if first_axis is None:
        # the axis after the normal's largest part is never along it
        follower = (int(np.argmax(np.abs(n))) + 1) % 3
        toward = np.eye(3)[follower]
    else:
        toward = np.array(first_axis) / np.linalg.norm(first_axis)
    e1 = toward - (toward @ n) * n
    length = np.linalg.norm(e1)
    if length < PARALLEL:
        raise InputError("first_axis must not be along the normal.")
    e1 = e1 / length
    return np.array([e1, np.cross(n, e1), n]) + 0.0  # + 0.0 turns -0.0 into 0.0


class _SpaceCurve(SmoothReference):
    """A curve in space."""

    @property
    def size(self) -> int:
        return 3


@spec
class _PlanarCurve(_SpaceCurve):
    """A curve about a point in a plane, over and over."""

    kind: str
    center: Position
    """Centre c of the circle, or where the lemniscate crosses itself [m]."""
    period: Seconds
    """Time T of one turn, or of one whole figure [s]."""
    phase: Radians = 0.0
    r"""Angle $\theta_0$ at t = 0, from the first axis towards the second [rad]; at 0 a lemniscate
    is at its far end."""
    normal: Direction = (0.0, 0.0, 1.0)
    """Normal of the plane; ``"-z"`` turns a circle clockwise seen from above."""
    first_axis: Direction | None = None
    """Direction of e1; by default, x for normal z, y for x, z for y."""

    @model_validator(mode="after")
    def _axes_exist(self) -> Self:
        plane_axes(self.normal, self.first_axis)
        return self


def helix_waves(
    center: Triple, axes: Matrix, radius: float, period: float, phase: float, rise: float = 0.0
) -> SinusoidSum:
    """Return a helix about the last of the axes [m/s]; with no rise, a circle."""
    e1, e2, n = axes
    wave = 2.0 * math.pi / period, phase, radius * e1, radius * e2
    return SinusoidSum(np.array(center), rise * n, (wave,))


@spec
class Circle(SinusoidReference, _PlanarCurve):
    r"""A circle, $r = c + R\,(e_1 \cos\theta + e_2 \sin\theta)$, $\theta = 2\pi t/T + \theta_0$.

    Seen against the normal (from its tip) it turns counter-clockwise.
    """

    kind: Literal["circle"] = "circle"
    radius: Length
    """Radius R [m]."""

    @property
    def waves(self) -> SinusoidSum:
        axes = plane_axes(self.normal, self.first_axis)
        return helix_waves(self.center, axes, self.radius, self.period, self.phase)


@spec
class Helix(SinusoidReference, _SpaceCurve):
    r"""A helix: a circle whose centre moves along its axis, $c + h\, n\, t$."""

    kind: Literal["helix"] = "helix"
    center: Position
    """Point of the axis at t = 0 [m]."""
    radius: Length
    """Radius [m]."""
    period: Seconds
    """Time of one turn [s]."""
    pitch: Meters | None = None
    """Advance along the axis in one turn [m]; or give ``rise``."""
    rise: Speed | None = None
    """Speed h along the axis [m/s]; or give ``pitch``."""
    phase: Radians = 0.0
    """Angle at t = 0, from the first axis towards the second [rad]."""
    axis: Direction = (0.0, 0.0, 1.0)
    """Axis n; it turns counter-clockwise about it. For a left-handed helix reverse the rise."""
    first_axis: Direction | None = None
    """Direction of phase 0; by default, x for axis z, y for x, z for y."""

    @model_validator(mode="after")
    def _one_advance(self) -> Self:
        if (self.pitch is None) == (self.rise is None):
            raise InputError("must have either pitch [m] or rise [m/s].")
        plane_axes(self.axis, self.first_axis)
        return self

    @property
    def waves(self) -> SinusoidSum:
        rise = (self.rise if self.pitch is None else self.pitch / self.period) or 0.0
        axes = plane_axes(self.axis, self.first_axis)
        return helix_waves(self.center, axes, self.radius, self.period, self.phase, rise)


@spec
class Lemniscate(_PlanarCurve):
    r"""A figure of eight in a plane, $r = c + X e_1 + Y e_2$ with $\theta = 2\pi t/T + \theta_0$.

    Bernoulli's has $X = a\cos\theta/(1+\sin^2\theta)$, $Y = X\sin\theta$; Gerono's has
    $X = a\cos\theta$, $Y = a\sin\theta\cos\theta$. Both cross themselves at the centre.
    """

    kind: Literal["lemniscate"] = "lemniscate"
    half_width: Length
    """Distance a from the crossing to the far end of a loop [m]."""
    shape: Literal["bernoulli", "gerono"] = "bernoulli"
    """Bernoulli's (slimmer) or Gerono's (a sum of two harmonics)."""

    def compile(self) -> Path:
        omega, a = 2.0 * math.pi / self.period, self.half_width
        lines = sine_cosine_lines(omega, self.phase)
        if self.shape == "gerono":
            lines += ["x0 = c", "x1 = -s", "x2 = -c", "y0 = s*c", "y1 = c*c - s*s", "y2 = -4.0*y0"]
        else:  # quotient rule with the denominator g = 1 + s^2: X g = c, Y g = s c
            lines += [
                "g = 1.0 + s*s",
                "g1 = 2.0*s*c",
                "g2 = 2.0*(c*c - s*s)",
                "x0 = c/g",
                "x1 = (-s - x0*g1)/g",
                "x2 = (-c - 2.0*x1*g1 - x0*g2)/g",
                "y0 = s*x0",
                "y1 = (0.5*g2 - y0*g1)/g",
                "y2 = (-2.0*g1 - 2.0*y1*g1 - y0*g2)/g",
            ]
        e1, e2, _ = plane_axes(self.normal, self.first_axis)
        rows = np.zeros((9, 7))
        rows[:3, 0] = self.center
        with np.errstate(over="ignore", invalid="ignore"):  # finite_rows says it in words
            for order, scale in enumerate((a, a * omega, a * omega * omega)):
                rows[3 * order : 3 * order + 3, 1 + order] = scale * e1
                rows[3 * order : 3 * order + 3, 4 + order] = scale * e2
        return compile_combination(
            lines, ["1", "x0", "x1", "x2", "y0", "y1", "y2"], require_finite(rows)
        )

    def series(self, t: float, order: int) -> Series:
        omega = 2.0 * math.pi / self.period
        x, sine = sinusoid(omega, omega * t + self.phase, order)
        if self.shape == "bernoulli":
            below = product(sine, sine)
            below[0] += 1.0
            x = quotient(x, below)
        e1, e2, _ = plane_axes(self.normal, self.first_axis)
        coefficients = self.half_width * (np.outer(x, e1) + np.outer(product(x, sine), e2))
        coefficients[0] += self.center
        return coefficients
