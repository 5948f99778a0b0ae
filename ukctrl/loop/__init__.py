"""The closed loop, and when something happens in it."""

from __future__ import annotations

from ukctrl.loop.closed import STOPPED, Loop, Progress
from ukctrl.loop.watch import Drifted

__all__ = ["STOPPED", "Drifted", "Loop", "Progress"]
