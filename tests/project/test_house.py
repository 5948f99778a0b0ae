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


def test_a_scenarios_way_names_files_that_hold_what_it_says():
    way = PAGE.partition("## A scenario's way through the code")[2].partition("\n## ")[0]
    steps = STEP.findall(way)
    assert 10 <= len(steps) <= 15
    for place, name, _ in steps:
        path = ROOT / "ukctrl" / place
        assert path.is_file(), f"ukctrl/{place} is not there"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = [node.name for node in tree.body if hasattr(node, "name")]
        assert not name or name in defined, f"ukctrl/{place} defines no '{name}'"
    assert len({place.split("/")[0] for place, _, _ in steps}) <= 5
