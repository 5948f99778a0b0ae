"""What a law gave up, in words: which motor bound, when, what tracking it cost; a promise broken.

An allocation records its account as signals: ``binding`` (of each motor, 1 at its upper limit, -1
at its lower, 0 where no limit changed the input), ``task_scale``, ``row_miss``, ``miss_bound``.
A feedback that promises a bound records it beside its error: ``surface_error``, ``surface_bound``,
``position_error``, ``position_bound``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.extremes import first_largest
from ukctrl.core.number_text import number, quantity, si, unit_text
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.result import Result

MOST_SPELLS = 3
"""More motors or intervals than this are counted, not named."""
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


class Concession(NamedTuple):
    """What the task had to give, and whether it was missed for it."""

    subject: str
    missed: bool
    text: str


def spells(result: Result) -> tuple[Spell, ...]:
    """Return when which motor was at a limit that changed the input, in order of time."""
    if "binding" not in result.samples:
        return ()
    found = []
    for name, side in zip(result.labels.actuators, result["binding"].T, strict=False):
        edges = np.flatnonzero(np.diff(side)) + 1
        for part in np.split(np.arange(len(side)), edges):
            if part.size and side[part[0]]:
                start, stop = result.time[part[0]], result.time[part[-1]]
                found.append(Spell(name, int(side[part[0]]), float(start), float(stop)))
    return tuple(sorted(found, key=lambda spell: spell.start))


def concessions(result: Result) -> tuple[Concession, ...]:
    """Return what the allocation had to give up, and whether the feedback kept its promise."""
    if not len(result.samples):
        return ()
    allocation = (_bound, _damped, _ordered) if "row_miss" in result.samples else ()
    return tuple(filter(None, (tell(result) for tell in (*allocation, _promised))))


def _bound(result: Result) -> Concession | None:
    """Tell of motors at their limits."""
    found = spells(result)
    if not found:
        return None
    longest = sorted(found, key=lambda spell: spell.start - spell.stop)[:MOST_SPELLS]
    more = len(found) - len(longest)
    rest = f"; and {more} more such interval{'s' if more > 1 else ''}" if more else ""
    during = (result["binding"] != 0.0).any(axis=1)
    text = f"{_spelled(longest)}{rest}. "
    missed = np.linalg.norm(result["row_miss"], axis=1)
    if not (missed[during] > SERVED).any():
        return Concession("motors", False, f"{text}The task was served in full all the same.")
    if "task_scale" in result.samples:
        least = float(result["task_scale"].min())
        text += f"The task was scaled down to {number(least, 2)} of what was asked"
    else:
        text += f"{_rows_that_gave_way(result, during)} gave way"
    return Concession("motors", True, f"{text}; {_error(result, during)}.")


def _spelled(told: Sequence[Spell]) -> str:
    """Return intervals in words, motor by motor."""
    parts = []
    for name in dict.fromkeys(spell.actuator for spell in sorted(told, key=lambda it: it.start)):
        words, side = [], 0
        for spell in sorted(told, key=lambda it: it.start):
            if spell.actuator == name:
                limit = "at its upper limit " if spell.side > 0 else "at its lower limit "
                words.append(f"{limit if spell.side != side else ''}{_when(spell)}")
                side = spell.side
        parts.append(f"motor '{name}' was {', '.join(words)}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _when(spell: Spell) -> str:
    if spell.start == spell.stop:
        return f"at {spell.start:.2f} s"
    return f"from {spell.start:.2f} s to {spell.stop:.2f} s"


def _rows_that_gave_way(result: Result, during: NDArray[np.bool_]) -> str:
    labels, miss = result.labels, np.abs(result["row_miss"][during])
    blocks = [
        block for block in labels.blocks if (miss[:, labels.block_rows(block)] > SERVED).any()
    ]
    return f"The rows of {' and '.join(repr(block) for block in blocks)}"


def _damped(result: Result) -> Concession | None:
    """Tell of singular poses that damping was needed in."""
    if "miss_bound" not in result.samples:
        return None
    bound, miss = result["miss_bound"], np.linalg.norm(result["row_miss"], axis=1)
    during = bound > SERVED
    if not during.any():
        return None
    at = result.time[during]
    unit = unit_text(result.samples.signals["miss_bound"].units)
    text = (
        f"Near a singular pose, between {at[0]:.2f} s and {at[-1]:.2f} s, damping missed the rows "
        f"by up to {quantity(float(miss[during].max()), unit)}, where its bound allows "
        f"{quantity(float(bound.max()), unit)}"
    )
    return Concession("damping", True, f"{text}; {_error(result, during)}.")


def _ordered(result: Result) -> Concession | None:
    """Tell of levels that higher ones left too little."""
    if "level_miss" not in result.samples:
        return None
    signal = result.samples.signals["level_miss"]
    missed = result["level_miss"]
    lost = [k for k in range(missed.shape[1]) if (missed[:, k] > SERVED).any()]
    if not lost:
        return None
    during: NDArray[np.bool_] = np.any(missed[:, lost] > SERVED, axis=1)
    share = 100.0 * float(during.mean())
    names = " and ".join(repr(signal.components[k]) for k in lost)
    text = f"The levels above left {names} too little freedom in {share:.3g} % of the samples"
    return Concession("priorities", True, f"{text}; {_error(result, during)}.")


def _promised(result: Result) -> Concession | None:
    """Tell whether errors stayed within the bounds that the feedback promises."""
    signals, kept = result.samples.signals, ""
    for level in ("surface", "position"):
        if f"{level}_error" not in signals or f"{level}_bound" not in signals:
            continue
        error, bound = result[f"{level}_error"].ravel(), result[f"{level}_bound"].ravel()
        beyond = np.flatnonzero(error > bound * (1.0 + ROUNDING) + ROUNDING * SERVED)
        unit = unit_text(signals[f"{level}_bound"].units)
        if beyond.size:
            first = int(beyond[0])
            worst = int(beyond[first_largest(error[beyond] - bound[beyond])])
            text = (
                f"At {result.time[first]:.2f} s the error of {level} left the bound that the law "
                f"promises; it grew to {quantity(float(error[worst]), unit)} where the bound is "
                f"{quantity(float(bound[worst]), unit)}. Something that the promise assumes does "
                "not hold: the model is further off than the law was told, or the input is limited "
                "or held too long."
            )
            return Concession("promise", True, text)
        if np.isfinite(bound[-1]) and bound[-1] > 0.0:
            kept = (
                "Errors stayed within the bounds that the law promises. At the end the error of "
                f"{level} is {quantity(float(error[-1]), unit)}, its bound "
                f"{quantity(float(bound[-1]), unit)}."
            )
    return Concession("promise", False, kept) if kept else None


def _error(result: Result, during: NDArray[np.bool_]) -> str:
    """Return the largest error of every block from the first concession on."""
    parts, labels = [], result.labels
    for block in labels.blocks:
        name = "phi" if measures.holonomic(result.samples, block).size else "beta"
        norm = measures.error_norm(result.samples, name, block)[int(during.argmax()) :]
        if norm.size and np.isfinite(norm).any():
            unit = metrics.unit_in(f"peak_{name}.{block}", labels)
            parts.append((f"{si(float(np.nanmax(norm)), unit)} in '{block}'", np.nanmax(norm)))
    told = [text for text, size in parts if size > SERVED] or [text for text, _ in parts[:1]]
    return f"the tracking error grew to {' and '.join(told)}" if told else "no error is known"
