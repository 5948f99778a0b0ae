"""How does a scenario fare where some of its values vary?

In order:

1. ``distributions``, ``factor``, ``sampling_plan``, ``point_scenarios``: what varies, which values
   each sample has, and the scenario that these make.
2. ``sample_record``, ``study_table``, ``study``: the records, as lines, a table and a folder.
3. ``sample_task``, ``dry_run``: one sample as a task; does it fit at all.
4. ``retention``: results kept whole.
5. ``sweep``: all of it, which goes on where it was stopped or killed.
"""

from ukctrl.studies.batch.dask_cluster import Cluster, cluster
from ukctrl.studies.sweep.distributions import IntegerRange, Levels, Log, Normal, Uniform
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.retention import RetentionPolicy
from ukctrl.studies.sweep.sampling_plan import DESIGNS, Design, SamplingPlan
from ukctrl.studies.sweep.study import Study
from ukctrl.studies.sweep.sweep import Progress, SweepProgress, sweep

__all__ = [
    "DESIGNS", "Cluster", "Design", "Factor", "IntegerRange", "Levels", "Log", "Normal",
    "Progress", "RetentionPolicy", "SamplingPlan", "Study", "SweepProgress", "Uniform",
    "cluster", "sweep",
]  # fmt: skip
