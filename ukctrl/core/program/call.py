"""A compiled function with its arguments, ready to be called by machine code.

Numba calls a function of fixed argument types. Here every call has one type: the address of a block
of memory, which holds the address of the kernel and then its arguments, an array as its address and
shape, a number as itself. So a list of kernels is a table of numbers, and one compiled loop runs
any of them (`ukctrl.core.program.program`). What takes a block apart, an entrance, is compiled once
for the types of its arguments, whatever the kernel, and kept on disk with all other machine code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, final

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ukctrl.core.compiled import compiled_with, config

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
        block = _Block(arguments)
        if config.DISABLE_JIT:
            return
        address, returns = _native(kernel, block.text, arguments)
        self._words = np.array([address, *block.words], dtype=np.int64)
        self.entrance = int(entrance(returns, block.text, block.classes).address)
        self.block = self._words.ctypes.data

    def in_python(self) -> int:
        """Call the kernel as Python does; return what its entrance would."""
        answer = self.kernel(*self.arguments)
        if answer is None:
            return 0
        return int(answer) - 1 if isinstance(answer, bool | np.bool_) else int(answer)

    def __reduce__(self) -> Any:
        raise TypeError("a call knows addresses of this process; make it anew where it is needed.")


class _Block:
    """How arguments are made of whole numbers in memory.

    Attributes:
        text: The arguments as an expression in the block ``b``, which tells their types too.
        words: The block, after its first number.
        classes: The named tuples of the expression, by name.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.words: list[int] = []
        self.classes: dict[str, type] = {}
        self.text = "".join(f"{self._told(value)}, " for value in arguments)

    def _told(self, value: Any) -> str:
        at = len(self.words) + 1
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous or value.dtype.kind not in KINDS:
                raise TypeError(f"a kernel takes contiguous arrays of numbers; got {value.dtype}.")
            self.words += (value.ctypes.data, *value.shape)
            shape = "".join(f"b[{at + k}], " for k in range(1, value.ndim + 1))
            return f"carray({KINDS[value.dtype.kind]}(b[{at}]), ({shape}))"
        if isinstance(value, tuple):
            inside, made = "".join(f"{self._told(part)}, " for part in value), type(value)
            if made is tuple:
                return f"({inside})"
            name = f"{made.__module__}.{made.__qualname__}".replace(".", "_")
            self.classes[name] = made
            return f"{name}({inside})"
        if isinstance(value, bool | np.bool_):
            self.words.append(int(value))
            return f"b[{at}] != 0"
        if isinstance(value, int | np.integer):
            self.words.append(int(value))
            return f"b[{at}]"
        if isinstance(value, float):
            self.words.append(int(np.float64(value).view(np.int64)))
            return f"number(b[{at}])"
        raise TypeError(f"a kernel takes arrays, numbers and tuples of them; got {value!r}.")


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


_KERNELS: dict[tuple[Any, str], tuple[int, str]] = {}


def _native(kernel: Any, text: str, arguments: Sequence[Any]) -> tuple[int, str]:
    """Return the address of a kernel's machine code for such arguments, and what it returns."""
    key = (kernel, text)
    if key not in _KERNELS:
        kinds = tuple(_type(value) for value in arguments)
        kernel.compile(kinds)
        made = kernel.overloads[kinds]
        address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        answer = made.signature.return_type
        name = next((name for name, (kind, _) in RETURNS.items() if kind == answer), "")
        if not name:
            raise TypeError(f"kernel '{kernel.__name__}' must return nothing, a truth or a number.")
        _KERNELS[key] = int(address), name
    return _KERNELS[key]


_ENTRANCES: dict[tuple[str, str], Any] = {}


def entrance(returns: str, arguments: str, classes: dict[str, type]) -> Any:
    """Return what takes such a block apart and calls the kernel in it."""
    key = (returns, arguments)
    if key not in _ENTRANCES:
        called = f"enter_{hashlib.sha256(f'{returns} {arguments}'.encode()).hexdigest()[:16]}"
        source = (
            f"def {called}(block):\n    b = whole(block)\n    return enter(b[0], ({arguments}))\n"
        )
        known = {
            **classes, "enter": RETURNS[returns][1], "carray": carray, "number": number,
            "floats": floats, "whole": whole, "flags": flags, "__name__": __name__,
        }  # fmt: skip
        exec(compile(source, __file__, "exec"), known)
        make = numba.cfunc(types.int64(types.int64), cache=True, error_model="numpy")
        _ENTRANCES[key] = compiled_with(make, known[called])
    return _ENTRANCES[key]
