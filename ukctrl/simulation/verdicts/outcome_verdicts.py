"""How the run ended, and under which conditions."""

from __future__ import annotations

import numpy as np

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import quantity, sentence, si
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.result import Result

MOST_NAMED_BLOCKS = 3
"""With more servo blocks than this, the headline gives their common norm."""
HOW = {
    "diverged": "diverged after",
    "infeasible": "stopped as infeasible after",
    "drifted": "stopped after",
    "interrupted": "was interrupted after",
}
"""How a run ended early, in its headline."""
ENDINGS: dict[str, tuple[Level, str]] = {
    "completed": ("good", "The run reached its end."),
    "diverged": ("bad", "The state grew without bound; everything near the end is meaningless."),
    "infeasible": ("bad", "The task asked for accelerations that no input can give."),
    "drifted": ("bad", "A passive constraint came apart; the motion is not the mechanism's."),
    "interrupted": (
        "warning",
        "The run was stopped early; what was computed until then is valid.",
    ),
}
"""What each ending means."""


def headline(result: Result) -> str:
    """Return the run in one sentence."""
    if not len(result.samples):
        return sentence(f"{result.status}: no sample was recorded. {sentence(result.message)}")
    span = quantity(float(result.time[-1] - result.time[0]), "s", 4)
    if result.status != "completed":
        return f"The run {HOW[result.status]} {span}. {sentence(result.message)}".strip()
    if not result.labels.rows and not result["u"].any():
        opened = result.metric("peak_passive_phi")
        size = si(opened, metrics.unit_in("peak_passive_phi", result.labels))
        loops = f"; its closures opened by at most {size}" if np.isfinite(opened) else ""
        return f"The run completed {span} of free motion{loops}."
    name = "phi" if np.isfinite(result.metric("peak_phi")) else "beta"
    if not np.isfinite(result.metric(f"peak_{name}")):
        return f"The run completed {span} of motion; there is no task error to measure."
    what = "task error" if name == "phi" else "task error at velocity level"
    return f"The run completed {span} of motion; its largest {what} is {_peaks(result, name)}."


def _peaks(result: Result, name: str) -> str:
    """Return the largest error, block by block where that is short."""
    labels, whole = result.labels, f"peak_{name}"
    parts = [block for block in labels.blocks if np.isfinite(result.metrics[f"{whole}.{block}"])]
    if not 2 <= len(parts) <= MOST_NAMED_BLOCKS:
        return si(result.metric(whole), metrics.unit_in(whole, labels))
    return ", ".join(
        f"{si(result.metric(name), metrics.unit_in(name, labels))} in '{block}'"
        for block in parts
        for name in (f"{whole}.{block}",)
    )


def ending(result: Result) -> Verdict:
    """Say how the run ended."""
    level, text = ENDINGS[result.status]
    return Verdict(level, "outcome", f"{text} {sentence(result.message)}".strip())


def switches(result: Result) -> Verdict | None:
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


def effects(result: Result) -> Verdict | None:
    """Say what stood between the ideal loop and the bench, and what never did."""
    effects = result.provenance.get("effects")
    if not isinstance(effects, list | tuple) or not effects:
        return None
    for entry in effects:
        if entry.get("never"):
            return Verdict("warning", "effects", f"'{entry['name']}' never acts: {entry['never']}")
    names = quoted(entry["name"] for entry in effects)
    return Verdict("note", "effects", f"Between the ideal loop and the bench: {names}.")
