"""A claim's numbers as texts: as many digits of ours as the printed ones can be judged by."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ukctrl.core.number_text import number, unit_text
from ukctrl.core.verdict import Level
from ukctrl_papers.claim import Claim, Verdict

VERDICT_LEVELS: dict[Verdict, Level] = {
    "agrees": "good",
    "differs: misprint": "note",
    "differs: underspecified": "note",
    "differs: claim does not hold": "warning",
    "not reproducible": "note",
    "differs": "bad",
}
"""How much of the reader's attention a verdict asks for."""

_ASCII = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")

Format = Callable[[float, int], str]
"""Writes a number with so many significant digits."""


def quantity_text(claim: Claim) -> str:
    """Return what it is about, with its unit."""
    unit = unit_text(claim.unit)
    return f"{claim.what} [{unit}]" if unit else claim.what


def printed_text(claim: Claim, form: Format = number) -> str:
    """Return what the paper prints; nothing where it prints nothing."""
    if claim.printed is None:
        return ""
    return claim.printed if isinstance(claim.printed, str) else _printed_number(claim.printed, form)


def computed_text(claim: Claim, form: Format = number) -> str:
    """Return what we find, with one digit more than is printed."""
    if isinstance(claim.ours, str):
        return claim.ours
    if not math.isfinite(claim.ours):
        return form(claim.ours, 1)
    if float(claim.ours).is_integer() and abs(claim.ours) < 1e12:
        return f"{claim.ours:.0f}".replace("-", "−" if form is number else "-")
    digits = (
        0 if isinstance(claim.printed, str) or claim.printed is None else _digits(claim.printed)
    )
    return form(float(claim.ours), max(4, digits + 1))


def bound_text(value: float, bound: float) -> str:
    """Return the bound of what is rounding, ``1e-09``, which is the same on every processor.

    Where it is not kept, return the number.
    """
    return f"{bound if value <= bound else value:.0e}"


def difference_text(claim: Claim, form: Format = number) -> str:
    """Return the relative difference in per cent; nothing for words.

    The absolute one where zero is printed.
    """
    if math.isnan(claim.difference):
        return ""
    if claim.printed == 0.0:
        return form(claim.difference, 2)
    if claim.difference < 1e-9:
        return "0 %"
    return f"{form(100.0 * claim.difference, 2)} %"


def _printed_number(value: float, form: Format) -> str:
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{value:.0f}".replace("-", "−" if form is number else "-")
    return form(float(value), _digits(value))


def _digits(value: float) -> int:
    """Return the significant digits of a number that somebody has typed, six at most.

    What a printed formula gives has as many digits as the computer, and nobody reads them.
    """
    mantissa = f"{value:.6g}".partition("e")[0]
    return max(1, len(re.sub(r"\D", "", mantissa).strip("0")))


def ascii_number(value: float, digits: int) -> str:
    """Return a number for terminals, which need not know superscripts: ``8e-4``."""
    if not math.isfinite(value):
        return str(value)
    return number(value, digits).replace("×10", "e").translate(_ASCII)
