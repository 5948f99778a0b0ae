"""File lock: of processes that need the same machine code, one compiles it and the others load it.

The system releases the locks of a process that ends, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import final

if sys.platform != "win32":
    import fcntl

POLL_SECONDS = 0.01
TIMEOUT_SECONDS = 120.0
"""For so long another process is waited for; then this one goes on without the lock [s]."""


@final
class FileLocks:
    """Locks by name, each a byte of one empty file; threads of one process share them.

    Args:
        file: What the processes share.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None
        self._acquired: set[str] = set()

    def acquire(self, name: str, while_waiting: Callable[[], None]) -> bool:
        """Wait for a lock; return whether it was acquired, which no file system without locks does.

        Args:
            name: Of what.
            while_waiting: Called now and then.
        """
        # without locks two processes may compile the same: slower, and right
        if sys.platform == "win32":
            return False
        deadline = time.monotonic() + TIMEOUT_SECONDS
        with contextlib.suppress(OSError):
            if self._handle is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # a process that hangs with the lock must not stop the others
            while time.monotonic() < deadline:
                try:
                    # byte ranges of one file: no files to clean up, and locks die with their
                    # process
                    fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(name))
                except OSError as error:
                    if error.errno not in (errno.EACCES, errno.EAGAIN):
                        raise
                else:
                    self._acquired.add(name)
                    return True
                while_waiting()
                time.sleep(POLL_SECONDS)
        return False

    def release(self, name: str) -> None:
        """Release a lock, where this process has it."""
        if sys.platform != "win32" and self._handle is not None and name in self._acquired:
            self._acquired.remove(name)
            with contextlib.suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, _offset(name))


def _offset(name: str) -> int:
    """Return which byte of the file stands for a name."""
    # 56 bits, as offsets are signed
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:7])
