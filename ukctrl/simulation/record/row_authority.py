"""Input authority over the servo rows, for many samples at once."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Indices, Matrix, Vector

AUTHORITY_NAMES = ("rank", "sigma_min", "reach")


def row_authority(
    H: Matrix, d: Matrix, grips: Matrix, ranks: Indices, rank: RankPolicy
) -> dict[str, Vector]:
    """Return rank, smallest kept singular value and reach residual of every sample.

    Args:
        H: The servo rows' answer to the inputs, shape ``(n, m, nu)``; lost rows become zero.
        d: What the rows ask of them, shape ``(n, m)``.
        grips: How firmly the motors hold each row, shape ``(n, m)``.
        ranks: How many rows the motors hold, each beside the others, shape ``(n,)``.
        rank: When they have lost one.

    Returns:
        By the names of `AUTHORITY_NAMES`, shape ``(n,)``; nothing where there are no rows, or no
        finite ones.
    """
    n = len(H)
    if not H.size or not np.isfinite(H).all():
        return {}
    lost = grips <= rank.servo
    # what is left of a lost row is rounding, which would count as a singular value
    H[lost] = 0.0
    # full rank: all that is asked for is in reach, and singular values come without their vectors
    if (ranks == H.shape[1]).all():
        sigma_min = np.array(np.linalg.svd(H, compute_uv=False)[:, -1], dtype=np.float64)
        return {"rank": ranks.astype(np.float64), "sigma_min": sigma_min, "reach": np.zeros(n)}
    U, sigma, _ = np.linalg.svd(H, full_matrices=False)
    counts = np.arange(sigma.shape[1]) < ranks[:, None]
    along = np.einsum("kij,ki->kj", U, d) * counts
    residual = d - np.einsum("kij,kj->ki", U, along)
    # the rank is that of the grip of each row, and no threshold of these values (decision 0106)
    last = np.maximum(ranks - 1, 0)
    return {
        "rank": ranks.astype(np.float64),
        "sigma_min": np.where(ranks > 0, sigma[np.arange(n), last], 0.0),
        "reach": np.linalg.norm(residual, axis=1),
    }
