"""By how much a true robot differs from its file: a fraction, or what a fit does not know."""

from __future__ import annotations

from pathlib import Path

from ukctrl.core.number_text import number

MismatchLevel = float | str
"""By which fraction parameters of the true robot are off, or the folder of an identified robot,
from whose fit the true one is drawn."""


def mismatch_text(level: MismatchLevel) -> str:
    """Return a level as a table has it: ``10 %``, or the name of the folder."""
    return Path(level).name if isinstance(level, str) else f"{number(100.0 * level)} %"


def at_mismatch(level: MismatchLevel) -> str:
    """Return a level in a sentence."""
    text = mismatch_text(level)
    return f"on robots drawn from '{text}'" if isinstance(level, str) else f"at {text}"


def mismatch_order(level: MismatchLevel) -> tuple[bool, MismatchLevel]:
    """Return what levels are sorted by: fractions come before fits."""
    return isinstance(level, str), level
