"""From lines of arithmetic to a table of operations: what `ukctrl.core.expression.interpreter`
runs.

The lines are those of a small part of Python: assignments, arithmetic, calls of the functions of
the language and of other formulas, ``table[count(breaks, t)]``, an early ``return`` under one
comparison, and a ``return`` at the end. They are read, never executed.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.expression import interpreter
from ukctrl.core.message_text import quote_text
from ukctrl.core.program import BoundKernel, KernelStep

DOMAIN_REASONS = {
    interpreter.DIVIDE: "division by zero",
    interpreter.MODULO: "division by zero",
    interpreter.SQRT: "root of a negative number",
    interpreter.LOG: "logarithm of no positive number",
    interpreter.POWER: "power of no positive number",
    interpreter.ASIN: "arc sine of a number beyond 1",
    interpreter.ACOS: "arc cosine of a number beyond 1",
}
"""What is wrong where an operation has no finite value; else a number is too large."""
TOO_LARGE = "a number is too large"


class DomainError(UkctrlError, ArithmeticError):
    """A formula has no finite real value at the arguments that came (sqrt of -1, 1/0, ...)."""


class FormulaSection(NamedTuple):
    """Operations of one text."""

    first: int
    last: int
    label: str
    """What an error calls it."""
    time: int
    """The place of the time; 0: it knows of none."""


@final
class CompiledFormula:
    """A function of numbers and of lists of numbers, whose values are a flat list.

    Args:
        lines: Its body, ending with ``return``.
        label: What an error calls it.
        time: Which parameter is the time, for errors; or None.
        known: What the lines use beside the language: formulas, functions of Python from a number
            to numbers, a table's rows and lists of numbers.

    Attributes:
        parameters: Its parameters; each is a number, or a list if the lines write ``p[3]``.
        code: Its operations; see `interpreter.run_operations`.
        table: Numbers that they load.
        initial_slots: The places of numbers before a run, with the constants in theirs.
        inputs: Where arguments go, shape ``(i, 3)``; see `interpreter.evaluate_into`.
        outputs: The places of the results.
        callbacks: Functions of Python that it calls, by the operation; a compiled loop cannot.
    """

    def __init__(
        self,
        parameters: Sequence[str],
        lines: Sequence[str],
        label: str = "",
        time: int | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self.label, self.lines, self.time = label, tuple(lines), time
        self.parameters = tuple(parameters)
        definition = self.parameters, self.lines, time
        # tables of a path are no key of a cache
        assembler, clock = _Assembler.of(*definition, known) if known else _assemble(*definition)
        self.code: Indices = np.array(assembler.code, dtype=np.int64).reshape(-1, 5)
        self.table = np.array(assembler.table)
        self.initial_slots = np.array(assembler.slots)
        self.inputs: Indices = np.array(assembler.inputs, dtype=np.int64).reshape(-1, 3)
        self.outputs: Indices = np.array(assembler.outputs, dtype=np.int64)
        self.callbacks: dict[int, Callback] = assembler.callbacks
        self.parts = (*assembler.parts, FormulaSection(0, len(assembler.code), label, clock))

    def __call__(self, *arguments: Any) -> tuple[float, ...]:
        """Evaluate.

        Raises:
            DomainError: It has no finite real value there.
        """
        w = self.initial_slots.copy()
        for index, at, slot in self.inputs.tolist():
            argument = arguments[index]
            w[slot] = (
                argument[max(at, 0)] if isinstance(argument, np.ndarray) or at >= 0 else argument
            )
        stopped = interpreter.run_operations(self.code, self.table, w, 0)
        while stopped >= 0:
            call = self.callbacks.get(stopped)
            if call is None:
                raise self.fault(stopped, w)
            values = call.function(float(w[call.argument_slot]))
            w[call.first_result : call.first_result + call.n_results] = values
            stopped = interpreter.run_operations(self.code, self.table, w, stopped + 1)
        return tuple(w[self.outputs].tolist())

    def as_step(self, arguments: tuple[Vector, ...], out: Vector) -> KernelStep:
        """Return what writes its values at arguments: a kernel, unless it calls Python.

        Args:
            arguments: Its arguments, each as an array; of a number, an array of one.
            out: Receives the values.
        """
        if self.callbacks:

            def write() -> None:
                out[:] = self(*arguments)

            return write
        inputs, w = self.inputs.copy(), self.initial_slots.copy()
        # in a table every argument is an array, numbers of shape (1,)
        inputs[inputs[:, 1] < 0, 1] = 0
        args = self.code, self.table, w, inputs, arguments, self.outputs, out
        return BoundKernel(
            interpreter.evaluate_into, *args, fault=lambda code: self.fault(-2 - code, w)
        )

    def fault(self, operation: int, w: Vector) -> DomainError:
        """Return the error of an operation that has no finite value."""
        section = next(
            section for section in self.parts if section.first <= operation < section.last
        )
        op, _, a, b, _ = self.code[operation].tolist()
        reason = DOMAIN_REASONS.get(op, TOO_LARGE)
        if (op == interpreter.DIVIDE and w[b] != 0.0) or (op == interpreter.POWER and w[a] > 0.0):
            reason = TOO_LARGE
        when = f" at t = {w[section.time]:g} s" if section.time else ""
        prefix = f"in {quote_text(section.label)}: " if section.label else ""
        return DomainError(f"{prefix}there is no finite real value{when} ({reason}).")


class Callback(NamedTuple):
    """A function of Python that a formula calls."""

    function: Callable[[float], Sequence[float]]
    argument_slot: int
    """The place of its argument."""
    first_result: int
    """The place of the first of its results."""
    n_results: int
    """How many they are."""


class _Assembler:
    """Reads lines, and writes operations."""

    def __init__(self, parameters: Sequence[str], namespace: Mapping[str, Any]) -> None:
        self._parameters = {name: number for number, name in enumerate(parameters)}
        self._known = namespace
        self.code: list[tuple[int, int, int, int, int]] = []
        self.table: list[float] = []
        self.slots: list[float] = [0.0]
        self.inputs: list[tuple[int, int, int]] = []
        self.outputs: list[int] = []
        self.callbacks: dict[int, Callback] = {}
        self.parts: list[FormulaSection] = []
        self._constants: dict[tuple[float, float], int] = {}
        self._names: dict[str, int] = {}
        self._tables: dict[str, tuple[int, int]] = {}
        self._early: list[int] = []

    def read(self, lines: Sequence[str]) -> None:
        for statement in ast.parse("\n".join(lines)).body:
            self._statement(statement)
        for jump in self._early:  # to the end
            op, to, a, b, _ = self.code[jump]
            self.code[jump] = (op, to, a, b, len(self.code) - jump - 1)

    @staticmethod
    def of(
        parameters: tuple[str, ...],
        lines: tuple[str, ...],
        time: int | None,
        namespace: Mapping[str, Any],
    ) -> tuple[_Assembler, int]:
        """Return the operations of lines, and the place of the time."""
        assembler = _Assembler(parameters, namespace)
        clock = 0 if time is None else assembler.input(parameters[time], -1)
        assembler.read(lines)
        return assembler, clock

    def _place(self, value: float = 0.0) -> int:
        self.slots.append(value)
        return len(self.slots) - 1

    def _constant(self, value: float) -> int:
        # 0.0 and -0.0 compare equal, and are not
        key = (value, math.copysign(1.0, value))
        if key not in self._constants:
            self._constants[key] = self._place(value)
        return self._constants[key]

    def _operation(self, op: int, a: int, b: int = 0, more: int = 0) -> int:
        to = self._place()
        self.code.append((op, to, a, b, more))
        return to

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = self._value(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                first = self._several(value, len(targets))
                for k, target in enumerate(targets):
                    assert isinstance(target, ast.Name)
                    self._names[target.id] = first + k
            case ast.If(test=test, body=[ast.Return(value=value)]):
                self._early_return(test, value)
            case ast.Return(value=ast.Tuple(elts=values)):
                self._returned([self._value(value) for value in values])
            case ast.Return(value=ast.Name(id=name)):
                self._returned([self._constant(value) for value in self._known[name]])
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _returned(self, slots: Sequence[int]) -> None:
        """Let the places be the results; those of an earlier return receive copies."""
        if not self.outputs:
            self.outputs = list(slots)
            return
        for to, slot in zip(self.outputs, slots, strict=True):
            self.code.append((interpreter.COPY, to, slot, 0, 0))

    def _early_return(self, test: ast.expr, value: ast.expr | None) -> None:
        assert isinstance(test, ast.Compare)
        assert isinstance(value, ast.Name)
        left, right = self._value(test.left), self._value(test.comparators[0])
        # one comparison is enough: the other is this one turned
        if isinstance(test.ops[0], ast.Gt):
            left, right = right, left
        values = self._known[value.id]
        if not self.outputs:
            self.outputs = [self._place() for _ in values]
        self.code.append((interpreter.LESS, 0, left, right, len(values) + 1))
        for to, number in zip(self.outputs, values, strict=True):
            self.code.append((interpreter.COPY, to, self._constant(number), 0, 0))
        self._early.append(len(self.code))
        self.code.append((interpreter.JUMP, 0, 0, 0, 0))

    def _value(self, node: ast.expr) -> int:
        """Write the operations of an expression; return the place of its value."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._constant(float(value))
            case ast.Name(id="nan"):
                return self._constant(math.nan)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as at)):
                return self.input(name, at)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self._constant(-float(value))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                # -0.0 keeps the sign of zero
                return self._multiply_add(self._value(operand), -1.0, -0.0)
            # a product and a sum in one operation: half as many to interpret
            case ast.BinOp(left=ast.BinOp(left=x, op=ast.Mult(), right=y), op=ast.Add(), right=z):
                return self._multiply_add(self._value(x), self._value(y), self._value(z))
            case ast.BinOp(left=z, op=ast.Add(), right=ast.BinOp(left=x, op=ast.Mult(), right=y)):
                return self._multiply_add(self._value(x), self._value(y), self._value(z))
            case ast.BinOp(left=left, op=operator, right=right):
                return self._of_two(operator, self._value(left), self._value(right))
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in interpreter.FUNCTIONS:
                slots = [self._value(argument) for argument in arguments]
                return self._operation(interpreter.FUNCTIONS[name], *slots)
        raise NotImplementedError(ast.unparse(node))

    def _of_two(self, operator: ast.operator, a: int, b: int) -> int:
        match operator:
            case ast.Add():
                return self._multiply_add(a, 1.0, b)
            case ast.Sub():
                return self._multiply_add(b, -1.0, a)
            case ast.Mult():
                return self._multiply_add(a, b, -0.0)  # which changes no number, and no zero
            case ast.Mod():
                return self._operation(interpreter.MODULO, a, b)
        return self._operation(interpreter.DIVIDE, a, b)

    def _multiply_add(self, x: int, y: int | float, z: int | float) -> int:
        """Write ``x y + z`` of places, or of constants."""
        y, z = (self._constant(of) if isinstance(of, float) else of for of in (y, z))
        return self._operation(interpreter.MULTIPLY_ADD, x, y, z)

    def _named(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self.input(name, -1)
        return self._names[name]

    def input(self, name: str, at: int) -> int:
        key = name if at < 0 else f"{name}[{at}]"
        if key not in self._names:
            self._names[key] = self._place()
            self.inputs.append((self._parameters[name], at, self._names[key]))
        return self._names[key]

    def _several(self, node: ast.expr, count: int) -> int:
        """Write what gives several values; return the place of the first."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                return self._called(self._known[name], self._value(argument), count)
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Call(args=[ast.Name(id=breaks), at])
            ):
                rows = self._known[name]
                start, many = self._listed(breaks, self._known[breaks])
                index = self._operation(interpreter.SEARCH, self._value(at), start, many)
                start, _ = self._listed(name, [value for row in rows for value in row])
                first = len(self.slots)
                self.slots += [0.0] * count
                self.code.append((interpreter.LOAD, first, index, start, count))
                return first
        raise NotImplementedError(ast.unparse(node))

    def _listed(self, name: str, values: Sequence[float]) -> tuple[int, int]:
        """Return where numbers begin in the table, and how many they are."""
        if name not in self._tables:
            self._tables[name] = len(self.table), len(values)
            self.table += values
        return self._tables[name]

    def _called(self, function: Any, argument: int, count: int) -> int:
        """Write the operations of another formula, or the call of a function of Python."""
        # a function of Python cannot be copied into the table: the interpreter stops there
        if not isinstance(function, CompiledFormula):
            first = len(self.slots)
            self.slots += [0.0] * count
            self.callbacks[len(self.code)] = Callback(function, argument, first, count)
            self.code.append((interpreter.CALL, first, argument, 0, count))
            return first
        base, data = len(self.slots), len(self.table)
        self.slots += function.initial_slots.tolist()
        self.table += function.table.tolist()
        for _, _, slot in function.inputs.tolist():
            self.code.append((interpreter.COPY, base + slot, argument, 0, 0))
        shift = len(self.code)
        for op, to, a, b, more in function.code.tolist():
            # a formula within a formula is its table, moved
            b = b + data if op in (interpreter.LOAD, interpreter.SEARCH) else b + base
            more = more + base if op == interpreter.MULTIPLY_ADD else more
            self.code.append((op, to + base, a + base, b, more))
        for at, call in function.callbacks.items():
            self.callbacks[at + shift] = call._replace(
                argument_slot=call.argument_slot + base, first_result=call.first_result + base
            )
        for section in function.parts:
            time = base + section.time if section.time else 0
            first = section.first + shift
            self.parts.append(FormulaSection(first, section.last + shift, section.label, time))
        first = len(self.slots)
        for slot in function.outputs.tolist():
            self._operation(interpreter.COPY, slot + base)
        return first


@functools.lru_cache(maxsize=256)  # a study reads the same paths and forces for every run
def _assemble(
    parameters: tuple[str, ...], lines: tuple[str, ...], time: int | None
) -> tuple[_Assembler, int]:
    return _Assembler.of(parameters, lines, time, {})
