"""The page of the house tells the truth: its picture, and a scenario's way through the code."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOUSE = runpy.run_path(str(ROOT / "docs" / "assets" / "house.py"))
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\| `([\w/]+\.py)` \| (?:`(\w+)`: )?(.+) \|$", re.MULTILINE)


def test_the_house_is_drawn_as_the_code_is_today():
    """When not: python docs/assets/house.py."""
    picture = HOUSE["drawn"]()
    assert HOUSE["PICTURE"].read_text(encoding="utf-8") == picture
    assert "(assets/house.svg)" in PAGE
    for name in HOUSE["floors"]():
        assert re.search(rf'class="name"[^>]*>{name}</text>', picture)


def test_a_scenarios_way_can_be_walked_from_file_to_file():
    """Each step's function or class is used in the file of a step before it."""
    way = PAGE.partition("## A scenario's way through the code")[2].partition("\n## ")[0]
    steps = [(place, name) for place, name, _ in STEP.findall(way.partition("Where is")[0])]
    assert 15 <= len(steps) <= 20
    assert len({place for place, _ in steps}) == len(steps)
    above: set[str] = set()
    there: dict[str, set[str]] = {}
    for place, name in steps:
        path = ROOT / "ukctrl" / place
        assert path.is_file(), f"ukctrl/{place} is not there"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if hasattr(node, "name")}
        assert name in defined, f"ukctrl/{place} defines no '{name}'"
        assert not above or name in above, f"nothing above ukctrl/{place} uses '{name}'"
        nodes = list(ast.walk(tree))
        climbs = imported_from(nodes, there) & called(nodes)
        assert not climbs, f"ukctrl/{place} climbs back to {sorted(climbs)}"
        there[re.sub(r"(/__init__)?\.py$", "", place).replace("/", ".")] = defined
        above |= {node.id for node in nodes if isinstance(node, ast.Name)}
        above |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def imported_from(nodes, defined):
    """Return the names that a file imports from modules which define them, given by module."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    modules = {node: node.module.removeprefix("ukctrl.") for node in imports}
    names = {node: {alias.name for alias in node.names} for node in imports}
    return {name for node in imports for name in names[node] & defined.get(modules[node], set())}


def called(nodes):
    """Return the names of functions and classes that are called by name."""
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return {func.id for func in calls if isinstance(func, ast.Name)}
