r"""The shortest delay that a loop does not stand at one motor.

Without a hold, a delay $\tau$ turns the loop by $e^{-j\omega\tau}$ and leaves its size. Under one
of period $T$ it does so only where it is a whole number of periods. A delay of $\tau = mT + f$ lets
the input change between the ticks, at $f$, so that the loop becomes $z^{-m} L_f(z)$ with

$$ L_f(z) = R(z) \Bigl[ \int_0^{T-f}\! e^{As} \mathrm ds\, b
          + z^{-1} \int_{T-f}^{T}\! e^{As} \mathrm ds\, b \Bigr] , $$

where $R$ leads from the plant's states to the command. A pole is on the unit circle where
$z^{-m} L_f(z) = -1$. For every $f$ of a grid, all frequencies are sought at which $|L_f| = 1$; from
one $f$ to the next they form curves, and along a curve the number of whole periods by which the
loop must still be turned,

$$ \nu(f) = \frac{\arg(-L_f) + 2 \pi k}{\omega T} , $$

is a whole one at the delays that are sought, where Newton's method ends. At half the rate of the
hold, $z = -1$, the loop is real, and delays with $(-1)^m L_f(-1) = -1$ join them. The least one is
returned: the first at which the loop is lost, also where longer ones are stood again.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.crossings import UNIT_CIRCLE, crossings
from ukctrl.analysis.linear.linear_loop import LinearLoop
from ukctrl.analysis.linear.response import response_at
from ukctrl.core.arrays import Vector
from ukctrl.core.tie_breaking import max_abs

PARTS_PER_PERIOD, MAX_PARTS = 4, 64
"""Parts of a period at which a loop is looked at, of a slow plant and of the quickest."""
NYQUIST_REFINEMENT = 4
"""How much more often it is looked at at half the rate, where that takes less."""
MIN_PART = 1e-4
"""Neighbours nearer than this are not parted further, in periods."""
MAX_DELAY_CHANGE = 0.1
"""From one to the next a delay changes by less than this fraction of a turn."""
MAX_TURNS = 10_000
"""Turns of the loop that are tried where its size is one at some parts of a period only."""
ARC_MARGIN = 0.02
"""How far beside a piece a delay is sought, in its length, or in periods beside a single point."""
NEWTON_STEPS, MAX_NEWTON_STEP, NEWTON_TOLERANCE = 40, 0.2, 1e-9
"""Of Newton's method: how many, the longest and the last, in periods and in the frequency."""
DIFFERENCE_STEP = 1e-6
"""What its slopes are differenced with, likewise."""


class UnitGainPoints(NamedTuple):
    """Where the loop has the size one, late by a part of a period."""

    part: float
    """[s]"""
    frequencies: Vector
    """Increasing [rad/s]."""
    delays: Vector
    """By how much the loop would have to be late altogether, were it only turned [s]."""


class UnitGainArc(NamedTuple):
    """A piece of a curve on which the loop has the size one, between two parts of a period."""

    part: tuple[float, float]
    frequency: tuple[float, float]
    delay: tuple[float, float]

    def delays_after(self, turns: int) -> tuple[float, float]:
        """Return the delays at both ends when the loop has been turned some times more [s]."""
        (d, e), (v, w) = self.delay, self.frequency
        return d + math.tau * turns / v, e + math.tau * turns / w


def phase_lag(L: complex) -> float:
    """Return how far a loop of size one may be turned back until it is -1, from 0 to 2 pi."""
    return cmath.phase(-L) % math.tau


def delay_margin(loop: LinearLoop, motor: int, grid: Vector, unit: Sequence[float]) -> float:
    """Return the shortest delay that is too much at one motor, the others as they are [s].

    Args:
        loop: A loop that is stable.
        motor: Where the delay is added to what there is.
        grid: Frequencies that are looked at besides those of the crossings [rad/s].
        unit: Where the size of the loop is one [rad/s].

    Returns:
        The delay; infinite where the loop stands every one.
    """
    response = response_at(loop, motor)
    if loop.period is None:
        return min((phase_lag(response.value(w)) / w for w in unit), default=math.inf)
    return _DelaySearch(loop, motor, grid).shortest()


