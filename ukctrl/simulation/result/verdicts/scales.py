"""What all verdicts of a run share: when an error is rounding, and when something was worst."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import quantity
from ukctrl.core.verdict import Level
from ukctrl.simulation.result.record import Record

NEGLIGIBLE = 1e-6
"""Errors [m, rad] and row accelerations [m/s^2, rad/s^2] below this are rounding."""
SLIPPERY = 0.8
"""Rubber on dry concrete holds up to about this coefficient of friction."""


def graded(value: float, fine: float, doubtful: float, beyond: Level = "warning") -> Level:
    """Return ``good`` up to one bound, ``note`` up to another, and what is said beyond."""
    return "good" if value <= fine else "note" if value <= doubtful else beyond


def largest(result: Record, values: NDArray[np.float64]) -> tuple[float, str]:
    """Return the largest of a sampled quantity, and when that was: ``t = 1.2 s``."""
    at = quantity(float(result.time[first_largest(values)]), "s")
    return float(np.nanmax(values)), f"t = {at}"


def smallest(result: Record, values: NDArray[np.float64]) -> tuple[float, str]:
    """Return the smallest of a sampled quantity, and when that was."""
    value, at = largest(result, -values)
    return -value, at
