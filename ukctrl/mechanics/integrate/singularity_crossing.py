"""Singular positions of linkages: an adaptive method steps over them, or ends and says where.

In such a position rows of closures become dependent or vanish, as where all bars of a parallelogram
are in line. The motion is smooth there, its equations are rounding over rounding: error control
shortens the steps until some error of 1e-16 decides which branch the linkage follows. So the method
goes back to the last long step, moves that state onto the closures, and takes a step of such a
length across: its stages lie far enough from the position for the estimate of its error to hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.mechanics.integrate.integrator import IntegrationFailed
from ukctrl.mechanics.integrate.interval_kernels import HISTORY_SIZE, SHORT_STEP_RATIO, STALL_STEPS

LONG_STEP_RATIO = 0.3
"""It is worth going back to above this fraction."""
CROSSING_LENGTHS = tuple(np.geomspace(0.2, 2.0, 12).tolist())
"""Steps that are tried across, in steps of the longest remembered."""
TOLERANCE_FACTORS = (1.0, 10.0, 100.0, 1000.0)
"""By how much the error of the step across may exceed the tolerance, the least that will do."""
STALL_RATIO = 1e-7
"""A step below this fraction of the longest allowed hardly moves on."""
MAX_STALLED_STEPS = 1000
"""So many of them in a row end the run."""
MAX_NAMED = 6
"""Coordinates that are named."""


class CompletedStep(NamedTuple):
    """A step: where it began, and how long it was."""

    t: float
    y: Vector
    h: float


SolverFactory = Callable[[float, Vector, float, float], Any]
"""Returns a solver after one step from ``t, y``, tried with ``h`` and errors so many times the
tolerance."""


@final
class SingularityCrossing:
    """Watches the steps of an explicit method, and replaces its solver by one beyond the position.

    Args:
        begin: Makes solvers.
        onto: Moves a state onto the closures.
        coordinates: Names of the first entries of a state.
        stop: The end of the interval [s].
        longest: The longest step [s].
        steps: The steps before.
    """

    def __init__(
        self,
        begin: SolverFactory,
        onto: Callable[[float, Vector], Vector],
        coordinates: Sequence[str],
        stop: float,
        longest: float,
        steps: Sequence[CompletedStep] = (),
    ) -> None:
        self._begin, self._onto, self._stop, self._longest = begin, onto, stop, longest
        self._coordinates = coordinates
        self._taken = deque(steps, maxlen=HISTORY_SIZE)
        self._longest_taken = max((step.h for step in steps), default=0.0)
        self._short = self._stuck = 0
        self._tried = False

    def cross_after_stall(self, t: float) -> Any:
        """Return a solver beyond the position where the steps before were a crawl, else None."""
        if not self._taken:
            return None
        self._tried = True
        crossing = self._crossing_solver(t)
        if crossing is not None:
            self._forget()
        return crossing

    def _forget(self) -> None:
        self._taken.clear()
        self._longest_taken, self._short, self._stuck, self._tried = 0.0, 0, 0, False

    def check_step(self, solver: Any) -> tuple[Any, bool]:
        """Return the solver to go on with after a step, and whether it has stepped across.

        Raises:
            IntegrationFailed: It hardly moves on, and found no way across.
        """
        failed = solver.status == "failed"
        if not failed:
            h = solver.t - solver.t_old
            gone = self._taken[0].h if len(self._taken) == HISTORY_SIZE else 0.0
            self._taken.append(CompletedStep(solver.t_old, solver.y_old, h))
            if gone == self._longest_taken:
                self._longest_taken = max(step.h for step in self._taken)
            self._longest_taken = max(self._longest_taken, h)
            self._short = self._short + 1 if h < SHORT_STEP_RATIO * self._longest_taken else 0
            self._tried = self._tried and self._short > 0
            self._stuck = self._stuck + 1 if h < STALL_RATIO * self._longest else 0
        if (failed or self._short == STALL_STEPS) and not self._tried and self._taken:
            crossing = self.cross_after_stall(solver.t)
            if crossing is not None:
                return crossing, True
        if self._stuck >= MAX_STALLED_STEPS:
            raise IntegrationFailed(
                f"the integrator is down to steps of {solver.t - solver.t_old:.0e} s at t = "
                f"{solver.t:.9g} s, and took {MAX_STALLED_STEPS} of them, near a singular position "
                "of the "
                f"closures, {self._position_text(solver.y)}, which no longer step crosses within "
                "its "
                "tolerance. Use method = 'RK4' with step = 1e-3 and stabilisation.kind = "
                "'projection', or start elsewhere."
            )
        return solver, False

    def _position_text(self, y: Vector) -> str:
        """Return where a state is, as far as a sentence can."""
        named = zip(self._coordinates[:MAX_NAMED], y, strict=False)
        more = ", ..." if len(self._coordinates) > MAX_NAMED else ""
        return ", ".join(f"{name} = {value:.6g}" for name, value in named) + more

    def _crossing_solver(self, trouble: float) -> Any:
        """Return a solver that has stepped across the moment of the trouble; None: none does."""
        steps = list(self._taken)
        longest = max(step.h for step in steps)
        last = max(k for k, step in enumerate(steps) if step.h >= LONG_STEP_RATIO * longest)
        starts = [(step.t, self._onto(step.t, step.y)) for step in steps[last : last + 2]]
        for looser in TOLERANCE_FACTORS:
            for t, y in reversed(starts):
                for length in CROSSING_LENGTHS:
                    h = min(length * longest, self._longest, self._stop - t)
                    if t + h <= trouble + 0.1 * h and t + h < self._stop:
                        continue
                    solver = self._begin(t, y, h, looser)
                    if solver.status != "failed" and solver.t - t >= (1.0 - 1e-9) * h:
                        return solver
        return None
