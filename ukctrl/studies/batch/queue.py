"""Which task comes next, and how many of them at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import final

from ukctrl.studies.batch.task import Care
from ukctrl.studies.batch.workers import Lost

MEMORY = 0.9
"""How much of the mean duration of a task stays when another one has ended."""
SHARES = 4
"""What is left is dealt out in so many shares for each process, so that all end together."""


@final
class Queue:
    """Tasks by number, those that were lost last.

    Args:
        numbers: The tasks, in order.
        jobs: How many are computed at a time.
        care: How often one is tried again, and how much is handed over at a time.
    """

    def __init__(self, numbers: Sequence[int], jobs: int, care: Care) -> None:
        self._waiting, self._lost = deque(numbers), deque[int]()
        self._tried: dict[int, int] = {}
        self._jobs, self._care = jobs, care
        self._mean: float | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting or self._lost)

    def next(self) -> list[int]:
        """Return what to hand over next."""
        if not self._waiting:
            return [self._lost.popleft()]
        size = min(self._size(), max(1, len(self._waiting) // (SHARES * self._jobs)))
        return [self._waiting.popleft() for _ in range(size)]

    def _size(self) -> int:
        if self._mean is None or self._care.batch <= 0.0:
            return 1
        return max(1, int(min(self._care.batch / max(self._mean, 1e-6), 1e6)))

    def took(self, seconds: float) -> None:
        """Note how long a task took [s]."""
        mean = seconds if self._mean is None else self._mean
        self._mean = MEMORY * mean + (1.0 - MEMORY) * seconds

    def again(self, number: int) -> None:
        """Take back a task that nobody has begun."""
        self._waiting.appendleft(number)

    def apart(self, number: int) -> None:
        """Take back a task of several that were lost together, to be handed over by itself."""
        self._lost.append(number)

    def retry(self, number: int, lost: Lost) -> bool:
        """Take back a task whose process died, after all others; False where that was enough.

        The process may have been killed for no fault of the task; if it was the task's, the others
        are done by then.
        """
        tried = self._tried.get(number, 0)
        if not lost.died or tried >= self._care.retries:
            return False
        self._tried[number] = tried + 1
        self._lost.append(number)
        return True
