"""A table as CSV: what pandas would write, and every number to its last bit."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from extras import needs

from ukctrl.simulation.result.column_files import ROWS_PER_WRITE, write_csv

TEXTS = ["", "plain", "a, b", 'a "word"', "two\nlines", "ümlaut", " x ", "# no", "1e5"]


def drawn(count):
    """Return columns of every kind; the floats are random bits, so of every size, or NaN."""
    rng = np.random.default_rng(5)
    texts = np.array([TEXTS[k] for k in rng.integers(0, len(TEXTS), count)], dtype=object)
    return {
        "whole": rng.integers(-(2**62), 2**62, count),
        "a number": rng.integers(-(2**63), 2**63 - 1, count).view(np.float64),
        "usual": rng.normal(size=count),
        "few, of which": np.round(rng.normal(size=count), 3),
        "which": rng.random(count) < 0.5,
        "text": texts,
        "ends": np.resize([np.inf, -np.inf, -0.0, 0.0, np.nan, 1e16, 1e15, 1e-5, 1e-4], count),
    }


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_WRITE, 2 * ROWS_PER_WRITE + 7])
def test_every_number_comes_back_with_its_bits_and_every_text_with_its_letters(count, tmp_path):
    columns = drawn(count)
    write_csv(columns, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == list(columns)
    assert len(rows) == count
    for k, (name, column) in enumerate(columns.items()):
        cells = [row[k] for row in rows]
        if column.dtype == np.float64:
            again = np.array([float(cell or "nan") for cell in cells])
            number = ~np.isnan(column)
            assert (again[number].view(np.int64) == column[number].view(np.int64)).all(), name
            assert np.isnan(again[~number]).all(), name
        else:
            assert cells == [str(x) for x in column.tolist()], name


@pytest.mark.slow
@needs("pandas")
def test_it_is_what_pandas_writes(tmp_path):
    import pandas as pd

    columns = drawn(20_000)
    write_csv(columns, tmp_path / "table.csv")
    theirs = pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    assert (tmp_path / "table.csv").read_bytes() == theirs.encode()
