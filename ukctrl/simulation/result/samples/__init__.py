"""What a run records: sampled arrays, and the names and units along their axes.

Plain NumPy and nothing else, so that a study can read thousands of runs without paying
for xarray. `Result` adds the status, the files and the labelled dataset.
"""

from __future__ import annotations

from ukctrl.simulation.result.samples.arrays import Samples, Signal
from ukctrl.simulation.result.samples.derived_units import common_unit, per_second, reaction_unit
from ukctrl.simulation.result.samples.labels import AXES, Labels
from ukctrl.simulation.result.samples.quantities import FIELDS, Field

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
