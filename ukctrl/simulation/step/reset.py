"""What runs have left in a loop, put back to what was there before the first of them.

The kernels of a loop keep all that they know in arrays, which their tables name. So a loop that has
run can run again, for another seed or other masses, without a table being made anew.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.program import BoundKernel, KernelSequence

MAX_NUMBERS = 2**19
"""A loop with more numbers than this is not kept for another run, for the sake of memory."""


@final
class InitialArrays:
    """What the arrays of a loop held before its first run."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}  # alive, for an id is another object's after that
        self._kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._tables: list[KernelSequence] = []
        self.size = 0
        """How many numbers they are."""

    def exclude(self, array: NDArray[Any]) -> None:
        """Do not keep one: every run writes all of it that it reads."""
        self._known[id(array)] = array

    def add(self, *sources: Any) -> None:
        """Keep what arrays hold now that are not known yet.

        Args:
            sources: Steps, calls, arrays, and tuples of them.
        """
        for source in sources:
            if id(source) not in self._known:
                self._known[id(source)] = source
                self._note(source)

    def _note(self, source: Any) -> None:
        if isinstance(source, np.ndarray):
            if source.flags.writeable:
                self.size += source.size
                if self.size <= MAX_NUMBERS:
                    self._kept.append((source, source.copy()))
        elif isinstance(source, tuple):
            self.add(*source)
        elif isinstance(source, KernelSequence):
            self._tables.append(source)
            self.add(source.lines, *source.items)
        elif isinstance(source, BoundKernel):
            self.add(*source.arguments, source.nested)

    @property
    def is_complete(self) -> bool:
        """Whether all of them were kept."""
        return self.size <= MAX_NUMBERS

    def restore(self) -> None:
        """Put it back."""
        for array, initial in self._kept:
            array[...] = initial
        for table in self._tables:
            table.take_fault()
