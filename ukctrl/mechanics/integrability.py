r"""Which rows on velocities hold positions: a numerical rank test of the directions they allow.

Rows $A(q, t)\, v + c(q, t) = 0$ allow, in coordinates and time, the directions $(v, \dot t)$ with
$A v + c\, \dot t = 0$. The rows integrate exactly when these directions are closed under the Lie
bracket (Frobenius); where they are not, brackets add directions, and what they never reach is what
the rows have integrated to (Chow, Rashevskii).

The slip of a foot that sticks is a row on velocities, and yet the foot stays where it is: together
with the other rows it integrates. `ukctrl.classify` tells it with proof: it brings an arithmetic
of more digits to the same brackets.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Rows

if TYPE_CHECKING:
    from ukctrl.robot import Robot

Numbers = NDArray[Any]
"""Floating point, or objects of an arithmetic with more digits."""

POSITION_TOLERANCE = 1e-13
"""A position row that is off by less is met."""
MAX_DRAWS = 40
"""Most states drawn in search of one where every row has a real value."""
N_STATES = 2
"""States to try: one drawn by bad luck reaches less."""
SECONDS = 4.0
"""Processor time allowed; rows that are still open then keep velocities only."""


class NoAdmissibleState(Exception):
    """No state was found where every row has a real value."""


class ContradictoryRow(Exception):
    """A row, its number the argument, says, given the others, that time stands still."""


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


DOUBLE_PRECISION = DifferenceScheme(
    1e-3, (-2, -1, 1, 2), (1 / 12, -8 / 12, 8 / 12, -1 / 12), 1e-6, 4
)
"""Differences of fourth order in double precision; three nested ones keep about seven digits."""


class PfaffianRows(Protocol):
    """Rows over velocities and time at a state, in some arithmetic."""

    def rows(self, x: Any) -> Numbers:
        """Return ``[A c]`` at a state, shape ``(m, nv + 1)``; time is the last column."""

    def retract(self, x: Any, direction: Numbers, h: Any) -> Any:
        """Return the state a step further along a direction, shape ``(nv + 1,)``."""

    def constant_bracket(self, x: Any, first: Numbers, second: Numbers) -> Numbers | None:
        """Return the bracket of two constant directions; None where velocities are rates."""


class GrowthVector(NamedTuple):
    """What brackets reach at a state."""

    dimensions: tuple[int, ...]
    """Dimension of the allowed directions, and after each further bracket; time included."""
    closed: bool
    """Whether nothing is added any more; False where the depth or the time ran out."""
    rank: int
    """Independent rows."""
    basis: Numbers
    """The directions reached, shape ``(nv + 1, dimensions[-1])``."""
    rows: Numbers
    """``[A c]`` at the state."""
    witness: tuple[int, int, Numbers] | None
    """Two free directions, and their bracket, the first that adds a direction."""

    def violated_rows(self, zero: float) -> Flags:
        """Tell which rows some direction that was reached breaks by more than rounding."""
        missed = np.abs(np.asarray(self.rows @ self.basis, dtype=np.float64)).max(axis=1)
        size = np.abs(np.asarray(self.rows, dtype=np.float64)).max(axis=1)
        return np.asarray(missed > zero * (1.0 + size))


def growth_vector(
    space: PfaffianRows,
    chosen: Sequence[int],
    x: Any,
    scheme: DifferenceScheme,
    deadline: float,
) -> GrowthVector:
    """Bracket the directions that chosen rows allow at a state until nothing is added.

    Args:
        space: The rows.
        chosen: Which of them count.
        x: The state.
        scheme: How to difference.
        deadline: When to stop, by `time.thread_time`.

    Raises:
        ContradictoryRow: No velocity meets all of these rows.
    """
    rows = space.rows(x)[chosen]
    size = rows.shape[1]
    pivots = _pivots(rows, scheme.zero)
    bound = [column for _, column in pivots]
    free = [column for column in range(size) if column not in bound]
    basis: list[Numbers] = []
    levels: list[list[tuple[int, int]]] = []  # of each level, the brackets that add a direction

    def allowed(x: Any) -> Numbers:
        """Return the allowed directions, each with one free component of 1."""
        reduced = space.rows(x)[chosen]
        for pivot in pivots:
            reduced = _eliminate(reduced, *pivot)
        fields = np.zeros((size, len(free)), dtype=reduced.dtype)
        for row, column in pivots:
            fields[column] = -reduced[row, free] / reduced[row, column]
        fields[free, range(len(free))] = 1
        return fields

    def fields_of(level: int, x: Any) -> Numbers:
        """Return the fields that a level added, shape ``(nv + 1, count)``."""
        return np.array(brackets(level - 1, levels[level - 1], x)).T if level else allowed(x)

    def derivative(direction: Numbers, x: Any, level: int) -> Numbers:
        if time.thread_time() > deadline:
            raise TimeoutError
        total: Any = 0
        for offset, weight in zip(scheme.offsets, scheme.weights, strict=True):
            state = space.retract(x, direction, offset * scheme.step)
            total = total + weight * fields_of(level, state)
        result: Numbers = total / scheme.step
        return result

    def brackets(level: int, pairs: list[tuple[int, int]], x: Any) -> list[Numbers]:
        """Return the brackets of free directions with a level's fields, by their numbers."""
        first, last = allowed(x), fields_of(level, x)
        # derivatives once a field, not once a pair
        along = {i: derivative(first[:, i], x, level) for i in {i for i, _ in pairs}}
        across = {j: derivative(last[:, j], x, 0) for j in {j for _, j in pairs}}
        values = []
        for i, j in pairs:
            bracket = along[i][:, j] - across[j][:, i]
            constant = space.constant_bracket(x, first[:, i], last[:, j])
            values.append(bracket if constant is None else bracket + constant)
        return values

    for column in allowed(x).T:
        _extend(basis, column, scheme.zero)
    dimensions, witness, closed = [len(basis)], None, False
    try:
        while True:
            # one field has no bracket but with itself, which is zero
            closed = closed or len(basis) == size or len(free) < 2
            if closed or len(dimensions) >= scheme.depth:
                break
            count = len(levels[-1]) if levels else len(free)
            # of the first level [i, j] = -[j, i]
            pairs = [(i, j) for i in range(len(free)) for j in range(0 if levels else i + 1, count)]
            added = []
            for (i, j), bracket in zip(pairs, brackets(len(levels), pairs, x), strict=True):
                if _extend(basis, bracket, scheme.zero):
                    added.append((i, j))
                    witness = witness or (free[i], free[j], bracket)
            closed = not added
            if added:
                levels.append(added)
                dimensions.append(len(basis))
    except TimeoutError:
        pass
    return GrowthVector(tuple(dimensions), closed, len(pivots), np.array(basis).T, rows, witness)


