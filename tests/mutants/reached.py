"""Which tests reach a line of the library: those that can notice a fault there.

Compiled functions run unseen: of those the tests count that reach a line which names them, and
those of a file of tests that does.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import coverage

from tests.mutants.recorder import LABEL, SHARED, TIMES

HERE = Path(__file__).parent
SETTINGS = """
[run]
source =
    {root}/ukctrl
    {root}/ukctrl_film
    {root}/ukctrl_identification
    {root}/ukctrl_laws
    {root}/ukctrl_optimal
    {root}/ukctrl_papers
data_file = {folder}/lines
parallel = true
context = ${{{label}-}}
patch = subprocess
disable_warnings = no-data-collected, module-not-measured, module-not-imported
"""


FEW = 1000
"""So few tests are joined by their neighbours."""
KERNELS = ("compiled", "inlined", "allocating", "deferred", "for_python")
"""Decorators of functions that are compiled, deferred ones once they have taken some time."""


class Function(NamedTuple):
    """One function of the library."""

    file: str
    name: str
    first: int
    last: int
    compiled: bool
    names: dict[str, int]
    """What it names, with a line where it does."""


def record(root: Path, folder: Path, jobs: int, which: Iterable[str]) -> None:
    """Run the tests once, and keep in a folder which lines each reaches and how long it takes."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings.ini"
    settings.write_text(SETTINGS.format(root=root, folder=folder, label=LABEL), encoding="utf-8")
    given = {TIMES: str(folder), "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
    words = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"]
    words += ["--quiet", "-p", "tests.mutants.recorder", "-p", "no:cacheprovider", "-m", "not slow"]
    words += ["--numprocesses", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    subprocess.run([*words, *which], cwd=root, env=os.environ | given, check=False)
    tool = [sys.executable, "-m", "coverage", "combine", f"--rcfile={settings}", "--quiet"]
    subprocess.run(tool, cwd=root, check=True)


class Reached:
    """Which tests reach which lines, as they were recorded in a folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._lines = coverage.CoverageData(str(folder / "lines"))
        self._lines.read()
        self._of_file: dict[str, dict[int, set[str]]] = {}
        self._names = {Path(name).relative_to(root).as_posix(): name for name in self._measured}
        self.seconds: dict[str, float] = {}
        """How long each test takes alone [s]: with what it shares with others."""
        self._users: dict[str, set[str]] = {}
        self._read_times(folder)

    def _read_times(self, folder: Path) -> None:
        """Read what the tests took, and which of them use what is shared."""
        paths = sorted(folder.glob("*.jsonl"))
        rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
        shared = {name: seconds for name, seconds, _ in rows if name.startswith(SHARED)}
        of_fixture: dict[str, list[str]] = {}
        for name in shared:
            of_fixture.setdefault(name.rpartition("::")[2], []).append(name)
        for test, own, fixtures in rows:
            if test in shared:
                continue
            used = [name for one in fixtures for name in of_fixture.get(one, ())]
            used = [name for name in used if test.startswith(_base(name))]
            self.seconds[test] = own + sum(shared[name] for name in used)
            for name in [*used, SHARED + test.partition("::")[0]]:
                self._users.setdefault(name, set()).add(test)

    @property
    def _measured(self) -> list[str]:
        root = str(self._root)
        return [name for name in self._lines.measured_files() if name.startswith(root)]

    def by(self, file: str, line: int) -> list[str]:
        """Return the tests that reach a line, those that reach it soonest first.

        A line that only runs when its file is loaded is reached by whoever runs something of the
        file; where these are few, so are their neighbours, which may run nothing of it but look at
        what it has made, such as the options of a command.
        """
        function = self._around(file, line)
        if function is None:
            lines = self._of(file)
            inside = {n for one in self._functions if one.file == file for n in _body(one)}
            found = {test for n in inside for test in lines.get(n, ())}
            found |= {test for one in self._compiled_in(file) for test in self._through(one)}
            if len(found) < FEW:
                files = {test.partition("::")[0] for test in found}
                found |= {test for test in self.seconds if test.partition("::")[0] in files}
        elif function.compiled:
            lines = self._of(file)
            found = self._through(function).union(*(lines.get(n, ()) for n in _body(function)))
            names = self._above(function)
            files = {file for file, words in self._words.items() if not names.isdisjoint(words)}
            found |= {test for test in self.seconds if test.partition("::")[0] in files}
        else:
            lines, spread = self._of(file), self._statement(file, line)
            found = {test for n in spread for test in lines.get(n, ())}
        return sorted(found & self.seconds.keys(), key=self.seconds.__getitem__)

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        """The words of every file of tests."""
        files = {test.partition("::")[0] for test in self.seconds}
        return {
            file: set(re.findall(r"\w+", (self._root / file).read_text("utf-8")))
            for file in files
            if (self._root / file).is_file()
        }

    def _statement(self, file: str, line: int) -> range:
        """Return the lines of the statement that a line is in, of a block those of its head."""
        around = [
            node
            for node in ast.walk(self._trees[file])
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
        body = getattr(inner, "body", None)
        return range(inner.lineno, body[0].lineno if body else (inner.end_lineno or 0) + 1)

    def _through(self, function: Function, seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the tests that reach a line which names a compiled function, or one that does."""
        found: set[str] = set()
        for one in self._functions:
            line = one.names.get(function.name)
            if line is None or one.name in seen or one.name == function.name:
                continue
            if one.compiled:
                found |= self._through(one, seen | {function.name})
            else:
                found |= self._of(one.file).get(line, set())
        return found

    def _above(self, function: Function, seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the names of a compiled function and of those that call it, near or far."""
        names, seen = {function.name}, seen | {function.name}
        for one in self._functions:
            if one.compiled and function.name in one.names and one.name not in seen:
                names |= self._above(one, seen)
        return names

    def _compiled_in(self, file: str) -> list[Function]:
        return [one for one in self._functions if one.file == file and one.compiled]

    def _around(self, file: str, line: int) -> Function | None:
        """Return the innermost function that a line is in."""
        around = [one for one in self._functions if one.file == file and line in _body(one)]
        compiled = [one for one in around if one.compiled]
        return (compiled or around[-1:] or [None])[0]

    def _of(self, file: str) -> dict[int, set[str]]:
        if file not in self._of_file:
            name = self._names.get(file)
            told = self._lines.contexts_by_lineno(name) if name else {}
            self._of_file[file] = {
                line: {test for name in contexts for test in self._tests_of(name)}
                for line, contexts in told.items()
            }
        return self._of_file[file]

    def _tests_of(self, context: str) -> set[str]:
        """Return the tests that stand behind what coverage was told."""
        names = set(filter(None, context.split("|")))
        return names.union(*(self._users.get(name, ()) for name in names))

    @cached_property
    def _trees(self) -> dict[str, ast.Module]:
        paths = sorted(self._root.glob("ukctrl*/**/*.py"))
        return {
            path.relative_to(self._root).as_posix(): ast.parse(path.read_bytes()) for path in paths
        }

    @cached_property
    def _functions(self) -> list[Function]:
        found = []
        for file, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    compiled = any(ast.unparse(one) in KERNELS for one in node.decorator_list)
                    found.append(
                        Function(
                            file, node.name, node.body[0].lineno, node.end_lineno or 0, compiled,
                            _names_in(node),
                        )
                    )  # fmt: skip
        return found


def _base(fixture: str) -> str:
    """Return how the names of the tests begin that may use a shared fixture."""
    return fixture.removeprefix(SHARED).rpartition("::")[0]


def _body(function: Function) -> range:
    return range(function.first, function.last + 1)


def _names_in(function: ast.FunctionDef) -> dict[str, int]:
    names: dict[str, int] = {}
    for part in function.body:
        for node in ast.walk(part):
            if isinstance(node, ast.Name):
                names.setdefault(node.id, node.lineno)
            elif isinstance(node, ast.Attribute):
                names.setdefault(node.attr, node.lineno)
    return names
