"""What model predictive control tells: limits at work, limits given up, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from ukctrl.control.planned.planned_laws import one_unit
from ukctrl.control.predictive.horizon import Horizon, Limited
from ukctrl.control.predictive.least_change import UNFINISHED, Change
from ukctrl.control.task import Signal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.core.program import Call
from ukctrl.core.verdict import Verdict
from ukctrl.robot import Robot

LEAST, PER_ENTRY, SURPRISED = 3e-5, 1.5e-9, 10.0
"""Time of a tick with a program on a usual processor, for itself and for every entry of its matrix
[s], and how many times as long it takes where many limits become active at once; measured by
``benchmarks/model_predictive.py``."""
EXCEEDED = 1e-9
"""A position or speed beyond its limit by less is at it [unit]."""


class NoPlan(InfeasibleConstraint):
    """No inputs within their limits keep the limits ahead, or they were not found in time."""

    def __init__(self, text: str, limits: tuple[str, ...] = ()) -> None:
        UkctrlError.__init__(self, text)
        self.rows, self.miss, self.limits = (), (), limits


@compiled
def forget(active: Vector, binding: Vector, beyond: Matrix, iterations: Vector, z: Vector) -> None:
    """Write what is told of a tick at which no limit is in the way."""
    active[:] = 0.0
    binding[:] = 0.0
    beyond[:] = 0.0
    iterations[:] = 0.0
    z[:] = 0.0


@final
class Account:
    """Of the last tick, and of the times of all.

    Attributes:
        z: Change of the regulator's inputs, shape ``(n,)``.
        active: Of each limit ahead, one tick later: 1 at the upper, -1 at the lower, else 0.
        beyond: By how much limits of positions and speeds are given up, block by block.
        times: Of the programs since they were last looked at [s].
    """

    def __init__(self, robot: Robot, limited: Limited, horizon: Horizon, period: float) -> None:
        self._motors, self._horizon, self._period = robot.actuators, horizon, period
        at, of = limited.coordinates.tolist(), limited.speeds.tolist()
        names = [*(robot.coordinates[i] for i in at), *(f"v.{robot.dofs[i]}" for i in of)]
        self._places = len(at)
        units = [*(robot.coordinate_units[i] for i in at), *(robot.dof_units[i] for i in of)]
        self._limits = tuple(zip(names, units, strict=True))
        self.z, self.active = np.zeros(horizon.n), np.zeros(horizon.m)
        self.beyond = np.zeros((len(horizon.lengths), len(names)))
        self._binding, self._iterations = np.zeros(robot.nu), np.zeros(1)
        self.times: list[float] = []

    def forget(self) -> Call:
        """Return what begins a tick at which nothing is known to be in the way."""
        return Call(forget, self.active, self._binding, self.beyond, self._iterations, self.z)

    def take(self, found: Change, over: Matrix) -> None:
        """Take the answer of a program.

        Args:
            found: The answer.
            over: How far positions and speeds are above their limits, block by block.
        """
        self.z[:], self._iterations[0] = found.z, found.iterations
        self.active[:] = self._horizon.shifted(found.active)
        self._binding[:] = found.active[: len(self._binding)]
        if found.gave_way:
            self.beyond[:] = np.where(over > EXCEEDED, over, 0.0)

    def conflict(self) -> NoPlan:
        """Return the error of limits that cannot all be kept."""
        ends, told, names = self._horizon.ahead.ends, [], []
        for (name, unit), own in zip(self._limits, self.beyond.T, strict=True):
            if own.any():
                after = si(self._period * int(ends[int(own.argmax())]), "s")
                told.append(f"'{name}' is {own.max():.3g} {unit} beyond {after} ahead")
                names.append(name)
        return NoPlan(
            f"no inputs within their limits keep those of {quoted(names)}: at best "
            f"{'; '.join(told)}. Begin elsewhere, ask for less, give the motors more, or let "
            'limits give way with on_conflict = "soften".',
            tuple(names),
        )

    def unsolved(self, flag: int, iterations: int) -> NoPlan:
        """Return the error of a program without an answer."""
        size = f"{self._horizon.n} unknowns and {self._horizon.m} limits"
        if flag == UNFINISHED:
            return NoPlan(
                f"the program of {size} was not solved within {iterations} iterations. "
                "Raise controller.iterations, or take fewer moves."
            )
        return NoPlan(
            f"the program of {size} has no answer (exit flag {flag} of the solver). Take fewer "
            "moves, or weights that are less far apart."
        )

    def signals(self) -> dict[str, Signal]:
        """Return which limits are at work, and which are given up."""
        count = float(np.count_nonzero(self.active))
        words = "limits: upper 1, lower -1"
        told = {
            "binding": Signal(self._binding.copy(), "1", words, self._motors),
            "active_limits": Signal(count, "1", "limits ahead at work"),
            "iterations": Signal(float(self._iterations[0]), "1", "iterations of the solver"),
        }
        worst, k = self.beyond.max(axis=0), self._places
        for what, of, own in (
            ("", self._limits[:k], worst[:k]),
            ("speed_", self._limits[k:], worst[k:]),
        ):
            if of:
                names, units = zip(*of, strict=True)
                words = f"{what.replace('_', ' ')}limits ahead: excess"
                told[f"{what}excess_ahead"] = Signal(own, one_unit(units), words, names)
        return told

    def remark(self) -> Verdict:
        """Return how large the programs are, and about how long they take."""
        n, m = self._horizon.n, self._horizon.m
        usual = float(f"{LEAST + PER_ENTRY * n * m:.1g}")
        text = (
            f"where a limit is in the way, a tick solves a program of {n} unknowns and {m} limits "
            f"in some {si(usual, 's')}, and up to {SURPRISED:g} times as long where many limits "
            f"become active at once; the control period is {si(self._period, 's')}."
        )
        if SURPRISED * usual < self._period:
            return Verdict("note", "program", text)
        return Verdict("warning", "program", f"{text} Take fewer moves.")

    def timing(self) -> Mapping[str, float]:
        """Return how many programs there were, how long they took and how many too long."""
        times, self.times = np.array(self.times), []
        if not times.size:
            return {"programs": 0, "late_programs": 0}
        return {
            "programs": len(times),
            "mean_program_us": 1e6 * float(times.mean()),
            "worst_program_us": 1e6 * float(times.max()),
            "late_programs": int(np.count_nonzero(times > self._period)),
        }
