"""What can be known of a scenario before it is simulated."""

from ukctrl.analysis.check.check import check
from ukctrl.analysis.check.findings import Actuation, Check, RowCheck

__all__ = ["Actuation", "Check", "RowCheck", "check"]
