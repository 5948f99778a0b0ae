"""The closed loop, and when something happens in it."""

from __future__ import annotations

from ukctrl.simulation.loop.drift_limits import Drifted
from ukctrl.simulation.loop.prepare import Loop

__all__ = ["Drifted", "Loop"]
