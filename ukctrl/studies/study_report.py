"""Report of a study: what the terminal, a notebook's card and the page show of it, told once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import notebook_card
from ukctrl.reports.report_table import ReportTable
from ukctrl.reports.scene.scene import Scene


class ReportSection(NamedTuple):
    """Table of a report."""

    table: ReportTable
    heading: str = ""
    max_rows: int | None = None
    """Rows where there is little room; None: all."""


class Report(NamedTuple):
    """What is shown of a study, in this order."""

    title: str
    verdicts: Sequence[Verdict]
    """The first sums up."""
    sections: Sequence[ReportSection] = ()
    facts: Sequence[tuple[str, str]] = ()
    """How it was made: names and texts."""
    files: Sequence[tuple[str, str]] = ()
    """What is written of it: labels and names; the first is the page."""
    page_verdicts: Sequence[Verdict] = ()
    """Verdicts for which the page alone has room."""
    status: str = ""
    """How much of it is there."""
    status_level: Level = "good"
    advice: str = ""
    """The command that comes next."""

    def card(self, scene: Scene | None = None) -> str:
        """Return the card of a notebook: what sums up, the first table, and what moves."""
        table = self.sections[0].table if self.sections else None
        return notebook_card.card(self.title, self.verdicts[0].text, table=table, scene=scene)
