"""A metric and the share of success over two factors, cell by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.studies.sweep_analysis.study_arrays import Axis, FactorBins, bin_factor, level_labels

MAX_CELLS = 48
"""Values of a grid along one side of a map; more are drawn in ranges."""
SAMPLES_PER_CELL = 8
"""Samples that a cell of ranges holds on average, as far as there are enough."""


class MapAxis(NamedTuple):
    """One side of a map."""

    path: str
    labels: tuple[str, ...]
    """The cells in words."""
    edges: Array
    """Ends of the cells, shape `(m + 1,)`; of single values, the values, shape `(m,)`."""
    by_value: bool
    """Whether every cell is one value."""
    categorical: bool
    """Whether the values are names."""
    log: bool
    unit: str = ""


class Map(NamedTuple):
    """What came of the samples over two factors; the other factors vary within each cell."""

    x: MapAxis
    y: MapAxis
    samples: NDArray[np.intp]
    """Samples in each cell, shape `(ny, nx)`."""
    share: Array
    """Share of them that succeeded; NaN where none is."""
    middle: Array
    """Median of the metric, failed samples being the worst: infinite where half of them failed,
    NaN where no sample is."""


def factor_map(x: Axis, y: Axis, merit: Array, good: NDArray[np.bool_], *, grid: bool) -> Map:
    """Sort the samples into the cells of two factors.

    The cells of a grid are its values. Random samples are counted in ranges, coarse enough that a
    cell holds a few: nothing is interpolated, and a cell without a sample stays empty.

    Args:
        x: The factor to the right.
        y: The factor upwards.
        merit: The metric, infinite where a sample failed, shape `(n,)`.
        good: Which samples succeeded.
        grid: Whether the samples stand on a grid.
    """
    n = len(merit)
    max_bins = MAX_CELLS if grid else int(np.clip(np.sqrt(n / SAMPLES_PER_CELL), 2, 16))
    across, up = bin_factor(x, max_bins), bin_factor(y, max_bins)
    shape = (up.size, across.size)
    cell = up.bin_index * across.size + across.bin_index
    size = shape[0] * shape[1]
    count = np.bincount(cell, minlength=size)
    succeeded = np.bincount(cell[good], minlength=size)
    share = np.divide(succeeded, count, out=np.full(size, np.nan), where=count > 0)
    middle = _medians(cell, merit, count).reshape(shape)
    sides = _side(x, across), _side(y, up)
    return Map(*sides, count.reshape(shape), share.reshape(shape), middle)


def _medians(cell: NDArray[np.intp], merit: Array, count: NDArray[np.intp]) -> Array:
    """Return the median of each cell; of an even number, the upper of the two in the middle.

    The upper, because the mean of a number and a failure is none.
    """
    ordered = merit[np.lexsort((merit, cell))]
    first = np.cumsum(count) - count
    medians = np.full(len(count), np.nan)
    used = count > 0
    medians[used] = ordered[(first + count // 2)[used]]
    return medians


def _side(axis: Axis, bins: FactorBins) -> MapAxis:
    labels = level_labels(axis, bins.edges) if bins.by_value else bins.labels
    return MapAxis(
        axis.path, labels, bins.edges, bins.by_value, bool(axis.names), axis.log, axis.unit
    )
