"""The closed loop, and when something happens in it."""

from __future__ import annotations

from ukctrl.simulation.loop.closed import STOPPED, Loop, Progress
from ukctrl.simulation.loop.drift_limits import Drifted

__all__ = ["STOPPED", "Drifted", "Loop", "Progress"]
