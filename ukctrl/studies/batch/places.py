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

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.plugins import loaded_files
from ukctrl.core.own_processes import machine_failed, safe_path
from ukctrl.studies.batch.same_numbers import origin_here
from ukctrl.studies.batch.task import Delivery, Lost, Task, error_text
from ukctrl.studies.batch.worker import Board, Worker, opened, start, work

AHEAD = 2
"""What an executor is given for each of its processors: some tasks to compute, some to wait."""
MOST_STILLBORN = 20
"""So many processes may be killed in a row before they begin."""
_CAUSE = re.compile(r"(\w+)\((-?\d+)\)")
"""How loky says what a process died of: ``SIGKILL(-9)``, ``EXIT(3)``."""
_NOT_STARTED = (
    "a process for the runs ended before it began ({}). If the machine has memory enough, a script "
    "asks for several jobs where it is imported; put its work under `if __name__ == '__main__':`."
)
_NO_PROCESS = (
    "the machine cannot start a process for the runs ({}). What was recorded is kept; see to what "
    "it lacks, and go on from there."
)
_GONE = "the executor can compute no more ({})."


GRACE = 5.0
"""How long tasks that are asked to stop may take to hand over what they have [s]."""


@final
class _Owned:
    """A process or a thread, as its owner sees it.

    Args:
        executor: It computes one thing after the other, and may be ended while it does.
        board: Where it says how far it is.
        work: Computes tasks, which come as bytes, each of which may take so long [s].
    """

    def __init__(
        self, executor: Any, board: Board, work: Callable[[bytes, float | None], bytes]
    ) -> None:
        self._executor, self.board, self._work = executor, board, work
        self.future: Future[bytes] | None = None
        self.granted: float | None = None
        self.late = False

    def give(self, data: bytes, granted: float | None) -> Future[bytes]:
        """Give it tasks, each of which may take so long [s]."""
        self.board.process, self.granted = 0, granted
        with _no_interrupts(), safe_path():
            future: Future[bytes] = self._executor.submit(self._work, data, granted)
        self.future = future
        return future

    def done(self) -> float:
        """Return how many of its tasks are done; end it where one takes longer than granted."""
        board = self.board
        if self.future is None or not board.process:
            return 0.0
        if 0.0 < board.until < time.monotonic() and not (self.late or self.future.done()):
            self.late, board.stop = True, 1
            self._executor.shutdown(wait=False, kill_workers=True)
        return board.task + board.fraction

    def end(self) -> None:
        """End it, whatever it is at."""
        self._executor.shutdown(kill_workers=True)


def _process(files: Mapping[str, str]) -> _Owned:
    """Return a process, which starts with its first tasks, and reads these files of the user's."""
    # A fork of a process with threads may hang; a fresh one costs a second and never does.
    context = get_context("spawn")
    board: Board = context.RawValue(Board)
    with safe_path():  # its locks already start a process, which looks after them
        executor = ProcessPoolExecutor(
            1, context=context, initializer=start, initargs=(board, loaded_files())
        )
    return _Owned(executor, board, functools.partial(work, sender=origin_here(), read=files))


def _thread() -> _Owned:
    """Return a thread, for tasks that are machine code for most of their time."""
    board = Board()
    return _Owned(_Thread(), board, Worker(board).work)


