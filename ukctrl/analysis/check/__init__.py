"""What can be known of a scenario before it is simulated?

In order: `check.py` asks everything; `at_start.py` the start alone; `task_motion.py`, with
`inverse_kinematics.py` and `where_it_ends.py`, the motion that the task asks for; along it
`ranks_along.py`, `feasibility.py` (with `needed_inputs.py` and `limit_use.py`) and
`control_period.py`; `judgement.py` says what all of that means; `findings.py` holds the answers.
"""

from ukctrl.analysis.check.check import check
from ukctrl.analysis.check.findings import Actuation, AlongMotion, AtStart, Check, RowCheck, Way

__all__ = ["Actuation", "AlongMotion", "AtStart", "Check", "RowCheck", "Way", "check"]
