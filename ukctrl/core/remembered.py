"""What a thread has worked out last, for whoever asks for the same again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(threading.local, Generic[T]):
    """The last result of some work in each thread, and what it depends on: runs that differ in
    gains or seeds share it.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], T] | None = None

    def get(self, asked: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return the result of work that depends on nothing but what is asked, done if need be."""
        if self._last is not None and _same(asked, self._last[0]):
            return self._last[1]
        return self.put(asked, work())

    def put(self, asked: tuple[object, ...], found: T) -> T:
        """Remember a result that somebody has; return it."""
        self._last = asked, found
        return found


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    try:
        return bool(one == other)
    except ValueError:  # a part of one's own may hold arrays
        return False
