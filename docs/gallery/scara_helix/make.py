"""Fill in the tables of `scara-helix.md`, the page above this folder, and draw its figures.

    python docs/gallery/scara_helix/make.py           # write the tables and the figures
    python docs/gallery/scara_helix/make.py --check   # only compare the tables

Every table of the page that holds computed numbers stands between two comments,
`<!-- table: NAME -->` and `<!-- end -->`; a computed number in a sentence between
`<!-- fact: NAME -->` and `<!-- end -->`. Nothing between them is typed by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # so that --check works from anywhere

from figures import draw  # noqa: E402
from tables import FACTS, TABLES  # noqa: E402

PAGE = HERE.parent / "scara-helix.md"
PLACE = re.compile(r"<!-- (table|fact): (\w+) -->[^<]*<!-- end -->")
"""A place to fill; `<` cannot stand in one, so a place never reaches into the next."""


def filled(page: str) -> str:
    """Return the page with every number computed anew."""
    found = PLACE.findall(page)
    for name in (*TABLES, *FACTS):
        assert [place for _, place in found].count(name) == 1, f"one place for '{name}'"
    return PLACE.sub(lambda match: place(match[1], match[2]), page)


def place(kind: str, name: str) -> str:
    """Return a place with what belongs there."""
    text = FACTS[name]() if kind == "fact" else f"\n\n{TABLES[name]()}\n\n"
    return f"<!-- {kind}: {name} -->{text.replace('<', '&lt;')}<!-- end -->"


def main() -> int:
    """Write, or check."""
    page = PAGE.read_text(encoding="utf-8")
    fresh = filled(page)
    if "--check" not in sys.argv:
        PAGE.write_text(fresh, encoding="utf-8")
        draw(HERE.parent / "figures")
        return 0
    for old, new in zip(page.splitlines(), fresh.splitlines(), strict=False):
        if old != new:
            print(f"stale: {old}\nnow:   {new}")
    return int(page != fresh)


if __name__ == "__main__":
    sys.exit(main())
