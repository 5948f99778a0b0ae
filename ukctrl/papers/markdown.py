"""Tables and numbers in Markdown, for the gallery's pages.

A page is computed again wherever it is checked, and must come out the same on every machine: what
is rounding is given as a bound, far enough away for another machine's last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ukctrl.papers import digits
from ukctrl.papers.claim import Claim

__all__ = ["bound", "claims_table", "error", "fixed", "minus", "power", "table"]

NOISE = 1e-8
"""A number of ours below this is the error of a route, and differs from machine to machine."""
BOUNDS = (-11, -9, -8)
"""The powers of ten that an error is said to be below."""
LOWEST = -12
"""No bound is closer to zero than this power of ten."""
MARGIN = 3.0
"""How many times an error fits into its bound at least."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def claims_table(claims: Iterable[Claim]) -> str:
    """Return a table with one row a claim; of our rounding, only that it is small."""
    head = ["place", "quantity", "paper", "ours", "verdict", "note"]
    rows = (
        (
            *(claim.where, digits.quantity(claim), digits.printed(claim), _ours(claim)),
            *(claim.verdict, claim.note),
        )
        for claim in claims
    )
    return table(head, ([_safe(cell) for cell in row] for row in rows))


def minus(text: str) -> str:
    """Return a number's text with the sign that is printed: ``−0.5``."""
    return text.replace("-", "−")


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals, and no negative zero."""
    rounded = round(value, decimals) + 0.0
    return minus(f"{rounded:.{decimals}f}")


def power(value: float, digits: int = 2) -> str:
    """Return a number with so many significant digits and a power of ten: ``1.2·10⁻⁹``."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return minus(f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}")


def bound(value: float) -> str:
    """Return the power of ten that a small positive number is clearly below: ``below 10⁻⁹``."""
    return _below(max(LOWEST, math.ceil(math.log10(MARGIN * value))))


def error(value: float, large: Callable[[float], str] = "{:.2g}".format) -> str:
    """Return a bound of an error that is rounding, ``below 10⁻⁹``, else the error.

    Args:
        value: Not negative.
        large: Writes an error that is more than rounding.
    """
    for exponent in BOUNDS:
        if MARGIN * value < 10.0**exponent:
            return _below(exponent)
    return large(value)


def _below(exponent: int) -> str:
    return f"below 10{str(exponent).translate(_RAISED)}"


def _ours(claim: Claim) -> str:
    if isinstance(claim.ours, float) and 0.0 < abs(claim.ours) < NOISE:
        return "below 10⁻⁸"
    return digits.ours(claim)


def _safe(cell: str) -> str:
    return cell.replace("|", r"\|").replace("*", r"\*")
