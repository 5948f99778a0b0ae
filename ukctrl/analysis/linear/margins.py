r"""Margins of a loop at one of its motors.

With the loop transfer function $L$ and a closed loop that is stable, the *gain margin* is the range
of factors $k$ of the loop's gain, the *phase margin* the least lag, for which it stays stable, and
the *delay margin* the shortest delay that it does not stand. The *disk margin* asks for both at
once: with $S = 1/(1 + L)$ and $T = 1 - S$,

$$ \alpha = \frac{1}{\max_\omega \lvert \tfrac12 (S - T) \rvert}, \qquad
   \gamma = \frac{2 + \alpha}{2 - \alpha}, \qquad
   \phi = 2 \arctan \frac{\alpha}{2}, $$

and every complex factor of the gain in the disk with the real diameter $(1/\gamma, \gamma)$ is
stood. For all motors at once, $\lvert\cdot\rvert$ is the structured singular value of
$\tfrac12 (S - T)$ with the matrices $S$ and $T$, taken by its upper bound
$\min_D \bar\sigma(D\, \cdot\, D^{-1})$ with diagonal $D$, so that the margin is guaranteed.

Crossings are sought on a grid of frequencies that is fine near every pole, and refined.

References:
    Seiler, Packard & Gahinet, "An introduction to disk margins", IEEE Control Systems
    Magazine 40(5), 2020.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.analysis.linear.linear_loop import LinearLoop
from ukctrl.analysis.linear.response import Response, frequencies, response_at
from ukctrl.core.arrays import Complex, Vector
from ukctrl.core.extremes import first_largest

NEAR = 0.01
"""Bounds of structured singular values that are this near to the largest are not improved."""
NO_GAIN = 1e-9
"""A factor of gain that counts as zero, and one over it as infinite."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class Margins:
    """What the loop stands at one motor."""

    motor: str
    gain_low: float
    """The gain may fall to this factor; 0: to nothing."""
    gain_high: float
    """The gain may rise to this factor; infinite: without limit."""
    gain_frequency: float
    """Where the nearer of the two is reached [rad/s]; NaN where neither is."""
    phase: float
    """Least lag or lead that is too much [deg]; infinite where the gain never is one."""
    phase_frequency: float
    """Where [rad/s]; NaN where there is none."""
    delay: float
    """Shortest delay that is too much [s]; infinite where none is."""
    disk: float
    """Disk margin $\\alpha$: 2 is the most, where the gain may fall to nothing."""
    disk_frequency: float
    """Where the loop is nearest to its disk [rad/s]."""

    @property
    def disk_gain(self) -> float:
        """Factor by which the gain may rise or fall at any phase up to none."""
        return disk_gain(self.disk)

    @property
    def disk_phase(self) -> float:
        """Phase that is stood at any such gain up to one [deg]."""
        return disk_phase(self.disk)


def disk_gain(alpha: float) -> float:
    """Return the factor of gain that a disk margin stands for."""
    return (2.0 + alpha) / (2.0 - alpha) if alpha < 2.0 else math.inf


def disk_phase(alpha: float) -> float:
    """Return the phase that a disk margin stands for [deg]."""
    return math.degrees(2.0 * math.atan(alpha / 2.0))


def margins_at(loop: LinearLoop, motor: int, grid: Vector | None = None) -> Margins:
    """Return the margins at one motor, the others closed.

    They mean something where the closed loop is stable, which is not looked at here.
    """
    response = response_at(loop, motor)

    def L(w: float) -> complex:
        return complex(response.at(w)[0, 0])

    grid = frequencies(loop, motor) if grid is None else grid
    values = response.along(grid)[:, 0, 0]
    low, high, at = _gain(L, grid, values, loop.period)
    phase, crossing, delay = _phase(L, grid, values)
    alpha, nearest = _disk(lambda w: _off(L(w)), grid, _off_all(values))
    return Margins(
        motor=loop.inputs[motor],
        gain_low=low,
        gain_high=high,
        gain_frequency=at,
        phase=phase,
        phase_frequency=crossing,
        delay=delay,
        disk=alpha,
        disk_frequency=nearest,
    )


def disk_margin(loop: LinearLoop, grid: Vector | None = None) -> tuple[float, float]:
    """Return a disk margin that all motors stand at once, and where it is reached [rad/s]."""
    response = Response(loop.A, loop.B, -loop.C, loop.period)
    one = np.eye(len(loop.inputs))

    def off(w: float) -> Complex:
        """Return ``(S - T)/2``."""
        off: Complex = np.asarray(np.linalg.inv(one + response.at(w)) - 0.5 * one, np.complex128)
        return off

    grid = frequencies(loop) if grid is None else grid
    rough = np.zeros(len(grid))
    for k, w in enumerate(grid.tolist()):
        with contextlib.suppress(np.linalg.LinAlgError):  # a pole on the axis, or its zero
            rough[k] = bound(off(w), balanced(off(w)))
    values, best = np.zeros(len(grid)), 0.0
    for k in np.argsort(-rough).tolist():
        if rough[k] <= best * (1.0 + NEAR):
            values[k] = rough[k]  # which bounds all that are left
            break
        values[k] = structured(off(float(grid[k])))
        best = max(best, values[k])
    return _disk(lambda w: structured(off(w)), grid, values)


