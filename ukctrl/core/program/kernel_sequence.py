"""Steps one after the other: kernels that one compiled loop runs, and functions of Python.

A compiled loop comes back to Python at two places: for a step that is a function of Python, and
where a kernel returned a number below zero, which is a fault or asks for something that kernels
cannot do. Both go through one function that machine code can call, `_come_back`.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled, config, with_python_entry
from ukctrl.core.program.bound_kernel import BoundKernel

TRAMPOLINE, BLOCK, ANSWER = range(3)
"""Columns of a table's lines: two addresses, and what the kernel returned last. The first line has
the address of `_come_back`, the number of the table, and what it is `LINKED` to."""
LINKED = ANSWER
"""In the first line: where one function is that does what all lines do, or 0; see
`ukctrl.simulation.step.linked_sequence`."""
PYTHON_STEP = 0
"""Instead of an entrance: the step is a function of Python, or a kernel that Python calls."""
FAULT, STOP = -1, -2
"""What Python answers where it cannot help: the state is to blame, or the run must end."""
MAX_LINES = 2**32
"""More than any table has."""
KernelStep = BoundKernel | Callable[[], object]
"""A kernel with its arguments, or a function of Python."""


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


def _run(lines: Indices) -> int:
    """Run the lines of a table, and write what each kernel returned into the third column.

    Returns 0, or `FAULT` or `STOP` where a line failed and Python had no help; the rest of the
    lines did not run then.
    """
    if lines[0, LINKED] != 0:
        linked: int = compiled_enter(lines[0, LINKED], lines.ctypes.data)
        return linked
    for k in range(1, len(lines)):
        code = -1
        # a Python step fails on purpose: the way back to Python is the same
        if lines[k, TRAMPOLINE] != PYTHON_STEP:
            code = compiled_enter(lines[k, TRAMPOLINE], lines[k, BLOCK])
        lines[k, ANSWER] = code
        if code < 0:
            answer: int = compiled_enter(lines[0, TRAMPOLINE], lines[0, BLOCK] + k)
            if answer < 0:
                return answer
    return 0


def _run_in_python(lines: Indices) -> int:
    """Run the steps of a table where nothing is compiled; return 0 or the code of a failure."""
    steps = _LIVE[int(lines[0, BLOCK])]
    for k, step in enumerate(steps.items, 1):
        code = step.run_in_python() if isinstance(step, BoundKernel) else -1
        lines[k, ANSWER] = code
        if code < 0 and (answer := steps.call_python(k)) < 0:
            return answer
    return 0


run: Callable[[Indices], int] = _run_in_python if config.DISABLE_JIT else with_python_entry(_run)


@compiled
def run_if_equal(chosen: Vector, number: float, lines: Indices) -> int:
    """Run a table where the first entry of an array is a number; return what `run` does."""
    return run(lines) if chosen[0] == number else 0


def _owner_name(function: Callable[[], object]) -> str:
    """Return whose a function of Python is: the class of the object that made it."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    inside = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    owner = getattr(function, "__self__", inside.get("self", function))
    return type(owner).__name__.lstrip("_")


_LIVE: WeakValueDictionary[int, KernelSequence] = WeakValueDictionary()


def live_sequences() -> Iterable[KernelSequence]:
    """Return all sequences that there are."""
    return _LIVE.values()


_NUMBERS = itertools.count(MAX_LINES, MAX_LINES)


def python_callback(index: int) -> int:
    """Help with a line of a table, both in one number."""
    return _LIVE[index - index % MAX_LINES].call_python(index % MAX_LINES)


_come_back = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(python_callback)
"""What machine code calls with the number of a table and of its line."""
CALLBACK_ADDRESS = ctypes.cast(_come_back, ctypes.c_void_p).value or 0


