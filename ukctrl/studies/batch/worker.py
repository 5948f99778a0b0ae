"""What happens where tasks are computed: some of them at a time, one after the other."""

from __future__ import annotations

import ctypes
import functools
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
from ukctrl.core.subprocess_safety import is_machine_failure, raise_gc_threshold
from ukctrl.studies.batch.environment_fingerprint import (
    changed_file,
    environment_fingerprint,
    fingerprint_mismatch,
    worker_name,
)
from ukctrl.studies.batch.task import BatchTask, TaskCallback, TaskFailure, error_text, run_task

OVERTIME_SECONDS = 2.0
"""How much longer than granted a task may take before its process is ended [s]: most find out
themselves that they are late."""
WARM_UP_SECONDS = 120.0
"""How much longer the first task of a process may take until it is under way [s]: what it needs has
to be loaded, and may have to be compiled."""
PARENT_DIED = 3
"""Exit code of a worker whose owner has died."""
PICKLE_ERRORS = (pickle.PicklingError, AttributeError, TypeError)
"""What pickle raises of an object that no other process can have."""


@final
class WorkerStatus(ctypes.Structure):
    """Shared memory of a worker and its owner, without a lock that a killed process could hold."""

    stop_requested: int
    """Whether the worker is asked to stop and hand over what it has."""
    pid: int
    """Its number in the system; 0: it has not begun."""
    task_index: int
    """Place of the task that is being computed among those that it was given."""
    fraction: float
    """How much of that task is done."""
    deadline: float
    """When it is overdue [s], of the clock that all processes share; 0: never."""
    _fields_ = (
        *((name, ctypes.c_int) for name in ("stop_requested", "pid", "task_index")),
        *((name, ctypes.c_double) for name in ("fraction", "deadline")),
    )


def run_tasks(
    tasks: Sequence[BatchTask[Any]], watch: TaskCallback, begin: Callable[[int], bool]
) -> bytes:
    """Compute tasks; return the values of the first of them, and how long they took, as bytes.

    A value may be a `TaskFailure`, or an `InputError` in place of what the task has raised on
    purpose.

    Args:
        tasks: Some.
        watch: Called by each with how far it is; raises where it is to stop.
        begin: Called with the place of each before it begins; false: no more are wanted.
    """
    began = time.perf_counter()
    values: list[Any] = []
    for index, task in enumerate(tasks):
        if not begin(index):
            break
        try:
            value = run_task(task, watch)
        except KeyboardInterrupt as error:
            value = TaskFailure(error_text(error))
        # Other errors may not survive the journey.
        values.append(InputError(str(value)) if isinstance(value, UkctrlError) else value)
    return pickle.dumps((values, time.perf_counter() - began))


@final
class Worker:
    """Whoever computes, a process or a thread, and says on a board how far it is."""

    def __init__(self, board: WorkerStatus) -> None:
        self.status = board
        self._warm = False  # whether a task of it ever was

    def work(self, data: bytes, granted: float | None) -> bytes:
        """Compute tasks of this process, each of which may take so long [s].

        They come as bytes here too, so that what they share is each worker's own: robots and laws
        serve one run at a time.
        """
        tasks: Sequence[BatchTask[Any]] = pickle.loads(data)
        return run_tasks(tasks, self.task_callback(granted), lambda k: self.start_task(k, granted))

    def start_task(self, task: int, granted: float | None) -> bool:
        """Say on the board that a task begins; return whether it is still wanted."""
        board = self.status
        board.task_index, board.fraction, board.deadline = task, 0.0, self._deadline(granted)
        board.pid = os.getpid()
        return not board.stop_requested

    def task_callback(self, granted: float | None) -> TaskCallback:
        """Return what says on the board how far a task is, which may take so long [s]."""

        def watch(fraction: float) -> None:
            self.status.fraction = min(max(fraction, 0.0), 1.0)
            if not self._warm:
                self._warm = True
                self.status.deadline = self._deadline(granted)
            if self.status.stop_requested:
                raise KeyboardInterrupt

        return watch

    def _deadline(self, granted: float | None) -> float:
        extra = OVERTIME_SECONDS + (0.0 if self._warm else WARM_UP_SECONDS)
        return 0.0 if granted is None else time.monotonic() + granted + extra


_THIS_WORKER = Worker(WorkerStatus())
"""This process, where it is a worker. Its executor calls functions by name, so what they share
stands here."""


def initialise_worker(board: WorkerStatus, files: Sequence[tuple[str, str]]) -> None:
    """Make this process a worker, which ends when its owner does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    raise_gc_threshold()
    warnings.simplefilter("ignore")  # what NumPy mutters of a run that diverges, its status says
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # machine code of one more law is no leak
    reload_files(files)
    _THIS_WORKER.status = board


def worker_main(
    data: bytes, granted: float | None, sender: Mapping[str, str], read: Mapping[str, str]
) -> bytes:
    """Compute tasks in this process, each of which may take so long [s]."""
    begin = functools.partial(_THIS_WORKER.start_task, granted=granted)
    watch = _THIS_WORKER.task_callback(granted)
    return run_received_tasks(data, (), sender, read, watch, begin)


def run_received_tasks(
    data: bytes,
    files: Sequence[tuple[str, str]],
    sender: Mapping[str, str],
    read: Mapping[str, str] = MappingProxyType({}),
    watch: TaskCallback = lambda _: None,
    begin: Callable[[int], bool] = lambda _: True,
) -> bytes:
    """Compute tasks that have come from another process, if this one gives the same numbers.

    Args:
        data: The tasks.
        files: Users' files, without which they cannot be read.
        sender: What decides the numbers where they come from.
        read: Users' files that they read, with digests where they come from.
        watch: As for `run_tasks`.
        begin: Likewise.
    """
    fault = fingerprint_mismatch(worker_name(), environment_fingerprint(), sender)
    if not fault and (path := changed_file(read)):
        fault = (
            f"the file '{path}' must be what it was at the start, on every machine; for "
            f"{worker_name()} it is missing or another. Put it there, or begin anew."
        )
    first: TaskFailure | InputError = InputError(fault)
    if not str(first):
        try:
            reload_files(files)
            tasks = pickle.loads(data)
        except Exception as error:
            first = TaskFailure(error_text(error), is_machine_failure=True)
            if not is_machine_failure(error):
                first = InputError(
                    f"{worker_name()} cannot read the runs ({error_text(error)}). The files that "
                    "the scenario names must be there too, under the same paths."
                )
        else:
            return run_tasks(tasks, watch, begin)
    return pickle.dumps(([first], 0.0))


def _exit_with_parent() -> None:
    """End this process when its owner does, however that ends and whatever is being computed."""
    owner = parent_process()
    if owner is not None:
        wait([owner.sentinel])
        os._exit(PARENT_DIED)
