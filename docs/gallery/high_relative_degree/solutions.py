"""The closed forms of the page: chains from the last mass, cranes from the force on the load."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from ukctrl import Matrix

t, tau = sympy.symbols("t tau")
g, m, mb, mt, J, r = 9.81, 100.0, 20.0, 10.0, 0.1, 0.1
"""Of the cranes: load, bridge, trolley, drum and its radius."""


def rest_to_rest(start: float, end: float, first: float, duration: float, still: int) -> Any:
    """Return a path: the normalised integral of tau^n (1 - tau)^n."""
    whole = sympy.integrate(sympy.expand((tau * (1 - tau)) ** still), tau)
    moved = sympy.Rational(end) - sympy.Rational(start)
    share = (t - sympy.Rational(first)) / sympy.Rational(duration)
    return sympy.Rational(start) + moved * (whole / whole.subs(tau, 1)).subs(tau, share)


def _values(expressions: list[Any], times: Matrix) -> Matrix:
    made = sympy.lambdify(t, expressions, "numpy", cse=True)(times)
    return np.array([np.broadcast_to(row, times.shape) for row in made]).T


def chain(masses: list[float], springs: list[float], rest: float, last: Any) -> list[Any]:
    """Return places and force: m x'' of each mass is what its two springs pull."""
    x = [last]
    for i in reversed(range(len(springs))):
        pull = 0 if i + 1 == len(springs) else springs[i + 1] * (x[1] - x[0] - rest)
        x.insert(0, x[0] - rest + (masses[i + 1] * x[0].diff(t, 2) - pull) / springs[i])
    return [*x, masses[0] * x[0].diff(t, 2) - springs[0] * (x[1] - x[0] - rest)]


def two_masses(times: Matrix) -> tuple[Matrix, Matrix]:
    """Return coordinates and inputs of the two masses."""
    path = rest_to_rest(0.5, 1.5, 0, 2, 4)
    found = _values(chain([1, 2], [50], 0.5, path), np.minimum(times, 2.0))
    return found[:, :2], found[:, 2:]


def four_masses(times: Matrix) -> tuple[Matrix, Matrix]:
    """Return coordinates and inputs of the four masses."""
    path = rest_to_rest(0, 1, 0, 4, 8)
    found = _values(chain([1, 1.5, 2, 1], [60, 50, 40], 0, path), np.minimum(times, 4.0))
    return found[:, :4], found[:, 4:]


def _crane(x: Any, y: Any, z: Any) -> tuple[Any, ...]:
    """Return trolley, rope, the rope's force on the load, and the force of the winch."""
    force = [m * x.diff(t, 2), m * y.diff(t, 2), m * (z.diff(t, 2) + g)]
    share = -z / force[2]
    size = sympy.sqrt(sum(f**2 for f in force))
    rope = share * size
    winch = size - J / r**2 * rope.diff(t, 2)
    return x + share * force[0], y + share * force[1], rope, force, winch


def crane_planar(times: Matrix) -> tuple[Matrix, Matrix]:
    """Return coordinates and inputs of the crane in the plane."""
    x, z = rest_to_rest(0, 5, 0, 4, 4), rest_to_rest(-4, -2, 0, 4, 4)
    s, _, rope, force, winch = _crane(x, sympy.Integer(0), z)
    values = [s, rope, sympy.atan2(x - s, -z), mt * s.diff(t, 2) + force[0], winch]
    found = _values(values, np.minimum(times, 4.0 - 1e-12))
    return found[:, :3], found[:, 3:]


def crane_spatial(times: Matrix) -> tuple[Matrix, Matrix]:
    """Return coordinates and inputs of the crane in space."""
    x, y = rest_to_rest(0, 5, 0, 5, 4), rest_to_rest(0, 3, 0, 5, 4)
    rows = []
    for first, last, z in (
        (0.0, 2.5, rest_to_rest(-4, -2, 0, 2.5, 4)),
        (2.5, np.inf, rest_to_rest(-2, -3.5, 2.5, 2.5, 4)),
    ):
        at_x, at_y, rope, force, winch = _crane(x, y, z)
        values = [at_x, at_y, rope, sympy.atan2(x - at_x, -z), sympy.asin((y - at_y) / rope)]
        values += [(mb + mt) * at_x.diff(t, 2) + force[0], mt * at_y.diff(t, 2) + force[1], winch]
        part = times[(times >= first) & (times < last)]
        rows.append(_values(values, np.minimum(part, 5.0 - 1e-12)))
    found = np.vstack(rows)
    return found[:, :5], found[:, 5:]


SOLUTIONS = {
    "two-mass-spring-far-solved": two_masses,
    "four-mass-chain": four_masses,
    "crane-planar": crane_planar,
    "crane-spatial": crane_spatial,
}
"""Coordinates and inputs of each scenario at some times."""
