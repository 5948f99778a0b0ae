"""What a law gave up: which motor bound, when, what tracking it cost; a promise broken.

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
from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import number, quantity, si
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.record import Record

MOST_SPELLS = 3
"""More intervals at a limit than this are counted, not named."""
SERVED = 1e-6
"""A row acceleration missed by less than this [m/s^2, rad/s^2] is served."""
ROUNDING = 1e-6
"""An error may exceed its bound by this fraction, and by this times `SERVED`."""


class Spell(NamedTuple):
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


def spells(result: Record) -> tuple[Spell, ...]:
    """Return when which motor was at a limit that changed the input, in order of time."""
    if "binding" not in result.samples:
        return ()
    spells = []
    for name, side in zip(result.labels.actuators, result["binding"].T, strict=False):
        edges = np.flatnonzero(np.diff(side)) + 1
        for part in np.split(np.arange(len(side)), edges):
            if part.size and side[part[0]]:
                start, stop = result.time[part[0]], result.time[part[-1]]
                spells.append(Spell(name, int(side[part[0]]), float(start), float(stop)))
    return tuple(sorted(spells, key=lambda spell: spell.start))


def concessions(result: Record) -> tuple[Verdict, ...]:
    """Return what the allocation gave up, and whether the feedback kept its promise.

    A warning where the task was missed for it, else a note.
    """
    if not len(result.samples):
        return ()
    of_allocation = (_bound, _damped, _ordered) if "row_miss" in result.samples else ()
    verdicts = (judge(result) for judge in (*of_allocation, _given_up, _late, _promised))
    return tuple(verdict for verdict in verdicts if verdict is not None)


def _bound(result: Record) -> Verdict | None:
    """Judge motors at their limits."""
    every = spells(result)
    if not every:
        return None
    longest = sorted(every, key=lambda spell: spell.start - spell.stop)[:MOST_SPELLS]
    more = len(every) - len(longest)
    text = "; ".join(str(spell) for spell in sorted(longest, key=lambda spell: spell.start))
    text = f"{text}; and {more} more such. " if more else f"{text}. "
    during = (result["binding"] != 0.0).any(axis=1)
    missed = np.abs(result["row_miss"][during])
    if not (np.linalg.norm(missed, axis=1) > SERVED).any():
        return Verdict("note", "motors", f"{text}The task was served in full all the same.")
    if "task_scale" in result.samples:
        least = float(result["task_scale"].min())
        text += f"The task was scaled down to {number(least, 2)} of what was asked"
    else:
        labels = result.labels
        blocks = (b for b in labels.blocks if (missed[:, labels.block_rows(b)] > SERVED).any())
        text += f"The rows of {quoted(blocks)} gave way"
    return Verdict("warning", "motors", f"{text}; {_error(result, during)}.")


def _damped(result: Record) -> Verdict | None:
    """Judge singular poses that damping was needed in."""
    if "miss_bound" not in result.samples:
        return None
    bound, miss = result["miss_bound"], np.linalg.norm(result["row_miss"], axis=1)
    during = bound > SERVED
    if not during.any():
        return None
    at = result.time[during]
    unit = result.samples.signals["miss_bound"].units
    text = (
        f"Near a singular pose, between {at[0]:.2f} s and {at[-1]:.2f} s, damping missed the rows "
        f"by up to {quantity(float(miss[during].max()), unit)}, where its bound allows "
        f"{quantity(float(bound.max()), unit)}"
    )
    return Verdict("warning", "damping", f"{text}; {_error(result, during)}.")


def _ordered(result: Record) -> Verdict | None:
    """Judge levels that higher ones left too little."""
    if "level_miss" not in result.samples:
        return None
    missed = result["level_miss"] > SERVED
    if not missed.any():
        return None
    names = result.samples.signals["level_miss"].components
    lost = quoted(name for name, level in zip(names, missed.T, strict=True) if level.any())
    during: NDArray[np.bool_] = np.any(missed, axis=1)
    share = 100.0 * float(during.mean())
    text = f"The levels above left {lost} too little freedom in {share:.3g} % of the samples"
    return Verdict("warning", "priorities", f"{text}; {_error(result, during)}.")


def _given_up(result: Record) -> Verdict | None:
    """Judge limits ahead that no inputs kept."""
    told, during = [], np.zeros(len(result.samples), dtype=np.bool_)
    for name in ("excess_ahead", "speed_excess_ahead"):
        signal = result.samples.signals.get(name)
        if signal is None:
            continue
        for limit, excess in zip(signal.components, result[name].T, strict=True):
            during |= excess > 0.0
            if excess.any():
                told.append(f"'{limit}' by up to {quantity(float(excess.max()), signal.units)}")
    if not told:
        return None
    share = 100.0 * float(during.mean())
    text = (
        f"No inputs within their limits kept all limits ahead in {share:.3g} % of the samples. "
        f"Exceeded: {', '.join(told)}."
    )
    return Verdict("warning", "limits ahead", text)


def _late(result: Record) -> Verdict | None:
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


def _promised(result: Record) -> Verdict | None:
    """Judge whether errors stayed within the bounds that the feedback promises."""
    signals, verdict = result.samples.signals, None
    for level in ("surface", "position"):
        if f"{level}_error" not in signals or f"{level}_bound" not in signals:
            continue
        error, bound = result[f"{level}_error"].ravel(), result[f"{level}_bound"].ravel()
        unit = signals[f"{level}_bound"].units
        beyond = np.flatnonzero(error > bound * (1.0 + ROUNDING) + ROUNDING * SERVED)
        if beyond.size:
            worst = int(beyond[first_largest(error[beyond] - bound[beyond])])
            return Verdict(
                "warning",
                "promise",
                f"At {result.time[beyond[0]]:.2f} s the error of {level} left the bound that the "
                f"law promises; it grew to {quantity(float(error[worst]), unit)} where the bound "
                f"is {quantity(float(bound[worst]), unit)}. Something that the promise assumes "
                "does not hold: the model is further off than the law was told, or the input is "
                "limited or held too long.",
            )
        if np.isfinite(bound[-1]) and bound[-1] > 0.0:
            verdict = Verdict(
                "note",
                "promise",
                f"Errors stayed within the bounds that the law promises. At the end the error of "
                f"{level} is {quantity(float(error[-1]), unit)}, its bound "
                f"{quantity(float(bound[-1]), unit)}.",
            )
    return verdict


def _error(result: Record, during: NDArray[np.bool_]) -> str:
    """Return the largest error of every block from the first concession on."""
    labels, sizes = result.labels, {}
    for block in labels.blocks:
        name = measures.error_level(result.samples, block)
        norm = measures.error_norm(result.samples, name, block)[int(during.argmax()) :]
        if norm.size and np.isfinite(norm).any():
            unit = metrics.unit_in(f"peak_{name}.{block}", labels)
            largest = float(np.nanmax(norm))
            sizes[f"{si(largest, unit)} in '{block}'"] = largest
    grown = [text for text, size in sizes.items() if size > SERVED] or list(sizes)[:1]
    return f"the tracking error grew to {', '.join(grown)}" if grown else "no error is known"
