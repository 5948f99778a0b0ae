"""Paths made of paths: on another clock, again and again, side by side; and the union of all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator
from pydantic.dataclasses import rebuild_dataclass

from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import CompiledFormula, DomainError
from ukctrl.core.fields import ListSize, Plain, Seconds, Time, spec
from ukctrl.core.kind_registry import accept_instances, classes_by_kind, union_of_kinds
from ukctrl.mechanics.reference.function_path import reference_argument
from ukctrl.mechanics.reference.reference import Path, Reference
from ukctrl.mechanics.reference.taylor import Series, compose
from ukctrl.mechanics.reference.timing_options import RETIMED_PLACE_ERROR, TimingOptions

CLOSURE_RTOL = 1e-6
"""A path is closed when its ends differ by less than this fraction of its size."""
COMPARED_DERIVATIVES = 8
"""Derivatives that are compared where a path starts again, or has a break."""


def time_hull(extents: Iterable[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Return the first begin and the last end of those that have ends [s]; None where none has."""
    spans = [ends for ends in extents if ends is not None]
    if not spans:
        return None
    return min(first for first, _ in spans), max(last for _, last in spans)


@spec
class TimeScaled(Reference):
    r"""A path on another clock, $r(t) = p(s(t))$, with the chain rule for its derivatives.

    The clock is $s = \rho\,(t - t_0)$, or any scalar reference.
    """

    kind: Literal["time_scaled"] = "time_scaled"
    path: AnyReference
    """The path p."""
    rate: Plain | None = None
    r"""Speed of the clock $\rho$, 1 by default; below 1 slower, negative backwards."""
    delay: Time = 0.0
    """Instant t0 at which the clock shows 0 [s]."""
    clock: AnyReference | None = None
    """A scalar reference s(t) [s] instead of ``rate`` and ``delay``."""

    @model_validator(mode="after")
    def _one_clock(self) -> Self:
        if self.clock is not None:
            if self.rate is not None or self.delay != 0.0:
                raise InputError("must have either clock, or rate and delay.")
            if self.clock.size != 1:
                raise InputError(f"clock must have one component; got {self.clock.size}.")
        return self

    @property
    def _rate(self) -> float:
        return 1.0 if self.rate is None else self.rate

    @property
    def size(self) -> int:
        return self.path.size

    def compile(self) -> Path:
        namespace: dict[str, object] = {"path": self.path.compile()}
        if self.clock is None:
            rate = self._rate
            lines = [f"({_names(self.size)},) = path({rate!r}*(t - ({self.delay!r})))"]
            first, second = f"{rate!r}*", f"{rate * rate!r}*"
            values = [f"x{i}" for i in range(self.size)]
            values += [f"{first}x{i}" for i in range(self.size, 2 * self.size)]
            values += [f"{second}x{i}" for i in range(2 * self.size, 3 * self.size)]
        else:
            namespace["clock"] = self.clock.compile()
            lines = ["s, s1, s2 = clock(t)", f"({_names(self.size)},) = path(s)", "q = s1*s1"]
            values = [f"x{i}" for i in range(self.size)]
            values += [f"s1*x{i}" for i in range(self.size, 2 * self.size)]
            values += [f"q*x{i + self.size} + s2*x{i}" for i in range(self.size, 2 * self.size)]
        lines.append(f"return ({', '.join(values)},)")
        return CompiledFormula(["t"], lines, time=0, known=namespace)

    @property
    def smoothness(self) -> float:
        clock = math.inf if self.clock is None else self.clock.smoothness
        return min(self.path.smoothness, clock)

    def breaks(self, first: float, last: float) -> list[float]:
        """Return the times within a span at which some derivative may jump [s], in order.

        Of a clock that is a path, those of the clock alone.
        """
        if self.clock is not None:
            return self.clock.breaks(first, last)
        rate = self._rate
        if rate == 0.0:
            return []
        # a negative rate runs backwards
        ends = sorted(rate * (t - self.delay) for t in (first, last))
        return sorted(t / rate + self.delay for t in self.path.breaks(*ends))

    def series(self, t: float, order: int) -> Series:
        if self.clock is None:
            scale = self._rate ** np.arange(order + 1)
            return self.path.series(self._rate * (t - self.delay), order) * scale[:, None]
        clock = self.clock.series(t, order)[:, 0]
        return compose(self.path.series(float(clock[0]), order), clock)


