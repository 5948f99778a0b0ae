"""One value for all, or a table of values by name, spread over an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name

NONE: Mapping[str, Sequence[str]] = MappingProxyType({})


def spread(
    given: float | Mapping[str, float],
    names: Sequence[str],
    what: str,
    default: float | None = None,
    groups: Mapping[str, Sequence[str]] = NONE,
) -> Vector:
    """Return one value a name, shape ``(len(names),)``.

    Args:
        given: One value for all, or a table by name.
        names: What there is.
        what: What messages call one of them, such as ``"actuator"``.
        default: The value where a table names none; None: it must name all.
        groups: Names by the word that stands for all of them in a table; single names go before.

    Raises:
        UnknownName: The table names what there is not.
        InputError: The table leaves out a name.
    """
    if not isinstance(given, Mapping):
        return np.full(len(names), float(given))
    for name in given:
        if name not in names and name not in groups:
            raise unknown_name(what, name, (*groups, *names))
    values = {name: given[word] for word in groups if word in given for name in groups[word]}
    values |= given
    missing = [name for name in names if name not in values]
    if missing and default is None:
        raise InputError(f"must have a number for every {what}; '{missing[0]}' is missing.")
    return np.array([values.get(name, default) for name in names], dtype=np.float64)
