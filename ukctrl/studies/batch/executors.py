"""Where tasks are computed: in threads or processes of ours, or in somebody else's executor.

`loky` starts a process, brings it tasks and notices its death, also in the middle of a message. An
executor whose process died is broken as a whole; as each has one process, no other is. A thread
starts at once and shares the machine code of this process, which takes it along where it dies.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError
from multiprocessing import get_context
from queue import SimpleQueue
from threading import Thread
from typing import Any, final

import numpy as np
from loky.process_executor import ProcessPoolExecutor

from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.plugins import loaded_files
from ukctrl.core.subprocess_safety import is_machine_failure, safe_path
from ukctrl.studies.batch.environment_fingerprint import environment_fingerprint
from ukctrl.studies.batch.task import BatchTask, TaskFailure, TaskResults, error_text
from ukctrl.studies.batch.worker import (
    Worker,
    WorkerStatus,
    initialise_worker,
    run_received_tasks,
    worker_main,
)

PREFETCH = 2
"""What an executor is given for each of its processors: some tasks to compute, some to wait."""
MAX_FAILED_STARTS = 20
"""So many processes may be killed in a row before they begin."""
_CAUSE = re.compile(r"(\w+)\((-?\d+)\)")
"""How loky says what a process died of: ``SIGKILL(-9)``, ``EXIT(3)``."""
_START_EXITED = (
    "a process for the runs ended before it began ({}). If the machine has memory enough, a script "
    "asks for several jobs where it is imported; put its work under `if __name__ == '__main__':`."
)
_START_REFUSED = (
    "the machine cannot start a process for the runs ({}). What was recorded is kept; see to what "
    "it lacks, and go on from there."
)
_EXECUTOR_LOST = "the executor can compute no more ({})."


STOP_TIMEOUT = 5.0
"""How long tasks that are asked to stop may take to hand over what they have [s]."""


@final
class _WorkerHandle:
    """A process or a thread, as its owner sees it.

    Args:
        executor: It computes one thing after the other, and may be ended while it does.
        board: Where it says how far it is.
        work: Computes tasks, which come as bytes, each of which may take so long [s].
    """

    def __init__(
        self, executor: Any, board: WorkerStatus, work: Callable[[bytes, float | None], bytes]
    ) -> None:
        self._executor, self.status, self._work = executor, board, work
        self.future: Future[bytes] | None = None
        self.timeout: float | None = None
        self.timed_out = False

    def submit(self, data: bytes, granted: float | None) -> Future[bytes]:
        """Give it tasks, each of which may take so long [s]."""
        self.status.pid, self.timeout = 0, granted
        with _sigint_blocked(), safe_path():
            future: Future[bytes] = self._executor.submit(self._work, data, granted)
        self.future = future
        return future

    def progress(self) -> float:
        """Return how many of its tasks are done; end it where one takes longer than granted."""
        board = self.status
        if self.future is None or not board.pid:
            return 0.0
        if 0.0 < board.deadline < time.monotonic() and not (self.timed_out or self.future.done()):
            self.timed_out, board.stop_requested = True, 1
            self._executor.shutdown(wait=False, kill_workers=True)
        return board.task_index + board.fraction

    def end(self) -> None:
        """End it, whatever it is at."""
        self._executor.shutdown(kill_workers=True)


def _new_process(files: Mapping[str, str]) -> _WorkerHandle:
    """Return a process, which starts with its first tasks, and reads these files of the user's."""
    # A fork of a process with threads may hang; a fresh one costs a second and never does.
    context = get_context("spawn")
    board: WorkerStatus = context.RawValue(WorkerStatus)
    with safe_path():  # its locks already start a process, which looks after them
        executor = ProcessPoolExecutor(
            1, context=context, initializer=initialise_worker, initargs=(board, loaded_files())
        )
    return _WorkerHandle(
        executor,
        board,
        functools.partial(worker_main, sender=environment_fingerprint(), read=files),
    )


def _new_thread() -> _WorkerHandle:
    """Return a thread, for tasks that are machine code for most of their time."""
    return _WorkerHandle(_ThreadExecutor(), board := WorkerStatus(), Worker(board).work)


