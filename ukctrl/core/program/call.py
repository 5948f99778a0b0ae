"""A compiled function with its arguments, ready to be called by machine code.

Numba calls a function of fixed argument types. Here every call has one type: the address of a block
of memory, which holds the address of the kernel and then its arguments, an array as its address and
shape, a number as itself. So a list of kernels is a table of numbers, and one compiled loop runs
any of them (`ukctrl.core.program.program`). What takes a block apart, an entrance, is compiled once
for the types of its arguments, whatever the kernel, and kept on disk with all other machine code.
"""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections.abc import Callable, Collection, Sequence
from ctypes import addressof, c_char
from typing import Any, final

import numpy as np
from numba import types
from numba.core import ccallback
from numba.extending import intrinsic
from numba.np import arrayobj

from ukctrl.core.compiled import OPTIONS, config, kept

Kernel = Callable[..., Any]
"""A function decorated with `ukctrl.core.compiled.compiled`."""
Fault = Callable[[int], BaseException | None]
"""Makes the error of a negative number that a kernel returned; or does what the kernel could not,
and returns None."""
BaseTuple: Any = types.BaseTuple
tuple_of: Any = types.Tuple
arrays: Any = arrayobj  # of all three, type checkers know nothing
NUMBERS = {"f": types.float64, "i": types.int64, "b": types.boolean}
"""What an array may hold, by NumPy's letter."""
ENTRANCE = (types.int64,), types.int64
"""What an entrance takes and returns."""
RAISED = -(2**62)
"""What an entrance returns of a kernel that raised: kernels must not."""


