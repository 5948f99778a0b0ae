"""What runs have left in a loop, put back to what was there before the first of them.

The kernels of a loop keep all that they know in arrays, which their tables name. So a loop that has
run can run again, for another seed or other masses, without a table being made anew.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.program import Call, Steps

MOST = 2**19
"""A loop with more numbers than this is not kept for another run, for the sake of memory."""


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
        for part in parts:
            if id(part) not in self._known:
                self._known.add(id(part))  # no other part will have it: tables keep what they have
                self._note(part)

    def _note(self, part: Any) -> None:
        if isinstance(part, np.ndarray):
            if part.flags.writeable:
                self.size += part.size
                if self.size <= MOST:
                    self._kept.append((part, part.copy()))
        elif isinstance(part, tuple):
            self.note(*part)
        elif isinstance(part, Steps):
            self._tables.append(part)
            self.note(part.lines, *part.every)
        elif isinstance(part, Call):
            self.note(*part.arguments, part.inside)

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
