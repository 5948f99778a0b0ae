"""The documentation keeps its word: its blocks run, and it names what there is.

What happens with a fenced block is decided by its language alone, as `docs/contributing.md`
tells; a language without a rule is an error, so nothing is skipped silently.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import subprocess
import sys
import tomllib
import types
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ukctrl
from tests.shared.command import CLI
from tests.shared.documents import DOCS, PAGES, ROOT, Block, Command, blocks, commands, not_printed
from ukctrl.cli import main
from ukctrl.reports import plot

APART = (DOCS / "index.md",)
"""Pages whose commands get processes of their own; those of the others run in this one."""
NOT_RUN = ("cd", "git clone", "pip install", "pipx install", "python -m venv", "source")
"""Shell commands that a page may show and that these tests do not run."""


def run_python(block: Block, namespace: dict[str, object]) -> None:
    """Run the block in the page's namespace; a traceback shows the line of the page."""
    source = "\n" * block.line + block.body
    exec(compile(source, str(block.page), "exec", dont_inherit=True), namespace)


def check_toml(block: Block, _: dict[str, object]) -> None:
    """Parse an excerpt; let ukctrl read a whole file as what its place says it is."""
    tomllib.loads(block.body)
    if not block.title:
        return
    from ukctrl import Robot, Scenario

    path = Path(block.title)
    if path.name == "robot.toml":
        Robot.load(path)
    elif path.parent.name == "controllers":
        Scenario.load("scara-helix", {"controller": {"use": str(path.resolve())}})
    else:
        Scenario.load(path)


def run_console(block: Block, _: dict[str, object]) -> None:
    """Run each ``$ ukctrl`` line and look for the output shown below it."""
    for command in commands(block):
        line = " ".join(command.words)
        if command.words[0] == "make":
            check_make(command, block)
        elif command.words[0] == "ukctrl":
            run_ukctrl(command, block)
        else:
            assert line.startswith(NOT_RUN), f"{block.where()}: no rule for '$ {line}'"


def check_make(command: Command, block: Block) -> None:
    """A ``make`` line names targets that exist; what they do has its own tests."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in command.words[1:]:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE) or "=" in target, (
            f"{block.where()}: the Makefile has no target '{target}'"
        )


def run_ukctrl(command: Command, block: Block) -> None:
    """The command ends with the code it states, and prints the lines shown, in their order."""
    run = run_apart if block.page in APART else run_here
    code, printed = run(command.words[1:])
    assert code == command.code, f"{block.where()}:\n{printed}"
    missing = not_printed(command.shown, printed)
    assert missing is None, (
        f"{block.where()}: '{missing}' is not printed, or not in this order:\n{printed}"
    )


def run_here(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process, which has the libraries; return its code and its words."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main(arguments)
    return int(ended.value.code or 0), out.getvalue() + err.getvalue()


def run_apart(arguments: list[str]) -> tuple[int, str]:
    """Run a command as a reader does: in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CLI, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def show_only(_block: Block, _: dict[str, object]) -> None:
    """For reading: a form to copy, a reference, a picture in text."""


RULES: dict[str, Callable[[Block, dict[str, object]], None]] = {
    "bibtex": show_only,
    "c": show_only,  # tests/simulation/export/test_c_library.py compiles and runs such
    "console": run_console,
    "csv": show_only,
    "json": lambda block, _: json.loads(block.body),
    "python": run_python,
    "text": show_only,
    "toml": check_toml,
    "xml": lambda block, _: ET.fromstring(block.body),
}


def _page(page: Path) -> object:
    """Return a page as a case. The gallery's commands are long runs; its numbers have a test."""
    marks = [pytest.mark.slow] if page.parent.name == "gallery" else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.pages
@pytest.mark.parametrize("page", [_page(page) for page in PAGES])
def test_every_block_of_a_page_does_what_it_shows(page, tmp_path, monkeypatch):
    """Reports of runs have one figure: drawing takes longest, and has its own tests."""
    every = plot.available
    monkeypatch.setattr(plot, "available", lambda result: every(result)[:1])
    monkeypatch.chdir(tmp_path)
    words = {"COLUMNS": "120", "MPLBACKEND": "Agg", "NO_COLOR": "1", "TERM": "dumb"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        assert block.language in RULES, (
            f"{block.where()}: no rule for language '{block.language}'; known: {sorted(RULES)}"
        )
        if block.title:
            path = tmp_path / block.title
            assert path.resolve().is_relative_to(tmp_path.resolve())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        RULES[block.language](block, namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_fence_of_a_page_is_closed(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if line.lstrip().startswith("```")]
    assert len(fences) == 2 * len(list(blocks(page)))


LISTED = re.compile(r"^\| \[\d{4}\]\((.+?)\)", re.MULTILINE)
"""A line of the index of decisions."""
REFERENCE = DOCS / "reference" / "python"
DIRECTIVE = re.compile(
    r"^::: ukctrl\.(?P<name>[\w.]+)\n"
    r"(?:    options:\n)?(?:      members: \[(?P<members>[^\]]*)\]\n)?",
    re.MULTILINE,
)


def documented() -> Iterator[tuple[str, list[str]]]:
    """Yield what the pages of the Python interface document, with the members they choose."""
    for page in sorted(REFERENCE.glob("*.md")):
        for match in DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            yield match["name"], (match["members"] or "").split(", ") if match["members"] else []


def test_every_public_name_is_documented_exactly_once():
    shown = [name for name, _ in documented()]
    assert sorted(name for name in shown if "." not in name) == sorted(ukctrl.__all__)
    assert len(shown) == len(set(shown))


def test_what_a_module_documents_exists_and_has_no_place_of_its_own():
    for name, members in documented():
        deep = "." in name and bool(members)
        place = importlib.import_module(f"ukctrl.{name}") if deep else getattr(ukctrl, name, None)
        if not isinstance(place, types.ModuleType):
            continue
        for member in members:
            assert hasattr(place, member), f"ukctrl.{name} has no '{member}'"
            own = member in ukctrl.__all__ and getattr(ukctrl, member) is getattr(place, member)
            assert not own, f"ukctrl.{member} stands by itself; leave it out of ukctrl.{name}"


def test_every_package_has_a_page_of_the_python_interface():
    package = ROOT / "ukctrl"
    packages = {path.stem for path in package.glob("*.py")} - {"__init__"}
    packages |= {path.parent.name for path in package.glob("*/__init__.py")}
    pages = {page.stem for page in REFERENCE.glob("*.md")}
    assert pages == packages - {"cli"} | {"index", "papers"}  # the commands have a page elsewhere


def test_every_decision_stands_once_in_the_index_and_in_order_within_its_subject():
    records = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    subjects = [LISTED.findall(subject) for subject in re.split(r"^## ", index, flags=re.MULTILINE)]
    assert all(listed == sorted(listed) for listed in subjects)
    assert sorted(record for listed in subjects for record in listed) == records
