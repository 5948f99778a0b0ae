"""A comparison, as a card in a notebook."""

from __future__ import annotations

from ukctrl.reports.notebook import card
from ukctrl.reports.plot import overlay
from ukctrl.reports.scene.from_results import of_results
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_tables import metric_table


def html(comparison: Comparison) -> str:
    """Return the card."""
    return card(
        comparison.title,
        comparison.verdicts[0].text,
        table=metric_table(comparison, short=True),
        figure=lambda: overlay.errors(comparison.results),
        scene=lambda: of_results(comparison.results),
    )
