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
from ukctrl.mechanics.constraints.constraint import Attached, Rows
from ukctrl.mechanics.integrability.brackets import (
    Contradiction,
    NoState,
    Numbers,
    Scheme,
    Space,
    growth,
)
from ukctrl.mechanics.integrability.spaces import DRAWS, HELD_STATES, STATES, Draw

if TYPE_CHECKING:
    from ukctrl.core.expression.rows import DerivedRows
    from ukctrl.robot import Robot


MET = 1e-13
"""A position row that is off by less is met."""
TURNS = 1e-6
"""A gradient that turns by more than this, at one state, belongs to a row that is curved."""
FLOATING = Scheme(1e-3, (-2, -1, 1, 2), (1 / 12, -8 / 12, 8 / 12, -1 / 12), 1e-6, 4)
"""Differences of fourth order in double precision; three nested ones keep about seven digits."""


def settling(parts: Sequence[Attached], robot: Robot) -> Draw:
    """Return what draws configurations that meet the position rows at a time.

    Redundant closures are redundant there only.
    """
    held = [part for part in parts if any(part.holonomic)]
    tables = [Rows.zeros(len(part.names), robot.nv) for part in held]
    chosen = np.array([h for part in held for h in part.holonomic], dtype=bool)
    snapshot, rest = robot.snapshot(robot.neutral), np.zeros(robot.nv)

    def draw(rng: np.random.Generator, t: float) -> Vector:
        q = robot.random(rng)
        for _ in range(DRAWS if held else 0):
            snapshot.move(q, rest, t)
            for part, rows in zip(held, tables, strict=True):
                part.write(snapshot, rows)
            phi = np.concatenate([rows.phi for rows in tables])[chosen]
            if np.abs(phi).max() <= MET:
                return q
            A = np.vstack([rows.A for rows in tables])[chosen]
            step = np.linalg.lstsq(A, phi, rcond=1e-9)[0]
            q = robot.integrate(q, -step / max(1.0, float(np.abs(step).max())))
        if held:
            raise ValueError("the position rows are not met from here")
        return q

    return draw


class Sampled(Space):
    """Rows of any constraint, in floating point; a state is ``(q, t)``."""

    def __init__(self, parts: Sequence[Attached], robot: Robot) -> None:
        self.robot, self.parts = robot, parts
        self.names = (*robot.dofs, "t")
        self._snapshot = robot.snapshot(robot.neutral)
        self._tables = [Rows.zeros(len(part.names), robot.nv) for part in parts]
        self._rest = np.zeros(robot.nv)
        count = sum(len(part.names) for part in parts)
        self.which = range(count)
        self._draw = settling(parts, robot)
        self._plain = robot.is_euclidean
        self.zero = FLOATING.zero
        held = any(holonomic for part in parts for holonomic in part.holonomic)
        self.states = HELD_STATES if held else STATES
        rng = np.random.default_rng(1)
        x = self.draw(rng)
        at_rest = self.rows(x)[:, :-1]
        moving = self._written(x, rng.uniform(-1.0, 1.0, robot.nv))[:, :-1]
        same = np.abs(moving - at_rest).max(axis=1) <= 1e-9 * (1.0 + np.abs(at_rest).max(axis=1))
        self.linear = [bool(each) for each in same]

    def arithmetic(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def rows(self, x: tuple[Vector, float]) -> Numbers:
        return self._written(x, self._rest)[list(self.which)]

    def _written(self, x: tuple[Vector, float], v: Vector) -> Numbers:
        """Return ``[A beta - A v]``: at rest, beta is the part without velocities."""
        q, t = x
        self._snapshot.move(q, v, t)
        stacked = []
        for part, rows in zip(self.parts, self._tables, strict=True):
            part.write(self._snapshot, rows)
            stacked.append(np.column_stack((rows.A, rows.beta - rows.A @ v)))
        return np.vstack(stacked)

    def moved(self, x: tuple[Vector, float], direction: Numbers, h: float) -> tuple[Vector, float]:
        q, t = x
        step = np.ascontiguousarray(h * direction[:-1], dtype=np.float64)
        return self.robot.integrate(q, step), t + h * float(direction[-1])

    def turned(self, x: tuple[Vector, float], first: Numbers, second: Numbers) -> Numbers | None:
        if self._plain:
            return None
        v = np.ascontiguousarray(first[:-1], dtype=np.float64)
        return np.append(self.robot.bracket(v) @ second[:-1], 0.0)

    def draw(self, rng: np.random.Generator) -> tuple[Vector, float]:
        for _ in range(DRAWS):
            try:
                t = float(rng.uniform(0.1, 1.5))
                x = self._draw(rng, t), t
                if np.isfinite(self.rows(x)).all():
                    return x
            except (UkctrlError, ArithmeticError, ValueError):
                continue
        raise NoState


def curved(
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
        for _ in range(DRAWS):
            value, A = at(q, v, t)
            if abs(value) < 1e-12:
                return A
            v -= A * value / (A @ A)
        return None

    for _ in range(DRAWS):
        v, t = rng.uniform(-1.0, 1.0, nv), float(rng.uniform(0.1, 1.5))
        with contextlib.suppress(UkctrlError, ArithmeticError, ValueError):
            q = rng.uniform(0.2, 1.5, nq) if draw is None else draw(rng, t)
            first = allowed(q, v, t)
            second = allowed(q, v + 0.3 * rng.uniform(-1.0, 1.0, nv), t)
            if first is None or second is None:
                continue
            one, two = first / np.linalg.norm(first), second / np.linalg.norm(second)
            if np.linalg.norm(one - (one @ two) * two) > TURNS:
                return True
    return None


SECONDS = 4.0
"""Processor time allowed; rows that are still open then keep velocities only."""


def positional_rows(parts: Sequence[Attached], robot: Robot) -> Flags:
    """Tell which rows hold positions: those written so, and those that integrate given the others.

    A row integrates where no bracket of motions that all rows allow breaks it. A row that is not
    linear in the velocities, or stays undecided, counts as one on velocities.

    Args:
        parts: The constraints, attached to the robot.
        robot: The robot.
    """
    known = np.array([h for part in parts for h in part.holonomic], dtype=bool)
    if known.all():
        return known
    deadline = time.thread_time() + SECONDS
    try:
        space = Sampled(parts, robot)
        chosen = np.flatnonzero(space.linear)
        linear, rng = space.part(chosen.tolist()), np.random.default_rng(0)
        unbroken = ~known[chosen]
        for _ in range(STATES):
            x = linear.draw(rng)
            for scheme in (FLOATING._replace(depth=2), FLOATING):
                growths = growth(linear, x, scheme, deadline)
                unbroken &= ~growths.broken(FLOATING.zero)
                if not unbroken.any():
                    return known
                if growths.closed:
                    break
            if not growths.closed:
                return known
    except (Contradiction, NoState):
        return known
    known[chosen[unbroken]] = True
    return known
