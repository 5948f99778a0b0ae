"""Were the actuators up to the task: their grip, their reach and their limits."""

from __future__ import annotations

import numpy as np

from ukctrl.core.extremes import first_largest, first_smallest
from ukctrl.core.number_text import number, quantity, unit_text
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.samples import FIELDS
from ukctrl.simulation.verdicts.verdict import NEGLIGIBLE, Level, Verdict, percent

NEAR_SINGULAR = 1e-3
"""Fraction of its largest value at which a smallest singular value is called small."""


def grip(result: Result) -> Verdict | None:
    """Judge the rank of the servo rows, and how near it is to falling."""
    count = len(result.labels.rows)
    if count == 0 or "rank" not in result.samples or not np.isfinite(result["rank"]).any():
        return None
    rank = result["rank"]
    low, high = int(np.nanmin(rank)), int(np.nanmax(rank))
    sigma_text = ""
    level: Level = "good"
    if "sigma_min" in result.samples and np.isfinite(result["sigma_min"]).any():
        sigma = result["sigma_min"]
        smallest, at = float(np.nanmin(sigma)), float(result.time[first_smallest(sigma)])
        sigma_text = (
            f" The smallest singular value of H = A G lies between {number(smallest)} (at t = "
            f"{quantity(at, 's')}) and {number(float(np.nanmax(sigma)))}."
        )
        if smallest < NEAR_SINGULAR * float(np.nanmax(sigma)):
            level = "warning"
            sigma_text += " The motion passes close to a singularity."
    if low < high:
        at = float(result.time[first_smallest(rank)])
        return Verdict(
            "warning",
            "grip",
            f"The rank of the servo rows changes: {high} of {count} at best, {low} at "
            f"t = {quantity(at, 's')}.{sigma_text}",
        )
    if low < count:
        return Verdict(
            "note",
            "grip",
            f"The {count} servo rows have rank {low} at every sample: some depend on the others, "
            f"or no actuator moves them.{sigma_text}",
        )
    return Verdict(
        level, "grip", f"All {count} servo rows are independent at every sample.{sigma_text}"
    )


def reach(result: Result) -> Verdict | None:
    """Judge what the task asked for and no input gives."""
    if "reach" not in result.samples or not np.isfinite(result["reach"]).any():
        return None
    reach, time = result["reach"], result.time
    worst, at = float(np.nanmax(reach)), float(time[first_largest(reach)])
    if worst <= NEGLIGIBLE:
        return Verdict(
            "good", "reach", "The actuators can give every acceleration that the task asks for."
        )
    share = measures.time_mean(time, np.nan_to_num(reach > NEGLIGIBLE).astype(np.float64))
    unit = unit_text(FIELDS["reach"].units(result.labels)[0])
    short = (
        f"short by up to {number(worst)} {unit} (t = {quantity(at, 's')}), during "
        f"{percent(share)} of the run"
    )
    if result.provenance.get("rows_demanded") is False:
        text = "To keep every row at every moment would take accelerations that no input gives"
        why = "This law does not ask for them: it comes to the task in its own way."
        return Verdict("note", "reach", f"{text}: {short}. {why}")
    text = f"The task asks for accelerations that no input gives: {short}."
    if _first_level_kept(result):
        why = "The order of priorities decides which rows go short; those of the first level do not"
        return Verdict("note", "reach", f"{text} {why}.")
    return Verdict("warning", "reach", text)


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
    limited = np.isfinite(limit) & (limit > 0.0)
    share = result.metric("saturated_fraction")
    if share > 0.0 and not measures.at_limit(result.samples).any():
        return Verdict(
            "warning",
            "limits",
            f"Some input is at a limit that the allocation keeps during {percent(share)} of the "
            "run, within what the motors can give.",
        )
    if not limited.any():
        return Verdict("note", "limits", "No actuator has an effort limit.")
    with np.errstate(invalid="ignore"):
        use = np.nanmax(np.abs(u[:, limited]), axis=0, initial=0.0) / limit[limited]
    k = first_largest(use)
    name = [entry for entry, has in zip(labels.actuators, limited, strict=True) if has][k]
    if share > 0.0:
        return Verdict(
            "warning",
            "limits",
            f"Some input is at or beyond its limit during {percent(share)} of the run; '{name}' "
            f"reaches {percent(float(use[k]))} of its limit.",
        )
    return Verdict(
        "good",
        "limits",
        f"All inputs stay within their limits; '{name}' comes nearest, at "
        f"{percent(float(use[k]))} of its own.",
    )
