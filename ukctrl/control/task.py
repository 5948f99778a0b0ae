"""What a law is started on, and what it may want recorded."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Array, Vector
from ukctrl.mechanics.constraints import Constraint
from ukctrl.mechanics.dynamics import DEFAULT_GAINS, StabilisationGains
from ukctrl.robot import Robot

NO_MEMORY: Vector = np.zeros(0)
"""Memory of a law that has none."""


class Signal(NamedTuple):
    """A number that a law wants recorded."""

    value: float | Vector
    units: str
    long_name: str
    components: tuple[str, ...] = ()
    """Names of the entries of a vector; absent: numbers."""


class TunableGain(NamedTuple):
    """A gain that may be changed while a law runs: a number that kernels read at every tick."""

    name: str
    row: str
    """The row or joint that it is of."""
    unit: str
    values: Array
    """The array that has it, among others."""
    place: int
    """Where it is there, all numbers in a row."""

    @property
    def value(self) -> float:
        """What it is."""
        return float(self.values.flat[self.place])


@explain_argument_errors
@dc.dataclass(frozen=True, kw_only=True)
class Task:
    """What a law is started on: everything it may know.

    The robot is the believed one; nothing of the true one can be reached from here.
    """

    robot: Robot
    """The believed robot."""
    servo: Sequence[Constraint]
    """The constraints to enforce."""
    q: Vector
    """Configuration at the start, shape ``(nq,)``."""
    v: Vector
    """Velocity at the start, shape ``(nv,)``."""
    start: float = 0.0
    """Time of the start [s]."""
    duration: float = np.inf
    """Length of the run [s]."""
    period: float | None = None
    """Period of the zero-order hold [s]; None under continuous control."""
    rank: RankPolicy = RUN_RANK
    """When rows count as dependent or missed."""
    gains: StabilisationGains = DEFAULT_GAINS
    """How errors of the robot's passive rows decay."""
    planned: bool = False
    """Whether the run begins on the law's own motion, wherever that is; ``q`` and ``v`` are then
    where its search begins."""
    planning: Callable[[float, float], None] | None = None
    """Called while a motion is worked out before the run, with how far it is and the duration
    [s]."""

    def reached(self, t: float) -> None:
        """Tell who wants to know how far the motion is that is being worked out."""
        if self.planning is not None and math.isfinite(self.duration):
            self.planning(min(max(t - self.start, 0.0), self.duration), self.duration)
