"""Turns of processes: one makes what the others then load, instead of each making it.

The system lets go of a turn when its process ends, however.
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

LOOK_SECONDS = 0.01
PATIENT_SECONDS = 120.0
"""For so long another process is waited for; then this one goes on without a turn [s]."""


@final
class Turns:
    """Turns at things by their names; threads of one process share them.

    Args:
        file: What the processes share; it stays empty.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None
        self._taken: set[str] = set()

    def take(self, name: str, waiting: Callable[[], None]) -> bool:
        """Wait for the turn; return whether there is one, which file systems without locks lack.

        Args:
            name: At what.
            waiting: Called now and then meanwhile.
        """
        if sys.platform == "win32":
            return False
        until = time.monotonic() + PATIENT_SECONDS
        with contextlib.suppress(OSError):
            if self._handle is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            while time.monotonic() < until:
                try:
                    fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
                except OSError as error:
                    if error.errno not in (errno.EACCES, errno.EAGAIN):
                        raise
                else:
                    self._taken.add(name)
                    return True
                waiting()
                time.sleep(LOOK_SECONDS)
        return False

    def leave(self, name: str) -> None:
        """Let the next process have its turn, where this one has it."""
        if sys.platform != "win32" and self._handle is not None and name in self._taken:
            self._taken.remove(name)
            with contextlib.suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, _place(name))


def _place(name: str) -> int:
    """Return which byte of the file stands for a name."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:7])
