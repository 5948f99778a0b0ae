"""Fill in what `ukctrl check` says of every scenario of the catalogue, in `check.md`.

python docs/reference/check_table.py              # write the table
python docs/reference/check_table.py NAME...      # only these rows, the others as they are
python docs/reference/check_table.py --check [NAME...]   # compare; exit 1 if stale
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ukctrl import Check, Scenario, catalog, check

PAGE = Path(__file__).with_name("check.md")
TABLE = re.compile(r"(?<=<!-- table: catalogue -->\n\n)(.*?)(?=\n\n<!-- end -->)", re.DOTALL)
HEAD = (
    "| scenario | mobility | motors | rank $A$ | rank $H$ | realisation | relative degree "
    "| motion | nearest to singular | most used | verdict |"
)
WORDS = {"joint motion": "kinematics", "path alone": "path", "none": "-"}
VERDICTS = {"ready": "ready", "warnings": "warnings", "not ready": "**not ready**"}


def row_of(found: Check, name: str) -> str:
    """Return what was found of one scenario, as a row of the table."""
    ranks, rows = found.motion.ranks, len(found.start.rows)
    cells = [
        f"`{name}`",
        str(found.start.mobility),
        f"{found.start.motors}, {found.start.actuation}" if found.start.motors else "none",
        f"{found.start.servo.rank} of {rows}" if rows else "-",
        f"{found.start.grip.rank} of {rows}" if rows else "-",
        ranks.realisation if ranks is not None and rows else "-",
        _degrees(found),
        WORDS.get(found.motion.way.kind, found.motion.way.kind),
        _nearest(found),
        _most_used(found),
        VERDICTS[found.verdict],
    ]
    return f"| {' | '.join(cells)} |"


def _degrees(found: Check) -> str:
    dependent = set(found.start.servo.dependent)
    known = {
        str(row.relative_degree or f"at least {row.relative_degree_at_least}")
        for row in found.start.rows
        if row.name not in dependent
    }
    return ", ".join(sorted(known)) or "-"


def _nearest(found: Check) -> str:
    if found.motion.ranks is None or not found.motion.ranks.servo.highest:
        return "-"
    if found.motion.way.stop is not None:
        return f"ends at {found.motion.way.stop.t:.3g} s"
    servo = found.motion.ranks.servo
    return f"{servo.worst:.2g}"


def _most_used(found: Check) -> str:
    needs = found.motion.feasibility
    most = needs and needs.most_used
    return f"{100.0 * (most.share or 0.0):.0f} % (`{most.name}`)" if most else "-"


def rows_of(names: list[str]) -> dict[str, str]:
    """Return the rows of scenarios by their names."""
    return {name: row_of(check(Scenario.load(name)), name) for name in names}


def rows_on_page() -> dict[str, str]:
    """Return the rows that stand on the page, by scenario."""
    match = TABLE.search(PAGE.read_text(encoding="utf-8"))
    lines = [] if match is None else match[1].splitlines()[2:]
    return {line.split("`")[1]: line for line in lines}


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("name", nargs="*", help="scenarios; absent: all")
    options = parser.parse_args()
    every = list(catalog.names("scenarios"))
    old = rows_on_page()
    new = rows_of(options.name or every)
    stale = [name for name, row in new.items() if old.get(name) != row]
    if options.check:
        for name in stale:
            print(f"stale: {old.get(name)}\nnow:   {new[name]}")
        return int(bool(stale))
    rows = {**old, **new}
    lines = [HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    lines += [rows[name] for name in every if name in rows]
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: "\n".join(lines), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
