"""The one equation for robots with many freedoms: as `kernels`, by LAPACK and by structure.

The compiled loops of `ukctrl.core.algebra.kernels` are made for matrices of a few rows. From
`ukctrl.core.algebra.by_size.LARGE` freedoms on, blocked factorisations are faster; and the matrices
of many separate bodies are almost empty. Same arguments, same answers to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.constrained import NOW
from ukctrl.core.algebra.factorisation import unit_rows
from ukctrl.core.algebra.grip import MANY, Lengths, drop_lost
from ukctrl.core.algebra.least_input import careful_input, motor_stretch, stands
from ukctrl.core.algebra.row_space import CLEAR, GRADUAL, NOTHING, drop_taken_up, gradual
from ukctrl.core.arrays import Matrix, Vector

VALUES_SIZE = 128
"""From so many freedoms on, LAPACK's singular values cost less than the compiled Gram-Schmidt."""
ITERATIONS = 6
"""Steps of inverse iteration for the smallest singular value."""
SPARSE = 0.1
"""A matrix with a smaller share of entries other than zero is multiplied as a sparse one."""


def plain_answer(
    M: Matrix, nle: Vector, f: Vector, B: Matrix, L: Matrix, a_free: Vector, G: Matrix
) -> int:
    """Write ``L``, ``a_free`` and ``G``; see `ukctrl.core.algebra.kernels.plain_answer`."""
    diagonal = M.diagonal()
    bad = np.flatnonzero(~(diagonal > 0.0))
    if bad.size:
        return -1 - int(bad[0])
    if np.count_nonzero(M) == len(diagonal):
        L[:] = 0.0
        np.fill_diagonal(L, np.sqrt(diagonal))
        a_free[:] = (f - nle) / diagonal
        np.divide(B, diagonal[:, None], out=G)
        return 0
    factor, failed = linalg.lapack.dpotrf(M, lower=1, clean=1)
    if failed:
        return -int(failed)
    L[:] = factor
    answer, _ = linalg.lapack.dpotrs(factor, np.column_stack((f - nle, B)), lower=1)
    a_free[:] = answer[:, 0]
    G[:] = answer[:, 1:]
    return 0


def ranked_answer(*given: Any) -> int:
    """Write the answer and its rank; see `ukctrl.core.algebra.constrained.ranked_answer`."""
    *arguments, ranks = given
    ranks[NOW] = rank = passive_answer(*arguments)
    return rank


def passive_answer(
    M: Matrix,
    nle: Vector,
    f: Vector,
    B: Matrix,
    A_p: Matrix,
    b_p: Matrix,
    rtol: float,
    *out: NDArray[np.float64],
) -> int:
    """Write ``L``, ``a_free``, ``G``, ``a_0`` and ``margins``; see `kernels.passive_answer`.

    Rows that are independent and far from losing rank are solved by the Cholesky factor of their
    Gram matrix, which is sparse for a chain of bodies. Where they are not, singular values
    decide.
    """
    L, a_free, G, a_0, margins = out
    diagonal = M.diagonal()
    separate = bool((diagonal > 0.0).all()) and np.count_nonzero(M) == len(diagonal)
    if separate:
        L[:] = 0.0
        np.fill_diagonal(L, np.sqrt(diagonal))
    else:
        factor, failed = linalg.lapack.dpotrf(M, lower=1, clean=1)
        if failed:
            return -int(failed)
        L[:] = factor

    def lower(columns: Matrix, transposed: bool = False) -> Matrix:
        if separate:
            return np.asarray(columns / np.sqrt(diagonal)[:, None])
        return np.asarray(linalg.blas.dtrsm(1.0, L, columns, lower=1, trans_a=int(transposed)))

    rows = lower(A_p.T).T
    norm = np.linalg.norm(rows, axis=1)
    finite = bool(np.isfinite(norm).all())  # or else LAPACK might not return
    counts = norm > NOTHING * norm.max(initial=0.0)  # the others hold by themselves
    rows = rows[counts] / norm[counts, None]
    demanded = (b_p[:, counts] / norm[counts]).T
    free = lower(np.column_stack((f - nle, np.zeros(len(M)), B)))
    gram, kept = None, 0.0
    if finite and len(rows):
        S = product(rows, rows.T)
        gram, failed = linalg.lapack.dpotrf(S, lower=1)
        kept = 0.0 if failed else _smallest_singular_value(gram)
    if kept >= CLEAR * GRADUAL * rtol:
        demand = -(rows @ free)
        demand[:, :2] += demanded
        push = linalg.lapack.dpotrs(gram, demand, lower=1)[0]
        push += linalg.lapack.dpotrs(gram, demand - S @ push, lower=1)[0]  # undoes the squaring
        moved, rank = free + rows.T @ push, len(rows)
        margins[:] = kept, 0.0
    elif finite and len(M) >= VALUES_SIZE:
        moved, rank = _by_singular_values(rows, demanded, free, rtol, margins)
    else:
        return kernels.passive_answer(M, nle, f, B, A_p, b_p, rtol, *out)
    drop_taken_up(free[:, 2:], moved[:, 2:])
    answer = lower(moved, transposed=True)
    a_0[:] = answer[:, 0]
    a_free[:] = answer[:, 0] + answer[:, 1]
    G[:] = answer[:, 2:]
    return rank


