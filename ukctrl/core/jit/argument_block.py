"""Argument block: what a kernel is called with, as words of memory that machine code takes apart.

Numba calls a function of fixed argument types. Here every call has one type: the address of a
block, which holds the address of the kernel and then its arguments, an array as its address and
shape, a number as itself. What takes a block apart, an entrance, is compiled once for the types of
its arguments, whatever the kernel.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as numba_cgutils
from numba.core import compiler_lock, registry
from numba.extending import intrinsic
from numba.np import arrayobj

from ukctrl.core.jit.machine_code_store import MachineCodeStore

BaseTuple: Any = types.BaseTuple
tuple_of: Any = types.Tuple
arrays: Any = arrayobj
global_compiler_lock: Any = compiler_lock.global_compiler_lock
cgutils: Any = numba_cgutils  # of all these, type checkers know nothing
TARGET: Any = registry.cpu_target.target_context
NUMBERS = {"f": types.float64, "i": types.int64, "b": types.boolean}
"""What an array may hold, by NumPy's letter."""
WORD = ir.IntType(64)
WORD_BYTES = 8
RAISED = -(2**62)
"""What an entrance returns of a kernel that raised: kernels must not."""
ALLOWED_RETURNS = types.none, types.boolean, types.int64
"""What a kernel in a table may return: below zero, or False, is for whoever runs the table."""


def type_of(value: Any) -> Any:
    """Return the type by which Numba knows an argument."""
    if isinstance(value, tuple):
        kinds = [type_of(item) for item in value]
        return BaseTuple.from_types(kinds, None if type(value) is tuple else type(value))
    if isinstance(value, np.ndarray):
        return types.Array(NUMBERS[value.dtype.kind], value.ndim, "C")
    if isinstance(value, bool | np.bool_):
        return types.boolean
    return types.float64 if isinstance(value, float) else types.int64


