"""From lines of arithmetic to a table of operations: what `ukctrl.core.expression.machine` runs.

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
from ukctrl.core.expression import machine
from ukctrl.core.expression.syntax import shown
from ukctrl.core.program import Call, Step

WHY = {
    machine.DIVIDE: "division by zero",
    machine.MODULO: "division by zero",
    machine.SQRT: "root of a negative number",
    machine.LOG: "logarithm of no positive number",
    machine.POWER: "power of no positive number",
    machine.ASIN: "arc sine of a number beyond 1",
    machine.ACOS: "arc cosine of a number beyond 1",
}
"""What is wrong where an operation has no finite value; else a number is too large."""
TOO_LARGE = "a number is too large"


class DomainError(UkctrlError, ArithmeticError):
    """A formula has no finite real value at the arguments that came (sqrt of -1, 1/0, ...)."""


class Part(NamedTuple):
    """Operations of one text."""

    first: int
    last: int
    label: str
    """What an error calls it."""
    time: int
    """The place of the time; 0: it knows of none."""


@final
class Formula:
    """A function of numbers and of lists of numbers, whose values are a flat list.

    Args:
        lines: Its body, ending with ``return``.
        label: What an error calls it.
        time: Which parameter is the time, for errors; or None.
        known: What the lines use beside the language: formulas, functions of Python from a number
            to numbers, a table's rows and lists of numbers.

    Attributes:
        parameters: Its parameters; each is a number, or a list if the lines write ``p[3]``.
        code: Its operations; see `machine.operate`.
        table: Numbers that they load.
        start: The places of numbers before a run, with the constants in theirs.
        inputs: See `machine.fill`.
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
        given = self.parameters, self.lines, time
        made, clock = _Assembler.of(*given, known) if known else _known(*given)
        self.code: Indices = np.array(made.code, dtype=np.int64).reshape(-1, 5)
        self.table = np.array(made.table)
        self.start = np.array(made.places)
        self.inputs: Indices = np.array(made.inputs, dtype=np.int64).reshape(-1, 3)
        self.outputs: Indices = np.array(made.outputs, dtype=np.int64)
        self.callbacks: dict[int, Callback] = made.callbacks
        self.parts = (*made.parts, Part(0, len(made.code), label, clock))

    def __call__(self, *arguments: Any) -> tuple[float, ...]:
        """Evaluate.

        Raises:
            DomainError: It has no finite real value there.
        """
        w = self.start.copy()
        for which, at, place in self.inputs.tolist():
            given = arguments[which]
            w[place] = given[max(at, 0)] if isinstance(given, np.ndarray) or at >= 0 else given
        stopped = machine.operate(self.code, self.table, w, 0)
        while stopped >= 0:
            call = self.callbacks.get(stopped)
            if call is None:
                raise self.fault(stopped, w)
            values = call.function(float(w[call.argument]))
            w[call.first : call.first + call.many] = values
            stopped = machine.operate(self.code, self.table, w, stopped + 1)
        return tuple(w[self.outputs].tolist())

    def step(self, given: tuple[Vector, ...], out: Vector) -> Step:
        """Return what writes its values at arguments: a kernel, unless it calls Python.

        Args:
            given: Its arguments, each as an array; of a number, an array of one.
            out: Receives the values.
        """
        if self.callbacks:

            def write() -> None:
                out[:] = self(*given)

            return write
        inputs, w = self.inputs.copy(), self.start.copy()
        inputs[inputs[:, 1] < 0, 1] = 0
        places = self.code, self.table, w, inputs, given, self.outputs, out
        return Call(machine.fill, *places, fault=lambda code: self.fault(-2 - code, w))

    def fault(self, operation: int, w: Vector) -> DomainError:
        """Return the error of an operation that has no finite value."""
        part = next(part for part in self.parts if part.first <= operation < part.last)
        op, _, a, b, _ = self.code[operation].tolist()
        why = WHY.get(op, TOO_LARGE)
        if (op == machine.DIVIDE and w[b] != 0.0) or (op == machine.POWER and w[a] > 0.0):
            why = TOO_LARGE
        when = f" at t = {w[part.time]:g} s" if part.time else ""
        what = f"in {shown(part.label)}: " if part.label else ""
        return DomainError(f"{what}there is no finite real value{when} ({why}).")


class Callback(NamedTuple):
    """A function of Python that a formula calls."""

    function: Callable[[float], Sequence[float]]
    argument: int
    """The place of its argument."""
    first: int
    """The place of the first of its results."""
    many: int
    """How many they are."""


