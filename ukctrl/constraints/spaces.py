"""Constraint rows over coordinates and time: from text, with many digits, or as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.constraints.base import Attached, Rows
from ukctrl.constraints.brackets import NoState, Numbers, Scheme, Space, solve
from ukctrl.errors import ExpressionError, UkctrlError
from ukctrl.factor import Vector

if TYPE_CHECKING:
    from ukctrl.expression import DerivedRows
    from ukctrl.robot import Robot

Draw = Callable[[np.random.Generator, float], Vector]
"""Draws a configuration for a time."""

DIGITS = 160
DEPTH = 6
"""Most directions in a bracket: each nested difference costs 20 digits."""
STATES, HELD_STATES = 2, 6
"""States to try, and as many where position rows hold: the way onto those ends at singular
positions more often than chance would have it."""
MET = 1e-13
"""A position row that is off by less is met."""
DRAWS = 40
"""Most states drawn in search of one where every formula has a real value."""
TURNS = 1e-6
"""A gradient that turns by more than this, at one state, belongs to a row that is curved."""


def read_rows(
    texts: Sequence[str],
    coordinates: tuple[str, ...],
    dofs: tuple[str, ...],
    rates: tuple[str, ...],
) -> list[DerivedRows]:
    """Derive each text by itself, in the form that its variables show."""
    from ukctrl.expression import Vocabulary, check, derive_rows
    from ukctrl.expression.rows import Form

    known = Vocabulary(coordinates, dofs, (*dofs, "t"))
    found = []
    for text in texts:
        used = check(text, known)
        spaces = {name.partition(".")[0] for name in used if "." in name}
        if spaces == {"d", "v"}:
            raise ExpressionError(
                f"in '{text[:60]}': write differentials (d.x) or velocities (v.x), not both."
            )
        form: Form = (
            "pfaffian" if spaces == {"d"} else "nonholonomic" if spaces == {"v"} else "holonomic"
        )
        found.append(
            derive_rows([text], form=form, coordinates=coordinates, dofs=dofs, rates=rates)
        )
    return found


FLOATING = Scheme(1e-3, (-2, -1, 1, 2), (1 / 12, -8 / 12, 8 / 12, -1 / 12), 1e-6, 4)
"""Differences of fourth order in double precision; three nested ones keep about seven digits."""


def many_digits(space: Texts) -> Scheme:
    """Return central differences in many digits; zero is as small as the constants allow."""
    import mpmath

    step, half = mpmath.mpf(10) ** -20, mpmath.mpf(1) / 2
    return Scheme(step, (-1, 1), (-half, half), space.zero, DEPTH)


def _many_digits(names: Sequence[str], entries: Any) -> Callable[[Numbers], Numbers]:
    """Return a table of expressions as a function of a state, in mpmath's arithmetic.

    The function raises ValueError where a value is not real and finite.
    """
    import mpmath
    import sympy

    raw = sympy.lambdify([sympy.Symbol(name) for name in names], entries, "mpmath", cse=True)
    shape = (len(entries), len(entries[0]))

    def evaluate(x: Numbers) -> Numbers:
        table = np.empty(shape, dtype=object)
        for i, row in enumerate(raw(*x)):
            for j, value in enumerate(row):
                if isinstance(value, mpmath.mpc):
                    raise ValueError("complex")
                table[i, j] = number = mpmath.mpf(value)
                if not mpmath.isfinite(number):
                    raise ValueError("infinite")
        return table

    return evaluate


class Frame:
    """How coordinates move under velocities: the identity, but for joints that turn freely."""

    def __init__(
        self, coordinates: tuple[str, ...], dofs: tuple[str, ...], rates: tuple[str, ...]
    ) -> None:
        import sympy

        from ukctrl.expression import Vocabulary, parse

        self.plain = rates == tuple(f"v.{name}" for name in coordinates)
        if not self.plain:
            known = Vocabulary(coordinates, dofs, time=False)
            velocities = [sympy.Symbol(f"v.{dof}") for dof in dofs]
            table = [[parse(rate, known).diff(v) for v in velocities] for rate in rates]
            self._X = _many_digits([*coordinates, "t"], table)

    def moved(self, x: Numbers, direction: Numbers, h: Any) -> Numbers:
        """Return the state a step further, to first order."""
        if self.plain:
            ahead: Numbers = x + h * direction
            return ahead
        step = np.empty(len(x), dtype=object)
        step[:-1] = self._X(x) @ direction[:-1]
        step[-1] = direction[-1]
        moved: Numbers = x + h * step
        return moved

    def bracket(self, x: Numbers, first: Numbers, second: Numbers) -> Numbers:
        """Return the bracket c of two constant velocities: ``X c = D_first X second - ...``."""
        import mpmath

        h = mpmath.mpf(10) ** -20
        X = self._X(x)

        def slope(along: Numbers) -> Numbers:
            ahead, behind = self._X(self.moved(x, along, h)), self._X(self.moved(x, along, -h))
            result: Numbers = (ahead - behind) / (2 * h)
            return result

        change = slope(first) @ second[:-1] - slope(second) @ first[:-1]
        found = np.full(len(first), mpmath.mpf(0), dtype=object)
        found[:-1] = solve(X.T @ X, (X.T @ change)[:, None])[:, 0]
        return found


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


class Texts(Space):
    """Rows in text, evaluated with many digits; a state is ``(q, t)`` in one array."""

    def __init__(
        self,
        derived: Sequence[DerivedRows],
        coordinates: tuple[str, ...],
        dofs: tuple[str, ...],
        rates: tuple[str, ...],
        draw: Draw | None = None,
    ) -> None:
        import sympy

        self.names = (*dofs, "t")
        velocities = [sympy.Symbol(f"v.{dof}") for dof in dofs]
        at_rest = dict.fromkeys(velocities, sympy.Integer(0))
        rows = [each for part in derived for each in zip(part.A, part.beta, strict=True)]
        self.linear = [not any(entry.has(*velocities) for entry in A) for A, _ in rows]
        entries = [
            [*A, beta.xreplace(at_rest)] if linear else [sympy.Integer(0)] * self.size
            for (A, beta), linear in zip(rows, self.linear, strict=True)
        ]
        self._rows = _many_digits([*coordinates, "t"], entries)
        self._frame = Frame(coordinates, dofs, rates)
        floats = any(entry.has(sympy.Float) for row in entries for entry in row)
        self.zero = 1e-25 if self._frame.plain and not floats else 1e-11
        held = draw is not None and any(part.phi for part in derived)
        self.states = HELD_STATES if held else STATES
        if held:
            self.zero = 1e-9  # states meet their position rows in floating point
        self._derived, self._draw = derived, draw
        self._coordinates, self._rest = len(coordinates), [0.0] * len(dofs)
        self._which: Sequence[int] = range(len(entries))

    def arithmetic(self) -> contextlib.AbstractContextManager[object]:
        import mpmath

        context: contextlib.AbstractContextManager[object] = mpmath.workdps(DIGITS)
        return context

    def part(self, chosen: Sequence[int]) -> Texts:
        import copy

        smaller = copy.copy(self)
        smaller._which = chosen
        return smaller

    def rows(self, x: Numbers) -> Numbers:
        return self._rows(x)[list(self._which)]

    def moved(self, x: Numbers, direction: Numbers, h: Any) -> Numbers:
        return self._frame.moved(x, direction, h)

    def turned(self, x: Numbers, first: Numbers, second: Numbers) -> Numbers | None:
        return None if self._frame.plain else self._frame.bracket(x, first, second)

    def draw(self, rng: np.random.Generator) -> Numbers:
        import mpmath

        for attempt in range(DRAWS):
            low = -1.5 if attempt < DRAWS // 2 else 0.2  # logarithms and roots like positive ones
            t = float(rng.uniform(0.1, 1.5))
            try:
                q = rng.uniform(low, 1.5, self._coordinates)
                q = q if self._draw is None else self._draw(rng, t)
                x = np.array([mpmath.mpf(float(value)) for value in (*q, t)], dtype=object)
                for part in self._derived:  # what overflows a float would fill the memory here
                    part.evaluate([float(value) for value in q], self._rest, float(x[-1]))
                self.rows(x)
            except (UkctrlError, ArithmeticError, ValueError, TypeError):
                continue
            return x
        raise NoState


class Sampled(Space):
    """Rows of any constraint, in floating point; a state is ``(q, t)``."""

    def __init__(self, parts: Sequence[Attached], robot: Robot) -> None:
        self.robot, self.parts = robot, parts
        self.names = (*robot.dofs, "t")
        self._snapshot = robot.snapshot(robot.neutral)
        self._tables = [Rows.zeros(len(part.names), robot.nv) for part in parts]
        self._rest = np.zeros(robot.nv)
        count = sum(len(part.names) for part in parts)
        self._which: Sequence[int] = range(count)
        self._draw = settling(parts, robot)
        self._frame = Frame(robot.coordinates, robot.dofs, robot.rates)
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

    def part(self, chosen: Sequence[int]) -> Sampled:
        import copy

        smaller = copy.copy(self)
        smaller._which = chosen
        return smaller

    def rows(self, x: tuple[Vector, float]) -> Numbers:
        return self._written(x, self._rest)[list(self._which)]

    def _written(self, x: tuple[Vector, float], v: Vector) -> Numbers:
        """Return ``[A beta - A v]``: at rest, beta is the part without velocities."""
        q, t = x
        self._snapshot.move(q, v, t)
        found = []
        for part, rows in zip(self.parts, self._tables, strict=True):
            part.write(self._snapshot, rows)
            found.append(np.column_stack((rows.A, rows.beta - rows.A @ v)))
        return np.vstack(found)

    def moved(self, x: tuple[Vector, float], direction: Numbers, h: float) -> tuple[Vector, float]:
        q, t = x
        step = np.ascontiguousarray(h * direction[:-1], dtype=np.float64)
        return self.robot.integrate(q, step), t + h * float(direction[-1])

    def turned(self, x: tuple[Vector, float], first: Numbers, second: Numbers) -> Numbers | None:
        if self._frame.plain:
            return None
        import mpmath

        with mpmath.workdps(DIGITS):
            state = np.array([mpmath.mpf(float(value)) for value in (*x[0], x[1])], dtype=object)
            return np.asarray(self._frame.bracket(state, first, second), dtype=np.float64)

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
