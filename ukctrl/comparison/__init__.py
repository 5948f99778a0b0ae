"""Several controllers on one scenario, compared fairly: what was equal, who is best at what.

Only controllers whose runs completed are ranked: one that ended early has spent less of
everything. Lower is better for every metric.
"""

from ukctrl.comparison.comparing import compare
from ukctrl.comparison.comparison import Comparison, Conditions
from ukctrl.comparison.entry import Entry
from ukctrl.comparison.fairness import Fact
from ukctrl.comparison.ranking import Pair, Row
from ukctrl.comparison.robustness import AtLevel, Robustness

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
