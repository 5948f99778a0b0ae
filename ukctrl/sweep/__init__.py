"""Many runs of one scenario, with some of its values varied, that survive being killed."""

from ukctrl.sweep.cluster import Cluster, cluster
from ukctrl.sweep.factor import Factor
from ukctrl.sweep.keep import Keep
from ukctrl.sweep.plan import DESIGNS, Design, Plan
from ukctrl.sweep.spread import Levels, Log, Normal, Uniform, Whole
from ukctrl.sweep.study import Study
from ukctrl.sweep.sweeping import Progress, Tally, sweep

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
