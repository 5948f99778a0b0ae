"""Paths made of paths: on another clock, again and again, side by side; and the union of all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator
from pydantic.dataclasses import rebuild_dataclass

from ukctrl.core.errors import InputError
from ukctrl.core.expression.formula import DomainError, Formula
from ukctrl.core.fields import Listed, Plain, Seconds, Time, spec
from ukctrl.core.kinds import any_of, kinds, passing
from ukctrl.mechanics.reference.reference import Path, Reference
from ukctrl.mechanics.reference.taylor import Series, composed
from ukctrl.mechanics.reference.timing_wish import UNTIMED, TimingWish

CLOSED = 1e-6
"""A path is closed when its ends differ by less than this fraction of its size."""
SEAM = 8
"""Derivatives that are compared where a path starts again, or has a break."""


def hull(every: Iterable[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Return the first begin and the last end of those that have ends [s]; None where none has."""
    known = [ends for ends in every if ends is not None]
    if not known:
        return None
    return min(first for first, _ in known), max(last for _, last in known)


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
        known: dict[str, object] = {"path": self.path.compile()}
        if self.clock is None:
            rate = self._rate
            lines = [f"({_names(self.size)},) = path({rate!r}*(t - ({self.delay!r})))"]
            first, second = f"{rate!r}*", f"{rate * rate!r}*"
            values = [f"x{i}" for i in range(self.size)]
            values += [f"{first}x{i}" for i in range(self.size, 2 * self.size)]
            values += [f"{second}x{i}" for i in range(2 * self.size, 3 * self.size)]
        else:
            known["clock"] = self.clock.compile()
            lines = ["s, s1, s2 = clock(t)", f"({_names(self.size)},) = path(s)", "q = s1*s1"]
            values = [f"x{i}" for i in range(self.size)]
            values += [f"s1*x{i}" for i in range(self.size, 2 * self.size)]
            values += [f"q*x{i + self.size} + s2*x{i}" for i in range(self.size, 2 * self.size)]
        lines.append(f"return ({', '.join(values)},)")
        return Formula(["t"], lines, time=0, known=known)

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
        ends = sorted(rate * (t - self.delay) for t in (first, last))
        return sorted(t / rate + self.delay for t in self.path.breaks(*ends))

    def series(self, t: float, order: int) -> Series:
        if self.clock is None:
            scale = self._rate ** np.arange(order + 1)
            return self.path.series(self._rate * (t - self.delay), order) * scale[:, None]
        clock = self.clock.series(t, order)[:, 0]
        return composed(self.path.series(float(clock[0]), order), clock)


class FromRest(TimeScaled):
    """A path on a clock from rest to rest, from where to where it moves."""

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous, where the clock rests as many as it has."""
        assert self.clock is not None
        least = self.clock.smoothness
        span = self.clock.extent or (0.0, 0.0)
        first, last = (float(self.clock(t).r[0]) for t in span)
        apart = CLOSED * (last - first)
        for at in self.path.breaks(first + apart, last - apart):
            before, after = (self.path.series(t, SEAM) for t in (math.nextafter(at, first), at))
            least = min(least, _continuous(before, after, last - first))
        return least


def _continuous(before: Series, after: Series, span: float) -> float:
    """Return how many derivatives two series have in common, in the measure of a time span."""
    scale = span ** np.arange(len(after))[:, None]
    jumps = np.abs(scale * (before - after)).max(axis=1)[1:]
    limit = CLOSED * (1.0 + np.abs(scale * after).max(axis=1)[1:])
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
        if not self.advance and worst > CLOSED * (1.0 + float(np.abs(first).max())):
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
        known = {"path": self.path.compile(), "floor": math.floor}
        return Formula(["t"], lines, time=0, known=known)

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous, also where it starts again."""
        first, last = (self.path.series(at, SEAM) for at in (0.0, math.nextafter(self.period, 0.0)))
        return min(self.path.smoothness, _continuous(last, first, self.period))

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

    hands_time_on: ClassVar[bool] = True
    kind: Literal["stacked"] = "stacked"
    parts: Annotated[tuple[AnyReference, ...], Listed()]
    """The references."""

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def extent(self) -> tuple[float, float] | None:
        return hull(part.extent for part in self.parts)

    def compile(self) -> Path:
        lines: list[str] = []
        orders: list[list[str]] = [[], [], []]
        known: dict[str, object] = {}
        for index, part in enumerate(self.parts):
            known[f"part{index}"] = part.compile()
            names = [f"x{index}_{i}" for i in range(3 * part.size)]
            lines.append(f"({', '.join(names)},) = part{index}(t)")
            for order, together in enumerate(orders):
                together += names[order * part.size : (order + 1) * part.size]
        values = [name for together in orders for name in together]
        lines.append(f"return ({', '.join(values)},)")
        return Formula(["t"], lines, time=0, known=known)

    @property
    def smoothness(self) -> float:
        return min(part.smoothness for part in self.parts)

    def breaks(self, first: float, last: float) -> list[float]:
        return sorted({t for part in self.parts for t in part.breaks(first, last)})

    def series(self, t: float, order: int) -> Series:
        return np.hstack([part.series(t, order) for part in self.parts])


@spec
class Retimed(TimingWish, Reference):
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

    def on_clock(self, clock: Reference) -> FromRest:
        """Return the path on a scalar clock s(t) from rest to rest."""
        return FromRest(path=self.of, clock=clock)

    def compile(self) -> Path:
        raise InputError(UNTIMED)

    def series(self, t: float, order: int) -> Series:
        raise InputError(UNTIMED)


if TYPE_CHECKING:
    AnyReference = Reference
else:
    AnyReference = any_of(
        kinds("ukctrl.mechanics.reference", Reference, without=("orientation",)), passing(Reference)
    )
"""Any reference, told apart by ``kind``."""

for _kind in (TimeScaled, Repeated, Stacked, Retimed):
    rebuild_dataclass(_kind)  # type: ignore[arg-type]  # they contain the union they belong to
