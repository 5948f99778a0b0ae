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

from ukctrl.core.algebra.room import FEASIBLE
from ukctrl.core.arrays import Matrix, Vector

UNLIMITED = 1e30
"""How the solver writes infinity."""
SOLVED, INFEASIBLE, UNFINISHED = (1, 2), -1, -4
"""Exit flags: a solution; no ``z`` is within the limits; the iterations were used up."""
UPPER, LOWER, GIVES = 1, 3, 8
"""The solver's words for a limit that it begins with as active, and for one that may give way."""


class Change(NamedTuple):
    """An answer."""

    z: Vector
    """Shape ``(n,)``."""
    active: Vector
    """Of each row: 1 at its upper limit, -1 at its lower, else 0."""
    iterations: int
    """Of the solver."""
    gave_way: bool
    """Whether some limit was given up."""


@final
class LeastChange:
    """The program, with limits that give way where all cannot be kept.

    Args:
        n: Number of unknowns.
        gives: Rows whose limits give way, shape ``(m,)``.
        price: What it costs to exceed those by one, squared, beside ``|z|^2``, shape ``(m,)``.
        most: Iterations after which it is given up.
        C: Rows of the first program, shape ``(m, n)``.
    """

    def __init__(
        self, n: int, gives: NDArray[np.bool_], price: Vector, most: int, C: Matrix
    ) -> None:
        self._gives, self._n = gives, n
        self._settings = {"primal_tol": FEASIBLE, "iter_limit": most}
        self._firm, self._soft = self._model(C, 0), self._model(C, GIVES)
        scale = 1.0 / np.where(gives, price, 1.0)
        self._soft.soft_weights(scale, scale)

    def solve(self, C: Matrix, room: Matrix, before: Vector, *, new: bool) -> Change | int:
        """Return the answer, or the exit flag of a solver that has none.

        Args:
            C: Rows, shape ``(m, n)``.
            room: Lowest and highest ``C z``, shape ``(2, m)``.
            before: Limits to begin with, as `Change.active`; it changes how long it takes.
            new: Whether ``C`` is another than the last time.
        """
        low, high = np.clip(room, -UNLIMITED, UNLIMITED)
        stuck = ~C.any(axis=1)  # nothing moves it
        low[stuck], high[stuck] = -UNLIMITED, UNLIMITED
        answer = self._solved(self._firm, C if new else None, low, high, before, 0)
        if answer != INFEASIBLE or not self._gives.any():
            return answer
        answer = self._solved(self._soft, C, low, high, before, GIVES)
        return answer if isinstance(answer, int) else answer._replace(gave_way=True)

    def _model(self, C: Matrix, gives: int) -> Any:
        """Return a model with room for as many active rows as there can be."""
        import daqp

        model, far = daqp.Model(), np.full(len(C), UNLIMITED)
        model.settings = self._settings
        sense = np.where(self._gives, gives, 0).astype(np.intc)
        model.setup(np.eye(self._n), np.zeros(self._n), C, far, -far, sense)
        return model

    def _solved(
        self,
        model: Any,
        C: Matrix | None,
        low: Vector,
        high: Vector,
        before: Vector,
        gives: int,
    ) -> Change | int:
        """Return what the model says, from scratch if it cannot go on from the limits before."""
        flag = 0
        for warm in (True, False):
            sense = np.where(self._gives, gives, 0).astype(np.intc)
            if warm and np.count_nonzero(before) <= self._n:
                sense[(before > 0.5) & (high < UNLIMITED)] |= UPPER
                sense[(before < -0.5) & (low > -UNLIMITED)] |= LOWER
            model.update(A=C, bupper=high, blower=low, sense=sense)
            z, _, flag, told = model.solve()
            if flag in SOLVED:
                active = np.sign(np.asarray(told["lam"], dtype=np.float64))
                return Change(np.array(z), active, int(told["iterations"]), gave_way=False)
            if flag in (INFEASIBLE, UNFINISHED):
                break
        return int(flag)
