"""A loop along the frequencies, on a grid on which nothing narrow is missed."""

from __future__ import annotations

import dataclasses as dc
import math
from functools import cached_property
from typing import final

import numpy as np

from ukctrl.analysis.linear.linear_loop import LinearLoop, as_rates
from ukctrl.core.algebra.balance import balancing_units
from ukctrl.core.arrays import Complex, Matrix, Vector
from ukctrl.core.tie_breaking import max_abs

EXTRA_DECADES = 3.0
"""How far the grid goes beyond the slowest and the quickest pole."""
DENSITY = 60
"""Frequencies of the grid in a decade."""
RESONANCE_OFFSETS = np.concatenate([-np.geomspace(3.0, 0.03, 9), [0.0], np.geomspace(0.03, 3.0, 9)])
"""Frequencies beside each lightly damped pole, in its own decay rate."""
LIGHT_DAMPING = 0.3
"""A pole with less damping than this is lightly damped."""
MIN_POLE_RATIO = 1e-8
"""Poles slower than this fraction of the quickest may be zero and do not stretch the grid."""


@final
@dc.dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """A system ``c (p I - A)^-1 B`` along the frequencies, ``p = jw`` or ``exp(jwT)``."""

    A: Matrix
    B: Matrix
    C: Matrix
    period: float | None

    def at(self, w: float) -> Complex:
        """Return the value at a frequency [rad/s], shape ``(outputs, inputs)``."""
        p = 1j * w if self.period is None else np.exp(1j * w * self.period)
        value: Complex = self.C @ np.linalg.solve(p * np.eye(len(self.A)) - self.A, self.B)
        return value

    def value(self, w: float) -> complex:
        """Return the same of one input and one output; infinite at a pole."""
        try:
            return complex(self.at(w)[0, 0])
        except np.linalg.LinAlgError:
            return complex(math.inf)

    @cached_property
    def _schur_form(self) -> tuple[Complex, Complex, Complex]:
        """The same system in balanced coordinates in which ``A`` is triangular."""
        from scipy.linalg import schur

        scale = balancing_units(self.A)
        S, U = schur(self.A * scale / scale[:, None], output="complex")
        return S, (self.C * scale) @ U, U.conj().T @ (self.B / scale[:, None])

    def at_frequencies(self, frequencies: Vector) -> Complex:
        """Return the values at several, shape ``(k, outputs, inputs)``; not finite at a pole."""
        S, C, B = self._schur_form
        w = np.asarray(frequencies, dtype=np.float64)
        p = 1j * w if self.period is None else np.exp(1j * w * self.period)
        rows = np.empty((len(w), *C.shape), dtype=np.complex128)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for j in range(len(S)):
                rows[..., j] = (C[:, j] + rows[..., :j] @ S[:j, j]) / (p - S[j, j])[:, None]
            response: Complex = rows @ B
        return response


def response_at(loop: LinearLoop, motor: int) -> FrequencyResponse:
    """Return the loop transfer function at a motor along the frequencies."""
    A, b, c = loop.broken_at(motor)
    return FrequencyResponse(A, b[:, None], c[None], loop.period)


def frequencies(loop: LinearLoop, motor: int | None = None) -> Vector:
    """Return a grid of frequencies on which nothing narrow is missed [rad/s].

    Args:
        loop: The loop.
        motor: Where it is open; absent: at all motors.
    """
    opened = loop.A if motor is None else loop.broken_at(motor)[0]
    poles = as_rates(np.linalg.eigvals(opened).astype(np.complex128), loop.period)
    poles = np.concatenate([poles, loop.rates()])
    poles = poles[np.isfinite(poles)]
    sizes = np.abs(poles)
    top = max_abs(sizes) or 1.0
    last = top * 10.0**EXTRA_DECADES if loop.period is None else math.pi / loop.period
    # Poles near zero do not stretch the grid.
    slow = sizes[sizes > MIN_POLE_RATIO * top]
    first = min(float(slow.min(initial=top)), last) * 10.0**-EXTRA_DECADES
    count = max(2, math.ceil(DENSITY * math.log10(last / first)))
    grid = [np.geomspace(first, last, count)]
    for pole in poles[(poles.imag > 0.0) & (np.abs(poles.real) < LIGHT_DAMPING * sizes)]:
        # A light resonance has points of its own.
        width = max(abs(pole.real), 1e-9 * abs(pole))
        grid.append(pole.imag + width * RESONANCE_OFFSETS)
    points: Vector = np.unique(np.concatenate(grid))
    inside: Vector = points[(points >= first) & (points <= last)]
    return inside
