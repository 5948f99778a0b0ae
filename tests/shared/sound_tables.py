"""What must hold of every table, whatever stands in it."""

from __future__ import annotations

from typing import get_args

from ukctrl.reports.report_table import Kind, Mark


def sound(table):
    """Return the heads and kinds of a table whose looks are known and whose rows fill it."""
    assert {column.kind for column in table.columns} <= set(get_args(Kind))
    assert not {column.head for column in table.columns} & {*get_args(Kind), *get_args(Mark)} - {""}
    for row in table.rows:
        assert len(row) == len(table.columns)
        assert {cell.mark for cell in row} <= set(get_args(Mark))
    assert len(table.meanings) in (0, len(table.rows))
    return [(column.head, column.kind) for column in table.columns]


def texts(table):
    """Return what stands in the cells of a table, row by row."""
    return [[cell.text for cell in row] for row in table.rows]
