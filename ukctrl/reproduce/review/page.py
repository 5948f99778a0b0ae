"""Claims as a table in Markdown, for the gallery's pages."""

from __future__ import annotations

from collections.abc import Iterable

from ukctrl.reproduce import words
from ukctrl.reproduce.base import Claim

NOISE = 1e-8
"""A number of ours below this is the error of a route, and differs from machine to machine."""


def table(claims: Iterable[Claim]) -> str:
    """Return a table with one row a claim."""
    head = ["place", "quantity", "paper", "ours", "verdict", "note"]
    rows = [
        (
            *(claim.where, words.quantity(claim), words.printed(claim), ours(claim)),
            *(claim.verdict, claim.note),
        )
        for claim in claims
    ]
    lines = [head, ["---"] * len(head), *([_safe(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ours(claim: Claim) -> str:
    """Return what we find; of rounding, only that it is small."""
    if isinstance(claim.ours, float) and 0.0 < abs(claim.ours) < NOISE:
        return "below 10⁻⁸"
    return words.ours(claim)


def _safe(cell: str) -> str:
    return cell.replace("|", r"\|").replace("*", r"\*")
