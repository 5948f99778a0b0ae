"""Imports run one way, are declared, and are cheap; what a module exports exists."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ukctrl"
BESIDE = {
    "ukctrl_film": {"__init__.py", "cli/view.py"},
    "ukctrl_identification": {
        "cli/identify.py", "core/cache_folder.py", "core/entry_points.py",
        "mechanics/reference/__init__.py", "simulation/effects/mismatch.py",
    },
    "ukctrl_laws": {
        "__init__.py", "cli/learn.py", "cli/tune.py", "control/__init__.py",
        "control/learned_correction.py", "core/cache_folder.py", "core/entry_points.py",
    },
    "ukctrl_optimal": {
        "__init__.py", "core/cache_folder.py", "core/entry_points.py",
        "mechanics/reference/__init__.py",
    },
    "ukctrl_papers": {
        "__init__.py", "analysis/check/start_diagnostics.py", "cli/reproduce.py",
    },
}  # fmt: skip
"""Packages that stand on the house, each with the files of it that name them."""

FLOORS: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["ukctrl"]["floors"]
"""The house: nine packages, `uk` beside them, and the floor of each. Imports go down, all of them:
at the top of a file, inside functions, and for types alone. Within a package, what names a robot
for its type alone may stand below what a robot is made of."""

HEAVY = {
    "PIL", "av", "casadi", "cma", "control", "dask", "distributed", "h5netcdf", "h5py", "jinja2",
    "loky", "matplotlib", "mpmath", "mujoco", "numba", "numpy", "pandas", "pinocchio", "pyarrow",
    "scipy", "sympy", "xarray",
}  # fmt: skip
"""What takes too long to import for a command that only prints its help."""

INSTALLED_BY = {"mujoco": ["mujoco-core"], "pinocchio": ["pin"]}
"""Libraries whose files Python's metadata does not list under the name of their package."""

FILES = [path for name in ("ukctrl", *BESIDE) for path in sorted((ROOT / name).rglob("*.py"))]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
]


class Import(NamedTuple):
    """One import statement, wherever it stands in the file."""

    module: str
    """What is imported: of a name within a module of ours, the module."""
    line: int
    for_types: bool
    """Whether it stands under ``if TYPE_CHECKING``."""


@functools.cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return every module that a file imports, also inside functions and for types alone."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    statements: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while statements:  # what they are made of holds no imports, and is most of a file
        node, typed = statements.pop()
        typed = typed or of_types(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements += [(inner, typed) for inner in getattr(node, part, ())]
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name of the module"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name if name in MODULES else str(node.module) for name in inner]
        else:
            continue
        for module in modules:
            yield Import(module, node.lineno, typed)


def top(path: Path) -> str:
    """Return the name directly under ``ukctrl`` that a file belongs to, or a package beside."""
    package, name, *_ = path.relative_to(ROOT).parts
    return name.removesuffix(".py") if package == "ukctrl" else package


def ours(path: Path) -> set[str]:
    """Return the modules of ukctrl and beside it that a file imports to run."""
    return {
        found.module for found in imports(path) if found.module in MODULES and not found.for_types
    }


def test_the_house_has_nine_packages():
    entries = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()
    }
    assert entries - {"__init__"} == set(FLOORS)


def test_a_package_imports_only_from_floors_below_it():
    climbing = [
        f"{path.relative_to(ROOT)}:{found.line} imports {found.module}"
        for path in FILES
        if (name := top(path)) not in ("__init__", *BESIDE)  # the public names; the roof
        for found in imports(path)
        if found.module.split(".")[0] == "ukctrl"
        and (target := found.module.partition(".")[2].split(".")[0]) != name
        and not (target and FLOORS[target] < FLOORS[name])
    ]
    assert not climbing, "a package must import from floors below its own alone"


