"""The closed loop, and when something happens in it."""

from __future__ import annotations

from ukctrl.loop.closed import Loop, Progress
from ukctrl.loop.watch import Drifted

__all__ = ["Drifted", "Loop", "Progress"]