@final
class _ThreadExecutor:
    """A thread of this process as an executor of its own."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._future: Future[Any] = Future()
        self._join_timeout = STOP_TIMEOUT
        # One that never ends must not keep the process alive.
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[..., Any], *args: object) -> Future[Any]:
        """Have something computed."""
        self._future = Future()
        self._queue.put((self._future, functools.partial(work, *args)))
        return self._future

    def shutdown(self, *, wait: bool = True, kill_workers: bool) -> None:
        """Let it end; it cannot be killed, but what it is at can be given up."""
        self._queue.put(None)
        self._join_timeout = self._join_timeout if wait else 0.0
        self._thread.join(self._join_timeout)
        if kill_workers:
            with contextlib.suppress(InvalidStateError):
                self._future.set_exception(BrokenExecutor("it was given up"))

    def _serve(self) -> None:
        # What NumPy mutters of a run that diverges; and a limit that each run would set anew.
        with np.errstate(all="ignore"), one_blas_thread():
            while (order := self._queue.get()) is not None:
                future, work = order
                with contextlib.suppress(InvalidStateError):  # it was given up meanwhile
                    try:
                        future.set_result(work())
                    except BaseException as error:
                        future.set_exception(error)


@final
class LocalWorkers:
    """Some threads, for machine code and catalogue parts alone, or some processes, for what holds
    the interpreter, or may take its process along; none at first.
    """

    grace = STOP_TIMEOUT

    def __init__(self, threads: bool, files: Mapping[str, str]) -> None:
        self._factory = _new_thread if threads else functools.partial(_new_process, files)
        self._workers: list[_WorkerHandle] = []
        self._failed_starts = 0

    @property
    def slots(self) -> int:
        """How many of them there are."""
        return len(self._workers)

    def scale_to(self, count: int) -> None:
        """Have so many."""
        with _start_errors():
            while len(self._workers) < count:
                self._workers.append(self._factory())

    def submit(self, tasks: Sequence[BatchTask[Any]], granted: float | None) -> Future[bytes]:
        """Give tasks to one that has nothing to do.

        Raises:
            pickle.PicklingError: They cannot be sent; so do AttributeError, TypeError.
            MachineFailure: No process can be started.
        """
        data = pickle.dumps(tasks)
        index = next(k for k, worker in enumerate(self._workers) if worker.future is None)
        with _start_errors():
            try:
                return self._workers[index].submit(data, granted)
            except RuntimeError:  # it died while it had nothing to do
                return self._restart(index).submit(data, granted)

    def _restart(self, index: int) -> _WorkerHandle:
        self._workers[index].end()
        with _start_errors():
            self._workers[index] = worker = self._factory()
        return worker

    def progress(self) -> float:
        """Return how many of the tasks under way are done, and end those that take too long."""
        return sum(worker.progress() for worker in self._workers)

    def result(self, future: Future[bytes]) -> TaskResults:
        """Return what came of tasks.

        Raises:
            InputError: Their process ended itself before it began.
            MachineFailure: No process lives long enough to begin.
        """
        index = next(k for k, worker in enumerate(self._workers) if worker.future is future)
        worker, error = self._workers[index], future.exception()
        if error is None:
            worker.future, self._failed_starts = None, 0
            return TaskResults(*pickle.loads(future.result()))
        self._restart(index)
        cause = _death_cause(str(error))
        # Asked in this order: the kill of one that is overdue looks like a death.
        if worker.timed_out:
            lost = TaskFailure(f"it took longer than {worker.timeout:g} s.", timed_out=True)
        elif not isinstance(error, BrokenExecutor):  # it could not read what came, or hand over
            lost = TaskFailure(error_text(error), is_machine_failure=is_machine_failure(error))
        elif worker.status.pid:
            lost = TaskFailure(cause, is_machine_failure=True)
        else:
            self._failed_starts += 1
            if "exit code" in cause:
                raise InputError(_START_EXITED.format(cause))
            if self._failed_starts > MAX_FAILED_STARTS:  # one may be killed for no fault of its own
                raise MachineFailure(_START_REFUSED.format(cause))
            return TaskResults()
        return TaskResults(failure=lost, failed_index=worker.status.task_index)

    def stop(self) -> None:
        """Ask all to stop and hand over what they have."""
        for worker in self._workers:
            worker.status.stop_requested = 1

    def end(self) -> None:
        """End them all."""
        self.stop()
        while self._workers:
            self._workers.pop().end()


def _death_cause(report: str) -> str:
    """Return in words what became of a process, of which loky reports."""
    cause = _CAUSE.search(report)
    if cause is None:
        return "its process died"
    of = f"of {cause[1]}" if int(cause[2]) < 0 else f"with exit code {cause[2]}"
    return f"its process died {of}"


@contextlib.contextmanager
def _start_errors() -> Iterator[None]:
    """Say what it means where the system refuses a process, or what a process needs.

    Raises:
        MachineFailure: It does.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise MachineFailure(_START_REFUSED.format(error_text(error))) from error


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it is for their owner to ask them to stop."""
    if sys.platform == "win32":
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@final
class ExternalExecutor:
    """An executor that is not ours: its tasks cannot be asked to stop, and nobody sees how far.

    Args:
        executor: Where to compute.
        capacity: How many tasks it computes at a time.
        files: The user's files that tasks read, with digests.
    """

    grace = 0.0
    """How long to wait for what is asked to stop [s]."""

    def __init__(self, executor: Executor, capacity: int, files: Mapping[str, str]) -> None:
        self._executor, self.slots, self._files = executor, PREFETCH * capacity, files
        self._futures: set[Future[bytes]] = set()

    def submit(self, tasks: Sequence[BatchTask[Any]], granted: float | None) -> Future[bytes]:
        """Give it tasks, which know themselves how long they may take.

        Raises:
            pickle.PicklingError: They cannot be sent; so do AttributeError, TypeError.
            UkctrlError: The executor has gone.
        """
        data = pickle.dumps(tasks)
        try:
            future = self._executor.submit(
                run_received_tasks, data, loaded_files(), environment_fingerprint(), self._files
            )
        except UkctrlError:
            raise
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise InputError(_EXECUTOR_LOST.format(error_text(error))) from error
        self._futures.add(future)
        return future

    def progress(self) -> float:
        """Return how many of the tasks under way are done: nobody knows."""
        return 0.0

    def result(self, future: Future[bytes]) -> TaskResults:
        """Return what came of tasks.

        Raises:
            UkctrlError: It was not they that were lost, but the executor.
        """
        self._futures.discard(future)
        try:
            return TaskResults(*pickle.loads(future.result()))
        except UkctrlError:
            raise
        except (BrokenExecutor, CancelledError, OSError) as error:
            raise InputError(_EXECUTOR_LOST.format(error_text(error))) from error
        except Exception as error:  # such as of a cluster whose workers died of it in turn
            return TaskResults(failure=TaskFailure(error_text(error), is_machine_failure=True))

    def stop(self) -> None:
        """Take back what has not begun."""
        for future in self._futures:
            future.cancel()

    end = stop
