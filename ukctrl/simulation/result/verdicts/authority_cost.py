"""Cost of weak authority: inputs beside the motors' limits, or beside the weight they drive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import first_largest


def authority_cost(
    names: Sequence[str], units: Sequence[str], inputs: Matrix, limits: Vector, weights: Vector
) -> str:
    """Return the input that is largest beside its motor's limit, or what its motor drives.

    Args:
        names: Of the motors.
        units: Of their inputs.
        inputs: Shape ``(nu,)``, or over time ``(k, nu)``; of each motor the largest counts.
        limits: How large they may be, shape ``(nu,)``; infinite without a limit.
        weights: Weight of what each motor drives, shape ``(nu,)``.
    """
    u = np.array([column[first_largest(np.abs(column))] for column in np.atleast_2d(inputs).T])
    limited = np.isfinite(limits) & (limits > 0.0)
    measure = np.where(limited, limits, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(measure > 0.0, np.abs(u) / measure, 0.0)
    if not np.isfinite(share).all() or not share.any():
        return ""
    k = first_largest(share)
    of = f"its limit of {limits[k]:.3g}" if limited[k] else "the weight of what it drives"
    return f"the row takes {u[k]:.3g} {units[k]} of motor '{names[k]}', {share[k]:.2g} times {of}"
