"""The fastest way along a path: its time-optimal timing within a robot's limits.

In order: ``reachable`` (the fastest profile on a grid of linear limits), ``motor_room`` (what
motors give together), ``path_limits`` (a robot's limits along a path of its joints), ``clock``
(s over the time) and ``time_optimal``.
"""

from __future__ import annotations

from ukctrl.mechanics.timing.path_limits import JointPath, Kept, PathLimits
from ukctrl.mechanics.timing.time_optimal import Timed, in_words, time_optimal

__all__ = ["JointPath", "Kept", "PathLimits", "Timed", "in_words", "time_optimal"]
