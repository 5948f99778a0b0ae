"""Was the task met: how large is the error, and does it settle?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import quantity, si
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.metrics.metric_formulas import SETTLED_FLOOR, SETTLED_FRACTION
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.samples import per_second
from ukctrl.simulation.verdicts.verdict import NEGLIGIBLE, Verdict

GROWTH = 2.0
"""An error grows when its maximum rises from quarter to quarter of the run, by this in all."""


def error(result: Result) -> Verdict | None:
    """Judge the error of the rows, of position where there is one."""
    name = "phi" if np.isfinite(result.metric("peak_phi")) else "beta"
    norm = measures.error_norm(result.samples, name)
    if not np.isfinite(norm).all():
        return None
    unit = metrics.unit_in(f"peak_{name}", result.labels)
    first, last, peak = float(norm[0]), float(norm[-1]), float(norm.max())
    at = quantity(float(result.time[first_largest(norm)]), "s")
    if peak <= NEGLIGIBLE:
        return Verdict("good", "task", f"The error never exceeds {si(peak, unit)} (at t = {at}).")
    if _grows(norm):
        return Verdict(
            "warning",
            "task",
            f"The error keeps growing, from {si(first, unit)} to {si(last, unit)}: "
            + _why_it_grows(result),
        )
    settled = result.metric("settling_time")
    course = f"The error starts at {si(first, unit)}, peaks at {si(peak, unit)} (t = {at})"
    if peak == first:
        course = f"The error is largest at the start, {si(first, unit)}"
    if np.isfinite(settled):
        after = f", has settled after {quantity(settled, 's')}" if settled > 0.0 else ""
        return Verdict("good", "task", f"{course}{after} and ends at {si(last, unit)}.")
    return Verdict(
        "note",
        "task",
        f"{course} and ends at {si(last, unit)}; it does not settle within the run.",
    )


def _why_it_grows(result: Result) -> str:
    controller = result.scenario.get("controller", {})
    feedback = controller.get("feedback", {}) if isinstance(controller, Mapping) else {}
    if isinstance(feedback, Mapping) and feedback.get("kind") == "exact":
        return "nothing pulls it back. A stabilised feedback (Baumgarte, PID) would."
    return "the controller does not hold it."


def _grows(norm: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
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
    last = size[-1]
    if not np.isfinite(last).all():
        return None
    worst = first_largest(last)
    unit = per_second(labels.row_units[int(rows[worst])])
    bad = last[worst] > max(SETTLED_FRACTION * float(size[0].max()), SETTLED_FLOOR)
    return Verdict(
        "warning" if bad else "good",
        "velocity",
        f"The rows without a position level end within {si(float(last[worst]), unit)}, "
        f"farthest off on row '{labels.rows[int(rows[worst])]}'.",
    )
