"""Constraint rows of any kind, in floating point, at states that meet the position rows.

Such rows are judged quickly enough for the start of a run: which of them hold positions, whether or
not they are written so. The slip of a foot that sticks is a row on velocities, and yet the foot
stays where it is: together with the other rows it integrates. `classify` tells it with proof.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Flags, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Rows
from ukctrl.mechanics.integrability.lie_brackets import (
    ContradictoryRow,
    DifferenceScheme,
    NoAdmissibleState,
    Numbers,
    PfaffianRows,
    growth_vector,
)
from ukctrl.mechanics.integrability.multiprecision_rows import (
    MAX_DRAWS,
    N_CONSTRAINED_STATES,
    N_STATES,
    Draw,
)

if TYPE_CHECKING:
    from ukctrl.core.expression.constraint_rows import DerivedRows
    from ukctrl.robot import Robot


POSITION_TOLERANCE = 1e-13
"""A position row that is off by less is met."""
GRADIENT_TOLERANCE = 1e-6
"""A gradient that turns by more than this, at one state, belongs to a row that is curved."""
DOUBLE_PRECISION = DifferenceScheme(
    1e-3, (-2, -1, 1, 2), (1 / 12, -8 / 12, 8 / 12, -1 / 12), 1e-6, 4
)
"""Differences of fourth order in double precision; three nested ones keep about seven digits."""


def closed_configurations(blocks: Sequence[BoundConstraint], robot: Robot) -> Draw:
    """Return what draws configurations that meet the position rows at a time.

    Redundant closures are redundant there only.
    """
    constraints = [block for block in blocks if any(block.holonomic)]
    tables = [Rows.zeros(len(block.names), robot.nv) for block in constraints]
    chosen = np.array([h for block in constraints for h in block.holonomic], dtype=bool)
    snapshot, at_rest = robot.snapshot(robot.neutral), np.zeros(robot.nv)

    def draw(rng: np.random.Generator, t: float) -> Vector:
        q = robot.random(rng)
        for _ in range(MAX_DRAWS if constraints else 0):
            snapshot.move(q, at_rest, t)
            for block, rows in zip(constraints, tables, strict=True):
                block.write(snapshot, rows)
            phi = np.concatenate([rows.phi for rows in tables])[chosen]
            if np.abs(phi).max() <= POSITION_TOLERANCE:
                return q
            A = np.vstack([rows.A for rows in tables])[chosen]
            step = np.linalg.lstsq(A, phi, rcond=1e-9)[0]
            # at most 1 at once, that a far start does not jump about
            q = robot.integrate(q, -step / max(1.0, float(np.abs(step).max())))
        if constraints:
            raise ValueError("the position rows are not met from here")
        return q

    return draw


class NumericRows(PfaffianRows):
    """Rows of any constraint, in floating point; a state is ``(q, t)``."""

    def __init__(self, blocks: Sequence[BoundConstraint], robot: Robot) -> None:
        self.robot, self.parts = robot, blocks
        self.names = (*robot.dofs, "t")
        self._snapshot = robot.snapshot(robot.neutral)
        self._tables = [Rows.zeros(len(block.names), robot.nv) for block in blocks]
        self._rest = np.zeros(robot.nv)
        count = sum(len(block.names) for block in blocks)
        self.row_indices = range(count)
        self._draw = closed_configurations(blocks, robot)
        self._plain = robot.is_euclidean
        self.zero = DOUBLE_PRECISION.zero
        has_holonomic = any(holonomic for block in blocks for holonomic in block.holonomic)
        self.states = N_CONSTRAINED_STATES if has_holonomic else N_STATES
        rng = np.random.default_rng(1)
        x = self.draw(rng)
        at_rest = self.rows(x)[:, :-1]
        moving = self._written(x, rng.uniform(-1.0, 1.0, robot.nv))[:, :-1]
        # one random velocity suffices: rows that bend with v agree with those at rest by accident
        # alone
        same = np.abs(moving - at_rest).max(axis=1) <= 1e-9 * (1.0 + np.abs(at_rest).max(axis=1))
        self.linear = [bool(flag) for flag in same]

    def arithmetic(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def rows(self, x: tuple[Vector, float]) -> Numbers:
        return self._written(x, self._rest)[list(self.row_indices)]

    def _written(self, x: tuple[Vector, float], v: Vector) -> Numbers:
        """Return ``[A beta - A v]``: at rest, beta is the part without velocities."""
        q, t = x
        self._snapshot.move(q, v, t)
        stacked = []
        for block, rows in zip(self.parts, self._tables, strict=True):
            block.write(self._snapshot, rows)
            stacked.append(np.column_stack((rows.A, rows.beta - rows.A @ v)))
        return np.vstack(stacked)

    def retract(
        self, x: tuple[Vector, float], direction: Numbers, h: float
    ) -> tuple[Vector, float]:
        q, t = x
        step = np.ascontiguousarray(h * direction[:-1], dtype=np.float64)
        return self.robot.integrate(q, step), t + h * float(direction[-1])

    def constant_bracket(
        self, x: tuple[Vector, float], first: Numbers, second: Numbers
    ) -> Numbers | None:
        if self._plain:
            return None
        v = np.ascontiguousarray(first[:-1], dtype=np.float64)
        return np.append(self.robot.bracket(v) @ second[:-1], 0.0)

    def draw(self, rng: np.random.Generator) -> tuple[Vector, float]:
        for _ in range(MAX_DRAWS):
            try:
                t = float(rng.uniform(0.1, 1.5))
                x = self._draw(rng, t), t
                if np.isfinite(self.rows(x)).all():
                    return x
            except (UkctrlError, ArithmeticError, ValueError):
                continue
        raise NoAdmissibleState


def gradient_turns(
    derived: DerivedRows, row: int, sizes: tuple[int, int], draw: Draw | None
) -> bool | None:
    """Tell whether a row's gradient turns along the velocities that it allows at one state.

    Args:
        derived: Rows in text.
        row: Which of them.
        sizes: Numbers of coordinates and of velocities.
        draw: Draws a configuration; absent: any numbers will do.

    Returns:
        None where no velocity that obeys the row was found, or its gradient never turns.
    """
    nq, nv = sizes
    rng = np.random.default_rng(2)

    def at(q: Vector, v: Vector, t: float) -> tuple[float, Vector]:
        values = derived.evaluate(q.tolist(), v.tolist(), t)
        A = np.array(values[row * nv : (row + 1) * nv])
        return float(values[derived.m * (nv + 1) + row]), A

    def allowed(q: Vector, v: Vector, t: float) -> Vector | None:
        for _ in range(MAX_DRAWS):
            value, A = at(q, v, t)
            if abs(value) < 1e-12:
                return A
            # Newton's step along the gradient
            v -= A * value / (A @ A)
        return None

    for _ in range(MAX_DRAWS):
        v, t = rng.uniform(-1.0, 1.0, nv), float(rng.uniform(0.1, 1.5))
        with contextlib.suppress(UkctrlError, ArithmeticError, ValueError):
            q = rng.uniform(0.2, 1.5, nq) if draw is None else draw(rng, t)
            first = allowed(q, v, t)
            second = allowed(q, v + 0.3 * rng.uniform(-1.0, 1.0, nv), t)
            if first is None or second is None:
                continue
            one, two = first / np.linalg.norm(first), second / np.linalg.norm(second)
            if np.linalg.norm(one - (one @ two) * two) > GRADIENT_TOLERANCE:
                return True
    return None


SECONDS = 4.0
"""Processor time allowed; rows that are still open then keep velocities only."""


def positional_rows(blocks: Sequence[BoundConstraint], robot: Robot) -> Flags:
    """Tell which rows hold positions: those written so, and those that integrate given the others.

    A row integrates where no bracket of motions that all rows allow breaks it. A row that is not
    linear in the velocities, or stays undecided, counts as one on velocities.

    Args:
        blocks: The constraints, attached to the robot.
        robot: The robot.
    """
    holonomic = np.array([h for block in blocks for h in block.holonomic], dtype=bool)
    if holonomic.all():
        return holonomic
    deadline = time.thread_time() + SECONDS
    try:
        space = NumericRows(blocks, robot)
        chosen = np.flatnonzero(space.linear)
        linear, rng = space.subset(chosen.tolist()), np.random.default_rng(0)
        unbroken = ~holonomic[chosen]
        for _ in range(N_STATES):
            x = linear.draw(rng)
            # most rows are settled by brackets of depth 2, at a fraction of the time
            for scheme in (DOUBLE_PRECISION._replace(depth=2), DOUBLE_PRECISION):
                growths = growth_vector(linear, x, scheme, deadline)
                unbroken &= ~growths.violated_rows(DOUBLE_PRECISION.zero)
                if not unbroken.any():
                    return holonomic
                if growths.closed:
                    break
            # what stays open counts as a row on velocities
            if not growths.closed:
                return holonomic
    except (ContradictoryRow, NoAdmissibleState):
        return holonomic
    holonomic[chosen[unbroken]] = True
    return holonomic
