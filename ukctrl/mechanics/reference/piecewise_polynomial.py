"""Generated evaluators: linear combinations of a few functions, and piecewise polynomials.

Most paths are constant vectors times a few scalar functions of time. Writing them out as plain
arithmetic, without the zeros, evaluates a path in a fraction of a microsecond.
"""

from __future__ import annotations

import abc
import bisect
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.reference.reference import Path, Reference
from ukctrl.mechanics.reference.taylor import Series, factorials

JUMP_RTOL = 1e-9
"""A derivative jumps where its sides differ by more than this part of the path's size."""


def compile_combination(
    lines: Sequence[str],
    basis: Sequence[str],
    rows: NDArray[np.float64],
    namespace: Mapping[str, object] | None = None,
) -> Path:
    """Compile ``rows @ basis(t)``, leaving out what is zero.

    Args:
        lines: Statements that define the basis from the time ``t``.
        basis: Names of the basis functions; ``"1"`` is the constant.
        rows: Coefficients, shape ``(n, len(basis))``.
        namespace: Functions that the lines call beside those of the language.
    """
    values = ", ".join(_linear(row, basis) for row in rows.tolist())
    return CompiledFormula(["t"], [*lines, f"return ({values},)"], time=0, known=namespace)


def _linear(row: Sequence[float], basis: Sequence[str]) -> str:
    terms = [_term(c, name) for c, name in zip(row, basis, strict=True) if c != 0.0]
    return " + ".join(terms) if terms else "0.0"


def _term(coefficient: float, name: str) -> str:
    if name == "1":
        return f"({coefficient!r})"
    return name if coefficient == 1.0 else f"({coefficient!r})*{name}"


def compile_constant(values: Sequence[float]) -> Path:
    """Compile what is the same at all times."""
    return CompiledFormula(["t"], ["return values"], known={"values": values})


