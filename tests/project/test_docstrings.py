"""What docstrings name is there: attributes, arguments, and the errors that are raised."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "ukctrl", "ukctrl_film", "ukctrl_identification", "ukctrl_laws", "ukctrl_optimal",
    "ukctrl_papers",
)  # fmt: skip
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def section(docstring: str, heading: str) -> list[str]:
    """Return the names that a section of a docstring opens its entries with."""
    text = re.search(rf"^( *){heading}:\n((?:\1 +.*\n?|\n)+)", docstring, re.MULTILINE)
    lines = text[2].splitlines() if text else []
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    entries = [line[indent:].partition(":") for line in lines if line[indent : indent + 1].strip()]
    return [name for names, colon, _ in entries if colon for name in re.findall(r"[\w.]+", names)]


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@functools.cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """Return the classes of all packages by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def name_of(node: ast.expr) -> str:
    """Return the last name of a base or a target, without its type arguments."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def family(node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield a class and its bases."""
    yield node
    for base in node.bases:
        for parent in classes().get(name_of(base), []):
            if parent is not node:
                yield from family(parent)


@functools.cache
def attributes(node: ast.ClassDef) -> set[str]:
    """Return the methods, fields and assigned attributes of a class and its bases."""
    names = set()
    for each in family(node):
        for item in ast.walk(each):
            if isinstance(item, Function):
                names.add(item.name)
            elif isinstance(item, ast.Attribute) and name_of(item.value) in {"self", "cls"}:
                names |= {item.attr} if isinstance(item.ctx, ast.Store) else set()
        for item in each.body:
            targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", 0)]
            names |= {name.id for name in targets if isinstance(name, ast.Name)}
    return names


def parameters(node: Function) -> set[str]:
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return {argument.arg for argument in every if argument}


def unknown(path: Path) -> Iterator[str]:
    """Yield what the docstrings of a file name and its code does not have."""
    imported = {
        alias.asname or alias.name
        for node in nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in nodes(path):
        if not isinstance(node, ast.ClassDef | Function):
            continue
        docstring = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            known = attributes(node)
            made = {
                name
                for each in family(node)
                for item in each.body
                if isinstance(item, Function) and item.name in {"__init__", "__new__", "__call__"}
                for name in parameters(item)
            } | known
        else:
            known, made = set(), parameters(node)
        wrong = {
            f"Attributes: {name}" for name in section(docstring, "Attributes") if name not in known
        }
        wrong |= {f"Args: {name}" for name in section(docstring, "Args") if name not in made}
        wrong |= {
            f"Raises: {name}"
            for name in section(docstring, "Raises")
            if not hasattr(builtins, name)
            and name not in classes()
            and name.partition(".")[0] not in imported
        }
        yield from (f"{node.name} (line {node.lineno}): {each}" for each in sorted(wrong))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_names_what_the_code_has(package):
    files = [path for path in FILES if path.is_relative_to(ROOT / package)]
    assert not [f"{path.relative_to(ROOT)}: {each}" for path in files for each in unknown(path)]


@functools.cache
def code_names() -> set[str]:
    """Return every name that the code of the packages uses, and the names of its files."""
    names = {part for path in FILES for part in (*path.parts, path.stem)}
    for node in (node for path in FILES for node in nodes(path)):
        for field in ("id", "attr", "name", "arg", "asname"):
            names.add(getattr(node, field, None) or "")
        if isinstance(node, ast.Constant) and str(node.value).isidentifier():
            names.add(str(node.value))
    return names


def test_a_class_or_constant_that_a_docstring_refers_to_is_in_the_code():
    strings = {
        (path.relative_to(ROOT), name)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for name in re.findall(
            r"(?<!`)`((?:\w+\.)*[A-Z]\w*(?:\.\w+)*)`(?!`)", str(node.value.value)
        )
    }
    assert not {(path, name) for path, name in strings if not set(name.split(".")) <= code_names()}