@final
class _Thread:
    """A thread of this process as an executor of its own."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._future: Future[Any] = Future()
        self._patience = GRACE
        # One that never ends must not keep the process alive.
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[..., Any], *given: object) -> Future[Any]:
        """Have something computed."""
        self._future = Future()
        self._orders.put((self._future, functools.partial(work, *given)))
        return self._future

    def shutdown(self, *, wait: bool = True, kill_workers: bool) -> None:
        """Let it end; it cannot be killed, but what it is at can be given up."""
        self._orders.put(None)
        self._patience = self._patience if wait else 0.0
        self._thread.join(self._patience)
        if kill_workers:
            with contextlib.suppress(InvalidStateError):
                self._future.set_exception(BrokenExecutor("it was given up"))

    def _serve(self) -> None:
        # What NumPy mutters of a run that diverges; and a limit that each run would set anew.
        with np.errstate(all="ignore"), one_blas_thread():
            while (order := self._orders.get()) is not None:
                future, work = order
                with contextlib.suppress(InvalidStateError):  # it was given up meanwhile
                    try:
                        future.set_result(work())
                    except BaseException as error:
                        future.set_exception(error)


@final
class OwnWorkers:
    """Some processes, or some threads; none at first."""

    grace = GRACE

    def __init__(self, make: Callable[[], _Owned]) -> None:
        self._make = make
        self._workers: list[_Owned] = []
        self._stillborn = 0

    @staticmethod
    def processes(files: Mapping[str, str]) -> OwnWorkers:
        """Return processes: for what holds the interpreter, or may take its process along."""
        return OwnWorkers(functools.partial(_process, files))

    @staticmethod
    def threads() -> OwnWorkers:
        """Return threads: for what is machine code, and catalogue parts alone."""
        return OwnWorkers(_thread)

    @property
    def room(self) -> int:
        """How many of them there are."""
        return len(self._workers)

    def raise_to(self, count: int) -> None:
        """Have so many."""
        with _starting():
            while len(self._workers) < count:
                self._workers.append(self._make())

    def submit(self, tasks: Sequence[Task[Any]], granted: float | None) -> Future[bytes]:
        """Give tasks to one that has nothing to do.

        Raises:
            PicklingError: They cannot be sent; so do AttributeError, TypeError.
            MachineFailure: No process can be started.
        """
        data = pickle.dumps(tasks)
        place = next(k for k, worker in enumerate(self._workers) if worker.future is None)
        with _starting():
            try:
                return self._workers[place].give(data, granted)
            except RuntimeError:  # it died while it had nothing to do
                return self._replaced(place).give(data, granted)

    def _replaced(self, place: int) -> _Owned:
        self._workers[place].end()
        with _starting():
            self._workers[place] = self._make()
        return self._workers[place]

    def done(self) -> float:
        """Return how many of the tasks under way are done, and end those that take too long."""
        return sum(worker.done() for worker in self._workers)

    def delivered(self, future: Future[bytes]) -> Delivery:
        """Return what came of tasks.

        Raises:
            InputError: Their process ended itself before it began.
            MachineFailure: No process lives long enough to begin.
        """
        place = next(k for k, worker in enumerate(self._workers) if worker.future is future)
        worker, error = self._workers[place], future.exception()
        if error is None:
            worker.future, self._stillborn = None, 0
            return Delivery(*pickle.loads(future.result()))
        self._replaced(place)
        if worker.late:
            lost = Lost(f"it took longer than {worker.granted:g} s.", overdue=True)
            return Delivery(lost=lost, which=worker.board.task)
        if not isinstance(error, BrokenExecutor):  # it could not read what came, or hand over
            lost = Lost(error_text(error), machine=machine_failed(error))
            return Delivery(lost=lost, which=worker.board.task)
        cause = _cause(str(error))
        if worker.board.process:
            return Delivery(lost=Lost(cause, machine=True), which=worker.board.task)
        self._stillborn += 1
        if "exit code" in cause:
            raise InputError(_NOT_STARTED.format(cause))
        if self._stillborn > MOST_STILLBORN:  # one may have been killed for no fault of its own
            raise MachineFailure(_NO_PROCESS.format(cause))
        return Delivery()

    def stop(self) -> None:
        """Ask all to stop and hand over what they have."""
        for worker in self._workers:
            worker.board.stop = 1

    def end(self) -> None:
        """End them all."""
        self.stop()
        while self._workers:
            self._workers.pop().end()


def _cause(report: str) -> str:
    """Return in words what became of a process, of which loky reports."""
    cause = _CAUSE.search(report)
    if cause is None:
        return "its process died"
    of = f"of {cause[1]}" if int(cause[2]) < 0 else f"with exit code {cause[2]}"
    return f"its process died {of}"


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Say what it means where the system refuses a process, or what a process needs.

    Raises:
        MachineFailure: It does.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise MachineFailure(_NO_PROCESS.format(error_text(error))) from error


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it is for their owner to ask them to stop."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@final
class Elsewhere:
    """An executor that is not ours: its tasks cannot be asked to stop, and nobody sees how far.

    Args:
        executor: Where to compute.
        room: How many tasks it computes at a time.
        files: The user's files that tasks read, with digests.
    """

    grace = 0.0
    """How long to wait for what is asked to stop [s]."""

    def __init__(self, executor: Executor, room: int, files: Mapping[str, str]) -> None:
        self._executor, self.room, self._files = executor, AHEAD * room, files
        self._futures: set[Future[bytes]] = set()

    def submit(self, tasks: Sequence[Task[Any]], granted: float | None) -> Future[bytes]:
        """Give it tasks, which know themselves how long they may take.

        Raises:
            PicklingError: They cannot be sent; so do AttributeError, TypeError.
            UkctrlError: The executor has gone.
        """
        data = pickle.dumps(tasks)
        try:
            future = self._executor.submit(opened, data, loaded_files(), origin_here(), self._files)
        except UkctrlError:
            raise
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise InputError(_GONE.format(error_text(error))) from error
        self._futures.add(future)
        return future

    def done(self) -> float:
        """Return how many of the tasks under way are done: nobody knows."""
        return 0.0

    def delivered(self, future: Future[bytes]) -> Delivery:
        """Return what came of tasks.

        Raises:
            UkctrlError: It was not they that were lost, but the executor.
        """
        self._futures.discard(future)
        try:
            return Delivery(*pickle.loads(future.result()))
        except UkctrlError:
            raise
        except (BrokenExecutor, CancelledError, OSError) as error:
            raise InputError(_GONE.format(error_text(error))) from error
        except Exception as error:  # such as of a cluster whose workers died of it in turn
            return Delivery(lost=Lost(error_text(error), machine=True))

    def stop(self) -> None:
        """Take back what has not begun."""
        for future in self._futures:
            future.cancel()

    end = stop
