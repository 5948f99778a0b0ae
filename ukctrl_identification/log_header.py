"""The names of a log's columns, taken apart: words, numbers and units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ukctrl.core.errors import InputError, did_you_mean
from ukctrl.core.message_text import printable_name

WORDS: Mapping[str, tuple[str, ...]] = {
    "time": ("time", "t", "timestamp", "stamp", "elapsed"),
    "position": ("position", "positions", "pos", "angle", "q"),
    "velocity": ("velocity", "velocities", "vel", "v", "dq", "qd", "qdot", "q_dot"),
    "effort": ("effort", "efforts", "torque", "tau", "force"),
    "current": ("current", "currents", "cur", "i"),
}
"""By which words columns are known, beside the name or before the number of a joint."""
_MOTION = {
    "deg": "deg", "rad": "rad", "mm": "mm", "rpm": "rpm", "deg_s": "deg/s", "rad_s": "rad/s",
    "m_s": "m/s", "mm_s": "mm/s",
}  # fmt: skip
SUFFIXES: Mapping[str, Mapping[str, str]] = {
    "time": {"s": "s", "sec": "s", "ms": "ms", "us": "us", "ns": "ns"},
    "position": _MOTION,
    "velocity": _MOTION,
    "effort": {"nm": "N m", "mnm": "mN m"},
    "current": {"a": "A", "ma": "mA"},
}
"""Units that the end of a column's name may say, as in ``q1_deg``."""
_BRACKETS = re.compile(r"\s*[\[(]([^\[\]()]*[^\[\]()\d\s][^\[\]()]*)[\])]\s*$")
"""What stands in brackets at the end and is no number."""


def plain_name(name: str) -> str:
    """Return a name in small letters, its words joined by underscores.

    >>> plain_name("Elbow.position"), plain_name("q[0]")
    ('elbow_position', 'q_0')
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


class Header(NamedTuple):
    """The names of a log's columns."""

    source: str
    """What messages call the log."""
    names: tuple[str, ...]
    """As they are."""

    def named(self, name: str) -> str | None:
        """Return the column that a user names, with its unit or without; None: there is none."""
        if name in self.names:
            return name
        return next((one for one in self.names if _BRACKETS.sub("", one) == name), None)

    def find(self, quantity: str, aliases: Sequence[str]) -> str | None:
        """Return the column that has one of some plain names; None: there is none.

        A name that ends in a unit counts where no other does.

        Raises:
            InputError: There are several.
        """
        for without_unit in (False, True):
            columns = [
                name
                for name in dict.fromkeys(self.names)
                if any(one in aliases for one in _plain_names(name, quantity, without_unit))
            ]
            if len(columns) > 1:
                raise InputError(
                    f"{self.source}: columns '{columns[0]}' and '{columns[1]}' may both be "
                    f"'{aliases[0]}'; name the one that is by {quantity} in the table [log]."
                )
            if columns:
                return columns[0]
        return None

    def numbers(self, quantity: str, beginning: str) -> set[int]:
        """Return the numbers that follow a beginning, as in ``q1``, ``q2``."""
        pattern = re.compile(rf"{beginning}(\d+)")
        plain = (
            one
            for name in self.names
            for without_unit in (False, True)
            for one in _plain_names(name, quantity, without_unit)
        )
        return {int(match[1]) for one in plain if (match := pattern.fullmatch(one))}

    def unit(self, column: str, quantity: str, aliases: Sequence[str]) -> str | None:
        """Return the unit that a column's name says; None: it says none.

        Args:
            column: Its name.
            quantity: What it holds.
            aliases: Plain names of what it holds, whose endings are no units.
        """
        plain = plain_name(column)
        if plain in aliases:
            return None
        if match := _BRACKETS.search(column):
            return match[1]
        ends = [s for s in SUFFIXES[quantity] if plain.endswith(f"_{s}")]
        return SUFFIXES[quantity][max(ends, key=len)] if ends else None

    def near_miss(self, wanted: Sequence[str]) -> str:
        """Return the end of a message about a column that is missing: the near miss, and all."""
        pairs = [(SequenceMatcher(None, a, b).ratio(), b) for a in self.names for b in wanted]
        near = did_you_mean(max(pairs, default=(0.0, ""))[1], self.names)
        known = ", ".join(printable_name(one) for one in self.names[:12])
        return f"{near} Columns: {known or 'none'}{', ...' if len(self.names) > 12 else '.'}"


def _plain_names(name: str, quantity: str, without_unit: bool) -> list[str]:
    """Return the plain names of a column: as it is, or without the unit that its end may be."""
    plain = plain_name(name)
    if without_unit:
        return [plain.removesuffix(f"_{s}") for s in SUFFIXES[quantity] if plain.endswith(f"_{s}")]
    # what stands in brackets may be a unit, or as in position[elbow] a name
    return [plain_name(_BRACKETS.sub("", name)), plain]
