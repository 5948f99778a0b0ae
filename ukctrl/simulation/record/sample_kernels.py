"""Sample kernels: recorded quantities at one state of the true robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.input_authority import surely_full_rank
from ukctrl.core.algebra.sparse_products import matmul_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.mechanics.constraints.constraint import Rows


class StateRecord(NamedTuple):
    """Places in a sample of the quantities that every robot has."""

    time: Vector
    q: Vector
    v: Vector
    a: Vector
    u: Vector
    phi: Vector
    beta: Vector
    actuator_rate: Vector
    kinetic_energy: Vector
    energy: Vector
    power: Vector
    row_response: Vector
    """``A G``, of the servo rows to the inputs, row by row; or none of it."""
    row_demand: Vector
    """``d - A a_free``, what the servo rows ask of the inputs."""


class ReactionRecord(NamedTuple):
    """Places of those of robots with passive constraints."""

    phi: Vector
    beta: Vector
    force: Vector
    rank: Vector
    sigma_min: Vector
    sigma_dropped: Vector
    reaction: Vector
    residual: Vector
    power: Vector


class PlantState(NamedTuple):
    """The state of the true robot, its acceleration, and the input that acts."""

    clock: Vector
    q: Vector
    v: Vector
    a: Vector
    u: Vector


class RowDemand(NamedTuple):
    """What the law asked of its servo rows."""

    values: Vector
    is_asked: Vector
    """Whether it ever asked, shape ``(1,)``."""
    clock: Vector
    """When the law was asked last, shape ``(1,)`` [s]."""


@compiled
def record_state(
    state: PlantState,
    ties: Indices,
    kept: block_diagonal.KeptOwners,
    M: Matrix,
    B: Matrix,
    rows: Rows,
    a_free: Vector,
    G: Matrix,
    demand: RowDemand,
    potential: Vector,
    record: StateRecord,
) -> None:
    """Write the plain quantities but the power.

    The law's own demand counts where it was asked at this time, else that of the exact motion.
    """
    clock, q, v, a, u = state
    A, b, beta, phi = rows
    n, nu, m = len(v), len(u), len(b)
    record.time[0] = clock[0]
    copy_into(q, record.q)
    copy_into(v, record.v)
    copy_into(a, record.a)
    copy_into(u, record.u)
    copy_into(phi, record.phi)
    copy_into(beta, record.beta)
    kinetic = 0.0
    for i in range(n):
        # body by body: the mass matrix of a swarm is almost empty
        kinetic += 0.5 * v[i] * block_diagonal.block_momentum_entry(0.0, ties, M, v, i)
    for k in range(nu):
        record.actuator_rate[k] = 0.0
    for i in range(n):
        for k in range(ties[i, block_diagonal.FIRST], ties[i, block_diagonal.LAST]):
            record.actuator_rate[k] += v[i] * B[i, k]
    record.kinetic_energy[0], record.energy[0] = kinetic, kinetic + potential[0]
    has_demand = demand.is_asked[0] != 0.0 and demand.clock[0] == clock[0]
    for i in range(m):
        record.row_demand[i] = demand.values[i] if has_demand else b[i]
        begin, end = block_diagonal.row_range(ties, kept, i, n)
        for c in range(begin, end):
            record.row_demand[i] -= A[i, c] * a_free[c]
    if len(record.row_response) > 0:
        matmul_into(A, G, record.row_response.reshape(m, nu))


class AuthorityRecord(NamedTuple):
    """Places of the input authority over many rows; see `row_authority`."""

    rank: Vector
    sigma_min: Vector
    reach: Vector


@allocating
def record_orthogonal_authority(
    ties: Indices,
    kept: block_diagonal.KeptOwners,
    A: Matrix,
    G: Matrix,
    demand: Vector,
    grips: Vector,
    lost: float,
    record: AuthorityRecord,
) -> bool:
    """Write what motors can do about rows of which no two share an input; return whether so.

    Such rows of ``A G`` are orthogonal, and their lengths its singular values.
    """
    usage, row = np.zeros(G.shape[1]), np.zeros(G.shape[1])
    rank, smallest, missed = 0.0, np.inf, 0.0
    for i in range(len(A)):
        square = 0.0
        begin, end = block_diagonal.row_range(ties, kept, i, A.shape[1])
        for c in range(begin, end):
            if A[i, c] != 0.0 and grips[i] > lost:
                for k in range(ties[c, block_diagonal.FIRST], ties[c, block_diagonal.LAST]):
                    row[k] += A[i, c] * G[c, k]
        for c in range(begin, end):
            if A[i, c] != 0.0 and grips[i] > lost:
                for k in range(ties[c, block_diagonal.FIRST], ties[c, block_diagonal.LAST]):
                    if row[k] != 0.0:
                        # two rows share a motor: singular values must tell
                        if usage[k] != 0.0:
                            return False
                        square += row[k] * row[k]
                        usage[k], row[k] = 1.0, 0.0
        if square > 0.0:
            rank += 1.0
            smallest = min(smallest, np.sqrt(square))
        else:
            missed += demand[i] * demand[i]
    record.rank[0], record.sigma_min[0] = rank, smallest if rank > 0.0 else 0.0
    record.reach[0] = np.sqrt(missed)
    return True


@compiled
def record_authority(
    L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector, ranks: Vector
) -> bool:
    """Write the grip of every row, and how many are held; return whether all are, for sure."""
    rank = surely_full_rank(L, A, G, motors, grips)
    ranks[0] = rank
    return rank > 0


@compiled
def record_block_authority(
    ties: Indices,
    kept: block_diagonal.KeptOwners,
    L: Matrix,
    A: Matrix,
    G: Matrix,
    motors: Vector,
    grips: Vector,
    ranks: Vector,
) -> bool:
    """Write the grip of every row, and how many are held, body by body; return if all are."""
    rank = block_diagonal.blockwise_full_rank(ties, kept, L, A, G, motors, grips)
    ranks[0] = rank
    return rank > 0


@compiled
def record_reactions(
    rows: tuple[Matrix, Vector, Vector, Vector],
    nonideal: Vector,
    ranks: Indices,
    margins: Vector,
    record: ReactionRecord,
) -> None:
    """Write what the passive constraints are and do, once ``force`` and ``reaction`` are there."""
    A, beta, phi = rows[0], rows[2], rows[3]
    copy_into(phi, record.phi)
    copy_into(beta, record.beta)
    record.rank[0], record.sigma_min[0], record.sigma_dropped[0] = ranks[0], margins[0], margins[1]
    record.power[0] = 0.0
    for i in range(len(beta)):
        record.power[0] += record.reaction[i] * beta[i]
    square = 0.0
    for c in range(A.shape[1]):
        # friction of a constraint is given beside its rows, which need not transmit it
        residual = record.force[c] - nonideal[c]
        for i in range(len(beta)):
            residual -= record.reaction[i] * A[i, c]
        square += residual * residual
    record.residual[0] = np.sqrt(square)


@compiled
def record_position(rotation: Matrix, translation: Vector, inside: Vector, target: Vector) -> None:
    """Write where a point is that is fixed inside a joint's frame."""
    for i in range(3):
        target[i] = translation[i]
        for k in range(3):
            target[i] += rotation[i, k] * inside[k]


