"""Many runs of one scenario, with some of its values varied, that survive being killed."""

from ukctrl.study.cluster import Cluster, cluster
from ukctrl.study.factor import Factor
from ukctrl.study.keep import Keep
from ukctrl.study.plan import DESIGNS, Design, Plan
from ukctrl.study.spread import Levels, Log, Normal, Uniform, Whole
from ukctrl.study.study import Study
from ukctrl.study.sweeping import Progress, Tally, sweep

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
