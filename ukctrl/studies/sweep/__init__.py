"""How does a scenario fare where some of its values vary?

In order:

1. ``spread``, ``factor``, ``plan``, ``point``: what varies, which values each sample has, and the
   scenario that these make.
2. ``journal``, ``study_table``, ``study``: the records, as lines, a table and a folder;
   ``study_card``: what a notebook shows.
3. ``sample``, ``try_out``: one sample as a task; does it fit at all.
4. ``keep``: results kept whole.
5. ``sweep``: all of it, which goes on where it was stopped or killed.
"""

from ukctrl.studies.batch.cluster import Cluster, cluster
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.keep import Keep
from ukctrl.studies.sweep.plan import DESIGNS, Design, Plan
from ukctrl.studies.sweep.spread import Levels, Log, Normal, Uniform, Whole
from ukctrl.studies.sweep.study import Study
from ukctrl.studies.sweep.sweep import Progress, Tally, sweep

__all__ = [
    "DESIGNS",
    "Cluster",
    "Design",
    "Factor",
    "Keep",
    "Levels",
    "Log",
    "Normal",
    "Plan",
    "Progress",
    "Study",
    "Tally",
    "Uniform",
    "Whole",
    "cluster",
    "sweep",
]
