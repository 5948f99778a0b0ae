"""Velocities that shape friction, which no equation is linear in, one joint after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_identification.base_parameters import base_parameters
from ukctrl_identification.passive_motion import FreeMotion
from ukctrl_identification.regression import Regression

SCALES = 0.005 * 2.0 ** np.arange(7)
"""Velocity scales that are tried [rad/s or m/s]."""
STRIBECK = 0.02 * 2.0 ** np.arange(5)
"""Stribeck velocities that are tried [rad/s or m/s]."""
MAX_SAMPLES = 40_000
"""Of longer logs only so many are looked at, the first of each stretch."""


def friction_scales(
    regression_of: Callable[[Vector, Vector | None], Regression],
    motions: Sequence[FreeMotion],
    *,
    stribeck: bool = False,
) -> tuple[Vector, Vector | None]:
    """Return velocity scale and Stribeck velocity of each joint's friction, shape ``(nv,)``.

    Those with which a joint's own equation leaves least; its equation holds alone, so that one
    joint's choice does not change another's.

    Args:
        regression_of: Makes the columns of velocity scales and Stribeck velocities.
        motions: The samples.
        stribeck: Whether breakaway levels are to be fitted.
    """
    total, nv = sum(len(one.motion.q) for one in motions), motions[0].motion.v.shape[1]
    share = min(1.0, MAX_SAMPLES / total)
    some = [one.part(slice(None, int(share * len(one.motion.q)))) for one in motions]
    scales, slow = np.full(nv, SCALES[1]), np.full(nv, STRIBECK[-1])
    least = np.full(nv, np.inf)
    pairs: Iterable[tuple[float, float | None]] = ((scale, None) for scale in SCALES)
    if stribeck:
        # below twice the scale the two could not be told from each other
        pairs = ((e, s) for e in SCALES for s in STRIBECK if s >= 2.0 * e)
    for scale, velocity in pairs:
        of_joints = None if velocity is None else np.full(nv, velocity)
        regression = regression_of(np.full(nv, scale), of_joints)
        for one in regression.triangles(some):
            symbols = [regression.parameters[k].symbol for k in one.columns]
            remainder = _alone(one.R, symbols)
            if remainder < least[one.row]:
                least[one.row], scales[one.row] = remainder, scale
                if velocity is not None:
                    slow[one.row] = velocity
    return scales, slow if stribeck else None


def _alone(R: Matrix, symbols: Sequence[str]) -> float:
    """Return what an equation leaves when its parameters are fitted to it alone.

    Where a current stands for the effort, what is known may be zero, and so would be all else: then
    the current is what is fitted.
    """
    if "motor_constant" in symbols:
        last = symbols.index("motor_constant")
        R = R[:, [*(k for k in range(R.shape[1]) if k != last), last]]
    X, y = R[:, :-1], R[:, -1]
    columns = base_parameters(X).independent
    values = np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
    e = X[:, columns] @ values - y
    return float(e @ e)
