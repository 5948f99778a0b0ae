"""The page of the house tells the truth: its picture, and the ways of commands through the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import sys
from pathlib import Path

import pytest

from ukctrl.cli import main

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


def section(heading: str) -> str:
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def steps_of(text: str, climbs: int = 0) -> dict[str, ast.Module]:
    """Return the files of a way, each of which defines what a step before it uses.

    Args:
        text: The section with the table of the way.
        climbs: How many functions of files above are called all the same.
    """
    back: set[str] = set()
    steps: dict[str, ast.Module] = {}
    above: set[str] = set()
    there: dict[str, set[str]] = {}
    for place, name, _ in STEP.findall(text):
        assert place not in steps
        path = ROOT / "ukctrl" / place
        assert path.is_file(), f"ukctrl/{place} is not there"
        steps[place] = tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if hasattr(node, "name")}
        assert name in defined, f"ukctrl/{place} defines no '{name}'"
        assert not above or name in above, f"nothing above ukctrl/{place} uses '{name}'"
        nodes = list(ast.walk(tree))
        back |= {f"{place}: {name}" for name in imported_from(nodes, there) & called(nodes)}
        there[re.sub(r"(/__init__)?\.py$", "", place).replace("/", ".")] = defined
        above |= {node.id for node in nodes if isinstance(node, ast.Name)}
        above |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        above |= {node.name for node in nodes if isinstance(node, ast.alias)}
    assert len(back) <= climbs, sorted(back)
    return steps


WALKS = [("A scenario's way through the code", 15, 20, 0), ("The way of a check", 10, 12, 4)]
"""Headings, the fewest and most files from a command to its page, and how many calls climb back."""


@pytest.mark.parametrize(("heading", "fewest", "most", "climbs"), WALKS)
def test_a_way_can_be_walked_from_file_to_file(heading, fewest, most, climbs):
    """Each step's function or class is used in the file of a step before it."""
    way = section(heading).partition("Where is")[0]
    assert fewest <= len(steps_of(way, climbs)) <= most


def called_files(tree: ast.Module) -> set[str]:
    """Return the files of studies that define what a file calls by an imported name."""
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ukctrl.studies")
        for alias in node.names
    }
    files = set()
    for node in ast.walk(tree):
        root = node.func if isinstance(node, ast.Call) else None
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in imported:
            module, name = imported[root.id]
            used = getattr(importlib.import_module(module), name)
            home = used.__name__ if inspect.ismodule(used) else used.__module__
            files.add(f"{home.removeprefix('ukctrl.').replace('.', '/')}.py")
    return files


@pytest.mark.parametrize("heading", ["The way of a comparison"])
def test_a_way_through_the_studies_passes_ten_files_and_hides_none(heading):
    """What a step calls is defined in a step, or in a file that is named as beside the way."""
    text = section(heading)
    steps = steps_of(text, climbs=1)
    assert len(steps) <= 10
    beside = set(re.findall(r"`([\w/]+\.py)`", text)) - set(steps)
    assert all((ROOT / "ukctrl" / place).is_file() for place in beside)
    for place, tree in steps.items():
        assert called_files(tree) <= {*steps, *beside}, f"ukctrl/{place} calls what is not named"


@pytest.mark.slow
def test_a_comparison_passes_the_files_of_its_way_and_leaves_alone(tmp_path, monkeypatch):
    text = section("The way of a comparison")
    steps = set(steps_of(text, climbs=1))
    leaves = set(re.findall(r"`([\w/]+\.py)`", text.partition("| `--jobs`")[0])) - steps
    monkeypatch.chdir(tmp_path)
    package, entered = f"{ROOT / 'ukctrl'}/", set()

    def watch(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            entered.add(code.co_filename.removeprefix(package))

    sys.setprofile(watch)
    try:
        with pytest.raises(SystemExit) as ended:
            main(["compare", "two-mass-spring", "-c", "own", "-c", "servo-pid", "-j", "1", "-q"])
    finally:
        sys.setprofile(None)
    assert ended.value.code == 0
    passed = {place for place in entered if place.startswith("studies/")} | {"cli/compare.py"}
    assert steps <= passed <= steps | leaves


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
