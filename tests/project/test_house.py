"""The page of the house tells the truth: its picture, and the ways through the code."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

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


WALKS = [
    ("A scenario's way through the code", 15, 20),
    ("The way of a check", 10, 12),
]
"""Headings, and the fewest and most files from a command to its page."""


@pytest.mark.parametrize(("heading", "fewest", "most"), WALKS)
def test_a_way_can_be_walked_from_file_to_file(heading, fewest, most):
    """Each step's function or class is used in the file of a step before it."""
    way = PAGE.partition(f"## {heading}")[2].partition("\n## ")[0]
    steps = [(place, name) for place, name, _ in STEP.findall(way.partition("Where is")[0])]
    assert fewest <= len(steps) <= most
    assert len({place for place, _ in steps}) == len(steps)
    above: set[str] = set()
    for place, name in steps:
        path = ROOT / "ukctrl" / place
        assert path.is_file(), f"ukctrl/{place} is not there"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if hasattr(node, "name")}
        assert name in defined, f"ukctrl/{place} defines no '{name}'"
        assert not above or name in above, f"nothing above ukctrl/{place} uses '{name}'"
        nodes = list(ast.walk(tree))
        above |= {node.id for node in nodes if isinstance(node, ast.Name)}
        above |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        above |= {node.name for node in nodes if isinstance(node, ast.alias)}
