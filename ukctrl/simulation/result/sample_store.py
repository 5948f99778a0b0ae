"""Sample store: in memory while samples are few, else in a file without a name.

Such a file is gone with the last process that reads it, however that ends, so nothing is left
behind. Its arrays are NumPy arrays over its pages, which the system reads when they are looked at.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import BinaryIO, final

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, ShapeError

MAX_MEMORY_BYTES = 2**25
"""Runs with more than this lie in a file [bytes]."""
BLOCK_BYTES = 2**22
"""Such a run is written and read in parts of this size [bytes]."""
DISK = "/var/tmp"
"""Where systems keep large temporary files, where many have `/tmp` in their memory."""


@final
class SampleStore:
    """Sample store: arrays with time as their first axis, written part by part and then read.

    Args:
        samples: How many samples there will be, at most.
        width: How many numbers a sample has.

    Raises:
        InputError: They are more than the disk for temporary files has room for.
    """

    def __init__(self, samples: int, width: int) -> None:
        size = 8 * samples * width
        self.step = samples if size <= MAX_MEMORY_BYTES else max(1, BLOCK_BYTES // (8 * width))
        """How many samples to write or read at a time, at most."""
        self._samples, self._end = samples, 0
        self._parts: dict[str, list[Array]] = {}
        self._places: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._pages: mmap.mmap | None = None
        self._file = _nameless_file(size) if size > MAX_MEMORY_BYTES else None

    @property
    def in_memory(self) -> bool:
        """Whether the very arrays are kept that are written."""
        return self._file is None

    def write(self, first: int, block: Mapping[str, ArrayLike]) -> None:
        """Write arrays of consecutive samples.

        Args:
            first: Number of the first sample; those before it are written already.
            block: The arrays by name. Nobody may change them afterwards where `in_memory`.

        Raises:
            ShapeError: A sample of an array does not have the shape of those before it.
            OSError: The disk is full.
        """
        for name, values in block.items():
            array: Array = np.ascontiguousarray(values, dtype=np.float64)
            shape = array.shape[1:]
            if name not in self._places and not first:
                self._places[name] = self._end, shape
                # each array begins at a multiple of 64 bytes
                self._end += -(-8 * self._samples * math.prod(shape) // 64) * 64
            at, stored_shape = self._places.get(name, (0, None))
            if shape != stored_shape:
                raise ShapeError(
                    f"{name} must have one shape; got {stored_shape}, and then {shape}."
                )
            if self._file is None:
                self._parts.setdefault(name, []).append(array)
            elif array.size:
                self._file.seek(at + first * array[0].nbytes)
                buffer = array.data.cast("B")
                # written and not mapped: a disk that fills up takes a part and fails at the next,
                # where a map would end the process by a signal (decision 0104)
                while buffer:
                    buffer = buffer[self._file.write(buffer) :]

    def read(self, count: int) -> dict[str, Array]:
        """Return the arrays of so many samples, which cannot be written to; it ends the writing."""
        arrays = {}
        if self._file is not None and self._end:
            # a run that ended early has not written all of it, and a map needs a file of its length
            self._file.truncate(self._end)
            self._pages = mmap.mmap(self._file.fileno(), self._end, access=mmap.ACCESS_READ)
            self._file.close()
        for name, (at, shape) in self._places.items():
            if self._pages is not None:
                array: Array = np.ndarray((count, *shape), np.float64, self._pages, at)
            else:
                chunks = self._parts.pop(name)
                array = (chunks[0] if len(chunks) == 1 else np.concatenate(chunks))[:count]
                array.flags.writeable = False
            arrays[name] = array
        return arrays

    def release(self) -> None:
        """Let go of what was read of the file; what is looked at again is read again."""
        if self._pages is not None and sys.platform == "linux":
            self._pages.madvise(mmap.MADV_DONTNEED)


def _nameless_file(size: int) -> BinaryIO:
    has_override = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    folder = tempfile.gettempdir() if has_override or not os.access(DISK, os.W_OK) else DISK
    try:
        # told before the run and not after an hour of it
        capacity = shutil.disk_usage(folder).free
        if size > capacity:
            raise OSError(errno.ENOSPC, f"there are {capacity / 1e6:.0f} MB")
        return tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise InputError(
            f"'{folder}' must have room for {size / 1e6:.0f} MB of samples: {error.strerror}. "
            "Set TMPDIR to a folder on a larger disk, or record fewer samples."
        ) from error
