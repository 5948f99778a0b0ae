"""Elements of arrays, in a third of the instructions that Numba writes for them.

Numba copies an array's seven to nine words to memory and reads the few that it needs from there,
at each element. LLVM finds that out again; here it is not written to begin with. Places below zero
count from the end, as in Numba and Python. Whoever changes what is written here changes what
`ukctrl.core.compiled` makes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils as numba_cgutils
from numba.np import arrayobj

arrays: Any = arrayobj  # of these, type checkers know nothing
cgutils: Any = numba_cgutils
DATA, SHAPE = 4, 5
"""Where an array's address and its lengths lie among its words."""


def get_at(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write how an element of a vector is read."""
    kind, index = signature.args
    if not _is_element(context, kind, [index]):
        return arrays.getitem_arraynd_intp(context, builder, signature, values)
    place = _place(context, builder, kind, values[0], [index], [values[1]])
    return arrays.load_item(context, builder, kind, place)


def get_at_each(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write how an element of a matrix is read."""
    kind, index = signature.args
    if not _is_element(context, kind, index):
        return arrays.getitem_array_tuple(context, builder, signature, values)
    places = cgutils.unpack_tuple(builder, values[1])
    place = _place(context, builder, kind, values[0], index, places)
    return arrays.load_item(context, builder, kind, place)


def set_at(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write how an element is written."""
    kind, index, of = signature.args
    several = isinstance(index, types.BaseTuple)
    kinds = index if several else [index]
    if not _is_element(context, kind, kinds):
        return arrays.setitem_array(context, builder, signature, values)
    places = cgutils.unpack_tuple(builder, values[1]) if several else [values[1]]
    place = _place(context, builder, kind, values[0], kinds, places)
    value = context.cast(builder, values[2], of, kind.dtype)
    arrays.store_item(context, builder, kind, value, place)
    return None


def _is_element(context: Any, kind: Any, index: Sequence[Any]) -> bool:
    """Return whether it is an element of an array as ours are, and not to be checked."""
    whole = all(isinstance(one, types.Integer) and vars(one)["signed"] for one in index)
    ours = kind.layout == "C" and kind.dtype in (types.float64, types.int64, types.boolean)
    return whole and ours and len(index) == kind.ndim and not context.enable_boundscheck


def _place(
    context: Any, builder: Any, kind: Any, array: Any, index: Sequence[Any], places: Sequence[Any]
) -> Any:
    """Write where an element lies."""
    offset = None
    for k, (of, place) in enumerate(zip(index, places, strict=True)):
        place = context.cast(builder, place, of, types.intp)
        length = builder.extract_value(array, [SHAPE, k])
        if not isinstance(place, ir.Constant) or place.constant < 0:
            negative = builder.icmp_signed("<", place, place.type(0))
            place = builder.select(negative, builder.add(place, length), place)
        offset = place if offset is None else builder.add(builder.mul(offset, length), place)
    return builder.gep(builder.extract_value(array, DATA), [offset])


_register: Any = extending.lower_builtin
_register(operator.getitem, types.Array, types.Integer)(get_at)
_register(operator.getitem, types.Array, types.BaseTuple)(get_at_each)
_register(operator.setitem, types.Array, types.Any, types.Any)(set_at)
