"""Verdicts on actuators and ground: grip, reach, limits; contacts that push and hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.input_authority import authority_text
from ukctrl.core.number_text import number, percent, quantity, sentence, si
from ukctrl.core.tie_breaking import first_largest, first_smallest, max_abs
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.authority_cost import authority_cost
from ukctrl.simulation.result.verdicts.error_floor import (
    NEGLIGIBLE,
    SLIPPERY,
    maximum_and_time,
    minimum_and_time,
)

UNREACHABLE_RATIO = 2.0
"""An input beyond this many times its limit is none that the motor could come near."""
NEAR_SINGULAR = 1e-3
"""Fraction of its largest value at which a smallest singular value is called small."""


def authority(result: RunRecord) -> Verdict | None:
    """Judge the rank of the servo rows, and how near it is to falling."""
    count = len(result.labels.rows)
    if count == 0 or "rank" not in result.samples or not np.isfinite(result["rank"]).any():
        return None
    high = int(np.nanmax(result["rank"]))
    low, at = minimum_and_time(result, result["rank"])
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
        s_max, (s_min, at) = (
            np.nanmax(result["sigma_min"]),
            minimum_and_time(result, result["sigma_min"]),
        )
        text += (
            f" The smallest singular value of H = A G lies between {number(s_min)} (at {at}) and "
            f"{number(float(s_max))}."
        )
        if s_min < NEAR_SINGULAR * s_max:
            level = "warning" if level == "good" else level
            text += " The motion passes close to a singularity."
    weak = result.provenance.get("weak_grip")
    if weak:
        level, text = _weak_authority(result, weak)
    return Verdict(level, "grip", text)


def _weak_authority(result: RunRecord, weak: Mapping[str, Any]) -> tuple[Level, str]:
    """Judge a grip that was weak, or lost, at its worst; a law that asks nothing of rows may."""
    text = f"{authority_text(weak['hold'], weak['row'], weak['weakest'])} (t = {weak['at']:.4g} s)"
    labels = result.labels
    limits = np.array(labels.effort_limit, dtype=np.float64)
    weights = np.array([weak["weights"][name] for name in labels.actuators])
    price = authority_cost(labels.actuators, labels.actuator_units, result["u"], limits, weights)
    if price and weak["hold"] == "weak":
        text = f"{text}: {price}"
    has_demand = result.provenance.get("rows_demanded") is not False
    return "warning" if has_demand else "note", sentence(text)


def reach(result: RunRecord) -> Verdict | None:
    """Judge what the task asked for and no input gives."""
    if "reach" not in result.samples or not np.isfinite(result["reach"]).any():
        return None
    worst, at = maximum_and_time(result, result["reach"])
    if worst <= NEGLIGIBLE and "weak_grip" in result.provenance:
        # the verdict on the grip tells at what price
        return None
    if worst <= NEGLIGIBLE:
        return Verdict(
            "good", "reach", "The actuators can give every acceleration that the task asks for."
        )
    short = np.nan_to_num(result["reach"] > NEGLIGIBLE).astype(np.float64)
    shortfall = quantity(worst, FIELDS["reach"].units(result.labels)[0])
    text = (
        "No input gives the accelerations that the task asks for: the shortfall is up to "
        f"{shortfall} ({at}), during {percent(sample_measures.time_mean(result.time, short))} of "
        "the run."
    )
    reason = ""
    if result.provenance.get("rows_demanded") is False:
        reason = " This law does not demand these accelerations."
    elif _first_level_kept(result):
        reason = " Only rows below the first priority are affected."
    return Verdict("note" if reason else "warning", "reach", f"{text}{reason}")


def _first_level_kept(result: RunRecord) -> bool:
    """Tell whether the law gives up rows by design, and only those."""
    missed = result.samples.signals.get("level_miss")
    return missed is not None and bool(np.all(result["level_miss"][:, 0] <= NEGLIGIBLE))


def limits(result: RunRecord) -> Verdict | None:
    """Judge how near the inputs came to their limits."""
    labels, u = result.labels, result["u"]
    if not u.any():
        return None
    limit = np.array(labels.effort_limit)
    # bounds that an effect kept may be tighter
    if "u_upper" in result.samples:
        size = np.maximum(np.abs(result["u_lower"]), np.abs(result["u_upper"])).max(axis=0)
        limit = np.where(limit > 0.0, np.minimum(limit, size), size)
    limited = np.flatnonzero(np.isfinite(limit) & (limit > 0.0))
    share = result.metric("saturated_fraction")
    # the allocation keeps limits of its own, within those of the motors
    if share > 0.0 and not sample_measures.inputs_at_limit(result.samples).any():
        return Verdict(
            "warning",
            "limits",
            f"Some input is at a limit of the allocation during {percent(share)} of the run; the "
            "motors can give more.",
        )
    if not limited.size:
        return Verdict("note", "limits", "No actuator has an effort limit.")
    with np.errstate(invalid="ignore"):
        peaks = np.fmax.reduce(np.abs(u[:, limited]), initial=0.0)
        use = peaks / limit[limited]
    k = first_largest(use)
    nearest = f"'{labels.actuators[limited[k]]}' comes nearest, at {percent(float(use[k]))}"
    # a little beyond is one sample of a transient, and a warning (decision 0109)
    if use[k] > UNREACHABLE_RATIO:
        name, times = labels.actuators[limited[k]], number(float(use[k]), 2)
        unit = labels.actuator_units[limited[k]]
        text = (
            f"'{name}' gives {quantity(float(peaks[k]), unit)} where its limit is "
            f"{quantity(float(limit[limited[k]]), unit)}, {times} times as much: this robot "
            "cannot make this motion. Let the effect 'saturation' keep the limits, or ask for "
            "less"
        )
        return Verdict("bad", "limits", f"{text}.")
    if share > 0.0:
        text = f"Some input is at or beyond its limit during {percent(share)} of the run"
        return Verdict("warning", "limits", f"{text}; {nearest} of its limit.")
    return Verdict(
        "good", "limits", f"All inputs stay within their limits; {nearest} of its limit."
    )


PULL_RTOL = 1e-9
"""A pull smaller than this fraction of the largest force is rounding."""


def ground(result: RunRecord) -> Verdict | None:
    """Say where a real ground would let go of a contact, and how much friction the others need."""
    forces = sample_measures.ground_forces(result.samples)
    if not forces or not all(np.isfinite(force.normal).all() for force in forces):
        return None
    level: Level = "warning"
    text = _pulling_contacts(result, forces)
    if not text:
        # an open contact carries nothing, and is not the one pressed least
        pressed = [np.where(force.closed, force.normal, np.inf) for force in forces]
        k = first_smallest([normal.min() for normal in pressed])
        weakest, at = minimum_and_time(result, pressed[k])
        level, slid = "good", any(force.is_sliding.any() for force in forces)
        text = (
            f"Every contact pushes; the smallest normal force is {quantity(weakest, 'N')} at "
            f"'{forces[k].block}' ({at})"
        )
        if not np.isfinite(weakest):
            text = "No contact touches at any sample"
        elif slid:
            level, text = "warning", f"{text}; {_sliding_contacts(result, forces)}"
        elif any(force.tangential_force.any() for force in forces):
            friction = result.metric("needed_friction")
            text += (
                f"; without slip, the coefficient of friction must be at least {number(friction)}"
            )
            if friction > SLIPPERY:
                level, text = "note", f"{text}, more than rubber has on dry concrete"
    text += _open_contacts(result, forces)
    passive = result.provenance.get("passive", {})
    sharing = passive.get("sharing", []) if isinstance(passive, dict) else []
    undetermined = sum(f"{force.block}.height" in sharing for force in forces)
    if undetermined:
        text += (
            f". The motion does not determine how {undetermined} of the contacts share their "
            "load; these are the forces of least norm"
        )
    return Verdict(level, "ground", f"{text}.")


def _sliding_contacts(result: RunRecord, forces: tuple[sample_measures.GroundForce, ...]) -> str:
    """Return which contacts slid, and for how long."""
    times = {force.block: _time_of(result, force.is_sliding) for force in forces}
    slid = [f"'{block}' slid for {quantity(t, 's')}" for block, t in times.items() if t > 0.0]
    return " and ".join(slid) or "some slid at one sample"


def _open_contacts(result: RunRecord, forces: tuple[sample_measures.GroundForce, ...]) -> str:
    """Return which contacts were open, and what impacts took; empty where there is nothing."""
    times = {force.block: _time_of(result, ~force.closed) for force in forces}
    opened = [f"'{block}' for {quantity(t, 's')}" for block, t in times.items() if t > 0.0]
    contacts = _contact_facts(result)
    lost, ambiguous = contacts.get("impact_loss", 0.0), contacts.get("ambiguous_impacts", [])
    text = f". Open were {' and '.join(opened)}" if opened else ""
    if text and lost > NEGLIGIBLE:
        text += f"; impacts took {si(lost, 'J')}"
    if ambiguous:
        text += (
            f". Of {contacts['impacts']} impacts, {len(ambiguous)} have several solutions by "
            f"Coulomb's law, first at t = {quantity(ambiguous[0], 's')}; of those met, the run "
            "goes on with the one that loses most energy"
        )
    return text


def _contact_facts(result: RunRecord) -> Mapping[str, Any]:
    """Return what the run has told of contacts that only push; empty without any."""
    contacts = result.provenance.get("contacts", {})
    return contacts if isinstance(contacts, Mapping) else {}


def _time_of(result: RunRecord, holds: NDArray[np.bool_]) -> float:
    return sample_measures.integral(result.time, holds.astype(np.float64))


def _pulling_contacts(result: RunRecord, forces: tuple[sample_measures.GroundForce, ...]) -> str:
    """Return which contacts would lift off and when; empty where all of them push."""
    peak = max(max_abs(force.normal) for force in forces)
    pulled = {force.block: force.normal < -PULL_RTOL * peak for force in forces}
    lifts = {block: int(pulls.argmax()) for block, pulls in pulled.items() if pulls.any()}
    if not lifts:
        return ""
    first = min(lifts, key=lambda block: lifts[block])
    suffix = f" (and {len(lifts) - 1} more then or later)" if len(lifts) > 1 else ""
    strongest = forces[first_smallest([force.normal.min() for force in forces])]
    during = np.any(list(pulled.values()), axis=0).astype(np.float64)
    return (
        f"Contact '{first}' would lift off at t = "
        f"{quantity(float(result.time[lifts[first]]), 's')}{suffix}; the model holds it down, by "
        f"up to {quantity(-float(strongest.normal.min()), 'N')} at '{strongest.block}', and "
        f"pulls during {percent(sample_measures.time_mean(result.time, during))} of the run"
    )