def _eliminate(rows: Numbers, row: int, column: int) -> Numbers:
    """Return the rows with a column cleared but in one row."""
    scale = rows[:, column] / rows[row, column]
    scale[row] = 0
    result: Numbers = rows - scale[:, None] * rows[row]
    return result


def _pivots(rows: Numbers, zero: float) -> list[tuple[int, int]]:
    """Choose independent rows and, for each, the velocity that it determines; never the time."""
    pivots: list[tuple[int, int]] = []
    open_rows = np.ones(len(rows), dtype=bool)
    while open_rows.any() and rows.shape[1] > 1:
        # time goes on whatever the rows say, so its column is never solved for
        sizes = np.abs(rows[:, :-1]) * open_rows[:, None]
        row, column = divmod(int(np.argmax(sizes)), sizes.shape[1])
        if not sizes[row, column] > zero:
            break
        pivots.append((row, column))
        open_rows[row] = False
        rows = _eliminate(rows, row, column)
    for i in np.flatnonzero(open_rows):
        # nothing but time is left of the row: it asks for motion where there is none
        if abs(rows[i, -1]) > max(zero, 1e-9):
            raise ContradictoryRow(int(i))
    return pivots


def _extend(basis: list[Numbers], vector: Numbers, zero: float) -> bool:
    """Add a direction to an orthonormal basis; return whether it was new."""
    if len(basis) == len(vector):
        return False
    remainder = vector
    for _ in range(2):  # once more, for what rounding left
        for axis in basis:
            remainder = remainder - axis * (axis @ remainder)
    length = (remainder @ remainder) ** 0.5
    if not length > zero * (1 + (vector @ vector) ** 0.5):
        return False
    basis.append(remainder / length)
    return True


