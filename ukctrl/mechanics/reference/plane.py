"""Right-handed axes in a plane given by its normal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError

Triple = tuple[float, float, float]

PARALLEL = 1e-6
"""A first axis this close to the normal (sine of the angle) has no direction in the plane."""


def plane_axes(normal: Triple, first_axis: Triple | None) -> NDArray[np.float64]:
    """Return the axes (e1, e2, n) of a plane as rows, orthonormal and right-handed.

    e1 is ``first_axis`` projected into the plane. Without one, it is the world axis that follows,
    in the order x, y, z, x, the one nearest to the normal, projected; so for the normals z, x and y
    the pair (e1, e2) is (x, y), (y, z) and (z, x).

    Args:
        normal: Normal of the plane, not zero.
        first_axis: Direction of e1, not zero and not along the normal.

    Raises:
        InputError: The first axis is along the normal.
    """
    n = np.array(normal) / np.linalg.norm(normal)
    if first_axis is None:
        follower = (int(np.argmax(np.abs(n))) + 1) % 3
        toward = np.eye(3)[follower]
    else:
        toward = np.array(first_axis) / np.linalg.norm(first_axis)
    e1 = toward - (toward @ n) * n
    length = np.linalg.norm(e1)
    if length < PARALLEL:
        raise InputError("first_axis must not be along the normal.")
    e1 = e1 / length
    return np.array([e1, np.cross(n, e1), n]) + 0.0  # + 0.0 turns -0.0 into 0.0
