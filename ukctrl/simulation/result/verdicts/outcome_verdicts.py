"""Verdicts on the outcome: how a run ended, its effects, and how well the task was met."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Vector
from ukctrl.core.errors import quoted
from ukctrl.core.number_text import quantity, sentence, si
from ukctrl.core.tie_breaking import first_largest
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.metrics.metric_table import SETTLED_FLOOR, SETTLED_FRACTION
from ukctrl.simulation.result.quantities import per_second
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE, maximum_and_time
from ukctrl.simulation.result.verdicts.task_relaxation import task_relaxation

MAX_NAMED_BLOCKS = 3
"""With more servo blocks than this, the headline gives their common norm."""
EARLY_ENDINGS = {
    "diverged": "diverged after",
    "infeasible": "stopped as infeasible after",
    "drifted": "stopped after",
    "interrupted": "was interrupted after",
}
"""How a run ended early, in its headline."""
ENDINGS: dict[str, tuple[Level, str]] = {
    "completed": ("good", "The run reached its end."),
    "diverged": (
        "bad",
        "The motion could not go on; samples near the end may be meaningless.",
    ),
    "infeasible": ("bad", "The task asked for accelerations that no input can give."),
    "drifted": ("bad", "A passive constraint opened; the motion is not that of the mechanism."),
    "interrupted": ("warning", "The run was stopped early; what was computed until then is valid."),
}
"""What each ending means."""


def headline(result: RunRecord) -> str:
    """Return the run in one sentence."""
    if not len(result.samples):
        return sentence(f"{result.status}: no sample was recorded. {sentence(result.message)}")
    span = quantity(float(result.time[-1] - result.time[0]), "s", 4)
    if result.status != "completed":
        return f"The run {EARLY_ENDINGS[result.status]} {span}. {sentence(result.message)}".strip()
    if not result.labels.rows and not result["u"].any():
        opened = result.metric("peak_passive_phi")
        size = si(opened, metrics.unit_in("peak_passive_phi", result.labels))
        loops = f"; its closures opened by at most {size}" if np.isfinite(opened) else ""
        return f"The run completed {span} of free motion{loops}."
    name = sample_measures.error_level(result.samples)
    if not np.isfinite(result.metric(f"peak_{name}")):
        return f"The run completed {span} of motion; there is no task error to measure."
    err = "task error" if name == "phi" else "task error at velocity level"
    gave = task_relaxation(result)
    note = "" if gave is None else f": the task {gave.sentence}"
    return f"The run completed {span} of motion; its largest {err} is {_peaks(result, name)}{note}."


def _peaks(result: RunRecord, name: str) -> str:
    """Return the largest error, block by block where that is short."""
    labels, whole = result.labels, f"peak_{name}"
    blocks = [block for block in labels.blocks if np.isfinite(result.metrics[f"{whole}.{block}"])]
    if not 2 <= len(blocks) <= MAX_NAMED_BLOCKS:
        return si(result.metric(whole), metrics.unit_in(whole, labels))
    return ", ".join(
        f"{si(result.metric(name), metrics.unit_in(name, labels))} in '{block}'"
        for block in blocks
        for name in (f"{whole}.{block}",)
    )


def valid_so_far(result: RunRecord) -> bool:
    """Whether what ended the run early concerns its task alone, and no sample until then."""
    return result.status == "infeasible" or (
        result.status == "drifted" and not result.message.startswith("passive")
    )


def outcome(result: RunRecord) -> Verdict:
    """Say how the run ended."""
    level, text = ENDINGS[result.status]
    if result.status == "drifted" and valid_so_far(result):
        text = "The error of the task passed what the monitor allows."
    return Verdict(level, "outcome", f"{text} {sentence(result.message)}".strip())


def switches(result: RunRecord) -> Verdict | None:
    """Say when the controller switched its mode."""
    times = [quantity(time, "s", 4) for time in result.switches]
    if not times:
        mode = result.samples.signals.get("mode")
        if mode is None or not mode.long_name.startswith("mode: "):
            return None
        return Verdict("warning", "switching", "The controller never left its first mode.")
    if len(times) == 1:
        return Verdict("good", "switching", f"The controller switched once, at t = {times[0]}.")
    text = f"The controller switched {len(times)} times, from t = {times[0]} to t = {times[-1]}."
    return Verdict("note", "switching", text)


def effects(result: RunRecord) -> Verdict | None:
    """Say what stood between the ideal loop and the bench, and what never did."""
    effects = result.provenance.get("effects")
    if not isinstance(effects, list | tuple) or not effects:
        return None
    for entry in effects:
        if entry.get("never"):
            return Verdict("warning", "effects", f"'{entry['name']}' never acts: {entry['never']}")
    names = quoted(entry["name"] for entry in effects)
    return Verdict("note", "effects", f"Effects in this run: {names}.")


GROWTH = 2.0
"""An error grows when its maximum rises from quarter to quarter of the run, by this in all."""
GROWTH_SHARE = 0.1
"""Growth while no limit changes the input counts from this fraction of the largest error on."""


def error(result: RunRecord) -> Verdict | None:
    """Judge the error of the rows, of position where there is one."""
    name = sample_measures.error_level(result.samples)
    norm = sample_measures.error_norm(result.samples, name)
    if not np.isfinite(norm).all():
        return None
    unit = metrics.unit_in(f"peak_{name}", result.labels)
    peak, at = maximum_and_time(result, norm)
    if peak <= NEGLIGIBLE:
        return Verdict("good", "task", f"The error never exceeds {si(peak, unit)} (at {at}).")
    first, last = (si(float(value), unit) for value in norm[[0, -1]])
    gave = task_relaxation(result)
    # what grows while limits bind is their cost, told as such, and no fault of the controller
    free = norm if gave is None else _without_intervals(norm, gave.during)
    grown = float(free[-1] - free[0])
    if _grows(free) and (gave is None or grown > GROWTH_SHARE * peak):
        growth = "" if gave is None else f", by {si(grown, unit)} while no limit changes the input"
        reason = _why_it_grows(result)
        text = f"The error keeps growing, from {first} to {last}{growth}: {reason}"
        return Verdict("warning", "task", text)
    text = f"Error {first} at the start, {si(peak, unit)} at most ({at}), {last} at the end; "
    text += "" if gave is None else f"the task {gave.sentence}; "
    settled = result.metric("settling_time")
    if np.isfinite(settled):
        return Verdict("good", "task", f"{text}settled after {quantity(settled, 's')}.")
    if norm[0] <= SETTLED_FLOOR:
        rms = si(result.metric(f"rms_{name}"), unit)
        return Verdict("note", "task", f"{text}it begins on its path, and errs by {rms} rms.")
    return Verdict("note", "task", f"{text}it does not settle within the run.")


def _without_intervals(norm: Vector, during: Flags) -> Vector:
    """Return an error with what it changed by at some samples left out."""
    steps = np.diff(norm)[~(during[1:] | during[:-1])]
    return np.cumsum(np.concatenate([norm[:1], steps]))


def _why_it_grows(result: RunRecord) -> str:
    controller = result.scenario.get("controller", {})
    feedback = controller.get("feedback", {}) if isinstance(controller, Mapping) else {}
    if isinstance(feedback, Mapping) and feedback.get("kind") == "exact":
        return "no feedback reduces it. A stabilised feedback (Baumgarte, PID) would."
    if "reach" in result.samples:
        late = result["reach"][-(len(result.time) // 4) :]
        # such as rows of a foot that stands, whose error no controller can mend
        if np.mean(late > NEGLIGIBLE) > 0.5:
            return "no input gives what the task asks for at the end."
    return "the controller does not reduce it."


def _grows(norm: NDArray[np.float64]) -> bool:
    # too few for quarters of two samples each
    if len(norm) < 8:
        return False
    # maxima of quarters: an oscillation that stays as it is rises and falls, too
    peaks = [float(quarter.max()) for quarter in np.array_split(norm, 4)]
    rising = all(one < next_ for one, next_ in itertools.pairwise(peaks))
    return rising and peaks[-1] > max(GROWTH * peaks[0], NEGLIGIBLE)


def velocity(result: RunRecord) -> Verdict | None:
    """Judge the rows without a position level where other rows have one."""
    samples, labels = result.samples, result.labels
    with_phi = sample_measures.holonomic_rows(samples)
    if len(with_phi) in (0, len(labels.rows)):
        return None
    rows = np.setdiff1d(np.arange(len(labels.rows)), with_phi)
    size = np.abs(samples["beta"][:, rows])
    if not np.isfinite(size[-1]).all():
        return None
    k = first_largest(size[-1])
    worst, last, row = int(rows[k]), float(size[-1, k]), labels.rows[int(rows[k])]
    bad = last > max(SETTLED_FRACTION * float(size[0].max()), SETTLED_FLOOR)
    off = si(last, per_second(labels.row_units[worst]))
    text = f"At the end, rows without a position level are off by at most {off}, in row '{row}'."
    return Verdict("warning" if bad else "good", "velocity", text)
