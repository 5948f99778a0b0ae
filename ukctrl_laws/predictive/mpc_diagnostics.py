"""What model predictive control tells: limits at work, limits given up, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from ukctrl.control.feedforward.feedforward_laws import common_unit
from ukctrl.control.task import Signal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.core.program import BoundKernel
from ukctrl.core.verdict import Verdict
from ukctrl.robot import Robot
from ukctrl_laws.predictive.horizon import HorizonLimits, PredictionHorizon
from ukctrl_laws.predictive.qp import ITERATION_LIMIT, QpSolution

QP_BASE_TIME, QP_ENTRY_TIME, QP_WORST_RATIO = 3e-5, 1.5e-9, 10.0
"""Time of a tick with a program on a usual processor, for itself and for every entry of its matrix
[s], and how many times as long it takes where many limits become active at once; measured by
``benchmarks/model_predictive.py``."""
EXCESS_TOLERANCE = 1e-9
"""A position or speed beyond its limit by less is at it [unit]."""


class MpcInfeasible(InfeasibleConstraint):
    """No inputs within their limits keep the limits ahead, or they were not found in time."""

    def __init__(self, text: str, limits: tuple[str, ...] = ()) -> None:
        UkctrlError.__init__(self, text)
        self.rows, self.miss, self.limits = (), (), limits


@compiled
def reset_diagnostics(
    active: Vector, binding: Vector, excess: Matrix, iterations: Vector, z: Vector
) -> None:
    """Write what is told of a tick at which no limit is in the way."""
    active[:] = 0.0
    binding[:] = 0.0
    excess[:] = 0.0
    iterations[:] = 0.0
    z[:] = 0.0


@final
class MpcDiagnostics:
    """Of the last tick, and of the times of all.

    Attributes:
        z: Change of the regulator's inputs, shape ``(n,)``.
        active: Of each limit ahead, one tick later: 1 at the upper, -1 at the lower, else 0.
        excess: By how much limits of positions and speeds are given up, block by block.
        solve_times: Of the programs since they were last looked at [s].
    """

    def __init__(
        self, robot: Robot, limited: HorizonLimits, horizon: PredictionHorizon, period: float
    ) -> None:
        self._motors, self._horizon, self._period = robot.actuators, horizon, period
        at, of = limited.coordinates.tolist(), limited.speeds.tolist()
        names = [*(robot.coordinates[i] for i in at), *(f"v.{robot.dofs[i]}" for i in of)]
        self._n_positions = len(at)
        units = [*(robot.coordinate_units[i] for i in at), *(robot.dof_units[i] for i in of)]
        self._limits = tuple(zip(names, units, strict=True))
        self.z, self.active = np.zeros(horizon.n), np.zeros(horizon.m)
        self.excess = np.zeros((len(horizon.block_lengths), len(names)))
        self._binding, self._iterations = np.zeros(robot.nu), np.zeros(1)
        self.solve_times: list[float] = []

    def reset_step(self) -> BoundKernel:
        """Return what begins a tick at which nothing is known to be in the way."""
        return BoundKernel(
            reset_diagnostics, self.active, self._binding, self.excess, self._iterations, self.z
        )

    def record_solution(self, solution: QpSolution, over: Matrix) -> None:
        """Take the answer of a program.

        Args:
            solution: The answer.
            over: How far positions and speeds are above their limits, block by block.
        """
        self.z[:], self._iterations[0] = solution.z, solution.iterations
        self.active[:] = self._horizon.shift_active(solution.active)
        self._binding[:] = solution.active[: len(self._binding)]
        if solution.is_relaxed:
            self.excess[:] = np.where(over > EXCESS_TOLERANCE, over, 0.0)

    def conflict_error(self) -> MpcInfeasible:
        """Return the error of limits that cannot all be kept."""
        ends, lines, names = self._horizon.tables.ends, [], []
        for (name, unit), excess in zip(self._limits, self.excess.T, strict=True):
            if excess.any():
                lead = si(self._period * int(ends[int(excess.argmax())]), "s")
                lines.append(f"'{name}' is {excess.max():.3g} {unit} beyond {lead} ahead")
                names.append(name)
        return MpcInfeasible(
            f"no inputs within their limits keep those of {quoted(names)}: at best "
            f"{'; '.join(lines)}. Begin elsewhere, ask for less, give the motors more, or let "
            'limits give way with on_conflict = "soften".',
            tuple(names),
        )

    def solver_error(self, flag: int, iterations: int) -> MpcInfeasible:
        """Return the error of a program without an answer."""
        size = f"{self._horizon.n} unknowns and {self._horizon.m} limits"
        if flag == ITERATION_LIMIT:
            return MpcInfeasible(
                f"the program of {size} was not solved within {iterations} iterations. "
                "Raise controller.iterations, or take fewer moves."
            )
        return MpcInfeasible(
            f"the program of {size} has no answer (exit flag {flag} of the solver). Take fewer "
            "moves, or weights that are less far apart."
        )

    def signals(self) -> dict[str, Signal]:
        """Return which limits are at work, and which are given up."""
        count = float(np.count_nonzero(self.active))
        words = "limits: upper 1, lower -1"
        signals = {
            "binding": Signal(self._binding.copy(), "1", words, self._motors),
            "active_limits": Signal(count, "1", "limits ahead at work"),
            "iterations": Signal(float(self._iterations[0]), "1", "iterations of the solver"),
        }
        worst, k = self.excess.max(axis=0), self._n_positions
        for prefix, of, excess in (
            ("", self._limits[:k], worst[:k]),
            ("speed_", self._limits[k:], worst[k:]),
        ):
            if of:
                names, units = zip(*of, strict=True)
                words = f"{prefix.replace('_', ' ')}limits ahead: excess"
                signals[f"{prefix}excess_ahead"] = Signal(excess, common_unit(units), words, names)
        return signals

    def size_verdict(self) -> Verdict:
        """Return how large the programs are, and about how long they take."""
        n, m = self._horizon.n, self._horizon.m
        usual = float(f"{QP_BASE_TIME + QP_ENTRY_TIME * n * m:.1g}")
        text = (
            f"where a limit is in the way, a tick solves a program of {n} unknowns and {m} limits "
            f"in some {si(usual, 's')}, and up to {QP_WORST_RATIO:g} times as long where many "
            "limits "
            f"become active at once; the control period is {si(self._period, 's')}."
        )
        if QP_WORST_RATIO * usual < self._period:
            return Verdict("note", "program", text)
        return Verdict("warning", "program", f"{text} Take fewer moves.")

    def wall_times(self) -> Mapping[str, float]:
        """Return how many programs there were, how long they took and how many too long."""
        times, self.solve_times = np.array(self.solve_times), []
        if not times.size:
            return {"programs": 0, "late_programs": 0}
        return {
            "programs": len(times),
            "mean_program_us": 1e6 * float(times.mean()),
            "worst_program_us": 1e6 * float(times.max()),
            "late_programs": int(np.count_nonzero(times > self._period)),
        }
