"""Many runs of one scenario, with some of its values varied, that survive being killed."""

from ukctrl.studies.sweep.cluster import Cluster, cluster
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