@final
class KernelSequence:
    """Steps in their order, as a table that compiled loops `run`.

    Attributes:
        items: The steps.
        python_owners: Classes of the parts whose steps are functions of Python, steps within
            kernels included.
        lines: The table, shape ``(n + 1, 3)``.
        fault: What a run that failed met first; whoever looks at it takes it away.
    """

    def __init__(self, steps: Iterable[KernelStep]) -> None:
        self.items = tuple(steps)
        self.python_owners: tuple[str, ...] = ()
        for step in self.items:
            if not isinstance(step, BoundKernel):
                self.python_owners += (_owner_name(step),)
            elif step.nested is not None:
                self.python_owners += step.nested.python_owners
        # the first line says how to come back, so that a table is all a kernel needs to run others
        self.lines: Indices = np.zeros((1 + len(self.items), 3), dtype=np.int64)
        number = next(_NUMBERS)
        self.lines[0, :ANSWER] = CALLBACK_ADDRESS, number
        for line, step in zip(self.lines[1:], self.items, strict=True):
            if isinstance(step, BoundKernel):
                line[TRAMPOLINE], line[BLOCK] = step.trampoline, step.block
        self.fault: BaseException | None = None
        # weakly: a table lives as long as who holds it
        _LIVE[number] = self

    def __call__(self) -> None:
        """Run them; raises what the first that fails says."""
        if run(self.lines) < 0:
            self.raise_fault()

    def python_steps(self) -> Iterator[str]:
        """Yield the names of steps that machine code cannot take without Python."""
        for item in self.items:
            if not isinstance(item, BoundKernel):
                yield _owner_name(item)
            elif not item.trampoline:
                yield item.kernel.__name__

    def contains_all(self, sequence: KernelSequence) -> bool:
        """Return whether all steps of another are among these."""
        return {id(step) for step in sequence.items} <= {id(step) for step in self.items}

    def reads(self, *arrays: NDArray[Any]) -> bool:
        """Return whether some step may read one of these arrays: has it, or is Python's."""
        ids = {id(array) for array in arrays}
        return any(not isinstance(step, BoundKernel) or step.uses(ids) for step in self.items)

    def as_step(self) -> BoundKernel:
        """Return what runs them as one step of others, and as what they are linked to."""
        return BoundKernel(run, self.lines, inside=self)

    def when_equal(self, chosen: Vector, number: int) -> BoundKernel:
        """Return what runs them where the first entry of an array is a number."""
        return BoundKernel(run_if_equal, chosen, float(number), self.lines, inside=self)

    def raise_fault(self) -> None:
        """Raise what a run met that failed; do nothing where none has."""
        if self.fault is not None:
            try:
                raise self.fault  # a name for it would hold the arrays of its frames in a cycle
            finally:
                self.fault = None

    def take_fault(self) -> BaseException | None:
        """Return what a run met that failed, and forget it."""
        fault, self.fault = self.fault, None
        return fault

    def call_python(self, line: int) -> int:
        """Do what a kernel could not, or keep the error; return 0, `FAULT` or `STOP`."""
        try:
            step = self.items[line - 1]
            if (
                isinstance(step, BoundKernel)
                and step.trampoline == PYTHON_STEP
                and not config.DISABLE_JIT
            ):
                self.lines[line, ANSWER] = code = step.run_in_python()
                if code >= 0:
                    return 0
            self._help_with(step, int(self.lines[line, ANSWER]))
        except Exception as fault:  # machine code could not pass it on
            # the first fault is the cause; those behind it follow
            self.fault = self.fault or fault
            return FAULT
        # Ctrl-C and the like must end the run, whatever a law makes of faults
        except BaseException as stop:
            self.fault = stop
            return STOP
        return 0

    @staticmethod
    def _help_with(step: KernelStep, code: int) -> None:
        if not isinstance(step, BoundKernel):
            step()
            return
        if step.fault is None:
            raise RuntimeError(f"kernel '{step.kernel.__name__}' failed with {code}.")
        fault = step.fault(code)
        if fault is not None:
            try:
                raise fault
            finally:
                del fault  # else it and this frame hold each other, and the arrays of all frames
