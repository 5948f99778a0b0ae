r"""Margins of a loop at one of its motors.

With the loop transfer function $L$, of $s$ or under a hold of $z$, and a closed loop that is
stable, the *gain margin* is the range of factors $k$ of the loop's gain for which it stays stable,
the *phase margin* the least $\lvert\varphi\rvert$ with which $e^{-j\varphi} L$ does not, and the
*delay margin* the shortest delay that it does not stand (see `delay_margin`). The *disk margin*
asks for gain and phase at once: with $S = 1/(1 + L)$ and $T = 1 - S$,

$$ \alpha = \frac{1}{\max_\omega \lvert \tfrac12 (S - T) \rvert}, \qquad
   \gamma = \frac{2 + \alpha}{2 - \alpha}, \qquad
   \phi = 2 \arctan \frac{\alpha}{2}, $$

and every complex factor of the gain in the disk with the real diameter $(1/\gamma, \gamma)$ is
stood. For all motors at once, $\lvert\cdot\rvert$ is the structured singular value of
$\tfrac12 (S - T)$ with the matrices $S$ and $T$, taken by its upper bound
$\min_D \bar\sigma(D\, \cdot\, D^{-1})$ with diagonal $D$, so that the margin is guaranteed.

Crossings are those of `crossings`, peaks are raised until no pencil finds a higher one; only
the margin of all motors at once is sought on a grid, which is fine near every pole, and refined.

References:
    Seiler, Packard & Gahinet, "An introduction to disk margins", IEEE Control Systems
    Magazine 40(5), 2020.
"""

from __future__ import annotations

import cmath
import dataclasses as dc
import math
from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.analysis.linear.crossings import (
    REAL_AXIS,
    UNIT_CIRCLE,
    crossings,
    disk_circle,
    pencil_frequencies,
    refine_grid,
)
from ukctrl.analysis.linear.delay_margin import delay_margin
from ukctrl.analysis.linear.linear_loop import LinearLoop, as_rates, neutral_count
from ukctrl.analysis.linear.response import FrequencyResponse, frequencies, response_at
from ukctrl.core.arrays import Complex, Vector
from ukctrl.core.tie_breaking import first_largest, first_smallest

MU_RTOL = 0.01
"""Bounds of structured singular values that are this near to the largest are not improved."""
PEAK_RTOL, MAX_RAISES = 1e-7, 20
"""Peaks that differ by no more are one, and how often a higher one is sought."""
PROBE_GAIN = 0.7 * cmath.exp(0.3j)
"""A factor of gain and phase at which a mode that the motor moves is elsewhere."""
LOW_FREQUENCY_RATIO = 1e-2
"""A frequency at which a loop is as at zero, in times of the lowest of its grid."""
ZERO_GAIN = 1e-9
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
    """Least lag or lead that is too much, at the ticks of a hold [deg]; infinite where the gain
    never is one."""
    phase_frequency: float
    """Where [rad/s]; NaN where there is none."""
    delay: float
    """Shortest delay that is too much, between ticks or on them [s]; infinite where none is."""
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


def margins_at(loop: LinearLoop, motor: int) -> Margins:
    """Return the margins at one motor, the others closed.

    A loop that is unstable has none of these, which is not looked at here. A neutral one has none,
    but where what neither grows nor decays stays so whatever this motor's gain is.
    """
    if _is_neutral(loop, motor):
        limit = {"gain_low": 1.0, "gain_high": 1.0, "phase": 0.0, "delay": 0.0, "disk": 0.0}
        where = dict.fromkeys(("gain_frequency", "phase_frequency", "disk_frequency"), math.nan)
        return Margins(motor=loop.inputs[motor], **limit, **where)
    grid, response = frequencies(loop, motor), response_at(loop, motor)
    low, high, at = _gain_margin(response, grid)
    unit = crossings(response, UNIT_CIRCLE, grid)
    turns = [abs(math.degrees(cmath.phase(-response.value(w)))) for w in unit]
    index = first_smallest(turns) if turns else None
    alpha, nearest = motor_disk_margin(loop, motor, grid)
    return Margins(
        motor=loop.inputs[motor],
        gain_low=low,
        gain_high=high,
        gain_frequency=at,
        phase=math.inf if index is None else turns[index],
        phase_frequency=math.nan if index is None else unit[index],
        delay=delay_margin(loop, motor, grid, unit),
        disk=alpha,
        disk_frequency=nearest,
    )


def _is_neutral(loop: LinearLoop, motor: int) -> bool:
    """Return whether modes neither grow nor decay that would with another gain of a motor."""
    still = neutral_count(loop.rates())
    A, b, c = loop.broken_at(motor)
    probe_poles = np.asarray(
        np.linalg.eigvals(A - PROBE_GAIN * np.outer(b, c)), dtype=np.complex128
    )
    return still > neutral_count(as_rates(probe_poles, loop.period))


