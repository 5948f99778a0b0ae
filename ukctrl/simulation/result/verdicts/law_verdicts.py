"""Verdicts on what a law gave up: motors at limits, their cost in tracking; a promise broken.

An allocation records its account as signals: ``binding`` (of each motor, 1 at its upper limit, -1
at its lower, 0 where no limit changed the input), ``task_scale``, ``row_miss``, ``miss_bound``.
A feedback that promises a bound records it beside its error: ``surface_error``, ``surface_bound``,
``position_error``, ``position_bound``. A law that looks ahead records which limits it gives up
there, ``excess_ahead`` and ``speed_excess_ahead``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import number, quantity, si
from ukctrl.core.tie_breaking import first_largest
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE

MAX_NAMED_INTERVALS = 3
"""More intervals at a limit than this are counted, not named."""
ROUNDING = 1e-6
"""An error may exceed its bound by this fraction, and by this times `NEGLIGIBLE`."""


class LimitInterval(NamedTuple):
    """A motor at one of its limits, for a while."""

    actuator: str
    side: int
    """1 at its upper limit, -1 at its lower."""
    start: float
    """Of the first sample at the limit [s]."""
    stop: float
    """Of the last sample at it [s]."""

    def __str__(self) -> str:
        limit = "upper" if self.side > 0 else "lower"
        return f"'{self.actuator}' at its {limit} limit, {self.start:.2f} s to {self.stop:.2f} s"


def limit_intervals(result: RunRecord) -> tuple[LimitInterval, ...]:
    """Return when which motor was at a limit that changed the input, in order of time."""
    if "binding" not in result.samples:
        return ()
    spells, sides = [], sample_measures.motors_at_limits(result.samples)
    for name, side in zip(result.labels.actuators, sides.T, strict=False):
        edges = np.flatnonzero(np.diff(side)) + 1
        for interval in np.split(np.arange(len(side)), edges):
            if interval.size and side[interval[0]]:
                start, stop = result.time[interval[0]], result.time[interval[-1]]
                spells.append(
                    LimitInterval(name, int(side[interval[0]]), float(start), float(stop))
                )
    return tuple(sorted(spells, key=lambda spell: spell.start))


def relaxation_verdicts(result: RunRecord) -> tuple[Verdict, ...]:
    """Return what the allocation gave up, and whether the feedback kept its promise.

    A warning where the task was missed for it, else a note.
    """
    if not len(result.samples):
        return ()
    of_allocation = (_motor_limits, _damping, _priorities) if "row_miss" in result.samples else ()
    verdicts = (
        judge(result)
        for judge in (*of_allocation, _predicted_excess, _late_qp_solves, _error_bound)
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)


def _motor_limits(result: RunRecord) -> Verdict | None:
    """Judge motors at their limits."""
    intervals = limit_intervals(result)
    if not intervals:
        return None
    longest = sorted(intervals, key=lambda spell: spell.start - spell.stop)[:MAX_NAMED_INTERVALS]
    more = len(intervals) - len(longest)
    text = "; ".join(str(spell) for spell in sorted(longest, key=lambda spell: spell.start))
    text = f"{text}; and {more} more intervals. " if more else f"{text}. "
    during = (sample_measures.motors_at_limits(result.samples) != 0.0).any(axis=1)
    missed = np.abs(result["row_miss"][during])
    if not (np.linalg.norm(missed, axis=1) > NEGLIGIBLE).any():
        # a limit that cost the task nothing is worth no warning
        return Verdict("note", "motors", f"{text}The task was still met in full.")
    if "task_scale" in result.samples:
        scale = float(result["task_scale"][during].min())
        text += f"The task was scaled down to {number(scale, 2)} of the demand"
    else:
        labels = result.labels
        blocks = (b for b in labels.blocks if (missed[:, labels.block_rows(b)] > NEGLIGIBLE).any())
        text += f"The rows of {quoted(blocks)} gave way"
    return Verdict("warning", "motors", f"{text}; {_error(result, during)}.")


def _damping(result: RunRecord) -> Verdict | None:
    """Judge singular poses that damping was needed in."""
    if "miss_bound" not in result.samples:
        return None
    bound, miss = result["miss_bound"], np.linalg.norm(result["row_miss"], axis=1)
    during = bound > NEGLIGIBLE
    if not during.any():
        return None
    at = result.time[during]
    unit = result.samples.signals["miss_bound"].units
    text = (
        f"Near a singular pose, from {at[0]:.2f} s to {at[-1]:.2f} s, damping left a row residual "
        f"of up to {quantity(float(miss[during].max()), unit)}; its bound is "
        f"{quantity(float(bound.max()), unit)}"
    )
    return Verdict("warning", "damping", f"{text}; {_error(result, during)}.")


def _priorities(result: RunRecord) -> Verdict | None:
    """Judge levels that higher ones left too little."""
    if "level_miss" not in result.samples:
        return None
    missed = result["level_miss"] > NEGLIGIBLE
    if not missed.any():
        return None
    names = result.samples.signals["level_miss"].components
    lost = quoted(name for name, level in zip(names, missed.T, strict=True) if level.any())
    during: NDArray[np.bool_] = np.any(missed, axis=1)
    share = 100.0 * float(during.mean())
    text = f"Higher levels left {lost} too little freedom in {share:.3g} % of the samples"
    return Verdict("warning", "priorities", f"{text}; {_error(result, during)}.")


def _predicted_excess(result: RunRecord) -> Verdict | None:
    """Judge limits ahead that no inputs kept."""
    reports, during = [], np.zeros(len(result.samples), dtype=np.bool_)
    for name in ("excess_ahead", "speed_excess_ahead"):
        signal = result.samples.signals.get(name)
        if signal is None:
            continue
        for limit, excess in zip(signal.components, result[name].T, strict=True):
            during |= excess > 0.0
            if excess.any():
                reports.append(f"'{limit}' by up to {quantity(float(excess.max()), signal.units)}")
    if not reports:
        return None
    share = 100.0 * float(during.mean())
    text = (
        f"In {share:.3g} % of the samples no admissible input kept all limits over the horizon. "
        f"Exceeded: {', '.join(reports)}."
    )
    return Verdict("warning", "limits ahead", text)


def _late_qp_solves(result: RunRecord) -> Verdict | None:
    """Warn of programs that took longer than the control period."""
    timing = result.provenance.get("timing")
    if not isinstance(timing, Mapping) or not timing.get("late_programs"):
        return None
    worst = si(1e-6 * float(timing["worst_program_us"]), "s")
    text = (
        f"Of {timing['programs']} programs {timing['late_programs']} took longer than the control "
        f"period on this machine, {worst} at worst: a real input would have come late. Take fewer "
        "moves, or a longer period."
    )
    return Verdict("warning", "pace", text)


def _error_bound(result: RunRecord) -> Verdict | None:
    """Judge whether errors stayed within the bounds that the feedback promises."""
    signals, verdict = result.samples.signals, None
    for level in ("surface", "position"):
        if f"{level}_error" not in signals or f"{level}_bound" not in signals:
            continue
        error, bound = result[f"{level}_error"].ravel(), result[f"{level}_bound"].ravel()
        unit = signals[f"{level}_bound"].units
        # a promise is not broken by rounding, of large bounds or of none
        excess = np.flatnonzero(error > bound * (1.0 + ROUNDING) + ROUNDING * NEGLIGIBLE)
        if excess.size:
            worst = int(excess[first_largest(error[excess] - bound[excess])])
            return Verdict(
                "warning",
                "promise",
                f"At {result.time[excess[0]]:.2f} s the error of {level} exceeded the law's "
                f"bound; it grew to {quantity(float(error[worst]), unit)} where the bound is "
                f"{quantity(float(bound[worst]), unit)}. An assumption of the bound does not "
                "hold: the model error is larger than the law was told, or the input is "
                "saturated or held too long.",
            )
        if np.isfinite(bound[-1]) and bound[-1] > 0.0:
            verdict = Verdict(
                "note",
                "promise",
                f"The errors stayed within the law's bounds. At the end the error of {level} is "
                f"{quantity(float(error[-1]), unit)}, its bound "
                f"{quantity(float(bound[-1]), unit)}.",
            )
    return verdict


def _error(result: RunRecord, during: NDArray[np.bool_]) -> str:
    """Return the largest error of every block from the first concession on."""
    labels, sizes = result.labels, {}
    for block in labels.blocks:
        name = sample_measures.error_level(result.samples, block)
        norm = sample_measures.error_norm(result.samples, name, block)[int(during.argmax()) :]
        if norm.size and np.isfinite(norm).any():
            unit = metrics.unit_in(f"peak_{name}.{block}", labels)
            largest = float(np.nanmax(norm))
            sizes[f"{si(largest, unit)} in '{block}'"] = largest
    grown = [text for text, size in sizes.items() if size > NEGLIGIBLE] or list(sizes)[:1]
    return f"the tracking error grew to {', '.join(grown)}" if grown else "no error is known"
