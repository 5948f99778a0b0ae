r"""How far brackets of the allowed motions reach: the growth of a distribution.

Rows $A(q, t)\, v + c(q, t) = 0$ allow, in coordinates and time, the directions
$(v, \dot t)$ with $A v + c\, \dot t = 0$. The rows are integrable exactly when these directions
are closed under the Lie bracket (Frobenius); where they are not, brackets add directions, and
what they never reach is what the rows have integrated to (Chow, Rashevskii).

The fields are given as a function of the state, in any arithmetic: with hundreds of digits, where
differences are as good as derivatives, or in floating point.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags
from ukctrl.core.tie_breaking import first_largest

Numbers = NDArray[Any]
"""Floating point, or objects of an arithmetic with more digits."""


class TimeBudgetExceeded(Exception):
    """The time allowed is up; what is known by then stands."""


class NoAdmissibleState(Exception):
    """No state was found where every formula has a real value."""

    def __init__(self) -> None:
        super().__init__(
            "the constraints have no finite real value at any state tried; check the domains of "
            "log, sqrt, asin and acos, and divisions."
        )


class ContradictoryRow(Exception):
    """A row says, given the others, that time stands still."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class DifferenceScheme(NamedTuple):
    """How to difference, and what counts as zero."""

    step: Any
    offsets: tuple[int, ...]
    """Where to evaluate, in steps."""
    weights: tuple[Any, ...]
    zero: float
    """What is smaller, relative to directions of unit size, is rounding."""
    depth: int
    """Brackets of more than this many fields cannot be trusted."""


