"""Projection: a state moved onto the passive constraints of a robot, by the smallest change."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.solution_checks import singular_mass_error
from ukctrl.core.algebra.stabilisation import least_mass_weighted_change
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, run
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot.manifold_kernels import integrate

POSITION_ROUNDING = 1e-15
"""Position error that rounding leaves, relative to 1 + |A| |q|."""
MAX_PROJECTIONS = 4
MASS_FAULT = -10
"""Below this: what failed is the mass matrix, and not the tables."""
MAX_CHANGE_RATIO = 1e6
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
        evaluated = KernelSequence((*s.steps.items, *passive.steps(s).items))
        holonomic = np.flatnonzero(passive.holonomic)
        rows = passive.rows.A, passive.rows.beta, passive.rows.phi, holonomic
        buffers = ProjectionBuffers(
            np.zeros((len(holonomic), n)), np.zeros(len(holonomic)), np.zeros(n)
        )
        blocks, rtol = dynamics.robot.structure.manifold_table, float(dynamics.rank.passive)
        state = s.q, s.v, s.M, dynamics.L
        args = evaluated.lines, blocks, *state, rows, rtol, buffers
        massless = lambda code: singular_mass_error(code - MASS_FAULT)  # noqa: E731
        self.steps = KernelSequence(
            (BoundKernel(project, *args, inside=evaluated, fault=massless),)
        )

    def __call__(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the state on the constraints at time ``t`` that is nearest to ``(q, v)``."""
        s = self._dynamics.snapshot
        s.clock[0], s.q[:], s.v[:] = t, q, v
        self.steps()
        return s.q.copy(), s.v.copy()


class ProjectionBuffers(NamedTuple):
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
    buffers: ProjectionBuffers,
) -> int:
    """Overwrite a state by the nearest on the constraints; ``lines`` write ``M`` and the rows.

    Returns 0; or what `ukctrl.core.program.run` does where it fails; or, where the mass matrix is
    not positive definite at i, `MASS_FAULT` ``- 1 - i``.
    """
    A, beta, phi, holonomic = rows
    change, last = buffers.change, np.inf
    for _ in range(MAX_PROJECTIONS):
        code = run(lines)
        if code < 0:
            return code
        size, max_entry, far = 0.0, 0.0, 0.0
        for i in range(len(holonomic)):
            buffers.phi[i] = phi[holonomic[i]]
            size = max(size, abs(buffers.phi[i]))
            copy_into(A[holonomic[i]], buffers.A[i])
            for c in range(len(change)):
                max_entry = max(max_entry, abs(buffers.A[i, c]))
        for i in range(len(q)):
            # phi is no better than the rounding of q, times the rows
            far = max(far, abs(q[i]))
        # an error that no longer halves is rounding, or a singular position that more steps do not
        # mend
        if not POSITION_ROUNDING * (1.0 + far * max_entry) < size < 0.5 * last:
            break
        last = size
        rank = least_mass_weighted_change(M, buffers.A, buffers.phi, rtol, L, change)
        if rank < 0:
            return MASS_FAULT + rank
        # so long a step is no correction: rows are nearly singular here
        if is_excessive(change, buffers.phi):
            break
        for i in range(len(change)):
            change[i] = -change[i]
        integrate(blocks, q, change, q)
    # once: rows are linear in the velocity
    rank = least_mass_weighted_change(M, A, beta, rtol, L, change)
    if rank < 0:
        return MASS_FAULT + rank
    if not is_excessive(change, beta):
        for i in range(len(v)):
            v[i] -= change[i]
    return 0


@compiled
def is_excessive(change: Vector, error: Vector) -> bool:
    """Return whether a change is too large for the error that it removes, or not a number."""
    max_error, largest, number = 0.0, 0.0, True
    for i in range(len(error)):
        max_error = max(max_error, abs(error[i]))
    for i in range(len(change)):
        largest = max(largest, abs(change[i]))
        number = number and change[i] == change[i]
    return not (number and largest <= MAX_CHANGE_RATIO * max_error)
