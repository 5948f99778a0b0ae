"""Tests of a package lie in its folder, and are of what lies there."""

from __future__ import annotations

import ast
import functools
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ukctrl"]["floors"]
PACKAGES = {name: ROOT / "ukctrl" / name for name in FLOORS if (ROOT / "ukctrl" / name).is_dir()}
PACKAGES |= {path.name.removeprefix("ukctrl_"): path for path in ROOT.glob("ukctrl_*")}
KINDS = (
    "browser", "closed_loop", "conformance", "hostile", "mutants", "project", "shared", "truth",
    "twin",
)  # fmt: skip
"""Tests of no one package."""
FILES = [path for name in PACKAGES for path in sorted((ROOT / "tests" / name).rglob("test_*.py"))]


def test_a_folder_of_tests_is_a_package_or_a_kind_of_tests():
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == {*PACKAGES, *KINDS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_a_file_of_tests_lies_where_what_it_imports_does(path):
    package, *below = path.parent.relative_to(ROOT / "tests").parts
    assert PACKAGES[package].joinpath(*below).is_dir()
    found = packages_of(path) - {""}
    assert not found or package in found  # none: the command alone, or a script


def packages_of(path: Path) -> set[str]:
    """Return the packages from which a file imports, what they hand on followed home."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= set().union(*(homes(node.module or "", one.name) for one in node.names))
        elif isinstance(node, ast.Import):
            found |= {part(one.name) for one in node.names}
        elif isinstance(node, ast.Constant) and str(node.value).startswith("ukctrl"):
            found.add(part(str(node.value)))  # what is put in place of something, by its name
    return found


def part(module: str) -> str:
    """Return the package of a dotted name, "" where it is not ours."""
    first, *rest = module.split(".")
    if first == "command" or module.startswith("tests.shared.command"):
        return "cli"
    if module.startswith(("tests.papers", "ukctrl.papers")):
        return "papers"
    if first.startswith("ukctrl_"):
        return first.removeprefix("ukctrl_")
    return rest[0] if first == "ukctrl" and rest and rest[0] in PACKAGES else ""


def homes(module: str, name: str) -> set[str]:
    """Return the packages that a name comes through."""
    through = {part(module), part(f"{module}.{name}")}
    source = handed_on(ROOT.joinpath(*module.split("."), "__init__.py")).get(name)
    return through if source in (None, module) else through | homes(source, name)


@functools.cache
def handed_on(path: Path) -> dict[str, str]:
    """Return from where a package has the names that it imports."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8"))) if path.is_file() else ()
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {one.asname or one.name: node.module for node in imports for one in node.names}
