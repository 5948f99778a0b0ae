"""From sympy expressions to one fast function of floats.

The lines of its `CompiledFormula` are written here, node by node, from a closed list of sympy
types; names that a user chose never reach it (inputs are ``a0``, ``a1``, ...). Common parts are
computed once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ukctrl.core.errors import ExpressionError
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.syntax import FUNCTIONS
from ukctrl.core.message_text import quote_text

if TYPE_CHECKING:
    import sympy

_SUM, _PRODUCT, _ATOM = 1, 2, 3
_LONGEST_PRODUCT = 4
"""Powers up to this exponent are written as products: x*x is twice as fast as x**2."""


def compile_function(
    exprs: Sequence[sympy.Expr],
    arguments: Sequence[str | Sequence[str]],
    label: str = "",
    missing: int = 0,
) -> CompiledFormula:
    """Compile expressions into one function that returns all their values as a flat tuple.

    ``compile_function([x*t, y], [["x", "y"], "t"])`` returns ``f(xy, t)``, called with a list of
    two floats and a float.

    Args:
        exprs: What to compute.
        arguments: The function's arguments: a symbol's name for a float, a sequence of names for
            a list of floats in that order.
        label: What an error calls the function, such as the text that it came from.
        missing: How many NaN to append to the values.

    Returns:
        The function. It raises ``DomainError`` where a value does not exist.

    Raises:
        ExpressionError: An expression cannot be evaluated with floats.
    """
    import sympy

    done: dict[sympy.Expr, sympy.Expr] = {}
    # numbers become floats first: common subexpressions of exact constants would be printed again
    # and again
    exact = [_numeric(sympy.sympify(expr, strict=True), label, done) for expr in exprs]
    subexprs, results = sympy.cse(exact, symbols=sympy.numbered_symbols("w", cls=sympy.Dummy))
    inputs, lines = _inputs(exact, arguments, label)
    printer = _FormulaPrinter(inputs, label)
    for symbol, subexpr in subexprs:
        printer.assign(symbol, subexpr)
    values = [printer.code(result, _SUM) for result in results] + ["nan"] * missing
    lines = lines + printer.lines + [f"return ({''.join(value + ', ' for value in values)})"]
    parameters = [f"p{index}" for index in range(len(arguments))]
    time = next((i for i, argument in enumerate(arguments) if argument == "t"), None)
    return CompiledFormula(parameters, lines, label, time)


def _inputs(
    exprs: Sequence[sympy.Expr], arguments: Sequence[str | Sequence[str]], label: str
) -> tuple[dict[sympy.Symbol, str], list[str]]:
    """Return the local name of every symbol, and the lines that unpack the lists."""
    import sympy

    used = {symbol for expr in exprs for symbol in expr.free_symbols}
    names: dict[sympy.Symbol, str] = {}
    lines: list[str] = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, str):
            names[sympy.Symbol(argument)] = f"p{index}"
            continue
        for position, name in enumerate(argument):
            symbol = sympy.Symbol(name)
            # loads that nothing reads would cost a copy at every call
            if symbol in used:
                names[symbol] = f"a{len(lines)}"
                lines.append(f"a{len(lines)} = p{index}[{position}]")
    missing = sorted(str(symbol) for symbol in used - set(names))
    if missing:
        raise ExpressionError(f"in {quote_text(label)}: '{missing[0]}' is not among the arguments.")
    return names, lines


def _numeric(expr: sympy.Expr, label: str, done: dict[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """Return the expression with each constant part as one float; 0 and 1 stay exact.

    Args:
        expr: The expression.
        label: What an error calls it.
        done: What has been converted so far: derivatives share most of their parts.
    """
    import sympy

    cached = done.get(expr)
    if cached is not None:
        return cached
    if expr.is_Atom and not expr.is_number:
        return expr
    if expr.is_number:
        value = _finite(expr, label)
        # these SymPy simplifies with; any other integer would stay exact, and slow
        exact = value in (-1.0, 0.0, 1.0)
        result = sympy.Integer(int(value)) if exact else sympy.Float(value)
    # a rational exponent stays one, to be printed as products and roots
    elif expr.is_Pow and expr.exp.is_Rational:
        result = sympy.Pow(_numeric(expr.base, label, done), expr.exp)
    else:
        result = expr.func(*(_numeric(argument, label, done) for argument in expr.args))
    done[expr] = result
    return result


def _finite(expr: sympy.Expr, label: str) -> float:
    try:
        value = float(expr)
    except (TypeError, ValueError, ArithmeticError):
        value = math.nan
    if not math.isfinite(value):
        prefix = f"in {quote_text(label)}: " if label else ""
        raise ExpressionError(f"{prefix}it or a derivative of it has no finite real value.")
    return value


class _FormulaPrinter:
    """Writes Python source for the types of node that this language can produce."""

    def __init__(self, names: Mapping[sympy.Symbol, str], label: str) -> None:
        import sympy

        self.sympy = sympy
        self.names = dict(names)
        self.label = label
        self.lines: list[str] = []
        self.functions: dict[Any, str] = {getattr(sympy, name): name for name in FUNCTIONS}

    def assign(self, symbol: sympy.Symbol, expr: sympy.Expr) -> None:
        self.names[symbol] = self.stored(self.code(expr, _SUM))

    def stored(self, code: str) -> str:
        name = f"w{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def code(self, expr: sympy.Expr, context: int) -> str:
        """Return source for an expression, in parentheses where the context binds tighter."""
        level, code = self.written(expr)
        return code if level >= context else f"({code})"

    def written(self, expr: sympy.Expr) -> tuple[int, str]:
        if expr.is_number:
            value = _finite(expr, self.label)
            # no zero with a sign
            return (_ATOM if value >= 0.0 else _SUM), repr(value + 0.0)
        if expr.is_Symbol:
            return _ATOM, self.names[expr]
        if expr.is_Add:
            return _SUM, self.sum(expr)
        if expr.is_Mul or expr.is_Pow:
            return self.product(expr)
        if expr.func in self.functions:
            arguments = ", ".join(self.code(argument, _SUM) for argument in expr.args)
            return _ATOM, f"{self.functions[expr.func]}({arguments})"
        if expr.func is self.sympy.cot:  # sympy writes tan(x + pi/2) so
            return _PRODUCT, f"1.0/tan({self.code(expr.args[0], _SUM)})"
        raise ExpressionError(
            f"in {quote_text(self.label)}: '{expr.func.__name__}' came up and cannot be evaluated."
        )

    def sum(self, expr: sympy.Expr) -> str:
        # SymPy's own order depends on hashes: bits must not differ from process to process
        terms = sorted(expr.args, key=self.sympy.default_sort_key)
        terms.sort(key=_is_negative)  # start with a positive term where there is one
        code = self.code(terms[0], _SUM)
        for term in terms[1:]:
            if _is_negative(term):
                code += f" - {self.code(-term, _PRODUCT)}"
            else:
                code += f" + {self.code(term, _SUM)}"
        return code

    def product(self, expr: sympy.Expr) -> tuple[int, str]:
        coefficient, monomial = expr.as_coeff_Mul()
        above: list[str] = []
        below: list[str] = []
        for factor in sorted(self.sympy.Mul.make_args(monomial), key=self.sympy.default_sort_key):
            base, exponent = factor.as_base_exp()
            if exponent.is_Rational and exponent.is_negative and not factor.is_Function:
                below.append(self.power(base, -exponent))
            elif factor.is_Pow:
                above.append(self.power(base, exponent))
            else:
                above.append(self.code(factor, _PRODUCT))
        value = _finite(coefficient, self.label)
        if abs(value) != 1.0 or not above:
            above.insert(0, repr(abs(value)))
        code = "*".join(above)
        if below:
            code += f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})"
        level = _ATOM if len(above) == 1 and not below else _PRODUCT
        return (level, code) if value > 0.0 else (_SUM, f"-{code}")

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> str:
        """Return source for a power, as an atom."""
        code = self.code(base, _SUM)
        if exponent.is_Rational and exponent.q <= 2 and 0 < exponent <= _LONGEST_PRODUCT:
            whole, half = divmod(int(2 * exponent), 2)
            if whole == 0:
                return f"sqrt({code})"
            # what is multiplied by itself is worked out once
            name = code if code.isidentifier() else self.stored(code)
            factors = [name] * whole + [f"sqrt({name})"] * half
            return factors[0] if len(factors) == 1 else f"({'*'.join(factors)})"
        return f"pow({code}, {self.code(exponent, _SUM)})"


def _is_negative(term: sympy.Expr) -> bool:
    return bool(term.as_coeff_Mul()[0].is_negative)
