"""A log as columns by name, whatever file it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ukctrl.core.errors import InputError

Columns = Mapping[str, NDArray[Any]]
"""Numbers by the names of columns, each of shape ``(n,)``; whole ones stay whole."""


class LoadedColumns(NamedTuple):
    """Columns of one length, and what reading did to them."""

    columns: Columns
    notes: tuple[str, ...] = ()
    """In sentences; empty: nothing."""


class LogTable(NamedTuple):
    """The columns of a file, of which only those are read that are asked for."""

    source: str
    """The file, and what in it."""
    names: tuple[str, ...]
    """Of the columns, as the file has them; may repeat."""
    load: Callable[[Sequence[str]], LoadedColumns]
    """Returns some of them, the time among them."""

    @classmethod
    def of(cls, source: str, columns: Columns) -> LogTable:
        """Return the table of columns that are there already."""
        return cls(
            source, tuple(columns), lambda names: LoadedColumns({n: columns[n] for n in names})
        )


def missing_package_error(file: object, package: str, extra: str) -> InputError:
    """Return the error that says which extra brings what reads a file."""
    return InputError(
        f"{file}: needs {package}, which is not installed; pip install 'ukctrl[{extra}]'."
    )
