"""Tasks over processes: one after the other, or several at a time, with the same answers.

Every task is a function of what it holds and of nothing else, so how many run at a time changes
nothing but the time it takes. A process that dies loses its own task and no other.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Generic, NamedTuple, Self, TypeVar, final

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.studies.batch.places import Elsewhere, Processes
from ukctrl.studies.batch.task import Care, Delivery, Lost, Progress, Task, error_text
from ukctrl.studies.batch.worker import UNSENDABLE

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Interval at which one looks whether the user wants to stop [s]."""
WORTH_SECONDS = 4.0
"""Processes are started by themselves where they save more than this [s]; starting them costs
about one."""
MEMORY = 0.9
"""How much of the mean duration of a task stays when another one has ended."""
RETRIES = 1
"""How often a task that was lost with its process is tried again, after all others: the process may
have been killed for no fault of the task."""
SHARES = 4
"""What is left is dealt out in so many shares for each process, so that all end together."""


@final
class Crew:
    """Whoever computes tasks: this process, several, or somebody else's executor.

    A context, which ends the processes it has started; they serve one `gather` after another.

    Args:
        jobs: How many tasks at a time; None: as many as there are processors, where that pays.
        executor: Where to compute them instead, such as a cluster's executor.
        room: How many tasks the executor computes at a time; absent: as many as here.
        care: How to treat tasks that may go wrong.

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
    ) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}.")
        if executor is not None and jobs not in (1, None):
            raise InputError(f"give jobs or an executor, and not both; got {jobs} and an executor.")
        self._jobs = jobs
        self.care = care or Care()
        """How it treats its tasks."""
        self._elsewhere = Elsewhere(executor, room or _processors()) if executor else None
        self._processes = Processes()
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
        self._processes.raise_to(min(self._jobs or _processors(), len(chosen)))
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
        queue = _Queue(chosen, place.room, self.care)
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


@final
class _Queue:
    """Tasks by number, those that were lost last.

    Args:
        numbers: The tasks, in order.
        jobs: How many are computed at a time.
        care: How often one is tried again, and how much is handed over at a time.
    """

    def __init__(self, numbers: Sequence[int], jobs: int, care: Care) -> None:
        self._waiting, self._apart = deque(numbers), deque[int]()
        self._tried: dict[int, int] = {}
        self._jobs, self._care = jobs, care
        self._mean: float | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting or self._apart)

    def next(self) -> list[int]:
        """Return what to hand over next."""
        if not self._waiting:
            return [self._apart.popleft()]
        size = 1
        if self._mean is not None and self._care.batch > 0.0:
            size = int(min(self._care.batch / max(self._mean, 1e-6), 1e6))
        size = max(1, min(size, len(self._waiting) // (SHARES * self._jobs)))
        return [self._waiting.popleft() for _ in range(size)]

    def settle(self, numbers: Sequence[int], delivery: Delivery) -> Iterator[tuple[int, Any]]:
        """Yield tasks with their values, and take back those that are to be computed again.

        What becomes of a task whose process died is said here alone: it is tried again, after all
        others. The process may have been killed for no fault of the task; if it was the task's,
        the others are done by then.
        """
        whole = len(delivery.values)
        if whole:
            seconds = delivery.seconds / whole
            mean = seconds if self._mean is None else self._mean
            self._mean = MEMORY * mean + (1.0 - MEMORY) * seconds
        yield from zip(numbers, delivery.values, strict=False)
        rest, lost = list(numbers[whole:]), delivery.lost
        if lost is None or not rest:
            self._waiting.extendleft(reversed(rest))
        elif delivery.which is None and len(rest) > 1:  # one of them is to blame, perhaps
            self._apart.extend(rest)
        else:
            blamed = rest.pop(delivery.which or 0)
            self._waiting.extendleft(reversed(rest))
            if self._may_retry(blamed, lost):
                self._apart.append(blamed)
            else:
                yield blamed, lost

    def _may_retry(self, number: int, lost: Lost) -> bool:
        tried = self._tried.get(number, 0)
        self._tried[number] = tried + 1
        return lost.died and tried < RETRIES