def _off(L: complex) -> float:
    """Return ``|S - T|/2``, which is one half where the loop is infinite."""
    return abs(0.5 * (1.0 - L) / (1.0 + L)) if L != -1.0 else math.inf


def _off_all(values: Complex) -> Vector:
    exponents = np.array([_off(complex(value)) for value in values])
    return np.where(np.isnan(exponents), 0.5, exponents)


def _gain(
    L: Callable[[float], complex], grid: Vector, values: Complex, period: float | None
) -> tuple[float, float, float]:
    """Return the factors of gain at the limits of stability, and where the nearer one is."""
    factors, places = [], []
    for w in _crossings(lambda w: L(w).imag, grid, values.imag):
        factors.append(L(w).real)
        places.append(w)
    ends = [0.0] if period is None else [0.0, math.pi / period]
    for w in ends:  # there it is real, and need not cross
        try:
            value = L(w)
        except np.linalg.LinAlgError:
            continue
        factors.append(value.real)
        places.append(w)
    low, high, at, nearest = 0.0, math.inf, math.nan, math.inf
    for value, w in zip(factors, places, strict=True):
        if not value < 0.0 or not math.isfinite(value):
            continue
        k = -1.0 / value
        if not NO_GAIN < k < 1.0 / NO_GAIN:
            continue
        if k <= 1.0:
            low = max(low, k)
        else:
            high = min(high, k)
        if abs(math.log(k)) < nearest:
            nearest, at = abs(math.log(k)), w
    return low, high, at


def _phase(
    L: Callable[[float], complex], grid: Vector, values: Complex
) -> tuple[float, float, float]:
    """Return the phase margin [deg], where it is, and the delay margin [s]."""
    least, at, delay = math.inf, math.nan, math.inf
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values))
    for w in _crossings(lambda w: math.log(abs(L(w))), grid, size):
        lag = float(np.angle(-L(w)))  # how far it may turn back until it is -1
        if abs(lag) < math.radians(least):
            least, at = math.degrees(abs(lag)), w
        delay = min(delay, (lag % math.tau) / w)
    return least, at, delay


def _crossings(f: Callable[[float], float], grid: Vector, values: Vector) -> list[float]:
    """Return where a function crosses zero, not where it jumps through a pole."""
    from scipy.optimize import brentq

    crossings = []
    with np.errstate(invalid="ignore"):
        signs = np.sign(values)
    for k in np.flatnonzero(signs[1:] * signs[:-1] < 0.0).tolist():
        w = float(brentq(f, float(grid[k]), float(grid[k + 1]), xtol=1e-14, rtol=1e-13))
        if abs(f(w)) <= max(abs(values[k]), abs(values[k + 1])):
            crossings.append(w)
    crossings += [float(w) for w in grid[signs == 0.0]]
    return crossings


def _disk(size: Callable[[float], float], grid: Vector, values: Vector) -> tuple[float, float]:
    """Return one over the largest size along the frequencies, and where it is."""
    from scipy.optimize import minimize_scalar

    k = first_largest(values)
    low, high = math.log(grid[max(k - 1, 0)]), math.log(grid[min(k + 1, len(grid) - 1)])
    best, at = float(values[k]), float(grid[k])
    peak = minimize_scalar(
        lambda x: -size(math.exp(x)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    if -peak.fun > best:
        best, at = float(-peak.fun), math.exp(float(peak.x))
    return (1.0 / best if best > 0.0 else math.inf), at


ITERATIONS = 30
"""Of the search for the scaling that bounds a structured singular value best."""


def structured(M: Complex) -> float:
    """Return an upper bound of the structured singular value for independent complex factors.

    The least largest singular value of ``D M D^-1`` over positive diagonal ``D``, which is exact
    for up to three; the logarithm of ``D`` is where it is convex.
    """
    n = len(M)
    if n == 1:
        return float(abs(M[0, 0]))
    if not np.isfinite(M).all():
        return math.inf
    from scipy.optimize import minimize

    def height(d: Vector) -> tuple[float, Vector]:
        scale = np.exp(np.concatenate([[0.0], d]))
        U, sigma, Vh = np.linalg.svd(scale[:, None] * M / scale[None])
        slope = sigma[0] * (np.abs(U[:, 0]) ** 2 - np.abs(Vh[0]) ** 2)
        return float(sigma[0]), slope[1:]

    begin = balanced(M)
    least = minimize(
        height, begin[1:] - begin[0], jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    )
    return min(float(least.fun), bound(M, begin), bound(M, np.zeros(n)))


def balanced(M: Complex) -> Vector:
    """Return logarithms of a scaling that makes rows as large as columns (Osborne)."""
    size = np.abs(M) ** 2
    np.fill_diagonal(size, 0.0)
    d = np.zeros(len(M))
    for _ in range(10):
        for k in range(len(M)):
            row, column = size[k].sum(), size[:, k].sum()
            if row > 0.0 and column > 0.0:
                factor = (column / row) ** 0.25
                d[k] += math.log(factor)
                size[k] *= factor**2
                size[:, k] /= factor**2
    return d


def bound(M: Complex, d: Vector) -> float:
    """Return the largest singular value of ``D M D^-1`` for the logarithms of a scaling."""
    scale = np.exp(d)
    return float(np.linalg.svd(scale[:, None] * M / scale[None], compute_uv=False)[0])
