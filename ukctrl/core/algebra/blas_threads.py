"""How many threads linear algebra may use.

The matrices of a control loop have a few rows to a few hundred. BLAS starts threads for them all
the same; on a busy machine it then waits milliseconds for work of microseconds, and the last bits
of a run depend on how many cores were free.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any, final


@final
class _ThreadLimit:
    """The limit, which is the whole process's: whoever begins first sets it, the last lifts it."""

    def __init__(self) -> None:
        self._lock, self._users, self._limited = threading.Lock(), 0, contextlib.ExitStack()

    def acquire(self) -> None:
        """Keep to one thread from now on."""
        with self._lock:
            if self._users == 0:
                self._limited.enter_context(_libraries().limit(limits=1, user_api="blas"))
            self._users += 1

    def release(self) -> None:
        """Need that no more."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limited.close()


_LIMIT = _ThreadLimit()


@functools.cache  # to look for them takes as long as a short run
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # else SciPy's begins with one thread anyway
        import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited
    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the BLAS of NumPy and SciPy to one thread, in the whole process, while in use."""
    _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release()
