"""Verdicts on the simulation itself: joint limits, drift, reactions, energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ukctrl.core.number_text import percent, quantity, si
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE, grade

LOOSE_PASSIVE = 1e-3
"""A passive constraint that opens by more than this [m, rad] is not closed."""
ENERGY_RTOL, ENERGY_LOOSE = 1e-4, 1e-2
"""Unaccounted energy, relative to the energy that moved: fine below, not to be believed above."""
STEP_SHARES = {"RK4": (1e-4, 1e-3, 1e-2), "semi_implicit_euler": (1e-2, 3e-2, 1e-1)}
"""Of all that velocities change, what halved steps change otherwise: fine, noted, warned of.
The error of RK4 adds up from turn to turn of a motion, that of the other is a shift by half a
step."""
FORCE_FLOOR = 1e-9
"""Passive forces below this are rounding [N, N m], such as of contacts that are all open."""
ENERGY_FLOOR = 1e-12
"""Less energy than this is none [J]."""


def joints(result: RunRecord) -> Verdict | None:
    """Warn of joints that left their range, which nothing stops."""
    violations = result.provenance.get("beyond_limits")
    if not isinstance(violations, list | tuple) or not violations:
        return None
    more = f" Other limits passed: {len(violations) - 1}." if len(violations) > 1 else ""
    text = f"The joint limits are not stops of the simulation: {violations[0]}{more}"
    return Verdict("warning", "joints", text)


def drift(result: RunRecord) -> Verdict | None:
    """Judge how far the passive constraints opened."""
    peak = result.metric("peak_passive_phi")
    if not np.isfinite(peak):
        return None
    level = grade(peak, NEGLIGIBLE, LOOSE_PASSIVE, "bad")
    meaning = {
        "good": ".",
        "note": "; a tighter integrator tolerance lowers this.",
        "bad": ": the simulated mechanism is not the intended one.",
    }[level]
    opened = si(peak, metrics.unit_in("peak_passive_phi", result.labels))
    text = f"The passive constraints open by at most {opened}{_stabilisation_text(result)}{meaning}"
    return Verdict(level, "drift", text)


def _stabilisation_text(result: RunRecord) -> str:
    """Return what kept the passive constraints together, in words."""
    chosen = result.provenance.get("stabilisation")
    if not isinstance(chosen, Mapping):
        return ""
    if chosen["kind"] != "baumgarte":
        projected = chosen["kind"] == "projection"
        return ", stabilised by projection" if projected else ", without stabilisation"
    alpha, beta = (quantity(float(chosen[k]), u) for k, u in (("alpha", "1/s"), ("beta", "1/s^2")))
    return f", stabilised with gains of {alpha} and {beta}"


def reactions(result: RunRecord) -> Verdict | None:
    """Judge the virtual power of the reactions: none outside the rows, none on drift."""
    residual, work = result.metric("reaction_residual"), result.metric("reaction_work")
    if not np.isfinite(residual) or not np.isfinite(work):
        return None
    forces = result.samples.over_time(lambda x: np.linalg.norm(x["passive_force"], axis=1))
    force = float(forces.max())
    share = residual / force if force > FORCE_FLOOR else 0.0
    moved = float(np.ptp(result["energy"])) + _exchanged(result)
    fed = work / moved if moved > ENERGY_FLOOR else 0.0
    level = grade(max(share, fed), ENERGY_RTOL, ENERGY_LOOSE)
    text = (
        f"At most {percent(share)} of the passive force is outside the rows; the work of the "
        f"reactions on the drift of the rows is {si(work, 'J')}, {percent(fed)} of the energy "
        f"transferred{': the reactions are not to be believed' if level == 'warning' else ''}."
    )
    sharing = result.provenance.get("passive", {}).get("sharing", [])
    if sharing:
        text += f" Rows whose load sharing the motion does not determine: {len(sharing)}."
    return Verdict(level, "reactions", text)


def balance(result: RunRecord) -> Verdict | None:
    """Judge the energy that neither inputs nor friction account for."""
    unaccounted = result.metric("energy_drift")
    if not np.isfinite(unaccounted):
        return None
    energy, imbalance = result["energy"], sample_measures.energy_imbalance(result.samples)
    supplied = energy - energy[0] - imbalance
    # all that went to and fro: a swing ends with the energy it had, and moved it all the same
    moved = float(np.abs(np.diff(supplied)).sum() + np.ptp(energy)) + _exchanged(result)
    if moved <= ENERGY_FLOOR:
        return Verdict("good", "energy", "No energy was transferred.")
    share = unaccounted / moved
    # samples this coarse miss power by more than is missing: no fault of the integrator
    coarse = sample_measures.power_sampling_error(result.samples) > unaccounted
    level = grade(share, ENERGY_RTOL, ENERGY_LOOSE, "warning" if coarse else "bad")
    finer = "Shorten the step, or tighten the tolerance."
    unseen = "supplied_energy" not in result.samples
    meaning = {
        "good": ".",
        "note": "; a shorter step or sample interval lowers this.",
        "warning": ": the samples are too far apart to tell more; shorten timing.sample.",
        "bad": ": either the power has peaks between the samples, which no metric sees, or the "
        "integration is too coarse to be believed. Shorten timing.sample; if that does not "
        f"help: {finer.lower()}"
        if unseen
        else f": the integration is too coarse to be believed. {finer}",
    }[level]
    text = (
        f"At most {si(unaccounted, 'J')} of energy is unaccounted for, {percent(share)} of the "
        f"{si(moved, 'J')} transferred{meaning}"
    )
    return Verdict(level, "energy", text)


def step_halving(result: RunRecord) -> Verdict | None:
    """Judge a fixed step by what halved steps make of the motion."""
    report = result.provenance.get("step_halving")
    if not isinstance(report, Mapping) or not isinstance(report.get("share"), int | float):
        return None
    share, method = float(report["share"]), str(report.get("method"))
    fine, noted, warned = STEP_SHARES.get(method, STEP_SHARES["RK4"])
    level = grade(share, fine, noted, "warning" if share <= warned else "bad")
    meaning = {
        "good": ".",
        "note": "; a shorter integrator.step lowers this.",
        "warning": ": the step is long for this motion. Shorten integrator.step.",
        "bad": ": the step is too long to be believed. Shorten integrator.step, or use an adaptive "
        "method.",
    }[level]
    changed = percent(share) if share > 0.0 else "no digit"
    text = f"Halved steps change {changed} of what the velocities change by{meaning}"
    return Verdict(level, "step", text)


def _exchanged(result: RunRecord) -> float:
    """Return the energy that went from height or springs to motion and back [J]."""
    if "kinetic_energy" not in result.samples:
        return 0.0
    return float(np.abs(np.diff(result["kinetic_energy"])).sum())