class NumericRows:
    """Rows of any constraints, in floating point; a state is ``(q, t)``."""

    def __init__(self, blocks: Sequence[BoundConstraint], robot: Robot) -> None:
        self.robot = robot
        self.holonomic = np.array([h for block in blocks for h in block.holonomic], dtype=bool)
        self._snapshot = robot.snapshot(robot.neutral)
        self._parts = [(block, Rows.zeros(len(block.names), robot.nv)) for block in blocks]

    @functools.cached_property
    def linear(self) -> list[bool]:
        """Whether each row is linear in the velocities.

        Raises:
            NoAdmissibleState: No state makes sense of the rows.
        """
        rng = np.random.default_rng(1)
        (q, t), nv = self.draw(rng), self.robot.nv
        at_rest = self.rows((q, t))[:, :nv]
        # one random velocity suffices: rows that bend with v agree by accident alone
        change = np.abs(self._written(q, rng.uniform(-1.0, 1.0, nv), t)[:, :nv] - at_rest)
        flags: list[bool] = (
            change.max(axis=1) <= 1e-9 * (1.0 + np.abs(at_rest).max(axis=1))
        ).tolist()
        return flags

    def draw(self, rng: np.random.Generator) -> tuple[Vector, float]:
        """Draw a state where every row has a real value.

        Raises:
            NoAdmissibleState: None was found.
        """
        for _ in range(MAX_DRAWS):
            try:
                t = float(rng.uniform(0.1, 1.5))
                x = self.configuration(rng, t), t
                if np.isfinite(self.rows(x)).all():
                    return x
            except (UkctrlError, ArithmeticError, ValueError):
                continue
        raise NoAdmissibleState

    def configuration(self, rng: np.random.Generator, t: float) -> Vector:
        """Draw a configuration that meets the position rows at a time.

        Redundant closures are redundant there only.

        Raises:
            ValueError: The way from where it began fails.
        """
        q = self.robot.random(rng)
        for _ in range(MAX_DRAWS if self.holonomic.any() else 0):
            A = self._written(q, np.zeros(self.robot.nv), t)[self.holonomic, :-1]
            phi = np.concatenate([rows.phi for _, rows in self._parts])[self.holonomic]
            if np.abs(phi).max() <= POSITION_TOLERANCE:
                return q
            step = np.linalg.lstsq(A, phi, rcond=1e-9)[0]
            # at most 1 at once, that a far start does not jump about
            q = self.robot.integrate(q, -step / max(1.0, float(np.abs(step).max())))
        if self.holonomic.any():
            raise ValueError("the position rows are not met from here")
        return q

    def rows(self, x: tuple[Vector, float]) -> Numbers:
        return self._written(x[0], np.zeros(self.robot.nv), x[1])

    def _written(self, q: Vector, v: Vector, t: float) -> Numbers:
        """Return ``[A beta - A v]``: at rest, beta is the part without velocities."""
        self._snapshot.move(q, v, t)
        for block, rows in self._parts:
            block.write(self._snapshot, rows)
        return np.vstack(
            [np.column_stack((rows.A, rows.beta - rows.A @ v)) for _, rows in self._parts]
        )

    def retract(
        self, x: tuple[Vector, float], direction: Numbers, h: float
    ) -> tuple[Vector, float]:
        step = np.ascontiguousarray(h * direction[:-1], dtype=np.float64)
        return self.robot.integrate(x[0], step), x[1] + h * float(direction[-1])

    def constant_bracket(
        self, x: tuple[Vector, float], first: Numbers, second: Numbers
    ) -> Numbers | None:
        if self.robot.is_euclidean:
            return None
        v = np.ascontiguousarray(first[:-1], dtype=np.float64)
        return np.append(self.robot.bracket(v) @ second[:-1], 0.0)


def positional_rows(blocks: Sequence[BoundConstraint], robot: Robot) -> Flags:
    """Tell which rows hold positions: those written so, and those that integrate given the others.

    A row integrates where no bracket of motions that all rows allow breaks it. A row that is not
    linear in the velocities, or stays undecided, counts as one on velocities.

    Args:
        blocks: The constraints, attached to the robot.
        robot: The robot.
    """
    space, rng = NumericRows(blocks, robot), np.random.default_rng(0)
    holonomic = space.holonomic
    if holonomic.all():
        return holonomic
    deadline = time.thread_time() + SECONDS
    try:
        chosen = np.flatnonzero(space.linear)
        unbroken = ~holonomic[chosen]
        for _ in range(N_STATES):
            x = space.draw(rng)
            # most rows are settled by brackets of depth 2, at a fraction of the time
            for scheme in (DOUBLE_PRECISION._replace(depth=2), DOUBLE_PRECISION):
                growth = growth_vector(space, chosen.tolist(), x, scheme, deadline)
                unbroken &= ~growth.violated_rows(scheme.zero)
                if not unbroken.any():
                    return holonomic
                if growth.closed:
                    break
            # what stays open counts as a row on velocities
            if not growth.closed:
                return holonomic
    except (ContradictoryRow, NoAdmissibleState):
        return holonomic
    holonomic[chosen[unbroken]] = True
    return holonomic
