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
from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from typing import Any, final

import numba
import numpy as np
from numba import types
from numba.core import ccallback, cgutils
from numba.extending import intrinsic

from ukctrl.core.compiled import OPTIONS, config, kept

Kernel = Callable[..., Any]
"""A function decorated with `ukctrl.core.compiled.compiled`."""
Fault = Callable[[int], BaseException | None]
"""Makes the error of a negative number that a kernel returned; or does what the kernel could not,
and returns None."""
carray: Any = numba.carray  # type: ignore[attr-defined]
from_types: Any = types.BaseTuple.from_types
unpack: Any = cgutils.unpack_tuple
KINDS = {"f": "floats", "i": "whole", "b": "flags"}
NUMBERS = {"f": types.float64, "i": types.int64, "b": types.boolean}
"""What an array may hold, by NumPy's letter."""
ENTRANCE = (types.int64,), types.int64
"""What an entrance takes and returns."""
RAISED = -(2**62)
"""What an entrance returns of a kernel that raised: kernels must not."""


def _memory(of: Any) -> Any:
    """Return a compiled function from an address to a pointer to such values."""

    @intrinsic
    def at(typing: Any, address: Any) -> Any:
        pointer: Any = types.CPointer
        signature = pointer(of)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return signature, generate

    return at


floats, whole, flags = _memory(types.float64), _memory(types.int64), _memory(types.boolean)