class PfaffianRows(abc.ABC):
    """Rows over coordinates and time, in some arithmetic."""

    names: tuple[str, ...]
    """What the columns are called: the velocities, then ``t``."""
    linear: list[bool]
    """Whether each row is linear in the velocities."""
    rounding: float
    """What is smaller is rounding of the rows."""
    states: int
    """How many states to try."""
    row_indices: Sequence[int]
    """The rows that count."""

    @property
    def size(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    @abc.abstractmethod
    def arithmetic(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which everything else must be called."""

    def subset(self, chosen: Sequence[int]) -> Self:
        """Return the space of some of the rows."""
        smaller = copy.copy(self)
        smaller.row_indices = chosen
        return smaller

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator) -> Any:
        """Draw a state where every row has a real value.

        Raises:
            NoState: None was found.
        """

    @abc.abstractmethod
    def rows(self, x: Any) -> Numbers:
        """Return ``[A c]`` at a state, shape ``(m, nv + 1)``; time is the last column."""

    @abc.abstractmethod
    def retract(self, x: Any, direction: Numbers, h: Any) -> Any:
        """Return the state a step further along a direction, shape ``(nv + 1,)``."""

    def constant_bracket(self, x: Any, first: Numbers, second: Numbers) -> Numbers | None:
        """Return the bracket of two constant directions; None where velocities are rates."""
        return None


class GrowthVector(NamedTuple):
    """What brackets reach at a state."""

    dimensions: tuple[int, ...]
    """Dimension of the allowed directions, and after each further bracket; time included."""
    closed: bool
    """Whether nothing is added any more; False where the depth or the time ran out."""
    rank: int
    """Independent rows."""
    basis: Numbers
    """The directions reached, shape ``(nv + 1, dims[-1])``."""
    rows: Numbers
    """``[A c]`` at the state."""
    witness: tuple[int, int, int, float] | None
    """Two free directions, the row that their bracket breaks most, and by how much."""

    def violated_rows(self, zero: float) -> Flags:
        """Tell which rows some direction that was reached breaks by more than rounding."""
        missed = np.abs(np.asarray(self.rows @ self.basis, dtype=np.float64)).max(axis=1)
        size = np.abs(np.asarray(self.rows, dtype=np.float64)).max(axis=1)
        return np.asarray(missed > zero * (1.0 + size))


def growth_vector(
    space: PfaffianRows, x: Any, scheme: DifferenceScheme, deadline: float
) -> GrowthVector:
    """Bracket the allowed directions until nothing is added.

    Args:
        space: The rows.
        x: The state.
        scheme: How to difference.
        deadline: When to stop, by `time.thread_time`.

    Raises:
        Contradiction: No velocity meets all rows.
    """
    rows = space.rows(x)
    pivots, free, rank = _pivots(rows, scheme.zero)
    fields = _BracketFields(space, scheme, rows, pivots, free, deadline)
    basis = fields.new(0, x)
    reached = _OrthonormalBasis(rows.shape[1], scheme.zero)
    for column in basis.T:
        reached.add(column)
    dims, witness, closed = [reached.size], None, False
    ceiling = rows.shape[1]
    try:
        while not closed and len(dims) < scheme.depth:
            # one field has no bracket but with itself, which is zero
            if dims[-1] == ceiling or len(free) < 2:
                closed = True
                break
            candidates = fields.candidates(x)
            chosen = []
            for (i, j), bracket in candidates:
                if reached.add(bracket):
                    chosen.append((i, j))
                    if witness is None and len(dims) == 1:
                        broken = rows @ bracket
                        at = first_largest([abs(float(value)) for value in broken])
                        witness = (free[i], free[j], at, float(broken[at]))
            closed = not chosen
            if chosen:
                fields.chosen.append(chosen)
                dims.append(reached.size)
        else:
            closed = closed or dims[-1] == ceiling
    except TimeBudgetExceeded:
        pass
    return GrowthVector(tuple(dims), closed, rank, np.array(reached.vectors).T, rows, witness)


class _BracketFields:
    """The free directions as fields over the states, and the brackets that were kept."""

    def __init__(
        self,
        space: PfaffianRows,
        scheme: DifferenceScheme,
        rows: Numbers,
        pivots: list[tuple[int, int]],
        free: list[int],
        deadline: float,
    ) -> None:
        self.space, self.scheme, self.deadline = space, scheme, deadline
        self.kept = [row for row, _ in pivots]
        self.bound, self.free = [column for _, column in pivots], free
        self.size = rows.shape[1]
        self.chosen: list[list[tuple[int, int]]] = []

    def new(self, level: int, x: Any) -> Numbers:
        """Return the fields that a level added, shape ``(nv + 1, count)``."""
        if level == 0:
            return self._allowed(x)
        pairs = self.chosen[level - 1]
        return np.array([value for _, value in self._brackets(level - 1, pairs, x)]).T

    def candidates(self, x: Any) -> list[tuple[tuple[int, int], Numbers]]:
        """Return the brackets of the free directions with the fields of the last level."""
        level = len(self.chosen)
        count = len(self.chosen[-1]) if level else len(self.free)
        first_only = level == 0
        pairs = [
            # of the first level [i, j] = -[j, i]
            (i, j)
            for i in range(len(self.free))
            for j in range(i + 1 if first_only else 0, count)
        ]
        return self._brackets(level, pairs, x)

    def _brackets(
        self, level: int, pairs: list[tuple[int, int]], x: Any
    ) -> list[tuple[tuple[int, int], Numbers]]:
        allowed, last = self._allowed(x), self.new(level, x)
        along = {i: self._derivative(allowed[:, i], x, level) for i in {i for i, _ in pairs}}
        # slopes once a field, not once a pair
        across = {j: self._derivative(last[:, j], x, 0) for j in {j for _, j in pairs}}
        brackets = []
        for i, j in pairs:
            bracket = along[i][:, j] - across[j][:, i]
            constant = self.space.constant_bracket(x, allowed[:, i], last[:, j])
            brackets.append(((i, j), bracket if constant is None else bracket + constant))
        return brackets

    def _derivative(self, direction: Numbers, x: Any, level: int) -> Numbers:
        """Return the derivative of a level's fields along a direction."""
        if time.thread_time() > self.deadline:
            raise TimeBudgetExceeded
        total: Any = 0
        for offset, weight in zip(self.scheme.offsets, self.scheme.weights, strict=True):
            state = self.space.retract(x, direction, offset * self.scheme.step)
            total = total + weight * self.new(level, state)
        result: Numbers = total / self.scheme.step
        return result

    def _allowed(self, x: Any) -> Numbers:
        """Return the allowed directions, each with one free component of 1."""
        rows = self.space.rows(x)[self.kept]
        solved = solve_any_precision(rows[:, self.bound], -rows[:, self.free])
        fields = np.zeros((self.size, len(self.free)), dtype=rows.dtype)
        for row, column in enumerate(self.bound):
            fields[column] = solved[row]
        for k, column in enumerate(self.free):
            fields[column, k] = fields[column, k] + 1
        return fields


def _pivots(rows: Numbers, zero: float) -> tuple[list[tuple[int, int]], list[int], int]:
    """Choose independent rows and, for each, the velocity that it determines; never the time."""
    remainder = rows.copy()
    m, size = remainder.shape
    pivots: list[tuple[int, int]] = []
    open_rows = np.ones(m, dtype=bool)
    for _ in range(m):
        # time goes on whatever the rows say, so its column is never solved for
        sizes = np.abs(remainder[:, : size - 1]) * open_rows[:, None]
        index = int(np.argmax(sizes)) if sizes.size else 0
        row, column = divmod(index, max(size - 1, 1))
        if not sizes.size or not sizes[row, column] > zero:
            break
        pivots.append((row, column))
        open_rows[row] = False
        scale = remainder[:, column] / remainder[row, column]
        scale[row] = 0
        remainder = remainder - scale[:, None] * remainder[row]
    spare = [i for i in range(m) if i not in {row for row, _ in pivots}]
    for i in spare:
        # nothing but time is left of the row: it asks for motion where there is none
        if abs(remainder[i, size - 1]) > max(zero, 1e-9):
            raise ContradictoryRow(i)
    bound = {column for _, column in pivots}
    return pivots, [j for j in range(size) if j not in bound], len(pivots)


def solve_any_precision(A: Numbers, B: Numbers) -> Numbers:
    """Solve ``A X = B`` by elimination with row exchanges, in any arithmetic."""
    lhs, right = A.copy(), B.copy()
    n = len(lhs)
    for k in range(n):
        # for the choice of a pivot floats tell enough
        p = k + int(np.argmax([abs(float(value)) for value in lhs[k:, k]]))
        if p != k:
            lhs[[k, p]], right[[k, p]] = lhs[[p, k]], right[[p, k]]
        factor = 1 / lhs[k, k]
        lhs[k], right[k] = lhs[k] * factor, right[k] * factor
        for i in range(n):
            if i != k and lhs[i, k] != 0:
                scale = lhs[i, k]
                lhs[i], right[i] = lhs[i] - scale * lhs[k], right[i] - scale * right[k]
    return right


class _OrthonormalBasis:
    """Directions found so far, orthonormal."""

    def __init__(self, size: int, zero: float) -> None:
        self.vectors: list[Numbers] = []
        self.ceiling, self.zero = size, zero

    @property
    def size(self) -> int:
        return len(self.vectors)

    def add(self, vector: Numbers) -> bool:
        """Add a direction; return whether it was new."""
        if self.size == self.ceiling:
            return False
        remainder = vector
        for _ in range(2):  # once more, for what rounding left
            for axis in self.vectors:
                remainder = remainder - axis * (axis @ remainder)
        length = _norm(remainder)
        if not length > self.zero * (1 + _norm(vector)):
            return False
        self.vectors.append(remainder / length)
        return True


def _norm(vector: Numbers) -> Any:
    return (vector @ vector) ** 0.5
