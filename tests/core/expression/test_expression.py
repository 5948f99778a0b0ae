"""The language of formulas: what it means, and that nothing else gets through it."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.constants
import sympy

from ukctrl.core.errors import ExpressionError, UkctrlError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula, DomainError
from ukctrl.core.expression.symbolic import Vocabulary, check_names, parse
from ukctrl.core.expression.syntax import FUNCTIONS
from ukctrl.core.expression.units import UNITS, constant_value, dimension_of

ROUNDING = {"rtol": 1e-14, "atol": 1e-300}  # a few operations in floating point
NAMES = Vocabulary(plain=("q1", "q2"), velocities=("q1", "q2"))
PATIENCE = 1.0  # seconds that no text may exceed

HOSTILE = {
    "import": "__import__('os').remove('me')",
    "dunder": "q1.__class__.__base__.__subclasses__()",
    "velocity dunder": "v.__class__",
    "getattr": "getattr(q1, q2)",
    "eval": "eval(q1)",
    "lambda": "(lambda: 1)()",
    "bare lambda": "lambda",
    "comprehension": "[x for x in (1, 2)]",
    "generator": "sin(x for x in q1)",
    "f-string": "f'{q1}'",
    "string": "'q1'",
    "walrus": "(q1 := 2)",
    "conditional": "q1 if q2 else t",
    "boolean": "q1 and q2",
    "comparison": "q1 < q2",
    "subscript": "q1[0]",
    "star": "sin(*q1)",
    "keyword argument": "sin(x=1)",
    "call of a call": "sin(q1)(q2)",
    "call of a number": "2(q1)",
    "comment": "q1 # + q2",
    "statement": "q1; q2",
    "backslash": "q1 \\",
    "null": "q1\0",
    "true": "True*q1",
    "none": "None",
    "ellipsis": "...",
    "complex": "1j*q1",
    "huge power": "9**9**9",
    "huge decimal": "10**1000000",
    "huge integer": "9" * 400,
    "too long": "1" * 5000,
    "megabyte of nesting": "(" * 500_000 + "q1" + ")" * 500_000,
    "megabyte of signs": "-" * 1_000_000 + "1",
    "signs": "-" * 4000 + "(",
    "nots": "not " * 1000 + "q1",
    "nested calls": "sin(" * 60 + "q1" + ")" * 60,
    "tower": "**".join(["2"] * 1000),
    "hidden huge power": "(t - t + 9)**(t - t + 9)**9",
    "grown integer": "((((3*q1)**100)**100)**100)**100",
    "grown through exp": "exp(9000000000000000*log(3*q1))",
    "overflow": "exp(exp(exp(100)))*q1",
    "hidden overflow": "exp(exp(t - t + 1000000000000000000))",
    "hidden zero": "1/(t - t)",
    "sqrt of minus one": "sqrt(-1)*q1",
    "long product": "*".join(f"sin({k}*q1)" for k in range(1, 100)),
    "deep nest": "tan(" * 38 + "q1*q2" + ")" * 38,
    "tower of names": "q1**(" * 38 + "q2" + ")" * 38,
    "many terms": "+".join(["q1"] * 1200),
    "floor division": "q1 // 2",
    "modulo": "q1 % 2",
    "caret": "q1^2",
    "superscript": "q1²",
    "right-to-left mark": "q1 + \u202e q2",
    "empty": "",
    "blank": " \n ",
    "open": "sin(q1",
    "two numbers": "1 2",
    "unknown name": "q3",
    "unknown function": "sine(q1)",
    "refused function": "abs(q1)",
    "wrong count": "atan2(q1)",
    "infinity": "1e999",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("reader", [lambda text: parse(text, NAMES), constant_value])
def test_hostile_text_ends_in_one_line_and_soon(text, reader):
    start = time.thread_time()
    with pytest.raises(ExpressionError) as caught:
        reader(text)
    elapsed = time.thread_time() - start
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    assert message.endswith(".")
    assert elapsed < PATIENCE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q22", "no variable named 'q22'; did you mean 'q2'? Known: deg, pi, q1, q2, t."),
        ("v.q3", "no velocity named 'v.q3'; did you mean 'v.q2'? Known: v.q1, v.q2."),
        (
            "sinn(q1)",
            "no function named 'sinn'; did you mean 'sin'? Known: acos, asin, atan, atan2, cos, "
            "cosh, exp, log, sin, sinh, sqrt, tan, tanh.",
        ),
        ("q1^2", "'^' is not in the language; a power has the sign **; write 'q1**2'."),
        *(
            (f"{name}(q1)", f"'{name}' is not in the language: {advice}.")
            for name, advice in {
                "abs": "it has no second derivative at 0; write sqrt(x**2 + 1e-12) for a smooth "
                "one",
                "sign": "it has no derivative at 0; write tanh(x/eps) for a smooth one",
                "min": "it has no second derivative where its arguments meet",
                "max": "it has no second derivative where its arguments meet",
                "pow": "write x**y",
                "ln": "write log(x)",
                "arcsin": "write asin(x)",
                "arccos": "write acos(x)",
                "arctan": "write atan(x)",
                "arctan2": "write atan2(y, x)",
            }.items()
        ),
        ("2j", "'2j' is not a real number."),
        ("True", "'True' is not a real number."),
        ("sin(q1)(2)", "only a function's name may stand before '('."),
        ("d.q1", "'d.q1' is a differential; none may stand here."),
        ("sin(q1, q2)", "sin takes 1 argument; got 2."),
        ("q1 + 1/0", "a constant part of it has no finite real value."),
        ("9**9**9", "a constant exponent must be at most 100 in magnitude; got 3.8742e+08."),
    ],
)
def test_an_error_quotes_the_text_and_says_what_to_do(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert str(caught.value) == f"in '{text}': {message}"


@pytest.mark.parametrize(
    ("text", "count", "sentence"),
    [
        (lambda n: "sin(" * n + "x" + ")" * n, 40, "must nest at most 40 parentheses."),
        (lambda n: "(" * n + "x" + ")" * n, 40, "must nest at most 40 parentheses."),
        (lambda n: "2**" * n + "x", 40, "must nest at most 40 levels deep."),
        (
            lambda n: "+".join(["x"] * n), 599,
            "must have at most 600 numbers, names and operations.",
        ),
        (lambda n: "x".ljust(n), 4096, "must have at most 4096 characters; got 4097."),
    ],
)  # fmt: skip
def test_a_text_may_be_as_deep_and_long_as_its_limits_and_no_more(text, count, sentence):
    words = Vocabulary(("x",), ("x",))
    check_names(text(count), words)
    with pytest.raises(ExpressionError) as caught:
        check_names(text(count + 1), words)
    assert str(caught.value).endswith(f": {sentence}")


def test_parentheses_side_by_side_are_not_deep():
    assert check_names("+".join(["sin((x))"] * 100), Vocabulary(("x",), ("x",))) == {"x"}


def test_a_name_that_means_two_things_is_refused_only_where_it_is_used():
    robot = Vocabulary(plain=("t", "q1"))
    assert check_names("q1", robot) == {"q1"}
    with pytest.raises(ExpressionError, match="'t' is both a coordinate here and a word"):
        check_names("q1 + t", robot)


def test_a_coordinate_may_bear_the_name_of_a_function():
    value = compile_function([parse("sin + v*exp(v)", ["sin", "v"])], ["sin", "v"])
    np.testing.assert_allclose(value(2.0, 0.5), [2.0 + 0.5 * math.exp(0.5)], **ROUNDING)


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2*3 - 4/5",
        "-2**2",
        "2**-1",
        "2**3**2/100",
        "(1 - 2)*(3 - 4)/5/6*7",
        "--2 - -3",
        "sin(1)**2 + cos(2)*tan(0.3)",
        "atan2(-1, -2) + asin(0.2) - acos(0.3)*atan(4)",
        "sinh(0.1) + cosh(0.2)*tanh(0.3)",
        "exp(0.5)*log(3) + sqrt(2)",
        "1_000.5e-3 + 0x10",
        "2\n  + 3",
    ],
)
def test_constants_symbols_and_python_agree_on_arithmetic(text):
    expected = eval(" ".join(text.split()), dict(FUNCTIONS))  # our own text
    symbolic = compile_function([parse(f"x*({text})", ["x"])], ["x"])
    np.testing.assert_allclose(constant_value(text), expected, **ROUNDING)
    np.testing.assert_allclose(symbolic(1.0)[0], expected, **ROUNDING)


def test_line_breaks_and_spaces_do_not_matter():
    assert parse(" q1\n +\t q2 ", NAMES) == parse("q1+q2", NAMES)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("30*deg", "rad", math.pi / 6),
        ("2*pi", "s", 2 * math.pi),
        ("5*ms", "s", 5e-3),
        ("3*rpm", "rad/s", math.pi / 10),
        ("90*deg/s", "rad/s", math.pi / 2),
        ("10*cm + 5*mm", "m", 0.105),
        ("2*kg*m**2/s**2", "N m", 2.0),
        ("5*Nm", "N m", 5.0),
        ("5*N*m/rad", "N m/rad", 5.0),
        ("5*Nm", "N m/rad", 5.0),
        ("20*Hz", "1/s", 20.0),
        ("400/s**2", "1/s^2", 400.0),
        ("sqrt(4*m**2)", "m", 2.0),
        ("0.3*m*sin(30*deg)", "m", 0.15),
        ("1*m/(50*cm)", "1", 2.0),
        ("45*deg + 0.5", "rad", math.pi / 4 + 0.5),
        ("atan2(1*m, 1*m)", "rad", math.pi / 4),
        ("1.5", "kg", 1.5),
        ("2*rev", "rad", 4 * math.pi),
    ],
)
def test_a_constant_arrives_in_the_unit_of_its_field(text, unit, value):
    np.testing.assert_allclose(constant_value(text, unit), value, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("20*deg", "s", "must be a time [s]; got an angle [rad] from '20*deg'."),
        ("20*s", "rad", "must be an angle [rad]; got a time [s] from '20*s'."),
        ("3*Hz", "rad/s", "must be an angular velocity [rad/s]; got a rate [1/s] from '3*Hz'."),
        ("3*rpm", "Hz", "must be a rate [1/s]; got an angular velocity [rad/s] from '3*rpm'."),
        ("3*m", "1", "must be a plain number; got a length [m] from '3*m'."),
        ("3*m**3", "kg m^2", "must be a moment of inertia [kg m^2]; got a quantity in [m^3]"),
        ("1*m + 2*s", "m", "adds a length [m] to a time [s]."),
        ("1*m + 2", "m", "adds a length [m] to a plain number."),
        ("sin(2*m)", "1", "sin takes an angle; got a length [m]."),
        ("exp(2*s)", "1", "exp takes a plain number; got a time [s]."),
        ("2**(1*s)", "s", "an exponent must be a plain number; got a time [s]."),
        ("1/0", "s", "has no finite real value"),
        ("sqrt(-1)", "s", "has no finite real value"),
        ("1e300*1e300", "s", "has no finite real value"),
        ("2*sec", "s", "no constant or unit named 'sec'"),
    ],
)
def test_a_constant_of_another_unit_is_refused(text, unit, message):
    with pytest.raises(ExpressionError) as caught:
        constant_value(text, unit)
    assert message in str(caught.value)


IN_BASE_UNITS = {
    "rad": "rad", "deg": "rad", "rev": "rad", "m": "m", "km": "m", "cm": "m", "mm": "m",
    "um": "m", "kg": "kg", "g": "kg", "s": "s", "ms": "s", "us": "s", "min": "s", "h": "s",
    "Hz": "1/s", "kHz": "1/s", "rpm": "rad/s", "N": "kg*m/s**2", "mN": "kg*m/s**2",
    "kN": "kg*m/s**2", "Nm": "kg*m**2/s**2", "mNm": "kg*m**2/s**2", "J": "kg*m**2/s**2",
    "W": "kg*m**2/s**3",
}  # fmt: skip


SIZES = {
    "deg": scipy.constants.degree, "rev": 2.0 * math.pi, "km": 1e3, "cm": 1e-2, "mm": 1e-3,
    "um": 1e-6, "g": 1e-3, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0, "kHz": 1e3,
    "rpm": 2.0 * math.pi / 60.0, "mN": 1e-3, "kN": 1e3, "mNm": 1e-3,
}  # fmt: skip
"""In SI; all others are units of it."""
EXPONENTS = {  # of length, mass, time and angle
    "rad": (0, 0, 0, 1), "m": (1, 0, 0, 0), "kg": (0, 1, 0, 0), "s": (0, 0, 1, 0),
    "1/s": (0, 0, -1, 0), "rad/s": (0, 0, -1, 1), "kg*m/s**2": (1, 1, -2, 0),
    "kg*m**2/s**2": (2, 1, -2, 0), "kg*m**2/s**3": (2, 1, -3, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_has_its_size_and_dimension_in_si(name):
    value, dimension = UNITS[name]
    assert value == pytest.approx(SIZES.get(name, 1.0), rel=1e-14)
    assert tuple(dimension) == EXPONENTS[IN_BASE_UNITS[name]]


@pytest.mark.parametrize("name", UNITS)
def test_every_unit_is_its_value_times_its_dimension(name):
    value, dimension = UNITS[name]
    base = IN_BASE_UNITS[name]
    assert constant_value(f"1*{name}", name) == value
    assert dimension_of(name) == dimension
    assert constant_value(f"1*{name} + 1*{base}", name) == value + 1.0  # else it adds unlike things
    assert constant_value(f"1*{base}", name) == 1.0


@pytest.mark.parametrize(("unit", "fits"), [("m", True), ("kg", True), ("s", False), ("1", False)])
def test_an_angle_beside_a_length_or_a_mass_counts_as_a_number(unit, fits):
    text = "2*rad" if unit == "1" else f"2*{unit}*rad"
    if fits:
        assert constant_value(text, unit) == 2.0
        return
    with pytest.raises(ExpressionError):
        constant_value(text, unit)


def test_numbers_that_are_not_finite_are_refused():
    for number in (math.inf, -math.inf, math.nan):
        with pytest.raises(ExpressionError, match="must be finite"):
            constant_value(number)


def test_checking_and_constants_do_not_import_sympy():
    code = (
        "import sys; from ukctrl.core.expression.symbolic import check_names; "
        "from ukctrl.core.expression.units import constant_value; "
        "constant_value('30*deg', 'rad'); check_names('sin(q1)', ['q1']); assert 'sympy' not in "
        "sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_compiled_functions_take_lists_and_floats_in_the_order_asked_for():
    x, y, t = sympy.symbols("x y t")
    function = compile_function([x - y, t * y, sympy.Integer(3)], [["x", "y"], "t"])
    assert function([5.0, 2.0], 10.0) == (3.0, 20.0, 3.0)


def test_compiled_values_are_plain_floats():
    function = compile_function([sympy.Integer(0), sympy.Rational(1, 3), sympy.pi], ["t"])
    assert [type(value) for value in function(0.0)] == [float, float, float]
    assert function(0.0) == (0.0, 1 / 3, math.pi)


@pytest.mark.parametrize(
    "text",
    [
        "x**2 - 3*x*y + y**-2",
        "(x + y)**3/(1 + x**2)**2",
        "-x/(-y)*2/7",
        "sqrt(x)*x**1.5/(x*y)**0.5",
        "x**y + y**x",
        "(x - y)*(x + y)/(x*x)*(-1)",
        "tan(x + pi/2) + cos(y + pi) - sin(-x)",
        "atan2(y, x)*exp(-x)/log(1 + y)",
        "x**(1/3) + 7*x**5 - (2*x)**-0.5",
        "1/(1 + 1/(1 + 1/x))",
        "x*y - (y - (x - 1))",
        "(x*y)**2*(x + 1)**4/(y + 2)**3",
    ],
)
def test_the_compiled_function_and_its_derivatives_equal_sympys_own_evaluation(text):
    x, y = sympy.symbols("x y")
    expr = parse(text, ["x", "y"])
    exprs = [expr, expr.diff(x), expr.diff(y), expr.diff(x, x), expr.diff(x, y)]
    function = compile_function(exprs, ["x", "y"])
    for point in [(0.7, 1.3), (2.1, 0.4), (1.0, 1.0)]:
        exact = [float(e.evalf(30, subs={x: point[0], y: point[1]})) for e in exprs]
        np.testing.assert_allclose(function(*point), exact, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "at"),
    [("sqrt(t)", -1.0), ("log(t)", 0.0), ("1/t", 0.0), ("t**0.3", -1.0), ("exp(t)", 1e4)],
)
def test_a_domain_fault_at_run_time_is_an_arithmetic_error_that_names_text_and_time(text, at):
    function = compile_function([parse(text, ["t"])], ["t"], label=text)
    with pytest.raises(ArithmeticError) as caught:
        function(at)
    assert isinstance(caught.value, DomainError)
    assert isinstance(caught.value, UkctrlError)
    assert f"in '{text}': there is no finite real value at t = {at:g} s" in str(caught.value)


def test_a_function_that_no_formula_of_the_language_leads_to_is_refused_by_name():
    size = sympy.Abs(sympy.Symbol("x"))
    with pytest.raises(ExpressionError) as caught:
        compile_function([size], ["x"], label="size of x")
    assert str(caught.value) == "in 'size of x': 'Abs' came up and cannot be evaluated."


def test_generated_lines_contain_no_word_of_the_user():
    name = "import_os"
    function = compile_function([parse(f"2*{name}", [name])], [[name]], label=name)
    assert name not in "".join(function.lines)


@pytest.mark.parametrize(
    "line", ["return (__import__('os').getcwd(),)", "import os", "return (p0.real,)", "return [p0]"]
)
def test_lines_are_read_and_never_executed(line):
    with pytest.raises(NotImplementedError):
        CompiledFormula(["p0"], [line])


def test_a_symbol_without_an_argument_is_refused():
    with pytest.raises(ExpressionError, match="'y' is not among the arguments"):
        compile_function([sympy.Symbol("y")], ["x"])


@pytest.mark.slow
def test_the_generated_source_does_not_depend_on_the_hash_seed(tmp_path):
    code = (
        "from ukctrl.core.expression.constraint_rows import derive_rows\n"
        "names = ['a', 'b', 'c', 'd']\n"
        "rows = derive_rows(['sin(a + b)*c - d**2*a + t*b*c*d', 'a*b + c/(1 + a*a)'],"
        " form='holonomic', coordinates=names, dofs=names, rates=['v.' + n for n in names])\n"
        "print(rows.evaluate.lines, rows.evaluate.code.tolist())"
    )
    sources = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": ":".join(filter(None, sys.path)),
                "NUMBA_CACHE_DIR": str(tmp_path / seed),  # or the second would read the first's
            },
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(sources) == 1


@pytest.mark.parametrize(("text", "value"), [("2*Nm", 2.0), ("3*kN", 3e3), ("2*pi", 2 * math.pi)])
def test_a_constant_may_be_in_one_of_several_units(text, value):
    assert constant_value(text, "N m or N") == value


@pytest.mark.parametrize("text", ["2*s", "2*rad", "2*m", "2*Nm/s"])
def test_a_constant_in_none_of_several_units_is_refused(text):
    with pytest.raises(ExpressionError, match=r"must be a torque \[N m\] or a force \[N\]; got"):
        constant_value(text, "N m or N")
