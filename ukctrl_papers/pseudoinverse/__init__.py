r"""The Moore-Penrose pseudoinverse, by eight methods behind one signature.

$A^+$ is the only matrix $X$ with

$$ A X A = A, \quad X A X = X, \quad (A X)^\top = A X, \quad (X A)^\top = X A , $$

and `penrose_residuals` says how far any $X$ is from that. `pinv` computes it; `METHODS` says
how. They differ in cost and in what they can resolve, not in what they mean: every method drops
a direction of which at most ``rtol`` times the largest is left, and reports both sides of the gap.

In order: ``lapack_methods`` and ``recursive``; `pinv` itself is here.

Sources: de Falco, Pennestri & Vita 2009 for the choice of methods, corrected where
its formulas are misprinted; Golub & Van Loan 1996; Varga 2001; Udwadia & Kalaba 1999 for
Greville's recursion; Courrieu 2005 for Cholesky; Rockafellar 1976 for the proximal iteration.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.solution_checks import expect_shape, matrix
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError, unknown_name
from ukctrl_papers.pseudoinverse import lapack_methods, recursive
from ukctrl_papers.pseudoinverse.lapack_methods import EPS, RawPseudoinverse
from ukctrl_papers.pseudoinverse.lapack_methods import UnresolvedRank as UnresolvedRank

MethodName = Literal[
    "svd",
    "varga",
    "greville",
    "least_squares_householder",
    "least_squares_gram_schmidt",
    "complete_orthogonal",
    "cholesky",
    "proximal",
]
"""The names of the methods."""


@dc.dataclass(frozen=True)
class Method:
    r"""How a pseudoinverse is computed, and how small a singular value it can tell from zero.

    With $\epsilon_A = 4 \max(m, n)\, \epsilon$ the powers below give thresholds $\epsilon_A^p$:
    $10^{-14}$ at $p = 1$, $10^{-7}$ at $1/2$, $2 \cdot 10^{-5}$ at $1/3$ for a 12 by 12 matrix.
    """

    compute: Callable[[Matrix, float], RawPseudoinverse]
    """Of a C-contiguous matrix that is neither empty nor zero, and ``rtol``."""
    default: float
    """Power for the threshold that is used where none is given."""
    limit: float
    """Power for the least threshold that makes sense."""

    def default_rtol(self, shape: tuple[int, int]) -> float:
        """Return the threshold for matrices of a shape where none is given."""
        return float((4.0 * max(*shape, 1) * EPS) ** self.default)

    def least_rtol(self, shape: tuple[int, int]) -> float:
        """Return the least threshold for matrices of a shape."""
        return float((4.0 * max(*shape, 1) * EPS) ** self.limit)


METHODS: Mapping[MethodName, Method] = MappingProxyType(
    {
        "svd": Method(lapack_methods.svd, 1.0, 1.0),
        "varga": Method(lapack_methods.varga, 1.0, 1.0),
        "greville": Method(recursive.greville, 1 / 2, 1.0),
        "least_squares_householder": Method(lapack_methods.householder, 1.0, 1.0),
        "least_squares_gram_schmidt": Method(recursive.gram_schmidt, 1.0, 1.0),
        "complete_orthogonal": Method(lapack_methods.complete_orthogonal, 1.0, 1.0),
        "cholesky": Method(lapack_methods.cholesky, 1 / 2, 1 / 2),
        "proximal": Method(lapack_methods.proximal, 1 / 3, 1 / 3),
    }
)
"""Every method by its name."""


class Pseudoinverse(NamedTuple):
    """A pseudoinverse, and the gap at which its rank was cut."""

    matrix: Matrix
    """``A^+``, shape ``(n, m)``."""
    rank: int
    """Directions that count."""
    smallest_kept: float
    """What is left of the last direction that counts, relative to the largest; 0 at rank 0."""
    largest_dropped: float
    """The same of the largest that does not count; 0 at full rank, NaN where the method does
    not learn it (``proximal``)."""
    rtol: float
    """The threshold that stood between the two."""
    iterations: int
    """Steps of the iteration (``proximal``); 1 for the others."""


def pinv(A: ArrayLike, method: MethodName = "svd", rtol: float | None = None) -> Pseudoinverse:
    r"""Return the Moore-Penrose pseudoinverse $A^+$.

    A direction counts while what is left of it exceeds ``rtol`` times the largest. That is a
    singular value with ``svd``; a diagonal entry of the column-pivoted triangle with ``varga`` and
    ``complete_orthogonal``; an estimated singular value with ``least_squares_householder``; the
    remainder of a row, after those that count, with ``greville`` and
    ``least_squares_gram_schmidt``; the root of a pivot with ``cholesky``. These stand-ins lie
    within a small factor of the singular values, so a threshold in a gap of theirs means
    the same rank to all. ``proximal`` has no cut: it recovers what is well above ``rtol``,
    suppresses what is far below, and refuses what is near.

    The relative error of the answer grows as $\epsilon\, \kappa$ with the orthogonal methods and
    as $\epsilon\, \kappa^2$ with ``cholesky``, where $\kappa$ is the ratio of the largest
    singular value to the smallest that counts. So does the Penrose residual of ``greville`` and
    ``proximal``.

    Args:
        A: Any matrix, shape ``(m, n)``; empty and zero ones have a zero pseudoinverse.
        method: A name of `METHODS`.
        rtol: Rank threshold, relative to the largest direction; absent: what the method can tell,
            `Method.default_rtol`.

    Raises:
        ShapeError: ``A`` is no matrix.
        InputError: ``A`` is not finite, or so small that its pseudoinverse is not; or ``rtol`` is
            outside what the method can tell.
        UnknownName: No method has this name.
        UnresolvedRank: A direction lies so near the threshold that the method cannot tell its side
            (``greville``, ``proximal``).

    References:
        de Falco, Pennestri & Vita 2009, eqs (12) to (22).
    """
    A_ = matrix("A", A)
    if method not in METHODS:
        raise unknown_name("pseudoinverse method", method, METHODS)
    entry = METHODS[method]
    if rtol is None:
        rtol = entry.default_rtol(A_.shape)
    elif not entry.least_rtol(A_.shape) <= rtol < 1.0:
        raise InputError(
            f"rtol of '{method}' must be at least {entry.least_rtol(A_.shape):.1e} for a matrix of "
            f"shape {A_.shape}, and below 1; got {rtol}. A smaller one drowns in rounding"
            + ("." if entry.limit == 1.0 else "; 'svd' can tell more.")
        )
    top = float(np.abs(A_).max(initial=0.0))
    if top == 0.0:
        return Pseudoinverse(np.zeros(A_.shape[::-1]), 0, 0.0, 0.0, rtol, 1)
    exponent = math.frexp(top)[1]  # a power of two scales without rounding
    inverse = entry.compute(np.ldexp(A_, -exponent), rtol)
    with np.errstate(over="ignore"):
        X = np.ldexp(np.ascontiguousarray(inverse.X), -exponent)
    if not np.isfinite(X).all():
        raise InputError(
            f"A must have a finite pseudoinverse; its largest entry is {top:.1e}. Scale it up."
        )
    return Pseudoinverse(
        X, inverse.rank, inverse.smallest_kept, inverse.largest_dropped, rtol, inverse.iterations
    )


class PenroseResiduals(NamedTuple):
    """How far ``X`` is from the pseudoinverse of ``A``: four numbers that are zero for it alone.

    All in the Frobenius norm.
    """

    reproduces: float
    """``|A X A - A| / |A|``."""
    reflexive: float
    """``|X A X - X| / |X|``."""
    left: float
    """``|(A X)' - A X|``; ``A X`` is a projector, of norm 1 in each direction."""
    right: float
    """``|(X A)' - X A|``."""

    @property
    def worst(self) -> float:
        """Return the largest of the four."""
        return max(self)


def penrose_residuals(A: ArrayLike, X: ArrayLike) -> PenroseResiduals:
    """Return by how much ``X`` misses each of the four conditions (1a) to (1d).

    Args:
        A: Any matrix, shape ``(m, n)``.
        X: What is claimed to be its pseudoinverse, shape ``(n, m)``.

    Raises:
        ShapeError: The shapes do not match.
        InputError: Some entry is not finite.
    """
    A_, X_ = matrix("A", A), matrix("X", X)
    expect_shape("X", X_.shape, A_.shape[::-1])
    scale, unscale = (math.frexp(float(np.abs(Y).max(initial=0.0)))[1] for Y in (A_, X_))
    A_, X_ = np.ldexp(A_, -scale), np.ldexp(X_, -unscale)
    AX, XA = (np.ldexp(Y, scale + unscale) for Y in (A_ @ X_, X_ @ A_))
    return PenroseResiduals(
        _relative(AX @ A_ - A_, A_),
        _relative(XA @ X_ - X_, X_),
        float(np.linalg.norm(AX.T - AX)),
        float(np.linalg.norm(XA.T - XA)),
    )


def _relative(miss: Matrix, whole: Matrix) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(miss)) / size if size else float(np.linalg.norm(miss))
