"""Arguments of Python: what is said of one of another type, and numbers that have labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ukctrl.core.errors import ArgumentError, InputError
from ukctrl.core.message_text import literal_text

T = TypeVar("T")


def argument_error(name: str, accepted: str, value: object) -> ArgumentError:
    """Build the error for an argument of another type.

    Args:
        name: The argument.
        accepted: What it may be, such as ``"a Scenario, its name, or the path of its file"``.
        value: What came.
    """
    if isinstance(value, type):
        came = f"the class {value.__name__}; write {value.__name__}(...)"
    elif value is None or isinstance(value, str | bool | int | float):
        came = literal_text(value)
    else:
        came = f"a {type(value).__name__}"
    return ArgumentError(f"{name} must be {accepted}; got {came}.")


def expect(name: str, value: object, kind: type[T], source: str) -> T:
    """Return an argument that is of a type.

    Args:
        name: The argument.
        value: What came.
        kind: What it must be.
        source: Where one gets such, such as ``"which simulate returns"``.

    Raises:
        ArgumentError: It is another.
    """
    if not isinstance(value, kind):
        raise argument_error(name, f"a {kind.__name__}, {source}", value)
    return value


def by_name(value: Any) -> Any:
    """Return labelled numbers as a table by name, other arrays as lists, and all else as it is.

    A pandas Series or an xarray array may have any order, so that its labels say what is what.

    Raises:
        InputError: Two entries have the same label.
    """
    labels = None if isinstance(value, Mapping) else labels_of(value)
    if labels is not None:
        if len(set(labels)) < len(labels):
            raise InputError(f"must have labels of their own; got {', '.join(labels)}.")
        return dict(zip(labels, value.values.tolist(), strict=True))
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def labels_of(value: Any) -> list[str] | None:
    """Return the names of the entries of a table, a pandas Series or an xarray array, or None."""
    if isinstance(value, Mapping):
        return [str(label) for label in value]
    index = getattr(value, "index", None)
    if len(getattr(value, "dims", ())) == 1:
        index = getattr(value, "coords", {}).get(value.dims[0])
    labels = getattr(index, "values", None)
    listed = [] if labels is None or callable(labels) else list(labels)
    return [str(label) for label in listed] if any(isinstance(x, str) for x in listed) else None
