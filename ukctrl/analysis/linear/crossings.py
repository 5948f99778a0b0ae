r"""Frequencies at which a loop transfer function crosses a circle or a line, none left out.

Circles and lines are the zeros of forms $q(L) = Q_{11} |L|^2 + Q_{12} L^* + Q_{21} L + Q_{22}$.
With $y = L u$ and the loop that runs backwards in time beside it, $q(L) = 0$ on the axis or on the
unit circle is an eigenvalue of a pencil twice as large as the loop:

$$ p x = A x + b u, \quad p^{\sim} \xi = A^\top \xi + c^\top (Q_{11} c x + Q_{12} u), \quad
   0 = b^\top \xi + Q_{21} c x + Q_{22} u, $$

where $p^\sim$ is $-s$ or $1/z$. All of its eigenvalues, and frequencies between them, join a grid;
between neighbours the form then changes sign at most once. Which of them are on the axis is not
asked, for rounding would answer.

References:
    Boyd, Balakrishnan & Kabamba, "A bisection method for computing the H-infinity norm of a
    transfer matrix and related problems", Math. Control Signals Systems 2, 1989.
"""

from __future__ import annotations

import math

import numpy as np

from ukctrl.analysis.linear.response import FrequencyResponse
from ukctrl.core.algebra.balance import balancing_units
from ukctrl.core.arrays import Complex, Matrix, Vector
from ukctrl.core.tie_breaking import max_abs

MAX_STATES = 100
"""Of larger loops the grid is taken alone: eigenvalues of their pencils would take minutes."""
CROSSING_RTOL = 1e-12
"""Crossings nearer to each other than this, relatively, are one."""
UNIT_CIRCLE = np.array([[1.0, 0.0], [0.0, -1.0]])
"""``|L| = 1``."""
REAL_AXIS = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""``L`` is real; the form is ``L* - L``, which is imaginary."""


def disk_circle(size: float) -> Matrix:
    """Return the form of ``|S - T|/2 = size``."""
    diagonal, mixed = 1.0 - 4.0 * size**2, -1.0 - 4.0 * size**2
    return np.array([[diagonal, mixed], [mixed, diagonal]])


def form_values(form: Matrix, L: Complex) -> Vector:
    """Return forms of values, divided by ``1 + |L|^2``, so that they are finite at poles."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inverse = np.where(np.abs(L) > 1.0, 1.0 / L, 0.0)
        y, u = np.where(np.abs(L) > 1.0, 1.0, L), np.where(np.abs(L) > 1.0, inverse, 1.0)
    lost = ~np.isfinite(y)  # at a pole itself
    y, u = np.where(lost, 1.0, y), np.where(lost, 0.0, u)
    mixed = form[0, 1] * y.conj() * u + form[1, 0] * u.conj() * y
    diagonal = form[0, 0] * np.abs(y) ** 2 + form[1, 1] * np.abs(u) ** 2
    value = diagonal + mixed
    component = value.imag if form[0, 1] == -form[1, 0] != 0.0 else value.real
    return np.asarray(component / (np.abs(y) ** 2 + np.abs(u) ** 2), dtype=np.float64)


def pencil_frequencies(response: FrequencyResponse, form: Matrix) -> Vector:
    """Return the frequencies of the eigenvalues of a form's pencil, increasing [rad/s]."""
    from scipy.linalg import eigvals

    n = len(response.A)
    if not 0 < n <= MAX_STATES:
        return np.zeros(0)
    scale = balancing_units(response.A)
    A = response.A * scale / scale[:, None]
    b, c = response.B / scale[:, None], response.C * scale
    size_b, size_c = (max(max_abs(array), 1e-300) for array in (b, c))
    even = 2.0 ** round(0.5 * math.log2(size_b / size_c))
    b, c = b / even, c * even
    M, N = np.zeros((2 * n + 1, 2 * n + 1)), np.zeros((2 * n + 1, 2 * n + 1))
    x, xi, u = slice(0, n), slice(n, 2 * n), slice(2 * n, None)
    M[x, x], M[x, u], N[x, x] = A, b, np.eye(n)
    M[u, x], M[u, xi], M[u, u] = form[1, 0] * c, b.T, form[1, 1]
    back = M if response.period is None else N
    back[xi, x], back[xi, xi], back[xi, u] = form[0, 0] * c.T @ c, A.T, form[0, 1] * c.T
    if response.period is None:
        N[xi, xi] = -np.eye(n)
    else:
        M[xi, xi] = np.eye(n)
    with np.errstate(all="ignore"):
        p = eigvals(M, N)
        p = p[np.isfinite(p)]
        frequencies = np.abs(p.imag if response.period is None else np.angle(p) / response.period)
    return np.unique(frequencies[frequencies > 0.0])


def crossings(response: FrequencyResponse, form: Matrix, grid: Vector) -> list[float]:
    """Return where a form changes its sign, increasing [rad/s].

    Args:
        response: The loop transfer function, of one input and one output.
        form: Shape ``(2, 2)``.
        grid: Frequencies that are looked at besides.
    """
    from scipy.optimize import brentq

    points = refine_grid(grid, pencil_frequencies(response, form))
    signs = np.sign(form_values(form, response.at_frequencies(points)[:, 0, 0]))

    def value(w: float) -> float:
        return float(form_values(form, np.array([response.value(w)]))[0])

    roots = points[signs == 0.0].tolist()
    for k in np.flatnonzero(signs[1:] * signs[:-1] < 0.0).tolist():
        low, high = float(points[k]), float(points[k + 1])
        if value(low) * value(high) < 0.0:
            roots.append(float(brentq(value, low, high, xtol=1e-300)))
        else:  # one of them is the crossing, to rounding
            roots.append(low if abs(value(low)) < abs(value(high)) else high)
    return _distinct(sorted(roots))


def _distinct(frequencies: list[float]) -> list[float]:
    """Return frequencies without those that are others, to rounding: eigenvalues come in pairs."""
    return [
        w for k, w in enumerate(frequencies) if k == 0 or w - frequencies[k - 1] > CROSSING_RTOL * w
    ]


def refine_grid(grid: Vector, extra: Vector) -> Vector:
    """Return a grid with further frequencies of its range, and those between these."""
    inside = extra[(extra > grid[0]) & (extra < grid[-1])]
    points: Vector = np.unique(np.concatenate([grid, inside, 0.5 * (inside[1:] + inside[:-1])]))
    return points
