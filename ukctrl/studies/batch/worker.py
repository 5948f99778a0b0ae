"""What happens where tasks are computed: some of them at a time, one after the other."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import wait
from types import MappingProxyType
from typing import Any, final

from loky import process_executor

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files.plugins import reload_files
from ukctrl.core.own_processes import collect_seldom, machine_failed
from ukctrl.studies.batch.same_numbers import origin_here, refusal, this_process
from ukctrl.studies.batch.task import Lost, Task, Watch, error_text
from ukctrl.studies.batch.users_files import strayed

OVERTIME_SECONDS = 2.0
"""How much longer than granted a task may take before its process is ended [s]: most find out
themselves that they are late."""
FIRST_SECONDS = 120.0
"""How much longer the first task of a process may take until it is under way [s]: what it needs has
to be loaded, and may have to be compiled."""
ORPHANED = 3
"""Exit code of a worker whose owner has died."""
UNSENDABLE = (pickle.PicklingError, AttributeError, TypeError)
"""What pickle raises of an object that no other process can have."""


@final
class Board(ctypes.Structure):
    """Shared memory of a worker and its owner, without a lock that a killed process could hold."""

    stop: int
    """Whether the worker is asked to stop and hand over what it has."""
    process: int
    """Its number in the system; 0: it has not begun."""
    task: int
    """Place of the task that is being computed among those that it was given."""
    fraction: float
    """How much of that task is done."""
    until: float
    """When it is overdue [s], of the clock that all processes share; 0: never."""
    _fields_ = (
        *((name, ctypes.c_int) for name in ("stop", "process", "task")),
        *((name, ctypes.c_double) for name in ("fraction", "until")),
    )


def value_of(task: Task[Any], watch: Watch) -> Any:
    """Return the value of a task; a `Lost` where it has none, or the `UkctrlError` it has raised.

    Raises:
        KeyboardInterrupt: It was stopped.
    """
    try:
        return task(watch)
    except SystemExit as error:  # of a user's code
        return Lost(error_text(error))
    except Exception as error:
        known = isinstance(error, UkctrlError)
        if machine_failed(error):
            return Lost(str(error) if known else error_text(error), machine=True)
        return error if known else Lost(error_text(error))


def computed(tasks: Sequence[Task[Any]], watch: Watch, begin: Callable[[int], bool]) -> bytes:
    """Compute tasks; return the values of the first of them, and how long they took, as bytes.

    A value may be a `Lost`, or an `InputError` in place of what the task has raised on purpose.

    Args:
        tasks: Some.
        watch: Called by each with how far it is; raises where it is to stop.
        begin: Called with the place of each before it begins; false: no more are wanted.
    """
    began = time.perf_counter()
    values: list[Any] = []
    for place, task in enumerate(tasks):
        if not begin(place):
            break
        try:
            value = value_of(task, watch)
        except KeyboardInterrupt as error:
            value = Lost(error_text(error))
        # Other errors may not survive the journey.
        values.append(InputError(str(value)) if isinstance(value, UkctrlError) else value)
    return pickle.dumps((values, time.perf_counter() - began))


@final
class Worker:
    """Whoever computes, a process or a thread, and says on a board how far it is."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._under_way = False  # whether a task of it ever was

    def work(self, data: bytes, granted: float | None) -> bytes:
        """Compute tasks of this process, each of which may take so long [s].

        They come as bytes here too, so that what they share is each worker's own: robots and laws
        serve one run at a time.
        """
        tasks: Sequence[Task[Any]] = pickle.loads(data)
        return computed(tasks, self.watch(granted), lambda k: self.begin(k, granted))

    def begin(self, task: int, granted: float | None) -> bool:
        """Say on the board that a task begins; return whether it is still wanted."""
        board = self.board
        board.task, board.fraction, board.until = task, 0.0, self._until(granted)
        board.process = os.getpid()
        return not board.stop

    def watch(self, granted: float | None) -> Watch:
        """Return what says on the board how far a task is, which may take so long [s]."""

        def watch(fraction: float) -> None:
            self.board.fraction = min(max(fraction, 0.0), 1.0)
            if not self._under_way:
                self._under_way = True
                self.board.until = self._until(granted)
            if self.board.stop:
                raise KeyboardInterrupt

        return watch

    def _until(self, granted: float | None) -> float:
        extra = OVERTIME_SECONDS + (0.0 if self._under_way else FIRST_SECONDS)
        return 0.0 if granted is None else time.monotonic() + granted + extra


_HERE = Worker(Board())
"""This process, where it is a worker. Its executor calls functions by name, so what they share
stands here."""


def start(board: Board, files: Sequence[tuple[str, str]]) -> None:
    """Make this process a worker, which ends when its owner does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_owner, daemon=True).start()
    collect_seldom()
    warnings.simplefilter("ignore")  # what NumPy mutters of a run that diverges, its status says
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # machine code of one more law is no leak
    reload_files(files)
    _HERE.board = board


def work(
    data: bytes, granted: float | None, sender: Mapping[str, str], read: Mapping[str, str]
) -> bytes:
    """Compute tasks in this process, each of which may take so long [s]."""
    return opened(data, (), sender, read, _HERE.watch(granted), lambda k: _HERE.begin(k, granted))


def opened(
    data: bytes,
    files: Sequence[tuple[str, str]],
    sender: Mapping[str, str],
    read: Mapping[str, str] = MappingProxyType({}),
    watch: Watch = lambda _: None,
    begin: Callable[[int], bool] = lambda _: True,
) -> bytes:
    """Compute tasks that have come from another process, if this one gives the same numbers.

    Args:
        data: The tasks.
        files: Users' files, without which they cannot be read.
        sender: What decides the numbers where they come from.
        read: Users' files that they read, with digests where they come from.
        watch: As for `computed`.
        begin: Likewise.
    """
    fault = refusal(this_process(), origin_here(), sender)
    if not fault and (other := strayed(read)):
        fault = (
            f"the file '{other}' must be what it was at the start, on every machine; for "
            f"{this_process()} it is missing or another. Put it there, or begin anew."
        )
    first: Lost | InputError = InputError(fault)
    if not str(first):
        try:
            reload_files(files)
            tasks = pickle.loads(data)
        except Exception as error:
            first = Lost(error_text(error), machine=True)
            if not machine_failed(error):
                first = InputError(
                    f"{this_process()} cannot read the runs ({error_text(error)}). The files that "
                    "the scenario names must be there too, under the same paths."
                )
        else:
            return computed(tasks, watch, begin)
    return pickle.dumps(([first], 0.0))


def _end_with_owner() -> None:
    """End this process when its owner does, however that ends and whatever is being computed."""
    owner = parent_process()
    if owner is not None:
        wait([owner.sentinel])
        os._exit(ORPHANED)
