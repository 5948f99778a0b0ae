"""Imports run one way, are declared, and are cheap; what a module exports exists."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ukctrl"

LAYERS = {
    "Words, names and files": "errors pretty zoo catalog tables files expression fields plugin",
    "Linear algebra": "threads compiled factor differences rowspace drift certify",
    "Theorems on plain arrays": "kernels levels large uk pseudoinverse motion",
    "Robots and constraints": "robot reference constraints nonideal reaction",
    "States that obey them": "dynamics projection start linear jets relative_degree",
    "Controllers": "control fuzzy",
    "Between loop and bench": "effects",
    "Scenarios": "scenario loading",
    "Runs": (
        "samples storage measures metrics statistics result integrate prepare recorder "
        "provenance loop simulation"
    ),
    "Before a run": "free_motion linear_analysis internal_dynamics analysis",
    "Many runs": "batch study",
    "One's own parts and loops": "testing handover",
    "What they tell": (
        "concessions verdicts plot page report linear_report tuning comparison study_report "
        "reproduce"
    ),
    "Commands": "workspace terminal cli",
}
"""The map of the package, as the page of the Python interface shows it."""
ORDER = [name for names in LAYERS.values() for name in names.split()]
"""A module imports only those before it. A new module is given its place in `LAYERS`."""

SHORTHANDS = {("scenario", "loading")}
"""A method that is a later module's function by a shorter name (`Scenario.load`) may import that
module when it is called."""

HEAVY = {
    "cma", "control", "dask", "distributed", "h5netcdf", "h5py", "jinja2", "matplotlib", "mpmath",
    "numba", "numpy", "pandas", "pinocchio", "pyarrow", "scipy", "sympy", "xarray",
}  # fmt: skip
"""What takes too long to import for a command that only prints its help."""

INSTALLED_BY = {"pinocchio": ["pin"]}
"""Libraries whose files Python's metadata does not list under the name of their package."""

FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
]


class Import(NamedTuple):
    """One import statement, wherever it stands in the file."""

    module: str
    line: int
    when_called: bool
    """It stands inside a function."""


def imports(path: Path) -> Iterator[Import]:
    """Yield every module that a file imports, also inside functions and for types alone."""
    package = path.relative_to(ROOT).parent.parts
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names = [f"ukctrl.{alias.name}" for alias in node.names]
            modules = names if module == "ukctrl" else [module]
        else:
            continue
        for module in modules:
            yield Import(module, node.lineno, id(node) in inside)


def top(path: Path) -> str:
    """Return the name directly under ``ukctrl`` that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_a_module_imports_only_what_comes_before_it(path):
    name = top(path)
    if name in ("__init__", "__main__"):
        return  # the public names, gathered from everywhere
    assert name in ORDER, f"give '{name}' its place in LAYERS of {Path(__file__).name}"
    allowed = {*ORDER[: ORDER.index(name)], name}
    wrong = []
    for found in imports(path):
        package, _, rest = found.module.partition(".")
        target = rest.split(".")[0]
        shorthand = found.when_called and (name, target) in SHORTHANDS
        if package == "ukctrl" and rest and target not in allowed and not shorthand:
            wrong.append(f"line {found.line}: {found.module}")
    assert not wrong, f"'{name}' must not import what comes after it: {wrong}"


def test_the_page_of_the_python_interface_follows_the_layers():
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:## |::: ukctrl\.)(.+)$", page, re.MULTILINE)
    layers = [entry for title, names in LAYERS.items() for entry in (title, *names.split())]
    assert shown == [entry for entry in layers if entry != "cli"]


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_only_the_robot_package_imports_pinocchio(path):
    users = [found for found in imports(path) if found.module.split(".")[0] == "pinocchio"]
    assert not users or top(path) == "robot"


def test_every_library_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = project["dependencies"] + extras["view"] + extras["cluster"] + extras["zoo"]
    declared = {re.split(r"[^\w.-]", name)[0].lower().replace("_", "-") for name in asked}
    installs = {**importlib.metadata.packages_distributions(), **INSTALLED_BY}
    for path in FILES:
        for found in imports(path):
            library = found.module.split(".")[0]
            if library == "ukctrl" or library in sys.stdlib_module_names:
                continue
            known_as = {name.lower().replace("_", "-") for name in installs.get(library, [library])}
            assert known_as & declared, (
                f"{path.name}:{found.line} imports '{library}', which pyproject.toml does not name"
            )


def place(name: str) -> tuple[int, str]:
    """Sort as the linter does: CONSTANTS, then Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_exports_exists_and_is_sorted(name):
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert list(exported) == sorted(exported, key=place)
    missing = [item for item in exported if not hasattr(module, item)]
    assert not missing


def test_importing_the_command_line_loads_nothing_heavy():
    modules = "ukctrl.cli, ukctrl.terminal"  # the latter says what was wrong with bad input
    script = f"import sys, {modules}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    assert not HEAVY & set(run.stdout.split())
