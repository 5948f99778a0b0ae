"""What the passive rows of a robot transmit, and the power that is fed to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.core.algebra import kernels, separate
from ukctrl.core.algebra.constrained import NOW
from ukctrl.core.algebra.factorisation import independent_rows
from ukctrl.core.algebra.multipliers import multipliers, quick_multipliers, sharing
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.algebra.row_space import mass_weighted
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.contacts import Contacts
from ukctrl.robot import Snapshot, push_kernels
from ukctrl.uk import RankReport


@compiled
def power_fed(
    ties: Indices,
    M: Matrix,
    nle: Vector,
    f: Vector,
    B: Matrix,
    v: Vector,
    stored: Vector,
    reacts: bool,
    a: Vector,
    u: Vector,
    fed: Vector,
) -> None:
    """Write the power of motors, applied forces without springs, and reactions; see `Dynamics`."""
    fed[0] = stored[push_kernels.POWER]
    for i in range(len(v)):
        if reacts:  # what moves it beside them is what the reactions do
            fed[0] += separate.momentum(nle[i], ties, M, a, i) * v[i]
        else:
            fed[0] += (f[i] + separate.moved_by(0.0, ties, B, u, i)) * v[i]


class Transmitted:
    """The forces and the power at an answer to an input; see `Dynamics`, which has its arrays."""

    snapshot: Snapshot
    passive: Stack
    rank: RankPolicy
    contacts: Contacts | None
    L: Matrix
    ties: Indices
    nonideal: Vector
    directions: Matrix
    margins: Vector
    ranks: Indices
    _b_p: Matrix
    _count: int

    @property
    def passive_rank(self) -> int:
        """Directions that the passive rows constrain."""
        return int(self.ranks[NOW])

    def passive_report(self) -> RankReport:
        """Return which passive rows are independent at the current state, and by how much.

        Of rows of unit length in mass-weighted coordinates, as the rank is decided in the loop.
        """
        rows, names = self.passive.rows, self.passive.names
        if not self._count:
            return RankReport(0, (), (), 0.0, 0.0)
        weighted, _ = mass_weighted(self.L, rows.A, self._b_p)
        order = np.empty(self._count, dtype=np.int64)
        independent_rows(weighted, self.rank.passive, order)
        count = self.passive_rank
        kept, dropped = sorted(order[:count].tolist()), sorted(order[count:].tolist())
        return RankReport(
            rank=count,
            independent=tuple(names[i] for i in kept),
            dependent=tuple(names[i] for i in dropped),
            smallest_kept=float(self.margins[0]),
            largest_dropped=float(self.margins[1]),
        )

    def power(self, a: Vector, u: Vector) -> float:
        """Return the power fed to the robot by motors, applied forces and reactions [W].

        Springs are not counted, because their energy is part of the robot's.
        """
        fed: Vector = np.zeros(1)
        power_fed(*self._loaded(), a, u, fed)
        return float(fed[0])

    def power_step(self, a: Vector, u: Vector, fed: Vector) -> Step:
        """Return what writes `power` at the acceleration and input that are there then."""
        return Call(power_fed, *self._loaded(), a, u, fed)

    def _loaded(self) -> tuple[Indices, Matrix, Vector, Vector, Matrix, Vector, Vector, bool]:
        s = self.snapshot
        return self.ties, s.M, s.nle, s.f, s.B, s.v, s.stored, self._count > 0

    def passive_force(self, a: Vector, u: Vector) -> Vector:
        """Return the generalised force of the passive constraints, ``M a + nle - f - B u``.

        It is the reaction and what is not ideal.
        """
        s = self.snapshot
        return s.M @ a + s.nle - s.f - s.B @ u

    def reactions(self, force: Vector) -> Vector:
        """Return the multipliers of the passive rows that transmit a `passive_force`.

        Of least norm where rows are redundant; `sharing` tells which ones that concerns.
        """
        ideal = force - self.nonideal
        return multipliers(self.L, self.directions, ideal, self.passive_rank)

    def reaction_steps(
        self, a: Vector, u: Vector, force: Vector, reaction: Vector
    ) -> Iterator[Step]:
        """Yield what writes `passive_force` and its `reactions` at the answer to an input.

        Frictions of contacts that slide stand as the reactions of their rows of slip.
        """
        s, own = self.snapshot, self.contacts
        yield Call(kernels.transmitted, s.M, s.nle, s.f, s.B, a, u, force)

        def shared(code: int) -> None:
            reaction[:] = self.reactions(force)

        pushed = self.L, self.directions, force, self.nonideal, self.ranks, reaction
        yield Call(quick_multipliers, *pushed, fault=shared)
        if own is not None:
            yield own.friction_step(reaction)

    def margin_steps(self, a: Vector, u: Vector) -> Iterator[Step]:
        """Yield what writes the margins of contacts that only push, at the answer to an input."""
        if self.contacts is not None:
            yield from self.reaction_steps(a, u, np.zeros(len(a)), self.contacts.reaction)
            yield self.contacts.margin_step()

    def sharing(self) -> tuple[str, ...]:
        """Return the names of the passive rows whose multipliers no motion determines."""
        shared = sharing(self.L, self.passive.rows.A, self.passive_rank)
        return tuple(self.passive.names[i] for i in np.flatnonzero(shared))
