"""Logs as text: numbers between commas, semicolons, tabs or spaces, below a line of names."""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.message_text import printable_name, quote_text
from ukctrl_identification.log_table import LoadedColumns, LogTable

DELIMITERS = ("\t", ";", ",", " ")
"""What may stand between columns, the surest first; spaces count as one."""


class TextLayout(NamedTuple):
    """Where the names are in a file, and what parts them."""

    names: tuple[str, ...]
    header_line: int
    """Number of the line of the names, from 1."""
    delimiter: str


def text_table(path: Path) -> LogTable:
    """Return the table of a CSV, TSV or gzipped file.

    The first line that is no comment holds the names; so may a comment right above the numbers, as
    `numpy.savetxt` writes it. Cells may be empty, where there is no number.

    Raises:
        InputError: There are no names or no numbers; on loading, a row is too short or too long,
            or a cell of a column that is loaded is no number.
    """
    layout = _layout(path)

    def load(names: Sequence[str]) -> LoadedColumns:
        places = [layout.names.index(name) for name in names]
        matrix = _fast_numbers(path, layout)
        if matrix is None:  # cells that are empty or text, or a row that is wrong
            matrix, places = _checked_numbers(path, layout, places), list(range(len(places)))
        return LoadedColumns({n: matrix[:, p].copy() for n, p in zip(names, places, strict=True)})

    return LogTable(str(path), layout.names, load)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Yield the file to read text from, unpacked, without the mark that Windows sets at its start.

    Raises:
        InputError: It is not UTF-8, or no gzip file.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            yield file
    except UnicodeDecodeError:
        raise InputError(f"{path}: must be UTF-8 text; save it as UTF-8.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path}: must be a whole gzip file; it is none, or cut off.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _layout(path: Path) -> TextLayout:
    """Find the names and the delimiter in the first lines."""
    header, header_line, comment, comment_line = "", 0, "", 0
    first_row = None
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.strip("\r\n")
            if text.lstrip().startswith("#"):
                comment, comment_line = text.lstrip().lstrip("#").strip(), number
            elif text.strip() and not header_line and _is_row(text):
                # numbers without names above them, unless a comment holds the names
                header, header_line, first_row = comment, comment_line, text
                break
            elif text.strip() and not header_line:
                header, header_line = text, number
            elif text.strip():
                first_row = text
                break
    if first_row is None:
        count = "nothing" if not header_line else "a line of names alone"
        raise InputError(f"{path}: must have a line of names and numbers below; it has {count}.")
    if not header_line:
        raise InputError(
            f"{path}: must have a line of names above the numbers; it begins with "
            f"{quote_text(first_row)}."
        )
    counts = {d: len(_cells(header, d)) for d in DELIMITERS}
    fitting = [d for d in DELIMITERS if 1 < counts[d] == len(_cells(first_row, d))]
    delimiter = next(iter(fitting), next((d for d in DELIMITERS if counts[d] > 1), ","))
    return TextLayout(tuple(_cells(header, delimiter)), header_line, delimiter)


def _is_row(text: str) -> bool:
    """Whether a line holds numbers alone, whatever parts them."""
    cells = re.split(r"[\s,;]+", text.strip(" ,;\t"))
    return all(_is_number(cell) for cell in cells)


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # such as a name longer than any
        return []
    return [cell.strip() for cell in row]


def _fast_numbers(path: Path, layout: TextLayout) -> Matrix | None:
    """Return all numbers, shape ``(n, k)``; None where some cell is none or a row is uneven."""
    delimiter = None if layout.delimiter == " " else layout.delimiter
    with _opened(path) as file:
        for _ in range(layout.header_line):
            next(file)
        try:
            matrix = np.loadtxt(file, delimiter=delimiter, comments="#", ndmin=2, quotechar='"')
        except UnicodeDecodeError:
            raise
        except ValueError:
            return None
    return matrix if matrix.shape[1] == len(layout.names) else None


def _checked_numbers(path: Path, layout: TextLayout, places: Sequence[int]) -> Matrix:
    """Return the numbers of some columns, NaN where a cell is empty; shape ``(n, len(places))``."""
    rows: list[list[float]] = []
    for number, cells in _rows(path, layout):
        if len(cells) != len(layout.names):
            doubled = layout.delimiter == "," and len(cells) == 2 * len(layout.names)
            hint = _decimal_commas(",".join(cells)) if doubled else ""
            raise InputError(
                f"{path}: line {number} must have {len(layout.names)} cells, as many as there are "
                f"names; it has {len(cells)}.{hint}"
            )
        try:
            rows.append([float(cells[place] or "nan") for place in places])
        except ValueError:
            place = next(place for place in places if not _is_number(cells[place] or "nan"))
            raise InputError(
                f"{path}: line {number}, column '{printable_name(layout.names[place])}' must be a "
                f"number; got {quote_text(cells[place])}.{_decimal_commas(cells[place])}"
            ) from None
    return np.array(rows, dtype=np.float64).reshape(-1, len(places))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decimal_commas(text: str) -> str:
    is_one = re.fullmatch(r"(\s*-?\d+,\d+(,|$))+", text)
    return " Its decimals seem to follow commas; write the log with points." if is_one else ""


def _rows(path: Path, layout: TextLayout) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of every line below the names, and its cells."""
    with _opened(path) as file:
        lines = (line.partition("#")[0].strip("\r\n") for line in file)
        rows: Iterable[list[str]] = (
            map(str.split, lines)
            if layout.delimiter == " "
            else csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True)
        )
        try:
            for number, row in enumerate(rows, start=1):
                if number > layout.header_line and (len(row) > 1 or any(map(str.strip, row))):
                    yield number, [cell.strip() for cell in row]
        except csv.Error as error:
            raise InputError(f"{path}: cannot be read as a table: {error}.") from None