def motor_disk_margin(
    loop: LinearLoop, motor: int, grid: Vector | None = None
) -> tuple[float, float]:
    """Return the disk margin at one motor, the others closed, and where it is reached [rad/s]."""
    response = response_at(loop, motor)
    grid = frequencies(loop, motor) if grid is None else grid
    values = _disk_distances(response.at_frequencies(grid)[:, 0, 0])
    # A pencil a little above the peak proves that none is higher, or finds it.
    for _ in range(MAX_RAISES):
        alpha, at = _peak(lambda w: _disk_distance(response.value(w)), grid, values)
        if not alpha > 0.0:
            break
        higher = disk_circle((1.0 + PEAK_RTOL) / alpha)
        grid = refine_grid(grid, np.append(pencil_frequencies(response, higher), at))
        values = _disk_distances(response.at_frequencies(grid)[:, 0, 0])
        if not np.max(values) * alpha > 1.0 + PEAK_RTOL:
            break
    return min(alpha, 2.0), at  # which no loop exceeds that weakens at high frequencies


def disk_margin(loop: LinearLoop) -> tuple[float, float]:
    """Return a disk margin that all motors stand at once, and where it is reached [rad/s]."""
    # The closed loop's own response, which is finite at poles of the open one.
    response = FrequencyResponse(loop.closed, loop.B, loop.C, loop.period)
    half = 0.5 * np.eye(len(loop.inputs))

    def off(w: float) -> Complex:
        return np.asarray(half + response.at(w))  # (S - T)/2

    grid = frequencies(loop)
    along = half + response.at_frequencies(grid)
    rough = np.array(
        [scaled_norm(M, osborne_scaling(M)) if np.isfinite(M).all() else 0.0 for M in along]
    )
    values, best = np.zeros(len(grid)), 0.0
    for k in np.argsort(-rough).tolist():
        if rough[k] <= best * (1.0 + MU_RTOL):
            values[k] = rough[k]  # which bounds all that are left
            break
        values[k] = mu_upper_bound(off(float(grid[k])))
        best = max(best, values[k])
    return _peak(lambda w: mu_upper_bound(off(w)), grid, values)


def _disk_distance(L: complex) -> float:
    """Return ``|S - T|/2``, which is one half where the loop is infinite."""
    if L == -1.0:
        return math.inf
    return abs(0.5 * (1.0 - L) / (1.0 + L)) if cmath.isfinite(L) else 0.5


def _disk_distances(values: Complex) -> Vector:
    return np.array([_disk_distance(complex(value)) for value in values])


def _gain_margin(response: FrequencyResponse, grid: Vector) -> tuple[float, float, float]:
    """Return the factors of gain at the limits of stability, and where the nearer one is."""
    # There it is real without crossing; at zero itself hidden modes may rest, and hide its value.
    ends = [LOW_FREQUENCY_RATIO * float(grid[0])]
    ends += [] if response.period is None else [math.pi / response.period]
    low, high, at, nearest = 0.0, math.inf, math.nan, math.inf
    for w in [*crossings(response, REAL_AXIS, grid), *ends]:
        value = response.value(w)
        if not -1.0 / ZERO_GAIN < value.real < -ZERO_GAIN or abs(value.imag) > abs(value.real):
            continue  # none, or a pole
        k = -1.0 / value.real
        low, high = (max(low, k), high) if k <= 1.0 else (low, min(high, k))
        if abs(math.log(k)) < nearest:
            nearest, at = abs(math.log(k)), w
    return low, high, at


def _peak(size: Callable[[float], float], grid: Vector, values: Vector) -> tuple[float, float]:
    """Return one over the largest size along the frequencies, and where it is."""
    from scipy.optimize import minimize_scalar

    k = first_largest(values)
    low, high = math.log(grid[max(k - 1, 0)]), math.log(grid[min(k + 1, len(grid) - 1)])
    best, at = float(values[k]), float(grid[k])
    peak = minimize_scalar(
        lambda x: -size(math.exp(x)), bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    if -peak.fun > best:
        best, at = float(-peak.fun), math.exp(float(peak.x))
    return (1.0 / best if best > 0.0 else math.inf), at


ITERATIONS = 30
"""Of the search for the scaling that bounds a structured singular value best."""


def mu_upper_bound(M: Complex) -> float:
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

    begin = osborne_scaling(M)
    optimum = minimize(
        height, begin[1:] - begin[0], jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    )
    return min(float(optimum.fun), scaled_norm(M, begin), scaled_norm(M, np.zeros(n)))


def osborne_scaling(M: Complex) -> Vector:
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


def scaled_norm(M: Complex, d: Vector) -> float:
    """Return the largest singular value of ``D M D^-1`` for the logarithms of a scaling."""
    scale = np.exp(d)
    return float(np.linalg.svd(scale[:, None] * M / scale[None], compute_uv=False)[0])
