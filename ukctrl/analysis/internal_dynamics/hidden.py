r"""What outputs leave unseen: the zero dynamics of a linear system, of any relative degree.

For $\dot x = A x + B u$, $y = C x$, the states from which some input keeps $y = 0$ for ever form a
subspace $V^*$, the largest with $A V^* \subseteq V^* + \operatorname{im} B$ in $\ker C$. Inside it,
$R^*$ is what inputs that leave $y$ alone can reach. The motion along $R^*$ is any that one likes;
on $V^* / R^*$ it is that of the invariant zeros, whatever the input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.analysis.internal_dynamics.modes import scale
from ukctrl.core.arrays import Matrix

RANK_RTOL = 1e-8
"""A singular value below this fraction of the system's counts as zero."""


class Unseen(NamedTuple):
    """The states that the outputs do not see, under a suitable input."""

    V: Matrix
    """Basis of the unseen states, shape ``(n, k)``, those that inputs reach first."""
    free: int
    """How many of them inputs reach without being seen: the dimension of ``R*``."""
    A: Matrix
    """Motion along the others, whatever the input, shape ``(k - free, k - free)``."""


def unseen(A: Matrix, B: Matrix, C: Matrix, positions: int) -> Unseen:
    r"""Return the unseen states of a system.

    $V_0 = \ker C$, $V_{k+1} = V_k \cap A^{-1}(V_k + \operatorname{im} B)$ ends at $V^*$ after at
    most $n$ steps; rates are scaled first, so that the unit of time decides nothing.

    Args:
        A: Shape ``(n, n)``, positions first.
        B: Shape ``(n, m)``.
        C: Shape ``(p, n)``.
        positions: How many of the states are positions.

    References:
        Wonham, "Linear Multivariable Control", 3rd ed., 1985, sections 4.3 and 5.5.
    """
    from scipy.linalg import orth

    size = scale(A, positions)
    scaled = A * size / size[:, None]
    small = RANK_RTOL * max(float(np.linalg.norm(scaled, 2)) if len(A) else 0.0, 1e-300)
    inputs = orth(_of_unit_length((B / size[:, None]).T).T, rcond=RANK_RTOL)
    V = _kernel(_of_unit_length(C * size), RANK_RTOL)
    while V.shape[1]:
        allowed = orth(np.hstack([V, inputs]), rcond=RANK_RTOL)
        moved = scaled @ V
        invariant = _kernel(moved - allowed @ (allowed.T @ moved), small)
        if invariant.shape[1] == V.shape[1]:
            break
        V = V @ invariant
    moved, leaving = scaled @ V, inputs - V @ (V.T @ inputs)
    u = -np.linalg.lstsq(leaving, moved - V @ (V.T @ moved), rcond=RANK_RTOL)[0]
    inside = V.T @ (moved + inputs @ u)
    reached = _reachable(inside, V.T @ inputs @ _kernel(leaving, RANK_RTOL), small)
    others = _kernel(reached.T, RANK_RTOL)
    basis = size[:, None] * (V @ np.hstack([reached, others]))
    return Unseen(basis, reached.shape[1], others.T @ inside @ others)


def _of_unit_length(rows: Matrix) -> Matrix:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = float(length.max(initial=0.0))
    return np.where(length > RANK_RTOL * longest, rows / np.where(length > 0.0, length, 1.0), 0.0)


def _kernel(rows: Matrix, small: float) -> Matrix:
    """Return an orthonormal basis of what rows take to less than ``small``."""
    if not rows.size:
        return np.eye(rows.shape[1])
    _, sigma, Vt = np.linalg.svd(rows)
    kernel: Matrix = Vt[int(np.count_nonzero(sigma > small)) :].T
    return kernel


def _reachable(A: Matrix, B: Matrix, small: float) -> Matrix:
    """Return an orthonormal basis of the states that inputs reach."""
    U, sigma, _ = np.linalg.svd(B, full_matrices=False)
    space = U[:, sigma > RANK_RTOL]  # the inputs are of unit length
    while True:
        moved = A @ space
        U, sigma, _ = np.linalg.svd(moved - space @ (space.T @ moved), full_matrices=False)
        more = U[:, sigma > small]
        if not more.shape[1]:
            return space
        space = np.hstack([space, more])
