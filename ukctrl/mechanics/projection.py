"""Projection: a state moved onto the passive constraints of a robot, by the smallest change."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.answer_checks import singular
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.stabilisation import least_change
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import Call, Steps, run
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot.configuration_kernels import integrate

ON_MANIFOLD = 1e-15
"""Position error that rounding leaves, relative to 1 + |A| |q|."""
MAX_PROJECTIONS = 4
MASSLESS = -10
"""Below this: what failed is the mass matrix, and not the tables."""
MOST_PER_ERROR = 1e6
"""A change larger than this many times the error it removes is none: in a singular position some
rows have no direction to be met in, and their rounding would move the state anywhere."""


@final
class Projector:
    r"""Moves a state onto the passive constraints of a robot, by the smallest change.

    $\min \delta^\top M \delta$ subject to $\varphi(q \oplus \delta) = 0$ by Gauss-Newton, then the
    same for the velocity, $A v = c$. The mass matrix makes the change independent of the units of
    the coordinates, and the change of the velocity that of an impulse of the reactions.

    Args:
        dynamics: The robot; its snapshot and passive rows are moved about.

    Attributes:
        steps: What moves the state that stands in the snapshot.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics, s = dynamics, dynamics.snapshot
        passive, n = dynamics.passive, dynamics.robot.nv
        evaluated = Steps((*s.steps.every, *passive.steps(s).every))
        held = np.flatnonzero(passive.holonomic)
        rows = passive.rows.A, passive.rows.beta, passive.rows.phi, held
        room = Room(np.zeros((len(held), n)), np.zeros(len(held)), np.zeros(n))
        blocks, rtol = dynamics.robot.structure.configurations, float(dynamics.rank.passive)
        state = s.q, s.v, s.M, dynamics.L
        given = evaluated.lines, blocks, *state, rows, rtol, room
        massless = lambda code: singular(code - MASSLESS)  # noqa: E731
        self.steps = Steps((Call(project, *given, inside=evaluated, fault=massless),))

    def __call__(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the state on the constraints at time ``t`` that is nearest to ``(q, v)``."""
        s = self._dynamics.snapshot
        s.clock[0], s.q[:], s.v[:] = t, q, v
        self.steps()
        return s.q.copy(), s.v.copy()


class Room(NamedTuple):
    """What `project` writes on its way."""

    A: Matrix
    """Of the rows with a position level, shape ``(k, nv)``."""
    phi: Vector
    """Their errors."""
    change: Vector
    """Shape ``(nv,)``."""


@compiled
def project(
    lines: Indices,
    blocks: Indices,
    q: Vector,
    v: Vector,
    M: Matrix,
    L: Matrix,
    rows: tuple[Matrix, Vector, Vector, Indices],
    rtol: float,
    room: Room,
) -> int:
    """Overwrite a state by the nearest on the constraints; ``lines`` write ``M`` and the rows.

    Returns 0; or what `ukctrl.core.program.run` does where it fails; or, where the mass matrix is
    not positive definite at i, `MASSLESS` ``- 1 - i``.
    """
    A, beta, phi, held = rows
    change, last = room.change, np.inf
    for _ in range(MAX_PROJECTIONS):
        code = run(lines)
        if code < 0:
            return code
        size, most, far = 0.0, 0.0, 0.0
        for i in range(len(held)):
            room.phi[i] = phi[held[i]]
            size = max(size, abs(room.phi[i]))
            copy_into(A[held[i]], room.A[i])
            for c in range(len(change)):
                most = max(most, abs(room.A[i, c]))
        for i in range(len(q)):
            far = max(far, abs(q[i]))
        if not ON_MANIFOLD * (1.0 + far * most) < size < 0.5 * last:
            break
        last = size
        rank = least_change(M, room.A, room.phi, rtol, L, change)
        if rank < 0:
            return MASSLESS + rank
        if beyond(change, room.phi):
            break
        for i in range(len(change)):
            change[i] = -change[i]
        integrate(blocks, q, change, q)
    rank = least_change(M, A, beta, rtol, L, change)
    if rank < 0:
        return MASSLESS + rank
    if not beyond(change, beta):
        for i in range(len(v)):
            v[i] -= change[i]
    return 0


@compiled
def beyond(change: Vector, error: Vector) -> bool:
    """Return whether a change is too large for the error that it removes, or not a number."""
    most, largest, number = 0.0, 0.0, True
    for i in range(len(error)):
        most = max(most, abs(error[i]))
    for i in range(len(change)):
        largest = max(largest, abs(change[i]))
        number = number and change[i] == change[i]
    return not (number and largest <= MOST_PER_ERROR * most)