class RestTimedPath(TimeScaled):
    """A path on a clock from rest to rest, from where to where it moves."""

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous, where the clock rests as many as it has."""
        assert self.clock is not None
        order = self.clock.smoothness
        span = self.clock.extent or (0.0, 0.0)
        first, last = (float(self.clock(t).r[0]) for t in span)
        apart = CLOSURE_RTOL * (last - first)
        # not the ends: there the clock rests, and takes the path's derivatives with it
        for at in self.path.breaks(first + apart, last - apart):
            # at a break itself a series is that of the later piece
            left_series, right_series = (
                self.path.series(t, COMPARED_DERIVATIVES) for t in (math.nextafter(at, first), at)
            )
            order = min(order, _continuous_derivatives(left_series, right_series, last - first))
        return order


def _continuous_derivatives(left_series: Series, right_series: Series, span: float) -> float:
    """Return how many derivatives two series have in common, in the measure of a time span."""
    scale = span ** np.arange(len(right_series))[:, None]
    jumps = np.abs(scale * (left_series - right_series)).max(axis=1)[1:]
    limit = CLOSURE_RTOL * (1.0 + np.abs(scale * right_series).max(axis=1)[1:])
    broken = np.flatnonzero(jumps > limit)
    return float(broken[0]) if broken.size else math.inf


def _names(size: int) -> str:
    return ", ".join(f"x{i}" for i in range(3 * size))


@spec
class Repeated(Reference):
    r"""A path again and again, $r(t) = p(t \bmod T)$, also before t = 0.

    The path must be closed, $p(T) = p(0)$, unless each repetition advances by $p(T) - p(0)$.
    """

    kind: Literal["repeated"] = "repeated"
    path: AnyReference
    """The path p, of which [0, T] is used."""
    period: Seconds
    """Period T [s]."""
    advance: bool = False
    """Whether each repetition starts where the last one ended."""

    @model_validator(mode="after")
    def _closed(self) -> Self:
        try:
            gap, first = self._gap(), self.path(0.0).r
        except DomainError as error:
            raise InputError(f"path must exist at both ends of the period; {error}") from None
        worst = float(np.abs(gap).max())
        if not self.advance and worst > CLOSURE_RTOL * (1.0 + float(np.abs(first).max())):
            raise InputError(
                f"path must return to its start after period, {self.period:g} s; it is off by "
                f"{worst:.3g}. Close the path, or let it go on with advance = true."
            )
        return self

    def _gap(self) -> NDArray[np.float64]:
        return self.path(self.period).r - self.path(0.0).r

    @property
    def size(self) -> int:
        return self.path.size

    def compile(self) -> Path:
        lines = [f"turn = floor(t/{self.period!r})"]
        lines += [f"({_names(self.size)},) = path(t - turn*{self.period!r})"]
        gap = self._gap().tolist() if self.advance else [0.0] * self.size
        values = [f"x{i}" + (f" + turn*({g!r})" if g else "") for i, g in enumerate(gap)]
        values += [f"x{i}" for i in range(self.size, 3 * self.size)]
        lines.append(f"return ({', '.join(values)},)")
        namespace = {"path": self.path.compile(), "floor": math.floor}
        return CompiledFormula(["t"], lines, time=0, known=namespace)

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous, also where it starts again."""
        first, last = (
            self.path.series(at, COMPARED_DERIVATIVES)
            # at the end itself the path may be in a piece after it
            for at in (0.0, math.nextafter(self.period, 0.0))
        )
        return min(self.path.smoothness, _continuous_derivatives(last, first, self.period))

    def breaks(self, first: float, last: float) -> list[float]:
        T, inner = self.period, [0.0, *self.path.breaks(0.0, self.period)]
        turns = range(math.floor(first / T), math.ceil(last / T) + 1)
        times = (turn * T + t for turn in turns for t in inner)
        return [t for t in times if first < t < last]

    def series(self, t: float, order: int) -> Series:
        turn = math.floor(t / self.period)
        coefficients = self.path.series(t - turn * self.period, order)
        if self.advance:
            coefficients = coefficients.copy()
            coefficients[0] += turn * self._gap()
        return coefficients


@spec
class Stacked(Reference):
    """Several references as one, their components one after the other."""

    shares_time: ClassVar[bool] = True
    kind: Literal["stacked"] = "stacked"
    parts: Annotated[tuple[AnyReference, ...], ListSize()]
    """The references."""

    @property
    def size(self) -> int:
        return sum(reference.size for reference in self.parts)

    @property
    def extent(self) -> tuple[float, float] | None:
        return time_hull(reference.extent for reference in self.parts)

    def compile(self) -> Path:
        lines: list[str] = []
        orders: list[list[str]] = [[], [], []]
        namespace: dict[str, object] = {}
        for index, reference in enumerate(self.parts):
            namespace[f"part{index}"] = reference.compile()
            names = [f"x{index}_{i}" for i in range(3 * reference.size)]
            lines.append(f"({', '.join(names)},) = part{index}(t)")
            for order, together in enumerate(orders):
                together += names[order * reference.size : (order + 1) * reference.size]
        values = [name for together in orders for name in together]
        lines.append(f"return ({', '.join(values)},)")
        return CompiledFormula(["t"], lines, time=0, known=namespace)

    @property
    def smoothness(self) -> float:
        return min(reference.smoothness for reference in self.parts)

    def breaks(self, first: float, last: float) -> list[float]:
        return sorted({t for reference in self.parts for t in reference.breaks(first, last)})

    def series(self, t: float, order: int) -> Series:
        return np.hstack([reference.series(t, order) for reference in self.parts])


@spec
class Retimed(TimingOptions, Reference):
    r"""A path on the fastest clock that the robot's limits allow, from rest to rest.

    $r(t) = p(s(t))$ with one clock for all retimed paths and orientations of a scenario, which
    starts with the run and is worked out from the joint motion that they ask for together.
    """

    kind: Literal["retimed"] = "retimed"
    of: AnyReference
    """The path p over its own time s; it must move all the way, without corners."""

    @property
    def size(self) -> int:
        return self.of.size

    def on_clock(self, clock: Reference) -> RestTimedPath:
        """Return the path on a scalar clock s(t) from rest to rest."""
        return RestTimedPath(path=self.of, clock=clock)

    def compile(self) -> Path:
        raise InputError(RETIMED_PLACE_ERROR)

    def series(self, t: float, order: int) -> Series:
        raise InputError(RETIMED_PLACE_ERROR)


if TYPE_CHECKING:
    AnyReference = Reference
else:
    AnyReference = union_of_kinds(
        with_entry_points(
            "reference",
            Reference,
            classes_by_kind("ukctrl.mechanics.reference", Reference, without=("orientation",)),
        ),
        accept_instances(Reference, reference_argument),
    )
"""Any reference, told apart by ``kind``."""

for _kind in (TimeScaled, Repeated, Stacked, Retimed):
    rebuild_dataclass(_kind)  # type: ignore[arg-type]  # they contain the union they belong to
