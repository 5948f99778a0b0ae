"""What a task is, how tasks are treated, and what comes of one that is lost."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

Watch = Callable[[float], None]
"""Called by a task with the fraction of it that is done; raises where it is asked to stop."""
Progress = Callable[[float, float], None]
"""Called with how much is done and how much there is to do."""


def part(progress: Progress | None, before: float, count: float, total: float) -> Progress:
    """Return the progress of a part of the work.

    Args:
        progress: That of the whole; absent: nobody is told.
        before: How much of the whole comes before the part.
        count: How much of it the part is.
        total: How much there is.
    """

    def report(done: float, parts: float) -> None:
        if progress is not None:
            progress(before + count * done / max(parts, 1.0), total)

    return report


class Task(Protocol[T_co]):
    """Something to compute; it must be picklable to be computed in another process."""

    def __call__(self, watch: Watch) -> T_co:
        """Compute it, calling ``watch`` now and then; None: it was asked to stop, and did."""


class Lost(NamedTuple):
    """What came of a task instead of its value."""

    message: str
    died: bool = False
    """Whether it took its process along; nothing says that it would do so again."""
    overdue: bool = False
    """Whether it took longer than it was granted."""


@dc.dataclass(frozen=True, kw_only=True)
class Care:
    """How a crew treats tasks that are many and may go wrong."""

    isolated: bool = False
    """Whether to compute in other processes even one at a time, so that a task that takes its
    process along costs nothing else."""
    retries: int = 1
    """How often a task that was lost with its process is tried again, after all others: the process
    may have been killed for no fault of the task."""
    timeout: float | None = None
    """How long a task may take before its process is ended [s]; absent: for ever."""
    batch: float = 0.0
    """How much work to hand over at a time, where tasks are shorter than that [s]."""


def error_text(error: BaseException) -> str:
    """Return an error as one reads it: its kind and what it says."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
