"""How a crew treats its tasks."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

Watch = Callable[[float], None]
"""Called by a task with the fraction of it that is done; raises where it is asked to stop."""
Progress = Callable[[float, float], None]
"""Called with how much is done and how much there is to do."""
LOOK_SECONDS = 0.1
"""Interval at which one looks whether the user wants to stop [s]."""


class Task(Protocol[T_co]):
    """Something to compute; it must be picklable to be computed in another process."""

    def __call__(self, watch: Watch) -> T_co:
        """Compute it, calling ``watch`` now and then."""


@dc.dataclass(frozen=True, kw_only=True)
class Care:
    """How a crew treats tasks that are many and may go wrong."""

    isolated: bool = False
    """Whether to compute in other processes even one at a time, so that a task that takes its
    process along costs nothing else."""
    retries: int = 0
    """How often a task that was lost with its process is tried again, after all others."""
    timeout: float | None = None
    """How long a task may take before its process is ended [s]; absent: for ever."""
    batch: float = 0.0
    """How much work to hand over at a time, where tasks are shorter than that [s]."""
