"""What a robot under passive rows answers to its input, as kernels that decide and check."""

from __future__ import annotations

from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.clear_answer import Room, clear_answer
from ukctrl.core.algebra.row_space import GRADUAL
from ukctrl.core.algebra.rows_first import Held
from ukctrl.core.algebra.stabilisation import conflict
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled

NOW, HIGHEST = range(2)
"""The rank of the passive rows at the state, and the highest so far."""


@compiled
def ranked_answer(
    room: Room,
    pushed: kernels.Pushed,
    passive: kernels.Passive,
    answer: kernels.Answer,
    held: Held,
) -> int:
    """Write the answer and its rank; see `ukctrl.core.algebra.kernels.passive_answer`."""
    rank = 0
    if len(room.S) > 0:
        rank = clear_answer(room, pushed, passive, answer)
    if rank == 0:
        rank = kernels.passive_answer(pushed, passive, answer, held.Q, held.weight)
    held.ranks[NOW] = rank
    return rank


@compiled
def settled(
    v: Vector,
    passive: kernels.Passive,
    rate: Vector,
    error: Vector,
    reach: float,
    ranks: Indices,
    allowed: Vector,
) -> bool:
    """Return whether the passive rows agree; write what each of them may be missed by."""
    rank, rtol = ranks[NOW], passive.rtol
    ranks[HIGHEST] = max(ranks[HIGHEST], rank)
    if rank == len(rate):
        return True
    kept, loose = passive.margins[0], passive.margins[1]
    if kept < GRADUAL * rtol or rank < ranks[HIGHEST]:
        loose = GRADUAL * rtol  # near a singular position rows are met in part
    given = passive.A, passive.b[0], passive.a_0
    return conflict(*given, v, rate, error, reach, loose, kept, allowed) == 0
