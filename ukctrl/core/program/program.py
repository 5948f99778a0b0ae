"""Steps one after the other: kernels that one compiled loop runs, and functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ukctrl.core.arrays import Indices
from ukctrl.core.compiled import compiled, config
from ukctrl.core.program.call import Call, Fault

ENTRANCE, BLOCK, ANSWER = range(3)
"""Columns of a program's lines: two addresses, and what the kernel returned last."""
Step = Call | Callable[[], object]
"""A kernel with its arguments, or a function of Python, which no compiled loop can call."""


@intrinsic
def enter(typing: Any, entrance: Any, block: Any) -> Any:
    """Compiled: call the entrance of a kernel with the address of its arguments."""
    signature = types.int64(types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(function, [arguments[1]])

    return signature, generate


compiled_enter: Any = enter  # which type checkers take for the function that makes it


@compiled
def run(lines: Indices) -> int:
    """Run the lines of a program, and write what each kernel returned into the third column.

    Returns -1, or the number of the first line whose kernel returned a number below zero.
    """
    for k in range(len(lines)):
        lines[k, ANSWER] = compiled_enter(lines[k, ENTRANCE], lines[k, BLOCK])
        if lines[k, ANSWER] < 0:
            return k
    return -1


def as_step(function: Callable[..., Any], *arguments: Any, fault: Fault) -> Step:
    """Return a function with its arguments as a step; of Python where it is not compiled."""
    if hasattr(function, "signatures"):
        return Call(function, *arguments, fault=fault)

    def ask() -> None:
        code = function(*arguments)
        if code < 0:
            raise fault(code)

    return ask


@final
class Program:
    """Kernels in their order, as a table that compiled loops take.

    Attributes:
        calls: The kernels with their arguments.
        lines: The table, shape ``(n, 3)``.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = tuple(calls)
        self.lines: Indices = np.zeros((len(self.calls), 3), dtype=np.int64)
        for line, call in zip(self.lines, self.calls, strict=True):
            line[ENTRANCE], line[BLOCK] = call.entrance, call.block

    def __call__(self) -> None:
        """Run it; raises what the first kernel that fails says."""
        failed = self._in_python() if config.DISABLE_JIT else run(self.lines)
        if failed >= 0:
            self.complain(failed)

    def _in_python(self) -> int:
        for k, call in enumerate(self.calls):
            self.lines[k, ANSWER] = call.in_python()
            if self.lines[k, ANSWER] < 0:
                return k
        return -1

    def complain(self, line: int) -> None:
        """Raise the error of a line that failed."""
        call, code = self.calls[line], int(self.lines[line, ANSWER])
        if call.fault is None:
            raise RuntimeError(f"kernel '{call.kernel.__name__}' failed with {code}.")
        raise call.fault(code)


@final
class Steps:
    """Steps in their order; runs of kernels among them are one program each.

    Attributes:
        every: The steps.
        python: Those that are functions of Python.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self.every = tuple(steps)
        self.python = tuple(step for step in self.every if not isinstance(step, Call))
        self._parts: list[Callable[[], object]] = []
        kernels: list[Call] = []
        for step in (*self.every, None):
            if isinstance(step, Call):
                kernels.append(step)
                continue
            if kernels:
                self._parts.append(Program(kernels))
                kernels = []
            if step is not None:
                self._parts.append(step)

    def __call__(self) -> None:
        for part in self._parts:
            part()
