"""Write measured tables into docs/reference/benchmarks.md, between the marks that name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGE = DOCS / "benchmarks.md"


def write_tables(texts: Mapping[str, str]) -> None:
    """Put every text in the place of its name; other benchmarks' stay as they are."""

    def filled(match: re.Match[str]) -> str:
        text = texts.get(match[1])
        return match[0] if text is None else f"<!-- measured: {match[1]} -->\n\n{text}\n\n{END}"

    page = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(rf"<!-- measured: (\w+) -->[^<]*{END}", filled, page), "utf-8")


END = "<!-- end -->"
