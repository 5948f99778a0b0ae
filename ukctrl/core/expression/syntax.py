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
from ukctrl.core.quiet import quiet

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
class Number:
    """A literal."""

    value: float


@dc.dataclass(frozen=True, slots=True)
class Name:
    """A variable; ``space`` is ``""`` for ``q1``, ``"v"`` for ``v.q1``, ``"d"`` for ``d.q1``."""

    space: str
    name: str

    def __str__(self) -> str:
        return f"{self.space}.{self.name}" if self.space else self.name


@dc.dataclass(frozen=True, slots=True)
class Sum:
    """Terms, each with its sign (+1 or -1)."""

    terms: tuple[tuple[int, Node], ...]


@dc.dataclass(frozen=True, slots=True)
class Product:
    """Factors, each with its exponent (+1 multiplies, -1 divides)."""

    factors: tuple[tuple[int, Node], ...]


@dc.dataclass(frozen=True, slots=True)
class Power:
    """``base ** exponent``."""

    base: Node
    exponent: Node


@dc.dataclass(frozen=True, slots=True)
class Call:
    """A whitelisted function of one argument, or of two for ``atan2``."""

    function: str
    arguments: tuple[Node, ...]


Node = Number | Name | Sum | Product | Power | Call


def fault(text: str, reason: str) -> ExpressionError:
    """Build the one-line error for a text: what was written, and what is wrong with it."""
    return ExpressionError(f"in {shown(text)}: {reason}")


def brief(name: str) -> str:
    """Return a name as a message shows it: printable and cut short."""
    return shown(name)[1:-1]


def shown(text: str) -> str:
    """Return the text as a message quotes it: one line, printable, at most 60 characters."""
    start = " ".join(text[:200].split())
    cut = start if len(start) <= 60 and len(text) <= 200 else start[:57] + "..."
    return "'" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + "'"


def read(text: str) -> Node:
    """Read a formula into its tree.

    Args:
        text: The formula; line breaks count as spaces.

    Raises:
        ExpressionError: The text is too long, too deeply nested, or not in the language.
    """
    if len(text) > MAX_LENGTH:
        raise fault(text, f"must have at most {MAX_LENGTH} characters; got {len(text)}.")
    line = " ".join(text.split())
    if not line:
        raise fault(text, "must be a formula; got nothing.")
    _check_characters(text, line)
    try:
        with quiet():  # "1or 2" warns; the node whitelist refuses it
            tree = ast.parse(line, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "it is too long or too deep"
        if re.search(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*[A-Za-z]", line):
            why = "a product has the sign *"
        why = " ".join(why.split()).rstrip(".")[:120]
        raise fault(text, f"must be a formula such as 2*sin(pi*t); {why}.") from None
    return _Reader(text).node(tree.body, 0)


def _check_characters(text: str, line: str) -> None:
    depth = 0
    for character in line:
        if character == "(":
            depth += 1
            if depth > MAX_DEPTH:
                raise fault(text, f"must nest at most {MAX_DEPTH} parentheses.")
        elif character == ")":
            depth -= 1
        elif character == "^":
            raise fault(text, "'^' is not in the language; a power has the sign **.")
        elif character not in _PUNCTUATION and not character.isalnum():
            raise fault(
                text,
                f"{shown(character)} is not in the language; "
                "it has numbers, names, + - * / **, parentheses and functions.",
            )


class _Reader:
    """Turns Python's syntax tree into ours, counting what it makes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0

    def node(self, tree: ast.expr, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH:
            raise fault(self.text, f"must nest at most {MAX_DEPTH} levels deep.")
        if self.count > MAX_NODES:
            raise fault(self.text, f"must have at most {MAX_NODES} numbers, names and operations.")
        match tree:
            case ast.Constant(value=value):
                return self.number(value)
            case ast.Name(id=name):
                return Name("", name)
            case ast.Attribute(value=ast.Name(id=space), attr=name) if space in _SPACES:
                return Name(space, name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.signed(tree, depth)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return Sum(self.chain(tree, depth, ast.Add, ast.Sub))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return Product(self.chain(tree, depth, ast.Mult, ast.Div))
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return Power(self.node(base, depth + 1), self.node(exponent, depth + 1))
            case ast.Call():
                return self.call(tree, depth)
            case _:
                raise fault(self.text, f"{_named(tree)} is not in the language.")

    def number(self, value: object) -> Number:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fault(self.text, f"{shown(str(value))} is not a real number.")
        try:
            finite = math.isfinite(float(value))
        except OverflowError:
            finite = False
        if not finite:
            raise fault(self.text, "a number in it is too large for floating point.")
        return Number(value)

    def signed(self, tree: ast.expr, depth: int) -> Node:
        """Read a run of signs in a loop, however long it is."""
        sign = 1
        while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(tree.op, ast.USub) else sign
            tree = tree.operand
        return Sum(((sign, self.node(tree, depth + 1)),))

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

    def call(self, tree: ast.Call, depth: int) -> Call:
        if not isinstance(tree.func, ast.Name):
            raise fault(self.text, "only a function's name may stand before '('.")
        name = tree.func.id
        if name not in FUNCTIONS:
            advice = _ADVICE.get(name)
            if advice is not None:
                raise fault(self.text, f"'{name}' is not in the language: {advice}.")
            unknown = unknown_name("function", brief(name), FUNCTIONS, len(FUNCTIONS))
            raise fault(self.text, str(unknown))
        wanted = 2 if name == "atan2" else 1
        if tree.keywords or len(tree.args) != wanted:
            got = len(tree.args) + len(tree.keywords)
            plural = "s" if wanted > 1 else ""
            raise fault(self.text, f"{name} takes {wanted} argument{plural}; got {got}.")
        return Call(name, tuple(self.node(argument, depth + 1) for argument in tree.args))


def _named(tree: ast.expr) -> str:
    """Return what people call a piece of syntax that is refused."""
    match tree:
        case ast.Attribute(attr=name):
            return f"'.{brief(name)}' (only v.NAME for a velocity and d.NAME for a differential)"
        case ast.BinOp(op=ast.FloorDiv()):
            return "'//'"
        case ast.Tuple():
            return "a list of values"
        case _:
            return f"Python's {type(tree).__name__}"
