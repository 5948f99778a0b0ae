"""How published numbers beside ours are printed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from ukctrl.cli.terminal.lines import (
    MARK_STYLES,
    PIPE_WIDTH,
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    sanitise,
    width,
)
from ukctrl_papers.claim_text import ascii_number
from ukctrl_papers.paper_result import Outcome, Reproduction
from ukctrl_papers.reproduction_page import claim_table

MIN_WIDTHS = (14, 15, 10, 10, 7, 14)
"""Widths to which the columns shrink; they and the gaps fill 80 columns of a terminal."""
WIDTH_ORDER = ((1, 40), (2, 24), (3, 24), (5, 28), (0, 24), (1, 1000))
"""Which column gets the room that is left, up to which width, in this order."""
GAP = "  "


def reproduction_lines(reproduction: Reproduction, folder: Path) -> list[Line]:
    """Return every paper's claims, and where the page is."""
    lines: list[Line] = []
    for outcome in reproduction.outcomes:
        lines += [*_paper(outcome), ""]
    if reproduction.interrupted:
        stopped = "stopped by the user; what was computed until then is kept"
        lines += hanging_lines("", stopped, text_style="yellow")
    for outcome in reproduction.outcomes:
        style = "bold green" if outcome.ok else "bold red"
        lines += hanging_lines(f"{outcome.key}: ", outcome.summary, style)
    lines += file_lines(folder, ("report", "report.html"), ("data", "reproduce.json"))
    return lines


def _paper(outcome: Outcome) -> Iterator[Line]:
    yield from hanging_lines("", outcome.citation or outcome.key, text_style="bold")
    table = claim_table(outcome, ascii_number)
    rows = [[sanitise(cell.text) for cell in row] for row in table.rows]
    head = [column.head for column in table.columns]
    widths = _widths([head, *rows])
    if rows:
        yield from _wrapped(head, widths, "dim")
    marks = [row[-1].mark for row in table.rows]
    for row, mark, claim in zip(rows, marks, outcome.claims, strict=True):
        # Where they agree, how that was verified is told by the page.
        note = "" if claim.verdict == "agrees" else claim.note
        yield from _wrapped(row, widths, MARK_STYLES[mark], note)
    for failure in outcome.failures:
        yield from hanging_lines("  failed: ", f"{failure.where}: {failure.reason}", "bold red")


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return widths of columns that fit beside each other."""
    natural = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = [min(pair) for pair in zip(natural, MIN_WIDTHS, strict=True)]
    slack = width() - len(GAP) * (len(widths) - 1) - sum(widths)
    for k, limit in WIDTH_ORDER:
        more = max(0, min(slack, min(limit, natural[k]) - widths[k]))
        widths[k] += more
        slack -= more
    return natural if width() >= PIPE_WIDTH else widths


def _wrapped(cells: Sequence[str], widths: Sequence[int], style: str, note: str = "") -> list[Line]:
    """Return a row of a table, on several lines where a cell is too long for its column."""
    columns = [
        textwrap.wrap(cell, size, break_on_hyphens=False) or [""]
        for cell, size in zip(cells, widths, strict=True)
    ]
    lines: list[Line] = []
    for k in range(max(map(len, columns))):
        pieces = []
        for column, size, i in zip(columns, widths, range(len(widths)), strict=True):
            text = column[k] if k < len(column) else ""
            side = ">" if i in (2, 3, 4) else "<"
            gap = GAP if i else ""
            pieces.append(
                StyledText(f"{gap}{text:{side}{size}}", style if i == len(widths) - 1 else "")
            )
        lines.append(pieces)
    if note:
        lines += hanging_lines(" " * (widths[0] + len(GAP)), note, text_style="dim")
    return lines
