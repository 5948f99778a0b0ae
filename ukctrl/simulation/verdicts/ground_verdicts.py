"""Would the ground do what the run asks of it: push, and hold by friction."""

from __future__ import annotations

import numpy as np

from ukctrl.core.extremes import first_smallest
from ukctrl.core.number_text import number, percent, quantity
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.scales import SLIPPERY, smallest

PULLED = 1e-9
"""A pull smaller than this fraction of the largest force is rounding."""


def ground(result: Result) -> Verdict | None:
    """Say where a real ground would let go of a contact, and how much friction the others need."""
    forces = measures.ground_forces(result.samples)
    if not forces or not all(np.isfinite(force.normal).all() for force in forces):
        return None
    level: Level = "warning"
    text = _pull(result, forces)
    if not text:
        level, least = "good", forces[first_smallest([force.normal.min() for force in forces])]
        weakest, at = smallest(result, least.normal)
        text = f"Every contact pushes, '{least.block}' least, by {quantity(weakest, 'N')} ({at})"
        if any(force.across.any() for force in forces):
            needed = result.metric("needed_friction")
            text += f"; not to slip, friction must reach a coefficient of {number(needed)}"
            if needed > SLIPPERY:
                level, text = "note", f"{text}, more than rubber has on dry concrete"
    passive = result.provenance.get("passive", {})
    sharing = passive.get("sharing", []) if isinstance(passive, dict) else []
    undetermined = sum(f"{force.block}.height" in sharing for force in forces)
    if undetermined:
        text += (
            f". How {undetermined} of the contacts share their load no motion tells; these are the "
            "forces of least norm"
        )
    return Verdict(level, "ground", f"{text}.")


def _pull(result: Result, forces: tuple[measures.GroundForce, ...]) -> str:
    """Return which contacts would lift off and when; empty where all of them push."""
    most = max(float(np.abs(force.normal).max()) for force in forces)
    pulled = {force.block: force.normal < -PULLED * most for force in forces}
    lifts = {block: int(pulls.argmax()) for block, pulls in pulled.items() if pulls.any()}
    if not lifts:
        return ""
    first = min(lifts, key=lambda block: lifts[block])
    others = f" (and {len(lifts) - 1} more then or later)" if len(lifts) > 1 else ""
    strongest = forces[first_smallest([force.normal.min() for force in forces])]
    during = np.any(list(pulled.values()), axis=0).astype(np.float64)
    return (
        f"Contact '{first}' would lift off at t = "
        f"{quantity(float(result.time[lifts[first]]), 's')}{others}; the model holds it down, by "
        f"up to {quantity(-float(strongest.normal.min()), 'N')} at '{strongest.block}', and "
        f"pulls during {percent(measures.time_mean(result.time, during))} of the run"
    )
