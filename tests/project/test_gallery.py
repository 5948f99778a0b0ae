"""The numbers on the gallery's pages are those that the code gives today."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scripts import module_of

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
TABLES = sorted(GALLERY.glob("*/tables.py"))


def _page(tables):
    is_slow = re.search(r"^SLOW = True$", tables.read_text(encoding="utf-8"), re.MULTILINE)
    name = tables.parent.name.replace("_", "-")
    return pytest.param(name, marks=[pytest.mark.slow] if is_slow else [], id=name)


@pytest.fixture(scope="module")
def make():
    """Return the script that fills in the pages, as a module."""
    return module_of(GALLERY / "make.py")


@pytest.mark.pages
@pytest.mark.parametrize("page", [_page(tables) for tables in TABLES])
def test_the_numbers_of_a_page_are_up_to_date(make, page, capsys):
    assert make.make(page, check=True), capsys.readouterr().out


@pytest.mark.parametrize("tables", TABLES, ids=lambda path: path.parent.name)
def test_every_folder_of_scripts_belongs_to_a_page(tables):
    assert (GALLERY / f"{tables.parent.name.replace('_', '-')}.md").is_file()


def test_every_figure_belongs_to_one_page():
    shown = [
        figure
        for page in sorted(GALLERY.glob("*.md"))
        if page.stem != "index"  # which repeats figures of the pages
        for figure in set(re.findall(r"[(\"]figures/([^)\"\s]+)", page.read_text(encoding="utf-8")))
    ]
    drawn = [path.relative_to(GALLERY / "figures").as_posix() for path in _drawn()]
    assert Counter(shown) == Counter(drawn)


def _drawn():
    return (path for path in (GALLERY / "figures").rglob("*") if path.is_file())


def test_a_page_that_does_not_exist_is_refused_with_those_that_do():
    done = subprocess.run(
        [sys.executable, str(GALLERY / "make.py"), "--check", "scara-helx"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no page named 'scara-helx'. Known:" in done.stderr
