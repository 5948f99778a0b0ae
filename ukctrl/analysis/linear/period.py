"""How slowly a law may tick: the largest sampling period that keeps a margin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.linear_loop import growth, linear_loop
from ukctrl.analysis.linear.margins import margins_at
from ukctrl.analysis.linear.point import At, OperatingPoint, operating_point
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InputError
from ukctrl.simulation.scenario import Scenario

FIRST = 0.02
"""The first period that is tried, in times of the quickest pole of the loop."""
GROWTH = 1.25
"""From one trial to the next."""
TRIALS = 80
EXACT = 1e-6
"""Relative width to which the limit is enclosed."""


class LargestPeriod(NamedTuple):
    """The largest period of the hold that keeps what was asked."""

    period: float
    """Just below the limit [s]."""
    beyond: float
    """Just above it [s]; the margin is lost there."""
    disk: float
    """The disk margin that is kept; 0: stability alone."""


@one_blas_thread()
def largest_period(
    scenario: Scenario, at: At | OperatingPoint = "start", *, disk: float = 0.0
) -> LargestPeriod:
    """Return the largest control period at which the loop keeps a margin at every motor.

    Periods are tried from short to long until one loses it, and the limit is then enclosed by
    bisection. Each trial starts the law anew, whose gains may depend on the period. Delays and
    sensors of the scenario are as they are.

    Args:
        scenario: The scenario.
        at: As for `linear_loop`.
        disk: The disk margin to keep; 0: stability alone.

    Raises:
        InputError: Even short periods do not keep it, or none loses it.
    """
    if not 0.0 <= disk < 2.0:
        raise InputError(f"the disk margin to keep must be at least 0 and below 2; got {disk:g}.")
    point = at if isinstance(at, OperatingPoint) else operating_point(scenario, at)

    def kept(period: float) -> bool:
        duration = max(scenario.timing.duration, 2.0 * period)
        longer = scenario.replace({"timing.duration": duration})
        loop = linear_loop(longer, point, period=period)
        if growth(loop) > 0.0:
            return False
        motors = range(len(loop.inputs)) if disk > 0.0 else ()
        return all(margins_at(loop, motor).disk >= disk for motor in motors)

    rates = linear_loop(scenario, point).rates()
    quickest = float(np.abs(rates[np.isfinite(rates)]).max(initial=0.0))
    period = FIRST / max(quickest, 1e-3)
    if not kept(period):
        what = f"a disk margin of {disk:g}" if disk else "stability"
        raise InputError(
            f"the loop must keep {what} at short periods for a longest one to exist; at "
            f"{period:.2g} s it does not. Change the gains first, or ask for less."
        )
    for _ in range(TRIALS):
        if not kept(GROWTH * period):
            break
        period *= GROWTH
    else:
        raise InputError(f"no period up to {period:.3g} s loses the margin; there is no limit.")
    low, high = period, GROWTH * period
    while high - low > EXACT * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) else (low, middle)
    return LargestPeriod(low, high, disk)
