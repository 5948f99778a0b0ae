"""Processes that compute tasks, one task at a time each, and can be asked to stop."""

from __future__ import annotations

import contextlib
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import TYPE_CHECKING, Any, final

from ukctrl.errors import InputError
from ukctrl.plugin import loaded_files, reload_files

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

REPORT_SECONDS = 0.2
"""Interval at which a worker tells how far it is, and looks whether it is to stop [s]."""
_STOP, _END = "stop", "end"


@final
class _Worker:
    """One process, as its owner sees it."""

    def __init__(self) -> None:
        # A fork of a process with threads may hang; a fresh one costs a second and never does.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=_serve, args=(theirs, loaded_files()), daemon=True
        )
        self.task: int | None = None
        self.fraction = 0.0
        self.ready = False
        with _no_interrupts():
            self.process.start()
        theirs.close()

    def end(self) -> None:
        """End the process, gently where it listens."""
        with contextlib.suppress(OSError):
            self.pipe.send(_END)
        if self.task is not None:
            self.process.terminate()
        self.process.join(1.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


@final
class Workers:
    """Some processes; none at first."""

    def __init__(self) -> None:
        self._workers: list[_Worker] = []

    def raise_to(self, count: int) -> None:
        """Start as many as are missing to that number."""
        while len(self._workers) < count:
            self._workers.append(_Worker())

    def end(self) -> None:
        """End them all."""
        while self._workers:
            self._workers.pop().end()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._workers)

    @property
    def idle(self) -> bool:
        """Whether some worker has nothing to do."""
        return any(worker.task is None for worker in self._workers)

    @property
    def busy(self) -> bool:
        """Whether some worker has something to do."""
        return any(worker.task is not None for worker in self._workers)

    def fraction(self) -> float:
        """Return how much of the tasks in progress is done, added up."""
        return sum(worker.fraction for worker in self._workers if worker.task is not None)

    def give(self, number: int, task: object) -> None:
        """Give a task to an idle worker.

        Raises:
            PicklingError: It cannot be sent to another process; so do AttributeError, TypeError.
        """
        data = pickle.dumps(task)
        worker = next(worker for worker in self._workers if worker.task is None)
        worker.task, worker.fraction = number, 0.0
        with contextlib.suppress(OSError):  # it has died: `finished` finds that out
            worker.pipe.send_bytes(data)

    def finished(self, timeout: float) -> Iterator[tuple[int, Any]]:
        """Wait for values and yield them; a worker that died is replaced, its task lost.

        Raises:
            InputError: A worker could not even start.
        """
        from ukctrl.batch.pool import Lost

        known = {worker.pipe: place for place, worker in enumerate(self._workers)}
        for pipe in wait_for(list(known), timeout):
            place = known[pipe]  # type: ignore[index]
            worker = self._workers[place]
            try:
                kind, value = worker.pipe.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                number, worker.task = worker.task, None
                worker.end()
                if not worker.ready:
                    raise InputError(_NOT_STARTED) from None
                self._workers[place] = _Worker()
                if number is not None:
                    code = worker.process.exitcode
                    yield number, Lost(f"the process that ran it died, with exit code {code}.")
                continue
            if kind == "at":
                worker.fraction = value
            elif kind == "ready":
                worker.ready = True
            elif worker.task is not None:
                number, worker.task = worker.task, None
                yield number, Lost(value) if kind == "fault" else value

    def stop(self, grace: float) -> Iterator[tuple[int, Any]]:
        """Ask all to stop, and yield what they hand over within that time [s]."""
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.pipe.send(_STOP)
        until = time.monotonic() + grace
        while self.busy and time.monotonic() < until:
            with contextlib.suppress(InputError):
                yield from self.finished(0.1)


_NOT_STARTED = (
    "a process for the runs ended before it began. A script that asks for several jobs must not "
    "start them where it is imported: put its work under `if __name__ == '__main__':`."
)


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


def _serve(pipe: Connection, files: Sequence[tuple[str, str]]) -> None:
    """Compute tasks until there are no more; the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import warnings

    warnings.simplefilter("ignore")  # what NumPy mutters of a run that diverges, its status says
    reload_files(files)
    pipe.send(("ready", None))
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            data = pipe.recv_bytes()
            message = pickle.loads(data)
            if message == _END:
                return
            if message != _STOP:  # which came too late
                pipe.send(_computed(message, pipe))


def _computed(task: Callable[[Callable[[float], None]], Any], pipe: Connection) -> tuple[str, Any]:
    from ukctrl.errors import UkctrlError

    last = 0.0

    def watch(fraction: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < REPORT_SECONDS:
            return
        last = now
        if pipe.poll():
            pipe.recv_bytes()
            raise KeyboardInterrupt
        pipe.send(("at", fraction))

    try:
        return "value", task(watch)
    except UkctrlError as error:
        return "value", _portable(error)
    except (Exception, KeyboardInterrupt) as error:
        return "fault", told(error)


def _portable(error: Exception) -> Exception:
    """Return an input error that says the same: others may not survive the journey."""
    return InputError(str(error))


def told(error: BaseException) -> str:
    """Return an error as one reads it: its kind and what it says."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
