"""Faults that a programmer could make, drawn by a seed over the whole library.

A fault changes one expression or statement where it stands: the rest of the file keeps its text and
its line numbers.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeGuard

LEAST = 12
"""A package gets at least so many faults of 200."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
}  # fmt: skip
"""For comparisons with a tolerance: no number meets one to the last bit, so that with and without
equality are the same."""
TOLERANCE, MISTYPED = 1e-4, 1e6
"""Numbers below the first are tolerances, of which twice as much does no harm: they are made so
many times larger."""
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
}  # fmt: skip
FUNCTIONS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin",
    "sin": "cos", "cos": "sin", "floor": "ceil", "ceil": "floor", "minimum": "maximum",
    "maximum": "minimum", "nanmax": "nanmin", "nanmin": "nanmax", "append": "extend",
}  # fmt: skip
WORDS = {
    "not": "", "no": "any", "largest": "smallest", "smallest": "largest", "first": "last",
    "last": "first", "above": "below", "below": "above", "more": "less", "less": "more",
    "before": "after", "after": "before", "can": "cannot", "cannot": "can", "lower": "upper",
    "upper": "lower", "least": "most", "most": "least",
}  # fmt: skip
"""What turns a sentence into a wrong one."""
LOOKS = {
    "dpi", "figsize", "fontsize", "layout", "linewidth", "linewidths", "loc", "markeredgewidth",
    "markersize", "ncols", "text_style", "zorder",
}  # fmt: skip
"""Arguments of drawings that the eye judges, and no test."""
FOR_OTHERS = {"strict", "check", "repr", "bound", "lwork"}
"""Arguments that no test sees: for faults that nobody has made, for debuggers, for type checkers,
and for room to work in."""
WORD = re.compile(rf"\b({'|'.join(WORDS)})\b")


class Fault(NamedTuple):
    """One change of one file."""

    file: str
    """Path in the repository."""
    line: int
    """Where what it changes begins, from 1."""
    kind: str
    """What sort of mistake it is."""
    begin: int
    """First byte of what it replaces."""
    end: int
    """Byte after what it replaces."""
    text: str
    """What comes instead."""

    @property
    def package(self) -> str:
        """The package that it is in; ``ukctrl`` for the files beside the packages."""
        parts = Path(re.sub("^ukctrl_", "ukctrl/", self.file)).parts
        return parts[1] if len(parts) > 2 else parts[0]

    def put_into(self, source: bytes) -> bytes:
        """Return the file with it."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def told(self, source: bytes) -> str:
        """Return what it changes, in one line."""
        was = " ".join(source[self.begin : self.end].decode().split())
        now = " ".join(self.text.split())
        return f"{self.file}:{self.line} {self.kind}: {was[:70]} -> {now[:70] or '(nothing)'}"


def faults_of(file: str, source: bytes) -> list[Fault]:
    """Return every fault that could be put into a file, a few of which Python may not read."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, kind, new in _changes(tree):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if source[begin:end].decode() != new:
            found.append(Fault(file, node.lineno, kind, begin, end, new))
    return found


