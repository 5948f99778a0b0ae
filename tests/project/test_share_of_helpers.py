"""Most lines of the tests are tests."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARE = 0.165
"""So much of the tests' lines may be functions, fixtures and classes around them: independent
solvers are."""


def helping(path: Path) -> int:
    """Return how many lines of a file define what is neither a test nor data."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return sum(
        node.end_lineno - min([node.lineno, *(each.lineno for each in node.decorator_list)]) + 1
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, defined) and not node.name.startswith("test_")
    )


def test_helpers_are_a_small_share_of_the_lines():
    """When not: `tests/shared/` is for what several files of tests define."""
    files = {path: len(path.read_text("utf-8").splitlines()) for path in TESTS.rglob("*.py")}
    helpers = {path: helping(path) for path in files}
    most = sorted(helpers, key=helpers.__getitem__)[-5:]
    assert sum(helpers.values()) <= SHARE * sum(files.values()), f"most of all: {most}"


def test_no_two_files_define_the_same_helper():
    """Helpers of five lines and more, to the letter."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
                text = ast.unparse(node.body)
                if text.count("\n") >= 3:
                    found.setdefault(text, []).append(f"{path.name}: {node.name}")
    assert [places for places in found.values() if len(places) > 1] == []
