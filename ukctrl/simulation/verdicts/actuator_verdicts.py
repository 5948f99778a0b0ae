"""Were the actuators up to the task: their grip, their reach and their limits."""

from __future__ import annotations

import numpy as np

from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import number, percent, unit_text
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.scales import NEGLIGIBLE, largest, smallest

NEAR_SINGULAR = 1e-3
"""Fraction of its largest value at which a smallest singular value is called small."""


def grip(result: Result) -> Verdict | None:
    """Judge the rank of the servo rows, and how near it is to falling."""
    count = len(result.labels.rows)
    if count == 0 or "rank" not in result.samples or not np.isfinite(result["rank"]).any():
        return None
    high = int(np.nanmax(result["rank"]))
    low, at = smallest(result, result["rank"])
    level: Level = "warning"
    if low < high:
        text = f"The rank of the servo rows changes: {high} of {count} at best, {low:.0f} at {at}."
    elif low < count:
        level = "note"
        text = (
            f"The {count} servo rows have rank {high} at every sample: some depend on the others, "
            "or no actuator moves them."
        )
    else:
        level = "good"
        text = f"All {count} servo rows are independent at every sample."
    if "sigma_min" in result.samples and np.isfinite(result["sigma_min"]).any():
        most, (least, at) = np.nanmax(result["sigma_min"]), smallest(result, result["sigma_min"])
        text += (
            f" The smallest singular value of H = A G lies between {number(least)} (at {at}) and "
            f"{number(float(most))}."
        )
        if least < NEAR_SINGULAR * most:
            level = "warning" if level == "good" else level
            text += " The motion passes close to a singularity."
    return Verdict(level, "grip", text)


def reach(result: Result) -> Verdict | None:
    """Judge what the task asked for and no input gives."""
    if "reach" not in result.samples or not np.isfinite(result["reach"]).any():
        return None
    worst, at = largest(result, result["reach"])
    if worst <= NEGLIGIBLE:
        return Verdict(
            "good", "reach", "The actuators can give every acceleration that the task asks for."
        )
    short = np.nan_to_num(result["reach"] > NEGLIGIBLE).astype(np.float64)
    unit = unit_text(FIELDS["reach"].units(result.labels)[0])
    text = (
        f"The task asks for accelerations that no input gives: short by up to {number(worst)} "
        f"{unit} ({at}), during {percent(measures.time_mean(result.time, short))} of the run."
    )
    why = ""
    if result.provenance.get("rows_demanded") is False:
        why = " This law does not ask for them: it comes to the task in its own way."
    elif _first_level_kept(result):
        why = " Only rows below the first in the order of priorities go short."
    return Verdict("note" if why else "warning", "reach", f"{text}{why}")


def _first_level_kept(result: Result) -> bool:
    """Tell whether the law gives up rows by design, and only those."""
    missed = result.samples.signals.get("level_miss")
    return missed is not None and bool(np.all(result["level_miss"][:, 0] <= NEGLIGIBLE))


def limits(result: Result) -> Verdict | None:
    """Judge how near the inputs came to their limits."""
    labels, u = result.labels, result["u"]
    if not u.any():
        return None
    limit = np.array(labels.effort_limit)
    if "u_upper" in result.samples:  # bounds that an effect kept may be tighter
        size = np.maximum(np.abs(result["u_lower"]), np.abs(result["u_upper"])).max(axis=0)
        limit = np.where(limit > 0.0, np.minimum(limit, size), size)
    limited = np.flatnonzero(np.isfinite(limit) & (limit > 0.0))
    share = result.metric("saturated_fraction")
    if share > 0.0 and not measures.at_limit(result.samples).any():
        return Verdict(
            "warning",
            "limits",
            f"Some input is at a limit that the allocation keeps during {percent(share)} of the "
            "run, within what the motors can give.",
        )
    if not limited.size:
        return Verdict("note", "limits", "No actuator has an effort limit.")
    with np.errstate(invalid="ignore"):
        use = np.nanmax(np.abs(u[:, limited]), axis=0, initial=0.0) / limit[limited]
    k = first_largest(use)
    nearest = f"'{labels.actuators[limited[k]]}' comes nearest, at {percent(float(use[k]))} of its"
    if share > 0.0:
        text = f"Some input is at or beyond its limit during {percent(share)} of the run"
        return Verdict("warning", "limits", f"{text}; {nearest} own.")
    return Verdict("good", "limits", f"All inputs stay within their limits; {nearest} own.")
