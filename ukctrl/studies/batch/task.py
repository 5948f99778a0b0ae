"""What a task is, how tasks are treated, and what comes of one that is lost."""

from __future__ import annotations

import dataclasses as dc
import functools
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from ukctrl.core.errors import UkctrlError
from ukctrl.core.subprocess_safety import is_machine_failure

T_co = TypeVar("T_co", covariant=True)

TaskCallback = Callable[[float], None]
"""Called by a task with the fraction of it that is done; raises where it is asked to stop."""
ProgressCallback = Callable[[float, float], None]
"""Called with how much is done and how much there is to do."""


def scaled_progress(
    progress: ProgressCallback | None, offset: float, count: float, total: float
) -> ProgressCallback:
    """Return the progress of a part of the work.

    Args:
        progress: That of the whole; absent: nobody is told.
        offset: How much of the whole comes before the part.
        count: How much of it the part is.
        total: How much there is.
    """

    def report(done: float, subtotal: float) -> None:
        if progress is not None:
            progress(offset + count * done / max(subtotal, 1.0), total)

    return report


class BatchTask(Protocol[T_co]):
    """Something to compute; it must be picklable to be computed in another process.

    Its `str` is what a user knows it by, such as ``sample 3``.
    """

    def __call__(self, watch: TaskCallback) -> T_co:
        """Compute it, calling ``watch`` now and then; None: it was asked to stop, and did."""


class SharedTaskInput:
    """What many tasks refer to, a dataclass: a worker makes it once, however often it is sent.

    What it has worked out beside its fields stays behind: that is sooner done again than sent.
    """

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return _unpickle_cached, (self._sent,)

    @functools.cached_property
    def _sent(self) -> bytes:
        names = [field.name for field in dc.fields(self)]  # type: ignore[arg-type]
        return pickle.dumps((type(self), {name: getattr(self, name) for name in names}))


class _PerThreadCache(threading.local):
    """What was made last; each thread has its own, as what it loads may not serve two at a time."""

    data = b""
    value: object = None


_latest = _PerThreadCache()


def _unpickle_cached(data: bytes) -> object:
    if _latest.data != data:
        kind, fields = pickle.loads(data)
        _latest.data, _latest.value = data, kind(**fields)
    return _latest.value


class TaskFailure(NamedTuple):
    """What came of a task instead of its value."""

    message: str
    is_machine_failure: bool = False
    """Whether what computes it has failed, such as a process that was killed or found no memory;
    nothing says that it would again, and the crew tries it again."""
    timed_out: bool = False
    """Whether it took longer than it was granted."""


class TaskResults(NamedTuple):
    """What came of tasks that were handed over together; the last may not have begun."""

    values: Sequence[Any] = ()
    """The values of the first of them."""
    seconds: float = 0.0
    """How long these took together [s]."""
    failure: TaskFailure | None = None
    """What became of a task that was lost, where one was; the values before it went with it."""
    failed_index: int | None = None
    """Its place among them; None: nobody knows."""


@dc.dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How a crew treats tasks that are many and may go wrong, and what its user does then."""

    in_processes: bool = False
    """Whether to compute in other processes even one at a time, so that a task that takes its
    process along costs nothing else."""
    thread_safe: bool = False
    """Whether they are machine code for most of their time, with nothing of a user's own in it:
    then threads compute them, unless they are isolated."""
    timeout: float | None = None
    """How long a task may take before its process is ended, or its thread given up [s]; absent:
    for ever."""
    chunk_seconds: float = 0.0
    """How much work to hand over at a time, where tasks are shorter than that [s]."""
    resume_advice: str = "do the same again"
    """What the user is to do after the machine has failed."""


def error_text(error: BaseException) -> str:
    """Return an error as one reads it: its kind and what it says."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def run_task(task: BatchTask[Any], watch: TaskCallback) -> Any:
    """Return the value of a task; a `TaskFailure` where it has none, or the `UkctrlError` it has
    raised.

    Raises:
        KeyboardInterrupt: It was stopped.
    """
    try:
        return task(watch)
    except SystemExit as error:  # of a user's code
        return TaskFailure(error_text(error))
    except Exception as error:
        is_ours, is_machine = isinstance(error, UkctrlError), is_machine_failure(error)
        if is_ours and not is_machine:
            return error
        return TaskFailure(str(error) if is_ours else error_text(error), is_machine)
