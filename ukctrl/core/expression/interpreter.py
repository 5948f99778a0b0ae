"""A machine for formulas: a list of operations on numbers, and one compiled loop that runs any.

What a user writes as text never becomes a program of another language: it is a table of the few
operations below. A new formula needs no compiler, and machine code that calls kernels
(`ukctrl.core.program`) calls this one like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled, config, with_python_entry

(
    MULTIPLY_ADD, DIVIDE, POWER, MODULO, FLOOR, COPY, LOAD, SEARCH, LESS, JUMP, CALL,
    SIN, COS, TAN, ASIN, ACOS, ATAN, ATAN2, SINH, COSH, TANH, EXP, LOG, SQRT,
) = range(24)  # fmt: skip
"""The operations. One is a row of five whole numbers: what to do, where the result goes, where its
two arguments are, and one more. Sums, differences and products are all ``MULTIPLY_ADD``, two
roundings of ``x y + z``: a processor runs many of the same operation ahead, where it would have to
guess which one comes next. ``LOAD``, ``SEARCH`` and the jumps are told in `run_operations`."""
FUNCTIONS: Mapping[str, int] = {
    "sin": SIN, "cos": COS, "tan": TAN, "asin": ASIN, "acos": ACOS, "atan": ATAN, "atan2": ATAN2,
    "sinh": SINH, "cosh": COSH, "tanh": TANH, "exp": EXP, "log": LOG, "sqrt": SQRT,
    "pow": POWER, "floor": FLOOR,
}  # fmt: skip
DONE = -1


@compiled
def run_operations(code: Indices, table: Vector, w: Vector, first: int) -> int:
    """Run operations on the places ``w``, from ``first`` on.

    Beside arithmetic: ``LOAD`` copies the last argument's count of numbers from the table, from
    the second argument on, and by that count times a place further; ``SEARCH`` counts which of so
    many numbers of the table are not above a place; ``LESS`` leaves out the last argument's number
    of operations unless one place is below another, ``JUMP`` always.

    Returns -1, or the number of the operation that has no finite value though its arguments have,
    or that calls a function of Python.
    """
    k = first
    while k < len(code):
        # No sign, or each place would be looked at whether it counts from the end.
        op, to, x = code[k, 0], np.uint64(code[k, 1]), w[np.uint64(code[k, 2])]
        if op == MULTIPLY_ADD:
            y, z = w[np.uint64(code[k, 3])], w[np.uint64(code[k, 4])]
            value = x * y + z
            if not abs(value) < np.inf and np.isfinite(x + y + z):
                return k
            w[to] = value
            k += 1
            continue
        # The second argument of these two is a place of the table, which has more of them than w.
        if op == LOAD:
            start = code[k, 3] + int(x) * code[k, 4]
            for i in range(code[k, 4]):
                w[code[k, 1] + i] = table[start + i]
            k += 1
            continue
        if op == SEARCH:
            low, high = 0, code[k, 4]
            while low < high:
                middle = (low + high) // 2
                if x < table[code[k, 3] + middle]:
                    high = middle
                else:
                    low = middle + 1
            w[to] = float(low)
            k += 1
            continue
        y, value = w[np.uint64(code[k, 3])], 0.0
        if op == DIVIDE:
            value = x / y
        elif op == COPY:
            w[to] = x
            k += 1
            continue
        elif op == LESS:
            k += 1 if x < y else 1 + code[k, 4]
            continue
        elif op >= SIN:
            value = function(op, x, y)
        elif op == POWER:
            value = x**y
        elif op == MODULO:
            value = x % y
        elif op == FLOOR:
            value = np.floor(x)
        elif op == JUMP:
            k += 1 + code[k, 4]
            continue
        else:
            return k
        if not np.isfinite(value) and np.isfinite(x) and np.isfinite(y):
            return k
        w[to] = value
        k += 1
    return DONE


def _function(op: int, x: float, y: float) -> float:
    """Return the value of a function, NaN where it has none."""
    if op == SIN:
        return math.sin(x)
    if op == COS:
        return math.cos(x)
    if op == SQRT:
        return math.sqrt(x) if x >= 0.0 else np.nan
    if op == EXP:
        return math.exp(x)
    if op == TAN:
        return math.tan(x)
    if op == TANH:
        return math.tanh(x)
    if op == ATAN2:
        return math.atan2(x, y)
    if op == ASIN:
        return math.asin(x) if -1.0 <= x <= 1.0 else np.nan
    if op == ACOS:
        return math.acos(x) if -1.0 <= x <= 1.0 else np.nan
    if op == ATAN:
        return math.atan(x)
    if op == SINH:
        return math.sinh(x)
    if op == COSH:
        return math.cosh(x)
    return math.log(x) if x > 0.0 else np.nan


def _function_in_python(op: int, x: float, y: float) -> float:
    """Return the value where nothing is compiled: Python raises where there is no finite one."""
    try:
        return _function(op, x, y)
    except (OverflowError, ValueError):
        return math.nan


function: Callable[[int, float, float], float] = (
    _function_in_python if config.DISABLE_JIT else with_python_entry(_function)
)


@compiled
def evaluate_into(
    code: Indices,
    table: Vector,
    w: Vector,
    inputs: Indices,
    arguments: tuple[Vector, ...],
    outputs: Indices,
    out: Vector,
) -> int:
    """Write what a formula gives at arguments.

    Args:
        code: Its operations, as `run_operations` runs them.
        table: Numbers that they load.
        w: The places of numbers; constants stand in theirs.
        inputs: Of each argument that is used: which of the given arrays, where in it, and its
            place, shape ``(k, 3)``.
        arguments: The arguments.
        outputs: Where the results are.
        out: Receives them.

    Returns:
        0, or ``-2 - k`` where the operation ``k`` has no value.
    """
    for i in range(len(inputs)):
        w[inputs[i, 2]] = arguments[inputs[i, 0]][inputs[i, 1]]
    stopped = run_operations(code, table, w, 0)
    if stopped >= 0:
        return -2 - stopped
    for i in range(len(outputs)):
        out[i] = w[outputs[i]]
    return 0