def _by_singular_values(
    rows: Matrix, demanded: Matrix, free: Matrix, rtol: float, margins: Vector
) -> tuple[Matrix, int]:
    """Return ``free`` moved onto the rows, and how many directions those constrain.

    As `row_space` does near its border; the first two columns have demands.
    """
    U, sigma, Vt = linalg.svd(rows, full_matrices=False, check_finite=False)
    weight = np.array([gradual(each, rtol) for each in sigma])
    rank = int(np.count_nonzero(weight))
    margins[:] = sigma[rank - 1] if rank else 0.0, sigma[rank] if rank < len(sigma) else 0.0
    Q, w = Vt[:rank], weight[:rank, None]
    push = -w * (Q @ free)
    push[:, :2] += w * (U[:, :rank].T @ demanded) / sigma[:rank, None]
    return free + Q.T @ push, rank


def _smallest_singular_value(gram: Matrix) -> float:
    """Return the smallest singular value of rows from the Cholesky factor of their Gram matrix.

    From above, within some percent, by inverse iteration. The start leans on every direction:
    it is no smooth function of the index, to which the slowest modes of a chain may be orthogonal.
    """
    x = np.sin(np.arange(1, len(gram) + 1) ** 2)
    length = 1.0
    for _ in range(ITERATIONS):
        x = linalg.lapack.dpotrs(gram, x / np.linalg.norm(x), lower=1)[0]
        length = float(np.linalg.norm(x))
    return 1.0 / np.sqrt(length) if length > 0.0 else 0.0


def servo_input(
    A: Matrix,
    b: Vector,
    a_free: Vector,
    G: Matrix,
    L: Matrix,
    B: Matrix,
    R: Matrix,
    u0: Vector,
    rtol: float,
    *out: Vector,
) -> int:
    """Write ``u`` and ``miss``; see `ukctrl.core.algebra.least_input.servo_input`."""
    u, miss = out
    H = product(A, G)
    length = lengths(L, A, B)
    drop_lost(H, length, rtol)
    d = b - A @ a_free - H @ u0
    weighted, root = H, None
    if R.size:
        root, failed = linalg.lapack.dpotrf(R, lower=1, clean=1)
        if failed:
            return -1
        weighted = linalg.solve_triangular(root, H.T, lower=True, check_finite=False).T
    if rows_are_separate(weighted):
        square = np.einsum("ij,ij->i", weighted, weighted)
        held = square > 0.0
        scale = np.divide(d, square, out=np.zeros(len(d)), where=held)
        step, rank, sure = weighted.T @ scale, int(held.sum()), True
    else:
        rows, right = np.ascontiguousarray(weighted).copy(), d.copy()
        unit_rows(rows, right)
        Q, T, order, rank = _factor(rows, rtol)
        step = _least_norm(Q, T, right[order[:rank]])
        size = np.linalg.norm(weighted[order[:rank]], axis=1) / length.rows[order[:rank]]
        stretch = motor_stretch(length.motors, np.zeros((0, 0)) if root is None else root)
        left = np.abs(T.diagonal()) * size
        sure = len(H) > MANY or (rank == len(H) and bool((left > rtol * stretch).all()))
    if root is not None:
        step = linalg.solve_triangular(root, step, lower=True, trans=1, check_finite=False)
    miss[:] = H @ step - d
    u[:] = u0 + step
    if sure or stands(L, A, G, length, rtol, d, order[:rank].astype(np.int64)):
        return rank
    return careful_input(L, A, G, length, R, rtol, H, d, u0, u, miss)


def lengths(L: Matrix, A: Matrix, B: Matrix) -> Lengths:
    """Return the lengths that grip is compared with; see `ukctrl.core.algebra.grip.lengths`."""
    scale = L.diagonal()[:, None]
    both = np.column_stack((A.T, B))
    if np.count_nonzero(L) == len(L):
        both = both / scale
    else:
        both = linalg.blas.dtrsm(1.0, L, both, lower=1)
    size = np.linalg.norm(both, axis=0)
    return Lengths(size[: len(A)], size[len(A) :])


def product(A: Matrix, G: Matrix) -> Matrix:
    """Return ``A G``, by a sparse product where ``A`` is almost empty."""
    if np.count_nonzero(A) <= SPARSE * A.size:
        result: Matrix = sparse.csr_array(A) @ G
        return np.ascontiguousarray(result)
    return np.asarray(A @ G)


def rows_are_separate(H: Matrix) -> bool:
    """Return whether no two rows share a column; they are then orthogonal."""
    return bool((np.count_nonzero(H, axis=0) <= 1).all())


def _factor(rows: Matrix, rtol: float) -> tuple[Matrix, Matrix, Vector, int]:
    """Factor ``rows[order].T = Q R`` with the largest remaining row first; cut at the rank."""
    Q, R, order = linalg.qr(rows.T, mode="economic", pivoting=True, check_finite=False)
    left = np.abs(R.diagonal())
    small = np.flatnonzero(~(left > rtol * left.max(initial=0.0)))
    rank = int(small[0]) if small.size else len(left)
    return Q[:, :rank], R[:rank, :rank], order, rank


def _least_norm(Q: Matrix, R: Matrix, right: Vector) -> Vector:
    x: Vector = Q @ linalg.solve_triangular(R, right, trans=1, check_finite=False)
    return x
