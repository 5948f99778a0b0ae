r"""The acceleration of a constrained system by any of the forms, checked before and after."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from ukctrl.core.algebra.column_space import row_scaled_lstsq
from ukctrl.core.algebra.multipliers import mass_weighted_unit_rows, multipliers
from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.algebra.solution_checks import (
    expect_shape,
    matrix,
    raise_if_conflicting,
    row_names,
    symmetric,
    vector,
)
from ukctrl.core.algebra.stabilisation import SMALL_ACCELERATION
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import (
    ConflictingConstraints,
    InputError,
    SingularMass,
    quoted,
    unknown_name,
)
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.uk import rank_report
from ukctrl_papers.motion.equation_forms import (
    EPS,
    FORMS,
    MASSLESS,
    Form,
    Inverse,
    inverse_by,
    pivoted_qr,
)
from ukctrl_papers.motion.errors import DependentRows, UndeterminedMotion, UnsuitableForm
from ukctrl_papers.pseudoinverse import MethodName

DECOMPOSITION_ROUNDING = 16.0 * EPS
"""What a decomposition may leave, for each coordinate, of numbers of order one."""
PARTICIPATION_RTOL = 1e-6
"""A coordinate takes part in a direction when it has more than this of the largest share."""


@dc.dataclass(frozen=True)
class Motion:
    r"""What a constrained system does: $M a = Q + A^\top \lambda$ and $A a = b$."""

    a: Vector
    """Acceleration, shape ``(n,)``."""
    force: Vector
    r"""Constraint force $M a - Q$, shape ``(n,)``."""
    A: Matrix
    """The rows that exert it, shape ``(m, n)``."""
    rank: RankPolicy = dc.field(default=RANK, repr=False)
    s: Vector | None = dc.field(default=None, repr=False)
    """Sizes of the coordinates, in units of which ranks are decided, ``(n,)``; absent: one."""

    @functools.cached_property
    def lam(self) -> Vector:
        r"""Multipliers $\lambda$ with $A^\top \lambda$ = ``force``, of least norm where rows are
        redundant; computed when asked for.
        """
        L = np.diag(1.0 / self.s) if self.s is not None else np.eye(len(self.a))
        unit, _ = mass_weighted_unit_rows(L, self.A)
        rank = np.count_nonzero(np.linalg.svd(unit, compute_uv=False) > self.rank.passive)
        return multipliers(L, self.A, self.force, int(rank))


class ScaledProblem(NamedTuple):
    """The same problem in units in which ranks mean something: ``a = s * a_scaled``."""

    M: Matrix
    """Unit diagonal, where there is mass."""
    Q: Vector
    A: Matrix
    """Rows of unit length."""
    b: Vector
    s: Vector


class UndeterminedDirections(NamedTuple):
    """What neither mass nor rows determine, in the caller's coordinates."""

    directions: Matrix
    """A basis, shape ``(n, k)``."""
    blur: Vector
    """By how much its entries may be off by rounding, shape ``(n,)``."""


def acceleration(
    M: ArrayLike,
    Q: ArrayLike,
    A: ArrayLike,
    b: ArrayLike,
    form: Form = "udwadia_kalaba",
    inverse: MethodName | Inverse = "svd",
    rank: RankPolicy = RANK,
) -> Vector:
    """Return the acceleration alone; see `solve`."""
    return solve(M, Q, A, b, form, inverse, rank).a