class _Assembler:
    """Reads lines, and writes operations."""

    def __init__(self, parameters: Sequence[str], known: Mapping[str, Any]) -> None:
        self._parameters = {name: number for number, name in enumerate(parameters)}
        self._known = known
        self.code: list[tuple[int, int, int, int, int]] = []
        self.table: list[float] = []
        self.places: list[float] = [0.0]
        self.inputs: list[tuple[int, int, int]] = []
        self.outputs: list[int] = []
        self.callbacks: dict[int, Callback] = {}
        self.parts: list[Part] = []
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
        known: Mapping[str, Any],
    ) -> tuple[_Assembler, int]:
        """Return the operations of lines, and the place of the time."""
        made = _Assembler(parameters, known)
        clock = 0 if time is None else made.input(parameters[time], -1)
        made.read(lines)
        return made, clock

    def _place(self, value: float = 0.0) -> int:
        self.places.append(value)
        return len(self.places) - 1

    def _constant(self, value: float) -> int:
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

    def _returned(self, places: Sequence[int]) -> None:
        """Let the places be the results; those of an earlier return receive copies."""
        if not self.outputs:
            self.outputs = list(places)
            return
        for to, place in zip(self.outputs, places, strict=True):
            self.code.append((machine.COPY, to, place, 0, 0))

    def _early_return(self, test: ast.expr, value: ast.expr | None) -> None:
        assert isinstance(test, ast.Compare)
        assert isinstance(value, ast.Name)
        left, right = self._value(test.left), self._value(test.comparators[0])
        if isinstance(test.ops[0], ast.Gt):
            left, right = right, left
        values = self._known[value.id]
        if not self.outputs:
            self.outputs = [self._place() for _ in values]
        self.code.append((machine.LESS, 0, left, right, len(values) + 1))
        for to, number in zip(self.outputs, values, strict=True):
            self.code.append((machine.COPY, to, self._constant(number), 0, 0))
        self._early.append(len(self.code))
        self.code.append((machine.JUMP, 0, 0, 0, 0))

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
                return self._multiply_add(self._value(operand), -1.0, -0.0)
            case ast.BinOp(left=ast.BinOp(left=x, op=ast.Mult(), right=y), op=ast.Add(), right=z):
                return self._multiply_add(self._value(x), self._value(y), self._value(z))
            case ast.BinOp(left=z, op=ast.Add(), right=ast.BinOp(left=x, op=ast.Mult(), right=y)):
                return self._multiply_add(self._value(x), self._value(y), self._value(z))
            case ast.BinOp(left=left, op=operator, right=right):
                return self._of_two(operator, self._value(left), self._value(right))
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in machine.FUNCTIONS:
                places = [self._value(argument) for argument in arguments]
                return self._operation(machine.FUNCTIONS[name], *places)
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
                return self._operation(machine.MODULO, a, b)
        return self._operation(machine.DIVIDE, a, b)

    def _multiply_add(self, x: int, y: int | float, z: int | float) -> int:
        """Write ``x y + z`` of places, or of constants."""
        y, z = (self._constant(of) if isinstance(of, float) else of for of in (y, z))
        return self._operation(machine.MULTIPLY_ADD, x, y, z)

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
                index = self._operation(machine.SEARCH, self._value(at), start, many)
                start, _ = self._listed(name, [value for row in rows for value in row])
                first = len(self.places)
                self.places += [0.0] * count
                self.code.append((machine.LOAD, first, index, start, count))
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
        if not isinstance(function, Formula):
            first = len(self.places)
            self.places += [0.0] * count
            self.callbacks[len(self.code)] = Callback(function, argument, first, count)
            self.code.append((machine.CALL, first, argument, 0, count))
            return first
        base, data = len(self.places), len(self.table)
        self.places += function.start.tolist()
        self.table += function.table.tolist()
        for _, _, place in function.inputs.tolist():
            self.code.append((machine.COPY, base + place, argument, 0, 0))
        shift = len(self.code)
        for op, to, a, b, more in function.code.tolist():
            b = b + data if op in (machine.LOAD, machine.SEARCH) else b + base
            more = more + base if op == machine.MULTIPLY_ADD else more
            self.code.append((op, to + base, a + base, b, more))
        for at, call in function.callbacks.items():
            self.callbacks[at + shift] = call._replace(
                argument=call.argument + base, first=call.first + base
            )
        for part in function.parts:
            time = base + part.time if part.time else 0
            first = part.first + shift
            self.parts.append(Part(first, part.last + shift, part.label, time))
        first = len(self.places)
        for place in function.outputs.tolist():
            self._operation(machine.COPY, place + base)
        return first


@functools.lru_cache(maxsize=256)  # a study reads the same paths and forces for every run
def _known(
    parameters: tuple[str, ...], lines: tuple[str, ...], time: int | None
) -> tuple[_Assembler, int]:
    return _Assembler.of(parameters, lines, time, {})
