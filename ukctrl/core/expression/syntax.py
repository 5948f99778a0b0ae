"""From text to a small tree: numbers, names, sums, products, powers and known functions.

Nothing but these node types can come out of ``read``, whatever goes in, and the tree is small:
length, nesting and number of nodes are bounded before anything walks it. The text is hostile until
proven harmless: first a whitelist of characters, then Python's own parser, last one of nodes.
"""

from __future__ import annotations

import ast
import dataclasses as dc
import math
import re
from collections.abc import Callable, Mapping

from ukctrl.core.errors import ExpressionError, unknown_name
from ukctrl.core.message_text import printable_name, quote_text
from ukctrl.core.suppressed_warnings import suppress_warnings

MAX_LENGTH = 4096
"""Longest text [characters]."""
MAX_DEPTH = 40
"""Deepest nesting of parentheses, calls and powers."""
MAX_NODES = 600
"""Most numbers, names, operations and calls in one text."""

FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
}
"""The functions of the language; each has two derivatives inside its domain."""

_ADVICE = {
    "abs": "it has no second derivative at 0; write sqrt(x**2 + 1e-12) for a smooth one",
    "sign": "it has no derivative at 0; write tanh(x/eps) for a smooth one",
    "min": "it has no second derivative where its arguments meet",
    "max": "it has no second derivative where its arguments meet",
    "pow": "write x**y",
    "ln": "write log(x)",
    "arcsin": "write asin(x)",
    "arccos": "write acos(x)",
    "arctan": "write atan(x)",
    "arctan2": "write atan2(y, x)",
}
_SPACES = {"v": "velocity", "d": "differential"}
_PUNCTUATION = frozenset("+-*/()., _")


@dc.dataclass(frozen=True, slots=True)
class NumberNode:
    """A literal."""

    value: float


@dc.dataclass(frozen=True, slots=True)
class NameNode:
    """A variable; ``space`` is ``""`` for ``q1``, ``"v"`` for ``v.q1``, ``"d"`` for ``d.q1``."""

    space: str
    name: str

    def __str__(self) -> str:
        return f"{self.space}.{self.name}" if self.space else self.name


@dc.dataclass(frozen=True, slots=True)
class SumNode:
    """Terms, each with its sign (+1 or -1)."""

    terms: tuple[tuple[int, Node], ...]


@dc.dataclass(frozen=True, slots=True)
class ProductNode:
    """Factors, each with its exponent (+1 multiplies, -1 divides)."""

    factors: tuple[tuple[int, Node], ...]


@dc.dataclass(frozen=True, slots=True)
class PowerNode:
    """``base ** exponent``."""

    base: Node
    exponent: Node


@dc.dataclass(frozen=True, slots=True)
class CallNode:
    """A whitelisted function of one argument, or of two for ``atan2``."""

    function: str
    arguments: tuple[Node, ...]


Node = NumberNode | NameNode | SumNode | ProductNode | PowerNode | CallNode


def formula_error(text: str, reason: str) -> ExpressionError:
    """Build the one-line error for a text: what was written, and what is wrong with it."""
    return ExpressionError(f"in {quote_text(text)}: {reason}")


