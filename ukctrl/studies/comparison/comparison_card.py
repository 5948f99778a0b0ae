"""A comparison, as a card in a notebook."""

from __future__ import annotations

from ukctrl.reports.notebook_card import card
from ukctrl.reports.scene.run_scene import runs_scene
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_tables import metric_table


def html(comparison: Comparison) -> str:
    """Return the card."""
    return card(
        comparison.title,
        comparison.verdicts[0].text,
        table=metric_table(comparison, short=True),
        scene=runs_scene(comparison.results),
    )
