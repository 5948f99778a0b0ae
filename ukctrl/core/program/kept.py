"""What was made for an object, kept for as long as it is in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, final

KEPT = 4
"""Of so many objects: a law's own robot and those with which it looks ahead."""
Key = TypeVar("Key")
Made = TypeVar("Made")


@final
class Kept(Generic[Key, Made]):
    """Makes something for an object once, and remembers it for the last few of them."""

    def __init__(self, make: Callable[[Key], Made]) -> None:
        self._make = make
        self._known: list[tuple[Key, Made]] = []

    def __call__(self, key: Key) -> Made:
        """Return what belongs to this very object."""
        for known, made in self._known:
            if known is key:
                return made
        made = self._make(key)
        self._known = [(key, made), *self._known[: KEPT - 1]]
        return made
