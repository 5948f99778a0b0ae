"""What a robot under passive rows answers to its input, as kernels that decide and check."""

from __future__ import annotations

from ukctrl.core.algebra import dynamics_kernels
from ukctrl.core.algebra.adjoint_input import PassiveDirections
from ukctrl.core.algebra.gram_acceleration import GramBuffers, gram_acceleration
from ukctrl.core.algebra.gram_factor import GramFactorBuffers
from ukctrl.core.algebra.row_space import BLEND_FACTOR
from ukctrl.core.algebra.stabilisation import count_conflicts
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled

CURRENT_RANK, MAX_RANK = range(2)
"""The rank of the passive rows at the state, and the highest so far."""


@compiled
def ranked_acceleration(
    buffers: GramBuffers,
    pushed: dynamics_kernels.EquationOfMotion,
    passive: dynamics_kernels.PassiveRows,
    answer: dynamics_kernels.AccelerationMap,
    directions: PassiveDirections,
    factor_buffers: GramFactorBuffers,
) -> int:
    """Write the answer and its rank; see
    `ukctrl.core.algebra.dynamics_kernels.constrained_acceleration`.
    """
    rank = 0
    # buffers are made only where the Gram route may serve (`Dynamics`): few rows, no adjoint route
    if len(buffers.S) > 0:
        rank = gram_acceleration(buffers, pushed, passive, answer)
    # refused: orthonormal rows, or singular values, decide
    if rank == 0:
        rank = dynamics_kernels.constrained_acceleration(
            pushed, passive, answer, directions.Q, directions.weight, factor_buffers
        )
    directions.ranks[CURRENT_RANK] = rank
    return rank


@compiled
def passive_rows_consistent(
    v: Vector,
    passive: dynamics_kernels.PassiveRows,
    rate: Vector,
    error: Vector,
    reach: float,
    ranks: Indices,
    allowed: Vector,
) -> bool:
    """Return whether the passive rows agree; write what each of them may be missed by."""
    rank, rtol = ranks[CURRENT_RANK], passive.rtol
    ranks[MAX_RANK] = max(ranks[MAX_RANK], rank)
    # independent rows cannot contradict each other
    if rank == len(rate):
        return True
    sigma_min, loose = passive.rank_gap[0], passive.rank_gap[1]
    # below the highest rank so far the position is nearly singular
    if sigma_min < BLEND_FACTOR * rtol or rank < ranks[MAX_RANK]:
        loose = BLEND_FACTOR * rtol  # near a singular position rows are met in part
    equations = passive.A, passive.b[0], passive.a_0
    return count_conflicts(*equations, v, rate, error, reach, loose, sigma_min, allowed) == 0
