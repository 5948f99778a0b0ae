"""Numbers of a page, read as its script reads them."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.reports.scene.page_data import LEVELS, PageData


def decode(data: PageData, entry: list[int]) -> Array:
    """Return the numbers of an entry such as ``head["time"]``, shape ``(n, k)``."""
    block = zlib.decompress(base64.b64decode(data.block))
    count, columns, start = entry
    ends = np.frombuffer(block, np.float32, 2 * columns, start).astype(float)
    low, step = ends[:columns], ends[columns:]
    values = np.repeat(low[None], count, axis=0)
    moving = np.flatnonzero(step)
    deltas = np.frombuffer(block, np.uint16, len(moving) * count, start + 8 * columns)
    levels = np.cumsum(deltas.reshape(len(moving), count), axis=1, dtype=np.uint16)
    values[:, moving] += np.where(levels > LEVELS, np.nan, levels).T * step[moving]
    return values