@intrinsic
def number(typing: Any, bits: Any) -> Any:
    """Compiled: the float whose bits are those of a whole number."""
    signature = types.float64(types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return signature, generate


def _kernels(returning: Any) -> Any:
    """Return a compiled function that calls the kernel at an address, which returns this type.

    It returns a number below zero where the kernel did, or returned False.
    """

    @intrinsic
    def enter(typing: Any, address: Any, arguments: Any) -> Any:
        signature = types.int64(types.int64, arguments)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention, word = context.call_conv, context.get_value_type(types.int64)
            kinds = tuple(arguments)
            given = unpack(builder, values[1], len(kinds))
            kind = convention.get_function_type(returning, kinds)
            kernel = builder.inttoptr(values[0], kind.as_pointer())
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


RETURNS = {
    "nothing": (types.none, _kernels(types.none)),
    "truth": (types.boolean, _kernels(types.boolean)),
    "code": (types.int64, _kernels(types.int64)),
}


@final
class Call:
    """A kernel with the arguments that it will always be called with.

    Arrays are those of whoever made it, and must stay where they are.

    Attributes:
        fault: Answers a negative number that the kernel returned.
        inside: The `Steps` that the kernel runs itself, and whose faults are its own; or None.
        entrance: Address of what takes the block apart.
        block: Address of the kernel's address and its arguments.
    """

    def __init__(
        self, kernel: Kernel, *arguments: Any, fault: Fault | None = None, inside: Any = None
    ) -> None:
        self.kernel, self.arguments, self.fault, self.inside = kernel, arguments, fault, inside
        if inside is not None:
            self.fault = lambda code: inside.forget()
        self.entrance = self.block = 0
        words: list[int] = [0]
        kinds = _laid_out(arguments, words)
        if config.DISABLE_JIT:
            return
        known = _ENTRANCES.get((kernel, kinds))
        self.entrance, words[0] = known or _entrance(kernel, kinds, arguments)
        self._words = array("q", words)
        self.block = self._words.buffer_info()[0]

    def in_python(self) -> int:
        """Call the kernel as Python does; return what its entrance would."""
        answer = self.kernel(*self.arguments)
        if answer is None:
            return 0
        return int(answer) - 1 if isinstance(answer, bool | np.bool_) else int(answer)

    def __reduce__(self) -> Any:
        raise TypeError("a call knows addresses of this process; make it anew where it is needed.")


def _address(array: Any) -> int:
    """Return where the numbers of an array lie in memory."""
    try:  # a fifth of the time that NumPy takes to tell
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # it is read-only, or empty
        return int(array.ctypes.data)


def _laid_out(arguments: Sequence[Any], words: list[int]) -> tuple[Any, ...]:
    """Append to a block what its kernel is called with; return the kinds of all that is in it.

    An array is its kind of number and how many axes it has; a tuple is its class and what is in it.
    """
    kinds: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            numbers, shape = value.dtype.kind, value.shape
            if not value.flags.c_contiguous or numbers not in KINDS:
                raise TypeError(f"a kernel takes contiguous arrays of numbers; got {value.dtype}.")
            words += (_address(value), *shape)
            kinds.append((numbers, len(shape)))
        elif isinstance(value, tuple):
            kinds.append((type(value), *_laid_out(value, words)))
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


class _Text:
    """How an entrance takes a block apart.

    Attributes:
        text: The arguments as an expression in the block ``b``, which tells their types too.
        classes: The named tuples of the expression, by name.
    """

    def __init__(self, kinds: Sequence[Any]) -> None:
        self._at = 1
        self.classes: dict[str, type] = {}
        self.text = self._list(kinds)

    def _list(self, kinds: Sequence[Any]) -> str:
        return "".join(f"{self._one(kind)}, " for kind in kinds)

    def _one(self, kind: Any) -> str:
        if isinstance(kind, tuple) and isinstance(kind[0], type):
            made, inside = kind[0], self._list(kind[1:])
            if made is tuple:
                return f"({inside})"
            name = f"{made.__module__}.{made.__qualname__}".replace(".", "_")
            self.classes[name] = made
            return f"{name}({inside})"
        at = self._at
        self._at += 1
        if isinstance(kind, tuple):
            numbers, axes = kind
            shape = "".join(f"b[{at + k}], " for k in range(1, axes + 1))
            self._at += axes
            return f"carray({KINDS[numbers]}(b[{at}]), ({shape}))"
        return {"b": f"b[{at}] != 0", "i": f"b[{at}]", "f": f"number(b[{at}])"}[kind]


def _type(value: Any) -> Any:
    """Return the type by which Numba knows an argument."""
    if isinstance(value, tuple):
        kinds = [_type(part) for part in value]
        return from_types(kinds) if type(value) is tuple else from_types(kinds, type(value))
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
            address, returns = _native(kernel, arguments)
            called = entrance(returns, _Text(kinds))
            _ENTRANCES[kernel, kinds] = int(called.address), address
        return _ENTRANCES[kernel, kinds]


def _native(kernel: Any, arguments: Sequence[Any]) -> tuple[int, str]:
    """Return the address of a kernel's machine code for such arguments, and what it returns."""
    kinds = tuple(_type(value) for value in arguments)
    kernel.compile(kinds)
    made = kernel.overloads[kinds]
    address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    answer = made.signature.return_type
    name = next((name for name, (kind, _) in RETURNS.items() if kind == answer), "")
    if not name:
        raise TypeError(f"kernel '{kernel.__name__}' must return nothing, a truth or a number.")
    return int(address), name


def entrance(returns: str, arguments: _Text) -> Any:
    """Return what takes such a block apart and calls the kernel in it."""
    told = f"{returns} {arguments.text}"
    if told not in _FUNCTIONS:
        called = f"enter_{hashlib.sha256(told.encode()).hexdigest()[:16]}"
        source = (
            f"def {called}(block):\n    b = whole(block)\n"
            f"    return enter(b[0], ({arguments.text}))\n"
        )
        known = {
            **arguments.classes, "enter": RETURNS[returns][1], "carray": carray, "number": number,
            "floats": floats, "whole": whole, "flags": flags, "__name__": __name__,
        }  # fmt: skip
        exec(compile(source, __file__, "exec"), known)
        made: Any = ccallback.CFunc(known[called], ENTRANCE, {}, OPTIONS)
        made._cache = kept(known[called])
        made.compile()
        _FUNCTIONS[told] = made
    return _FUNCTIONS[told]
