"""What a linear system without input does: settle, swing, stay, drift or run away."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import first_largest, first_smallest, max_abs, tie_ranks

Poles = NDArray[np.complex128]
Kind = Literal["none", "settles", "stays", "swings", "drifts", "runs_away"]
"""From the best to the worst; ``none`` where there is nothing that could move."""

ZERO_RTOL = 1e-7
"""A singular value below this fraction of the system's norm counts as zero."""
MIN_RATE = 1.0
"""A system slower than this is measured by it [rad/s]: what changes within months is rounding."""
DAMPING_RTOL = 1e-5
"""A pole whose real part is smaller than this fraction of the quickest pole, or of its own size,
neither decays nor grows."""


class Modes(NamedTuple):
    """The eigenvalues of a system, and the mode that decides what becomes of it."""

    kind: Kind
    """What a small push leads to."""
    poles: Poles
    """Eigenvalues, shape ``(n,)`` [rad/s], from the right of the plane to the left; those at 0
    are exactly that."""
    at_zero: int
    """How many poles are at 0."""
    chain: int
    """The longest chain of poles at 0: 1 stays where it is pushed, 2 goes on at constant speed,
    more of them ever faster."""
    pole: complex
    """The pole that decides; of a pair, the one with positive imaginary part; NaN without any."""
    mode: Poles
    """How the states move in its mode, complex amplitudes, shape ``(n, k)``; in all ``k`` of them
    where several have the same pole, since then no single one is determined."""


def state_scale(A: Matrix, positions: int) -> Vector:
    r"""Return the sizes of states that are alike: positions 1, rates $w$.

    $w = \max(1, \lVert A_{vq}\rVert^{1/2}, \lVert A_{vv}\rVert)$ is about the quickest
    pole, so that tolerances are fractions of it whatever the unit of time.

    Args:
        A: Shape ``(n, n)``, positions first.
        positions: How many of the states are positions.
    """
    size: Vector = np.ones(len(A))
    if 0 < positions < len(A):
        by_q, by_v = A[positions:, :positions], A[positions:, positions:]
        w = max(1.0, float(np.linalg.norm(by_q, 2)) ** 0.5, float(np.linalg.norm(by_v, 2)))
        size[positions:] = w
    return size


def modes(A: Matrix, positions: int) -> Modes:
    r"""Return what $\dot x = A x$ does after a small push.

    Rounding scatters a $k$-fold pole at 0 by the $k$-th root of its size. Such poles are therefore
    counted by ranks: what $A$ takes to zero is taken out, then what the rest takes there, and so
    on; the number of rounds is the length of the longest chain.

    Args:
        A: Shape ``(n, n)``, positions first.
        positions: How many of the states are positions; the others are rates.
    """
    n = len(A)
    if not n:
        return Modes("none", np.zeros(0, complex), 0, 0, complex(np.nan), np.zeros((0, 1), complex))
    size = state_scale(A, positions)
    scaled: Matrix = A * size / size[:, None]
    remainder, basis, lengths = scaled, np.eye(n), []
    last = np.zeros((n, 0))
    small = ZERO_RTOL * max(float(np.linalg.norm(scaled, 2)), MIN_RATE)
    while len(remainder):
        _, sigma, Vt = np.linalg.svd(remainder)
        rank = int(np.count_nonzero(sigma > small))
        if rank == len(remainder):
            break
        last = basis @ Vt[rank:].T
        lengths.append(len(remainder) - rank)
        remainder, basis = Vt[:rank] @ remainder @ Vt[:rank].T, basis @ Vt[:rank].T
    at_zero, chain = sum(lengths), len(lengths)
    moving = np.linalg.eigvals(remainder).astype(np.complex128)
    poles = np.concatenate([moving, np.zeros(at_zero)])
    order = np.lexsort((-poles.imag, tie_ranks(-poles.real, ZERO_RTOL * max_abs(poles))))
    margin = DAMPING_RTOL * np.maximum(np.abs(moving), 1e-3 * max_abs(moving))
    growing, lasting = moving.real > margin, np.abs(moving.real) <= margin
    pole: complex = 0.0
    # The worst names the behaviour: growth, a chain at zero, an undamped pair, a zero.
    if growing.any():
        kind: Kind = "runs_away"
        decides = first_largest(moving.real)
    elif chain > 1:
        kind, decides = "drifts", -1
    elif lasting.any():
        kind, decides = "swings", first_smallest(np.where(lasting, np.abs(moving), np.inf))
    elif chain:
        kind, decides = "stays", -1
    else:
        kind, decides = "settles", first_largest(moving.real)
    if decides >= 0:
        pole = complex(moving[decides].real, abs(moving[decides].imag))
        _, sigma, Vh = np.linalg.svd(scaled - moving[decides] * np.eye(n))
        mode = size[:, None] * Vh[min(n - 1, int(np.sum(sigma > small))) :].conj().T
    else:
        # The last of a chain is what must be pushed; what then moves is where it leads.
        pushed = last
        for _ in range(chain - 1):
            pushed = scaled @ pushed
        mode = np.asarray(size[:, None] * pushed, dtype=np.complex128)
    return Modes(kind, poles[order], at_zero, chain, pole, mode)


def time_constant(pole: complex) -> float:
    """Return how long a mode takes to grow or shrink by ``e``; infinite on the axis [s]."""
    return float(np.inf) if pole.real == 0.0 else 1.0 / abs(pole.real)