def _kernels(returning: Any, kinds: Sequence[Any]) -> Any:
    """Return a compiled function that calls the kernel in a block, with the arguments there.

    It returns a number below zero where the kernel did, or returned False.
    """

    @intrinsic
    def enter(typing: Any, block: Any) -> Any:
        signature = types.int64(types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention, word = context.call_conv, context.get_value_type(types.int64)
            words = _Words(context, builder, builder.inttoptr(values[0], word.as_pointer()))
            kind = convention.get_function_type(returning, kinds)
            kernel = builder.inttoptr(words.next(), kind.as_pointer())
            given = [words.value(one) for one in kinds]
            status, answer = convention.call_function(builder, kernel, returning, kinds, given)
            if isinstance(returning, types.NoneType):
                code = word(0)
            elif isinstance(returning, types.Boolean):  # True is 0, and False is -1
                code = builder.sub(builder.zext(answer, word), word(1))
            else:
                code = context.cast(builder, answer, returning, types.int64)
            return builder.select(status.is_error, word(RAISED), code)

        return signature, generate

    return enter


def arguments_at(kinds: Sequence[Any]) -> Any:
    """Return a compiled function from the address of arguments, as `laid_out`, to their tuple."""

    @intrinsic
    def take(typing: Any, block: Any) -> Any:
        signature = tuple_of(kinds)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            word = context.get_value_type(types.int64)
            words = _Words(context, builder, builder.inttoptr(values[0], word.as_pointer()))
            return words.value(signature.return_type)

        return signature, generate

    return take


RETURNS = types.none, types.boolean, types.int64


class _Words:
    """The words of a block, one after the other, as a compiled function reads them."""

    def __init__(self, context: Any, builder: Any, place: Any) -> None:
        self._context, self._builder, self._place, self._at = context, builder, place, 0

    def next(self) -> Any:
        """Return the next word."""
        at = self._context.get_constant(types.intp, self._at)
        self._at += 1
        return self._builder.load(self._builder.gep(self._place, [at]))

    def value(self, kind: Any) -> Any:
        """Return an argument of a type."""
        context, builder = self._context, self._builder
        if isinstance(kind, BaseTuple):
            return context.make_tuple(builder, kind, [self.value(part) for part in kind])
        if isinstance(kind, types.Array):
            return self._array(kind)
        word = self.next()
        if kind == types.boolean:
            return builder.icmp_signed("!=", word, word.type(0))
        return word if kind == types.int64 else builder.bitcast(word, context.get_value_type(kind))

    def _array(self, kind: Any) -> Any:
        context, builder = self._context, self._builder
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        array = arrays.make_array(kind)(context, builder)
        data = builder.inttoptr(self.next(), array.data.type)
        shape = [self.next() for _ in range(kind.ndim)]
        itemsize = context.get_constant(types.intp, size)
        strides = [itemsize]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        arrays.populate_array(array, data, shape, strides[: kind.ndim], itemsize, meminfo=None)
        return array._getvalue()


@final
class Call:
    """A kernel with the arguments that it will always be called with.

    Arrays are those of whoever made it, and must stay where they are.

    Attributes:
        fault: Answers a negative number that the kernel returned.
        inside: The `Steps` that the kernel runs itself, and whose faults are its own, before those
            that ``fault`` knows; or None.
        entrance: Address of what takes the block apart.
        block: Address of the kernel's address and its arguments.
    """

    def __init__(
        self, kernel: Kernel, *arguments: Any, fault: Fault | None = None, inside: Any = None
    ) -> None:
        self.kernel, self.arguments, self.fault, self.inside = kernel, arguments, fault, inside
        if inside is not None:
            self.fault = lambda code: inside.forget() or (fault(code) if fault else None)
        self.entrance = self.block = 0
        words: list[int] = [0]
        kinds = laid_out(arguments, words)
        if config.DISABLE_JIT:
            return
        known = _ENTRANCES.get((kernel, kinds))
        self.entrance, words[0] = known or _entrance(kernel, kinds, arguments)
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


def _address(array: Any) -> int:
    """Return where the numbers of an array lie in memory."""
    try:  # a fifth of the time that NumPy takes to tell
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only, or empty
        return int(array.ctypes.data)


def laid_out(arguments: Sequence[Any], words: list[int]) -> tuple[Any, ...]:
    """Append to a block what its kernel is called with; return the kinds of all that is in it.

    An array is its kind of number and how many axes it has; a tuple is its class and what is in it.
    """
    kinds: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            numbers, shape = value.dtype.kind, value.shape
            if not value.flags.c_contiguous or numbers not in NUMBERS:
                raise TypeError(f"a kernel takes contiguous arrays of numbers; got {value.dtype}.")
            words += (_address(value), *shape)
            kinds.append((numbers, len(shape)))
        elif isinstance(value, tuple):
            kinds.append((type(value), *laid_out(value, words)))
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


def _type(value: Any) -> Any:
    """Return the type by which Numba knows an argument."""
    if isinstance(value, tuple):
        kinds = [_type(part) for part in value]
        return BaseTuple.from_types(kinds, None if type(value) is tuple else type(value))
    if isinstance(value, np.ndarray):
        return types.Array(NUMBERS[value.dtype.kind], value.ndim, "C")
    if isinstance(value, bool | np.bool_):
        return types.boolean
    return types.float64 if isinstance(value, float) else types.int64


_ENTRANCES: dict[tuple[Any, tuple[Any, ...]], tuple[int, int]] = {}
"""By kernel and kinds of arguments: the addresses of an entrance, and of the kernel."""
_FUNCTIONS: dict[str, Any] = {}
"""By what they return and take apart: entrances, which different kernels share."""
_MAKING = threading.RLock()
"""Held while machine code is made or loaded, so that two threads do not both."""


def _entrance(kernel: Any, kinds: tuple[Any, ...], arguments: Sequence[Any]) -> tuple[int, int]:
    """Return the address of what calls a kernel, and of its machine code for such arguments."""
    with _MAKING:
        if (kernel, kinds) not in _ENTRANCES:
            given = tuple(_type(value) for value in arguments)
            address, returning = _native(kernel, given)
            _ENTRANCES[kernel, kinds] = int(entrance(returning, given).address), address
        return _ENTRANCES[kernel, kinds]


def _native(kernel: Any, kinds: tuple[Any, ...]) -> tuple[int, Any]:
    """Return the address of a kernel's machine code for such arguments, and what it returns."""
    kernel.compile(kinds)
    made = kernel.overloads[kinds]
    address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    returning = made.signature.return_type
    if returning not in RETURNS:
        raise TypeError(f"kernel '{kernel.__name__}' must return nothing, a truth or a number.")
    return int(address), returning


def entrance(returning: Any, kinds: tuple[Any, ...]) -> Any:
    """Return what takes a block of such arguments apart, and calls the kernel in it."""
    told = f"{returning} {kinds}"
    if told not in _FUNCTIONS:
        name = f"enter_{hashlib.sha256(told.encode()).hexdigest()[:16]}"
        known = {"enter": _kernels(returning, kinds), "__name__": __name__}
        exec(compile(f"def {name}(block):\n    return enter(block)\n", __file__, "exec"), known)
        made: Any = ccallback.CFunc(known[name], ENTRANCE, {}, OPTIONS)
        made._cache = kept(known[name])
        made.compile()
        _FUNCTIONS[told] = made
    return _FUNCTIONS[told]
