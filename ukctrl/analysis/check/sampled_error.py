r"""A control period against the error dynamics that the gains ask for, exactly.

A feedback asks every row for $y^{(r)} = w$ with $w$ a combination of the error's lower derivatives
(and of its integral), and a zero-order hold keeps $w$ for a period $h$, after the delay of the
bench. So the error is a chain of $r$ integrators under a held input,

$$ x_{k+1} = e^{N h} x_k + \int_0^h e^{N (h - s)} e_r\, w(s)\, ds, \qquad w = -K x, $$

without approximation. With
$\phi'' + \alpha \phi' + \beta \phi = 0$ it is stable exactly for

$$ h < \min\!\Big( \frac{2}{\alpha},\; \frac{2 \alpha}{\beta} \Big) . $$

What the model's own change within a period adds is of second order and not part of it.
"""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np

from ukctrl.analysis.linear.sampled_systems import sampled_plant
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.core.arrays import Matrix
from ukctrl.core.tie_breaking import first_smallest, max_abs
from ukctrl.simulation.assemble import Loop

SLOW_DECAY_RATIO = 0.5
"""A sampled error that decays at less than this fraction of the continuous rate is warned of."""
RECOMMENDED_DECAY_RATIO = 0.8
"""The longest period that keeps this fraction of the rate is recommended."""
MAX_PERIOD = 1e3
"""A stable period is not looked for beyond this [s]."""


@dc.dataclass(frozen=True, kw_only=True)
class SampledError:
    """What a control period does to the error of the slowest or the most endangered row."""

    period: float | None
    """Period of the hold [s]; None under continuous control."""
    delay: float
    """By how much inputs arrive late [s]."""
    row: str
    """The row that bears the shortest period."""
    poles: tuple[complex, ...]
    """Of its error in continuous time [1/s]."""
    decay: float
    """Rate of the slowest of them [1/s]."""
    sampled: tuple[complex, ...]
    """Where the hold moves them, $\\ln z / h$ [1/s]; empty under continuous control."""
    sampled_decay: float | None
    """Rate of the slowest of those [1/s]; below zero the error grows."""
    longest: float
    """Period from which on the error grows, the delay in periods unchanged [s]."""
    recommended: float
    """Longest period that keeps four fifths of the rate [s]."""


def sampled_error(loop: Loop) -> SampledError | None:
    """Return what the control period does to the error; None where its law is not linear."""
    polynomials = loop.scenario.controller.error_polynomials(loop.law.stack)
    polynomials = tuple(polynomial for polynomial in polynomials if any(polynomial.gains))
    if not polynomials:
        return None
    period, delay = loop.scenario.timing.control, loop.effects.delay
    late = delay / period if period else 0.0
    distinct = {
        (polynomial.gains, polynomial.integral): polynomial for polynomial in reversed(polynomials)
    }
    limits = {key: max_error_period(polynomial, late) for key, polynomial in distinct.items()}
    key = list(limits)[first_smallest(list(limits.values()))]
    worst = distinct[key]
    poles = worst.poles
    decay = -max(pole.real for pole in poles)
    moved: tuple[complex, ...] = ()
    rate = None
    if period is not None:
        moved = sampled_error_rates(worst, period, late)
        rate = -max(pole.real for pole in moved)
    return SampledError(
        period=period,
        delay=delay,
        row=worst.row,
        poles=poles,
        decay=decay,
        sampled=moved,
        sampled_decay=rate,
        longest=limits[key],
        recommended=max_error_period(worst, late, RECOMMENDED_DECAY_RATIO * decay),
    )


def sampled_error_matrix(error: ErrorPolynomial, period: float, late: float = 0.0) -> Matrix:
    """Return how one period maps the error, the late inputs behind it.

    Args:
        error: The error's polynomial.
        period: Period of the hold [s].
        late: Delay of the input, in periods.
    """
    r = len(error.gains)
    first = 1 if error.integral else 0  # the integral is advanced by the law, not by the plant
    n = r - first
    chain = sampled_plant(np.eye(n, k=1), np.eye(n, 1, 1 - n), (), ("w",), period, [late * period])
    step = np.zeros((first + len(chain.A), first + len(chain.A)))
    step[first:, first:] = chain.A
    if error.integral:
        step[0, 0], step[0, 1] = 1.0, period
    step[first:, :r] -= np.outer(chain.B, error.gains)
    return step


def sampled_error_rates(
    error: ErrorPolynomial, period: float, late: float = 0.0
) -> tuple[complex, ...]:
    """Return the poles of the held error as rates, ``ln z / h`` [1/s], the slowest first."""
    z = np.linalg.eigvals(sampled_error_matrix(error, period, late)).astype(complex)
    z = z[np.abs(z) > 1e-12]
    rates = np.log(z) / period
    return tuple(sorted(rates.tolist(), key=lambda root: (-root.real, root.imag)))


def max_error_period(error: ErrorPolynomial, late: float = 0.0, decay: float = 0.0) -> float:
    """Return the period up to which the held error decays faster than a rate [s].

    Args:
        error: The error's polynomial.
        late: Delay of the input, in periods.
        decay: The rate [1/s].
    """

    def kept(h: float) -> bool:
        radius = max_abs(np.linalg.eigvals(sampled_error_matrix(error, h, late)))
        bound = math.exp(-decay * h)
        return radius < bound if decay > 0.0 else radius < 1.0 - 1e-9

    fastest = max(abs(pole) for pole in error.poles)
    h = 1e-3 / fastest
    if not kept(h):
        return 0.0
    while kept(1.05 * h):
        h *= 1.05
        if h > MAX_PERIOD:
            return MAX_PERIOD
    low, high = h, 1.05 * h
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low
