"""What a servo law has learnt on the plant itself: an acceleration of its rows, added by the clock.

Trials of one task leave it, in a file; how they find it stands in ``ukctrl_laws/learning``.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Self, final

from pydantic import model_validator

from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.fields import Index, InputFile, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.reference.csv_columns import read_columns, read_header

TIME_COLUMN = "t"
"""Column of the instants."""


@final
@spec
class LearnedCorrection:
    r"""A correction $c(t)$ of the demanded row acceleration, linear between its instants.

    It belongs to one plant, payload, path and start, and knows nothing of others.
    """

    file: InputFile
    """CSV file: `t` [s], and a column a row, by its name [row/s^2]."""
    trials: Index = 0
    """After how many trials on the plant."""

    @model_validator(mode="after")
    def _check_file(self) -> Self:
        _ = self._table
        return self

    @functools.cached_property
    def _table(self) -> tuple[Vector, Matrix, tuple[str, ...]]:
        times, values = read_columns(Path(self.file), TIME_COLUMN, None)
        names = tuple(name for name in read_header(Path(self.file)) if name != TIME_COLUMN)
        return times, values, names

    def attach(self, task: Task, stack: Stack) -> tuple[Vector, Matrix]:
        """Return the instants, shape ``(k,)``, and the corrections there, ``(k, m)``.

        Raises:
            InputError: The file is of other rows, or of another time.
        """
        times, values, names = self._table
        if sorted(names) != sorted(stack.names):
            raise InputError(
                f"learned: {Path(self.file).name} must have a column for each servo row, "
                f"{quoted(stack.names)}; got {quoted(names)}. Learn anew on this scenario."
            )
        last, slack = task.start + task.duration, task.period or 0.0
        if task.start < times[0] - slack or last > times[-1] + 1.5 * slack:
            raise InputError(
                f"learned: {Path(self.file).name} is for {times[0]:g} to {times[-1]:g} s; the run "
                f"is from {task.start:g} to {last:g} s. Learn anew on this scenario."
            )
        return times, values[:, [names.index(name) for name in stack.names]].copy()


@compiled
def add_correction(clock: Vector, times: Vector, table: Matrix, demand: Vector) -> None:
    """Add to a demand what is learnt for the time of the clock."""
    t, low, high = clock[0], 0, len(times) - 1
    if t <= times[low]:
        high = low
    elif t >= times[high]:
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= t:
            low = middle
        else:
            high = middle
    share = (t - times[low]) / (times[high] - times[low]) if high > low else 0.0
    for i in range(len(demand)):
        demand[i] += table[low, i] + share * (table[high, i] - table[low, i])
