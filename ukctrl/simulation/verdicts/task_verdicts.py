"""Was the task met: how large is the error, and does it settle?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import quantity, si
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.metrics.metric_table import SETTLED_FLOOR, SETTLED_FRACTION
from ukctrl.simulation.result.quantities import per_second
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.scales import NEGLIGIBLE, largest

GROWTH = 2.0
"""An error grows when its maximum rises from quarter to quarter of the run, by this in all."""


def error(result: Result) -> Verdict | None:
    """Judge the error of the rows, of position where there is one."""
    name = "phi" if np.isfinite(result.metric("peak_phi")) else "beta"
    norm = measures.error_norm(result.samples, name)
    if not np.isfinite(norm).all():
        return None
    unit = metrics.unit_in(f"peak_{name}", result.labels)
    peak, at = largest(result, norm)
    if peak <= NEGLIGIBLE:
        return Verdict("good", "task", f"The error never exceeds {si(peak, unit)} (at {at}).")
    first, last = (si(float(value), unit) for value in norm[[0, -1]])
    if _grows(norm):
        why = _why_it_grows(result)
        text = f"The error keeps growing, from {first} to {last}: {why}"
        return Verdict("warning", "task", text)
    text = f"Error {first} at the start, {si(peak, unit)} at most ({at}), {last} at the end; "
    settled = result.metric("settling_time")
    if np.isfinite(settled):
        return Verdict("good", "task", f"{text}settled after {quantity(settled, 's')}.")
    return Verdict("note", "task", f"{text}it does not settle within the run.")


def _why_it_grows(result: Result) -> str:
    controller = result.scenario.get("controller", {})
    feedback = controller.get("feedback", {}) if isinstance(controller, Mapping) else {}
    if isinstance(feedback, Mapping) and feedback.get("kind") == "exact":
        return "nothing pulls it back. A stabilised feedback (Baumgarte, PID) would."
    return "the controller does not hold it."


def _grows(norm: NDArray[np.float64]) -> bool:
    if len(norm) < 8:
        return False
    peaks = [float(part.max()) for part in np.array_split(norm, 4)]
    rising = all(one < next_ for one, next_ in itertools.pairwise(peaks))
    return rising and peaks[-1] > max(GROWTH * peaks[0], NEGLIGIBLE)


def velocity(result: Result) -> Verdict | None:
    """Judge the rows without a position level where other rows have one."""
    samples, labels = result.samples, result.labels
    with_phi = measures.holonomic(samples)
    rows = np.setdiff1d(np.arange(len(labels.rows)), with_phi)
    if not rows.size or not with_phi.size:
        return None
    size = np.abs(samples["beta"][:, rows])
    if not np.isfinite(size[-1]).all():
        return None
    k = first_largest(size[-1])
    worst, last, row = int(rows[k]), float(size[-1, k]), labels.rows[int(rows[k])]
    bad = last > max(SETTLED_FRACTION * float(size[0].max()), SETTLED_FLOOR)
    off = si(last, per_second(labels.row_units[worst]))
    text = f"At the end, rows without a position level are off by at most {off}, in row '{row}'."
    return Verdict("warning" if bad else "good", "velocity", text)
