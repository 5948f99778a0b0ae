"""Tasks over processes: one after the other, or several at a time, with the same answers.

Every task is a function of what it holds and of nothing else, so how many run at a time changes
nothing but the time it takes. A process that dies loses its own task and no other.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Generic, NamedTuple, Self, TypeVar, final

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.studies.batch.executor import Elsewhere
from ukctrl.studies.batch.processes import Processes
from ukctrl.studies.batch.queue import Queue
from ukctrl.studies.batch.task import Care, Lost, Progress, Task, error_text
from ukctrl.studies.batch.worker import UNSENDABLE

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Interval at which one looks whether the user wants to stop [s]."""
WORTH_SECONDS = 4.0
"""Processes are started by themselves where they save more than this [s]; starting them costs
about one."""


@final
class Crew:
    """Whoever computes tasks: this process, several, or somebody else's executor.

    A context, which ends the processes it has started; they serve one `gather` after another.

    Args:
        jobs: How many tasks at a time; None: as many as there are processors, where that pays.
        executor: Where to compute them instead, such as a cluster's executor.
        room: How many tasks the executor computes at a time; absent: as many as here.
        care: How to treat tasks that may go wrong.
        shared: What all tasks refer to, so that each process gets it only once.

    Raises:
        InputError: The number of jobs is not positive, or both are given.
    """

    def __init__(
        self,
        jobs: int | None = 1,
        executor: Executor | None = None,
        *,
        room: int | None = None,
        care: Care | None = None,
        shared: object = None,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}.")
        if executor is not None and jobs not in (1, None):
            raise InputError(f"give jobs or an executor, and not both; got {jobs} and an executor.")
        self._jobs = jobs
        self.care = care or Care()
        """How it treats its tasks."""
        self._elsewhere = Elsewhere(executor, room or _processors()) if executor else None
        self._processes = Processes(shared)
        self._missed = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._processes.end()

    def gather(
        self,
        tasks: Sequence[Task[T | None]],
        take: Callable[[int, T | Lost], None],
        progress: Progress | None = None,
        *,
        care: Care | None = None,
    ) -> bool:
        """Compute tasks and hand over each value as soon as it is there; return whether all were.

        Ctrl-C ends it with what there is: tasks in progress are asked to stop and hand over what
        they have. So does a `KeyboardInterrupt` that ``take`` raises, of a task that was stopped.

        Args:
            tasks: What to compute.
            take: Called in this process with the number of a task and its value.
            progress: Called with how many tasks are done and how many there are.
            care: How to treat these tasks; absent: as all others.

        Raises:
            UkctrlError: A task raised it; the others are given up.
        """
        batch = _Batch(tasks, take, progress or _silent, care or self.care)
        chosen = range(len(tasks))
        if self._elsewhere is not None:
            return batch.over(self._elsewhere, chosen)
        if not batch.care.isolated and self._jobs is None:
            return self._as_it_pays(batch)
        if not batch.care.isolated and (self._jobs == 1 or len(tasks) < 2):
            return batch.in_turn(chosen)
        return self._over_processes(batch, chosen)

    def _as_it_pays(self, batch: _Batch[T]) -> bool:
        """Compute the first task here, and the others in processes if that took long.

        What processes would have saved adds up from one call to the next; once they are there, all
        tasks are theirs.
        """
        chosen = range(len(batch.tasks))
        if self._processes.room and len(chosen) > 1:
            return self._over_processes(batch, chosen)
        began = time.perf_counter()
        if not batch.in_turn(chosen[:1]):
            return False
        rest = chosen[1:]
        rounds = -(-len(rest) // _processors())
        self._missed += (time.perf_counter() - began) * (len(rest) - rounds)
        if self._missed < WORTH_SECONDS:
            return batch.in_turn(rest)
        return self._over_processes(batch, rest)

    def _over_processes(self, batch: _Batch[T], chosen: Sequence[int]) -> bool:
        try:
            self._processes.raise_to(min(self._jobs or _processors(), len(chosen)))
        except UNSENDABLE:
            return batch.in_turn(chosen)
        return batch.over(self._processes, chosen)


class _Batch(NamedTuple, Generic[T]):
    """Tasks to compute together."""

    tasks: Sequence[Task[T | None]]
    take: Callable[[int, T | Lost], None]
    report: Progress
    care: Care

    def in_turn(self, chosen: Sequence[int]) -> bool:
        """Compute some here, one after the other; return whether all were."""
        asked = False
        for k in chosen:

            def watch(fraction: float, done: int = k) -> None:
                nonlocal asked
                try:
                    self.report(done + min(max(fraction, 0.0), 1.0), len(self.tasks))
                except KeyboardInterrupt:
                    asked = True
                    raise

            try:
                try:
                    value: T | Lost | None = self.tasks[k](watch)
                except UkctrlError:
                    raise
                except Exception as error:
                    value = Lost(error_text(error))
                self.take(k, _raised(value))
                self.report(k + 1, len(self.tasks))
            except KeyboardInterrupt:
                return False
            if asked:
                return False
        return True

    def over(self, place: Processes | Elsewhere, chosen: Sequence[int]) -> bool:
        """Compute some in another place, as many at a time as it has room for."""
        queue = Queue(chosen, place.room, self.care)
        under_way: dict[Future[bytes], list[int]] = {}
        unsendable: list[int] = []
        done = len(self.tasks) - len(chosen)
        try:
            while queue or under_way:
                while queue and len(under_way) < place.room:
                    numbers = queue.next()
                    try:
                        future = place.submit([self.tasks[k] for k in numbers], self.care.timeout)
                        under_way[future] = numbers
                    except UNSENDABLE:
                        unsendable += numbers
                for future in wait(under_way, LOOK_SECONDS, FIRST_COMPLETED).done:
                    delivery = place.delivered(future)
                    for k, value in queue.settle(under_way.pop(future), delivery):
                        done += 1
                        self.take(k, _raised(value))
                self.report(done + place.done(), len(self.tasks))
        except KeyboardInterrupt:
            place.stop()
            for future in wait(under_way, place.grace).done:
                with contextlib.suppress(KeyboardInterrupt, UkctrlError):
                    values = place.delivered(future).values
                    for k, value in zip(under_way[future], values, strict=False):
                        self.take(k, _raised(value))
            place.end()
            return False
        except BaseException:
            place.end()
            raise
        return self.in_turn(unsendable)


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _raised(value: Any) -> Any:
    """Return a value, unless it says that the task failed or was stopped.

    Raises:
        UkctrlError: The task has raised it.
        KeyboardInterrupt: The task was stopped, and has nothing to hand over.
    """
    if isinstance(value, UkctrlError):
        raise value
    if value is None:
        raise KeyboardInterrupt
    return value


def _silent(done: float, total: float) -> None:
    """Show no progress."""