@pytest.mark.parametrize("package", BESIDE)
def test_a_package_beside_stands_on_the_house_which_names_it_at_its_doors_alone(package):
    """For public names, which are imported on first use, for commands, which say where it is not
    installed, and for parts, which are plug-ins."""
    naming = {
        path.relative_to(PACKAGE).as_posix(): path
        for path in FILES
        if path.is_relative_to(PACKAGE) and package in path.read_text(encoding="utf-8")
    }
    assert naming.keys() == BESIDE[package]
    importing = {
        name
        for name, path in naming.items()
        if any(found.module.split(".")[0] == package for found in imports(path))
    }
    doors = {"__init__.py", "control/__init__.py", "mechanics/reference/__init__.py"}
    assert importing <= doors
    for path in (path for path in FILES if top(path) == package):
        used = {found.module.split(".")[0] for found in imports(path)}
        assert not used & BESIDE.keys() - {package}, path


OF_PICTURES = re.compile("visual|scene|colou?r|opacity|caption|svg|solids|limit_?shape", re.I)
DRAWING = ("PIL", "matplotlib", "ukctrl.reports", "ukctrl_film")


def defined(path: Path) -> Iterator[str]:
    """Yield the names of a file's classes, functions, arguments and fields."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_what_stands_below_the_reports_knows_no_picture():
    """Except for the tables of ``robot.toml``, which say what they are to look like."""
    below = [path for path in FILES if FLOORS.get(top(path), 99) < FLOORS["reports"]]
    drawn = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in below
        for name in (
            *(name for name in defined(path) if OF_PICTURES.search(name)),
            *(found.module for found in imports(path) if found.module.startswith(DRAWING)),
        )
        if not path.is_relative_to(PACKAGE / "robot" / "schema")
    ]
    assert not drawn


def test_no_two_files_import_each_other():
    needs = dict(zip(MODULES, map(ours, FILES), strict=True))
    del needs["ukctrl"]  # hands on the public names; nothing in the house imports it
    graphlib.TopologicalSorter(needs).prepare()  # raises an error that names a circle


def test_only_the_robot_package_imports_pinocchio():
    users = {
        top(path)
        for path in FILES
        if any(found.module.split(".")[0] == "pinocchio" for found in imports(path))
    }
    assert users == {"robot"}


def test_every_library_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = list(project["dependencies"])
    for name in extras.keys() - {"dev", "docs", "bench"}:
        asked += extras[name]
    declared = {re.split(r"[^\w.-]", name)[0].lower().replace("_", "-") for name in asked}
    installs = {**importlib.metadata.packages_distributions(), **INSTALLED_BY}
    for path in FILES:
        for found in imports(path):
            library = found.module.split(".")[0]
            if library in ("ukctrl", *BESIDE) or library in sys.stdlib_module_names:
                continue
            known_as = {name.lower().replace("_", "-") for name in installs.get(library, [library])}
            assert known_as & declared, (
                f"{path.name}:{found.line} imports '{library}', which pyproject.toml does not name"
            )


@pytest.mark.slow
def test_what_an_extra_brings_is_imported_where_its_absence_is_told():
    """In a file that says in a `try` what is missing without it, or for types alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.split(r"[^\w-]", need)[0] for need in project["dependencies"]}
    brought = {"av", "casadi", "dask", "distributed", "mujoco", "pandas", "pyarrow", "xarray"}
    assert not brought & core
    told = set()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        types = {id(part) for node in ast.walk(tree) if of_types(node) for part in ast.walk(node)}
        run = libraries(node for node in ast.walk(tree) if id(node) not in types)
        here = {lib for node in ast.walk(tree) if tells(node) for lib in libraries(ast.walk(node))}
        assert run & brought <= here, path
        told |= here & brought
    assert told >= {"av", "casadi", "distributed", "mujoco", "pandas", "pyarrow", "xarray"}


