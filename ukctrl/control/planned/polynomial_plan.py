"""A motion planned before the run, as a function of time that can be differentiated.

The motion is stored in segments, each as Chebyshev series. They are fitted at nodes to values
that are exact to rounding, so that second derivatives of them are good to about nine digits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError

NODES = 16
"""Nodes a segment."""
TAIL = 1e-9
"""A series whose last coefficients exceed this fraction of its size has not converged."""
MAX_SEGMENTS = 100_000
"""More segments than this are a typing error."""
STEP_RTOL, STEP_ATOL = 1e-13, 1e-14
"""Tolerances of the integration from node to node."""

Rate = Callable[[float, Vector], Vector]


@final
class Plan:
    """Functions of time, with their first and second derivatives.

    Args:
        rate: The right-hand side of a differential equation, ``rate(t, y)``.
        y: Its state at the start.
        start: Time of the start [s].
        duration: Length of the plan [s].
        segment: Length of a segment, at most [s].
        values: What is planned, from the time and the state there; shape ``(k,)``.

    Raises:
        InputError: The motion is not smooth enough to be planned in such segments.
    """

    def __init__(
        self,
        rate: Rate,
        y: Vector,
        start: float,
        duration: float,
        segment: float,
        values: Callable[[float, Vector], Vector],
    ) -> None:
        wanted = duration / segment
        if wanted > MAX_SEGMENTS:
            raise InputError(
                f"controller.segment must be at least {duration / MAX_SEGMENTS:.1e} s, for at most "
                f"{MAX_SEGMENTS} pieces; got {segment:g} s."
            )
        count = max(1, int(np.ceil(wanted)))
        self._start, self._length, self._last = start, duration / count, count - 1
        x = -np.cos(np.pi * np.arange(NODES) / (NODES - 1))  # with both ends
        series = []
        for k in range(count):
            times = start + self._length * (k + 0.5 * (x + 1.0))
            states = _through(rate, y, times)
            y = states[-1]
            sampled = np.array([values(t, state) for t, state in zip(times, states, strict=True)])
            series.append(self._fitted(x, sampled, float(times[0])))
        self._series = series

    def _fitted(self, x: Vector, sampled: Matrix, t: float) -> Matrix:
        """Return the series of the values and of their derivatives, shape ``(NODES, 3 k)``."""
        from numpy.polynomial import chebyshev

        series = chebyshev.chebfit(x, sampled, NODES - 1)
        tail = np.abs(series[-2:]).max(axis=0)
        size = np.abs(series).max(axis=0) + 1.0
        if not (tail <= TAIL * size).all():
            raise InputError(
                f"the motion to follow must have four smooth derivatives; near t = {t:.4g} s its "
                f"series over {self._length:g} s has not converged "
                f"({float((tail / size).max()):.0e}). Smooth the path, or shorten "
                "controller.segment."
            )
        scale = 2.0 / self._length
        parts = [series]
        for _ in range(2):
            derived = scale * chebyshev.chebder(parts[-1])
            parts.append(np.vstack([derived, np.zeros((1, derived.shape[1]))]))
            parts[-1] = parts[-1][:NODES]
        whole: Matrix = np.hstack(parts)
        return whole

    def __call__(self, t: float) -> Matrix:
        """Return the values and their two derivatives at a time, shape ``(3, k)``.

        Beyond the ends, those of the nearest end.
        """
        from numpy.polynomial import chebyshev

        along = (t - self._start) / self._length
        k = min(max(int(along), 0), self._last)
        x = min(max(2.0 * (along - k) - 1.0, -1.0), 1.0)
        return np.asarray(chebyshev.chebval(x, self._series[k])).reshape(3, -1)


def _through(rate: Rate, y: Vector, times: Vector) -> Matrix:
    """Return the states at increasing times, integrated from each to the next."""
    from scipy.integrate import solve_ivp

    states = [y]
    for t0, t1 in itertools.pairwise(times):
        solved = solve_ivp(
            rate, (t0, t1), states[-1], method="DOP853", rtol=STEP_RTOL, atol=STEP_ATOL
        )
        if not solved.success:
            raise InputError(
                f"the motion to follow ends at t = {solved.t[-1]:.6g} s, where its integration "
                "fails; correct the task, or its feedback."
            )
        states.append(solved.y[:, -1])
    return np.array(states)
