"""From text to a sympy expression over known names, with every hostile number defused.

sympy computes exactly, which hostile text could abuse (``9**9**9`` is a number of 370 million
digits). Here every sub-expression without variables is a small rational, a small rational times
pi, or a 53-bit float; exponents are bounded; so each step costs little.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ukctrl.core.errors import ExpressionError, unknown_name
from ukctrl.core.expression.suggested_text import with_suggestion
from ukctrl.core.expression.syntax import (
    CallNode,
    NameNode,
    Node,
    NumberNode,
    PowerNode,
    ProductNode,
    SumNode,
    formula_error,
    parse_syntax,
)
from ukctrl.core.message_text import printable_name

if TYPE_CHECKING:
    import sympy

_Weight = tuple[int, int, int]

MAX_EXPONENT = 100
"""Largest constant exponent, in magnitude."""
MAX_INTEGER = 2**53
"""Integers beyond this are floats: exactness would cost time and gain nothing."""

MAX_DERIVATIVE_COST = 10_000
"""Largest bound on the number of operations in a formula's second derivative.

Derivatives of long products and deep nests grow fast; at this size they take about a second.
"""

_CONSTANTS = ("pi", "deg")


@dc.dataclass(frozen=True)
class Vocabulary:
    """The variables that a formula may use, beside ``pi`` and ``deg``."""

    plain: tuple[str, ...] = ()
    """Names used as they are: coordinates such as ``q1``."""
    velocities: tuple[str, ...] = ()
    """Names used after ``v.``: degrees of freedom."""
    differentials: tuple[str, ...] = ()
    """Names used after ``d.``."""
    time: bool = True
    """Whether ``t`` is the time [s]."""
    constants: tuple[tuple[str, float], ...] = ()
    """Names that stand for a number, and the number."""

    def resolve(self, text: str, name: NameNode) -> str:
        """Return the symbol that a name stands for, or a constant's name.

        Raises:
            ExpressionError: There is no such name here, or it has two meanings.
        """
        names = {"": self.plain, "v": self.velocities, "d": self.differentials}[name.space]
        reserved = _CONSTANTS + (("t",) if self.time else ())
        if name.space == "" and name.name in reserved:
            if name.name in self.plain:
                raise formula_error(
                    text,
                    f"'{name}' is both a coordinate here and a word of the language; rename it.",
                )
            return name.name
        constants = tuple(names for names, _ in self.constants) if name.space == "" else ()
        if name.name not in names and name.name not in constants:
            raise formula_error(text, self._unknown(name, reserved + constants))
        return str(name)

    def _unknown(self, name: NameNode, reserved: tuple[str, ...]) -> str:
        if name.space == "":
            for velocity in self.velocities:
                if name.name in (f"v{velocity}", f"d{velocity}", f"{velocity}_dot") or (
                    name.name in (f"{velocity}dot", f"d{velocity}dt", f"{velocity}_d")
                ):
                    return f"no variable named '{printable_name(name.name)}'; write 'v.{velocity}'."
            return str(
                unknown_name("variable", printable_name(name.name), [*self.plain, *reserved])
            )
        noun = {"v": "velocity", "d": "differential"}[name.space]
        names = {"v": self.velocities, "d": self.differentials}[name.space]
        if not names:
            return f"'{printable_name(str(name))}' is a {noun}; none may stand here."
        return str(
            unknown_name(noun, printable_name(str(name)), [f"{name.space}.{k}" for k in names])
        )


def _vocabulary(names: Vocabulary | Iterable[str]) -> Vocabulary:
    return names if isinstance(names, Vocabulary) else Vocabulary(tuple(names), time=False)


def check_names(text: str, names: Vocabulary | Iterable[str]) -> frozenset[str]:
    """Check the syntax and the names of a formula without importing sympy.

    Args:
        text: The formula.
        names: The variables it may use; a plain iterable does not include ``t``.

    Returns:
        The variables it does use, such as ``{"q1", "v.q2", "t"}``.

    Raises:
        ExpressionError: It is not in the language, or a name is not known.
    """
    vocabulary = _vocabulary(names)
    try:
        return _used(text, vocabulary)
    except ExpressionError as error:
        raise with_suggestion(error, text, lambda other: _used(other, vocabulary)) from None


def _used(text: str, vocabulary: Vocabulary) -> frozenset[str]:
    used = {vocabulary.resolve(text, name) for name in _names(parse_syntax(text))}
    return frozenset(used - set(_CONSTANTS) - {name for name, _ in vocabulary.constants})


def _names(node: Node) -> list[NameNode]:
    match node:
        case NameNode():
            return [node]
        case SumNode(pairs) | ProductNode(pairs):
            return [name for _, child in pairs for name in _names(child)]
        case PowerNode(base, exponent):
            return _names(base) + _names(exponent)
        case CallNode(_, arguments):
            return [name for argument in arguments for name in _names(argument)]
        case NumberNode():
            return []


def parse(text: str, names: Vocabulary | Iterable[str]) -> sympy.Expr:
    """Return a formula as a sympy expression.

    Its symbols bear the names as written: ``q1``, ``v.q1``, ``d.q1``, ``t``.

    Args:
        text: The formula.
        names: The variables it may use; a plain iterable does not include ``t``.

    Raises:
        ExpressionError: It is not in the language, a name is not known, a constant part of it
            has no finite real value, or its second derivative would be huge.
    """
    vocabulary = _vocabulary(names)
    check_names(text, vocabulary)
    tree = parse_syntax(text)
    try:
        expr = _ExpressionBuilder(text, vocabulary).build(tree)
    except (ArithmeticError, TypeError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise formula_error(text, "a constant part of it has no finite real value.") from None
    if _derivative_cost(expr, {})[2] > MAX_DERIVATIVE_COST:
        raise formula_error(
            text,
            "its second derivative would be huge. Write shorter products and shallower nests, or "
            "use a built-in kind of constraint or path.",
        )
    return expr


def _derivative_cost(expr: sympy.Expr, done: dict[sympy.Expr, _Weight]) -> _Weight:
    """Bound the operations in an expression and in its first and second derivative.

    ``done`` holds what has been weighed so far.
    """
    if expr.is_number:
        return 1, 0, 0
    if expr.is_Symbol:
        return 1, 1, 1
    if expr not in done:
        costs = [_derivative_cost(argument, done) for argument in expr.args]
        zeroth, first, second = (sum(column) + 1 for column in zip(*costs, strict=True))
        if not expr.is_Add:  # a product or a function: every part meets every other
            varying = [cost for cost in costs if cost[1]]
            pairs = len(varying) * (len(varying) - 1)
            cross = pairs * zeroth + 2 * (len(varying) - 1) * first
            own_terms = len(varying) * zeroth
            second += 2 * own_terms + cross + 2 * first
            first += own_terms
        done[expr] = zeroth, first, second
    return done[expr]


class _ExpressionBuilder:
    """Builds the expression bottom-up, taming every number on the way."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        import sympy

        self.sympy = sympy
        self.text = text
        self.vocabulary = vocabulary
        self.constants = {"pi": sympy.pi, "deg": sympy.pi / 180}
        # Whole numbers stay exact, so that a power with such an exponent stays a product.
        for name, value in vocabulary.constants:
            exact = value.is_integer() and abs(value) <= MAX_INTEGER
            self.constants[name] = sympy.Integer(int(value)) if exact else sympy.Float(value)

    def build(self, node: Node) -> sympy.Expr:
        return self.bounded_number(self.exact_expression(node))

    def exact_expression(self, node: Node) -> sympy.Expr:
        sympy = self.sympy
        match node:
            case NumberNode(value):
                return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value)
            case NameNode():
                symbol = self.vocabulary.resolve(self.text, node)
                return self.constants[symbol] if symbol in self.constants else sympy.Symbol(symbol)
            case SumNode(terms):
                return sympy.Add(*[sign * self.build(term) for sign, term in terms])
            case ProductNode(factors):
                return self.product(factors)
            case PowerNode(base, exponent):
                return self.power(self.build(base), self.build(exponent))
            case CallNode(function, arguments):
                return self.call(function, [self.build(argument) for argument in arguments])

    def product(self, factors: tuple[tuple[int, Node], ...]) -> sympy.Expr:
        """Multiply the numbers one by one, so that none grows, then the rest at once."""
        number: sympy.Expr = self.sympy.Integer(1)
        terms: list[sympy.Expr] = []
        for exponent, factor in factors:
            value = self.build(factor)
            if exponent < 0:
                value = self.bounded_number(self.power(value, self.sympy.Integer(-1)))
            if value.is_number:
                number = self.bounded_number(number * value)
            else:
                terms.append(value)
        return self.sympy.Mul(number, *terms)

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        if not exponent.is_number:
            return base**exponent
        value = float(exponent)
        self.limit(value)
        if base.is_number:
            math.pow(float(base), value)  # raises where there is no finite real value
        for factor in self.sympy.Mul.make_args(base):  # (x**9)**9 is x**81 to sympy
            inner = factor.as_base_exp()[1]
            if inner.is_number:
                self.limit(value * float(inner))
        if (2.0 * value).is_integer():  # 2.0 and 0.5 are as exact as 2 and 1/2, and simpler
            exponent = self.sympy.Rational(int(2.0 * value), 2)
        return base**exponent

    def limit(self, exponent: float) -> None:
        """Refuse a large constant exponent, which exact arithmetic would pay for."""
        if not abs(exponent) <= MAX_EXPONENT:
            raise formula_error(
                self.text,
                f"a constant exponent must be at most {MAX_EXPONENT} in magnitude; "
                f"got {exponent:g}.",
            )

    def call(self, function: str, arguments: list[sympy.Expr]) -> sympy.Expr:
        if function == "exp":
            for term in self.sympy.Add.make_args(arguments[0]):
                coefficient, monomial = term.as_coeff_Mul()
                if monomial.has(self.sympy.log):  # exp(9*log(x)) is x**9 to sympy
                    self.limit(float(coefficient))
        return getattr(self.sympy, function)(*arguments)

    def bounded_number(self, expr: sympy.Expr) -> sympy.Expr:
        """Return the expression, with the float of any number that is not simple and small."""
        if not expr.is_number:
            coefficient, monomial = expr.as_coeff_Mul()
            return expr if coefficient == 1 else self.bounded_number(coefficient) * monomial
        rational = expr.coeff(self.sympy.pi) if expr.has(self.sympy.pi) else expr
        small = rational.is_Rational and max(abs(rational.p), rational.q) <= MAX_INTEGER
        if small and expr in (rational, rational * self.sympy.pi):
            return expr
        value = rational.p / rational.q if expr.is_Rational else float(expr)
        if not math.isfinite(value):
            raise formula_error(self.text, "a constant part of it has no finite real value.")
        return self.sympy.Float(value)
