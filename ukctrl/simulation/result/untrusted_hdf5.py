"""Reading HDF5 files of strangers: nothing that a file declares is believed before it is checked.

A few bytes can declare gigabytes: arrays that were never written, compressed zeros, chunks larger
than their array, a thousand texts that are all the same one.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.core.subprocess_safety import safe_path

MOST_COMPRESSED = 1032
"""How many bytes deflate makes of one, at most: a file that declares more does not hold it."""
LARGEST_CHUNK = 2**28
"""Compressed arrays are read chunk by chunk; no tool makes larger ones unless asked [bytes]."""
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32"}
"""What other tools do to the numbers of a NetCDF file, each at most once."""
TEXTS_AT_ONCE = 2**26
"""Texts are read so many at a time as could take this much memory [bytes]."""


UNREADABLE = 3
"""Exit code of the trial process where reading raises an error, as it would here."""
READ = f"""
import sys
from pathlib import Path
from ukctrl.simulation.result import result_files
try:
    result_files.load(Path(sys.argv[1]))
except Exception:
    sys.exit({UNREADABLE})
"""
READ_SECONDS, BYTES_A_SECOND = 20.0, 1e7
"""Time in which any result is read: at least so long, and more for a large one."""


def probe_in_subprocess(path: Path) -> None:
    """Try in a process of its own whether a result can be read.

    The library loops for ever over some damaged files, and crashes over others.

    Raises:
        InputError: It does, or could not be tried. Any other fault is left to whoever reads it
            here.
    """
    patience = READ_SECONDS + path.stat().st_size / BYTES_A_SECOND
    try:
        with safe_path():
            done = subprocess.run(
                # -P: no file beside the result is imported in place of a module
                [sys.executable, "-P", "-c", READ, str(path)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
            )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"'{path}' is not a readable result: HDF5 does not get to its end in {patience:.0f} s."
        ) from None
    # ended by a signal
    if done.returncode < 0:
        raise InputError(f"'{path}' is not a readable result: HDF5 crashes over it.")
    # a trial that did not take place says nothing of the file
    if done.returncode not in (0, UNREADABLE):
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InputError(f"'{path}' could not be tried in a process of its own: {reason}.")


@contextlib.contextmanager
def open_untrusted(path: Path) -> Iterator[Any]:
    """Yield the open file, once it is known that reading its arrays takes no more than it holds.

    Raises:
        InputError: It declares more, or its arrays lie elsewhere; OSError: it is no HDF5 file.
    """
    import h5py

    size, declared = path.stat().st_size, 0
    with h5py.File(path, "r") as file:
        for name in file:
            link, entry = file.get(name, getlink=True), None
            if isinstance(link, h5py.HardLink):
                entry = file[name]
            if not isinstance(entry, h5py.Dataset) or entry.is_virtual or entry.external:
                raise InputError(
                    f"'{path}' must hold its arrays itself; '{name[:40]}' is a link, a group, or "
                    "an array that lies in another file."
                )
            # everything is read as numbers of eight bytes at least
            width = max(entry.dtype.itemsize, 8)
            chunk = width * int(np.prod(entry.chunks or (), dtype=object))
            declared += max(width * entry.size, chunk if entry.chunks else 0)
            if declared > MOST_COMPRESSED * size:
                raise InputError(
                    f"'{path}' must hold what it declares; it has {size} bytes and declares arrays "
                    f"of {declared:.3g}."
                )
            if entry.chunks and not _chunks_fit(entry, chunk):
                raise InputError(
                    f"'{path}': '{name[:40]}' must be compressed by deflate alone, in chunks of at "
                    f"most {LARGEST_CHUNK // 2**20} MB that hold what they declare."
                )
        yield file


def _chunks_fit(dataset: Any, chunk: int) -> bool:
    """Tell whether no chunk becomes larger than it may: HDF5 inflates first, and looks then."""
    stored, filters = dataset.id, dataset.id.get_create_plist()
    used = [filters.get_filter(k)[0] for k in range(filters.get_nfilters())]
    # a filter that comes twice multiplies what one byte may become
    if chunk > LARGEST_CHUNK or len(set(used)) < len(used) or not set(used) <= set(FILTERS):
        return False
    if 1 not in used:
        return True
    offsets: list[tuple[int, ...]] = []
    stored.chunk_iter(lambda info: offsets.append(info.chunk_offset))
    for offset in offsets:
        mask, data = stored.read_direct_chunk(offset)
        compressed = not mask & 1 << used.index(1)
        # one byte too many is proof enough, and no more is inflated
        if compressed and len(zlib.decompressobj().decompress(data, chunk + 1)) > chunk:
            return False
    return True


def numeric_dataset(file: Any, name: str) -> Any:
    """Return an array of numbers of the file, which is read where it is indexed.

    Raises:
        InputError: It holds no real numbers.
    """
    if file[name].dtype.kind not in "fiu":
        raise InputError(f"'{file.filename}' must hold numbers in '{name[:40]}'.")
    return file[name]


def text_dataset(file: Any, name: str) -> tuple[str, ...]:
    """Return the texts along a dimension.

    Raises:
        InputError: They are none, or longer than the file: it repeats them.
    """
    dataset, size, read = file[name], max(Path(file.filename).stat().st_size, 1), []
    if dataset.dtype.kind not in "OSU" or dataset.ndim != 1:
        raise InputError(f"'{file.filename}' must hold a list of texts in '{name[:40]}'.")
    step = max(1, TEXTS_AT_ONCE // size)
    for first in range(0, len(dataset), step):
        read += [as_text(entry) for entry in dataset[first : first + step]]
        if sum(map(len, read)) > size:
            raise InputError(
                f"'{file.filename}' must hold what it declares; its texts in '{name[:40]}' are "
                "longer than the file."
            )
    return tuple(read)


def text_attribute(holder: Any, name: str) -> str:
    """Return an attribute that is one text.

    Raises:
        InputError: It is several; KeyError: there is none.
    """
    if np.prod(holder.attrs.get_id(name).shape or (1,)) != 1:
        raise InputError(f"'{holder.file.filename}' must have one text as '{name}'.")
    return as_text(holder.attrs[name])


def as_text(value: Any) -> str:
    """Return the text that HDF5 may hand back as bytes or as an array of one."""
    if isinstance(value, np.ndarray):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else str(value)
