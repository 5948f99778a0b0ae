"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

Three questions are kept apart: how well the *task* was met (errors, settling), whether the
*actuators* were up to it (rank, reach, limits), and whether the *simulation* can be trusted
(energy balance, drift of passive constraints).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ukctrl import measures, metrics
from ukctrl.concessions import concessions
from ukctrl.pretty import number, quantity, sentence, si, unit_text
from ukctrl.result import Result
from ukctrl.samples import FIELDS, per_second

__all__ = ["Level", "Verdict", "headline", "judge"]

Level = Literal["good", "note", "warning", "bad"]

GROWTH = 2.0
"""An error grows when its maximum rises from quarter to quarter of the run, by this in all."""
NEGLIGIBLE = 1e-6
"""Errors [m, rad] and row accelerations [m/s^2, rad/s^2] below this are rounding."""
LOOSE_PASSIVE = 1e-3
"""A passive constraint that opens by more than this [m, rad] is not closed."""
ENERGY_RTOL, ENERGY_LOOSE = 1e-4, 1e-2
"""Unaccounted energy, relative to the energy that moved: fine below, doubtful above."""
ENERGY_FLOOR = 1e-12
"""Less energy than this is none [J]."""
NEAR_SINGULAR = 1e-3
"""Fraction of its largest value at which a smallest singular value is called small."""
MOST_NAMED_BLOCKS = 3
"""With more servo blocks than this, the headline gives their common norm."""


class Verdict(NamedTuple):
    """One judgement: how good the news is, what it is about, and the words."""

    level: Level
    subject: str
    text: str


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


def judge(result: Result) -> tuple[Verdict, ...]:
    """Return every verdict that the recorded data allow."""
    found = [_outcome(result)]
    if len(result.samples):
        for verdict in (
            _task(result),
            _velocity_task(result),
            _switches(result),
            _rank(result),
            _reach(result),
            _limits(result),
            _effects(result),
            *(
                Verdict("warning" if given.missed else "note", given.subject, given.text)
                for given in concessions(result)
            ),
            _joints(result),
            _passive(result),
            _reactions(result),
            _energy(result),
        ):
            found += [verdict] if verdict is not None else []
    return tuple(found)


def _outcome(result: Result) -> Verdict:
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


def _task(result: Result) -> Verdict | None:
    name = "phi" if np.isfinite(result.metric("peak_phi")) else "beta"
    norm = measures.error_norm(result.samples, name)
    if not np.isfinite(norm).all():
        return None
    unit = metrics.unit_in(f"peak_{name}", result.labels)
    first, last, peak = float(norm[0]), float(norm[-1]), float(norm.max())
    at = quantity(float(result.time[int(norm.argmax())]), "s")
    if peak <= NEGLIGIBLE:
        return Verdict("good", "task", f"The error never exceeds {si(peak, unit)} (at t = {at}).")
    if _grows(norm):
        return Verdict(
            "warning",
            "task",
            f"The error keeps growing, from {si(first, unit)} to {si(last, unit)}: "
            + _why_it_grows(result),
        )
    settled = result.metric("settling_time")
    course = f"The error starts at {si(first, unit)}, peaks at {si(peak, unit)} (t = {at})"
    if peak == first:
        course = f"The error is largest at the start, {si(first, unit)}"
    if np.isfinite(settled):
        after = f", has settled after {quantity(settled, 's')}" if settled > 0.0 else ""
        return Verdict("good", "task", f"{course}{after} and ends at {si(last, unit)}.")
    return Verdict(
        "note",
        "task",
        f"{course} and ends at {si(last, unit)}; it does not settle within the run.",
    )


def _why_it_grows(result: Result) -> str:
    controller = result.scenario.get("controller", {})
    feedback = controller.get("feedback", {}) if isinstance(controller, Mapping) else {}
    if isinstance(feedback, Mapping) and feedback.get("kind") == "exact":
        return "nothing pulls it back. A stabilised feedback (Baumgarte, PID) would."
    return "the controller does not hold it."


def _velocity_task(result: Result) -> Verdict | None:
    """Judge the rows without a position level where other rows have one."""
    samples, labels = result.samples, result.labels
    with_phi = measures.holonomic(samples)
    rows = np.setdiff1d(np.arange(len(labels.rows)), with_phi)
    if not rows.size or not with_phi.size:
        return None
    size = np.abs(samples["beta"][:, rows])
    last = size[-1]
    if not np.isfinite(last).all():
        return None
    worst = int(np.argmax(last))
    unit = per_second(labels.row_units[int(rows[worst])])
    bad = last[worst] > max(metrics.SETTLED_FRACTION * float(size[0].max()), metrics.SETTLED_FLOOR)
    return Verdict(
        "warning" if bad else "good",
        "velocity",
        f"The rows without a position level end within {si(float(last[worst]), unit)}, "
        f"farthest off on row '{labels.rows[int(rows[worst])]}'.",
    )


