"""Error floor, below which an error is rounding; and when something was worst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.number_text import quantity
from ukctrl.core.tie_breaking import first_largest
from ukctrl.core.verdict import Level
from ukctrl.simulation.result.run_record import RunRecord

NEGLIGIBLE = 1e-6
"""Errors [m, rad] and row accelerations [m/s^2, rad/s^2] below this are rounding."""
USUAL_RTOL, USUAL_ATOL = 1e-9, 1e-11
"""Tolerances of error control where a scenario says none."""
MEDIAN_SAMPLES = 10_000
"""Samples of which the usual size of a state is taken."""
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""What a handful of operations on numbers near one leaves."""
SLIPPERY = 0.8
"""Rubber on dry concrete holds up to about this coefficient of friction."""


class ErrorFloor(NamedTuple):
    """Error floor: below it an error tells of the arithmetic, not of the robot."""

    size: float
    words: str
    """What it comes from."""


def error_floor(result: RunRecord, level: str) -> ErrorFloor:
    r"""Return below what errors at a level are none that the integrator promises to see.

    Under error control that is $\mathrm{atol} + \mathrm{rtol} \max_i |x_i|$, with $x$ the
    configuration for ``phi`` and the velocity for ``beta``, at half of the samples no larger: a
    run that diverges at its end was small before. A fixed step promises nothing: only the rounding
    of numbers of that size remains.
    """
    state = result["q" if level == "phi" else "v"]
    sizes = np.max(np.abs(state[:: 1 + len(state) // MEDIAN_SAMPLES]), axis=1, initial=0.0)
    sizes = sizes[np.isfinite(sizes)]
    size = float(np.median(sizes)) if sizes.size else 0.0
    settings = result.scenario.get("integrator")
    chosen = settings if isinstance(settings, Mapping) else {}
    # a fixed step has no tolerance that answers for its error
    if "step" in chosen:
        return ErrorFloor(ROUNDING * max(size, 1.0), "rounding")
    rtol, atol = (
        float(chosen[name]) if isinstance(chosen.get(name), int | float) else usual
        for name, usual in (("rtol", USUAL_RTOL), ("atol", USUAL_ATOL))
    )
    return ErrorFloor(atol + rtol * size, "the integrator's tolerance")


def grade(value: float, fine: float, doubtful: float, fallback: Level = "warning") -> Level:
    """Return ``good`` up to one bound, ``note`` up to another, and what is said beyond."""
    return "good" if value <= fine else "note" if value <= doubtful else fallback


def maximum_and_time(result: RunRecord, values: NDArray[np.float64]) -> tuple[float, str]:
    """Return the largest of a sampled quantity, and when that was: ``t = 1.2 s``."""
    at = quantity(float(result.time[first_largest(values)]), "s")
    return float(np.nanmax(values)), f"t = {at}"


def minimum_and_time(result: RunRecord, values: NDArray[np.float64]) -> tuple[float, str]:
    """Return the smallest of a sampled quantity, and when that was."""
    value, at = maximum_and_time(result, -values)
    return -value, at
