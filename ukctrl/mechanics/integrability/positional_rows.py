"""Which rows hold positions, whether or not they are written so.

The slip of a foot that sticks is a row on velocities, and yet the foot stays where it is: together
with the other rows it integrates. `ukctrl.mechanics.integrability.classify` tells it with proof and
in words; here a robot's rows are judged in floating point, quickly enough for the start of a run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Flags
from ukctrl.mechanics.constraints.constraint import Attached
from ukctrl.mechanics.integrability.brackets import Contradiction, Growth, NoState, growth
from ukctrl.mechanics.integrability.sampled_rows import FLOATING, Sampled

if TYPE_CHECKING:
    from ukctrl.robot import Robot


STATES = 2
"""At how many states drawn at random the rows must integrate."""
SECONDS = 4.0
"""Processor time allowed; rows that are still open then keep velocities only."""


def positional_rows(parts: Sequence[Attached], robot: Robot) -> Flags:
    """Tell which rows hold positions: those written so, and those that integrate given the others.

    A row integrates where no bracket of motions that all rows allow breaks it. A row that is not
    linear in the velocities, or stays undecided, counts as one on velocities.

    Args:
        parts: The constraints, attached to the robot.
        robot: The robot.
    """
    known = np.array([h for part in parts for h in part.holonomic], dtype=bool)
    if known.all():
        return known
    deadline = time.thread_time() + SECONDS
    try:
        space = Sampled(parts, robot)
        chosen = np.flatnonzero(space.linear)
        linear, rng = space.part(chosen.tolist()), np.random.default_rng(0)
        unbroken = ~known[chosen]
        for _ in range(STATES):
            x = linear.draw(rng)
            for scheme in (FLOATING._replace(depth=2), FLOATING):
                growths = growth(linear, x, scheme, deadline)
                unbroken &= _unbroken(growths)
                if not unbroken.any():
                    return known
                if growths.closed:
                    break
            if not growths.closed:
                return known
    except (Contradiction, NoState):
        return known
    known[chosen[unbroken]] = True
    return known


def _unbroken(found: Growth) -> Flags:
    """Tell which rows none of the directions reached breaks."""
    rows = np.asarray(found.rows, dtype=np.float64)
    broken = np.abs(rows @ np.asarray(found.basis, dtype=np.float64)).max(axis=1)
    unbroken: Flags = broken <= FLOATING.zero * (1.0 + np.abs(rows).max(axis=1))
    return unbroken
