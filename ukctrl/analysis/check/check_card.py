"""What `check` found, as a card in a notebook."""

from __future__ import annotations

from ukctrl.analysis.check.check_page import headline
from ukctrl.analysis.check.check_result import Check
from ukctrl.reports.notebook_card import card
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn

MAX_CAUSES = 12
"""So many causes are listed."""


def html(check: Check) -> str:
    """Return the card."""
    causes = (
        (TableCell(cause.level, cause.level), f"{cause.text} {cause.cure}")
        for cause in check.causes[:MAX_CAUSES]
    )
    columns = TableColumn("", "text"), TableColumn("", "text")
    return card(check.scenario, headline(check), table=ReportTable.from_rows(columns, causes))
