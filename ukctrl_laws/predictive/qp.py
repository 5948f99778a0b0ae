r"""The least change of a plan within limits, $\min |z|^2$ with $l \le C z \le h$, tick after tick.

Solved by DAQP, a dual active-set method, which begins at $z = 0$: at the plan itself. The next
tick's program is nearly the same, so it begins at the limits that were active in the last one. What
it returns depends on what it is given alone, not on programs before.

References:
    Arnström, Bemporad & Axehill, "A dual active-set solver for embedded quadratic programming using
    recursive LDL^T updates", IEEE T. Automatic Control 67(8), 2022.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.bounded_rows import FEASIBILITY_TOL
from ukctrl.core.arrays import Matrix, Vector

SOLVER_INFINITY = 1e30
"""How the solver writes infinity."""
SOLVED, INFEASIBLE, ITERATION_LIMIT = (1, 2), -1, -4
"""Exit flags: a solution; no ``z`` is within the limits; the iterations were used up."""
ACTIVE_UPPER, ACTIVE_LOWER, SOFT = 1, 3, 8
"""The solver's words for a limit that it begins with as active, and for one that may give way."""


class QpSolution(NamedTuple):
    """An answer."""

    z: Vector
    """Shape ``(n,)``."""
    active: Vector
    """Of each row: 1 at its upper limit, -1 at its lower, else 0."""
    iterations: int
    """Of the solver."""
    is_relaxed: bool
    """Whether some limit was given up."""


@final
class MpcQp:
    """The program, with limits that give way where all cannot be kept.

    Args:
        n: Number of unknowns.
        gives: Rows whose limits give way, shape ``(m,)``.
        price: What it costs to exceed those by one, squared, beside ``|z|^2``, shape ``(m,)``.
        max_iterations: Iterations after which it is given up.
        C: Rows of the first program, shape ``(m, n)``.
    """

    def __init__(
        self, n: int, gives: NDArray[np.bool_], price: Vector, max_iterations: int, C: Matrix
    ) -> None:
        self._is_soft, self._n = gives, n
        self._settings = {"primal_tol": FEASIBILITY_TOL, "iter_limit": max_iterations}
        self._hard_model, self._soft_model = self._new_model(C, 0), self._new_model(C, SOFT)
        scale = 1.0 / np.where(gives, price, 1.0)
        self._soft_model.soft_weights(scale, scale)

    def solve(self, C: Matrix, slack: Matrix, warm_set: Vector, *, new: bool) -> QpSolution | int:
        """Return the answer, or the exit flag of a solver that has none.

        Args:
            C: Rows, shape ``(m, n)``.
            slack: Lowest and highest ``C z``, shape ``(2, m)``.
            warm_set: Limits to begin with, as `QpSolution.active`; it changes how long it takes.
            new: Whether ``C`` is another than the last time.
        """
        low, high = np.clip(slack, -SOLVER_INFINITY, SOLVER_INFINITY)
        stuck = ~C.any(axis=1)  # nothing moves it
        # a row of zeros beyond its bounds would make the whole program infeasible
        low[stuck], high[stuck] = -SOLVER_INFINITY, SOLVER_INFINITY
        # soft rows are hard as a rule; only what is infeasible so pays for slack
        answer = self._solve_model(self._hard_model, C if new else None, low, high, warm_set, 0)
        if answer != INFEASIBLE or not self._is_soft.any():
            return answer
        answer = self._solve_model(self._soft_model, C, low, high, warm_set, SOFT)
        return answer if isinstance(answer, int) else answer._replace(is_relaxed=True)

    def _new_model(self, C: Matrix, gives: int) -> Any:
        """Return a model with room for as many active rows as there can be."""
        import daqp

        model, far = daqp.Model(), np.full(len(C), SOLVER_INFINITY)
        model.settings = self._settings
        sense = np.where(self._is_soft, gives, 0).astype(np.intc)
        model.setup(np.eye(self._n), np.zeros(self._n), C, far, -far, sense)
        return model

    def _solve_model(
        self,
        model: Any,
        C: Matrix | None,
        low: Vector,
        high: Vector,
        warm_set: Vector,
        gives: int,
    ) -> QpSolution | int:
        """Return what the model says, from scratch if it cannot go on from the limits before."""
        flag = 0
        for warm in (True, False):
            sense = np.where(self._is_soft, gives, 0).astype(np.intc)
            # more active rows than unknowns cannot be independent
            if warm and np.count_nonzero(warm_set) <= self._n:
                sense[(warm_set > 0.5) & (high < SOLVER_INFINITY)] |= ACTIVE_UPPER
                sense[(warm_set < -0.5) & (low > -SOLVER_INFINITY)] |= ACTIVE_LOWER
            model.update(A=C, bupper=high, blower=low, sense=sense)
            z, _, flag, info = model.solve()
            if flag in SOLVED:
                active = np.sign(np.asarray(info["lam"], dtype=np.float64))
                return QpSolution(np.array(z), active, int(info["iterations"]), is_relaxed=False)
            if flag in (INFEASIBLE, ITERATION_LIMIT):
                break
        return int(flag)
