"""Entries of a sparse matrix that is made of dense blocks."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector

Entries = tuple[Vector, Indices, Indices]
"""Values of a sparse matrix, their rows and their columns."""


def block_entries(blocks: Matrix, rows: Indices, columns: Indices) -> Entries:
    """Return blocks of a matrix, ``(k, m, n)``, from the rows and columns of each."""
    arrays = np.broadcast_arrays(blocks, rows[:, :, None], columns[:, None, :])
    values, row, column = (array.ravel() for array in arrays)
    return values, row, column


def upper_triangle_entries(blocks: Matrix, indices: Indices) -> Entries:
    """Return the upper triangles of square blocks, ``(k, n, n)``, from the places of each."""
    i, j = np.triu_indices(indices.shape[1])
    return blocks[:, i, j].ravel(), indices[:, i].ravel(), indices[:, j].ravel()
