"""Lines of text for a terminal or a pipe.

Layout is by hand and not by rich's tables: in a terminal, lines break where a reader would break
them; in a pipe, every entry stays on a line of its own. Nothing that comes from a file is printed
before `sanitise` has made it harmless.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

    from ukctrl.core.verdict import Verdict
    from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn

LEVEL_STYLES = {"bad": "bold red", "warning": "yellow", "good": "bold green", "note": "cyan"}
"""How the levels of verdicts look."""
MARK_STYLES = {
    "best": "bold green",
    "strong": "bold",
    "failed": "red",
    "faint": "dim",
    **LEVEL_STYLES,
}
"""How cells of a table look that stand out."""
BEST_MARK = "*"
"""Stands behind what is best, which nobody needs to see in green."""
LEVEL_LABELS = {"bad": "problem: ", "warning": "warning: "}
"""Words before verdicts whose colour is not all that tells them from good news."""
KINDS = {"name": "cyan", "unit": "dim", "meaning": "dim"}
"""How cells look that do not, by the kind of their column."""
PIPE_WIDTH = 100_000
"""Width of what is no terminal."""


def sanitise(text: str) -> str:
    r"""Return text on one line, with control characters shown instead of obeyed.

    A file from a stranger could otherwise colour, move or retitle the terminal that prints its
    names, or turn the direction of what it says.

    >>> clean("a\x1b[31m\nb")
    'a\\x1b[31m b'
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


class StyledText(NamedTuple):
    """A piece of a line in one style."""

    text: str
    style: str = ""


Line = Sequence[StyledText | str]
"""Pieces of a line, from left to right."""


def is_plain() -> bool:
    """Return whether the user asks for a terminal without colours, bold and moving lines."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


def console(**options: Any) -> Console:
    """Return a console of rich; a plain one where the user asks for it."""
    from rich.console import Console

    return Console(color_system=None if is_plain() else "auto", **options)


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines of parts, in colour where the terminal has it."""
    from rich.text import Text

    printer = console(width=PIPE_WIDTH, highlight=False, soft_wrap=True)
    with printer.capture() as captured:
        for line in lines:
            pieces = [
                piece if isinstance(piece, StyledText) else StyledText(piece) for piece in line
            ]
            text = Text.assemble(*[(piece.text, piece.style) for piece in pieces])
            text.rstrip()
            printer.print(text)
    write(captured.get())


def print_result(
    quiet: bool, as_json: bool, data: Callable[[], object], lines: Callable[[], Iterable[Line]]
) -> None:
    """Print data for a program or lines for people; where quiet is asked for, nothing."""
    if as_json and not quiet:
        write_json(data())
    elif not quiet:
        print_lines(lines())


def print_notice(text: str) -> None:
    """Tell the user something beside the answer, in one line of the standard error."""
    if sys.stderr is not None:
        print(f"ukctrl: {sanitise(text)}", file=sys.stderr, flush=True)


def write(text: str) -> None:
    """Write to the standard output; that its reader has left is no failure of ours."""
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer must not fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def write_json(data: object) -> None:
    """Write JSON to the standard output."""
    write(f"{json.dumps(data, indent=2, allow_nan=False)}\n")


def width() -> int:
    """Return the width to fit into: the terminal's or ``COLUMNS``; in a pipe, no limit."""
    return max(40, shutil.get_terminal_size((PIPE_WIDTH, 24)).columns)


def hanging_lines(label: str, text: str, style: str = "", text_style: str = "") -> list[Line]:
    """Return a label and a text beside it, which goes on below itself."""
    text_width = max(20, width() - len(label))
    pieces = textwrap.wrap(sanitise(text), text_width, break_on_hyphens=False) or [""]
    lines: list[Line] = [[StyledText(label, style), StyledText(pieces[0], text_style)]]
    lines += [[StyledText(" " * len(label)), StyledText(piece, text_style)] for piece in pieces[1:]]
    return lines


