r"""Periodic, band-limited motions (Swevers et al., "Optimal robot excitation and identification",
IEEE Trans. Robot. Autom. 13, 1997).

$$ y(t) = y_0 + \sum_{k=1}^{H} (c_k \cos k\omega t + s_k \sin k\omega t), \qquad
   \omega = 2\pi / T . $$

It begins and ends at rest where $y(0) = 0$, $\sum_k k s_k = 0$ and $\sum_k k^2 c_k = 0$: velocity
and acceleration are zero at both ends of the period. ``2 H - 2`` numbers a joint are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.reference import Harmonic, HarmonicSum


class FourierSeries(NamedTuple):
    """Displacements of ``k`` joints."""

    period: float
    """$T$ [s]."""
    offset: Vector
    """$y_0$, shape ``(k,)`` [rad or m]."""
    cosine: Matrix
    """$c$, shape ``(H, k)`` [rad or m]."""
    sine: Matrix
    """$s$, shape ``(H, k)`` [rad or m]."""

    def __call__(self, times: Vector, order: int = 0) -> Matrix:
        """Return the displacement, or a derivative of it, shape ``(n, k)``."""
        speeds = 2.0 * np.pi / self.period * np.arange(1, len(self.cosine) + 1)
        angle = np.outer(times, speeds) + 0.5 * np.pi * order
        y = (np.cos(angle) * speeds**order) @ self.cosine
        y += (np.sin(angle) * speeds**order) @ self.sine
        return np.asarray(y if order else y + self.offset)

    def scaled(self, factor: float) -> FourierSeries:
        """Return the motion with all displacements so many times as large."""
        return FourierSeries(self.period, *(factor * part for part in self[1:]))

    def part(self, joints: Sequence[int]) -> FourierSeries:
        """Return the motion of some of the joints."""
        return FourierSeries(self.period, *(part[..., list(joints)] for part in self[1:]))

    def path(self, start: Vector, begin: float = 0.0) -> HarmonicSum:
        """Return the reference of the joints.

        Args:
            start: Their positions where the displacement is zero, shape ``(k,)`` [rad or m].
            begin: When the period begins [s].
        """
        terms = []
        for k, (c, s) in enumerate(zip(self.cosine.tolist(), self.sine.tolist(), strict=True), 1):
            frequency = k / self.period
            late = -2.0 * np.pi * frequency * begin
            terms.append(Harmonic(amplitude=tuple(s), frequency=frequency, phase=late))
            late += 0.5 * np.pi
            terms.append(Harmonic(amplitude=tuple(c), frequency=frequency, phase=late))
        return HarmonicSum(offset=tuple((start + self.offset).tolist()), terms=tuple(terms))


class RestingSeries(NamedTuple):
    """The series that begin and end at rest, as a linear space."""

    period: float
    cosine: Matrix
    """From coordinates to $c$ of a joint, shape ``(H, 2 H - 2)`` [s]."""
    sine: Matrix
    """From coordinates to $s$ of a joint, likewise [s]."""

    @staticmethod
    def of(period: float, harmonics: int) -> RestingSeries:
        """Return the space of a period [s] and at least two harmonics.

        Coordinates are amplitudes of the velocity [rad/s or m/s].
        """
        k = np.arange(1.0, harmonics + 1)
        # of velocities: a_k = k w s_k with sum a_k = 0, and b_k = -k w c_k with sum k b_k = 0
        speeds = 2.0 * np.pi / period * k[:, None]
        none = np.zeros((harmonics, harmonics - 1))
        of_sine = null_space(np.ones((1, harmonics))) / speeds
        of_cosine = -null_space(k[None]) / speeds
        return RestingSeries(period, np.hstack([none, of_cosine]), np.hstack([of_sine, none]))

    def series(self, coordinates: Matrix) -> FourierSeries:
        """Return the series of coordinates, shape ``(2 H - 2, k)``."""
        c, s = self.cosine @ coordinates, self.sine @ coordinates
        return FourierSeries(self.period, -c.sum(axis=0), c, s)

    def coordinates(self, series: FourierSeries) -> Matrix:
        """Return the coordinates of the nearest motion, shape ``(2 H - 2, k)``."""
        space = np.vstack([self.cosine, self.sine])
        return np.asarray(np.linalg.lstsq(space, np.vstack([series.cosine, series.sine]))[0])

    def basis(self, times: Vector) -> NDArray[np.float64]:
        """Return displacement, velocity and acceleration by coordinate, ``(3, n, 2 H - 2)``."""
        every = self.series(np.eye(self.cosine.shape[1]))
        return np.array([every(times, order) for order in range(3)])
