"""Tables and numbers in Markdown, for the gallery's pages.

A page is computed again wherever it is checked, and must come out the same on every machine. What
rounding or an integrator's tolerance leaves is therefore given as a bound that the page's author
chose, with a reason, and that is checked: the decade in which such a number falls is no fact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ukctrl import papers

__all__ = [
    "NotKept",
    "above",
    "below",
    "claims_table",
    "error",
    "fixed",
    "minus",
    "power",
    "table",
    "within",
]

NOISE = 1e-8
"""A number of ours below this is the error of a route, and a claim's table says no more of it."""
FAR = 1e3
"""An error that is none of rounding is larger than the bound of rounding by this, at least."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class NotKept(ValueError):
    """A number is not where the page's author said that it is on every machine."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def claims_table(claims: Iterable[papers.Claim]) -> str:
    """Return a table with one row a claim; of our rounding, only that it is small."""
    head = ["place", "quantity", "paper", "ours", "verdict", "note"]
    rows = (
        (
            *(
                claim.where,
                papers.claim_text.quantity_text(claim),
                papers.claim_text.printed_text(claim),
                _ours(claim),
            ),
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


def below(value: float, bound: float) -> str:
    """Return the bound of a small number, a power of ten: ``below 10⁻⁹``.

    Args:
        value: Not negative.
        bound: Chosen with a reason, 10 to 1000 times what processors give.

    Raises:
        NotKept: The number is larger.
    """
    if not value <= bound:
        raise NotKept(f"must be below {bound:.0e}; got {value:.3e}.")
    return f"below {_ten(bound)}"


def above(value: float, bound: float) -> str:
    """Return the bound of a large number that rounding decides: ``above 10``.

    Raises:
        NotKept: The number is smaller.
    """
    if not value >= bound:
        raise NotKept(f"must be above {bound:g}; got {value:.3e}.")
    return f"above {bound:g}"


def within(value: float, low: float, high: float, text: str) -> str:
    """Return a text that holds for every number of a range.

    Raises:
        NotKept: The number is outside.
    """
    if not low <= value <= high:
        raise NotKept(f"'{text}' must be within {low:g} .. {high:g}; got {value:.4g}.")
    return text


def error(value: float, bound: float, large: Callable[[float], str] = "{:.2g}".format) -> str:
    """Return the bound of an error that is rounding, as `below` does, else the error.

    Args:
        value: Not negative.
        bound: Of what is rounding.
        large: Writes an error that is more.

    Raises:
        NotKept: It is neither: above the bound, and not far above it.
    """
    if value < FAR * bound:
        return below(value, bound)
    return large(value)


def _ten(power: float) -> str:
    exponent = round(math.log10(power))
    return {0: "1", -1: "0.1"}.get(exponent, f"10{str(exponent).translate(_RAISED)}")


def _ours(claim: papers.Claim) -> str:
    if isinstance(claim.ours, float) and 0.0 < abs(claim.ours) < NOISE:
        return f"below {_ten(NOISE)}"
    return papers.claim_text.computed_text(claim)


def _safe(cell: str) -> str:
    return cell.replace("|", r"\|").replace("*", r"\*")
