r"""Rows in levels of priority, and near singularities, compiled.

The input is built as `ukctrl.motion.Hierarchy` builds an acceleration, level by level,
with the input metric $R$ for the mass and $u_0$ for the free motion. The columns of $S$ are the
freedoms that the levels so far leave, $S S^\top = R^{-1}$ before the first. A level with the rows
$H_k u = d_k$ corrects the input within them,

$$ u_k = u_{k-1} + S_{k-1} X_k^{\oplus} (d_k - H_k u_{k-1}), \qquad X_k = H_k S_{k-1}, $$

and takes the directions in which it feels the input, so that no lower level can disturb it.
$X^\oplus$ is the pseudoinverse, with the smallest singular values damped:

$$ X = \sum_i \sigma_i\, p_i q_i^\top, \qquad
   X^\oplus = \sum_i \frac{\sigma_i}{\sigma_i^2 + \lambda^2(\sigma_i)}\, q_i p_i^\top, \qquad
   \lambda(\sigma) = \delta\, \epsilon\, \Big(1 - \frac{\sigma^2}{\epsilon^2}\Big)
   \ \text{for}\ \sigma < \epsilon,\ \text{else}\ 0 . $$

Of the demand in direction $p_i$ the share $e(\sigma_i) = \lambda^2 / (\sigma_i^2 + \lambda^2)$ is
missed. It falls with $\sigma$, so the level as a whole misses at most $e(\sigma_{\min})$ of it.

References:
    Nakamura & Hanafusa, ASME J. Dyn. Sys. Meas. Control 108, 1986; Maciejewski & Klein, J. Robotic
    Systems 5, 1988 (damping of the smallest singular values alone); Siciliano & Slotine, ICAR 1991;
    Chiaverini, IEEE T. Robotics and Automation 13, 1997; Orsino 2017 (the recursion).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import cholesky, copy_into, row_norm_squared, solve_lower
from ukctrl.core.algebra.sparse_products import matmul
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled


class LevelTable(NamedTuple):
    """How ``k`` levels of ``m`` rows, highest priority first, are served."""

    ends: Indices
    """One past the last row of every level, shape ``(k,)``."""
    scale: Vector
    """How long a row is that counts as one, shape ``(m,)``: a level comes as close as it can in
    rows divided by it."""
    near: Vector
    """Of each level, the singular value at which damping begins, shape ``(k,)``."""
    damping: float
    """Damping at a singularity, as a fraction of ``near``."""
    rtol: float
    """A singular value below this fraction of a level's longest row is none."""


class LevelReport(NamedTuple):
    """What came of the levels, each of shape ``(k,)``."""

    sigma: Vector
    """The smallest singular value, zero where rows depend on each other or on higher levels."""
    bound: Vector
    """A bound of the miss ``|H u - d|``, of rows divided by their scale."""


@compiled
def damping_error(sigma: float, near: float, damping: float) -> float:
    """Return the share of a demand that damping misses in the direction of a singular value.

    Args:
        sigma: The singular value.
        near: Where damping begins; 0: nowhere, and a singular value of zero misses all.
        damping: Damping at the singularity, as a fraction of ``near``.
    """
    if sigma >= near:
        return 0.0 if sigma > 0.0 else 1.0
    fade = damping * near * (1.0 - (sigma / near) ** 2)
    return fade * fade / (sigma * sigma + fade * fade)


@allocating
def metric_root_inverse(R: Matrix, S: Matrix) -> bool:
    """Write a ``S`` with ``S S' = R^-1``; an empty ``R`` is the identity.

    Returns whether ``R`` is positive definite.
    """
    nu = S.shape[0]
    copy_into(np.eye(nu), S)
    if R.shape[0] == 0:
        return True
    L = np.empty((nu, nu))
    if cholesky(R, L) > 0:
        return False
    for i in range(nu):  # row i of S is column i of the inverse of L
        solve_lower(L, S[i])
    return True


@allocating
def row_norms_in_metric(H: Matrix, S: Matrix, lengths: Vector) -> None:
    """Write how much each row of ``H`` feels a unit of input, ``|H_i S|``."""
    X = matmul(H, S)
    for i in range(H.shape[0]):
        lengths[i] = np.sqrt(row_norm_squared(X, i))


@allocating
def hierarchical_input(
    H: Matrix,
    d: Vector,
    levels: LevelTable,
    S: Matrix,
    u: Vector,
    report: LevelReport,
) -> None:
    """Overwrite the input ``u0`` in ``u`` by the one that serves ``H u = d`` level by level.

    Args:
        H: Rows of all levels, highest priority first, shape ``(m, nu)``.
        d: Demand on them, shape ``(m,)``.
        levels: How they are served.
        S: Freedoms, ``S S' = R^-1``, shape ``(nu, nu)``.
        u: Null-space input; receives the input, shape ``(nu,)``.
        report: Receives what comes of it.
    """
    (ends, scale, near, damping, rtol), (sigma, bound) = levels, report
    free = S.copy()
    first = 0
    for level in range(ends.shape[0]):
        last = ends[level]
        m, k = last - first, free.shape[1]
        rows = np.empty((m, H.shape[1]))
        missing = np.empty(m)
        for i in range(m):
            total = d[first + i]
            for c in range(H.shape[1]):
                total -= H[first + i, c] * u[c]
                rows[i, c] = H[first + i, c] / scale[first + i]
            missing[i] = total / scale[first + i]
        size = np.sqrt(np.sum(missing * missing))
        lengths = np.empty(m)
        row_norms_in_metric(rows, S, lengths)
        first = last
        sigma[level], bound[level] = 0.0, size
        if k == 0 or m == 0:
            continue
        P, values, Qt = svd(matmul(rows, free))
        # lengths before higher levels took their directions: what is left may be rounding
        threshold = rtol * np.max(lengths)
        rank = 0
        step = np.zeros(k)
        for i in range(values.shape[0]):
            # NaN ends it too
            if not values[i] > threshold:
                break
            rank += 1
            share = damping_error(values[i], near[level], damping)
            along = 0.0
            for j in range(m):
                along += P[j, i] * missing[j]
            along *= (1.0 - share) / values[i]
            for j in range(k):
                step[j] += along * Qt[i, j]
        if rank == m:
            sigma[level] = values[rank - 1]
            bound[level] = size * damping_error(values[rank - 1], near[level], damping)
        for c in range(u.shape[0]):
            for j in range(k):
                u[c] += free[c, j] * step[j]
        if rank > 0:
            # damped directions are spent as well: lower levels must not use them up
            free = matmul(free, Qt[rank:].T.copy())
