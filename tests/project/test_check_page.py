"""The table of `docs/reference/check.md` says what `check` says now."""

from pathlib import Path

import pytest
from scripts import module_of

from ukctrl.core.files import catalog

SCRIPT = Path(__file__).parents[2] / "docs" / "reference" / "check_table.py"
QUICK = ("cart-pole-swing-up", "five-bar-relative", "scara-weak-motors", "two-mass-spring-far")


@pytest.fixture(scope="module")
def table():
    return module_of(SCRIPT)


def test_every_scenario_of_the_catalogue_is_in_the_table(table):
    assert list(table.rows_on_page()) == list(catalog.names("scenarios"))


@pytest.mark.slow(but=["five-bar-relative"])
@pytest.mark.parametrize("name", QUICK)
def test_rows_of_the_table_are_fresh(table, name):
    assert table.rows_on_page()[name] == table.rows_of([name])[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(catalog.names("scenarios")) - set(QUICK)))
def test_all_other_rows_are_fresh_too(table, name):
    assert table.rows_on_page()[name] == table.rows_of([name])[name]
