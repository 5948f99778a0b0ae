"""A linear system of what a robot's equation of motion and its derivatives are, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.factorisation import cholesky, copy_into
from ukctrl.core.algebra.sparse_products import (
    matmul,
    matmul_into,
    matmul_transposed,
    transpose_into,
)
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.mechanics.linearise.deviation_map import DeviationMap
from ukctrl.mechanics.linearise.directional_differences import (
    DifferenceTables,
    directional_differences,
)
from ukctrl.robot.manifold_kernels import write_tangent_map


class LinearArrays(NamedTuple):
    """Arrays of a linear system and of what it is made of."""

    A: Matrix
    B: Matrix
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    needed: NDArray[np.float64]
    """How the force that moves the robot changes with ``q`` and ``v``, shape ``(2, nv, nv)``."""
    pushed: NDArray[np.float64]
    """The same of applied forces."""
    gained: Matrix
    """How the acceleration changes along the deviations, shape ``(nv, n)``."""
    through: Matrix
    """What accelerations of the free robot become under the reactions, shape ``(nv, nv)``."""
    map: DeviationMap

    @staticmethod
    def zeros(n: int, inputs: int, deviations: DeviationMap) -> LinearArrays:
        """Return one to write into."""
        size = deviations.full.shape[1]
        shapes = (size, size), (size, inputs), (n,), (2, n, n), (2, n, n), (n, size), (n, n)
        A, B, a, needed, pushed, gained, through = (np.zeros(shape) for shape in shapes)
        return LinearArrays(A, B, a, needed, pushed, gained, through, deviations)


@allocating
def write_gained(L: Matrix, more: Matrix, out: LinearArrays) -> None:
    """Write how the acceleration changes along deviations, and ``through``.

    ``more`` is what has no closed form: of the equation of motion, then of the rows.
    """
    full, least, free = out.map.full, out.map.least, out.map.free
    n, size = out.gained.shape
    push = np.empty((n, size))
    for r in range(n):
        for c in range(size):
            push[r, c] = more[r, c]
        for k in range(n):
            by_q = out.needed[0, r, k] - out.pushed[0, r, k]
            by_v = out.needed[1, r, k] - out.pushed[1, r, k]
            for c in range(size):
                push[r, c] += by_q * full[k, c] + by_v * full[n + k, c]
    along = np.zeros((free.shape[1], size))
    for r in range(n):
        for k in range(len(along)):
            for c in range(size):
                along[k, c] += free[r, k] * push[r, c]
    for r in range(n):
        for c in range(size):
            out.gained[r, c] = 0.0
        for k in range(len(along)):
            for c in range(size):
                out.gained[r, c] -= free[r, k] * along[k, c]
        for k in range(least.shape[1]):
            for c in range(size):
                out.gained[r, c] -= least[r, k] * more[n + k, c]
    weighted = np.empty((free.shape[1], n))
    transpose_into(free, weighted)
    matmul_into(free, matmul_transposed(matmul(weighted, L), L), out.through)


@compiled
def differences_if_sliding(
    tables: DifferenceTables,
    slip_jacobians: NDArray[np.float64],
    mu: Vector,
    full: Matrix,
    gained: Matrix,
) -> int:
    """Write differences of the acceleration where a contact slides against a friction."""
    slides, rubs, flat = False, False, slip_jacobians.reshape(-1)
    for k in range(len(flat)):
        slides = slides or flat[k] != 0.0
    for k in range(len(mu)):
        rubs = rubs or mu[k] != 0.0
    return directional_differences(tables, full, gained) if slides and rubs else 0


@compiled
def write_linear_system(
    blocks: Indices,
    v: Vector,
    brackets: Matrix,
    G: Matrix,
    positions: Indices,
    velocities: Indices,
    out: LinearArrays,
) -> None:
    """Write ``A`` and ``B`` of what is known of the acceleration; ``brackets`` is scratch."""
    n, i, full = len(v), len(positions), out.map.full
    for r in range(n):
        for c in range(n):
            brackets[r, c] = 0.0
    write_tangent_map(blocks, v, True, brackets)
    for k in range(i):
        r = positions[k]
        for c in range(full.shape[1]):
            # tangent coordinates of two neighbouring motions turn with the first
            out.A[k, c] = full[n + r, c]
            for m in range(n):
                out.A[k, c] -= brackets[r, m] * full[m, c]
    for k in range(len(velocities)):
        copy_into(out.gained[velocities[k]], out.A[i + k])
        copy_into(G[velocities[k]], out.B[i + k])


@compiled
def factor_mass(M: Matrix, L: Matrix) -> int:
    """Write the Cholesky factor; return 0, or below zero 1 + the failing pivot."""
    return -cholesky(M, L)


@compiled
def equation_residual(
    f: Vector,
    B: Matrix,
    u: Vector,
    nonideal: Vector,
    A: Matrix,
    b: Vector,
    lam: Vector,
    a: Vector,
    residual: Vector,
) -> None:
    """Write ``[-f - nonideal - B u - A' lam; A a - b]``."""
    n = len(f)
    for i in range(n):
        residual[i] = -f[i] - nonideal[i]
        for k in range(len(u)):
            residual[i] -= B[i, k] * u[k]
        for r in range(len(lam)):
            residual[i] -= A[r, i] * lam[r]
    for r in range(len(b)):
        residual[n + r] = -b[r]
        for i in range(n):
            residual[n + r] += A[r, i] * a[i]
