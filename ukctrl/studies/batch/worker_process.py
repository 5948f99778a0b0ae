"""What happens inside a worker process, and how tasks travel to it."""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, final

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files.plugins import reload_files

REPORT_SECONDS = 0.2
"""Interval at which a worker tells how far it is, and looks whether it is to stop [s]."""
STOP, END = "stop", "end"
ORPHANED = 3
"""Exit code of a worker whose owner has died."""


def packed(tasks: Sequence[object], shared: object) -> bytes:
    """Return tasks as bytes, with what all of them share left out."""
    target = io.BytesIO()
    _Pickler(target, shared).dump(tasks)
    return target.getvalue()


@final
class _Pickler(pickle.Pickler):
    def __init__(self, target: io.BytesIO, shared: object) -> None:
        super().__init__(target)
        self._shared = shared

    def persistent_id(self, value: object) -> str | None:
        """Name what is shared instead of sending it."""
        return "shared" if value is self._shared and value is not None else None


@final
class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, shared: object) -> None:
        super().__init__(io.BytesIO(data))
        self._shared = shared

    def persistent_load(self, name: str) -> object:
        """Return what is shared."""
        return self._shared


def serve(pipe: Connection, files: Sequence[tuple[str, str]]) -> None:
    """Compute tasks until there are no more; the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_owner, daemon=True).start()
    import warnings

    warnings.simplefilter("ignore")  # what NumPy mutters of a run that diverges, its status says
    reload_files(files)
    pipe.send(("ready", None))
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        shared = pickle.loads(pipe.recv_bytes())
        while True:
            message = _Unpickler(pipe.recv_bytes(), shared).load()
            if message == END:
                return
            if message != STOP:  # which came too late
                _Shift(pipe).work(message)


def _end_with_owner() -> None:
    """End this process when its owner does, however that ends and whatever is being computed."""
    owner = parent_process()
    if owner is not None:
        wait([owner.sentinel])
        os._exit(ORPHANED)


@final
class _Shift:
    """The work on the tasks of one message, until they are done or the owner wants no more."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last = 0.0
        self._asked_to_stop = False

    def work(self, tasks: Sequence[Callable[[Callable[[float], None]], Any]]) -> None:
        """Compute the tasks, and send each value as soon as it is there."""
        for task in tasks:
            self._last = -math.inf
            if self._is_over():
                return
            self._pipe.send(self._computed(task))

    def _is_over(self) -> bool:
        """Look whether the owner wants no more; nothing else is sent while there is work."""
        if not self._asked_to_stop and self._pipe.poll():
            self._pipe.recv_bytes()
            self._asked_to_stop = True
        return self._asked_to_stop

    def _watch(self, fraction: float) -> None:
        now = time.monotonic()
        if now - self._last < REPORT_SECONDS:
            return
        self._last = now
        if self._is_over():
            raise KeyboardInterrupt
        self._pipe.send(("at", fraction))

    def _computed(self, task: Callable[[Callable[[float], None]], Any]) -> tuple[str, Any]:
        try:
            return "value", task(self._watch)
        except UkctrlError as error:
            return "value", portable(error)
        except (Exception, KeyboardInterrupt) as error:
            return "fault", told(error)


def portable(error: Exception) -> Exception:
    """Return an input error that says the same: others may not survive the journey."""
    return InputError(str(error))


def told(error: BaseException) -> str:
    """Return an error as one reads it: its kind and what it says."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
