r"""Internal forces: what closed chains carry without moving for it.

The reaction of the passive rows is affine in the input, as the acceleration is:

$$ \lambda = \lambda_0 + \Lambda u, \qquad
   \Lambda = -(A_p M^{-1} A_p^\top)^+ A_p M^{-1} B . $$

So "the bar is squeezed with 20 N" is a row in the input like any servo row, and where the motors
outnumber the freedoms it can be met beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, Self, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.allocation.reaction_kernels import (
    add_internal_force,
    reaction_dynamics,
    write_reactions,
)
from ukctrl.control.task import Task
from ukctrl.core.algebra import least_norm_input
from ukctrl.core.algebra.solution_checks import raise_if_infeasible
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError, InputError, quoted, unknown_name
from ukctrl.core.fields import Components, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints.constraint import sample_path
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AnyReference, Constant

INDETERMINACY_TOLERANCE = 1e-6
"""A reaction whose row has a larger part than this in a dependency among rows is not unique."""
NO_FREEDOM_ADVICE = (
    "The task leaves the motors no freedom that changes this reaction; hold fewer reactions, or "
    "add a motor."
)
"""What to do where the null space does not reach a reaction."""


class ReactionMap(NamedTuple):
    """How the reactions of the passive rows answer the input: ``lam = lam_free + Lam u``."""

    lam_free: Vector
    """Multipliers at zero input, shape ``(m,)`` [N or N m, row by row]."""
    Lam: Matrix
    """Multipliers per unit input, shape ``(m, nu)``."""
    indeterminacy: Vector
    """0 where a row's reaction is unique, up to 1 where redundant rows share it, ``(m,)``."""


def reaction_map(dynamics: Dynamics) -> ReactionMap:
    """Return the multipliers of the passive rows as an affine function of the input."""
    m = len(dynamics.passive)
    answer = ReactionMap(np.zeros(m), np.zeros((m, dynamics.robot.nu)), np.zeros(m))
    write_reactions(reaction_dynamics(dynamics), float(dynamics.rank.servo), *answer)
    return answer


@spec
class InternalForce:
    r"""Hold reactions of closures at given values, in the motors' null space.

    The task is served first; then the least addition $s$ with $H s = 0$ brings the reactions of
    the named passive rows to their values. A closure's row is named after it, such as ``grip.x``,
    and its reaction is the force on the first of its frames along that axis of the second.
    """

    kind: Literal["internal_force"] = "internal_force"
    rows: tuple[str, ...] | str
    """Passive rows whose reactions are held."""
    value: Components | None = None
    """The reactions, one number a row [N or N m]; instead of ``path``."""
    path: AnyReference | None = None
    """The reactions over time, one component a row [N or N m]."""

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if (self.value is None) == (self.path is None):
            raise InputError("must have either a value or a path.")
        count, path = len(self.names), self.reference
        if not count:
            raise InputError("rows must name at least one passive row; got none.")
        if len(set(self.names)) < count:
            raise InputError(f"rows must name every passive row once; got {quoted(self.names)}.")
        if path.size != count:
            key = "value" if self.path is None else "path"
            raise InputError(f"{key} must have one component a row, {count}; got {path.size}.")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The passive rows."""
        return (self.rows,) if isinstance(self.rows, str) else self.rows

    @property
    def reference(self) -> AnyReference:
        """The reactions over time."""
        return Constant(value=self.value or ()) if self.path is None else self.path


@final
class BoundInternalForce:
    """Internal forces of one robot, added to inputs that serve a task."""

    def __init__(self, spec: InternalForce, task: Task) -> None:
        dynamics = Dynamics(task.robot, task.rank)
        passive = dynamics.passive.names
        if not passive:
            raise GainError(
                f"null_space 'internal_force' needs a closed chain; robot '{task.robot.name}' "
                "has no passive rows."
            )
        for name in spec.names:
            if name not in passive:
                raise unknown_name("passive row (in null_space.rows)", name, passive)
        self._row_indices = np.array([passive.index(name) for name in spec.names])
        self._names = tuple(f"internal force {name}" for name in spec.names)
        self._path = sample_path(
            spec.reference, len(self._row_indices), "path of the internal force"
        )
        dynamics.move(task.start, task.q, task.v)
        self._require_determined(dynamics)

    def _require_determined(self, dynamics: Dynamics) -> None:
        shared = reaction_map(dynamics).indeterminacy[self._row_indices]
        # a row that others can stand in for has no reaction of its own to hold
        if shared.max() > INDETERMINACY_TOLERANCE:
            name = dynamics.passive.names[self._row_indices[first_largest(shared)]]
            raise GainError(
                f"the reaction of passive row '{name}' must be determined to be held; redundant "
                "rows share it. Close the chain with the rows it needs and no more, such as "
                'type = "planar_point" in a planar mechanism.'
            )

    def steps(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Iterator[KernelStep]:
        """Yield what adds to ``u`` the least ``s`` with ``H s = 0`` that gives the reactions.

        They raise `InfeasibleConstraint` where no such addition exists: what the motors have left
        does not reach the reaction.
        """
        s, d, rtol = dynamics.snapshot, dynamics, float(dynamics.rank.servo)
        value, moving = self._path.values[: len(self._row_indices)], reaction_dynamics(d)

        def care(code: int) -> None:
            u[:] = self._careful_input(u, A, R, d)

        yield self._path.step(s.clock)
        yield BoundKernel(
            add_internal_force, moving, self._row_indices, value, A, R, rtol, u, fault=care
        )

    def _careful_input(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Vector:
        """Return the sum that `steps` write, decided with care."""
        answer = reaction_map(dynamics)
        Lam = answer.Lam[self._row_indices]
        gap = (
            self._path.values[: len(self._row_indices)]
            - answer.lam_free[self._row_indices]
            - Lam @ u
        )
        free = _null_space(dynamics.servo_matrix(A), dynamics.rank.servo)
        metric = free.T @ R @ free if R.size else R
        share: Vector = np.empty(free.shape[1])
        still, miss = np.zeros(len(u)), np.empty(len(gap))
        args = np.eye(len(u)), np.linalg.norm(free, axis=0), metric, np.zeros(len(share))
        demand = least_norm_input.ServoProblem(
            Lam, gap, still, free, *args, float(dynamics.rank.servo)
        )
        rank_or_failure = least_norm_input.servo_input(demand, share, miss)
        if rank_or_failure < len(gap):
            missed = Lam, gap, still, miss, rank_or_failure, dynamics.rank, self._names
            raise_if_infeasible(*missed, advice=NO_FREEDOM_ADVICE)
        total: Vector = u + free @ share
        return total


def _null_space(H: Matrix, rtol: float) -> Matrix:
    """Return orthonormal columns that span what ``H`` does not feel, shape ``(nu, k)``."""
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    _, sigma, Vt = np.linalg.svd(H / np.where(lengths > 0.0, lengths, 1.0))
    rank = int(np.sum(sigma > rtol * max_abs(sigma)))
    return np.ascontiguousarray(Vt[rank:].T)
