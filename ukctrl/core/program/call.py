"""A compiled function with its arguments, ready to be called by machine code.

Its arguments lie in a block of memory, behind the address of the kernel. So a list of calls is a
table of numbers, and one compiled loop runs any of them (`ukctrl.core.program.program`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.compiled import call_addresses

Kernel = Callable[..., Any]
"""A function decorated with `ukctrl.core.compiled.compiled`."""
Fault = Callable[[int], BaseException | None]
"""Makes the error of a negative number that a kernel returned; or does what the kernel could not,
and returns None."""


@final
class Call:
    """A kernel with the arguments that it will always be called with.

    Arrays are those of whoever made it, and must stay where they are.

    Attributes:
        fault: Answers a negative number that the kernel returned.
        inside: The `Steps` that the kernel runs itself, and whose faults are its own, before those
            that ``fault`` knows; or None.
        entrance: Address of what takes the block apart, or 0 where Python calls the kernel.
        block: Address of the kernel's address and its arguments.
    """

    def __init__(
        self, kernel: Kernel, *arguments: Any, fault: Fault | None = None, inside: Any = None
    ) -> None:
        self.kernel, self.arguments, self.fault, self.inside = kernel, arguments, fault, inside
        if inside is not None:
            self.fault = lambda code: inside.forget() or (fault(code) if fault else None)
        words: list[int] = [0]
        self.entrance, words[0] = call_addresses(kernel, arguments, words)
        self._words = array("q", words)
        self.block = self._words.buffer_info()[0]

    def has(self, kept: Collection[int]) -> bool:
        """Return whether some of its arguments are among objects of these numbers, by `id`.

        One that runs other steps may have any.
        """
        return self.inside is not None or _has(self.arguments, kept)

    def in_python(self) -> int:
        """Call the kernel as Python does; return what its entrance would."""
        answer = self.kernel(*self.arguments)
        if answer is None:
            return 0
        return int(answer) - 1 if isinstance(answer, bool | np.bool_) else int(answer)

    def __reduce__(self) -> Any:
        raise TypeError("a call knows addresses of this process; make it anew where it is needed.")


def _has(arguments: Sequence[Any], kept: Collection[int]) -> bool:
    nested = (one for one in arguments if isinstance(one, tuple))
    return any(id(one) in kept for one in arguments) or any(_has(one, kept) for one in nested)
