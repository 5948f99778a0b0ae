"""Was everything kept that was to be kept: with how much to spare, for how long, at what cost?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.extremes import first_smallest
from ukctrl.core.number_text import quantity, si
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.metrics.keep_metrics import rounding_of
from ukctrl.simulation.result.record import Record
from ukctrl.simulation.result.verdicts.gave_way import given_up, off_by


def kept(result: Record) -> Iterator[Verdict]:
    """Yield a verdict on every block of what the law keeps."""
    if "keep" not in result.samples or not len(result.samples):
        return
    for block in result.labels.keep_blocks:
        rows = result.labels.kept_rows(block)
        level, text = _held(result, block, rows)
        missed = result["keep_missed"][:, rows]
        if missed.any():
            k = rows[int(np.argmax(missed.max(axis=0)))]
            most = quantity(float(missed.max()), result.labels.keep_row_missed_units[k])
            text += f"; '{result.labels.keep_rows[k]}' gave way, by up to {most}"
            level = "warning"
        yield Verdict(level, "keep", f"{text}{_cost(result, rows)}.")


def _held(result: Record, block: str, rows: NDArray[np.intp]) -> tuple[Level, str]:
    """Judge how much was left of a block."""
    labels, left = result.labels, result["keep"][:, rows]
    left = np.where(np.isnan(left), np.inf, left)  # of forces that nothing was asked of
    k = first_smallest(left.min(axis=0))
    least, unit = float(left[:, k].min()), labels.keep_row_units[rows[k]]
    at = quantity(float(result.time[first_smallest(left[:, k])]), "s")
    where = "" if len(rows) == 1 else f", least at '{labels.keep_rows[rows[k]]}'"
    if np.isinf(least):
        return "good", f"'{block}' was asked of nothing"
    near = rounding_of(unit)
    if least >= -near:
        spare = si(least, unit) if least > near else "nothing"
        return "good", f"'{block}' held with {spare} to spare (t = {at}{where})"
    return "warning", f"'{block}' was crossed by {si(-least, unit)} (t = {at}{where})"


def _cost(result: Record, rows: NDArray[np.intp]) -> str:
    """Return for how long a block bound, and how far the task was off meanwhile."""
    binding = np.asarray(result["keep_binding"][:, rows].max(axis=1))
    bound = binding > 0.0
    if not bound.any():
        return "; it never bound"
    long = measures.integral(result.time, binding)
    text = f"; it bound for {quantity(long, 's')}"
    off = off_by(result, given_up(result) & bound[:, None])
    return (
        f"{text}, while the task was off by up to {' and '.join(off)}"
        if off
        else (f"{text}, at no cost to the task")
    )
