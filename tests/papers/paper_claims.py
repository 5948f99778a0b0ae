"""Every claim of the papers as it was found, kept in `paper_claims.csv`.

    python -m tests.papers.paper_claims          # write it anew, after reading what changed and why

A number is kept to seven digits. One below `ROUNDING`, the error of something that is exact, is
kept as zero; where rounding alone decides (`VARIES`), nothing is kept but the verdict.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ukctrl_papers import papers
from ukctrl_papers.claim import Claim, ClaimGenerator
from ukctrl_papers.registry import load

TABLE = Path(__file__).with_suffix(".csv")
FIELDS = ("paper", "part", "where", "what", "printed", "ours", "unit", "within", "verdict", "note")
ROUNDING = 1e-8
VARIES = {"worst Penrose residual of Varga's method without pivoting"}


def parts() -> list[tuple[str, ClaimGenerator]]:
    """Return every part of every paper, but the runs that take minutes."""
    given = [(key, part) for key in papers() for part in load(key).claims]
    return [
        (key, part) for key, part in given if place(part) != "pseudoinverses.table_claims.claims"
    ]


def place(part: ClaimGenerator) -> str:
    """Return where in the papers a part is: ``servo.claims.motion``."""
    return f"{part.__module__.removeprefix('ukctrl_papers.')}.{part.__name__}"


def row(key: str, part: ClaimGenerator, claim: Claim) -> dict[str, str]:
    """Return a claim as words."""
    return {
        "paper": key,
        "part": place(part),
        "where": claim.where,
        "what": claim.what,
        "printed": worded(claim.printed),
        "ours": "" if claim.what in VARIES else worded(claim.ours),
        "unit": claim.unit,
        "within": worded(claim.within),
        "verdict": claim.verdict,
        "note": claim.note,
    }


def worded(value: float | str | None) -> str:
    """Return a value as the table keeps it."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.7g}" if abs(value) >= ROUNDING or value != value else "0"


def kept() -> Iterator[dict[str, str]]:
    """Yield the rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def number(text: str) -> float | str:
    """Return a value of the table as it was before it was words."""
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(row(key, part, claim) for key, part in parts() for claim in part())
