"""Processes that compute tasks, one task at a time each, and can be asked to stop.

Tasks are handed over several at a time where they are short; each value comes back as soon as it
is there. So the death of a process costs the task that it was at and no other.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import wait as wait_for
from typing import TYPE_CHECKING, Any, NamedTuple, final

from ukctrl.core.errors import InputError
from ukctrl.core.files.plugins import loaded_files
from ukctrl.studies.batch.worker_process import END, STOP, packed, serve

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

OVERTIME_SECONDS = 2.0
"""How much longer than granted a task may take before its process is ended [s]: most find out
themselves that they are late."""

FIRST_SECONDS = 120.0
"""How much longer the first task of a process may take until it is under way [s]: what it needs has
to be loaded, and may have to be compiled."""
MOST_STILLBORN = 20
"""So many processes may be killed in a row before they begin."""


class Lost(NamedTuple):
    """What came of a task instead of its value."""

    message: str
    died: bool = False
    """Whether it took its process along; nothing says that it would do so again."""
    overdue: bool = False
    """Whether it took longer than it was granted."""


@final
class _Worker:
    """One process, as its owner sees it."""

    def __init__(self) -> None:
        # A fork of a process with threads may hang; a fresh one costs a second and never does.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=serve, args=(theirs, loaded_files()), daemon=True
        )
        self.tasks: deque[int] = deque()
        self.since = 0.0
        self.fraction = 0.0
        self.ready = False
        self.fresh = True
        with _no_interrupts():
            self.process.start()
        theirs.close()

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return self.ready and not self.tasks

    def next(self) -> int:
        """Return the task that it was at, now that this is over, and begin with the next."""
        self.since, self.fraction, self.fresh = time.monotonic(), 0.0, False
        return self.tasks.popleft()

    def at(self, fraction: float) -> None:
        """Note how much of its task is done."""
        if self.fresh:
            self.since, self.fresh = time.monotonic(), False
        self.fraction = fraction

    def end(self) -> None:
        """End the process, gently where it listens."""
        with contextlib.suppress(OSError):
            self.pipe.send(END)
        if self.tasks:
            self.process.terminate()
        self.process.join(1.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


@final
class Workers:
    """Some processes; none at first.

    Args:
        shared: What the tasks refer to and every process is to have only once.
    """

    def __init__(self, shared: object = None) -> None:
        self._workers: list[_Worker] = []
        self._shared = shared
        self._data = b""
        self._stillborn = 0

    def raise_to(self, count: int) -> None:
        """Start as many as are missing to that number.

        Raises:
            PicklingError: What they share cannot be sent; so do AttributeError, TypeError.
        """
        self._data = self._data or pickle.dumps(self._shared)
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
        return any(worker.idle for worker in self._workers)

    @property
    def busy(self) -> bool:
        """Whether some worker has something to do."""
        return any(worker.tasks for worker in self._workers)

    def fraction(self) -> float:
        """Return how much of the tasks in progress is done, added up."""
        return sum(worker.fraction for worker in self._workers if worker.tasks)

    def give(self, numbers: Sequence[int], tasks: Sequence[object]) -> None:
        """Give some tasks to an idle worker.

        Raises:
            PicklingError: They cannot be sent to another process; so do AttributeError, TypeError.
        """
        data = packed(list(tasks), self._shared)
        worker = next(worker for worker in self._workers if worker.idle)
        worker.tasks.extend(numbers)
        worker.since, worker.fraction = time.monotonic(), 0.0
        with contextlib.suppress(OSError):  # it has died: `finished` finds that out
            worker.pipe.send_bytes(data)

    def finished(
        self, timeout: float, granted: float | None = None
    ) -> Iterator[tuple[int, Any, float]]:
        """Wait for values and yield them, each with its task and how long it took [s].

        A worker that died is replaced. Its task is lost; those that it had not begun are yielded
        with None for a time, and are to be given again.

        Args:
            timeout: How long to wait [s].
            granted: How long a task may take [s].

        Raises:
            InputError: A worker could not even start.
        """
        known = {worker.pipe: place for place, worker in enumerate(self._workers)}
        for pipe in wait_for(list(known), timeout):
            place = known[pipe]  # type: ignore[index]
            worker = self._workers[place]
            try:
                kind, value = worker.pipe.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                yield from self._buried(place)
                continue
            if kind == "at":
                worker.at(value)
            elif kind == "ready":
                worker.ready, self._stillborn = True, 0
                with contextlib.suppress(OSError):
                    worker.pipe.send_bytes(self._data)
            elif worker.tasks:
                took = time.monotonic() - worker.since
                yield worker.next(), Lost(value) if kind == "fault" else value, took
        if granted is not None:
            yield from self._late(granted)

    def _buried(self, place: int) -> Iterator[tuple[int, Any, float]]:
        """Replace a worker that died, and yield what it leaves undone."""
        worker = self._workers[place]
        numbers, took = list(worker.tasks), time.monotonic() - worker.since
        worker.tasks.clear()
        worker.end()
        code = worker.process.exitcode or 0
        if not worker.ready:
            self._stillborn += 1
            # Somebody may have killed it, which is no reason to give up at once.
            if code >= 0 or self._stillborn > MOST_STILLBORN:
                raise InputError(_NOT_STARTED)
        self._workers[place] = _Worker()
        for number in numbers[:1]:
            yield number, Lost(f"the process that ran it died, {_cause(code)}.", died=True), took
        for number in numbers[1:]:
            yield number, NOT_BEGUN, 0.0

    def _late(self, granted: float) -> Iterator[tuple[int, Any, float]]:
        """End the workers whose task takes too long, and yield what they leave undone."""
        now = time.monotonic()
        for place, worker in enumerate(self._workers):
            took = now - worker.since
            extra = OVERTIME_SECONDS + (FIRST_SECONDS if worker.fresh else 0.0)
            if not (worker.ready and worker.tasks and took > granted + extra):
                continue
            if worker.pipe.poll():  # it has something to say, perhaps that it is done
                continue
            numbers = list(worker.tasks)
            worker.process.kill()
            worker.end()
            self._workers[place] = _Worker()
            yield numbers[0], Lost(f"it took longer than {granted:g} s.", overdue=True), took
            for number in numbers[1:]:
                yield number, NOT_BEGUN, 0.0

    def stop(self, grace: float) -> Iterator[tuple[int, Any]]:
        """Ask all to stop, and yield what they hand over within that time [s]."""
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.pipe.send(STOP)
            while len(worker.tasks) > 1:  # it stops before it begins with these
                worker.tasks.pop()
        until = time.monotonic() + grace
        while self.busy and time.monotonic() < until:
            with contextlib.suppress(InputError):
                yield from ((number, value) for number, value, _ in self.finished(0.1))


def _cause(code: int) -> str:
    """Return what a process died of, in words."""
    names = {int(each): each.name for each in signal.Signals}
    return f"of signal {names[-code]}" if -code in names else f"with exit code {code}"


@final
class NotBegun:
    """Said of a task that a worker had not begun when it died."""


NOT_BEGUN = NotBegun()
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
