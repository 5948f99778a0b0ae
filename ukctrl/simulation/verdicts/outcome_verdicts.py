"""How the run ended, and under which conditions."""

from __future__ import annotations

import numpy as np

from ukctrl.core.number_text import quantity, sentence, si
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.verdict import Level, Verdict

MOST_NAMED_BLOCKS = 3
"""With more servo blocks than this, the headline gives their common norm."""


def headline(result: Result) -> str:
    """Return the run in one sentence."""
    n = len(result.samples)
    if n == 0:
        return sentence(f"{result.status}: no sample was recorded. {sentence(result.message)}")
    span = quantity(float(result.time[-1] - result.time[0]), "s", 4)
    if result.status != "completed":
        how = {
            "diverged": "diverged after",
            "infeasible": "stopped as infeasible after",
            "drifted": "stopped after",
            "interrupted": "was interrupted after",
        }[result.status]
        return f"The run {how} {span}. {sentence(result.message)}".strip()
    if not result.labels.rows and not result["u"].any():
        opened = result.metric("peak_passive_phi")
        unit = metrics.unit_in("peak_passive_phi", result.labels)
        loops = f"; its closures opened by at most {si(opened, unit)}"
        return f"The run completed {span} of free motion{loops if np.isfinite(opened) else ''}."
    name = "phi" if np.isfinite(result.metric("peak_phi")) else "beta"
    if not np.isfinite(result.metric(f"peak_{name}")):
        return f"The run completed {span} of motion; there is no task error to measure."
    what = "task error" if name == "phi" else "task error at velocity level"
    return f"The run completed {span} of motion; its largest {what} is {_peaks(result, name)}."


def _peaks(result: Result, name: str) -> str:
    """Return the largest error in words, block by block where that is short."""
    labels, whole = result.labels, f"peak_{name}"
    parts = [block for block in labels.blocks if np.isfinite(result.metrics[f"{whole}.{block}"])]
    if not 2 <= len(parts) <= MOST_NAMED_BLOCKS:
        return si(result.metric(whole), metrics.unit_in(whole, labels))
    texts = [
        f"{si(result.metric(f'{whole}.{block}'), metrics.unit_in(f'{whole}.{block}', labels))} "
        f"in '{block}'"
        for block in parts
    ]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def ending(result: Result) -> Verdict:
    """Say how the run ended."""
    levels: dict[str, Level] = {"completed": "good", "interrupted": "warning"}
    words = {
        "completed": "The run reached its end.",
        "diverged": "The state grew without bound; everything near the end is meaningless.",
        "infeasible": "The task asked for accelerations that no input can give.",
        "drifted": "A passive constraint came apart; the motion is not that of the mechanism.",
        "interrupted": "The run was stopped early; what was computed until then is valid.",
    }
    return Verdict(
        levels.get(result.status, "bad"),
        "outcome",
        f"{words[result.status]} {sentence(result.message)}".strip(),
    )


def switches(result: Result) -> Verdict | None:
    """Say when the controller switched its mode."""
    found = result.switches
    if not found:
        mode = result.samples.signals.get("mode")
        if mode is None or not mode.long_name.startswith("mode: "):
            return None
        return Verdict("warning", "switching", "The controller never left its first mode.")
    when = quantity(found[0], "s", 4)
    if len(found) == 1:
        return Verdict("good", "switching", f"The controller switched once, at t = {when}.")
    last = quantity(found[-1], "s", 4)
    text = f"The controller switched {len(found)} times, from t = {when} to t = {last}."
    return Verdict("note", "switching", text)


def effects(result: Result) -> Verdict | None:
    """Say what stood between the ideal loop and the bench, and what never did."""
    effects = result.provenance.get("effects")
    if not isinstance(effects, list | tuple) or not effects:
        return None
    never = [entry for entry in effects if entry.get("never")]
    if never:
        return Verdict(
            "warning", "effects", f"'{never[0]['name']}' never acts: {never[0]['never']}"
        )
    names = ", ".join(f"'{entry['name']}'" for entry in effects)
    return Verdict("note", "effects", f"Between the ideal loop and the bench stood {names}.")
