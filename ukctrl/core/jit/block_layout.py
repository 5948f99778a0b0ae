"""Block layout: the arguments of a call as words of memory, which machine code can take apart."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any

import numpy as np

NUMBERS = {np.dtype(np.float64): "f", np.dtype(np.int64): "i", np.dtype(np.bool_): "b"}
"""What an array may hold: machine code that took others for these would write beyond them."""


def pack_arguments(arguments: Sequence[Any], words: list[int]) -> tuple[Any, ...]:
    """Append to a block what its kernel is called with; return the kinds of all that is in it.

    An array is its kind of number and how many axes it has; a tuple is its class and what is in it.
    """
    kinds: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            numbers, shape = NUMBERS.get(value.dtype), value.shape
            if not value.flags.c_contiguous or numbers is None:
                raise TypeError(f"a kernel takes contiguous arrays of numbers; got {value.dtype}.")
            words += (address_of(value), *shape)
            kinds.append((numbers, len(shape)))
        elif isinstance(value, tuple):
            kinds.append((type(value), *pack_arguments(value, words)))
        elif isinstance(value, bool | np.bool_):
            words.append(int(value))
            kinds.append("b")
        elif isinstance(value, int | np.integer):
            words.append(int(value))
            kinds.append("i")
        elif isinstance(value, float):
            words.append(int(np.float64(value).view(np.int64)))
            kinds.append("f")
        else:
            raise TypeError(f"a kernel takes arrays, numbers and tuples of them; got {value!r}.")
    return tuple(kinds)


def address_of(array: Any) -> int:
    """Return where the numbers of an array lie in memory."""
    try:  # a fifth of the time that NumPy takes to tell
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only, or empty
        return int(array.ctypes.data)
