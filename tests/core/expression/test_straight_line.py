"""A formula written as code gives the bits that the interpreter gives, or leaves it to that."""

import ctypes
import math

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from ukctrl.core.compiled import config
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.interpreter import evaluate_into
from ukctrl.core.expression.straight_line import MOST_OPERATIONS, folded, straight_line
from ukctrl.core.jit.linked_module import Target
from ukctrl.core.jit.optimised import machine_of, optimise

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled here")


class Written:
    """A formula of `x` and of a list `p`, by both ways."""

    def __init__(self, *lines: str, optimised: bool = True, reads_constants: bool = False) -> None:
        formula = CompiledFormula(("x", "p"), lines, known={"rest": (-1.0, 0.5)})
        self._arguments = np.zeros(1), np.zeros(3)
        self._out = np.zeros(len(formula.outputs))
        self._step = formula.as_step(self._arguments, self._out)
        code, _, w, inputs, _, outputs, _ = self._step.arguments
        module = ir.Module("formula")
        module.triple = llvm.get_process_triple()
        self.function = straight_line(
            module, "formula", code, w, inputs, outputs, reads_constants=reads_constants
        )
        if self.function is None:
            return
        self._constants = [w.ctypes.data] if reads_constants else []
        self.function.linkage = ""
        machine = machine_of(*Target.named("host"))
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        if optimised:
            optimise(parsed, machine)
        self.text = str(parsed)
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        count = len(self.function.args)
        kind = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * count)
        self._count = count - 1 - len(self._constants)
        self._call = kind(self._engine.get_function_address("formula"))

    def interpreted(self, x: float, p: tuple[float, ...]) -> tuple[int, bytes]:
        """Return the interpreter's answer, and what it writes."""
        self._arguments[0][0], self._arguments[1][:], self._out[:] = x, p, 0.0
        return evaluate_into(*self._step.arguments), self._out.tobytes()

    def written(self, x: float, p: tuple[float, ...]) -> tuple[bool, bytes]:
        """Return whether all is finite, and what is written."""
        self._arguments[0][0], self._arguments[1][:], self._out[:] = x, p, 0.0
        arguments = [a.ctypes.data for a in self._arguments[: self._count]]
        places = [*arguments, *self._constants, self._out.ctypes.data]
        return bool(self._call(*places)), self._out.tobytes()


FORMULAS = {
    "sums": ("a = x * p[0] - p[1] + 0.1", "return a * a - p[2], a, 0.3"),
    "functions": (
        "a = sin(x) + cos(x) * tan(p[0])",
        "return sqrt(p[1] * p[1] + 1.0) / (2.0 + sin(a)), atan2(a, p[2]), exp(-x * x), tanh(a)",
    ),
    "more functions": (
        "return sinh(x), cosh(p[0]), asin(sin(p[1])), acos(cos(p[2])), atan(x), log(1.0 + x * x)",
    ),
    "early return": ("if x < 0.25:\n    return rest", "return x / (2.0 + sin(p[1])), 7.0"),
    "nothing": ("return p[0], x, 2.0",),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("reads_constants", [False, True])
def test_code_gives_the_bits_of_the_interpreter(name, optimised, reads_constants):
    options = {"optimised": optimised, "reads_constants": reads_constants}
    formula, rng = Written(*FORMULAS[name], **options), np.random.default_rng(5)
    for _ in range(500):
        x, *p = rng.normal(size=4) * 10.0 ** rng.integers(-3, 2, size=4)
        (stopped, wanted), (finite, found) = formula.interpreted(x, p), formula.written(x, p)
        assert (stopped, finite) == (0, True)
        assert found == wanted


@pytest.mark.parametrize(
    ("line", "x", "p"),
    [
        ("return (1.0 / x,)", 0.0, (1.0, 1.0, 1.0)),
        ("return (1.0 / (1.0 / x),)", 0.0, (1.0, 1.0, 1.0)),
        ("return (sqrt(x),)", -1.0, (1.0, 1.0, 1.0)),
        ("return (log(x),)", 0.0, (1.0, 1.0, 1.0)),
        ("return (asin(x) * 0.0,)", 2.0, (1.0, 1.0, 1.0)),
        ("return (exp(-exp(x)),)", 1000.0, (1.0, 1.0, 1.0)),
        ("return (tanh(x * x * p[0]),)", 1e200, (1.0, 1.0, 1.0)),
        ("return (atan2(1.0, x * x),)", 1e200, (1.0, 1.0, 1.0)),
        ("if x * x < 1.0:\n    return rest\nreturn 2.0, 3.0", 1e200, (1.0, 1.0, 1.0)),
    ],
)
@pytest.mark.parametrize("reads_constants", [False, True])
def test_what_has_no_finite_value_on_the_way_is_left_to_the_interpreter(
    line, x, p, reads_constants
):
    formula = Written(line, reads_constants=reads_constants)
    assert formula.written(0.5, (0.5, 0.5, 0.5))[0]
    assert formula.interpreted(x, p)[0] < 0
    assert not formula.written(x, p)[0]


def test_arguments_that_are_no_numbers_are_left_to_the_interpreter():
    formula = Written("return x * p[0], p[1]")
    assert not formula.written(math.nan, (1.0, 1.0, 1.0))[0]
    assert not formula.written(1.0, (1.0, math.inf, 1.0))[0]
    assert formula.written(1.0, (1.0, 1.0, math.nan))[0], "what is not read does not count"


def test_constants_may_change_where_they_are_read():
    formula = Written("return x * 3.0 + 1.0, 3.0", reads_constants=True)
    w = formula._step.arguments[2]
    w[w == 3.0] = 5.0
    assert formula.written(2.0, (0.0, 0.0, 0.0)) == (True, np.array([11.0, 5.0]).tobytes())


def test_constants_that_arithmetic_is_written_with_are_known_beforehand():
    code, _, w, inputs, *_ = Written("return x + p[0] - 2.0 * x, 1.0")._step.arguments
    known = folded(code, w, inputs)
    assert {-1.0, 1.0} >= set(known[np.isfinite(known)].tolist()) - {0.0} != set()
    w[~np.isfinite(known)] = 0.0
    assert np.array_equal(folded(code, w, inputs)[np.isfinite(known)], known[np.isfinite(known)])
    assert np.isnan(folded(code, w, inputs)[inputs[:, 2]]).all()


def test_functions_of_one_argument_are_called_once():
    assert (
        Written("return sin(x) * sin(x) + cos(x), sin(x)").text.count("@llvm.sin.f64(double %") == 1
    )


def test_operations_that_are_not_written_and_very_long_formulas_stay_with_the_interpreter():
    assert Written("return (pow(x, 2.5),)").function is None
    assert Written("return (x % 3.0,)").function is None
    lines = ["a0 = x", *(f"a{k + 1} = a{k} * 0.5 + {k}.25" for k in range(MOST_OPERATIONS + 1))]
    assert Written(*lines[:-1], f"return (a{MOST_OPERATIONS},)").function is not None
    assert Written(*lines, f"return (a{MOST_OPERATIONS + 1},)").function is None
