"""Several controllers on one scenario, compared fairly: what was equal, who is best at what.

Only controllers whose runs completed are ranked: one that ended early has spent less of
everything. Lower is better for every metric.
"""

from ukctrl.studies.comparison.compare import compare
from ukctrl.studies.comparison.comparison import Comparison, Conditions
from ukctrl.studies.comparison.entry import Entry
from ukctrl.studies.comparison.fairness import Fact
from ukctrl.studies.comparison.ranking import Pair, Row
from ukctrl.studies.comparison.robustness import AtLevel, Robustness

__all__ = [
    "AtLevel",
    "Comparison",
    "Conditions",
    "Entry",
    "Fact",
    "Pair",
    "Robustness",
    "Row",
    "compare",
]
