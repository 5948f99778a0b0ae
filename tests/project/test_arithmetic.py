"""What is stated holds on other processors: a part of `make portable`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import module_of

ROOT = Path(__file__).parents[2]
PAGES = ("log-spiral-particle", "pick-and-place", "pseudoinverses", "three-rrr")
"""Gallery pages that once held what rounding had decided."""
COMPILE = """
import numpy as np
from ukctrl import uk
uk.affine_acceleration(np.diag([4.0]), [8.0], np.eye(1))
"""


@pytest.fixture(scope="module")
def arithmetic():
    return module_of(ROOT / "tests" / "arithmetic.py")


@pytest.fixture(scope="module")
def another(arithmetic):
    """The environment of a process that computes as another processor does."""
    try:
        return arithmetic.another()
    except arithmetic.Unavailable as error:
        pytest.skip(str(error))


def run(*command, env):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pages_of_the_gallery_are_the_same_on_another_processor(another):
    run(ROOT / "docs" / "gallery" / "make.py", "--check", *PAGES, env=another)


def pytest_in(another, *words):
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", *words, env=another)


@pytest.mark.slow
def test_what_check_tells_is_the_same_on_another_processor(another):
    pytest_in(another, ROOT / "tests" / "project" / "test_check_page.py", "-k", "fresh and far")


@pytest.mark.slow
def test_what_the_page_shows_first_is_the_same_on_another_processor(another):
    pytest_in(another, ROOT / "tests" / "project" / "test_docs.py", "-k", "check-first")


@pytest.mark.slow
def test_an_arithmetic_that_does_not_take_effect_is_no_kind(arithmetic, monkeypatch):
    nowhere = arithmetic.Arithmetic("Haswell", ("another processor",))
    monkeypatch.setattr(arithmetic, "KINDS", {"nowhere": nowhere})
    with pytest.raises(arithmetic.Unavailable, match="asked for Haswell, OpenBLAS computes as"):
        arithmetic.environment("nowhere")


@pytest.mark.slow
def test_machine_code_of_one_arithmetic_is_not_handed_to_another(arithmetic, tmp_path):
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    counts = []
    for env in (kept, kept, {**kept, "NUMBA_CPU_NAME": "generic"}):
        run("-c", COMPILE, env=env)
        counts.append(len(list(tmp_path.rglob("*.code"))))
    assert counts[0] == counts[1] > 0
    assert counts[2] == 2 * counts[0]


def test_tests_that_end_otherwise_under_one_kind_are_told(arithmetic, tmp_path):
    file = tmp_path / "test_one.py"
    file.write_text("import os\ndef test_a(): assert os.environ['X'] == '1'\ndef test_b(): pass\n")
    words = [str(file), "-p", "no:cacheprovider", "--override-ini=addopts="]
    kinds = {x: arithmetic.tried({**os.environ, "X": x}, words) for x in "12"}
    assert [(kind.count("passed"), kind.code) for kind in kinds.values()] == [(2, 0), (1, 1)]
    (line,) = arithmetic.differing(kinds)
    assert line.endswith("test_one::test_a: 1 passed, 2 failed")