class _DelaySearch:
    """The search for delays of a loop with a hold."""

    def __init__(self, loop: LinearLoop, motor: int, grid: Vector) -> None:
        assert loop.period is not None
        self.loop, self.motor, self.grid, self.period = loop, motor, grid, loop.period

    def shortest(self) -> float:
        """Return the least delay at which the loop is -1; infinite where there is none."""
        pieces, shortest = list(self._arcs()), self._at_nyquist()
        for turn in range(-1, MAX_TURNS) if pieces else ():  # -1: a lag may come to exist
            guesses = sorted(g for piece in pieces for g in self._initial_guesses(piece, turn))
            for delay, frequency in guesses:
                if delay < shortest + self.period:
                    shortest = min(shortest, self._newton(delay, frequency))
            # Every further turn is later by a period at least.
            if min(min(piece.delays_after(turn + 1)) for piece in pieces) > shortest + self.period:
                break
        return shortest

    def _at_nyquist(self) -> float:
        """Return the least delay at which a pole leaves at ``z = -1``, where the loop is real."""
        from scipy.optimize import brentq

        T, count = self.period, NYQUIST_REFINEMENT * len(self._parts())

        def half(delay: float) -> float:
            later = self.loop.delayed(self.motor, delay)
            return response_at(later, self.motor).value(math.pi / T).real

        delays = np.linspace(0.0, T, count)
        values = np.array([half(delay) for delay in delays.tolist()])
        shortest = math.inf
        for goal, offset in ((-1.0, 0.0), (1.0, T)):  # a period more turns it over
            signs = np.sign(values - goal)
            for k in np.flatnonzero(signs[1:] != signs[:-1])[:1].tolist():
                at = brentq(lambda delay, goal=goal: half(delay) - goal, delays[k], delays[k + 1])
                shortest = min(shortest, offset + float(at))
        return shortest

    def _initial_guesses(self, piece: UnitGainArc, turn: int) -> Iterator[tuple[float, float]]:
        """Yield delays and frequencies near which a piece may have a solution after some turns."""
        T = self.period
        left, right = (
            (d - f) / T for d, f in zip(piece.delays_after(turn), piece.part, strict=True)
        )
        slack = ARC_MARGIN if left == right else ARC_MARGIN * abs(left - right)
        first = max(0, math.ceil(min(left, right) - slack))
        for whole in range(first, math.floor(max(left, right) + slack) + 1):
            share = 0.5 if left == right else (left - whole) / (left - right)
            f, w = (a + share * (b - a) for a, b in (piece.part, piece.frequency))
            yield whole * T + f, w

    def _newton(self, delay: float, w: float) -> float:
        """Return the delay at which the loop is -1 near a guess; infinite where there is none."""
        T = self.period

        def off(delay: float, w: float) -> complex:
            whole = math.floor(delay / T)
            later = response_at(self.loop.delayed(self.motor, delay - whole * T), self.motor)
            return later.value(w) * cmath.exp(-1j * w * whole * T) + 1.0

        for _ in range(NEWTON_STEPS):
            residual = off(delay, w)
            by_delay = (off(delay + DIFFERENCE_STEP * T, w) - residual) / DIFFERENCE_STEP
            by_w = (off(delay, w * (1.0 + DIFFERENCE_STEP)) - residual) / DIFFERENCE_STEP
            slopes = np.array([[by_delay.real, by_w.real], [by_delay.imag, by_w.imag]])
            try:
                step = np.linalg.solve(slopes, [residual.real, residual.imag])
            except np.linalg.LinAlgError:
                return math.inf
            size = max_abs(step)
            step /= max(1.0, size / MAX_NEWTON_STEP)
            delay, w = delay - float(step[0]) * T, w * (1.0 - float(step[1]))
            if not delay > -T or not 0.0 < w < 2.0 * math.pi / T:
                return math.inf
            if size < NEWTON_TOLERANCE:
                return delay if delay >= 0.0 else math.inf
        return math.inf

    def _arcs(self) -> Iterator[UnitGainArc]:
        levels = [self._unit_gain_points(delay) for delay in self._parts()]
        pairs = list(itertools.pairwise(levels))[::-1]
        while pairs:
            left, right = pairs.pop()
            joined = self._connect(left, right)
            if joined is None and right.part - left.part > MIN_PART * self.period:
                middle = self._unit_gain_points(0.5 * (left.part + right.part))
                pairs += [(middle, right), (left, middle)]
            elif joined is None:  # here a curve turns back
                for f, frequencies, delays in (left, right):
                    for w, d in zip(frequencies.tolist(), delays.tolist(), strict=True):
                        yield UnitGainArc((f, f), (w, w), (d, d))
            else:
                yield from joined

    def _parts(self) -> list[float]:
        """Return where in a period to look: the plant's motion is resolved, and where it jumps."""
        T = self.period
        quickest = max_abs(self.loop.plant.linear.poles())
        count = min(PARTS_PER_PERIOD + math.ceil(quickest * T), MAX_PARTS)
        kink = T - self.loop.delays[self.motor] % T
        return sorted({*np.linspace(0.0, T, count + 1).tolist(), kink})

    def _unit_gain_points(self, delay: float) -> UnitGainPoints:
        response = response_at(self.loop.delayed(self.motor, delay), self.motor)
        frequencies = crossings(response, UNIT_CIRCLE, self.grid)
        delays = [phase_lag(response.value(w)) / w + delay for w in frequencies]
        return UnitGainPoints(delay, np.array(frequencies), np.array(delays))

    def _connect(self, left: UnitGainPoints, right: UnitGainPoints) -> list[UnitGainArc] | None:
        """Return the pieces between two levels; None where they do not belong to each other."""
        if len(left.frequencies) != len(right.frequencies):
            return None
        turn = math.tau / right.frequencies
        delays = right.delays + turn * np.round((left.delays - right.delays) / turn)
        if (np.abs(delays - left.delays) > MAX_DELAY_CHANGE * turn).any():
            return None
        ends = (left.frequencies, right.frequencies, left.delays, delays)
        return [
            UnitGainArc((left.part, right.part), (v, w), (c, d))
            for v, w, c, d in zip(*(end.tolist() for end in ends), strict=True)
        ]
