"""What a keeper asks of inputs at a state of the true robot, and whether some input gives it."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.control.allocation.internal_force import reaction_answer
from ukctrl.control.allocation.within_limits import Box, nearest, stacked
from ukctrl.control.keep.barriers import Account, nothing_binds
from ukctrl.control.keep.keeper import Keeper
from ukctrl.control.keep.program import above
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.program import Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.loop import Loop

FREE = 1e-9
"""Directions of the input whose singular value is below this part of the largest move no row."""


class Asked(NamedTuple):
    """What is asked of the input at a state: ``C u + free >= least``."""

    C: Matrix
    free: Vector
    least: Vector
    h: Vector
    """What is left of every quantity; NaN of forces, which the input decides."""
    asks: Indices
    """Places in it of the forces that are asked for, the last rows of ``C``."""
    shift: Vector
    """What is left of these is ``C u + free + shift``."""

    def left(self, u: Vector) -> Vector:
        """Return what is left of every quantity under an input."""
        h, count = self.h.copy(), len(self.asks)
        first = len(self.C) - count
        h[self.asks] = self.C[first:] @ u + self.free[first:] + self.shift
        return h


@final
class Asking:
    """What a keeper asks of inputs of the true robot of a loop."""

    def __init__(self, keeper: Keeper, loop: Loop) -> None:
        self.keeper = keeper
        self._stack = keeper.stack_on(loop.robot)
        of_rows, of_stack = np.zeros((5, len(keeper.barriers.row))), np.zeros((2, len(self._stack)))
        every = [*of_rows, np.zeros(0), *of_stack]
        self._account = Account(*every)
        self._cones_of: dict[int, tuple[Matrix, Steps]] = {}

    def at(self, dynamics: Dynamics, u: Vector, low: Vector, high: Vector) -> Asked:
        """Return what is asked where a robot is that would move by some input."""
        rows, barriers, loads = (
            self._stack.write(dynamics.snapshot),
            self.keeper.barriers,
            self.keeper.loads,
        )
        a, account = dynamics.acceleration(u), self._account
        nothing_binds(rows, barriers, self.keeper.period, a, u, low, high, account, np.zeros(1))
        A, sign = rows.A[barriers.row], barriers.sign
        D = self._cones(dynamics)
        per_force, force = np.zeros((len(D), len(u))), np.zeros(len(D))
        if D.any():
            answer = reaction_answer(dynamics)
            per_force, force = D @ answer.Lam, D @ answer.lam_free
        asks = np.flatnonzero(D.any(axis=1))
        return Asked(
            C=np.vstack([sign[:, None] * (A @ dynamics.G), per_force[asks]]),
            free=np.append(sign * (A @ dynamics.a_free - rows.b[barriers.row]), force[asks]),
            least=np.append(account.least, loads.least[asks]),
            h=np.append(account.h, np.full(len(loads), np.nan)),
            asks=len(barriers.row) + asks,
            shift=(loads.margin - loads.least)[asks],
        )

    def names(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return what the rows are called that are asked for where a robot is."""
        names, count = self.keeper.names, len(self.keeper.barriers.row)
        asks = np.flatnonzero(self._cones(dynamics).any(axis=1))
        return (*names[:count], *(names[count + i] for i in asks))

    def _cones(self, dynamics: Dynamics) -> Matrix:
        loads, contacts = self.keeper.loads, dynamics.contacts
        if contacts is None or not len(loads):
            return np.zeros((len(loads), len(dynamics.passive)))
        if id(dynamics) not in self._cones_of:
            D, every = loads.rows(contacts)
            self._cones_of[id(dynamics)] = D, Steps(tuple(every))
        D, steps = self._cones_of[id(dynamics)]
        steps()
        return D


def idle_directions(H: Matrix) -> Matrix:
    """Return the directions of the input that move no row, shape ``(nu, k)``."""
    _, sigma, Vt = np.linalg.svd(H)
    return np.asarray(Vt[int(np.sum(sigma > FREE * sigma.max(initial=0.0))) :].T)


def serving(H: Matrix, u: Vector, limits: Box, C: Matrix, least: Vector) -> Vector | None:
    """Return an input that moves rows as ``u`` does, within limits, and obeys ``C u >= least``.

    None where there is none beside ``u`` itself, which does not.
    """
    N = idle_directions(H)
    if not N.shape[1]:
        return None
    room = Box(N, limits.low - u, limits.high - u)
    z = nearest(stacked(room, above(C @ N, least - C @ u)), np.zeros(N.shape[1]))
    return None if z is None else u + N @ z
