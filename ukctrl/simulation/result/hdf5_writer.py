"""Writing HDF5 files: a full disk is an error, and no crash."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from ukctrl.simulation.result.atomic_files import atomic_replace


@final
class _FaultKeepingFile(io.RawIOBase):
    """A file to which writing never fails, as far as HDF5 can see; the failure is kept.

    HDF5 takes the process down where its last bytes cannot be written.
    """

    def __init__(self, stream: io.RawIOBase) -> None:
        super().__init__()
        self._stream = stream
        self.failure: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._stream.read(len(view))
        view[: len(data)] = data
        # what could not be written cannot be read again
        if self.failure:
            view[len(data) :] = bytes(len(view) - len(data))
            return len(view)
        return len(data)

    def write(self, data: Any) -> int:
        buffer = memoryview(data).cast("B")
        size = len(buffer)
        with self._noting():
            # a disk that fills up takes a part, and fails at the next
            while buffer:
                buffer = buffer[self._stream.write(buffer) :]
        return size

    def truncate(self, size: int | None = None) -> int:
        with self._noting():
            self._stream.truncate(size)
        return self._stream.tell() if size is None else size

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            self.failure = self.failure or failure


@contextlib.contextmanager
def open_for_writing(path: Path) -> Iterator[Any]:
    """Yield a new NetCDF file to fill, which takes the place of an old one when it is whole.

    Raises:
        OSError: It cannot be written; nothing is left of it.
    """
    import h5netcdf

    # unbuffered: a full disk shows while there is somebody to tell, not when the file is closed
    with atomic_replace(path) as file:
        enduring = _FaultKeepingFile(file.raw)
        try:
            with h5netcdf.File(enduring, "w") as target:
                yield target
        except Exception:
            # with a failure what HDF5 complains of is its consequence
            if enduring.failure is None:
                raise
        if enduring.failure is not None:
            raise enduring.failure
