"""Constraint rows over coordinates and time: from text, with many digits, or as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ExpressionError, UkctrlError
from ukctrl.mechanics.integrability.brackets import NoState, Numbers, Scheme, Space, solve

if TYPE_CHECKING:
    from ukctrl.core.expression.rows import DerivedRows

Draw = Callable[[np.random.Generator, float], Vector]
"""Draws a configuration for a time."""

DIGITS = 160
DEPTH = 6
"""Most directions in a bracket: each nested difference costs 20 digits."""
STATES, HELD_STATES = 2, 6
"""States to try, and as many where position rows hold: the way onto those ends at singular
positions more often than chance would have it."""
DRAWS = 40
"""Most states drawn in search of one where every formula has a real value."""


def read_rows(
    texts: Sequence[str],
    coordinates: tuple[str, ...],
    dofs: tuple[str, ...],
    rates: tuple[str, ...],
) -> list[DerivedRows]:
    """Derive each text by itself, in the form that its variables show."""
    from ukctrl.core.expression.rows import Form, derive_rows
    from ukctrl.core.expression.symbolic import Vocabulary, check

    known = Vocabulary(coordinates, dofs, (*dofs, "t"))
    rows = []
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
        rows.append(derive_rows([text], form=form, coordinates=coordinates, dofs=dofs, rates=rates))
    return rows


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

        from ukctrl.core.expression.symbolic import Vocabulary, parse

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
        solution = np.full(len(first), mpmath.mpf(0), dtype=object)
        solution[:-1] = solve(X.T @ X, (X.T @ change)[:, None])[:, 0]
        return solution


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
        self.zero = 1e-25 if self._frame.plain and not floats else 1e-13
        held = draw is not None and any(part.phi for part in derived)
        self.states = HELD_STATES if held else STATES
        if held:
            self.zero = 1e-9  # states meet their position rows in floating point
        self._derived, self._draw = derived, draw
        self._coordinates, self._rest = len(coordinates), [0.0] * len(dofs)
        self.which = range(len(entries))

    def arithmetic(self) -> contextlib.AbstractContextManager[object]:
        import mpmath

        context: contextlib.AbstractContextManager[object] = mpmath.workdps(DIGITS)
        return context

    def rows(self, x: Numbers) -> Numbers:
        """Return the rows at a state, each scaled by its largest part: its unit says nothing."""
        rows = self._rows(x)[list(self.which)]
        largest = np.array([max(abs(entry) for entry in row[:-1]) or 1 for row in rows])
        scaled: Numbers = rows / largest[:, None]
        return scaled

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
