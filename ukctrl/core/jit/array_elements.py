"""Elements of arrays, in a third of the instructions that Numba writes for them.

Numba copies an array's seven to nine words to memory and reads the few that it needs from there,
at each element. LLVM finds that out again; here it is not written to begin with. Places below zero
count from the end, as in Numba and Python. Importing this registers it with Numba.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.np import arrayobj

arrays: Any = arrayobj  # of these, type checkers know nothing
WORD: Any = types.intp
DATA, SHAPE = 4, 5
"""Where an array's address and its lengths lie among its words."""


def element_reader(otherwise: Any) -> Any:
    """Return what writes how an element is read, and leaves anything else to Numba."""

    def read(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _place(context, builder, *signature.args, *values)
        if pointer is None:
            return otherwise(context, builder, signature, values)
        return arrays.load_item(context, builder, signature.args[0], pointer)

    return read


def write_element(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write how an element is written; leave anything else to Numba."""
    kind, index, of = signature.args
    pointer = _place(context, builder, kind, index, *values[:2])
    if pointer is None:
        return arrays.setitem_array(context, builder, signature, values)
    value = context.cast(builder, values[2], of, kind.dtype)
    return arrays.store_item(context, builder, kind, value, pointer)


def _place(context: Any, builder: Any, kind: Any, index: Any, array: Any, at: Any) -> Any:
    """Write where an element lies; return None of what is none, or is to be checked."""
    several = isinstance(index, types.BaseTuple)
    kinds = list(index) if several else [index]
    if not _is_element(kind, kinds) or context.enable_boundscheck:
        return None
    offset = None
    for k, of in enumerate(kinds):
        subscript = context.cast(builder, builder.extract_value(at, k) if several else at, of, WORD)
        length = builder.extract_value(array, [SHAPE, k])
        if not isinstance(subscript, ir.Constant) or subscript.constant < 0:
            negative = builder.icmp_signed("<", subscript, subscript.type(0))
            subscript = builder.select(negative, builder.add(subscript, length), subscript)
        offset = (
            subscript if offset is None else builder.add(builder.mul(offset, length), subscript)
        )
    return builder.gep(builder.extract_value(array, DATA), [offset])


def _is_element(kind: Any, index: Sequence[Any]) -> bool:
    """Return whether it is an element, of an array as ours are."""
    whole = all(isinstance(one, types.Integer) and vars(one)["signed"] for one in index)
    ours = kind.layout == "C" and kind.dtype in (types.float64, types.int64, types.boolean)
    return whole and ours and len(index) == kind.ndim


REGISTER: Any = extending.lower_builtin
REGISTER(operator.getitem, types.Array, types.Integer)(element_reader(arrays.getitem_arraynd_intp))
REGISTER(operator.getitem, types.Array, types.BaseTuple)(element_reader(arrays.getitem_array_tuple))
REGISTER(operator.setitem, types.Array, types.Any, types.Any)(write_element)
