"""Which task comes next, and how many of them at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

from ukctrl.studies.batch.task import Care, Lost

MEMORY = 0.9
"""How much of the mean duration of a task stays when another one has ended."""
SHARES = 4
"""What is left is dealt out in so many shares for each process, so that all end together."""


class Delivery(NamedTuple):
    """What came of tasks that were handed over together; the last may not have begun."""

    values: Sequence[Any] = ()
    """The values of the first of them."""
    seconds: float = 0.0
    """How long these took together [s]."""
    lost: Lost | None = None
    """What became of a task that was lost, where one was; the values before it went with it."""
    which: int | None = None
    """Its place among them; None: nobody knows."""


@final
class Queue:
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
        return lost.died and tried < self._care.retries
