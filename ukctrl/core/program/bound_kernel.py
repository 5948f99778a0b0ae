"""A compiled function with its arguments, ready to be called by machine code.

Its arguments lie in a block of memory, behind the address of the kernel. So a list of calls is a
table of numbers, and one compiled loop runs any of them (`ukctrl.core.program.kernel_sequence`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.compiled import call_addresses

Kernel = Callable[..., Any]
"""A function decorated with `ukctrl.core.compiled.compiled`."""
FaultHandler = Callable[[int], BaseException | None]
"""Makes the error of a negative number that a kernel returned; or does what the kernel could not,
and returns None."""


@final
class BoundKernel:
    """A kernel with the arguments that it will always be called with.

    Arrays are those of whoever made it, and must stay where they are.

    Attributes:
        fault: Answers a negative number that the kernel returned.
        nested: The `KernelSequence` that the kernel runs itself, and whose faults come before those
            that ``fault`` knows; or None.
        kinds: What its arguments are, as of `ukctrl.core.jit.block_layout.pack_arguments`.
        trampoline: Address of what takes the block apart, or 0 where Python calls the kernel.
        block: Address of the kernel's address and its arguments.
        words: What is there.
    """

    def __init__(
        self, kernel: Kernel, *arguments: Any, fault: FaultHandler | None = None, inside: Any = None
    ) -> None:
        self.kernel, self.arguments, self.fault, self.nested = kernel, arguments, fault, inside
        if inside is not None:
            # what failed inside knows better than the kernel around it
            self.fault = lambda code: inside.take_fault() or (fault(code) if fault else None)
        words: list[int] = [0]
        self.kinds, (self.trampoline, words[0]) = call_addresses(kernel, arguments, words)
        # kept, for machine code reads at its address
        self.words = array("q", words)
        self.block = self.words.buffer_info()[0]

    def uses(self, ids: Collection[int]) -> bool:
        """Return whether some of its arguments are among objects of these numbers, by `id`.

        One that runs other steps may have any.
        """
        return self.nested is not None or _contains_any(self.arguments, ids)

    def run_in_python(self) -> int:
        """Call the kernel as Python does; return what its entrance would."""
        answer = self.kernel(*self.arguments)
        if answer is None:
            return 0
        # as the entrance does: True is 0, and False a fault
        return int(answer) - 1 if isinstance(answer, bool | np.bool_) else int(answer)

    def __reduce__(self) -> Any:
        raise TypeError("a call knows addresses of this process; make it anew where it is needed.")


def _contains_any(arguments: Sequence[Any], ids: Collection[int]) -> bool:
    nested = (one for one in arguments if isinstance(one, tuple))
    return any(id(one) in ids for one in arguments) or any(
        _contains_any(one, ids) for one in nested
    )
