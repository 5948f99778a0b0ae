"""Verdicts on kept limits: their slack, how long they were active, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.number_text import quantity, si
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.metrics.inequality_metrics import margin_rounding
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.task_relaxation import block_errors, relaxed_rows


def inequality_verdicts(result: RunRecord) -> Iterator[Verdict]:
    """Yield a verdict on every block of what the law keeps."""
    if "keep" not in result.samples or not len(result.samples):
        return
    for block in result.labels.keep_blocks:
        rows = result.labels.kept_rows(block)
        level, text = _margin_verdict(result, block, rows)
        missed = result["keep_missed"][:, rows]
        if missed.any():
            k = rows[int(np.argmax(missed.max(axis=0)))]
            excess = quantity(float(missed.max()), result.labels.keep_row_missed_units[k])
            text += f"; '{result.labels.keep_rows[k]}' gave way, by up to {excess}"
            level = "warning"
        yield Verdict(level, "keep", f"{text}{_cost(result, rows)}.")


def _margin_verdict(result: RunRecord, block: str, rows: NDArray[np.intp]) -> tuple[Level, str]:
    """Judge how much was left of a block."""
    labels, margins = result.labels, result["keep"][:, rows]
    # NaN: forces of contacts that were asked of nothing
    margins = np.where(np.isnan(margins), np.inf, margins)
    k = first_smallest(margins.min(axis=0))
    margin, unit = float(margins[:, k].min()), labels.keep_row_units[rows[k]]
    at = quantity(float(result.time[first_smallest(margins[:, k])]), "s")
    where = "" if len(rows) == 1 else f", worst at '{labels.keep_rows[rows[k]]}'"
    if np.isinf(margin):
        return "good", f"'{block}' had nothing to limit"
    near = margin_rounding(unit)
    if margin >= -near:
        slack = f"with a slack of {si(margin, unit)}" if margin > near else "without slack"
        return "good", f"'{block}' was kept {slack} (t = {at}{where})"
    return "warning", f"'{block}' exceeded its limit by {si(-margin, unit)} (t = {at}{where})"


def _cost(result: RunRecord, rows: NDArray[np.intp]) -> str:
    """Return for how long a block bound, and how far the task was off meanwhile."""
    binding = np.asarray(result["keep_binding"][:, rows].max(axis=1))
    bound = binding > 0.0
    if not bound.any():
        return "; the limit was never active"
    long = sample_measures.integral(result.time, binding)
    text = f"; the limit was active for {quantity(long, 's')}"
    off = block_errors(result, relaxed_rows(result) & bound[:, None])
    return (
        f"{text}, with a task error of up to {' and '.join(off)}"
        if off
        else (f"{text}, without loss to the task")
    )
