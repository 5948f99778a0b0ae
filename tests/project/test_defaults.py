"""What a setting is that a file leaves out, part by part."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest

with (Path(__file__).parent / "defaults.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))


@pytest.mark.parametrize("module", sorted({row["module"] for row in ROWS}))
def test_what_is_left_out_is_what_it_was(module):
    """Of the table's parts: a part that is new need not be in it."""
    parts = importlib.import_module(module)
    for row in ROWS:
        if row["module"] == module:
            field = getattr(parts, row["part"]).__pydantic_fields__[row["field"]]
            assert repr(field.get_default(call_default_factory=True)) == row["default"], row
