"""What a robot under passive rows answers to its input, as kernels that decide and check."""

from __future__ import annotations

from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.clear_answer import Room, clear_answer
from ukctrl.core.algebra.row_space import GRADUAL
from ukctrl.core.algebra.rows_first import Held
from ukctrl.core.algebra.stabilisation import conflict
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled

NOW, HIGHEST = range(2)
"""The rank of the passive rows at the state, and the highest so far."""


@compiled
def ranked_answer(
    room: Room,
    M: Matrix,
    nle: Vector,
    f: Vector,
    B: Matrix,
    A: Matrix,
    b_p: Matrix,
    rtol: float,
    L: Matrix,
    a_free: Vector,
    G: Matrix,
    motors: Vector,
    a_0: Vector,
    margins: Vector,
    held: Held,
) -> int:
    """Write the answer and its rank; see `ukctrl.core.algebra.kernels.passive_answer`."""
    rank, answers = 0, (L, a_free, G, motors, a_0, margins)
    if len(room.S) > 0:
        rank = clear_answer(room, M, nle, f, B, A, b_p, rtol, *answers)
    if rank == 0:
        rank = kernels.passive_answer(M, nle, f, B, A, b_p, rtol, *answers, held.Q, held.weight)
    held.ranks[NOW] = rank
    return rank


@compiled
def settled(
    v: Vector,
    A: Matrix,
    rate: Vector,
    error: Vector,
    b_p: Matrix,
    rtol: float,
    reach: float,
    a_0: Vector,
    margins: Vector,
    ranks: Indices,
    allowed: Vector,
) -> bool:
    """Return whether the passive rows agree; write what each of them may be missed by."""
    rank = ranks[NOW]
    ranks[HIGHEST] = max(ranks[HIGHEST], rank)
    if rank == len(rate):
        return True
    kept, loose = margins[0], margins[1]
    if kept < GRADUAL * rtol or rank < ranks[HIGHEST]:
        loose = GRADUAL * rtol  # near a singular position rows are met in part
    return conflict(A, b_p[0], a_0, v, rate, error, reach, loose, kept, allowed) == 0
