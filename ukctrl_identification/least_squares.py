r"""Fits of base parameters, and how sure they are.

Noise of an equation is one number, $\sigma_i$, that its own residual tells. Filters and what a
model does not know tie samples together, so that every $\tau_i$-th counts. With $C$ the covariance,

$$ \hat\beta = C \sum_i \sigma_i^{-2} \tau_i^{-1} X_i^\top y_i, \qquad
   C^{-1} = \sum_i \sigma_i^{-2} \tau_i^{-1} X_i^\top X_i . $$
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_identification.base_parameters import WEAK, BaseParameters
from ukctrl_identification.passive_motion import FreeMotion
from ukctrl_identification.regression import Regression, Triangle, stacked

ROUNDS = 5
"""How often weights and noise are made of the residuals of the fit before."""
HUBER = 1.345
"""Residuals beyond so many deviations pull with a constant force: 95 % efficiency if normal."""
HUBER_ROUNDS = 20
HUBER_RTOL = 1e-3
"""Of a deviation: where changes of parameters are less, weights have settled."""
WINDOW = 5.0
NOISE_FLOOR = 1e-5
"""Noise counts as at least so much of an equation's terms: exact data have none."""


class Fit(NamedTuple):
    """Base parameters, and what is known of them."""

    values: Vector
    """Shape ``(b,)``."""
    covariance: Matrix
    """Shape ``(b, b)``; infinite on the diagonal where the log tells nothing."""
    noise: Vector
    """Deviation of each equation's residual, shape ``(k,)`` [N m or N]."""
    thinning: Vector
    """Samples of each equation for an independent one, shape ``(k,)``."""
    triangle: Matrix
    """Of all equations, each divided by its noise, and of the share that counts: ``R`` and the
    right side, shape ``(b + 1, b + 1)``."""

    @property
    def deviations(self) -> Vector:
        """Standard deviation of each base parameter, shape ``(b,)``."""
        return np.sqrt(np.diag(self.covariance))

    def intervals(self, level: float = 0.95) -> Matrix:
        """Return the ends of each parameter's interval, shape ``(b, 2)``."""
        reach = float(ndtri(0.5 + level / 2.0)) * self.deviations
        return np.column_stack([self.values - reach, self.values + reach])


def weighted_fit(
    triangles: Sequence[Triangle],
    base: BaseParameters,
    thinning: Vector,
    prior: Vector,
    *,
    weighted: bool = True,
) -> Fit:
    """Return the fit of least squares, each equation weighted by its own noise.

    Args:
        triangles: What the samples say of each equation.
        base: The base parameters, which are the columns.
        thinning: Samples of each equation for an independent one, shape ``(k,)``.
        prior: Values in directions of which the samples tell nothing, shape ``(b,)``.
        weighted: Whether equations have weights; otherwise all have the same, and only deviations
            heed that their noise differs.
    """
    p = base.map.shape[1]
    noise, fit = np.ones(len(triangles)), None
    for _ in range(ROUNDS):
        divisors = noise * np.sqrt(thinning) if weighted else noise
        R = stacked(triangles, p, divisors)[:, [*base.independent, p]]
        values, covariance = _solved(R, prior)
        full = np.zeros(p)
        full[base.independent] = values
        squares = np.array([one.residual(full) for one in triangles])
        counts = np.array([one.samples for one in triangles])
        used = np.array([_hat(one, base, covariance) for one in triangles]) / noise**2
        left = np.maximum(counts - used, 1.0)  # each parameter takes as many as one stands for
        sizes = np.array([np.linalg.norm(one.R[:, :-1] * full[one.columns]) for one in triangles])
        floor = NOISE_FLOOR * sizes / np.sqrt(counts)
        noise = np.maximum(np.sqrt(squares / left), floor + np.finfo(float).tiny)
        fit = Fit(values, covariance, noise, thinning, R)
        if not weighted:
            inner = stacked(triangles, p, 1.0 / (noise * np.sqrt(thinning)))[:, base.independent]
            spread = covariance @ inner.T
            common = np.full(len(noise), np.sqrt(squares.sum() / left.sum()))
            R = stacked(triangles, p, common * np.sqrt(thinning))[:, [*base.independent, p]]
            return Fit(values, spread @ spread.T, noise, thinning, R)
    assert fit is not None
    return fit


def samples_per_independent(e: Matrix, least: float) -> Vector:
    r"""Return how many samples stand for an independent one, $1 + 2\sum_k \rho_k$, shape ``(k,)``.

    Correlations are summed as far as `WINDOW` times the sum (Sokal, "Monte Carlo methods in
    statistical mechanics", 1997).

    Args:
        e: Residuals of each equation, shape ``(n, k)``.
        least: What the filter alone makes of noise.
    """
    return np.array([max(_samples_per_independent(one[np.isfinite(one)]), least) for one in e.T])


