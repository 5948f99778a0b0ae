"""Rows in levels: their order, and their lengths."""

from __future__ import annotations

from typing import Annotated, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.input_metric import InputMetric
from ukctrl.control.task import Task
from ukctrl.core.algebra.task_hierarchy import row_norms_in_metric
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, unknown_name
from ukctrl.core.fields import ListSize, Text
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics

PriorityOrder = Annotated[tuple[Text | tuple[Text, ...], ...], ListSize()]
"""Blocks of servo rows, highest priority first; a list inside it is one level of several."""


@final
class PriorityLevels:
    """The servo rows of a task, level by level; without an order, block by block.

    Raises:
        GainError: A block has no place in the order, or two.
        UnknownName: The task has no such block.
    """

    def __init__(self, order: PriorityOrder | None, stack: Stack) -> None:
        block_names = tuple(dict.fromkeys(stack.blocks))
        entries = block_names if order is None else order
        levels = [(entry,) if isinstance(entry, str) else entry for entry in entries]
        if () in levels:
            raise GainError("order must not have empty levels; remove the empty list.")
        named = [block for level in levels for block in level]
        for block in named:
            if block not in block_names:
                raise unknown_name("block of servo rows (in order)", block, block_names)
            if named.count(block) > 1:
                raise GainError(f"order must name every block once; '{block}' comes twice.")
        missing = [block for block in block_names if block not in named]
        if missing:
            raise GainError(f"order must name every block; '{missing[0]}' is missing.")
        blocks = np.array(stack.blocks)
        level_rows = [np.flatnonzero(np.isin(blocks, level)) for level in levels]
        self.names: tuple[str, ...] = tuple("+".join(level) for level in levels)
        """Name of every level."""
        self.rows: NDArray[np.intp] = np.concatenate(level_rows)
        """The rows, highest priority first."""
        self.ends: NDArray[np.int64] = np.cumsum([len(rows) for rows in level_rows])
        """One past the last row of every level."""


def row_scale(stack: Stack, metric: InputMetric, task: Task) -> Vector:
    """Return the length of every servo row at the start of the task, shape ``(m,)``.

    The length is that of ``H_i`` in the input metric, of the longest row of the same block and
    unit: a singular pose shortens rows, and one that starts there must not hide it. So a singular
    value of rows divided by it does not depend on units, nor on how strong the motors are.
    """
    dynamics = Dynamics(task.robot, task.rank, task.gains)
    dynamics.move(task.start, task.q, task.v)
    H = dynamics.servo_matrix(stack.write(dynamics.snapshot).A)
    lengths = np.empty(len(stack))
    row_norms_in_metric(H, metric.root_inverse(dynamics), lengths)
    groups = list(zip(stack.blocks, stack.units, strict=True))
    longest = dict.fromkeys(groups, 0.0)
    for group, length in zip(groups, lengths.tolist(), strict=True):
        longest[group] = max(longest[group], length)
    scale = np.array([longest[group] for group in groups])
    scale[scale == 0.0] = max_abs(scale) or 1.0
    return scale
