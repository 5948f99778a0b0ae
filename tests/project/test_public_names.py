"""All that a user imports comes from `ukctrl`, and the pages show nothing else."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import ukctrl
from ukctrl.cli import workspace
from ukctrl.core.lazy_names import homes
from ukctrl.simulation.export.export_controller import SCRIPT

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ukctrl"
MEASURES_INSIDES = {
    "export.py", "formulations.py", "n_four_bar.py", "qp_solvers.py", "rollouts.py", "with_c.py",
}  # fmt: skip
"""Benchmarks that time parts of ukctrl against each other, and stand for no user's script."""
OF_UKCTRL = (ROOT / "docs" / "adding-a-part.md",)
"""Pages that show files of ukctrl itself."""
BLOCK = re.compile(
    r"^(?P<indent>[ ]*)```(?:python|text title=\"[^\"]+\.py\")[^\n]*\n(?P<body>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
DEEPER = re.compile(r"\b(?:from|import)\s+ukctrl\.")


def pages() -> list[Path]:
    """Return what users read, but for records, which name the modules of their day."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.parent.name != "decisions" and page not in OF_UKCTRL]


def scripts() -> list[Path]:
    """Return what users copy from."""
    found = [*sorted((ROOT / "docs").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]
    return [script for script in found if script.name not in MEASURES_INSIDES]


def sources(path: Path) -> Iterator[str]:
    """Yield the Python of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield text
        return
    for block in BLOCK.finditer(text):
        yield re.sub(f"^{block['indent']}", "", block["body"], flags=re.MULTILINE)


def imported(source: str) -> Iterator[str]:
    """Yield what a script imports of ukctrl: names, or the path of a deeper module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ukctrl":
            place = "" if node.module == "ukctrl" else f"{node.module}."
            yield from (f"{place}{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("ukctrl."))


def deeper(source: str) -> list[str]:
    """Return what a script imports that is no public name."""
    return [name for name in imported(source) if name not in ukctrl.__all__]


@pytest.mark.parametrize("path", [*pages(), *scripts()], ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_and_their_scripts_import_from_ukctrl_alone(path):
    wrong = [name for source in sources(path) for name in deeper(source)]
    assert not wrong, f"give it a public name in ukctrl/__init__.py, or use another: {wrong}"
    if path.suffix == ".md":
        assert not DEEPER.search(path.read_text(encoding="utf-8"))


def test_what_init_and_export_write_imports_from_ukctrl_alone():
    texts = [
        (ROOT / "workspace" / name).read_text(encoding="utf-8")
        for name in workspace.WORKSPACE_FILES
    ]
    assert not any(map(DEEPER.search, texts))
    script = re.sub(r"\{(\w+)\}", lambda gap: "" if gap[1] == "trust" else "None", SCRIPT)
    assert not deeper(script)
    assert {"Runtime", "replay"} <= set(imported(script))


def test_every_public_name_is_told_to_type_checkers_as_well():
    assert sorted(homes("ukctrl")) == sorted(ukctrl.__all__)


@pytest.mark.parametrize("name", ukctrl.__all__)
def test_every_public_name_can_be_imported_and_is_documented(name):
    value = getattr(ukctrl, name)
    assert value is getattr(ukctrl, name)
    assert (value.__doc__ or "").strip() or name in ("Matrix", "NonNegative", "Positive", "Vector")


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ukctrl.__version__ == project["version"]
    assert {*ukctrl.__all__, "__version__"} == set(dir(ukctrl))


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="module 'ukctrl' has no attribute 'Scenaro'"):
        ukctrl.Scenaro  # noqa: B018 - asking for it is what fails


def test_importing_ukctrl_loads_the_standard_library_alone():
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import ukctrl; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    loaded = {name for name in run.stdout.split() if name != "__main__"}
    ours = {name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names}
    assert ours == {"ukctrl"}


def public_functions() -> Iterator[tuple[str, inspect.Signature]]:
    """Yield what users call: functions of `ukctrl`, and public methods of its classes."""
    for name in ukctrl.__all__:
        value = getattr(ukctrl, name)
        inside = vars(value).items() if inspect.isclass(value) else ()
        for place, each in [(name, value), *((f"{name}.{own}", f) for own, f in inside)]:
            called = getattr(each, "__func__", each)
            if inspect.isfunction(called) and not place.rpartition(".")[2].startswith("_"):
                yield place, inspect.signature(called)


def test_a_path_may_be_given_as_text_or_as_any_path():
    asked = {
        f"{place}({parameter.name}: {parameter.annotation})"
        for place, signature in public_functions()
        for parameter in signature.parameters.values()
        if re.search(r"\bPath\b", str(parameter.annotation))
    }
    assert not asked
    assert sum("AnyPath" in str(signature) for _, signature in public_functions()) > 15
