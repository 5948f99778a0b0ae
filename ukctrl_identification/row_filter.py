"""Rows of an equation that are filtered and thinned while they are made, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl_identification.measured_motion import LowPass

BATCH = 1000
"""Samples whose rows are made at a time; columns a power of two apart would share cache lines."""
OUTPUTS = 250
"""Filtered samples that are factored at a time."""
Block = tuple[int, Indices, NDArray[np.float64]]
"""An equation's velocity, its parameters, shape ``(k,)``, and its rows, shape ``(k + 1, n)``."""


def filtered_rows(
    rows: Callable[[slice], list[Block]], n: int, low_pass: LowPass
) -> Iterator[list[Block]]:
    """Yield the rows of all samples behind a filter, some at a time.

    Args:
        rows: Makes the rows of some samples.
        n: How many samples there are.
        low_pass: The filter.
    """
    taps, stride = low_pass
    width = len(taps)
    step, hop = (max(1, size // stride) * stride for size in (BATCH, width))
    if width == 1:
        for begin in range(0, n, BATCH):
            yield rows(slice(begin, begin + BATCH))
        return
    outputs = len(range(n)[low_pass.instants(n)])
    windows = dict[tuple[int, int, int], Matrix]()
    for first in range(0, outputs, OUTPUTS):
        last = min(first + OUTPUTS, outputs)
        start, stop = first * stride, (last - 1) * stride + width
        sums: list[Block] = []
        for begin in range(start, stop, step):
            end = min(begin + step, stop)
            blocks = rows(slice(begin, end))
            if not sums:
                sums = [
                    (row, columns, np.zeros((len(B), last - first))) for row, columns, B in blocks
                ]
            for at in range(begin, end, hop):  # outputs whose windows these samples are in
                upto = min(at + hop, end)
                low = max(first, -((width - 1 - at) // stride))
                high = min(last, (upto - 1) // stride + 1)
                shape = at - stride * low, upto - at, high - low
                if shape not in windows:
                    windows[shape] = _window(taps, stride, *shape)
                some, to = slice(at - begin, upto - begin), slice(low - first, high - first)
                for (_, _, total), (_, _, B) in zip(sums, blocks, strict=True):
                    total[:, to] += B[:, some] @ windows[shape]
        yield sums


def _window(taps: Vector, stride: int, offset: int, n: int, outputs: int) -> Matrix:
    """Return weights of ``n`` samples in outputs, the first of which begins ``offset`` before."""
    at = offset + np.arange(n)[:, None] - stride * np.arange(outputs)
    inside = (at >= 0) & (at < len(taps))
    return np.where(inside, taps[np.clip(at, 0, len(taps) - 1)], 0.0)
