"""What `check` found, as a card in a notebook."""

from __future__ import annotations

from ukctrl.analysis.check.check_figure import check_figure
from ukctrl.analysis.check.check_page import BADGES, LEVELS, headline
from ukctrl.analysis.check.findings import Check
from ukctrl.reports.notebook import card

MOST = 12
"""So many causes are listed."""


def html(check: Check) -> str:
    """Return the card."""
    return card(
        check.scenario,
        headline(check),
        badge=(LEVELS[check.verdict], BADGES.get(check.verdict, check.verdict)),
        lines=[(cause.level, cause.level, f"{cause.text} {cause.cure}") for cause in check.causes][
            :MOST
        ],
        figure=None if check.motion.curves is None else lambda: check_figure(check),
    )
