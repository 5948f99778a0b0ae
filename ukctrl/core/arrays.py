"""Names of array types, for annotations. The shape of each array stands in its docstring."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers, of any shape."""
Vector = NDArray[np.float64]
"""Real numbers along one axis."""
Matrix = NDArray[np.float64]
"""Real numbers along two axes."""
Complex = NDArray[np.complex128]
"""Complex numbers, of any shape."""
Indices = NDArray[np.intp]
"""Whole numbers, such as places in another array."""
Flags = NDArray[np.bool_]
"""Whether something holds, entry by entry."""
MIN_MAPPED_BYTES = 2**22
"""Bytes of a matrix that is worth asking the system for its pages [B]."""


def lazy_zeros(n: int, m: int) -> Matrix:
    """Return zeros, shape ``(n, m)``; of many, memory is taken only where something is written.

    NumPy asks for pages so large that a diagonal would take all of them.
    """
    size = 8 * n * m
    if size < MIN_MAPPED_BYTES:
        return np.zeros((n, m))
    pages = mmap.mmap(-1, size)
    with contextlib.suppress(AttributeError, OSError):  # not every system has such pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype=np.float64).reshape(n, m)
