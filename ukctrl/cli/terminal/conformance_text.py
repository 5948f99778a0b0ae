"""How the conformance of one's own parts is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, hanging, show, write_json

if TYPE_CHECKING:
    from ukctrl.analysis.conformance import Conformance


def show_conformance(found: Sequence[Conformance], as_json: bool) -> None:
    """Print the clauses of every part, and what came where one does not hold."""
    if as_json:
        write_json([each.to_dict() for each in found])
        return
    lines: list[Line] = []
    for part in found:
        verdict = (
            Part("conforms", "bold green") if part.ok else Part("does not conform", "bold red")
        )
        lines.append([Part(clean(part.name), "bold"), f" ({part.kind}): ", verdict])
        for finding in part.findings:
            mark, style = ("ok", "green") if finding.ok else ("NO", "bold red")
            lines += hanging(f"  {mark}  ", finding.sentence, style)
            if not finding.ok:
                lines += hanging("      ", finding.detail, text_style="yellow")
    show(lines)