def solve(
    M: ArrayLike,
    Q: ArrayLike,
    A: ArrayLike,
    b: ArrayLike,
    form: Form = "udwadia_kalaba",
    inverse: MethodName | Inverse = "svd",
    rank: RankPolicy = RANK,
    *,
    rows: Sequence[str] | None = None,
    coordinates: Sequence[str] | None = None,
    undetermined: Literal["refuse", "least_norm"] = "refuse",
) -> Motion:
    r"""Return the motion of $M a = Q + A^\top \lambda$ under the rows $A a = b$.

    Every form that applies gives the same answer to rounding; `FORMS` tells what each one needs
    and where it comes from. Coordinates and rows are scaled before a form sees them, so that
    ranks do not depend on their units.

    Args:
        M: Mass matrix, symmetric positive semidefinite, shape ``(n, n)``.
        Q: Impressed force, shape ``(n,)`` [N m or N]; a nonideal constraint force is part of it.
        A: Constraint matrix, shape ``(m, n)``; its rows may be redundant.
        b: Constraint vector, shape ``(m,)``; for (32) pass it through `stabilised`.
        form: Which equation of motion, a key of `FORMS`.
        inverse: How that form computes pseudoinverses: a method of `pseudoinverse`, or a
            function of a matrix and a rank threshold.
        rank: Rank policy; its ``passive`` and ``reach`` thresholds count.
        rows: Names of the rows, for messages.
        coordinates: Names of the coordinates, for messages.
        undetermined: Where ``[M; A]`` lacks full column rank, refuse, or give the acceleration
            of least Euclidean norm (only some forms can).

    Raises:
        ShapeError: The arguments disagree on their sizes.
        SingularMass: ``M`` is not positive semidefinite, or is singular and the form needs more.
        DependentRows: The form needs independent rows.
        UnsuitableForm: The matrices are too ill-conditioned for the form.
        UndeterminedMotion: Neither mass nor rows determine some accelerations.
        ConflictingConstraints: No acceleration satisfies all rows.
    """
    M_, Q_ = symmetric("M", M), vector("Q", Q)
    A_, b_ = matrix("A", A), vector("b", b)
    n = len(Q_)
    expect_shape("M", M_.shape, (n, n))
    expect_shape("A", A_.shape, (len(b_), n))
    if form not in FORMS:
        raise unknown_name("form", form, get_args(Form))
    invert = inverse_by(inverse) if isinstance(inverse, str) else inverse
    names = _coordinate_names(coordinates, n)
    scaled = _scaled(M_, Q_, A_, b_, names)
    loose, blur = _undetermined_directions(scaled, form, names, rank)
    if loose.size:
        _require_least_norm(form, undetermined, UndeterminedDirections(loose, blur), names, Q_)
    try:
        a = scaled.s * FORMS[form].equation(*scaled[:4], invert, rank.passive)
    except np.linalg.LinAlgError as error:
        raise _unsuitable(form, scaled, rank, rows) from error
    if loose.size:
        a = a - loose @ row_scaled_lstsq(loose, a)
    try:
        raise_if_conflicting(A_, b_, a, rank, rows)
    except ConflictingConstraints:
        nearest = np.linalg.lstsq(scaled.A, scaled.b, rcond=rank.passive)[0]
        raise_if_conflicting(A_, b_, scaled.s * nearest, rank, rows)
        raise _unsuitable(form, scaled, rank, rows) from None  # the rows agree; the form failed
    if _stray_force(scaled, a / scaled.s, rank) > rank.reach:
        raise _unsuitable(form, scaled, rank, rows)
    return Motion(a, M_ @ a - Q_, A_, rank, scaled.s)


def stabilised(
    b: ArrayLike, beta: ArrayLike, phi: ArrayLike, alpha_gain: float, beta_gain: float
) -> Vector:
    r"""Return $b - \alpha\, \dot\varphi - \beta\, \varphi$, the right-hand side of (32).

    With it in place of ``b``, every form makes the violation obey
    $\ddot\varphi + \alpha \dot\varphi + \beta \varphi = 0$. De Falco et al. write $2 \alpha$ and
    $\beta^2$ for the two gains.

    Args:
        b: Right-hand side of the rows, shape ``(m,)``.
        beta: Violation at velocity level, $\dot\varphi = A v - c$, shape ``(m,)``.
        phi: Violation $\varphi$, shape ``(m,)``.
        alpha_gain: $\alpha$ [1/s].
        beta_gain: $\beta$ [1/s^2].
    """
    b_, beta_, phi_ = vector("b", b), vector("beta", beta), vector("phi", phi)
    expect_shape("beta", beta_.shape, b_.shape)
    expect_shape("phi", phi_.shape, b_.shape)
    return b_ - alpha_gain * beta_ - beta_gain * phi_


def _scaled(M: Matrix, Q: Vector, A: Matrix, b: Vector, names: Sequence[str]) -> ScaledProblem:
    """Scale coordinates to unit mass and rows to unit length."""
    mass = M.diagonal()
    if mass.min(initial=0.0) < 0.0:
        worst = names[first_smallest(mass)]
        raise SingularMass(
            f"mass matrix must be positive semidefinite; coordinate '{worst}' has {mass.min():.3g}."
        )
    has = mass > 0.0
    s = np.ones(len(mass))
    s[has] = 1.0 / np.sqrt(mass[has])
    if not has.all():  # a massless coordinate has the size that makes its rows unit
        rows, _ = _unit(A * s)
        size = np.linalg.norm(rows, axis=0)
        bare = ~has & (size > 0.0)
        s[bare] /= size[bare]
    rows, length = _unit(A * s)
    return ScaledProblem(np.ascontiguousarray(M * s * s[:, None]), s * Q, rows, b / length, s)


