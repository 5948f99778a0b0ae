"""Tables of runs: the same scenario under several controllers, or with many gains of one."""

from ukctrl.study.comparing import compare
from ukctrl.study.entry import Entry
from ukctrl.study.tuning import tune

__all__ = ["Entry", "compare", "tune"]
