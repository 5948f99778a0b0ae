"""What happens between the law and the robot at a state, and when does something happen?

In order:

1. ``prepare``: robots and start; the loop's right-hand side. ``law_checks``: what it must answer.
2. ``plants_over_time``: the true robot, as effects change it, and its integrator.
3. ``spans``: from which moment to which nothing happens. ``drift_limits``: when to stop.
4. ``recorder``, ``joint_error``: what is kept of a sample.
5. ``provenance``: what a result says of its making.
"""

from __future__ import annotations

from ukctrl.simulation.loop.drift_limits import Drifted
from ukctrl.simulation.loop.prepare import Loop

__all__ = ["Drifted", "Loop"]
