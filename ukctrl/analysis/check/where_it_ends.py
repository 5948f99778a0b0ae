"""Where the motion of a task ends before the run does, and which rows are to blame."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

from ukctrl.analysis.check.inverse_kinematics import clash
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import quoted
from ukctrl.core.extremes import first_largest
from ukctrl.mechanics.constraints import Stack

LOOKS = tuple(2.0**-k for k in range(8, 3, -1)) + tuple(k / 12.0 for k in range(1, 13))
"""Parts of the time from the end of a motion to that of the run, when it is looked at again."""
SOON = 6
"""The first of them say whether rows can be met or not; the others by how much they are missed."""
MET = 1e-9
"""Rows that miss by less can be met [unit]."""


@dc.dataclass(frozen=True, kw_only=True)
class Stop:
    """Where a motion ends before the run does."""

    t: float
    """[s]."""
    why: Literal["reach", "conflict", "branch", "law"]
    """No configuration meets one constraint; or several together; or they can be met, but only by a
    leap; or the law that moves the robot gives up."""
    rows: tuple[str, ...]
    """The rows that are to blame, the worst first."""
    text: str
    """The same as a sentence."""


def blamed(stack: Stack, q: Vector, t: float, end: float, own: int, text: str = "") -> Stop:
    """Say which rows end a motion at a time.

    Args:
        stack: The passive rows, and then those of the task.
        q: The last configuration that met them, shape ``(nq,)``.
        t: When they could be met no longer [s].
        end: End of the run [s].
        own: The number of passive rows.
        text: What to say where no row is to blame.
    """
    if not stack.holonomic.any():
        return Stop(t=t, why="law", rows=(), text=text)
    looks = [(t, clash(stack, q, t))]
    for part in LOOKS:
        later = t + part * max(end - t, 0.0)
        looks.append((later, clash(stack, q, later)))
    # What grows too slowly to be seen at once has been seen a little later.
    seen = [found for _, found in looks[:SOON] if found.left > MET]
    at, worst = looks[first_largest([found.left for _, found in looks])]
    if not seen:
        text = text or (
            f"at t = {t:.4g} s the joints would have to leap: the motion cannot be continued past "
            "a singular position."
        )
        return Stop(t=t, why="branch", rows=(), text=text)
    passive = set(stack.names[:own])
    found = seen[first_largest([clash.left for clash in seen])]
    rows = tuple(row for row in found.rows if row not in passive) or found.rows
    blocks = {stack.blocks[stack.names.index(row)] for row in rows}
    named = quoted(rows)
    missed = f"by up to {f'{worst.left:.2g} {worst.unit}'.strip()} (t = {at:.4g} s)"
    if len(blocks) == 1:
        which = f"row {named} is" if len(rows) == 1 else f"rows {named} are"
        text = f"{which} out of reach from t = {t:.4g} s on, {missed}."
        return Stop(t=t, why="reach", rows=rows, text=text)
    text = f"rows {named} contradict each other from t = {t:.4g} s on; they are missed {missed}."
    return Stop(t=t, why="conflict", rows=rows, text=text)
