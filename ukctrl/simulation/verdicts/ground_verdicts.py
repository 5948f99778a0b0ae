"""Would the ground do what the run asks of it: push, and hold by friction."""

from __future__ import annotations

import numpy as np

from ukctrl.core.extremes import first_smallest
from ukctrl.core.number_text import number, quantity
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.verdict import Level, Verdict, percent

PULLED = 1e-9
"""A pull smaller than this fraction of the largest force is rounding."""
SLIPPERY = 0.8
"""Rubber on dry concrete holds up to about this coefficient of friction."""


def ground(result: Result) -> Verdict | None:
    """Say where a real ground would let go of a contact, and how much friction the others need."""
    forces = measures.ground_forces(result.samples)
    if not forces or not all(np.isfinite(force.normal).all() for force in forces):
        return None
    pull = _pull(result, forces)
    level: Level = "good" if pull is None else "warning"
    text = pull
    if text is None:
        least = forces[first_smallest([force.normal.min() for force in forces])]
        at = quantity(float(result.time[first_smallest(least.normal)]), "s")
        weakest = quantity(float(least.normal.min()), "N")
        text = f"Every contact pushes, '{least.block}' least, by {weakest} (t = {at})"
    needed = result.metric("needed_friction")
    if pull is None and any(force.across.any() for force in forces):
        text += f"; not to slip, friction must reach a coefficient of {number(needed)}"
        if needed > SLIPPERY:
            level, text = "note", f"{text}, more than rubber has on dry concrete"
    return Verdict(level, "ground", f"{text}.{_sharing(result, forces)}")


def _pull(result: Result, forces: tuple[measures.GroundForce, ...]) -> str | None:
    """Return which contacts would lift off and when; None where all of them push."""
    most = max(float(np.abs(force.normal).max()) for force in forces)
    lifts = []
    for force in forces:
        pulled = force.normal < -PULLED * most
        if pulled.any():
            lifts.append((float(result.time[int(pulled.argmax())]), force, pulled))
    if not lifts:
        return None
    start, first, _ = min(lifts, key=lambda lift: lift[0])
    others = len(lifts) - 1
    more = f" (and {others} other{'s' if others > 1 else ''} then or later)" if others else ""
    strongest = lifts[first_smallest([force.normal.min() for _, force, _ in lifts])][1]
    during = np.any([pulled for _, _, pulled in lifts], axis=0).astype(np.float64)
    return (
        f"Contact '{first.block}' would lift off at t = {quantity(start, 's')}{more}; the model "
        f"holds it down, by up to {quantity(-float(strongest.normal.min()), 'N')} at "
        f"'{strongest.block}', and pulls during {percent(measures.time_mean(result.time, during))} "
        "of the run"
    )


def _sharing(result: Result, forces: tuple[measures.GroundForce, ...]) -> str:
    passive = result.provenance.get("passive", {})
    shared = passive.get("sharing", []) if isinstance(passive, dict) else []
    undetermined = [force.block for force in forces if f"{force.block}.height" in shared]
    if not undetermined:
        return ""
    return (
        f" How {len(undetermined)} of the contacts share their load no motion tells; these are the "
        "forces of least norm."
    )
