"""Caches of a few results: by the identity of an object, or of the last arguments in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar, final

Key = TypeVar("Key")
T = TypeVar("T")
MAX_ENTRIES = 4
"""Of so many objects: a law's own robot and those with which it looks ahead."""


@final
class IdentityCache(Generic[Key, T]):
    """Identity cache: what was made for an object, for the last few objects.

    A law that goes round more robots than `MAX_ENTRIES` makes everything anew at every call.
    """

    def __init__(self, make: Callable[[Key], T]) -> None:
        self._make = make
        self._known: list[tuple[Key, T]] = []

    def __call__(self, key: Key) -> T:
        """Return what belongs to this very object."""
        for cached_key, result in self._known:
            if cached_key is key:
                return result
        result = self._make(key)
        self._known = [(key, result), *self._known[: MAX_ENTRIES - 1]]
        return result


class LastValueCache(threading.local, Generic[T]):
    """The last result of some work in each thread, and what it depends on: runs that differ in
    gains or seeds share it.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], T] | None = None

    def get(self, key: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return the result of work that depends on nothing but what is asked, done if need be."""
        if self._last is not None and _same(key, self._last[0]):
            return self._last[1]
        return self.put(key, work())

    def put(self, key: tuple[object, ...], result: T) -> T:
        """Remember a result that somebody has; return it."""
        self._last = key, result
        return result


def _same(one: tuple[object, ...], second: tuple[object, ...]) -> bool:
    try:
        return bool(one == second)
    except ValueError:  # a part of one's own may hold arrays
        return False
