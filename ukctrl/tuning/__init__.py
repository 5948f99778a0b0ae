"""Gains chosen by simulation: the same budget, the same search and the same seed for every law.

A search looks at the gains of the card first, then at a Sobol sequence over their ranges, spread
evenly in their logarithms, and goes on downhill from the best of these with the simplex of Nelder
and Mead. What it has found is a [`Tuning`][ukctrl.tuning.Tuning], which keeps every trial, so that
a search can be taken up where it was left.
"""

from ukctrl.tuning.cost import Cost
from ukctrl.tuning.gains import Gain, gains_of, read_range, with_ranges
from ukctrl.tuning.kept import (
    Kept,
    TuningStopped,
    believed,
    forget_kept,
    kept_of,
    read_kept,
    write_kept,
)
from ukctrl.tuning.record import Trial, Tuning
from ukctrl.tuning.search import Budget, tune

__all__ = [
    "Budget",
    "Cost",
    "Gain",
    "Kept",
    "Trial",
    "Tuning",
    "TuningStopped",
    "believed",
    "forget_kept",
    "gains_of",
    "kept_of",
    "read_kept",
    "read_range",
    "tune",
    "with_ranges",
    "write_kept",
]
