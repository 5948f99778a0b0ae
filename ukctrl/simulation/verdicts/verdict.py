"""A verdict, and what all of them share."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ukctrl.core.number_text import number

Level = Literal["good", "note", "warning", "bad"]

NEGLIGIBLE = 1e-6
"""Errors [m, rad] and row accelerations [m/s^2, rad/s^2] below this are rounding."""


class Verdict(NamedTuple):
    """One judgement: how good the news is, what it is about, and the words."""

    level: Level
    subject: str
    text: str


def percent(share: float) -> str:
    """Return a share in words: `0.25` gives `25 %`."""
    value = 100.0 * share
    return f"{number(value, 2)} %" if value < 1.0 else f"{value:.3g} %"
