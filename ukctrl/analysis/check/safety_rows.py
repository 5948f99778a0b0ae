"""What a keeper asks of inputs at a state of the true robot, and whether some input gives it."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.control.allocation.bounded_input import LinearBounds, nearest_in_bounds, stack_bounds
from ukctrl.control.allocation.internal_force import reaction_map
from ukctrl.control.safety.barriers import FilterDiagnostics, check_barriers
from ukctrl.control.safety.relaxation import lower_bounds
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop

NULL_SPACE_RTOL = 1e-9
"""Directions of the input whose singular value is below this part of the largest move no row."""


class SafetyRows(NamedTuple):
    """What is asked of the input at a state: ``C u + free >= lower``."""

    C: Matrix
    offset: Vector
    lower: Vector
    h: Vector
    """What is left of every quantity; NaN of forces, which the input decides."""
    force_rows: Indices
    """Places in it of the forces that are asked for, the last rows of ``C``."""
    force_offset: Vector
    """What is left of these is ``C u + free + shift``."""

    def slack(self, u: Vector) -> Vector:
        """Return what is left of every quantity under an input."""
        h, count = self.h.copy(), len(self.force_rows)
        first = len(self.C) - count
        h[self.force_rows] = self.C[first:] @ u + self.offset[first:] + self.force_offset
        return h


@final
class SafetyRowEvaluator:
    """What a keeper asks of inputs of the true robot of a loop."""

    def __init__(self, keeper: SafetyFilter, loop: Loop) -> None:
        self.safety_filter = keeper
        self._stack = keeper.stack_on(loop.robot)
        of_rows, of_stack = np.zeros((5, len(keeper.barriers.row))), np.zeros((2, len(self._stack)))
        buffers = [*of_rows, np.zeros(0), *of_stack]
        self._account = FilterDiagnostics(*buffers)
        self._cones_of: dict[int, tuple[Matrix, KernelSequence]] = {}

    def at(self, dynamics: Dynamics, u: Vector, low: Vector, high: Vector) -> SafetyRows:
        """Return what is asked where a robot is that would move by some input."""
        rows, barriers, loads = (
            self._stack.write(dynamics.snapshot),
            self.safety_filter.barriers,
            self.safety_filter.contact_rows,
        )
        a, account = dynamics.acceleration(u), self._account
        check_barriers(
            rows, barriers, self.safety_filter.period, a, u, low, high, account, np.zeros(1)
        )
        A, sign = rows.A[barriers.row], barriers.sign
        D = self._friction_rows(dynamics)
        per_force, force = np.zeros((len(D), len(u))), np.zeros(len(D))
        if D.any():
            answer = reaction_map(dynamics)
            per_force, force = D @ answer.Lam, D @ answer.lam_free
        asks = np.flatnonzero(D.any(axis=1))
        return SafetyRows(
            C=np.vstack([sign[:, None] * (A @ dynamics.G), per_force[asks]]),
            offset=np.append(sign * (A @ dynamics.a_free - rows.b[barriers.row]), force[asks]),
            lower=np.append(account.lower_bound, loads.lower_bound[asks]),
            h=np.append(account.h, np.full(len(loads), np.nan)),
            force_rows=len(barriers.row) + asks,
            force_offset=(loads.margin - loads.lower_bound)[asks],
        )

    def names(self, dynamics: Dynamics) -> tuple[str, ...]:
        """Return what the rows are called that are asked for where a robot is."""
        names, count = self.safety_filter.names, len(self.safety_filter.barriers.row)
        asks = np.flatnonzero(self._friction_rows(dynamics).any(axis=1))
        return (*names[:count], *(names[count + i] for i in asks))

    def _friction_rows(self, dynamics: Dynamics) -> Matrix:
        loads, contacts = self.safety_filter.contact_rows, dynamics.contacts
        if contacts is None or not len(loads):
            return np.zeros((len(loads), len(dynamics.passive)))
        if id(dynamics) not in self._cones_of:
            D, kernels = loads.rows(contacts)
            self._cones_of[id(dynamics)] = D, KernelSequence(tuple(kernels))
        D, steps = self._cones_of[id(dynamics)]
        steps()
        return D


def input_null_space(H: Matrix) -> Matrix:
    """Return the directions of the input that move no row, shape ``(nu, k)``."""
    _, sigma, Vt = np.linalg.svd(H)
    return np.asarray(Vt[int(np.sum(sigma > NULL_SPACE_RTOL * sigma.max(initial=0.0))) :].T)


def feasible_input(
    H: Matrix, u: Vector, limits: LinearBounds, C: Matrix, lower: Vector
) -> Vector | None:
    """Return an input that moves rows as ``u`` does, within limits, and obeys ``C u >= lower``.

    None where there is none beside ``u`` itself, which does not.
    """
    N = input_null_space(H)
    if not N.shape[1]:
        return None
    bounds = LinearBounds(N, limits.low - u, limits.high - u)
    z = nearest_in_bounds(
        stack_bounds(bounds, lower_bounds(C @ N, lower - C @ u)), np.zeros(N.shape[1])
    )
    return None if z is None else u + N @ z
