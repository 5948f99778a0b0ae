"""What becomes of deviations and their covariance over a time, compiled."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.sparse_products import matmul, matmul_transposed
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.robot.manifold_kernels import write_tangent_map


@compiled
def copy_block(X: Matrix, out: Matrix) -> None:
    """Write the leading block of a matrix."""
    for i in range(len(X)):
        for k in range(X.shape[1]):
            out[i, k] = X[i, k]


@compiled
def write_open_system(
    blocks: Indices, v: Vector, by_q: Matrix, by_v: Matrix, G: Matrix, A: Matrix, B: Matrix
) -> None:
    """Write the linear system of a robot without passive rows; the rest of ``B`` is zero."""
    n = len(v)
    for i in range(2 * n):
        for k in range(2 * n):
            A[i, k] = 0.0
    write_tangent_map(blocks, v, True, A)
    for i in range(n):
        for k in range(n):
            A[i, k] = -A[i, k]
            A[n + i, k], A[n + i, n + k] = by_q[i, k], by_v[i, k]
        A[i, n + i] = 1.0
        copy_into(G[i], B[n + i])


@allocating
def write_transition(
    A: Matrix,
    B: Matrix,
    through: Matrix,
    position_count: int,
    velocities: Indices,
    std: Vector,
    bias_walk: Vector,
    pushes: Indices,
    began: Vector,
    clock: Vector,
    F: Matrix,
    Q: Matrix,
) -> None:
    """Write a transition, see `Transition`, with biases and pushes behind the deviations.

    Biases stay but for their walk, and pushes are new.
    """
    n, nv, nu, m, time = len(A), len(through), B.shape[1], len(bias_walk), clock[0] - began[0]
    whole, pushed, once = len(F), np.zeros((n, nv + nu)), np.empty((n, n))
    for r in range(n):
        for c in range(nv if r >= position_count else 0):
            pushed[r, c] = through[velocities[r - position_count], c] * std[c]
        for c in range(nu):
            pushed[r, nv + c] = B[r, c] * std[nv + c]
    for i in range(whole):
        for k in range(whole):
            F[i, k] = Q[i, k] = 0.0
    copy_block(held_integral(A, time, once), F)
    # pushes are constant over a period, as a held input is
    spread = matmul(once, pushed)
    noise = np.zeros((whole, nv + nu + m))
    copy_block(spread, noise)
    for i in range(m):
        F[n + i, n + i], noise[n + i, nv + nu + i] = 1.0, np.sqrt(time) * bias_walk[i]
    for k in range(len(pushes)):
        noise[n + m + k, pushes[k]] = std[pushes[k]]
    copy_into(matmul_transposed(noise, noise), Q)


MAX_TAYLOR_NORM = 0.5
"""A matrix whose rows add up to more is halved first."""


@allocating
def held_integral(A: Matrix, time: float, once: Matrix) -> Matrix:
    r"""Write $\int_0^T e^{As}\,\mathrm ds$, and return $e^{AT}$.

    By the series of the integral over a short time, which is then doubled.
    """
    n, norm, halvings = len(A), 0.0, 0
    for i in range(n):
        total = 0.0
        for k in range(n):
            total += abs(A[i, k]) * time
        norm = max(norm, total)
    if not norm < np.inf:  # a series of what is no number would not end
        once[:] = np.nan
        return np.full((n, n), np.nan)
    while norm > MAX_TAYLOR_NORM:
        norm, halvings = 0.5 * norm, halvings + 1
    step, terms, size = time / 2.0**halvings, 1, 1.0
    while size > np.finfo(np.float64).eps * 1e-2:
        terms += 1
        size *= norm / terms
    for i in range(n):
        for k in range(n):
            once[i, k] = step if i == k else 0.0
    for term in range(terms, 1, -1):
        series = matmul(A, once)
        for i in range(n):
            for k in range(n):
                once[i, k] = series[i, k] * (step / term)
            once[i, i] += step
    grown = exponential(A, once)
    for _ in range(halvings):
        later = matmul(grown, once)
        for i in range(n):
            for c in range(n):
                once[i, c] += later[i, c]
        grown = exponential(A, once)
    return grown


@allocating
def exponential(A: Matrix, once: Matrix) -> Matrix:
    r"""Return $e^{AT} = 1 + A \int_0^T e^{As}\,\mathrm ds$."""
    grown = matmul(A, once)
    for i in range(len(A)):
        grown[i, i] += 1.0
    return grown