def libraries(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the libraries that some of the nodes of a file import."""
    names = []
    for node in nodes:
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
    return {name.partition(".")[0] for name in names}


def of_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def tells(node: ast.AST) -> bool:
    caught = node.handlers if isinstance(node, ast.Try) else []
    return any("ImportError" in ast.unparse(handler.type or node) for handler in caught)


def place(name: str) -> tuple[int, str]:
    """Sort as the linter does: CONSTANTS, then Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_what_a_module_exports_exists_and_is_sorted():
    for name in MODULES:
        module = importlib.import_module(name)
        exported = list(getattr(module, "__all__", []))
        assert exported == sorted(exported, key=place), name
        assert not [item for item in exported if not hasattr(module, item)], name


def test_importing_the_command_line_loads_nothing_heavy():
    modules = "ukctrl.cli, ukctrl.cli.terminal"  # the latter says what was wrong with bad input
    script = f"import sys, {modules}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    assert not HEAVY & set(run.stdout.split())


STAGES = """
import sys
def loaded(stage):
    print("loaded by", f"{stage}:", *sys.modules)
from ukctrl import Scenario, simulate
loaded("import")
from ukctrl.cli import main
for arguments in (["check"], ["run", "--out", "out"]):
    sys.argv = ["ukctrl", arguments[0], "scara-helix", "--set", "timing.duration=0.05",
                *arguments[1:]]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    loaded(arguments[0])
"""
"""Ever more of ukctrl; what a stage has not loaded, none before it has."""
ELSEWHERE = {
    "av", "cma", "control", "daqp", "dask", "distributed", "loky", "matplotlib.pyplot", "mpmath",
    "mujoco", "numba.np.arraymath", "pandas", "sympy", "xarray",
}  # fmt: skip
"""What neither a check nor a run of the SCARA needs, once its formulas and kernels are kept."""
OF_PAGES = {"h5netcdf", "h5py", "jinja2", "matplotlib"}
UNUSED = {
    "import": ELSEWHERE | OF_PAGES | {"rich", "scipy.linalg", "threadpoolctl", "typer"},
    "check": ELSEWHERE | OF_PAGES,
    "run": ELSEWHERE,
}


@pytest.mark.slow
def test_a_library_that_is_not_used_is_not_loaded(tmp_path):
    for _ in range(2):  # the first may compile, and derive what the second reads
        run = subprocess.run(
            [sys.executable, "-c", STAGES], capture_output=True, text=True, timeout=300,
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        told = re.findall(r"^loaded by (\w+): (.*)$", run.stdout, re.MULTILINE)
        modules = {stage: set(names.split()) for stage, names in told}
        needless = {stage: UNUSED[stage] & names for stage, names in modules.items()}
        if not any(needless.values()):
            break
    assert not any(needless.values()), needless


FOLDERS = [path.parent for path in FILES if path.name == "__init__.py"]


def parts(folder: Path) -> dict[str, list[Path]]:
    """Return the modules and folders of a folder, by name, with the files of each."""
    modules = {path.stem: [path] for path in folder.glob("*.py") if path.stem != "__init__"}
    folders = {path.name: list(path.rglob("*.py")) for path in FOLDERS if path.parent == folder}
    return modules | folders


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_names_its_parts_and_in_order_means_each_on_those_before_it(folder):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    inside = parts(folder)
    ordered, _, others = re.split("in order:", text, flags=re.IGNORECASE)[-1].partition("The parts")
    order = [name for name in dict.fromkeys(re.findall(r"``(\w+)``", ordered)) if name in inside]
    assert {*order, *re.findall(r"``(\w+)``", others)} >= set(inside), "name each in the docstring"
    within = ".".join(folder.relative_to(ROOT).parts) + "."
    for place, name in enumerate(order):
        modules = set().union(*map(ours, inside[name]))
        needs = {each.removeprefix(within).split(".")[0] for each in modules}
        assert not needs & set(order[place + 1 :]), f"{name} imports a part that is named after it"


IN_A_TEXT = re.compile(r"^[ ]*from (ukctrl[\w.]*) import ([\w, ]+)$", re.MULTILINE)
SCRIPTS = [
    path
    for name in ("ukctrl", *BESIDE, "tests", "tools", "benchmarks", "docs")
    for path in sorted((ROOT / name).rglob("*.py"))
]


def test_what_code_in_texts_imports_is_there():
    """Of scripts for other processes and of examples: renaming tools do not look there."""
    texts = [
        (path, node.value)
        for path in SCRIPTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [
        (path, module, name.partition(" as ")[0].strip())
        for path, text in texts
        for module, names in IN_A_TEXT.findall(text)
        for name in names.split(",")
    ]
    missing = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path, module, name in found
        if f"{module}.{name}" not in MODULES and not hasattr(importlib.import_module(module), name)
    ]
    assert len(found) > 50
    assert not missing
