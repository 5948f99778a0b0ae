"""What runs have left in a loop, put back to what was there before the first of them.

The kernels of a loop keep all that they know in arrays, which their tables name. So a loop that has
run can run again, for another seed or other masses, without a table being made anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.program import Call, Steps

MOST = 2**19
"""A loop with more numbers than this is not kept for another run, for the sake of memory."""


def arrays_of(part: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays of steps, of a call, of tuples of them."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from arrays_of(each)
    elif isinstance(part, Steps):
        yield from arrays_of(part.every)
        yield part.lines
    elif isinstance(part, Call):
        yield from arrays_of(part.arguments)
        yield from arrays_of(part.inside)


@final
class Origin:
    """What the arrays of a loop held before its first run."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._tables: list[Steps] = []
        self.size = 0
        """How many numbers they are."""

    def leave(self, array: NDArray[Any]) -> None:
        """Do not keep one: every run writes all of it that it reads."""
        self._known.add(id(array))

    def note(self, *parts: Any) -> None:
        """Keep what arrays hold now that are not known yet.

        Args:
            parts: Steps, calls, arrays, and tuples of them.
        """
        self._tables += [part for part in parts if isinstance(part, Steps)]
        for array in arrays_of(parts):
            if id(array) not in self._known and array.flags.writeable:
                self._known.add(id(array))  # no other has it: tables keep their arrays
                self.size += array.size
                if self.size <= MOST:
                    self._kept.append((array, array.copy()))

    @property
    def small(self) -> bool:
        """Whether all of them were kept."""
        return self.size <= MOST

    def restore(self) -> None:
        """Put it back."""
        for array, before in self._kept:
            array[...] = before
        for table in self._tables:
            table.forget()
