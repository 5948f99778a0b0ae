"""What a run records: sampled arrays, and the names and units along their axes.

Plain NumPy and nothing else, so that a study can read thousands of runs without paying
for xarray. [`ukctrl.result`][] adds the status, the files and the labelled dataset.
"""

from __future__ import annotations

from ukctrl.samples.arrays import Samples, Signal
from ukctrl.samples.labels import AXES, Labels
from ukctrl.samples.quantities import FIELDS, Field
from ukctrl.samples.units import common_unit, per_second, reaction_unit

__all__ = [
    "AXES",
    "FIELDS",
    "Field",
    "Labels",
    "Samples",
    "Signal",
    "common_unit",
    "per_second",
    "reaction_unit",
]
