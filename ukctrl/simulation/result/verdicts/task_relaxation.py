"""Task relaxation: for which limits a law gave way, for how long, and what that cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags
from ukctrl.core.errors import quoted
from ukctrl.core.number_text import quantity, si
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE


class TaskRelaxation(NamedTuple):
    """Task relaxation: where a task gave way to limits."""

    during: Flags
    """At which samples, shape ``(n,)``."""
    limits: str
    """To which, in words."""
    time: float
    """For how long [s]."""
    errors: tuple[str, ...]
    """By how much each block of rows was off meanwhile, in words."""

    @property
    def sentence(self) -> str:
        """All of it: to what, for how long, and by how much."""
        cost = f", with an error of up to {' and '.join(self.errors)}" if self.errors else ""
        return f"gave way to {self.limits} for {quantity(self.time, 's')}{cost}"


def task_relaxation(result: RunRecord) -> TaskRelaxation | None:
    """Return where a task gave way to limits that its law keeps; None where it never did."""
    missed, limits = relaxed_rows(result), list[str]()
    mask = missed.any(axis=1)
    named = np.zeros_like(mask)
    for block in result.labels.keep_blocks if mask.any() else ():
        binding = result["keep_binding"][:, result.labels.kept_rows(block)]
        block_mask = mask & (binding != 0.0).any(axis=1)
        named |= block_mask
        limits += [f"'{block}'"] if block_mask.any() else []
    # where no limit of the scenario bound, it was the motors
    limits += ["the motors' limits"] if (mask & ~named).any() else []
    signals = result.samples.signals
    of_motors = "binding" in signals and result["binding"].shape == result["u"].shape
    if of_motors and "row_miss" in signals:
        sides = sample_measures.motors_at_limits(result.samples) != 0.0
        short = np.abs(result["row_miss"]) > NEGLIGIBLE
        bound = short.any(axis=1) & sides.any(axis=1)
        at = zip(result.labels.actuators, sides[bound].any(axis=0), strict=True)
        names = [name for name, is_at in at if is_at]
        limits += [f"the limits of {quoted(names)}"] if names else []
        # rows of an allocation may be others than those of the task: then all count
        missed = missed | (bound[:, None] & (short if short.shape == missed.shape else True))
    during: Flags = np.asarray(missed.any(axis=1))
    if not during.any():
        return None
    time = sample_measures.integral(result.time, during.astype(np.float64))
    return TaskRelaxation(during, " and ".join(limits), time, block_errors(result, missed))


def relaxed_rows(result: RunRecord) -> Flags:
    """Return which servo rows gave something up for what is kept, shape ``(n, m)``."""
    if "keep_given_up" not in result.samples:
        return np.zeros((len(result.samples), len(result.labels.rows)), dtype=np.bool_)
    return np.asarray(np.abs(result["keep_given_up"]) > NEGLIGIBLE)


def block_errors(result: RunRecord, missed: Flags) -> tuple[str, ...]:
    """Return by how much the blocks were off at most while rows of theirs were missed, in words.

    Args:
        result: The run.
        missed: Which rows were, shape ``(n, m)``; a block that never was is left out.
    """
    labels, during, off = result.labels, missed.any(axis=1), list[str]()
    for block in labels.blocks:
        rows = labels.block_rows(block)
        level = sample_measures.error_level(result.samples, block)
        error = sample_measures.error_norm(result.samples, level, block)[during]
        if missed[:, rows].any() and np.isfinite(error).all():
            unit = metrics.unit_in(f"peak_{level}.{block}", labels)
            off.append(f"{si(float(error.max()), unit)} in '{block}'")
    return tuple(off)
