"""What can be known of a scenario before it is simulated.

In order:

1. ``at_start``: ranks, reach, closures, what the task leaves free.
2. ``task_motion``, with ``inverse_kinematics``: the motion it asks for, and where it ends.
3. ``ranks_along``, ``feasibility``, ``needed_inputs``: what that motion takes.
4. ``control_period``: what the hold does to the errors.
5. ``judgement``, ``findings``: what it all means. ``check`` asks them in this order.
"""

from ukctrl.analysis.check.check import check
from ukctrl.analysis.check.findings import Actuation, AlongMotion, AtStart, Check, RowCheck, Way

__all__ = ["Actuation", "AlongMotion", "AtStart", "Check", "RowCheck", "Way", "check"]
