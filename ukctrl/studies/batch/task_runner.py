"""Tasks over threads or processes: one after the other, or several at a time, the same answers.

Every task is a function of what it holds and of nothing else, so how many run at a time changes
nothing but the time it takes. What becomes of a machine is no value of a task: a process that dies
loses its own task and no other, and that is computed again.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Generic, Self, TypeVar, final

from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.environment_fingerprint import input_file_digests
from ukctrl.studies.batch.executors import ExternalExecutor, LocalWorkers
from ukctrl.studies.batch.task import (
    BatchTask,
    ProgressCallback,
    RetryPolicy,
    TaskFailure,
    TaskResults,
    run_task,
)
from ukctrl.studies.batch.thread_safety import are_thread_safe
from ukctrl.studies.batch.worker import PICKLE_ERRORS

T = TypeVar("T")

POLL_SECONDS = 0.1
"""Interval at which one looks whether the user wants to stop [s]."""
SMOOTHING = 0.9
"""How much of the mean duration of a task stays when another one has ended."""
MAX_CONSECUTIVE_FAILURES = 20
"""So many tasks in a row may fail again with nothing beside them; then no other is tried again."""
CHUNKS_PER_WORKER = 4
"""What is left is dealt out in so many shares for each process, so that all end together."""


@final
class TaskRunner:
    """Whoever computes tasks: this process, several, or somebody else's executor.

    A context, which ends the threads and processes it has started; they serve one `run` after
    another.

    Args:
        jobs: How many tasks at a time; None: as many as there are processors.
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
        care: RetryPolicy | None = None,
        files: Mapping[str, str] | None = None,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"jobs must be at least 1; got {jobs}.")
        if executor is not None and jobs not in (1, None):
            raise InputError(f"give jobs or an executor, and not both; got {jobs} and an executor.")
        self._jobs = jobs
        self.policy = care or RetryPolicy()
        """How it treats its tasks."""
        self.may_use_threads = executor is None and jobs != 1
        """Whether it has a choice between threads and processes."""
        self._external = (
            ExternalExecutor(executor, room or _cpu_count(), files or {}) if executor else None
        )
        self._files, self._local = files or {}, dict[bool, LocalWorkers]()

    @classmethod
    @contextlib.contextmanager
    def of_scenarios(
        cls,
        scenarios: Sequence[Scenario],
        jobs: int | None,
        executor: Executor | None,
        capacity: int | None,
        resume_advice: str,
    ) -> Iterator[Self]:
        """Yield who simulates scenarios and such as differ from them in numbers alone: in threads
        where they suit.

        Raises:
            InputError: As for the class.
            KeyboardInterrupt: The user has stopped it.
        """
        care = RetryPolicy(resume_advice=resume_advice)
        files = {} if executor is None and jobs == 1 else input_file_digests(scenarios)
        with cls(jobs, executor, room=capacity, care=care, files=files) as runner:
            if runner.may_use_threads and are_thread_safe(scenarios, runner):
                runner.policy = dc.replace(care, thread_safe=True)
            yield runner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for workers in self._local.values():
            workers.end()

    def run(
        self,
        tasks: Sequence[BatchTask[T | None]],
        take: Callable[[int, T | TaskFailure], None],
        progress: ProgressCallback | None = None,
        *,
        care: RetryPolicy | None = None,
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
        batch = _TaskBatch(tasks, take, progress or _no_progress, care or self.policy)
        finished = self._dispatch(batch, range(len(tasks)))
        if finished and batch.failed:
            raise MachineFailure(_failure_text(batch))
        return finished

    def _dispatch(self, batch: _TaskBatch[T], chosen: Sequence[int]) -> bool:
        if self._external is not None:
            return batch.run_on(self._external, chosen)
        care, several = batch.policy, self._jobs != 1 and len(chosen) > 1
        threads = care.thread_safe and not care.in_processes
        if not (several or care.in_processes or (threads and care.timeout is not None)):
            return batch.run_serially(chosen)
        if threads not in self._local:
            self._local[threads] = LocalWorkers(threads, self._files)
        workers = self._local[threads]
        workers.scale_to(min(self._jobs or _cpu_count(), len(chosen)))
        return batch.run_on(workers, chosen)


class _TaskBatch(Generic[T]):
    """Tasks to compute together."""

    def __init__(
        self,
        tasks: Sequence[BatchTask[T | None]],
        take: Callable[[int, T | TaskFailure], None],
        report: ProgressCallback,
        care: RetryPolicy,
    ) -> None:
        self.tasks, self.policy = tasks, care
        self._on_result, self._report = take, report
        self._done = 0
        self.failed: dict[int, str] = {}
        """Tasks at which the machine has failed for good, and how."""

    def run_serially(self, chosen: Sequence[int]) -> bool:
        """Compute some here, one after the other; return whether all were."""
        queue, interrupt = _RetryQueue(chosen, 1, RetryPolicy(), self.failed), False

        def watch(fraction: float) -> None:
            nonlocal interrupt
            try:
                self._report(self._done + min(max(fraction, 0.0), 1.0), len(self.tasks))
            except KeyboardInterrupt:
                interrupt = True
                raise

        try:
            while queue and not interrupt:
                numbers = queue.next(alone=True)
                value = run_task(self.tasks[numbers[0]], watch)
                self._deliver(queue, numbers, TaskResults([value]))
                self._report(self._done, len(self.tasks))
        except KeyboardInterrupt:
            return False
        return not interrupt

    def run_on(self, executor: LocalWorkers | ExternalExecutor, chosen: Sequence[int]) -> bool:
        """Compute some in another place, as many at a time as it has room for."""
        queue = _RetryQueue(chosen, executor.slots, self.policy, self.failed)
        under_way: dict[Future[bytes], list[int]] = {}
        unsendable: list[int] = []
        try:
            while queue or under_way:
                while len(under_way) < executor.slots:
                    numbers = queue.next(alone=not under_way)
                    if not numbers:
                        break
                    some = [self.tasks[k] for k in numbers]
                    try:
                        under_way[executor.submit(some, self.policy.timeout)] = numbers
                    except PICKLE_ERRORS:
                        unsendable += numbers
                for future in wait(under_way, POLL_SECONDS, FIRST_COMPLETED).done:
                    self._deliver(queue, under_way.pop(future), executor.result(future))
                self._report(self._done + executor.progress(), len(self.tasks))
        except KeyboardInterrupt:
            executor.stop()
            for future in wait(under_way, executor.grace).done:
                with contextlib.suppress(KeyboardInterrupt, UkctrlError):
                    self._deliver(queue, under_way[future], executor.result(future))
            executor.end()
            return False
        except BaseException:
            executor.end()
            raise
        return self.run_serially(unsendable)

    def _deliver(self, queue: _RetryQueue, numbers: Sequence[int], delivery: TaskResults) -> None:
        """Hand over what came of tasks.

        Raises:
            UkctrlError: One has raised it; KeyboardInterrupt: one was stopped, and has no value.
        """
        for k, value in queue.process_results(numbers, delivery):
            if isinstance(value, UkctrlError):
                raise value
            if value is None:
                raise KeyboardInterrupt
            self._done += 1
            self._on_result(k, value)


def _cpu_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _failure_text(batch: _TaskBatch[Any]) -> str:
    """Return in words at what the machine has failed."""
    number, message = min(batch.failed.items())
    more = f" (and {len(batch.failed) - 1} more)" if len(batch.failed) > 1 else ""
    return (
        f"the machine failed at {batch.tasks[number]}{more}, and again with nothing beside it: "
        f"{message.rstrip('.')}. Nothing is recorded of it, and the others are done. See to what "
        f"ends processes here, such as a lack of memory, and {batch.policy.resume_advice}."
    )


def _no_progress(done: float, total: float) -> None:
    """Show no progress."""


@final
class _RetryQueue:
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
        self, numbers: Sequence[int], jobs: int, care: RetryPolicy, failed: dict[int, str]
    ) -> None:
        self._waiting, self._retry_alone, self._retried = deque(numbers), deque[int](), set[int]()
        self._jobs, self._policy, self._failed = jobs, care, failed
        self._mean_seconds: float | None = None
        self._consecutive_failures = 0

    def __bool__(self) -> bool:
        return bool(self._waiting or self._retry_alone)

    def next(self, *, alone: bool) -> list[int]:
        """Return what to hand over next; nothing where that is to wait until nothing is under way.

        Args:
            alone: Whether nothing is.
        """
        if not self._waiting:
            return [self._retry_alone.popleft()] if self._retry_alone and alone else []
        size = 1
        if self._mean_seconds is not None and self._policy.chunk_seconds > 0.0:
            size = int(min(self._policy.chunk_seconds / max(self._mean_seconds, 1e-6), 1e6))
        size = max(1, min(size, len(self._waiting) // (CHUNKS_PER_WORKER * self._jobs)))
        return [self._waiting.popleft() for _ in range(size)]

    def process_results(
        self, numbers: Sequence[int], delivery: TaskResults
    ) -> Iterator[tuple[int, Any]]:
        """Yield tasks with their values, and take back those that are to be computed again."""
        whole = len(delivery.values)
        if whole:
            seconds = delivery.seconds / whole
            mean = seconds if self._mean_seconds is None else self._mean_seconds
            self._mean_seconds = SMOOTHING * mean + (1.0 - SMOOTHING) * seconds
        ended: list[tuple[int, Any]] = list(zip(numbers, delivery.values, strict=False))
        tail, lost = list(numbers[whole:]), delivery.failure
        if lost is not None and delivery.failed_index is None:  # one of them is to blame, perhaps
            ended += [(k, lost) for k in tail]
            tail = []
        elif lost is not None and delivery.failed_index is not None:
            ended.append((tail.pop(delivery.failed_index), lost))
        self._waiting.extendleft(reversed(tail))
        for k, value in ended:
            if not (isinstance(value, TaskFailure) and value.is_machine_failure):
                self._consecutive_failures = 0
                yield k, value
            elif k not in self._retried:
                self._retried.add(k)
                self._retry_alone.append(k)
            else:
                self._failed[k] = value.message
                self._consecutive_failures += 1
                # such as for a disk that is full
                if self._consecutive_failures == MAX_CONSECUTIVE_FAILURES:
                    self._failed.update(dict.fromkeys(self._retry_alone, value.message))
                    self._retry_alone.clear()
