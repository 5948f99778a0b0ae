"""Tasks over threads or processes: one after the other, or several at a time, the same answers.

Every task is a function of what it holds and of nothing else, so how many run at a time changes
nothing but the time it takes. What becomes of a machine is no value of a task: a process that dies
loses its own task and no other, and that is computed again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Generic, Self, TypeVar, final

from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.studies.batch.places import Elsewhere, OwnWorkers
from ukctrl.studies.batch.task import Care, Delivery, Lost, Progress, Task
from ukctrl.studies.batch.worker import UNSENDABLE, value_of

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Interval at which one looks whether the user wants to stop [s]."""
WORTH_SECONDS = 4.0
"""Processes are started by themselves where they save more than this [s]; starting them costs
about one."""
MEMORY = 0.9
"""How much of the mean duration of a task stays when another one has ended."""
MOST_FAILED = 20
"""So many tasks in a row may fail again with nothing beside them; then no other is tried again."""
SHARES = 4
"""What is left is dealt out in so many shares for each process, so that all end together."""


@final
class Crew:
    """Whoever computes tasks: this process, several, or somebody else's executor.

    A context, which ends the threads and processes it has started; they serve one `gather` after
    another.

    Args:
        jobs: How many tasks at a time; None: as many as there are processors, where that pays.
        executor: Where to compute them instead, such as a cluster's executor.
        room: How many tasks the executor computes at a time; absent: as many as here.
        care: How to treat tasks that may go wrong.
        files: The user's files that tasks read, with digests; a process to which they are others is
            refused.

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
        files: Mapping[str, str] | None = None,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}.")
        if executor is not None and jobs not in (1, None):
            raise InputError(f"give jobs or an executor, and not both; got {jobs} and an executor.")
        self._jobs = jobs
        self.care = care or Care()
        """How it treats its tasks."""
        self.chooses = executor is None and jobs != 1
        """Whether it has a choice between threads and processes."""
        self._elsewhere = (
            Elsewhere(executor, room or _processors(), files or {}) if executor else None
        )
        self._processes, self._threads = OwnWorkers.processes(files or {}), OwnWorkers.threads()
        self._missed = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.end()
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
            MachineFailure: The machine failed at some tasks, and again with nothing beside them.
                All others are done.
        """
        batch = _Batch(tasks, take, progress or _silent, care or self.care)
        finished = self._computed(batch, range(len(tasks)))
        if finished and batch.failed:
            raise MachineFailure(_failure(batch))
        return finished

    def _computed(self, batch: _Batch[T], chosen: Sequence[int]) -> bool:
        if self._elsewhere is not None:
            return batch.over(self._elsewhere, chosen)
        care, several = batch.care, self._jobs != 1 and len(chosen) > 1
        if care.isolated:
            return self._over(self._processes, batch, chosen)
        if care.compiled and (several or care.timeout is not None):
            return self._over(self._threads, batch, chosen)
        if not several:
            return batch.in_turn(chosen)
        if self._jobs is None:
            return self._as_it_pays(batch, chosen)
        return self._over(self._processes, batch, chosen)

    def _as_it_pays(self, batch: _Batch[T], chosen: Sequence[int]) -> bool:
        """Compute the first task here, and the others in processes if that took long.

        What processes would have saved adds up from one call to the next; once they are there, all
        tasks are theirs.
        """
        if self._processes.room and len(chosen) > 1:
            return self._over(self._processes, batch, chosen)
        began = time.perf_counter()
        if not batch.in_turn(chosen[:1]):
            return False
        rest = chosen[1:]
        rounds = -(-len(rest) // _processors())
        self._missed += (time.perf_counter() - began) * (len(rest) - rounds)
        if self._missed < WORTH_SECONDS:
            return batch.in_turn(rest)
        return self._over(self._processes, batch, rest)

    def _over(self, workers: OwnWorkers, batch: _Batch[T], chosen: Sequence[int]) -> bool:
        workers.raise_to(min(self._jobs or _processors(), len(chosen)))
        return batch.over(workers, chosen)


class _Batch(Generic[T]):
    """Tasks to compute together."""

    def __init__(
        self,
        tasks: Sequence[Task[T | None]],
        take: Callable[[int, T | Lost], None],
        report: Progress,
        care: Care,
    ) -> None:
        self.tasks, self.care = tasks, care
        self._take, self._report = take, report
        self._done = 0
        self.failed: dict[int, str] = {}
        """Tasks at which the machine has failed for good, and how."""

    def in_turn(self, chosen: Sequence[int]) -> bool:
        """Compute some here, one after the other; return whether all were."""
        queue, asked = _Queue(chosen, 1, Care(), self.failed), False

        def watch(fraction: float) -> None:
            nonlocal asked
            try:
                self._report(self._done + min(max(fraction, 0.0), 1.0), len(self.tasks))
            except KeyboardInterrupt:
                asked = True
                raise

        try:
            while queue and not asked:
                numbers = queue.next(alone=True)
                value = value_of(self.tasks[numbers[0]], watch)
                self._settle(queue, numbers, Delivery([value]))
                self._report(self._done, len(self.tasks))
        except KeyboardInterrupt:
            return False
        return not asked

    def over(self, place: OwnWorkers | Elsewhere, chosen: Sequence[int]) -> bool:
        """Compute some in another place, as many at a time as it has room for."""
        queue = _Queue(chosen, place.room, self.care, self.failed)
        under_way: dict[Future[bytes], list[int]] = {}
        unsendable: list[int] = []
        try:
            while queue or under_way:
                while len(under_way) < place.room:
                    numbers = queue.next(alone=not under_way)
                    if not numbers:
                        break
                    try:
                        future = place.submit([self.tasks[k] for k in numbers], self.care.timeout)
                        under_way[future] = numbers
                    except UNSENDABLE:
                        unsendable += numbers
                for future in wait(under_way, LOOK_SECONDS, FIRST_COMPLETED).done:
                    self._settle(queue, under_way.pop(future), place.delivered(future))
                self._report(self._done + place.done(), len(self.tasks))
        except KeyboardInterrupt:
            place.stop()
            for future in wait(under_way, place.grace).done:
                with contextlib.suppress(KeyboardInterrupt, UkctrlError):
                    self._settle(queue, under_way[future], place.delivered(future))
            place.end()
            return False
        except BaseException:
            place.end()
            raise
        return self.in_turn(unsendable)

    def _settle(self, queue: _Queue, numbers: Sequence[int], delivery: Delivery) -> None:
        """Hand over what came of tasks.

        Raises:
            UkctrlError: One has raised it; KeyboardInterrupt: one was stopped, and has no value.
        """
        for k, value in queue.settle(numbers, delivery):
            if isinstance(value, UkctrlError):
                raise value
            if value is None:
                raise KeyboardInterrupt
            self._done += 1
            self._take(k, value)


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _failure(batch: _Batch[Any]) -> str:
    """Return in words at what the machine has failed."""
    number, message = min(batch.failed.items())
    more = f" (and {len(batch.failed) - 1} more)" if len(batch.failed) > 1 else ""
    return (
        f"the machine failed at {batch.tasks[number]}{more}, and again with nothing beside it: "
        f"{message.rstrip('.')}. Nothing is recorded of it, and the others are done. See to what "
        f"ends processes here, such as a lack of memory, and {batch.care.go_on}."
    )


def _silent(done: float, total: float) -> None:
    """Show no progress."""


@final
class _Queue:
    """Tasks by number, and which are computed next.

    A task whose machine failed is tried again when all others are done, with nothing beside it: the
    fault may have been a neighbour's that took all memory, or nobody's. One that fails again then
    has no value, and nothing is said of it.

    Args:
        numbers: The tasks, in order.
        jobs: How many are computed at a time.
        care: How much is handed over at a time.
        failed: Where to note at which tasks the machine has failed again, and how.
    """

    def __init__(
        self, numbers: Sequence[int], jobs: int, care: Care, failed: dict[int, str]
    ) -> None:
        self._waiting, self._apart, self._suspects = deque(numbers), deque[int](), set[int]()
        self._jobs, self._care, self._failed = jobs, care, failed
        self._mean: float | None = None
        self._in_a_row = 0

    def __bool__(self) -> bool:
        return bool(self._waiting or self._apart)

    def next(self, *, alone: bool) -> list[int]:
        """Return what to hand over next; nothing where that is to wait until nothing is under way.

        Args:
            alone: Whether nothing is.
        """
        if not self._waiting:
            return [self._apart.popleft()] if self._apart and alone else []
        size = 1
        if self._mean is not None and self._care.batch > 0.0:
            size = int(min(self._care.batch / max(self._mean, 1e-6), 1e6))
        size = max(1, min(size, len(self._waiting) // (SHARES * self._jobs)))
        return [self._waiting.popleft() for _ in range(size)]

    def settle(self, numbers: Sequence[int], delivery: Delivery) -> Iterator[tuple[int, Any]]:
        """Yield tasks with their values, and take back those that are to be computed again."""
        whole = len(delivery.values)
        if whole:
            seconds = delivery.seconds / whole
            mean = seconds if self._mean is None else self._mean
            self._mean = MEMORY * mean + (1.0 - MEMORY) * seconds
        ended: list[tuple[int, Any]] = list(zip(numbers, delivery.values, strict=False))
        rest, lost = list(numbers[whole:]), delivery.lost
        if lost is not None and delivery.which is None:  # one of them is to blame, perhaps
            ended += [(k, lost) for k in rest]
            rest = []
        elif lost is not None and delivery.which is not None:
            ended.append((rest.pop(delivery.which), lost))
        self._waiting.extendleft(reversed(rest))
        for k, value in ended:
            if not (isinstance(value, Lost) and value.machine):
                self._in_a_row = 0
                yield k, value
            elif k not in self._suspects:
                self._suspects.add(k)
                self._apart.append(k)
            else:
                self._failed[k] = value.message
                self._in_a_row += 1
                if self._in_a_row == MOST_FAILED:  # such as for a disk that is full
                    self._failed.update(dict.fromkeys(self._apart, value.message))
                    self._apart.clear()