def _unit(A: Matrix) -> tuple[Matrix, Vector]:
    largest = np.abs(A).max(axis=1, initial=0.0)  # first, for the squares of 1e-200 are none
    largest[largest == 0.0] = 1.0
    rows = A / largest[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    length[length == 0.0] = 1.0
    return rows / length[:, None], largest * length


def _undetermined_directions(
    scaled: ScaledProblem, form: Form, names: Sequence[str], rank: RankPolicy
) -> UndeterminedDirections:
    """Return what neither mass nor rows determine.

    A mass matrix that has a Cholesky factor determines everything; nothing more is computed then.
    """
    n = len(scaled.Q)
    try:
        pivots = np.linalg.cholesky(scaled.M).diagonal()
        definite = float(pivots.min(initial=1.0)) ** 2 > MASSLESS
    except np.linalg.LinAlgError:
        definite = False
    if definite:
        return UndeterminedDirections(np.zeros((n, 0)), np.zeros(n))
    values, vectors = np.linalg.eigh(scaled.M)
    scale = max(float(values[-1]), 1.0)
    if values[0] < -MASSLESS * scale:
        raise SingularMass(
            "mass matrix must be positive semidefinite; scaled to a unit diagonal, its smallest "
            f"eigenvalue is {values[0]:.3g}. Check its signs."
        )
    light = values <= MASSLESS * scale
    massless, heavy = vectors[:, light], np.abs(vectors[:, ~light]) / values[~light]
    if FORMS[form].definite:
        able = ", ".join(name for name, card in FORMS.items() if not card.definite)
        raise SingularMass(
            f"form '{form}' needs a positive definite mass matrix; no mass moves along "
            f"{quoted(_participating(massless, names))}. Use a form that does not: {able}."
        )
    # Along the massless directions only the rows can determine anything.
    _, sigma, right = np.linalg.svd(scaled.A @ massless)
    row_rank = int(np.sum(sigma > rank.passive))
    turned = massless @ right.T
    # A direction is known but for what rounding turns it towards the others, by how near they are.
    blur = n * DECOMPOSITION_ROUNDING * (scale * heavy.sum(axis=1) + 1.0)
    blur += np.linalg.norm(blur) * (np.abs(turned[:, :row_rank]) / sigma[:row_rank]).sum(axis=1)
    return UndeterminedDirections(scaled.s[:, None] * turned[:, row_rank:], scaled.s * blur)


def _require_least_norm(
    form: Form, undetermined: str, loose: UndeterminedDirections, names: Sequence[str], Q: Vector
) -> None:
    directions, blur = loose
    able = [name for name, card in FORMS.items() if card.least_norm]
    where = _participating(directions, names)
    if undetermined == "refuse":
        raise UndeterminedMotion(
            where, directions.shape[1], "Give them mass, constrain them, or ask for the least norm."
        )
    if undetermined != "least_norm":
        raise unknown_name("way with the undetermined", undetermined, ["refuse", "least_norm"])
    if form not in able:
        raise InputError(
            f"form '{form}' cannot give the least norm where motion is undetermined. "
            f"Use {' or '.join(repr(name) for name in able)}."
        )
    rounding = (MASSLESS * np.abs(directions).T + blur) @ np.abs(Q)
    if np.any(np.abs(directions.T @ Q) > rounding):
        raise UndeterminedMotion(
            where, directions.shape[1], "A force acts along them that nothing resists: remove it."
        )


def _participating(directions: Matrix, names: Sequence[str]) -> list[str]:
    """Return the names of the coordinates that take part in any of the directions."""
    share = np.abs(directions).max(axis=1, initial=0.0)
    return [
        names[i]
        for i in np.flatnonzero(share > PARTICIPATION_RTOL * share.max(initial=0.0)).tolist()
    ]


def _stray_force(scaled: ScaledProblem, a: Vector, rank: RankPolicy) -> float:
    """Return how much of ``M a - Q`` no row can exert, relative to what it is the difference of.

    With the rows themselves this certifies the answer: the two together determine it.
    """
    force = scaled.M @ a - scaled.Q
    size = float(np.linalg.norm(scaled.M @ a) + np.linalg.norm(scaled.Q))
    factored, tau, _, row_rank = pivoted_qr(scaled.A.T, rank.passive)
    if row_rank:
        reflectors = factored[:, : len(tau)]
        force = lapack.dormqr("L", "T", reflectors, tau, force[:, None], 64)[0][row_rank:, 0]
    return float(np.linalg.norm(force)) / (size + SMALL_ACCELERATION)


def _unsuitable(
    form: Form, scaled: ScaledProblem, rank: RankPolicy, rows: Sequence[str] | None
) -> UnsuitableForm:
    names = row_names(rows, len(scaled.b))
    report = rank_report(scaled.A, names, rank.passive)
    if FORMS[form].independent and report.dependent:
        able = [name for name, card in FORMS.items() if not card.independent]
        return DependentRows(form, report.dependent, able)
    able = [name for name in ("null_space", "kkt", "udwadia_kalaba") if name != form]
    return UnsuitableForm(
        f"form '{form}' loses its accuracy here: masses or rows are too close to dependent for "
        f"it (smallest singular value of the rows {report.smallest_kept:.1e} of the largest). "
        f"Use another form, such as {' or '.join(repr(name) for name in able)}."
    )


def _coordinate_names(names: Sequence[str] | None, count: int) -> Sequence[str]:
    if names is None:
        return [f"coordinate {i}" for i in range(count)]
    if len(names) != count:
        raise InputError(f"coordinates must name {count} columns; got {len(names)} names.")
    return names
