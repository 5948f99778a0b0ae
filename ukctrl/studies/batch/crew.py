"""Tasks over processes: one after the other, or several at a time, with the same answers.

Every task is a function of what it holds and of nothing else, so how many run at a time changes
nothing but the time it takes. A process that dies loses its own task and no other. The processes
are ours and not those of `concurrent.futures.ProcessPoolExecutor`, in which the death of one
loses the tasks of all, and a task cannot be asked to stop and hand over what it has.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from types import TracebackType
from typing import Any, Self, TypeVar, final

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.studies.batch.executor import elsewhere
from ukctrl.studies.batch.queue import Queue
from ukctrl.studies.batch.task import LOOK_SECONDS, Care, Progress, Task, Watch
from ukctrl.studies.batch.worker_process import told
from ukctrl.studies.batch.workers import Lost, NotBegun, Workers

T = TypeVar("T")

UNSENDABLE = (pickle.PicklingError, AttributeError, TypeError)
"""What pickle raises of an object that no other process can have."""
WORTH_SECONDS = 4.0
"""Processes are started by themselves where they save more than this [s]; starting them costs
about one."""
GRACE_SECONDS = 5.0
"""How long tasks that are asked to stop may take to hand over what they have [s]."""


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
        self._jobs, self._executor = jobs, executor
        self._room = room or _processors()
        self.care = care or Care()
        """How it treats its tasks."""
        self._workers = Workers(shared)
        self._missed = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._workers.end()

    def gather(
        self,
        tasks: Sequence[Task[T]],
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
        report, care = progress or _silent, care or self.care
        if self._executor is not None:
            return elsewhere(tasks, take, self._executor, report, self._room, care)
        chosen = list(range(len(tasks)))
        if care.isolated:
            jobs = self._jobs or _processors()
            return self._in_processes(tasks, take, report, chosen, jobs, care)
        if self._jobs is None:
            return self._as_it_pays(tasks, take, report, care)
        if self._jobs == 1 or len(tasks) < 2:
            return _in_turn(tasks, take, report, chosen)
        return self._in_processes(tasks, take, report, chosen, self._jobs, care)

    def _as_it_pays(
        self,
        tasks: Sequence[Task[T]],
        take: Callable[[int, T | Lost], None],
        report: Progress,
        care: Care,
    ) -> bool:
        """Compute the first task here, and the others in processes if that took long.

        What processes would have saved adds up from one call to the next; once they are there, all
        tasks are theirs.
        """
        cores = _processors()
        if self._workers.count and len(tasks) > 1:
            chosen = list(range(len(tasks)))
            return self._in_processes(tasks, take, report, chosen, cores, care)
        began = time.perf_counter()
        if not _in_turn(tasks, take, report, range(min(1, len(tasks)))):
            return False
        rest = list(range(1, len(tasks)))
        self._missed += (time.perf_counter() - began) * (len(rest) - -(-len(rest) // cores))
        if self._missed < WORTH_SECONDS:
            return _in_turn(tasks, take, report, rest)
        return self._in_processes(tasks, take, report, rest, cores, care)

    def _in_processes(
        self,
        tasks: Sequence[Task[T]],
        take: Callable[[int, T | Lost], None],
        report: Progress,
        chosen: list[int],
        jobs: int,
        care: Care,
    ) -> bool:
        workers = self._workers
        queue, here = Queue(chosen, jobs, care), []
        done = len(tasks) - len(chosen)
        try:
            workers.raise_to(min(jobs, len(chosen)))
        except UNSENDABLE:
            return _in_turn(tasks, take, report, chosen)
        try:
            while queue or workers.busy:
                while queue and workers.idle:
                    numbers = queue.next()
                    try:
                        workers.give(numbers, [tasks[k] for k in numbers])
                    except UNSENDABLE:
                        here += numbers  # no other process can have them
                for k, value, took in workers.finished(LOOK_SECONDS, care.timeout):
                    if isinstance(value, NotBegun):
                        queue.again(k)
                    elif not (isinstance(value, Lost) and queue.retry(k, value)):
                        queue.took(took)
                        done += 1
                        take(k, _value(value))
                report(done + workers.fraction(), len(tasks))
        except KeyboardInterrupt:
            for k, value in workers.stop(GRACE_SECONDS):
                with contextlib.suppress(KeyboardInterrupt, UkctrlError):
                    take(k, _value(value))
            workers.end()
            return False
        except BaseException:
            workers.end()
            raise
        return _in_turn(tasks, take, report, here)


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _in_turn(
    tasks: Sequence[Task[T]],
    take: Callable[[int, T | Lost], None],
    report: Progress,
    chosen: Sequence[int],
) -> bool:
    count = len(tasks)
    asked = False
    for k in chosen:

        def watch(fraction: float, done: int = k) -> None:
            nonlocal asked
            try:
                report(done + min(max(fraction, 0.0), 1.0), count)
            except KeyboardInterrupt:
                asked = True
                raise

        try:
            take(k, _made(tasks[k], watch))
            report(k + 1, count)
        except KeyboardInterrupt:
            return False
        if asked:
            return False
    return True


def _made(task: Task[T], watch: Watch) -> T | Lost:
    try:
        return task(watch)
    except UkctrlError:
        raise
    except Exception as error:
        return Lost(told(error))


def _value(value: Any) -> Any:
    if isinstance(value, UkctrlError):
        raise value
    return value


def _silent(done: float, total: float) -> None:
    """Show no progress."""
