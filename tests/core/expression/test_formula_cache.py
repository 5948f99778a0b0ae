"""What was derived once is not derived again, nor does a broken file or a full disk matter."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ukctrl.core.compiled import config
from ukctrl.core.errors import ExpressionError
from ukctrl.core.expression import formula_cache
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.formula_cache import cached_formula

DERIVE = """
import sys
from ukctrl.core.expression.constraint_rows import derive_rows
from ukctrl.mechanics.reference.formula_path import Expression
names = ["x", "y"]
said = dict(coordinates=names, dofs=names, rates=["v.x", "v.y"], form="holonomic")
rows = derive_rows(["x**2 + sin(y)*t - 1"], **said).evaluate
path = Expression(components=("cos(t)", "t/3")).compile()
print(rows([0.3, 0.2], [1.0, -2.0], 0.7), path(0.4), rows.lines, path.lines, rows.time, path.time)
print("sympy" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def files(folder):
    return list(folder.glob("*/formulas/*"))


def derivation(calls):
    def derive():
        calls.append(1)
        return CompiledFormula(
            ["p0", "p1"], ["w0 = p0[1] + p1", "return (w0, nan, )"], "some text", 1
        )

    return derive


@pytest.mark.slow
def test_another_process_computes_the_same_without_sympy(tmp_path):
    told = [
        subprocess.run(
            [sys.executable, "-c", DERIVE],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert told[0][0] == told[1][0]
    assert [lines[1] for lines in told] == ["True", "False"]


def test_a_formula_is_derived_once_for_all_that_it_follows_from(folder):
    calls = []
    first, again = (cached_formula(("path", ("t",), 2), derivation(calls)) for _ in range(2))
    assert len(calls) == 1
    assert (again.parameters, again.lines) == (first.parameters, first.lines)
    assert (again.label, again.time, again.parts) == (first.label, first.time, first.parts)
    cached_formula(("path", ("t",), 3), derivation(calls))
    assert len(calls) == 2


def test_other_sources_derive_anew(folder, monkeypatch):
    calls = []
    cached_formula("text", derivation(calls))
    monkeypatch.setattr(formula_cache, "_derivation_version", lambda: "another version")
    cached_formula("text", derivation(calls))
    assert len(calls) == 2


@pytest.mark.parametrize("content", [b"", b'{"parameters": ["p0"', b"\xff\xfe"])
def test_a_damaged_file_is_derived_anew(folder, content):
    calls = []
    cached_formula("text", derivation(calls))
    [file] = files(folder)
    file.write_bytes(content)
    cached_formula("text", derivation(calls))
    assert len(calls) == 2
    cached_formula("text", derivation(calls))  # and is whole again
    assert len(calls) == 2


def test_what_a_derivation_raises_is_raised_each_time(folder):
    def refuse():
        raise ExpressionError("no")

    for _ in range(2):
        with pytest.raises(ExpressionError, match="no"):
            cached_formula("text", refuse)
    assert files(folder) == []


def test_many_make_room(folder, monkeypatch):
    monkeypatch.setattr(formula_cache, "MAX_STORED", 3)
    for number in range(7):
        cached_formula(number, derivation([]))
        assert 1 <= len(files(folder)) <= 3
    calls = []
    cached_formula(6, derivation(calls))
    assert calls == []


def test_formulas_are_derived_each_time_where_nothing_can_be_stored(monkeypatch):
    monkeypatch.setattr(formula_cache, "writable_folder", lambda chosen: None)
    monkeypatch.setattr(formula_cache, "readable_folders", lambda chosen: ())
    calls = []
    for _ in range(2):
        assert cached_formula("text", derivation(calls)).label == "some text"
    assert len(calls) == 2
