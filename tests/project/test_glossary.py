"""The glossary has every noun of a public name that Python, NumPy and SciPy do not use."""

from __future__ import annotations

import builtins
import importlib
import keyword
import re
import types
from pathlib import Path

import ukctrl

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
USED_ELSEWHERE = (
    "abc", "argparse", "ast", "builtins", "collections", "concurrent.futures", "contextlib",
    "csv", "dataclasses", "datetime", "enum", "functools", "http.client", "inspect", "itertools",
    "json", "logging", "math", "multiprocessing", "numpy", "numpy.linalg", "numpy.random", "os",
    "pathlib", "queue", "random", "scipy.integrate", "scipy.linalg", "scipy.optimize",
    "scipy.signal", "scipy.stats", "shutil", "statistics", "string", "subprocess", "tempfile",
    "textwrap", "threading", "time", "traceback", "typing", "unittest", "urllib.request",
    "warnings", "weakref", "zipfile",
)  # fmt: skip
"""Modules whose names a reader of Python knows."""
GRAMMAR = {"any", "as", "of", "to", "per", "between", "together", "did", "you", "about", "given"}
"""Words that join nouns, or stand in a name for a kind in a file (`between`, `given`, `about`)."""


def words(name: str) -> set[str]:
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {part.lower() for part in parts if len(part) > 1}


def usual() -> set[str]:
    """Return the words in names of the standard library, NumPy and SciPy."""
    names = {*keyword.kwlist, *dir(builtins)}
    for module in map(importlib.import_module, USED_ELSEWHERE):
        for name in dir(module):
            names.add(name)
            member = getattr(module, name, None)
            names.update(dir(member) if isinstance(member, type) else ())
    return set().union(*map(words, names))


def public_names() -> set[str]:
    names = set(ukctrl.__all__)
    for name in ukctrl.__all__:
        module = getattr(ukctrl, name)
        if isinstance(module, types.ModuleType):
            inside = [each for each in dir(module) if not each.startswith("_")]
            ours = [each for each in inside if ours_is(getattr(module, each))]
            names.update(getattr(module, "__all__", ours))
    return names


def ours_is(member: object) -> bool:
    return getattr(member, "__module__", "").startswith("ukctrl")


def stem(word: str) -> str:
    return re.sub(r"(ies|s|ed|ing|e|y)$", "", word)


def test_every_noun_of_a_public_name_is_in_the_glossary_or_in_pythons_usage():
    known = {stem(word) for word in usual() | {w.lower() for w in re.findall(r"[A-Za-z]+", PAGE)}}
    unknown = {
        name: missing
        for name in sorted(public_names())
        if (missing := sorted(w for w in words(name) - GRAMMAR if stem(w) not in known))
    }
    assert not unknown, "\n".join(f"{name}: {missing}" for name, missing in unknown.items())


def test_a_term_stands_in_the_glossary_once():
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE, re.MULTILINE)
    terms = [term for row in rows if row not in {"term", "---"} for term in row.split(", ")]
    assert len(terms) > 100
    assert sorted({term for term in terms if terms.count(term) > 1}) == []
