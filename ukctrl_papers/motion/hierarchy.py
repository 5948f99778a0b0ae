r"""Systems built from modules, constrained level by level.

Orsino (2017) sees a machine as modules whose equations of motion are known, and constraints that
tie them together in levels: links to legs, legs to a platform. Each level corrects the
accelerations of the one below,

$$ a_{r+1} = a_r + K (b_{r+1} - H_{r+1} a_r), \qquad P_{r+1} = (I - K H_{r+1})\, P_r , $$

which is a Kalman filter for a state that does not move, fed with measurements without noise. Here
the covariance is kept as a factor, $W = S S^\top$, in the coordinates of the modules: $W$ is the
inverse mass matrix under the constraints enforced so far, and the columns of $S$ are the freedoms
that are left, each of unit mass. With $P = L^\top W L$, $M = L L^\top$, this is the paper's
recursion; with fewer columns every level is cheaper than the one below, and no roots are formed.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.algebra.solution_checks import expect_shape, matrix, raise_if_conflicting, vector
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl_papers.motion.equation_forms import triangular
from ukctrl_papers.motion.errors import UndeterminedMotion
from ukctrl_papers.motion.level import (
    Finding,
    Level,
    cancellation_scale,
    enforce_exactly,
    enforce_with_clearance,
)
from ukctrl_papers.motion.solution import solve


@dc.dataclass(frozen=True)
class Hierarchy:
    """A system at some level: its accelerations, and how they may still change.

    Start with `module`, put modules side by side with `assemble`, tie them with `enforce`. Every
    step returns a new system and leaves the old one as it is, so taking back the last level costs
    nothing. Grouping and order of the levels do not matter to the result.
    """

    M: Matrix
    """Mass matrix, block-diagonal in the modules, shape ``(n, n)``."""
    Q: Vector
    """Impressed force, shape ``(n,)``."""
    a: Vector
    """Acceleration under the levels so far, shape ``(n,)``."""
    S: Matrix
    """Columns that span the remaining freedoms, ``W = S S'``, shape ``(n, k)``."""
    S_free: Matrix = dc.field(repr=False)
    """The same before any level was enforced: what a row is compared with."""
    columns: Mapping[str, slice]
    """Where each module's coordinates are."""
    rank: RankPolicy = dc.field(default=RANK, repr=False)
    parts: Mapping[str, Hierarchy] = dc.field(default_factory=dict, repr=False)
    below: Hierarchy | None = dc.field(default=None, repr=False)
    level: Level | None = dc.field(default=None, repr=False)
    """The level that was enforced last, on the system ``below``."""
    finding: Finding | None = dc.field(default=None, repr=False)

    @classmethod
    def module(
        cls,
        M: ArrayLike,
        Q: ArrayLike,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        rank: RankPolicy = RANK,
    ) -> Hierarchy:
        """Return a module by itself.

        Args:
            M: Mass matrix, shape ``(n, n)``; singular only where the module's own rows determine
                what has no mass.
            Q: Impressed force, shape ``(n,)`` [N m or N].
            A: Rows that belong to the module and are never taken back, shape ``(m, n)``.
            b: Their right-hand side.
            rank: Rank policy; its ``passive`` and ``reach`` thresholds count.

        Raises:
            SingularMass: ``M`` is not positive semidefinite.
            UndeterminedMotion: Neither mass nor rows determine some accelerations.
        """
        Q_ = vector("Q", Q)
        n = len(Q_)
        A_ = np.zeros((0, n)) if A is None else matrix("A", A)
        b_ = np.zeros(len(A_)) if b is None else vector("b", b)
        a = solve(M, Q_, A_, b_, form="null_space", rank=rank).a
        M_ = matrix("M", M)
        Z = enforce_exactly(np.eye(n), A_ / cancellation_scale(A_, np.eye(n)), b_, rank.passive)[1]
        root, info = lapack.dpotrf(Z.T @ M_ @ Z, lower=1)
        if info:
            raise UndeterminedMotion(
                ["the module"], 1, "Give them mass, or constrain them within the module."
            )
        S = np.ascontiguousarray(triangular(root, Z.T).T)
        return cls(M=M_, Q=Q_, a=a, S=S, S_free=S, columns={}, rank=rank)

    @classmethod
    def assemble(cls, subsystems: Mapping[str, Hierarchy]) -> Hierarchy:
        """Return the parts side by side, not yet tied together.

        Parts may be modules or systems that already have levels of their own; a leg that occurs
        three times is worked out on its own few coordinates.
        """
        if not subsystems:
            raise InputError("an assembly must have at least one part; got none.")
        columns: dict[str, slice] = {}
        start = 0
        for name, subsystem in subsystems.items():
            if "." in name:  # it could be the part of a part
                raise InputError(f"the name of a part must have no dot; got '{name}'.")
            columns[name] = slice(start, start + len(subsystem.Q))
            for inner, at in subsystem.columns.items():
                columns[f"{name}.{inner}"] = slice(start + at.start, start + at.stop)
            start += len(subsystem.Q)
        systems = list(subsystems.values())
        return cls(
            M=_side_by_side([subsystem.M for subsystem in systems]),
            Q=np.concatenate([subsystem.Q for subsystem in systems]),
            a=np.concatenate([subsystem.a for subsystem in systems]),
            S=_side_by_side([subsystem.S for subsystem in systems]),
            S_free=_side_by_side([subsystem.S_free for subsystem in systems]),
            columns=columns,
            rank=systems[0].rank,
            parts=dict(subsystems),
        )

    def rows(self, blocks: Mapping[str, ArrayLike]) -> Matrix:
        """Return rows over all coordinates from their blocks, ``{module: columns of the module}``.

        Raises:
            UnknownName: There is no such module.
            ShapeError: A block does not fit its module, or the blocks differ in their rows.
        """
        matrices = {name: matrix(f"block '{name}'", block) for name, block in blocks.items()}
        count = len(next(iter(matrices.values()))) if matrices else 0
        A = np.zeros((count, len(self.Q)))
        for name, block in matrices.items():
            if name not in self.columns:
                raise unknown_name("module", name, self.columns)
            at = self.columns[name]
            expect_shape(f"block '{name}'", block.shape, (count, at.stop - at.start))
            A[:, at] = block
        return A

    def enforce(self, level: Level) -> Hierarchy:
        """Return the system one level up.

        Raises:
            ShapeError: The rows do not fit the system.
            InputError: There is a level of that name already.
            GainError: The clearance is not positive definite.
            ConflictingConstraints: A row without clearance contradicts the levels below.
        """
        expect_shape("A", level.A.shape, (len(level.b), len(self.Q)))
        if level.name in self.levels:
            raise InputError(f"levels must have different names; got '{level.name}' twice.")
        X = level.A @ self.S
        variance = np.einsum("ij,ij->i", X, X)
        missing = level.b - level.A @ self.a
        if level.R is not None:
            step, S = enforce_with_clearance(self.S, X, missing, level.R)
            a = self.a + step
            finding = Finding(level.name, 0, (), variance + level.R.diagonal())
        else:
            size = cancellation_scale(level.A, self.S_free)
            step, S, dependent = enforce_exactly(
                self.S, X / size, missing / size[:, 0], self.rank.passive
            )
            a = self.a + step
            raise_if_conflicting(level.A, level.b, a, self.rank, level.rows)
            names = tuple(level.rows[i] for i in dependent)
            finding = Finding(level.name, X.shape[1] - S.shape[1], names, variance)
        return dc.replace(self, a=a, S=S, parts={}, below=self, level=level, finding=finding)

    def without(self, name: str) -> Hierarchy:
        """Return the system without a level, redoing only what stands on it.

        Args:
            name: The level; inside a part, ``"part.level"``.
        """
        if name not in self.levels:
            raise unknown_name("level", name, self.levels)
        if self.below is not None and self.level is not None:
            if self.level.name == name:
                return self.below
            return self.below.without(name).enforce(self.level)
        prefix, _, inner = name.partition(".")
        return Hierarchy.assemble({**self.parts, prefix: self.parts[prefix].without(inner)})

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, lowest first; those inside a part as ``"part.level"``."""
        return tuple(finding.level for finding in self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What enforcing each level showed, lowest first."""
        if self.below is not None and self.finding is not None:
            return (*self.below.findings, self.finding)
        return tuple(
            finding._replace(level=f"{name}.{finding.level}")
            for name, subsystem in self.parts.items()
            for finding in subsystem.findings
        )

    @property
    def freedom(self) -> int:
        """How many independent accelerations are left."""
        return int(self.S.shape[1])

    @property
    def W(self) -> Matrix:
        """Inverse mass matrix under the constraints: acceleration per force, shape ``(n, n)``."""
        return np.asarray(self.S @ self.S.T)

    @property
    def force(self) -> Vector:
        """Force of all constraints so far, ``M a - Q`` [N m or N]."""
        return np.asarray(self.M @ self.a - self.Q)


def _side_by_side(blocks: Sequence[Matrix]) -> Matrix:
    """Return a block-diagonal matrix; SciPy's takes longer than a level of a small robot."""
    sizes = np.cumsum([(0, 0), *(block.shape for block in blocks)], axis=0)
    whole = np.zeros(sizes[-1])
    for block, (row, column) in zip(blocks, sizes, strict=False):
        whole[row : row + block.shape[0], column : column + block.shape[1]] = block
    return whole
