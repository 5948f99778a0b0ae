"""Can the simulation be believed: joint limits, drift, reactions, energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ukctrl.core.number_text import quantity, si
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts.verdict import NEGLIGIBLE, Verdict, percent

LOOSE_PASSIVE = 1e-3
"""A passive constraint that opens by more than this [m, rad] is not closed."""
ENERGY_RTOL, ENERGY_LOOSE = 1e-4, 1e-2
"""Unaccounted energy, relative to the energy that moved: fine below, doubtful above."""
ENERGY_FLOOR = 1e-12
"""Less energy than this is none [J]."""


def joints(result: Result) -> Verdict | None:
    """Warn of joints that left their range, which nothing stops."""
    beyond = result.provenance.get("beyond_limits")
    if not isinstance(beyond, list | tuple) or not beyond:
        return None
    more = f" So do {len(beyond) - 1} others." if len(beyond) > 1 else ""
    text = f"The joint limits are not stops of the simulation: {beyond[0]}{more}"
    return Verdict("warning", "joints", text)


def drift(result: Result) -> Verdict | None:
    """Judge how far the passive constraints opened."""
    peak = result.metric("peak_passive_phi")
    if not np.isfinite(peak):
        return None
    unit = metrics.unit_in("peak_passive_phi", result.labels)
    text = f"The passive constraints open by at most {si(peak, unit)}{_held_by(result)}"
    if peak <= NEGLIGIBLE:
        return Verdict("good", "drift", f"{text}.")
    if peak <= LOOSE_PASSIVE:
        return Verdict("note", "drift", f"{text}; a tighter integrator tolerance lowers that.")
    return Verdict(
        "bad", "drift", f"{text}: the mechanism that was simulated is not the one meant."
    )


def _held_by(result: Result) -> str:
    """Return what kept the passive constraints together, in words."""
    chosen = result.provenance.get("stabilisation")
    if not isinstance(chosen, Mapping):
        return ""
    if chosen["kind"] != "baumgarte":
        return ", held by projection" if chosen["kind"] == "projection" else ", held by nothing"
    alpha, beta = (quantity(float(chosen[k]), u) for k, u in (("alpha", "1/s"), ("beta", "1/s^2")))
    return f", held by gains of {alpha} and {beta}"


def reactions(result: Result) -> Verdict | None:
    """Judge the virtual power of the reactions: none outside the rows, none on drift."""
    residual, work = result.metric("reaction_residual"), result.metric("reaction_work")
    if not np.isfinite(residual) or not np.isfinite(work):
        return None
    force = float(np.linalg.norm(result["passive_force"], axis=1).max())
    share = residual / force if force > 0.0 else 0.0
    moved = float(np.ptp(result["energy"]))
    if "kinetic_energy" in result.samples:
        moved += float(np.abs(np.diff(result["kinetic_energy"])).sum())
    fed = work / moved if moved > ENERGY_FLOOR else 0.0
    text = (
        f"Of the passive force, {percent(share)} at most is outside the rows; on their drift the "
        f"reactions exchange {si(work, 'J')}, {percent(fed)} of the energy that moved"
    )
    sharing = result.provenance.get("passive", {}).get("sharing", [])
    shared = (
        f" {len(sharing)} rows share their load in a way that no motion tells." if sharing else ""
    )
    if share <= ENERGY_RTOL and fed <= ENERGY_RTOL:
        return Verdict("good", "reactions", f"{text}.{shared}")
    if share <= ENERGY_LOOSE and fed <= ENERGY_LOOSE:
        return Verdict("note", "reactions", f"{text}.{shared}")
    return Verdict("warning", "reactions", f"{text}: they are not to be believed.{shared}")


def balance(result: Result) -> Verdict | None:
    """Judge the energy that neither inputs nor friction account for."""
    unaccounted = result.metric("energy_drift")
    if not np.isfinite(unaccounted):
        return None
    energy, imbalance = result["energy"], measures.energy_imbalance(result.samples)
    supplied = energy - energy[0] - imbalance
    moved = float(np.abs(np.diff(supplied)).sum() + np.ptp(energy))
    if "kinetic_energy" in result.samples:  # from height or springs to motion and back
        moved += float(np.abs(np.diff(result["kinetic_energy"])).sum())
    if moved <= ENERGY_FLOOR:
        return Verdict("good", "energy", "No energy moved.")
    share = unaccounted / moved
    text = (
        f"{si(unaccounted, 'J')} is unaccounted for at worst, {percent(share)} of the "
        f"{si(moved, 'J')} that moved"
    )
    if share <= ENERGY_RTOL:
        return Verdict("good", "energy", f"{text}.")
    if share <= ENERGY_LOOSE:
        return Verdict("note", "energy", f"{text}; a shorter step or sample interval lowers that.")
    return Verdict("warning", "energy", f"{text}: the integration is too coarse to be believed.")
