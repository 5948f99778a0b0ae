r"""Polynomial chaos: Sobol indices from any samples, with what they leave open.

With polynomials $\psi_k$ of each factor that are orthonormal over its distribution,

$$ y(x) \approx \sum_\alpha c_\alpha \prod_i \psi_{\alpha_i}(x_i), \qquad
   S_i = \sum_{\alpha \in A_i} c_\alpha^2 / V, \quad S_{Ti} = \sum_{\alpha_i > 0} c_\alpha^2 / V, $$

where $A_i$ are the terms of factor i alone. The coefficients are those of least squares, and the
set of terms is the one with the least leave-one-out error
$\epsilon = \overline{(r_k / (1 - h_k))^2}$, of the residual r and the leverage h of each sample.
$V$ is the variance of the polynomial and $\epsilon$. What it does not explain may be of any factor,
or chance: it belongs to the upper end of every interval.

References:
    Sudret, "Global sensitivity analysis using polynomial chaos expansions", Reliability Engineering
    & System Safety 93(7), 2008. Blatman & Sudret, "Adaptive sparse polynomial chaos expansion based
    on least angle regression", J. Computational Physics 230(6), 2011 (hyperbolic sets of terms).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Flags, Indices, Matrix
from ukctrl.core.statistics import CONFIDENCE
from ukctrl.studies.sweep_analysis.study_arrays import Axis

MAX_DEGREE, MAX_ORDER, NORMS = 20, 3, (0.5, 0.75, 1.0)
"""Of the sets of terms: the largest degree, the most factors of a term, and the exponents q of
$\\sum_i \\alpha_i^q \\le p^q$, of which small ones leave out high degrees of several factors."""
SAMPLES_PER_TERM, MAX_TERMS, MAX_SAMPLES = 2, 200, 4096
"""A set has at most one term for so many samples, and so many; of more samples some are drawn."""
MAX_LEVERAGE, MIN_PIVOT = 1.0 - 1e-6, 1e-8
"""A set is left out that a sample determines alone, or whose terms the samples do not tell apart.
"""
ROUNDING = 1e-12
"""Outputs that vary by less, beside their size, are constant."""
DRAWS, SEED = 400, 0
"""Draws of the coefficients for intervals, the same every time."""


class ChaosIndices(NamedTuple):
    """Sobol indices of several outputs; each index with its value and both ends, `(..., 3)`."""

    first: Array
    """Of first order, shape `(outputs, factors, 3)`."""
    total: Array
    """Total ones, shape `(outputs, factors, 3)`."""
    unexplained: Array
    """Leave-one-out error in parts of the variance, shape `(outputs,)`."""


class _Fit(NamedTuple):
    terms: Indices
    """Degrees of each factor, shape `(terms, factors)`."""
    Q: Matrix
    R: Matrix
    errors: Array
    """Leave-one-out error of each output, shape `(outputs,)`."""
    penalty: float
    """Factor of the error for terms that the samples hardly tell apart (Blatman & Sudret)."""


def chaos_indices(axes: Sequence[Axis], y: Array, *, intervals: bool) -> ChaosIndices:
    """Return the Sobol indices of outputs.

    Args:
        axes: The factors over the points.
        y: One value a point, shape `(outputs, points)`.
        intervals: Whether to tell the ends of intervals; they are NaN else.
    """
    rng, n = np.random.default_rng(SEED), y.shape[1]
    rows = np.arange(n) if n <= MAX_SAMPLES else rng.choice(n, MAX_SAMPLES, replace=False)
    y, bases = y[:, rows], [_orthonormal(axis)[rows] for axis in axes]
    constant = _fit(bases, np.zeros((1, len(axes)), dtype=np.intp), y)
    best = [constant] * len(y)
    for fit in _fits(bases, y):
        for k, error in enumerate(fit.errors.tolist()):
            if fit.penalty * error < best[k].penalty * best[k].errors[k]:
                best[k] = fit
    shape = len(y), len(axes), 3
    indices = ChaosIndices(np.zeros(shape), np.zeros(shape), np.zeros(len(y)))
    for k, fit in enumerate(best):
        draws = rng.standard_normal((DRAWS if intervals else 0, len(fit.terms)))
        both, indices.unexplained[k] = _indices(fit, y[k], float(fit.errors[k]), draws)
        indices.first[k], indices.total[k] = both
    return indices


def _orthonormal(axis: Axis) -> Matrix:
    """Return polynomials of a factor at its values, shape `(points, degrees)`."""
    nodes, weights = axis.quadrature()
    values = axis.values
    if axis.log:
        nodes, values = np.log(nodes), np.log(values)
    middle, half = 0.5 * (nodes.max() + nodes.min()), 0.5 * (nodes.max() - nodes.min())
    degree = min(MAX_DEGREE, len(nodes) - 1)
    legendre = np.polynomial.legendre.legvander
    _, R = np.linalg.qr(np.sqrt(weights)[:, None] * legendre((nodes - middle) / half, degree))
    basis: Matrix = np.linalg.solve(R.T, legendre((values - middle) / half, degree).T).T
    return basis


def _fits(bases: Sequence[Matrix], y: Array) -> Iterator[_Fit]:
    """Yield the least-squares fit of every set of terms that the samples bear."""
    most = [basis.shape[1] - 1 for basis in bases]
    count = min(y.shape[1] // SAMPLES_PER_TERM, MAX_TERMS)
    for order in range(1, min(len(most), MAX_ORDER) + 1):
        for norm in NORMS if order > 1 else (1.0,):
            for degree in range(order, max(most) + 1):
                terms = _terms(most, degree, norm, order, count)
                if terms is None:
                    break
                yield _fit(bases, terms, y)


def _terms(most: Sequence[int], degree: int, norm: float, order: int, count: int) -> Indices | None:
    """Return the degrees of the terms of a hyperbolic set; None of more than a count.

    Args:
        most: Largest degree of each factor.
        degree: The set's degree p.
        norm: Its exponent q.
        order: Most factors of a term.
        count: Most terms.
    """
    d = len(most)
    bound = degree**norm * (1.0 + 1e-9)
    shapes = [
        degrees
        for size in range(1, order + 1)
        for degrees in itertools.product(range(1, degree + 1), repeat=size)
        if sum(k**norm for k in degrees) <= bound
    ]
    if 1 + sum(math.comb(d, len(degrees)) for degrees in shapes) > count:
        return None
    terms = [[0] * d]
    for degrees in shapes:
        for factors in itertools.combinations(range(d), len(degrees)):
            powers = dict(zip(factors, degrees, strict=True))
            if all(power <= most[i] for i, power in powers.items()):
                terms.append([powers.get(i, 0) for i in range(d)])
    return np.array(terms, dtype=np.intp)


def _fit(bases: Sequence[Matrix], terms: Indices, y: Array) -> _Fit:
    columns = [basis[:, terms[:, i]] for i, basis in enumerate(bases)]
    Q, R = np.linalg.qr(np.prod(columns, axis=0))
    leverage = (Q**2).sum(axis=1)
    pivots = np.abs(np.diag(R))
    if leverage.max() > MAX_LEVERAGE or pivots.min() < MIN_PIVOT * pivots.max():
        return _Fit(terms, Q, R, np.full(len(y), np.inf), 1.0)
    residual = (y - (y @ Q) @ Q.T) / (1.0 - leverage)
    penalty = 1.0 + float(np.sum(np.linalg.inv(R) ** 2))
    return _Fit(terms, Q, R, np.mean(residual**2, axis=1), penalty)


def _indices(fit: _Fit, y: Array, error: float, draws: Matrix) -> tuple[Array, float]:
    """Return both kinds of indices with their ends, shape `(2, factors, 3)`, and what is left."""
    active: Flags = fit.terms > 0
    alone = active & (active.sum(axis=1, keepdims=True) == 1)
    sums = np.hstack([alone, active, active.any(axis=1, keepdims=True)]).astype(np.float64)
    inverse = np.linalg.inv(fit.R)
    # squares of coefficients that chance moves are too large by their variances
    chance = error * (inverse**2).sum(axis=1) @ sums
    c = inverse @ (fit.Q.T @ y)
    parts = np.maximum((c + np.sqrt(error) * draws @ inverse.T) ** 2 @ sums - 2.0 * chance, 0.0)
    middle = np.maximum(c**2 @ sums - chance, 0.0)
    variance = float(middle[-1]) + error
    if variance <= ROUNDING**2 * float(np.mean(y**2)):
        return np.zeros((2, active.shape[1], 3)), 0.0
    shares, unexplained = middle[:-1] / variance, error / variance
    ends = np.full((2, len(middle) - 1), np.nan)
    if len(draws):
        tail = 0.5 * (1.0 - CONFIDENCE)
        drawn = parts[:, :-1] / (parts[:, -1:] + error)
        ends = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
        ends = np.array([np.minimum(ends[0], shares), np.maximum(ends[1] + unexplained, shares)])
    whole = np.minimum(np.stack([shares, *ends], axis=-1), 1.0)
    return whole.reshape(2, -1, 3), unexplained