def _grows(norm: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    if len(norm) < 8:
        return False
    peaks = [float(part.max()) for part in np.array_split(norm, 4)]
    rising = all(one < next_ for one, next_ in itertools.pairwise(peaks))
    return rising and peaks[-1] > max(GROWTH * peaks[0], NEGLIGIBLE)


def _switches(result: Result) -> Verdict | None:
    found = result.switches
    if not found:
        return None
    when = quantity(found[0], "s", 4)
    if len(found) == 1:
        return Verdict("good", "switching", f"The controller switched once, at t = {when}.")
    last = quantity(found[-1], "s", 4)
    text = f"The controller switched {len(found)} times, from t = {when} to t = {last}."
    return Verdict("note", "switching", text)


def _rank(result: Result) -> Verdict | None:
    count = len(result.labels.rows)
    if count == 0 or "rank" not in result.samples or not np.isfinite(result["rank"]).any():
        return None
    rank = result["rank"]
    low, high = int(np.nanmin(rank)), int(np.nanmax(rank))
    sigma_text = ""
    level: Level = "good"
    if "sigma_min" in result.samples and np.isfinite(result["sigma_min"]).any():
        sigma = result["sigma_min"]
        smallest, at = float(np.nanmin(sigma)), float(result.time[int(np.nanargmin(sigma))])
        sigma_text = (
            f" The smallest singular value of H = A G lies between {number(smallest)} (at t = "
            f"{quantity(at, 's')}) and {number(float(np.nanmax(sigma)))}."
        )
        if smallest < NEAR_SINGULAR * float(np.nanmax(sigma)):
            level = "warning"
            sigma_text += " The motion passes close to a singularity."
    if low < high:
        at = float(result.time[int(np.nanargmin(rank))])
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


def _reach(result: Result) -> Verdict | None:
    if "reach" not in result.samples or not np.isfinite(result["reach"]).any():
        return None
    reach, time = result["reach"], result.time
    worst, at = float(np.nanmax(reach)), float(time[int(np.nanargmax(reach))])
    if worst <= NEGLIGIBLE:
        return Verdict(
            "good", "reach", "The actuators can give every acceleration that the task asks for."
        )
    share = measures.time_mean(time, np.nan_to_num(reach > NEGLIGIBLE).astype(np.float64))
    unit = unit_text(FIELDS["reach"].units(result.labels)[0])
    return Verdict(
        "warning",
        "reach",
        f"The task asks for accelerations that no input gives: short by up to {number(worst)} "
        f"{unit} (t = {quantity(at, 's')}), during {_percent(share)} of the run.",
    )


def _limits(result: Result) -> Verdict | None:
    labels, u = result.labels, result["u"]
    if not u.any():
        return None
    limit = np.array(labels.effort_limit)
    if "u_upper" in result.samples:  # bounds that an effect kept may be tighter
        size = np.maximum(np.abs(result["u_lower"]), np.abs(result["u_upper"])).max(axis=0)
        limit = np.where(limit > 0.0, np.minimum(limit, size), size)
    limited = np.isfinite(limit) & (limit > 0.0)
    if not limited.any():
        return Verdict("note", "limits", "No actuator has an effort limit.")
    with np.errstate(invalid="ignore"):
        use = np.nanmax(np.abs(u[:, limited]), axis=0, initial=0.0) / limit[limited]
    k = int(use.argmax())
    name = [entry for entry, has in zip(labels.actuators, limited, strict=True) if has][k]
    share = result.metric("saturated_fraction")
    if share > 0.0:
        return Verdict(
            "warning",
            "limits",
            f"Some input is at or beyond its limit during {_percent(share)} of the run; '{name}' "
            f"reaches {_percent(float(use[k]))} of its limit.",
        )
    return Verdict(
        "good",
        "limits",
        f"All inputs stay within their limits; '{name}' comes nearest, at "
        f"{_percent(float(use[k]))} of its own.",
    )


def _effects(result: Result) -> Verdict | None:
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


def _joints(result: Result) -> Verdict | None:
    beyond = result.provenance.get("beyond_limits")
    if not isinstance(beyond, list | tuple) or not beyond:
        return None
    more = f" So do {len(beyond) - 1} others." if len(beyond) > 1 else ""
    text = f"The joint limits are not stops of the simulation: {beyond[0]}{more}"
    return Verdict("warning", "joints", text)


def _passive(result: Result) -> Verdict | None:
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


def _reactions(result: Result) -> Verdict | None:
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
        f"Of the passive force, {_percent(share)} at most is outside the rows; on their drift the "
        f"reactions exchange {si(work, 'J')}, {_percent(fed)} of the energy that moved"
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


def _energy(result: Result) -> Verdict | None:
    drift = result.metric("energy_drift")
    if not np.isfinite(drift):
        return None
    energy, imbalance = result["energy"], measures.energy_imbalance(result.samples)
    supplied = energy - energy[0] - imbalance
    moved = float(np.abs(np.diff(supplied)).sum() + np.ptp(energy))
    if "kinetic_energy" in result.samples:  # from height or springs to motion and back
        moved += float(np.abs(np.diff(result["kinetic_energy"])).sum())
    if moved <= ENERGY_FLOOR:
        return Verdict("good", "energy", "No energy moved.")
    share = drift / moved
    text = (
        f"{si(drift, 'J')} is unaccounted for at worst, {_percent(share)} of the "
        f"{si(moved, 'J')} that moved"
    )
    if share <= ENERGY_RTOL:
        return Verdict("good", "energy", f"{text}.")
    if share <= ENERGY_LOOSE:
        return Verdict("note", "energy", f"{text}; a shorter step or sample interval lowers that.")
    return Verdict("warning", "energy", f"{text}: the integration is too coarse to be believed.")


def _percent(share: float) -> str:
    value = 100.0 * share
    return f"{number(value, 2)} %" if value < 1.0 else f"{value:.3g} %"
