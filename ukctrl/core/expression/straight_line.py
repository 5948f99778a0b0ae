"""Straight line: a formula's operations one after the other in LLVM's language.

The interpreter reads which operation comes next; where a formula is known when machine code is
made, nobody has to. Each operation is the same arithmetic, so that results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.expression.interpreter import (
    ACOS,
    ASIN,
    ATAN,
    ATAN2,
    COPY,
    COS,
    COSH,
    DIVIDE,
    EXP,
    JUMP,
    LESS,
    LOG,
    MULTIPLY_ADD,
    SIN,
    SINH,
    SQRT,
    TAN,
    TANH,
)  # fmt: skip

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
INTRINSICS = {SIN: "sin", COS: "cos", EXP: "exp", LOG: "log", SQRT: "sqrt"}
"""Functions that LLVM knows by itself, and calls once for the same argument."""
LIBRARY = {
    TAN: "tan", ASIN: "asin", ACOS: "acos", ATAN: "atan", ATAN2: "atan2", SINH: "sinh",
    COSH: "cosh", TANH: "tanh",
}  # fmt: skip
READS = {MULTIPLY_ADD: 3, DIVIDE: 2, COPY: 1, LESS: 2, JUMP: 0, ATAN2: 2}
"""How many places an operation reads; of a function one."""
PASSES_ON = {MULTIPLY_ADD: 3, DIVIDE: 1, COPY: 1, **dict.fromkeys((SIN, COS, TAN, SQRT, LOG), 1)}
"""Of so many of the places that it reads an operation has no finite value where one has none."""
FOLDED = (0.0, 1.0, -1.0)
"""Constants by which sums and products are written; -0.0 is among them."""
MOST_OPERATIONS = 4000
"""Beyond, code grows and nothing is gained: numbers wait for memory then."""


def straight_line(
    module: Any,
    symbol: str,
    code: Indices,
    w: Vector,
    inputs: Indices,
    outputs: Indices,
    *,
    reads_constants: bool = False,
) -> Any:
    """Write a formula as a function of its arguments' addresses, and of where results go.

    Args:
        module: Where to.
        symbol: What the function is called.
        code: Operations, as of `evaluate_into`.
        w: Places, with the constants in theirs.
        inputs: Which argument, where in it, and its place, shape ``(k, 3)``.
        outputs: Where the results are.
        reads_constants: Whether constants but those of `folded` are read where they are, whose
            address comes behind those of the arguments.

    Returns:
        The function, which returns whether all that was computed is finite: else the interpreter
        has to say whether an operation has no value. None where an operation is not one of these.
    """
    operations = code.tolist()
    known = READS.keys() | INTRINSICS.keys() | LIBRARY.keys()
    if len(code) > MOST_OPERATIONS or not known >= {op for op, *_ in operations}:
        return None
    count = 1 + int(inputs[:, 0].max(initial=-1))
    count += 1 if reads_constants else 0
    kind = ir.FunctionType(ir.IntType(1), [DOUBLE.as_pointer()] * (count + 1))
    function = ir.Function(module, kind, symbol)
    function.linkage = "internal"
    _Writer(function, operations, w, inputs, outputs, reads_constants).write()
    return function


def folded(code: Indices, w: Vector, inputs: Indices) -> Vector:
    """Return the constants that arithmetic may be left out for, NaN at all other places."""
    known: Vector = np.where(np.isin(w, FOLDED), w, np.nan)
    known[code[~np.isin(code[:, 0], (LESS, JUMP)), 1]] = np.nan
    known[inputs[:, 2]] = np.nan
    return known


class _Writer:
    """What writes the body of one formula."""

    def __init__(
        self,
        function: Any,
        operations: Sequence[Sequence[int]],
        w: Vector,
        inputs: Indices,
        outputs: Indices,
        reads_constants: bool,
    ) -> None:
        self._function, self._operations = function, operations
        self._reads_constants = reads_constants
        self._inputs, self._outputs = inputs.tolist(), outputs.tolist()
        self._builder = ir.IRBuilder(function.append_basic_block())
        self._w, self._places = w, dict[int, Any]()
        self._sum: Any = None

    def write(self) -> None:
        """Write all."""
        builder, operations = self._builder, self._operations
        written = {to for op, to, *_ in operations if op not in (LESS, JUMP)}
        # LLVM makes values of them
        for place in sorted(written | {to for _, _, to in self._inputs}):
            self._places[place] = builder.alloca(DOUBLE)
        self._sum = builder.alloca(DOUBLE)
        builder.store(DOUBLE(0.0), self._sum)
        for argument, at, to in self._inputs:
            source = builder.gep(self._function.args[argument], [WORD(at)])
            builder.store(builder.load(source), self._places[to])
        targets = {k + 1 + n for k, (op, *_, n) in enumerate(operations) if op in (LESS, JUMP)}
        blocks = {k: self._function.append_basic_block() for k in sorted(targets)}
        watched = set(self._watched())
        for k, (op, to, *places) in enumerate(operations):
            self._enter(blocks.get(k))
            if op == JUMP:
                builder.branch(blocks[k + 1 + places[2]])
            elif op == LESS:
                x, y = map(self._read, places[:2])
                self._watch(x)
                self._watch(y)
                after = self._function.append_basic_block()
                smaller = builder.fcmp_ordered("<", x, y)
                builder.cbranch(smaller, after, blocks[k + 1 + places[2]])
                builder.position_at_end(after)
            else:
                value = self._value(op, [self._read(place) for place in places[: READS.get(op, 1)]])
                builder.store(value, self._places[to])
                if k in watched:
                    self._watch(value)
        self._enter(blocks.get(len(operations)))
        *_, out = self._function.args
        for k, place in enumerate(self._outputs):
            value = self._read(place)
            if place not in written:
                self._watch(value)
            builder.store(value, builder.gep(out, [WORD(k)]))
        total = builder.load(self._sum)
        builder.ret(builder.fcmp_ordered("==", total, DOUBLE(0.0)))

    def _enter(self, block: Any) -> None:
        """Go on in a block to which something jumps."""
        if block is None:
            return
        if not self._builder.block.is_terminated:
            self._builder.branch(block)
        self._builder.position_at_end(block)

    def _read(self, place: int) -> Any:
        if place in self._places:
            return self._builder.load(self._places[place])
        if self._reads_constants and self._w[place] not in FOLDED:
            constants = self._function.args[-2]
            return self._builder.load(self._builder.gep(constants, [WORD(place)]))
        return DOUBLE(float(self._w[place]))

    def _watch(self, value: Any) -> None:
        """Add nothing to the sum where a value is finite, and NaN where not."""
        builder = self._builder
        # in any order: zeros have no rounding
        nothing = builder.fmul(value, DOUBLE(0.0), flags=("reassoc",))
        total = builder.fadd(builder.load(self._sum), nothing, flags=("reassoc",))
        builder.store(total, self._sum)

    def _watched(self) -> Iterator[int]:
        """Yield operations whose value no other passes on where it is not finite."""
        operations = self._operations
        jumps = any(op in (LESS, JUMP) for op, *_ in operations)
        for k, (op, to, *_) in enumerate(operations):
            if op in (LESS, JUMP):
                continue
            passed = False
            for later, written, *places in () if jumps else operations[k + 1 :]:
                passed = passed or to in places[: PASSES_ON.get(later, 0)]
                if passed or written == to:
                    break
            if not passed:
                yield k

    def _value(self, op: int, read: Sequence[Any]) -> Any:
        builder = self._builder
        if op == MULTIPLY_ADD:
            x, y, z = read
            return builder.fadd(builder.fmul(x, y), z)
        if op == DIVIDE:
            return builder.fdiv(*read)
        if op == COPY:
            return read[0]
        module = self._function.module
        if op in INTRINSICS:
            known = module.declare_intrinsic(f"llvm.{INTRINSICS[op]}", [DOUBLE])
            return builder.call(known, read)
        name = LIBRARY[op]
        if name not in module.globals:
            ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE] * len(read)), name)
        return builder.call(module.globals[name], read)
