"""Names of array types, for annotations. The shape of each array stands in its docstring."""

from __future__ import annotations

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
