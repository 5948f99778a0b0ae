"""The machine that runs formulas: the arithmetic of Python's own, and the same faults."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest

from ukctrl.core.expression import interpreter
from ukctrl.core.expression.compiled_formula import CompiledFormula, DomainError
from ukctrl.core.program import BoundKernel, KernelSequence

KNOWN = {
    name: getattr(math, name)
    for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp",
        "log", "sqrt", "pow", "floor",
    )
}  # fmt: skip


def in_python(parameters, lines, known=None):
    """Return the function that Python makes of such lines."""
    body = "\n".join(f"    {line}" for line in lines)
    space = {**KNOWN, "nan": math.nan, "bisect_right": bisect.bisect_right, **(known or {})}
    exec(f"def f({', '.join(parameters)}):\n{body}", space)
    return space["f"]


EXPRESSIONS = (
    "x + y*z - x/y", "-x*y", "-(x - y)", "x - (y - z)", "x/(y*z)", "(x*y*z)", "-2.5*x + (-3.0)",
    "sin(x)*cos(y) + tan(z)", "atan2(x, y) + atan(z)", "sinh(x) + cosh(y)*tanh(z)",
    "exp(x)*log(y*y + 1.0)", "sqrt(x*x + y*y)", "pow(x*x + 1.0, 1.5)", "pow(x, 3.0)",
    "asin(0.5*sin(x)) + acos(0.5*cos(y))", "floor(x*10.0)*0.1", "x % 0.3", "(x - 5.0) % 0.7",
    "1e300*x", "x",
)  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_operation_has_the_bits_of_python(text):
    lines = [f"return ({text}, 1.0)"]
    ours, theirs = CompiledFormula("xyz", lines), in_python("xyz", lines)
    for x, y, z in np.random.default_rng(0).uniform(0.1, 2.0, (50, 3)).tolist():
        for signs in ((1, 1, 1), (-1, 1, -1)):
            at = x * signs[0], y * signs[1], z * signs[2]
            assert ours(*at) == theirs(*at)


FAULTS = {
    "1.0/x": (0.0, "division by zero"), "x % x": (0.0, "division by zero"),
    "sqrt(x)": (-1.0, "root of a negative number"), "log(x)": (0.0, "logarithm of no positive"),
    "asin(x)": (1.5, "arc sine of a number beyond 1"),
    "acos(x)": (-1.5, "arc cosine of a number beyond 1"),
    "pow(x, 0.5)": (-2.0, "power of no positive number"),
    "pow(x, -1.0)": (0.0, "power of no positive number"),
    "exp(x)": (1e3, "a number is too large"), "x*x": (1e200, "a number is too large"),
    "1e-300/x": (1e-300, None), "1e300/x": (1e-300, "a number is too large"),
    "pow(x, 100.0)": (1e30, "a number is too large"),
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
def test_what_has_no_finite_value_is_refused_with_the_reason(text):
    value, reason = FAULTS[text]
    formula = CompiledFormula("x", ["y = x + 0.0", f"return ({text}, y)"], label="the text")
    if reason is None:
        assert formula(value)[0] == 1.0
        return
    with pytest.raises(DomainError) as caught:
        formula(value)
    assert f"in 'the text': there is no finite real value ({reason}" in str(caught.value)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_what_came_without_a_finite_value_is_passed_on_as_arithmetic_does(x):
    assert str(CompiledFormula("x", ["return (x + 1.0, 2.0*x)"])(x)) == str((x + 1.0, 2.0 * x))


PIECES = [(0.0, 1.0, 2.0), (0.5, -1.0, 3.0), (2.0, 7.0, 0.5)]
KNOWN_PIECES = {
    "table": PIECES, "breaks": [0.5, 2.0], "before": (1.0, 0.0), "after": (9.0, 0.0),
}  # fmt: skip
PIECEWISE = [
    "if t < -1.0:", "    return before", "if t > 3.0:", "    return after",
    "(start, a, b,) = table[bisect_right(breaks, t)]", "s = t - start", "return (a + b*s, b)",
]  # fmt: skip


def test_pieces_are_found_as_bisection_finds_them_and_ends_are_held():
    ours, theirs = (
        CompiledFormula("t", PIECEWISE, time=0, known=KNOWN_PIECES),
        in_python("t", PIECEWISE, KNOWN_PIECES),
    )
    for t in (-5.0, -1.0, -0.5, 0.0, 0.4999, 0.5, 0.5001, 1.9, 2.0, 2.5, 3.0, 3.0001):
        assert ours(t) == theirs(t)


def test_no_number_is_read_that_is_none_of_the_formulas_however_long_its_tables_are():
    """Run as Python, whose arrays complain of what is beyond them; machine code would read it."""
    rows = [(float(k), *np.arange(7.0)) for k in range(300)]
    lines = ["(c, a, b, d, e, f, g, h) = table[bisect_right(breaks, t)]", "return (c + h,)"]
    known = {"table": rows, "breaks": [float(k) for k in range(1, 300)],
             "bisect_right": bisect.bisect_right}  # fmt: skip
    inner = CompiledFormula(["t"], lines, known=known)
    outer = CompiledFormula(["t"], ["(a,) = path(t)", "(b,) = path(a)", "return (a + b,)"],
                    known={"path": inner})  # fmt: skip
    w = outer.initial_slots.copy()
    w[outer.inputs[0, 2]] = 250.5
    run = getattr(interpreter.run_operations, "py_func", interpreter.run_operations)
    assert run(outer.code, outer.table, w, 0) == interpreter.DONE
    assert w[outer.outputs[0]] == 256.0 + 262.0


def test_a_formula_calls_others_and_errors_tell_whose_time_it_was():
    inner = CompiledFormula("t", ["return (sqrt(t), t*t)"], label="sqrt(t)", time=0)
    outer = CompiledFormula(
        "t", ["(a, b,) = inner(2.0 - t)", "return (a + b, b)"], time=0, known={"inner": inner}
    )
    assert outer(1.0) == (2.0, 1.0)
    with pytest.raises(DomainError, match=r"in 'sqrt\(t\)': .* value at t = -1 s \(root"):
        outer(3.0)
    nested = CompiledFormula("t", ["(a, b,) = outer(t)", "return (a,)"], known={"outer": outer})
    assert nested(1.0) == (2.0,)
    with pytest.raises(DomainError, match=r"value at t = -1 s"):
        nested(3.0)


def test_a_function_of_python_is_called_wherever_it_stands():
    asked = []

    def path(t):
        asked.append(t)
        return (t, 2.0 * t)

    pieces = CompiledFormula("t", PIECEWISE, known=KNOWN_PIECES)
    both = CompiledFormula(
        "t",
        ["(a, b,) = path(t + 1.0)", "(c, d,) = pieces(b)", "(e, f,) = path(d)", "return (c, f)"],
        known={"path": path, "pieces": pieces},
    )
    assert both(0.1) == (pieces(2.2)[0], 1.0)
    assert asked == [1.1, 0.5]
    whole = CompiledFormula("t", ["(x, y,) = both(t)", "return (x, y, t)"], known={"both": both})
    assert whole(0.1) == (*both(0.1), 0.1)


def test_as_a_step_it_writes_what_it_returns_and_raises_what_it_raises():
    formula = CompiledFormula(["q", "t"], ["return (q[2]*t, sqrt(q[0]), nan)"], "some text", time=1)
    q, clock, out = np.array([4.0, 0.0, 3.0]), np.array([2.0]), np.zeros(3)
    step = formula.as_step((q, clock), out)
    assert isinstance(step, BoundKernel)
    program = KernelSequence([step])
    program()
    np.testing.assert_array_equal(out, [6.0, 2.0, np.nan])
    assert formula([4.0, 0.0, 3.0], 2.0)[:2] == (6.0, 2.0)
    q[0], clock[0] = -1.0, 5.0
    with pytest.raises(DomainError) as caught:
        program()
    with pytest.raises(DomainError, match=r"in 'some text': .* at t = 5 s") as alone:
        formula(q, clock)
    assert str(caught.value) == str(alone.value)


def test_a_step_that_calls_python_is_one_of_python():
    formula = CompiledFormula(
        "t", ["(a, b,) = path(t)", "return (b,)"], known={"path": lambda t: (t, -t)}
    )
    out = np.zeros(1)
    step = formula.as_step((np.array([3.0]),), out)
    assert not isinstance(step, BoundKernel)
    step()
    assert out[0] == -3.0