def _samples_per_independent(e: Vector) -> float:
    if not len(e):
        return 1.0
    spectrum = np.abs(np.fft.rfft(e, 2 * len(e))) ** 2
    correlation = np.fft.irfft(spectrum)[: max(1, len(e) // 4)]
    correlation /= max(correlation[0], np.finfo(float).tiny)
    times = 2.0 * np.cumsum(correlation) - 1.0
    wide = np.arange(len(times)) >= WINDOW * times
    wide[-1] = True
    return float(times[np.argmax(wide)])


def _solved(R: Matrix, prior: Vector) -> tuple[Vector, Matrix]:
    """Return the solution of a triangle nearest to a prior, and its covariance."""
    X, y = R[:, :-1], R[:, -1]
    lengths = np.linalg.norm(X, axis=0)
    scale = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    U, values, directions = np.linalg.svd(X * scale, full_matrices=False)
    strong = values > WEAK * values[0]
    back = directions[strong].T / values[strong]
    solution = prior + scale * (back @ (U[:, strong].T @ (y - X @ prior)))
    covariance = (back @ back.T) * np.outer(scale, scale)
    untold = (np.abs(directions[~strong]) > WEAK).any(axis=0)
    covariance[untold, untold] = np.inf
    return solution, covariance


def _hat(one: Triangle, base: BaseParameters, covariance: Matrix) -> float:
    """Return the trace of an equation's part of the hat matrix, times its noise squared."""
    at = np.searchsorted(base.independent, one.columns)
    C = covariance[np.ix_(at, at)]
    X, known = one.R[:, :-1], np.isfinite(np.diag(C))
    X, C = X[:, known], C[np.ix_(known, known)]
    return float(np.einsum("ij,jk,ik->", X, C, X))


class EquationSamples(NamedTuple):
    """What a fit goes through more than once."""

    regression: Regression
    motions: Sequence[FreeMotion]
    base: BaseParameters

    def triangles(self) -> list[Triangle]:
        """Return what the samples say of each equation."""
        return self.regression.triangles(self.motions, self.base.kept())

    def residuals(self, values: Vector) -> Matrix:
        """Return what base parameters, shape ``(b,)``, leave of each equation, shape ``(n, k)``."""
        full = np.zeros(self.base.map.shape[1])
        full[self.base.independent] = values
        return self.regression.residuals(self.motions, self.base.kept(), full)


def robust_fit(samples: EquationSamples, start: Fit) -> Fit:
    r"""Return a fit in which outliers pull no more than `HUBER` deviations do (Huber 1964).

    Each effort is replaced by what is predicted and the residual, cut at that limit, until nothing
    moves: cut before they are filtered, outliers do not spread over their neighbours. The
    covariance is that of M-estimators, $E[\psi^2]/E[\psi']^2$.

    Args:
        samples: The samples.
        start: The fit of least squares, whose values hold where the samples tell nothing.
    """
    base, fit = samples.base, start
    raw = samples._replace(motions=[one.unfiltered() for one in samples.motions])
    for _ in range(HUBER_ROUNDS):
        e = raw.residuals(fit.values)
        # the median tells the noise whatever outliers say
        limit = HUBER * 1.4826 * np.nanmedian(np.abs(e), axis=0)
        inside = float(np.nanmean(np.abs(e) <= limit))
        cut, first = np.nan_to_num(np.clip(e, -limit, limit) - e), 0
        changed = []
        for one in samples.motions:
            n = len(one.motion.q)
            right, step = one.right.copy(), cut[first : first + n]
            if one.basis is not None:  # what changes each equation by its cut
                across = one.basis[:, one.rows].swapaxes(1, 2)
                step = np.asarray(np.linalg.solve(across, step[..., None])[..., 0], np.float64)
            right[:, one.rows] += step
            changed.append(one._replace(right=right))
            first += n
        triangles = samples._replace(motions=changed).triangles()
        refit = weighted_fit(triangles, base, start.thinning, start.values)
        moved = np.abs(refit.values - fit.values) / refit.deviations
        fit = refit._replace(covariance=refit.covariance / inside**2)
        if float(np.nanmax(moved, initial=0.0)) < HUBER_RTOL:
            break
    return fit


def instrumental_fit(
    samples: EquationSamples, instruments: Sequence[FreeMotion], start: Fit
) -> Fit:
    r"""Return the fit whose residual is orthogonal to another motion's columns.

    $$ \hat\beta = (Z^\top X)^{-1} Z^\top y $$

    with ``Z`` the columns along a motion that the noise of the sensors did not enter, such as the
    motion that was asked for: noise of positions is in ``X`` and biases least squares, but is
    independent of ``Z``. Columns that bend within the noise keep its square, such as Coulomb
    friction near standstill (Janot, Vandanjon & Gautier, "A generic instrumental variable approach
    for industrial robot identification", IEEE Trans. Control Syst. Technol. 22, 2014).

    Args:
        samples: The samples.
        instruments: The motion of ``Z`` at the same instants.
        start: The fit of least squares, whose noise the equations are weighted by at first.
    """
    noise, fit, mask = start.noise, start, samples.base.kept()
    cross_products = samples.regression.cross_products
    for _ in range(ROUNDS):
        effective = noise * np.sqrt(start.thinning)
        cross, own = cross_products(instruments, samples.motions, mask, effective)
        back = np.linalg.inv(cross[:, :-1])
        values = back @ cross[:, -1]
        noise = np.sqrt(np.nanmean(samples.residuals(values) ** 2, axis=0))
        # with the noise of positions in X, a triangle of Z gives these values and deviations
        spread = back @ own @ back.T
        root = np.linalg.cholesky(np.linalg.inv(spread)).T
        triangle = np.zeros((len(values) + 1, len(values) + 1))
        triangle[:-1, :-1], triangle[:-1, -1] = root, root @ values
        fit = Fit(values, spread, noise, start.thinning, triangle)
    return fit