def require_finite(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a path and of its derivatives, checked.

    Raises:
        InputError: One is not finite.
    """
    if not np.isfinite(rows).all():
        raise InputError("must be a slower path: its acceleration overflows.")
    return rows


def compile_piecewise(
    times: Sequence[float], coefficients: NDArray[np.float64], *, repeat: bool = False
) -> Path:
    r"""Compile a piecewise polynomial $r(t) = \sum_k c_{ik} (t - t_i)^k$ on $[t_i, t_{i+1}]$.

    Outside it holds its ends, with zero derivatives, unless it repeats.

    Args:
        times: The n + 1 ends of the pieces, increasing [s].
        coefficients: Ascending powers, shape ``(n, powers, size)``.
        repeat: Whether the path starts again where it ends.

    Raises:
        InputError: The coefficients are not finite.
    """
    size = coefficients.shape[2]
    derivatives = _with_derivatives(coefficients)
    table = [
        (time, *(c for derivative in derivatives for c in derivative[index].T.ravel().tolist()))
        for index, time in enumerate(times[:-1])
    ]
    first, last = float(times[0]), float(times[-1])
    lengths = [derivative.shape[1] for derivative in derivatives for _ in range(size)]
    names = [[f"c{i}_{k}" for k in range(length)] for i, length in enumerate(lengths)]
    lines = (
        [f"t = {first!r} + (t - {first!r}) % {last - first!r}"]
        if repeat
        else _end_lines(first, last)
    )
    lines += [
        f"({', '.join(['start', *(name for row in names for name in row)])},) = "
        "table[bisect_right(breaks, t)]",
        "s = t - start",
        f"return ({', '.join(_horner(row) for row in names)},)",
    ]
    end = tuple(
        float(value)
        for value in np.polynomial.polynomial.polyval(last - float(times[-2]), coefficients[-1])
    )
    namespace = {
        "table": table,
        "breaks": [float(time) for time in times[1:-1]],
        "bisect_right": bisect.bisect_right,
        "before": (*coefficients[0, 0].tolist(), *([0.0] * 2 * size)),
        "after": (*end, *([0.0] * 2 * size)),
    }
    return CompiledFormula(["t"], lines, time=0, known=namespace)


class PiecewisePolynomial(NamedTuple):
    r"""A piecewise polynomial, $r(t) = \sum_k c_{ik} (t - t_i)^k$ on $[t_i, t_{i+1}]$."""

    times: NDArray[np.float64]
    """The n + 1 ends of the pieces, increasing [s]."""
    coefficients: NDArray[np.float64]
    """Ascending powers, shape ``(n, powers, size)``."""
    repeat: bool = False
    """Whether the path starts again where it ends; else it holds its ends."""
    unbounded: bool = False
    """Whether the first piece goes on for all time, and there is no other."""

    def compile(self) -> Path:
        """Return the flat function of time.

        Raises:
            InputError: The coefficients are not finite.
        """
        if self.unbounded:
            return compile_polynomial(self.coefficients)
        return compile_piecewise(self.times.tolist(), self.coefficients, repeat=self.repeat)

    def series(self, t: float, order: int) -> NDArray[np.float64]:
        """Return the Taylor coefficients about an instant, shape ``(order + 1, size)``."""
        out = np.zeros((order + 1, self.coefficients.shape[2]))
        evaluate_piecewise(*self.kernel_arguments, np.full(1, t), out)
        return out / factorials(order)[:, None]

    def derivative_step(self, order: int, clock: Vector, out: Matrix) -> BoundKernel:
        """Return what writes value and derivatives, shape ``(order + 1, size)``."""
        return BoundKernel(evaluate_piecewise, *self.kernel_arguments, clock, out)

    @property
    def kernel_arguments(self) -> tuple[Vector, NDArray[np.float64], bool, bool]:
        """What kernels take."""
        coefficients = np.ascontiguousarray(self.coefficients)
        return self.times, coefficients, bool(self.repeat), bool(self.unbounded)

    @property
    def smoothness(self) -> float:
        """How many derivatives are continuous, at the ends too; infinite where all are."""
        if self.unbounded:
            return math.inf
        starts = [self._taylor(i, float(t)) for i, t in enumerate(self.times[:-1])]
        ends = [self._taylor(i, float(t)) for i, t in enumerate(self.times[1:])]
        if self.repeat:
            pairs = list(zip(ends, [*starts[1:], starts[0]], strict=True))
        else:
            # outside it stands still: the ends are joints too
            pairs = [(_constant_taylor(starts[0]), starts[0]), *zip(ends, starts[1:], strict=False)]
            pairs.append((ends[-1], _constant_taylor(ends[-1])))
        # derivatives in the measure of the longest piece, or units of time would decide
        span = float(np.diff(self.times).max()) ** np.arange(self.coefficients.shape[1])[:, None]
        size = max(float(np.abs(span * side).max()) for pair in pairs for side in pair)
        jumps = np.max([np.abs(span * (a - b)).max(axis=1) for a, b in pairs], axis=0)
        broken = np.flatnonzero(jumps > JUMP_RTOL * size)
        return float(broken[0] - 1) if broken.size else math.inf

    def breakpoints(self, first: float, last: float) -> list[float]:
        """Return the times within a span at which pieces meet, or begin and end [s]."""
        times = [] if self.unbounded else self.times.tolist()
        if self.repeat:
            period = times[-1] - times[0]
            turns = range(
                math.floor((first - times[0]) / period), math.ceil((last - times[0]) / period)
            )
            times = [t + turn * period for turn in turns for t in times[:-1]]
        return [t for t in times if first < t < last]

    def _taylor(self, index: int, t: float) -> NDArray[np.float64]:
        """Return a piece as a polynomial about another instant, shape ``(powers, size)``."""
        piece = np.ascontiguousarray(self.coefficients[index])
        moved: NDArray[np.float64] = np.zeros(piece.shape)
        evaluate_polynomial(piece, t - float(self.times[:-1][index]), moved)
        return moved / factorials(len(moved) - 1)[:, None]


@compiled
def evaluate_polynomial(piece: Matrix, h: float, out: Matrix) -> None:
    """Write a polynomial and its derivatives at ``h``, shape ``(order + 1, size)``."""
    for k in range(len(out)):
        for i in range(out.shape[1]):
            total = 0.0
            for j in range(len(piece) - 1, k - 1, -1):
                coefficient = piece[j, i]
                # the falling factorial of the power, of which none is stored
                for p in range(k):
                    coefficient *= j - p
                total = total * h + coefficient
            out[k, i] = total


@compiled
def evaluate_piecewise(
    times: Vector,
    coefficients: NDArray[np.float64],
    repeat: bool,
    endless: bool,
    clock: Vector,
    out: Matrix,
) -> None:
    """Write a piecewise polynomial and its derivatives at a time; see `PiecewisePolynomial`."""
    t, first, last = clock[0], times[0], times[len(times) - 1]
    if endless:
        evaluate_polynomial(coefficients[0], t - first, out)
        return
    # floored modulo: negative times fall into the period as well
    if repeat:
        t = first + (t - first) % (last - first)
    piece = min(max(int(np.searchsorted(times, t, side="right")), 1), len(times) - 1) - 1
    evaluate_polynomial(coefficients[piece], min(max(t, first), last) - times[piece], out)
    # at the end itself the derivatives are those of what follows: zero
    if t < first or t >= last:
        for k in range(1, out.shape[0]):
            for i in range(out.shape[1]):
                out[k, i] = 0.0


class PiecewiseReference(Reference):
    """A path of polynomial pieces."""

    @property
    @abc.abstractmethod
    def pieces(self) -> PiecewisePolynomial:
        """The pieces."""

    def compile(self) -> Path:
        return self.pieces.compile()

    @property
    def smoothness(self) -> float:
        return self.pieces.smoothness

    @property
    def extent(self) -> tuple[float, float] | None:
        pieces = self.pieces
        if pieces.repeat or pieces.unbounded:
            return None
        return float(pieces.times[0]), float(pieces.times[-1])

    def breaks(self, first: float, last: float) -> list[float]:
        """Return the times within a span at which pieces meet, or begin and end [s]."""
        return self.pieces.breakpoints(first, last)

    def series(self, t: float, order: int) -> Series:
        return self.pieces.series(t, order)

    def derivative_step(self, order: int, clock: Vector, out: Matrix) -> KernelStep:
        return self.pieces.derivative_step(order, clock, out)


@final
class PiecewisePath(PiecewiseReference):
    """A path of given pieces, which no file writes; see `Reference.miss`."""

    def __init__(self, pieces: PiecewisePolynomial, miss: float = 0.0) -> None:
        self._pieces, self._miss = pieces, miss

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewisePath):
            return NotImplemented
        ours, theirs = self._pieces, other.pieces
        alike = np.array_equal(ours.times, theirs.times) and ours[2:] == theirs[2:]
        return alike and np.array_equal(ours.coefficients, theirs.coefficients)

    def __hash__(self) -> int:
        return hash((self._pieces.times.tobytes(), self._pieces.coefficients.tobytes()))

    @property
    def pieces(self) -> PiecewisePolynomial:
        return self._pieces

    @property
    def miss(self) -> float:
        return self._miss

    @property
    def size(self) -> int:
        return int(self._pieces.coefficients.shape[2])


def _constant_taylor(taylor: NDArray[np.float64]) -> NDArray[np.float64]:
    still = np.zeros(taylor.shape)
    still[0] = taylor[0]
    return still


def _with_derivatives(coefficients: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the coefficients, shape ``(n, powers, size)``, and those of two derivatives."""
    derivatives = [coefficients]
    with np.errstate(over="ignore", invalid="ignore"):  # finite_rows says it in words
        for _ in range(2):
            powers = np.arange(1, derivatives[-1].shape[1])[None, :, None]
            derivatives.append(derivatives[-1][:, 1:] * powers)
    return [require_finite(derivative) for derivative in derivatives]


def _end_lines(first: float, last: float) -> list[str]:
    return [
        f"if t < {first!r}:",
        "    return before",
        f"if t > {last!r}:",
        "    return after",
    ]


def _horner(names: Sequence[str]) -> str:
    code = names[-1] if names else "0.0"
    for name in reversed(names[:-1]):
        code = f"{name} + s*({code})" if code.isidentifier() is False else f"{name} + s*{code}"
    return code


def single_piece(coefficients: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return one polynomial per component as one piece, shape ``(1, powers, size)``."""
    powers = max(len(row) for row in coefficients)
    return np.array([[*row, *([0.0] * (powers - len(row)))] for row in coefficients]).T[None]


def unbounded_polynomial(coefficients: Sequence[Sequence[float]]) -> PiecewisePolynomial:
    """Return one polynomial per component that goes on for all time."""
    return PiecewisePolynomial(np.zeros(2), single_piece(coefficients), unbounded=True)


def compile_polynomial(coefficients: NDArray[np.float64]) -> Path:
    """Compile one polynomial per component without end, shape ``(1, powers, size)``."""
    derivatives = _with_derivatives(coefficients)
    values = ", ".join(
        _literal_horner(row) for derivative in derivatives for row in derivative[0].T.tolist()
    )
    return CompiledFormula(["t"], [f"return ({values},)"], time=0)


def _literal_horner(row: Sequence[float]) -> str:
    # leading zeros would cost a product each, and change no bit
    while row and row[-1] == 0.0:
        row = row[:-1]
    code = f"({row[-1]!r})" if row else "0.0"
    for value in reversed(row[:-1]):
        head = f"({value!r}) + " if value != 0.0 else ""
        code = f"({head}t*{code})"
    return code
