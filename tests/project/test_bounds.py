"""The sample by which bounds of packages are tried: the same everywhere, and of every file."""

from __future__ import annotations

import collections
import tomllib
from pathlib import Path

import pytest
from scripts import module_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bounds():
    return module_of(ROOT / "tests" / "bounds.py")


def test_a_sample_has_one_test_of_every_file_before_a_second_of_any(bounds):
    names = [f"tests/core/test_{file}.py::test_{k}[x::y]" for file in "abcde" for k in range(9)]
    chosen = bounds.sample(names, 12)
    assert chosen == bounds.sample(reversed(names), 12)
    counts = collections.Counter(name.partition("::")[0] for name in chosen)
    assert sorted(counts.values()) == [2, 2, 2, 3, 3]
    assert bounds.sample(names, 5) < chosen < bounds.sample(names, 40)
    assert bounds.sample(names, 100) == set(names)
    more = [f"tests/core/test_f.py::test_{k}" for k in range(9)]
    assert bounds.sample(names, 5) < bounds.sample([*names, *more], 6)  # the rest stays


def test_the_sample_has_a_test_of_every_file(bounds):
    files = [file for name in bounds.FOLDERS for file in (ROOT / "tests" / name).rglob("test_*.py")]
    assert bounds.COUNT >= len(files) > 0


def test_every_package_of_a_user_is_tried_and_has_a_floor_or_follows_another(bounds):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = bounds.needs(project)
    extras = {*project["optional-dependencies"]} - {"bench", "dev", "docs", "zoo"}
    assert set(bounds.EXTRAS) == extras
    lines = [
        *project["dependencies"],
        *(x for e in extras for x in project["optional-dependencies"][e]),
    ]
    assert len(found) == len(lines) == len({need.name for need in found})
    assert {need.name for need in found if not need.floor} == {"llvmlite", "pydantic-core"}
    assert bounds.Need("pin", ">=4.1,<5").floor == "4.1"


def test_how_it_went_stands_below_the_versions(bounds):
    needs = [bounds.Need("numpy", ">=2.0"), bounds.Need("av", ">=14")]
    told = {
        "oldest-3.11": ({"numpy": "2.0.0"}, "3 passed, 0 skipped"),
        "newest-3.11": ({}, "FAILED: 1 of 3"),
    }
    assert bounds.table(needs, told).splitlines() == [
        "package  bounds  oldest-3.11  newest-3.11",
        "av       >=14    -            -",
        "numpy    >=2.0   2.0.0        -",
        "",
        "oldest-3.11: 3 passed, 0 skipped",
        "newest-3.11: FAILED: 1 of 3",
    ]
