"""What can be known of a scenario before it is simulated."""

from ukctrl.analysis.checking import check
from ukctrl.analysis.found import Actuation, Check, RowCheck

__all__ = ["Actuation", "Check", "RowCheck", "check"]