def parse_syntax(text: str) -> Node:
    """Read a formula into its tree.

    Args:
        text: The formula; line breaks count as spaces.

    Raises:
        ExpressionError: The text is too long, too deeply nested, or not in the language.
    """
    if len(text) > MAX_LENGTH:
        raise formula_error(text, f"must have at most {MAX_LENGTH} characters; got {len(text)}.")
    line = " ".join(text.split())
    if not line:
        raise formula_error(text, "must be a formula; got nothing.")
    _check_characters(text, line)
    try:
        with suppress_warnings():  # "1or 2" warns; the node whitelist refuses it
            tree = ast.parse(line, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is too long or too deep"
        if re.search(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*[A-Za-z]", line):
            reason = "a product has the sign *"
        reason = " ".join(reason.split()).rstrip(".")[:120]
        raise formula_error(text, f"must be a formula such as 2*sin(pi*t); {reason}.") from None
    return _SyntaxReader(text).node(tree.body, 0)


def _check_characters(text: str, line: str) -> None:
    depth = 0
    for character in line:
        if character == "(":
            depth += 1
            if depth > MAX_DEPTH:
                raise formula_error(text, f"must nest at most {MAX_DEPTH} parentheses.")
        elif character == ")":
            depth -= 1
        elif character == "^":
            raise formula_error(text, "'^' is not in the language; a power has the sign **.")
        elif character not in _PUNCTUATION and not character.isalnum():
            raise formula_error(
                text,
                f"{quote_text(character)} is not in the language; "
                "it has numbers, names, + - * / **, parentheses and functions.",
            )


class _SyntaxReader:
    """Turns Python's syntax tree into ours, counting what it makes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0

    def node(self, tree: ast.expr, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH:
            raise formula_error(self.text, f"must nest at most {MAX_DEPTH} levels deep.")
        if self.count > MAX_NODES:
            raise formula_error(
                self.text, f"must have at most {MAX_NODES} numbers, names and operations."
            )
        match tree:
            case ast.Constant(value=value):
                return self.number(value)
            case ast.Name(id=name):
                return NameNode("", name)
            case ast.Attribute(value=ast.Name(id=space), attr=name) if space in _SPACES:
                return NameNode(space, name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.signed(tree, depth)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return SumNode(self.chain(tree, depth, ast.Add, ast.Sub))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return ProductNode(self.chain(tree, depth, ast.Mult, ast.Div))
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return PowerNode(self.node(base, depth + 1), self.node(exponent, depth + 1))
            case ast.Call():
                return self.call(tree, depth)
            case _:
                raise formula_error(self.text, f"{_named(tree)} is not in the language.")

    def number(self, value: object) -> NumberNode:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise formula_error(self.text, f"{quote_text(str(value))} is not a real number.")
        try:
            finite = math.isfinite(float(value))
        except OverflowError:
            finite = False
        if not finite:
            raise formula_error(self.text, "a number in it is too large for floating point.")
        return NumberNode(value)

    def signed(self, tree: ast.expr, depth: int) -> Node:
        """Read a run of signs in a loop, however long it is."""
        sign = 1
        while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(tree.op, ast.USub) else sign
            tree = tree.operand
        return SumNode(((sign, self.node(tree, depth + 1)),))

    def chain(
        self, tree: ast.expr, depth: int, plus: type[ast.operator], minus: type[ast.operator]
    ) -> tuple[tuple[int, Node], ...]:
        """Read ``a + b - c + ...`` (or ``a * b / c ...``) in a loop, left to right."""
        reversed_terms: list[tuple[int, ast.expr]] = []
        while isinstance(tree, ast.BinOp) and isinstance(tree.op, (plus, minus)):
            reversed_terms.append((1 if isinstance(tree.op, plus) else -1, tree.right))
            tree = tree.left
        reversed_terms.append((1, tree))
        return tuple((sign, self.node(term, depth + 1)) for sign, term in reversed(reversed_terms))

    def call(self, tree: ast.Call, depth: int) -> CallNode:
        if not isinstance(tree.func, ast.Name):
            raise formula_error(self.text, "only a function's name may stand before '('.")
        name = tree.func.id
        if name not in FUNCTIONS:
            advice = _ADVICE.get(name)
            if advice is not None:
                raise formula_error(self.text, f"'{name}' is not in the language: {advice}.")
            unknown = unknown_name("function", printable_name(name), FUNCTIONS, len(FUNCTIONS))
            raise formula_error(self.text, str(unknown))
        arity = 2 if name == "atan2" else 1
        if tree.keywords or len(tree.args) != arity:
            got = len(tree.args) + len(tree.keywords)
            plural = "s" if arity > 1 else ""
            raise formula_error(self.text, f"{name} takes {arity} argument{plural}; got {got}.")
        return CallNode(name, tuple(self.node(argument, depth + 1) for argument in tree.args))


def _named(tree: ast.expr) -> str:
    """Return what people call a piece of syntax that is refused."""
    match tree:
        case ast.Attribute(attr=name):
            return (
                f"'.{printable_name(name)}' (only v.NAME, a velocity, and d.NAME, a differential)"
            )
        case ast.BinOp(op=ast.FloorDiv()):
            return "'//'"
        case ast.Tuple():
            return "a list of values"
        case _:
            return f"Python's {type(tree).__name__}"
