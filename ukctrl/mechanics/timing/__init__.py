"""The fastest way along a path: its time-optimal timing within a robot's limits.

In order: ``reachability`` (the fastest profile on a grid of linear limits), ``input_zonotope``
(what motors give together), ``path_limits`` (a robot's limits along a path of its joints),
``clock`` (s over the time) and ``time_optimal``.
"""

from __future__ import annotations

from ukctrl.mechanics.timing.path_limits import GeometricPath, PathLimits, TimingLimits
from ukctrl.mechanics.timing.time_optimal import OptimalTiming, describe_binding, time_optimal

__all__ = [
    "GeometricPath",
    "OptimalTiming",
    "PathLimits",
    "TimingLimits",
    "describe_binding",
    "time_optimal",
]