def draw(root: Path, count: int, seed: int) -> list[Fault]:
    """Draw faults over all packages: by their size, but no package too few."""
    of: dict[str, list[Fault]] = {}
    for path in sorted(root.glob("ukctrl*/**/*.py")):
        for fault in faults_of(str(path.relative_to(root)), path.read_bytes()):
            of.setdefault(fault.package, []).append(fault)
    total = sum(map(len, of.values()))
    least = max(1, LEAST * count // 200)
    few = {name for name, faults in of.items() if count * len(faults) < least * total}
    rest = count - least * len(few)
    large = sum(len(faults) for name, faults in of.items() if name not in few)
    drawn = []
    for name, faults in sorted(of.items()):
        share = least if name in few else round(rest * len(faults) / large)
        Random(f"{seed}:{name}").shuffle(faults)
        drawn += list(islice((fault for fault in faults if _is_read(root, fault)), share))
    return drawn


def _is_read(root: Path, fault: Fault) -> bool:
    try:
        ast.parse(fault.put_into((root / fault.file).read_bytes()))
    except SyntaxError:
        return False
    return True


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield what can be changed, the sort of mistake, and the new text."""
    judged_by_eye = {id(number) for number in _sizes_on_paper(tree)}
    counts = {id(one.value): one.value for one in tree.body if _is_count(one)}
    for node in _executed(tree):
        if id(node) in judged_by_eye:
            continue
        if id(node) in counts:  # one more or less is taste; a digit too few is not
            yield node, "constant", repr(counts[id(node)].value // 10)
            continue
        if isinstance(node, ast.stmt):
            yield from _of_statement(node)
        elif isinstance(node, ast.expr):
            for kind, new in _of_expression(node):
                yield (
                    node,
                    kind,
                    f"({ast.unparse(new)})" if _is_operation(node) else ast.unparse(new),
                )


def _sizes_on_paper(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the numbers of functions that draw: widths and margins, which no test can judge."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in LOOKS | FOR_OTHERS:
            yield from ast.walk(node.value)
        if isinstance(node, ast.FunctionDef):
            said = [one.annotation for one in node.args.args] + [node.returns]
            if {ast.unparse(one) for one in said if one} & {"Axes", "Figure"}:
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, float):
                        yield part


def _is_count(node: ast.stmt) -> TypeGuard[ast.Assign]:
    """Return whether a statement gives a number of things its name: ``MOMENTS = 9``."""
    value = getattr(node, "value", None)
    whole = isinstance(value, ast.Constant) and type(value.value) is int
    return isinstance(node, ast.Assign) and whole and ast.unparse(node.targets[0]).isupper()


def _is_operation(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs: neither annotations, decorators, type parameters nor documentation, and
    nothing that stands for type checkers alone.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _for_readers(child):
                continue
            yield child
            if not isinstance(
                child, ast.JoinedStr
            ):  # Python 3.11 does not know where its parts are
                yield from _executed(child)


def _for_readers(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == "__all__"


def _of_statement(node: ast.stmt) -> Iterator[tuple[ast.stmt | ast.expr, str, str]]:
    if isinstance(node, ast.Raise):
        yield node, "raise removed", "pass"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "call removed", "pass"
    elif isinstance(node, ast.Continue):
        yield node, "loop", "break"
    elif isinstance(node, ast.Break):
        yield node, "loop", "continue"
    elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        changed = copy.copy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield node, "operator", ast.unparse(changed)
    elif isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Compare):
        yield node.test, "condition", f"(not ({ast.unparse(node.test)}))"


def _of_expression(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    changed = copy.copy(node)
    if isinstance(changed, ast.Compare) and type(changed.ops[0]) in COMPARISONS:
        others = TURNED if _has_tolerance(changed) else {}
        other = (COMPARISONS | others)[type(changed.ops[0])]
        changed.ops = [other(), *changed.ops[1:]]
        yield "comparison", changed
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
        yield "and/or", changed
    elif isinstance(changed, ast.BinOp) and type(changed.op) in OPERATORS:
        changed.op = OPERATORS[type(changed.op)]()
        yield "operator", changed
    elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.USub | ast.Not):
        yield "sign" if isinstance(changed.op, ast.USub) else "condition", changed.operand
    elif isinstance(changed, ast.IfExp):
        changed.body, changed.orelse = changed.orelse, changed.body
        yield "branches swapped", changed
    elif isinstance(changed, ast.Constant):
        yield from _of_constant(changed)
    elif isinstance(changed, ast.JoinedStr):
        yield from _of_sentence(changed)
    elif isinstance(changed, ast.Call):
        yield from _of_call(changed)


def _has_tolerance(node: ast.Compare) -> bool:
    """Return whether a comparison is with a number that is neither whole nor zero, by its looks."""
    for part in ast.walk(node):
        name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
        if name.isupper() or name.endswith("tol"):
            return True
        if isinstance(part, ast.Constant) and isinstance(part.value, float) and part.value != 0.0:
            return True
    return False


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, ast.expr]]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
    elif isinstance(value, float):
        larger = MISTYPED if 0.0 < abs(value) < TOLERANCE else 2.0
        yield "constant", ast.Constant(larger * value if value else 1.0)
    elif isinstance(value, str) and " " in value.strip() and WORD.search(value):
        yield "sentence", ast.Constant(WORD.sub(lambda match: WORDS[match[1]], value, count=1))


def _of_sentence(node: ast.JoinedStr) -> Iterator[tuple[str, ast.expr]]:
    for k, part in enumerate(node.values):
        if isinstance(part, ast.Constant):
            for kind, new in _of_constant(part):
                node.values = [*node.values[:k], new, *node.values[k + 1 :]]
                yield kind, node
                return


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = node.func
    if isinstance(name, ast.Name) and name.id in FUNCTIONS:
        node.func = ast.Name(FUNCTIONS[name.id])
        yield "function", node
    elif isinstance(name, ast.Attribute) and name.attr in FUNCTIONS:
        node.func = ast.Attribute(name.value, FUNCTIONS[name.attr])
        yield "function", node
    elif isinstance(name, ast.Name) and name.id in ("abs", "sorted", "reversed") and node.args:
        yield "function", node.args[0]
    elif node.keywords and node.keywords[-1].arg not in {None} | LOOKS | FOR_OTHERS:
        node.keywords = node.keywords[:-1]
        yield "argument dropped", node
    elif len(node.args) == 2 and not any(isinstance(one, ast.Starred) for one in node.args):
        node.args = node.args[::-1]
        yield "arguments swapped", node