def table_lines(table: ReportTable, max_rows: int | None = None) -> list[Line]:
    """Return a table as lines; columns of numbers that do not fit beside each other, below.

    Args:
        table: The table; asides stand on a line of their own.
        max_rows: How many rows are shown; absent: all.
    """
    lines: list[Line] = []
    shown = _add_marks(table.rows[:max_rows])
    fixed = [k for k, column in enumerate(table.columns) if column.series is None]
    widths = [
        2 + max(len(text) for row in [(), *shown] for text in _texts(column, row, k))
        for k, column in enumerate(table.columns)
    ]
    for group in _column_groups(table.columns, widths, width() - sum(widths[k] for k in fixed)):
        indices = [k for k in range(len(table.columns)) if k in fixed or k in group]
        lines += [""] if lines else []
        if any(column.head for column in table.columns):
            heads = [(c.head, c, widths[k]) for k, c in _select(table.columns, indices)]
            lines.append([_padded(text, c, size, "dim") for text, c, size in heads])
        for row in shown:
            lines.append([_cell(row[k], c, widths[k]) for k, c in _select(table.columns, indices)])
            if any(row[k].note for k in indices):
                asides = [(row[k].note, c, widths[k]) for k, c in _select(table.columns, indices)]
                lines.append([_padded(text, c, size, "dim") for text, c, size in asides])
    if len(shown) < len(table.rows):
        lines.append([f"  and {len(table.rows) - len(shown)} more, in the files"])
    return lines


def _add_marks(rows: Sequence[Sequence[TableCell]]) -> list[list[TableCell]]:
    """Return rows whose best cells say so; the others of their columns stay below each other."""
    marked = {k for row in rows for k, cell in enumerate(row) if cell.mark == "best"}
    ends = {True: BEST_MARK, False: " " * len(BEST_MARK)}
    return [
        [
            cell._replace(text=f"{cell.text}{ends[cell.mark == 'best']}") if k in marked else cell
            for k, cell in enumerate(row)
        ]
        for row in rows
    ]


def _texts(column: TableColumn, row: Sequence[TableCell], k: int) -> tuple[str, str]:
    """Return what a column's width must hold: its head, or a cell and its aside."""
    return (row[k].text, row[k].note) if row else (column.head, "")


def _select(
    columns: Sequence[TableColumn], indices: Iterable[int]
) -> list[tuple[int, TableColumn]]:
    return [(k, columns[k]) for k in indices]


def _cell(cell: TableCell, column: TableColumn, size: int) -> StyledText:
    return _padded(cell.text, column, size, MARK_STYLES.get(cell.mark, KINDS.get(column.kind, "")))


def _padded(text: str, column: TableColumn, size: int, style: str) -> StyledText:
    side = ">" if column.kind == "number" else "<"
    return StyledText(f"  {sanitise(text):{side}{size - 2}}", style)


def _column_groups(
    columns: Sequence[TableColumn], widths: Sequence[int], max_width: int
) -> list[list[int]]:
    """Return the columns of series in groups that fit beside each other, at least one in each."""
    groups: list[list[int]] = [[]]
    for k, column in enumerate(columns):
        if column.series is None:
            continue
        if groups[-1] and sum(widths[j] for j in groups[-1]) + widths[k] > max_width:
            groups.append([])
        groups[-1].append(k)
    return groups


def verdict_lines(verdicts: Iterable[Verdict], size: int = 0) -> list[Line]:
    """Return verdicts, one below another, with their subjects before them where there is room."""
    lines: list[Line] = []
    for verdict in verdicts:
        subject = f"  {verdict.subject:<{size}}" if size else ""
        text = f"{LEVEL_LABELS.get(verdict.level, '')}{verdict.text}"
        lines += hanging_lines(subject, text, text_style=LEVEL_STYLES[verdict.level])
    return lines


def file_lines(folder: Path, *files: tuple[str, str]) -> list[Line]:
    """Return where files are, each with a label."""
    return [
        [StyledText(f"{label:<8}", "bold"), StyledText(sanitise(str(folder / name)))]
        for label, name in files
    ]
