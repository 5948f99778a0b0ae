"""Tasks in somebody else's executor, such as a cluster's."""

from __future__ import annotations

import dataclasses as dc
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import Any, TypeVar, final

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files.plugins import loaded_files, reload_files
from ukctrl.studies.batch.queue import Queue
from ukctrl.studies.batch.task import LOOK_SECONDS, Care, Progress, Task
from ukctrl.studies.batch.worker_process import told
from ukctrl.studies.batch.workers import Lost

T = TypeVar("T")

AHEAD = 2
"""Parcels that the executor is given for each of its processors: one to compute, one to wait."""


@final
@dc.dataclass(frozen=True)
class _Parcel:
    """Some tasks that are computed one after the other, wherever that is."""

    data: bytes
    files: tuple[tuple[str, str], ...]
    """Users' files that must have run before the tasks can be read."""

    def __call__(self) -> tuple[float, list[Any]]:
        """Compute them, and return how long that took [s] and each value or what came instead."""
        reload_files(self.files)
        began, values = time.perf_counter(), []
        for task in pickle.loads(self.data):
            try:
                values.append(task(_unwatched))
            except UkctrlError as error:
                values.append(InputError(str(error)))
            except Exception as error:
                values.append(Lost(told(error)))
        return time.perf_counter() - began, values


def elsewhere(
    tasks: Sequence[Task[T]],
    take: Callable[[int, T | Lost], None],
    executor: Executor,
    report: Progress,
    room: int,
    care: Care,
) -> bool:
    """Compute tasks with an executor, a few more at a time than it has room for.

    Raises:
        InputError: The executor has gone, or a task raised a `UkctrlError`.
    """
    queue = Queue(range(len(tasks)), room, care)
    files = tuple(loaded_files())
    running: dict[Future[Any], list[int]] = {}
    done = 0
    try:
        while queue or running:
            while queue and len(running) < AHEAD * room:
                numbers = queue.next()
                data = pickle.dumps([tasks[k] for k in numbers])
                running[_submitted(executor, _Parcel(data, files))] = numbers
            for future in wait(running, LOOK_SECONDS, FIRST_COMPLETED).done:
                numbers = running.pop(future)
                took, values = _delivered(future)
                if values is None and len(numbers) > 1:  # one of them is to blame, perhaps
                    for k in reversed(numbers):
                        queue.apart(k)
                    continue
                lost = Lost("the process that ran it died.", died=True)
                for k, value in zip(numbers, values or [lost], strict=True):
                    if isinstance(value, Lost) and queue.retry(k, value):
                        continue
                    if isinstance(value, UkctrlError):
                        raise value
                    queue.took(took / len(numbers))
                    done += 1
                    take(k, value)
            report(done, len(tasks))
    except KeyboardInterrupt:
        _give_up(running)
        return False
    except BaseException:
        _give_up(running)
        raise
    return True


def _submitted(executor: Executor, parcel: _Parcel) -> Future[Any]:
    try:
        return executor.submit(parcel)
    except (BrokenExecutor, RuntimeError, OSError) as error:
        raise InputError(_GONE.format(told(error))) from error


def _delivered(future: Future[Any]) -> tuple[float, list[Any] | None]:
    """Return how long a parcel took and its values; None where it was lost.

    Raises:
        InputError: It was not the parcel that was lost, but the executor.
    """
    try:
        took, values = future.result()
        return took, values
    except (BrokenExecutor, CancelledError, OSError) as error:
        raise InputError(_GONE.format(told(error))) from error
    except Exception:  # such as of a cluster whose workers died of it, one after the other
        return 0.0, None


def _give_up(running: Sequence[Future[Any]] | dict[Future[Any], list[int]]) -> None:
    for future in running:
        future.cancel()


_GONE = "the executor can compute no more ({})."


def _unwatched(fraction: float) -> None:
    """Take no notice: nobody watches a task in another's executor."""