def store_arguments(context: Any, builder: Any, kinds: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return a block of machine code's arguments, with room for an answer before them.

    Unlike `pack_arguments`, it has the strides of arrays, behind their shapes.
    """
    words = [
        word
        for kind, value in zip(kinds, values, strict=True)
        for word in _words_of(context, builder, kind, value)
    ]
    # in the entry block: in a loop the stack would grow with every call
    block = cgutils.alloca_once(builder, WORD, size=1 + len(words))
    for k, word in enumerate(words, 1):
        builder.store(word, builder.gep(block, [context.get_constant(types.intp, k)]))
    return block


def _words_of(context: Any, builder: Any, kind: Any, value: Any) -> Iterator[Any]:
    if isinstance(kind, BaseTuple):
        for k, item in enumerate(kind):
            yield from _words_of(context, builder, item, builder.extract_value(value, k))
    elif isinstance(kind, types.Array):
        array = arrays.make_array(kind)(context, builder, value)
        yield builder.ptrtoint(array.data, WORD)
        yield from cgutils.unpack_tuple(builder, array.shape)
        yield from cgutils.unpack_tuple(builder, array.strides)
    elif kind == types.boolean:
        yield builder.zext(value, WORD)
    else:
        yield value if kind == types.int64 else builder.bitcast(value, WORD)


def load_arguments(block: int, kinds: Sequence[Any]) -> list[Any]:
    """Return the arguments in a block that machine code has `store_arguments`; arrays share its
    memory.
    """
    words = _words_at(block + WORD_BYTES)
    return [_read(kind, words) for kind in kinds]


def _words_at(address: int) -> Iterator[int]:
    for at in itertools.count(address, WORD_BYTES):
        yield ctypes.c_int64.from_address(at).value


def _read(kind: Any, words: Iterator[int]) -> Any:
    if isinstance(kind, BaseTuple):
        items = [_read(item, words) for item in kind]
        of = getattr(kind, "instance_class", None)
        return tuple(items) if of is None else of(*items)
    word = next(words)
    if isinstance(kind, types.Array):
        shape, strides = list(islice(words, kind.ndim)), list(islice(words, kind.ndim))
        dtype: Any = np.dtype(str(kind.dtype))
        size = dtype.itemsize + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        # an empty array has no address to look at
        if 0 in shape:
            return np.zeros(shape, dtype)
        return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(word), 0, strides)
    if kind == types.boolean:
        return bool(word)
    return word if kind == types.int64 else float(np.int64(word).view(np.float64))


def writable_arrays(arguments: Iterable[Any]) -> Iterator[Any]:
    """Return the arrays that may be written to, from tuples of tuples."""
    for value in arguments:
        if isinstance(value, tuple):
            yield from writable_arrays(value)
        elif isinstance(value, np.ndarray) and value.flags.writeable:
            yield value


def python_result(answer: Any) -> Any:
    """Return what a function of Python returned as machine code does: numbers are Python's."""
    if isinstance(answer, tuple):
        items = map(python_result, answer)
        return tuple(items) if type(answer) is tuple else type(answer)(*items)
    return answer.item() if isinstance(answer, np.generic) else answer


def word_from_result(answer: Any) -> int:
    """Return what a kernel returned as a word of a block."""
    return int(np.float64(answer).view(np.int64)) if isinstance(answer, float) else int(answer or 0)


def result_from_word(context: Any, builder: Any, kind: Any, word: Any) -> Any:
    """Return in LLVM's language what a word of a block is, as a kernel returns it."""
    if kind == types.none:
        return context.get_dummy_value()
    if kind == types.boolean:
        return builder.trunc(word, context.get_value_type(kind))
    return word if kind == types.int64 else builder.bitcast(word, context.get_value_type(kind))


def arguments_from_address(kinds: Sequence[Any]) -> Any:
    """Return a compiled function from the address of arguments, as `pack_arguments`, to their
    tuple.
    """

    @intrinsic
    def take(typing: Any, block: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            words = WordReader(context, builder, builder.inttoptr(values[0], WORD.as_pointer()))
            return words.value(signature.return_type)

        return tuple_of(kinds)(types.int64), generate

    return take


_ENTRANCES: dict[str, Any] = {}
"""By their symbols: libraries of entrances, which different kernels share."""
NAME = "ukctrl.enter"


def trampoline(returning: Any, kinds: tuple[Any, ...]) -> int:
    """Return the address of what takes a block of such arguments apart, and calls its kernel.

    It takes the address of the block, and returns what the kernel does: 0 for nothing, 0 and -1
    for True and False, the bits of a float; `RAISED` where the kernel raised.
    """
    symbol = f"{NAME}.{hashlib.sha256(f'{returning} {kinds}'.encode()).hexdigest()[:16]}"
    if symbol not in _ENTRANCES:
        codegen, stored = TARGET.codegen(), MachineCodeStore(NAME, str(returning))
        try:
            library = stored.load(kinds, TARGET, codegen.unserialize_library)
            if library is None:
                TARGET.refresh()
                library = codegen.create_library(NAME)
                library.enable_object_caching()
                with global_compiler_lock:
                    library.add_ir_module(_module(codegen, symbol, returning, kinds))
                    library.finalize()
                stored.save(kinds, TARGET, library.serialize_using_object_code)
        finally:
            stored.release()
        _ENTRANCES[symbol] = library
    address: int = _ENTRANCES[symbol].get_pointer_to_function(symbol)
    return address


def _module(codegen: Any, symbol: str, returning: Any, kinds: Sequence[Any]) -> Any:
    """Write an entrance in LLVM's language."""
    module = codegen._create_empty_module(NAME)
    write_trampoline(module, symbol, returning, kinds)
    return module


def write_trampoline(module: Any, symbol: str, returning: Any, kinds: Sequence[Any]) -> Any:
    """Write into a module what takes a block apart, and calls its kernel; return the function."""
    function = ir.Function(module, ir.FunctionType(WORD, [WORD]), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    words = WordReader(TARGET, builder, builder.inttoptr(function.args[0], WORD.as_pointer()))
    kind = TARGET.call_conv.get_function_type(returning, kinds)
    kernel = builder.inttoptr(words.next(), kind.as_pointer())
    arguments = [words.value(one) for one in kinds]
    builder.ret(write_call(builder, kernel, returning, kinds, arguments))
    return function


def write_call(
    builder: Any, kernel: Any, returning: Any, kinds: Sequence[Any], arguments: Sequence[Any]
) -> Any:
    """Write a call of a kernel; return its answer as a word, as `trampoline` says."""
    call = TARGET.call_conv.call_function
    status, answer = call(builder, kernel, returning, kinds, arguments)
    if isinstance(returning, types.NoneType):
        code = WORD(0)
    elif isinstance(returning, types.Boolean):  # True is 0, and False is -1
        code = builder.sub(builder.zext(answer, WORD), WORD(1))
    elif isinstance(returning, types.Float):
        code = builder.bitcast(answer, WORD)
    else:
        code = answer
    # no kernel returns so large a number: an exception of Numba's own shows by it
    return builder.select(status.is_error, WORD(RAISED), code)


class WordReader:
    """The words of a block, one after the other, as a compiled function reads them."""

    def __init__(self, context: Any, builder: Any, pointer: Any) -> None:
        self._context, self._builder, self._place, self._at = context, builder, pointer, 0

    def next(self) -> Any:
        """Return the next word."""
        at = self._context.get_constant(types.intp, self._at)
        self._at += 1
        return self._builder.load(self._builder.gep(self._place, [at]))

    def value(self, kind: Any) -> Any:
        """Return an argument of a type."""
        context, builder = self._context, self._builder
        if isinstance(kind, BaseTuple):
            return context.make_tuple(builder, kind, [self.value(item) for item in kind])
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
        # C order is assumed, and strides are worked out: they need no words
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        arrays.populate_array(array, data, shape, strides[: kind.ndim], itemsize, meminfo=None)
        return array._getvalue()
