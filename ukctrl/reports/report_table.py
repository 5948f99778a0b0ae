"""A table, made once: for a page, for the terminal, as CSV.

What stands in a table, and what of it stands out, is said by the part that makes it; how that looks
is said once for each medium: `templates/macros.html.j2` for pages, `cli/terminal/lines.py` for the
terminal.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import sentence
from ukctrl.simulation.result.metrics import METRICS

Kind = Literal["name", "text", "unit", "number", "meaning", "words"]
"""What a column holds: names as in files, texts, units, numbers, explanations, short statements."""
Mark = Literal["", "best", "strong", "failed", "faint", "good", "note", "warning", "bad"]
"""How a cell stands out: the best of its row, the new value, what went wrong, what does not count;
the last four are levels of a verdict, shown as a badge."""


class TableColumn(NamedTuple):
    """A column of a table."""

    head: str
    kind: Kind = "number"
    series: int | None = None
    """Place of what it shows among the curves of the figures, for its colour and dash."""


class TableCell(NamedTuple):
    """A cell of a table."""

    text: str
    mark: Mark = ""
    note: str = ""
    """What stands below it, smaller."""
    note_failed: bool = False
    """Whether the note tells of something that went wrong."""
    kind: Kind | None = None
    """Where it is not that of its column."""
    anchor: str = ""
    """The part of the page that it leads to."""


class ReportTable(NamedTuple):
    """Columns, and rows with a cell for each."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[TableCell]]
    meanings: Sequence[str] = ()
    """Of the rows, shown where a reader points at them; none or one for each."""

    @staticmethod
    def from_rows(
        columns: Iterable[TableColumn],
        rows: Iterable[Iterable[TableCell | str]],
        meanings: Iterable[str] = (),
    ) -> ReportTable:
        """Make a table of cells, or of plain texts where nothing stands out."""
        cells = [[c if isinstance(c, TableCell) else TableCell(c) for c in row] for row in rows]
        return ReportTable(tuple(columns), cells, tuple(meanings))


def first_columns(table: ReportTable, count: int) -> ReportTable:
    """Return a table without what stands beyond so many columns, where there is little room."""
    return ReportTable(table.columns[:count], [row[:count] for row in table.rows], table.meanings)


def metric_description(metric: str) -> str:
    """Return what a metric is, in a sentence for a page; of no metric, that it is the cost."""
    entry = METRICS.get(metric.partition(".")[0])
    return sentence(entry.description.replace("`", "")) if entry else "The cost."


def better_direction(table: ReportTable) -> str:
    """Return in a sentence whether less is better of the metrics that begin the rows of a table."""
    names = {row[0].text.partition(".")[0] for row in table.rows}
    margins = [name for name in METRICS if name in names and METRICS[name].more_is_better]
    return f"Lower is better{f', of {quoted(margins)} higher' if margins else ' throughout'}."


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a head and rows as CSV; NaN and infinity become empty, numbers keep every digit."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([_plain(value) for value in row])
    return stream.getvalue()


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if value - value == 0.0 else ""
    return str(value)
