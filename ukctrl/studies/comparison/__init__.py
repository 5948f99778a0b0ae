"""Who is best at what? Several controllers on one scenario, compared fairly.

In order:

1. ``entry``: one controller, its name and what it alone believes; all of them.
2. ``fairness``, ``equal_bandwidth``, ``ranking``: what was equal, how stiff the loops are; who is
   best, how sure a page is of all that it claims, and also where the true robot is off.
3. ``pareto_front``, ``front_settings``: what each law can do whatever its gains, and at which
   settings.
4. ``comparison_verdicts``, ``comparison``: the answer, in words and as data. Lower is always
   better, and only runs that completed are ranked: one that ended early has spent less of
   everything.
5. ``compare``: all the runs: first of each, repeats, robots that are off, gains tuned before;
   none of them twice, even after a kill.
6. ``comparison_figures``, ``front_figure``, ``comparison_tables``, ``comparison_page``: its
   figures, tables and page, and what the terminal and a notebook show.
"""

from ukctrl.studies.comparison.compare import compare
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.comparison_page import write_comparison
from ukctrl.studies.comparison.entry import Entry
from ukctrl.studies.comparison.fairness import FairnessCondition, RunConditions
from ukctrl.studies.comparison.front_settings import Front
from ukctrl.studies.comparison.pareto_front import FrontDifference, Fronts
from ukctrl.studies.comparison.ranking import (
    MetricRanking,
    MismatchStatistics,
    PairedComparison,
    Robustness,
)

__all__ = [
    "Comparison", "Entry", "FairnessCondition", "Front", "FrontDifference", "Fronts",
    "MetricRanking", "MismatchStatistics", "PairedComparison", "Robustness", "RunConditions",
    "compare", "write_comparison",
]  # fmt: skip
