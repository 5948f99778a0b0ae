"""Constraint rows over coordinates and time, from text, with many digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.integrability import (
    MAX_DRAWS,
    DifferenceScheme,
    NoAdmissibleState,
    Numbers,
)

if TYPE_CHECKING:
    from ukctrl.core.expression.constraint_rows import DerivedRows

Draw = Callable[[np.random.Generator, float], Vector]
"""Draws a configuration for a time."""

DIGITS = 160
MAX_DEPTH = 6
"""Most directions in a bracket: each nested difference costs 20 digits."""


def _mpmath_function(names: Sequence[str], entries: Any) -> Callable[[Numbers], Numbers]:
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


class CoordinateKinematics:
    """How coordinates move under velocities: the identity, but for joints that turn freely."""

    def __init__(
        self, coordinates: tuple[str, ...], dofs: tuple[str, ...], rates: tuple[str, ...]
    ) -> None:
        import sympy

        from ukctrl.core.expression.symbolic import Vocabulary, parse

        self.is_identity = rates == tuple(f"v.{name}" for name in coordinates)
        if not self.is_identity:
            vocabulary = Vocabulary(coordinates, dofs, time=False)
            velocities = [sympy.Symbol(f"v.{dof}") for dof in dofs]
            table = [[parse(rate, vocabulary).diff(v) for v in velocities] for rate in rates]
            self._X = _mpmath_function([*coordinates, "t"], table)

    def retract(self, x: Numbers, direction: Numbers, h: Any) -> Numbers:
        """Return the state a step further, to first order."""
        if self.is_identity:
            state: Numbers = x + h * direction
            return state
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
            forward, behind = (
                self._X(self.retract(x, along, h)),
                self._X(self.retract(x, along, -h)),
            )
            result: Numbers = (forward - behind) / (2 * h)
            return result

        change = slope(first) @ second[:-1] - slope(second) @ first[:-1]
        solution = np.full(len(first), mpmath.mpf(0), dtype=object)
        # a free turn has two coordinates: X is tall, and c is in its range
        solution[:-1] = list(mpmath.lu_solve(mpmath.matrix(X.tolist()), change.tolist()))
        return solution


class MultiprecisionRows:
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

        velocities = [sympy.Symbol(f"v.{dof}") for dof in dofs]
        at_rest = dict.fromkeys(velocities, sympy.Integer(0))
        rows = [pair for form in derived for pair in zip(form.A, form.beta, strict=True)]
        self.linear = [not any(entry.has(*velocities) for entry in A) for A, _ in rows]
        entries = [
            [*A, beta.xreplace(at_rest)] if linear else [sympy.Integer(0)] * (len(dofs) + 1)
            for (A, beta), linear in zip(rows, self.linear, strict=True)
        ]
        self._rows = _mpmath_function([*coordinates, "t"], entries)
        self._frame = CoordinateKinematics(coordinates, dofs, rates)
        floats = any(entry.has(sympy.Float) for row in entries for entry in row)
        # 160 digits lose most to nested differences; floats in a formula carry 16 from the start
        self.rounding = 1e-25 if self._frame.is_identity and not floats else 1e-13
        if draw is not None and any(form.phi for form in derived):
            self.rounding = 1e-9  # states meet their position rows in floating point
        self._derived, self._draw = derived, draw
        self._coordinates, self._rest = len(coordinates), [0.0] * len(dofs)

    def scheme(self) -> DifferenceScheme:
        """Return central differences in many digits; zero is as small as the constants allow."""
        import mpmath

        step, half = mpmath.mpf(10) ** -20, mpmath.mpf(1) / 2
        return DifferenceScheme(step, (-1, 1), (-half, half), self.rounding, MAX_DEPTH)

    def rows(self, x: Numbers) -> Numbers:
        """Return the rows at a state, each scaled by its largest part: its unit says nothing."""
        rows = self._rows(x)
        largest = np.array([max(abs(entry) for entry in row[:-1]) or 1 for row in rows])
        scaled: Numbers = rows / largest[:, None]
        return scaled

    def retract(self, x: Numbers, direction: Numbers, h: Any) -> Numbers:
        return self._frame.retract(x, direction, h)

    def constant_bracket(self, x: Numbers, first: Numbers, second: Numbers) -> Numbers | None:
        return None if self._frame.is_identity else self._frame.bracket(x, first, second)

    def draw(self, rng: np.random.Generator) -> Numbers:
        import mpmath

        for attempt in range(MAX_DRAWS):
            low = (
                -1.5 if attempt < MAX_DRAWS // 2 else 0.2
            )  # logarithms and roots like positive ones
            t = float(rng.uniform(0.1, 1.5))
            try:
                q = rng.uniform(low, 1.5, self._coordinates)
                q = q if self._draw is None else self._draw(rng, t)
                x = np.array([mpmath.mpf(float(value)) for value in (*q, t)], dtype=object)
                for form in self._derived:  # what overflows a float would fill the memory here
                    form.evaluate([float(value) for value in q], self._rest, float(x[-1]))
                self.rows(x)
            except (UkctrlError, ArithmeticError, ValueError, TypeError):
                continue
            return x
        raise NoAdmissibleState