@compiled
def record_frame(
    position: Vector, path: Vector, axes: Indices, target: Vector, reference: Vector
) -> None:
    """Write where a frame is and, along some axes, where its path has it."""
    copy_into(position, target)
    for i in range(len(axes)):
        reference[axes[i]] = path[i]


@compiled
def append_sample(sample: Vector, counts: Indices, block: Matrix) -> bool:
    """Copy a sample into its row of the block; return whether there is one.

    ``counts`` are the samples so far and those before the first row.
    """
    row = counts[0] - counts[1]
    if row == len(block):
        return False
    for i in range(len(sample)):
        block[row, i] = sample[i]
    return True


@compiled
def has_samples(counts: Indices) -> bool:
    """Return whether there is a sample already."""
    return bool(counts[0] > 0)


@compiled
def perturb_velocity(v: Vector) -> None:
    """Change a velocity a little, so that nothing that is known of the state is used again."""
    v[0] += 1e-9


@compiled
def increment(counts: Indices) -> None:
    """Count a sample."""
    counts[0] += 1


@compiled
def is_within_norm(error: Vector, limit: float) -> bool:
    """Return whether an error, without what is not a number, is not longer than a limit."""
    total = 0.0
    for i in range(len(error)):
        # nonholonomic rows have no position error, but NaN
        if error[i] == error[i]:
            total += error[i] * error[i]
    return bool(np.sqrt(total) <= limit)
