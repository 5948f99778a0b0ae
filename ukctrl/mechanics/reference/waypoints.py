"""Paths through waypoints: minimum jerk, splines, and tables from a CSV file."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, model_validator

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Components, InputFile, ListSize, Seconds, Text, Time, spec
from ukctrl.mechanics.reference.csv_columns import read_columns
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePolynomial, PiecewiseReference
from ukctrl.mechanics.reference.rest_to_rest import (
    MIN_JERK_ORDER,
    check_increasing,
    rest_to_rest_coefficients,
)

Ends = Literal["rest", "natural", "free", "periodic"]
Degree = Literal["cubic", "quintic"]

MAX_STILL = 12
"""Higher polynomials than of degree 25 lose too many digits to their alternating signs."""


def _same_length(points: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    for index, point in enumerate(points):
        if len(point) != len(points[0]):
            raise InputError(
                f"must have points of one size; point 1 has size {len(points[0])}, point "
                f"{index + 1} size {len(point)}."
            )
    return points


Points = Annotated[tuple[Components, ...], ListSize(2), AfterValidator(_same_length)]
"""At least two points, each a list of components or, for a scalar path, a number."""
Instants = Annotated[tuple[Time, ...], ListSize(2)]
"""At least two instants [s]."""


def check_times(times: Sequence[float] | None, duration: float | None, count: int) -> None:
    """Check that waypoints have either increasing instants, one for each, or a duration.

    Raises:
        InputError: They do not.
    """
    if (times is None) == (duration is None):
        raise InputError("must have either times or duration.")
    if times is not None:
        if len(times) != count:
            raise InputError(f"times must be as many as the waypoints, {count}; got {len(times)}.")
        check_increasing(times)


def instants(times: Sequence[float] | None, duration: float | None, count: int) -> Array:
    """Return the instants of the waypoints [s], shape (count,)."""
    return np.linspace(0.0, duration or 0.0, count) if times is None else np.array(times)


@spec
class _Waypoints(PiecewiseReference):
    """A path through waypoints."""

    kind: str
    points: Points
    """Waypoints [m or rad]."""
    times: Instants | None = None
    """Instant of each waypoint [s]; or give ``duration``."""
    duration: Seconds | None = None
    """Time from first to last [s], the waypoints evenly spaced in time from t = 0."""

    @model_validator(mode="after")
    def _timed(self) -> Self:
        check_times(self.times, self.duration, len(self.points))
        return self

    @property
    def size(self) -> int:
        return len(self.points[0])

    @property
    def _instants(self) -> Array:
        return instants(self.times, self.duration, len(self.points))


@spec
class MinJerk(_Waypoints):
    r"""Through waypoints with the least $\int \lVert \dddot r \rVert^2 dt$, from rest to rest.

    References:
        Flash & Hogan, "The coordination of arm movements", J. Neuroscience 5(7), 1985.
    """

    kind: Literal["min_jerk"] = "min_jerk"
    via: Literal["stop", "pass"] = "stop"
    """Come to rest at each waypoint, or pass the inner ones with least jerk in all."""

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        times, points = self._instants, np.array(self.points)
        if self.via == "stop":
            return PiecewisePolynomial(
                times, rest_to_rest_coefficients(times, points, MIN_JERK_ORDER)
            )
        return _spline(times, points, "quintic", "rest")


@spec
class RestToRest(_Waypoints):
    r"""Through waypoints, coming to rest at each with as many derivatives as asked.

    The first ``still`` derivatives vanish at every waypoint, by the polynomial of least degree,
    $2n + 1$; ``still = 2`` is ``min_jerk``. A row of relative degree r needs ``still`` of r - 1 at
    least, and of r for an input without jumps.
    """

    kind: Literal["rest_to_rest"] = "rest_to_rest"
    still: int = 4
    """Number n of derivatives that vanish, 1 to 12."""

    @model_validator(mode="after")
    def _few(self) -> Self:
        if not 1 <= self.still <= MAX_STILL:
            raise InputError(f"still must be 1 to {MAX_STILL} derivatives; got {self.still}.")
        return self

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        times, points = self._instants, np.array(self.points)
        return PiecewisePolynomial(times, rest_to_rest_coefficients(times, points, self.still))


@spec
class Spline(_Waypoints):
    """A spline through waypoints: cubic (continuous acceleration) or quintic (continuous snap)."""

    kind: Literal["spline"] = "spline"
    degree: Degree = "cubic"
    """Degree of the pieces."""
    ends: Ends = "rest"
    """``rest``: velocity (quintic: and acceleration) zero at both ends. ``natural``: acceleration
    zero (quintic: third and fourth derivative). ``free``: nothing is asked of the ends ("not a
    knot"), the most accurate for samples of a smooth motion. ``periodic``: the last point repeats
    the first, and the path goes round for ever."""

    @model_validator(mode="after")
    def _enough(self) -> Self:
        _check_ends(self.points[0], self.points[-1], len(self.points), self.degree, self.ends)
        return self

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        return _spline(self._instants, np.array(self.points), self.degree, self.ends)


@spec
class Table(PiecewiseReference):
    """A spline through the rows of a CSV file with a header."""

    kind: Literal["table"] = "table"
    file: InputFile
    """The CSV file: comma-separated, one header line, ``#`` starts a comment line."""
    time: Text = "t"
    """Name of the column of instants [s]."""
    columns: Annotated[tuple[Text, ...], ListSize()] | None = None
    """Names of the columns of components, in order; by default all but the time."""
    degree: Degree = "cubic"
    """Degree of the pieces."""
    ends: Ends = "rest"
    """End conditions, as for a spline."""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        times, points = self._rows
        _check_ends(tuple(points[0]), tuple(points[-1]), len(times), self.degree, self.ends)
        return self

    @functools.cached_property
    def _rows(self) -> tuple[Array, Array]:
        return read_columns(FilePath(self.file), self.time, self.columns)

    @property
    def size(self) -> int:
        return int(self._rows[1].shape[1])

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        times, points = self._rows
        return _spline(times, points, self.degree, self.ends)


def _check_ends(
    first: Sequence[float], last: Sequence[float], count: int, degree: Degree, ends: Ends
) -> None:
    min_points = {"free": {"cubic": 4, "quintic": 6}, "periodic": {"cubic": 3, "quintic": 6}}
    if ends in min_points and count < min_points[ends][degree]:
        raise InputError(
            f"a {ends} {degree} spline must have at least {min_points[ends][degree]} points; "
            f"got {count}."
        )
    if ends != "periodic":
        return
    scale = 1.0 + max(map(abs, (*first, *last)))
    if max(abs(a - b) for a, b in zip(first, last, strict=True)) > 1e-9 * scale:
        raise InputError('ends = "periodic" needs a last point that repeats the first.')


def _spline(times: Array, points: Array, degree: Degree, ends: Ends) -> PiecewisePolynomial:
    """Return the interpolating spline as polynomial pieces on the waypoints."""
    from scipy.interpolate import CubicSpline, make_interp_spline

    if ends == "periodic":
        # to the last bit, which scipy asks for
        points = np.concatenate([points[:-1], points[:1]])
    if degree == "cubic":
        kind = {"rest": "clamped", "free": "not-a-knot"}.get(ends, ends)
        coefficients = CubicSpline(times, points, bc_type=kind).c[::-1].transpose(1, 0, 2)
    else:
        zeros = np.zeros(points.shape[1])
        orders = {"rest": (1, 2), "natural": (3, 4)}.get(ends, ())
        side = [(order, zeros) for order in orders]
        conditions = {"periodic": "periodic", "free": None}.get(ends, (side, side))
        spline = make_interp_spline(times, points, k=5, bc_type=conditions)
        # B-splines become powers of the time since each waypoint
        taylor = [spline(times[:-1], nu=power) for power in range(6)]
        factorials = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])
        coefficients = np.stack(taylor, axis=1) / factorials[None, :, None]
    return PiecewisePolynomial(times, coefficients, repeat=ends == "periodic")
