"""Start states: moving a guess onto the constraints, at position and at velocity level."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from ukctrl.core.algebra.factorisation import (
    NEGLIGIBLE_RTOL,
    solve_least_norm,
    zero_rounding_lengths,
)
from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.algebra.row_space import BLEND_FACTOR
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import StartError, quoted
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.robot import Robot, Snapshot

TOLERANCE = 1e-12
"""Largest position error that counts as none, relative to 1 + |A| |q|."""
MAX_ITERATIONS = 50
POSITION_ROUNDING = 1e-15
"""Position error, relative as before, that cannot be lowered any more."""
MAX_TRIALS = 200
"""Damped steps, taken or not, before a start is given up."""
MIN_DAMPING, MAX_DAMPING = 1e-3, 1e12
MIN_DECREASE = 1e-6
"""A step that lowers the squared error by a smaller fraction is not taken."""
MAX_SVD_SIZE = 250_000
"""Rows times columns up to which singular values are cheap enough; beyond, steps are undamped."""
MAX_CONTINUATION_STEP = 0.2
"""How far held coordinates move at a time on their way to where they are wanted [rad, m]."""
MAX_CONTINUATION_STEPS = 2000
"""A longer way is not walked: nothing of where it begins is left at its end."""
STATIONARITY_RTOL = 1e-4
"""Errors of which this fraction, or less, is along what rows can move cannot shrink any more."""
CONFLICT_RTOL = 1e-2
"""A row with less than this of the largest error has no part in a contradiction."""
MAX_NAMED = 6
"""Contradictions of more rows than this are those of a whole mechanism, and not told."""


class ConsistentState(NamedTuple):
    """A state on the constraints, and how far it is from the guess."""

    q: Vector
    v: Vector
    dq: Vector
    """Tangent step from the guess, shape ``(nv,)``."""
    dv: Vector
    """Velocity correction, shape ``(nv,)``."""

    def correction_sizes(self, robot: Robot) -> dict[str, float]:
        """Return how far the guess was moved: the length of the change, by unit.

        Such as ``{"rad": 0.1, "m": 0.0, "rad/s": 0.0, "m/s": 0.2}``.
        """
        units = np.array(robot.dof_units)
        sizes: dict[str, float] = {}
        for change, suffix in ((self.dq, "/s"), (self.dv, "")):
            for unit in dict.fromkeys(robot.dof_units):
                size = float(np.linalg.norm(change[units == unit]))
                sizes[unit.removesuffix(suffix)] = size
        return sizes


def consistent_state(
    stack: Stack,
    q: Vector,
    v: Vector,
    t: float = 0.0,
    held: Sequence[int] = (),
    home: Vector | None = None,
    rank: RankPolicy = RANK,
) -> ConsistentState:
    r"""Move a guess onto all constraints: $\phi(q, t) = 0$, then $A v = c$.

    Gauss-Newton on the manifold, $q \leftarrow q \oplus (-A^\top (A A^\top + \mu)^{-1} \phi)$ with
    rows of unit length and $\mu$ of the order of $|\phi|^2$; then the smallest velocity
    correction, $v \leftarrow v - A^+ \beta$. Redundant rows are allowed. Off the constraints they
    look independent, and an undamped step along the direction in which they nearly agree goes
    far astray; with $\mu \sim |\phi|^2$ the convergence stays quadratic without full rank
    (Yamashita & Fukushima 2001).

    Args:
        stack: The constraints.
        q: Guess of the configuration, shape ``(nq,)``.
        v: Guess of the velocity, shape ``(nv,)``.
        t: Time [s].
        held: Indices of velocities along which nothing may be moved.
        home: A configuration near the constraints, shape ``(nq,)``. From there the held ones go
            to where the guess has them in small strides, and the others follow: a guess off the
            constraints then ends in the assembly of home, where that way exists.
        rank: When rows count as dependent.

    Raises:
        StartError: The constraints cannot be met from here; the worst row is named.
    """
    robot = stack.robot
    snapshot = robot.snapshot(q, v, t)
    solved = q
    # a guess that is on the constraints stays: there may be no way to it from home
    if held and home is not None and not _position_is_met(stack, snapshot, q, t):
        displacement = np.zeros(robot.nv)
        displacement[held] = robot.difference(home, np.ascontiguousarray(q))[held]
        # rows that ask held joints for more than home has end the way; then the guess decides
        with contextlib.suppress(StartError):
            solved = _continue_from_home(stack, snapshot, q, t, held, displacement, rank)
    solved = _damped_gauss_newton(stack, snapshot, solved, t, held, rank)
    velocity, last = v, np.inf
    for _ in range(MAX_ITERATIONS):  # more than once only where psi is not linear in v
        snapshot.move(solved, velocity, t)
        rows = stack.write(snapshot)
        scale = 1.0 + float(np.abs(velocity).max(initial=0.0))
        error = float(np.abs(rows.beta).max(initial=0.0))
        # Near a singular position a direction that counts as free leaves that much of its row.
        if error <= TOLERANCE * scale or last <= error <= BLEND_FACTOR * rank.passive * scale:
            break
        velocity, last = velocity - least_norm_change(rows.A, rows.beta, rank, held), error
    else:
        clash = (
            ()
            if held
            else _conflicting_rows(rows.A, _least_squares_residual(rows.A, rows.beta, rank))
        )
        _refuse(stack, rows.beta, t, "velocity", clash)
    moved = robot.difference(np.ascontiguousarray(q), solved)
    return ConsistentState(solved, velocity, moved, velocity - v)


def _continue_from_home(
    stack: Stack,
    snapshot: Snapshot,
    q: Vector,
    t: float,
    held: Sequence[int],
    displacement: Vector,
    rank: RankPolicy,
) -> Vector:
    """Return the guess after held joints went by ``displacement``, ``(nv,)``, in short steps from
    home, where the closures are met.
    """
    robot, strides = stack.robot, math.ceil(np.abs(displacement).max() / MAX_CONTINUATION_STEP)
    if not 0 < strides <= MAX_CONTINUATION_STEPS:
        return q
    solved = robot.integrate(q, -displacement)
    for _ in range(strides):
        solved = _damped_gauss_newton(stack, snapshot, solved, t, held, rank)
        solved = robot.integrate(solved, displacement / strides)
    # the strides add up with rounding: held joints are put where they were asked for
    return _with_fixed_coordinates(robot, solved, q, held)


def _position_is_met(stack: Stack, snapshot: Snapshot, q: Vector, t: float) -> bool:
    """Return whether a configuration meets the holonomic rows; the snapshot is moved there."""
    snapshot.move(q, np.zeros(stack.robot.nv), t)
    rows = stack.write(snapshot)
    phi = float(np.abs(rows.phi[stack.holonomic]).max(initial=0.0))
    return phi <= TOLERANCE * _scale(q, rows.A)


MAX_RANDOM_STARTS = 20
"""Positions from which it is tried whether rows can be met at all."""


def random_consistent_configuration(stack: Stack, t: float = 0.0) -> Vector | None:
    """Return a position that meets the holonomic rows, found from some that are drawn; None where
    none of them leads to one.
    """
    robot, rng = stack.robot, np.random.default_rng(0)
    for _ in range(MAX_RANDOM_STARTS):
        try:
            return consistent_state(stack, robot.random(rng), np.zeros(robot.nv), t).q
        except StartError:
            continue
    return None


def _damped_gauss_newton(
    stack: Stack, snapshot: Snapshot, q: Vector, t: float, locked: Sequence[int], rank: RankPolicy
) -> Vector:
    """Return a configuration near ``q`` that meets the holonomic rows, by damped Gauss-Newton."""
    robot, at_rest = stack.robot, np.zeros(stack.robot.nv)

    def errors(q: Vector) -> tuple[Matrix, Vector, Vector, float]:
        """Return unit rows, their errors, the errors as they are, and these beside rounding."""
        snapshot.move(q, at_rest, t)
        rows = stack.write(snapshot)
        A, phi = rows.A[stack.holonomic], rows.phi[stack.holonomic]
        residual = float(np.abs(phi).max(initial=0.0)) / _scale(q, rows.A)
        # a column of zeros: least squares then move no joint that is held
        A[:, locked] = 0.0
        length = np.linalg.norm(A, axis=1)
        # rows of rounding, as of a planar mechanism, are not blown up to unit length
        zero_rounding_lengths(length)
        length[length == 0.0] = 1.0
        return A / length[:, None], phi / length, phi, residual

    # damping in proportion to the error (Levenberg): none is left at the solution, so the end is
    # quadratic
    damping = 1.0
    W, F, phi, residual = errors(q)
    # an SVD at every trial costs more here than undamped steps, which may fail
    if W.size > MAX_SVD_SIZE:
        return consistent_configuration(stack, snapshot, q, t, locked, rank)
    for _ in range(MAX_TRIALS):
        if residual <= POSITION_ROUNDING or not np.isfinite(F).all():
            break
        U, sigma, Vt = np.linalg.svd(W, full_matrices=False)
        size = float(F @ F)
        gain = sigma / (sigma**2 + damping * size)
        # directions that only rounding moves get no step
        gain[sigma <= NEGLIGIBLE_RTOL * sigma.max(initial=0.0)] = 0.0
        # Levenberg and Marquardt: ten times less damping after a step that helped, ten times more
        # after none
        step = (gain * (F @ U)) @ Vt
        stride = max(1.0, float(np.abs(step).max()))  # at most one radian or metre at a time
        trial = robot.integrate(q, -step / stride)
        trial_errors = errors(trial)
        if trial_errors[1] @ trial_errors[1] < size * (1.0 - MIN_DECREASE):
            q, (W, F, phi, residual) = trial, trial_errors
            damping = max(0.1 * damping, MIN_DAMPING)
        # no shorter step helps any more: good enough, or a conflict that _refuse names
        elif residual <= TOLERANCE or damping > MAX_DAMPING:
            break
        else:
            damping *= 10.0
    if not residual <= TOLERANCE:
        worst = np.zeros(len(stack))
        worst[stack.holonomic] = phi
        of = np.flatnonzero(stack.holonomic)
        # a joint that is held takes part in the conflict, and no row could name it
        clash = () if locked else tuple(of[list(_conflicting_rows(W, F))].tolist())
        fixed = not locked and _is_beyond_motion(stack, snapshot, phi, t)
        _refuse(stack, worst, t, "position", clash, fixed=fixed)
    return q


def _scale(q: Vector, A: Matrix) -> float:
    """Return what position errors are relative to: rounding leaves a row as much as its terms."""
    return 1.0 + float(np.abs(q).max(initial=0.0) * np.abs(A).max(initial=0.0))


def _with_fixed_coordinates(
    robot: Robot, q: Vector, guess: Vector, locked: Sequence[int]
) -> Vector:
    """Return ``q`` with the held coordinates as given, to the last digit."""
    step = np.zeros(robot.nv)
    step[locked] = robot.difference(q, guess)[locked]
    return robot.integrate(q, step)


def consistent_configuration(
    stack: Stack,
    snapshot: Snapshot,
    q: Vector,
    t: float,
    locked: Sequence[int] = (),
    rank: RankPolicy = RANK,
) -> Vector:
    """Return the configuration near ``q`` that meets the holonomic rows at time ``t``.

    ``snapshot`` is moved about; the other arguments and errors are those of `consistent_state`.
    """
    robot = stack.robot
    for _ in range(MAX_ITERATIONS):
        if _position_is_met(stack, snapshot, q, t):
            return q
        rows = stack.rows
        step = least_norm_change(rows.A[stack.holonomic], rows.phi[stack.holonomic], rank, locked)
        length = np.abs(step).max()
        if not np.isfinite(length):
            break
        q = robot.integrate(q, -step / max(1.0, length))  # at most one radian or metre at a time
    _refuse(stack, np.where(stack.holonomic, stack.rows.phi, 0.0), t, "position")


def least_norm_change(A: Matrix, d: Vector, rank: RankPolicy, locked: Sequence[int] = ()) -> Vector:
    """Return the least ``x`` with ``A x = d``, zero where it is held, shape ``(nv,)``."""
    if locked:
        A = A.copy()
        A[:, locked] = 0.0  # a column of zeros gets no part of the least-norm solution
    x: Vector = np.empty(A.shape[1])
    solve_least_norm(A, d, rank.passive, x)
    return x


def _is_beyond_motion(stack: Stack, snapshot: Snapshot, phi: Vector, t: float) -> bool:
    """Return whether no motion changes an error of the holonomic rows, wherever the robot is."""
    robot = stack.robot
    snapshot.move(robot.random(np.random.default_rng(0)), np.zeros(robot.nv), t)
    A = stack.write(snapshot).A[stack.holonomic]
    movable = STATIONARITY_RTOL * float(np.linalg.norm(phi)) * max_abs(A)
    return max_abs(phi @ A) <= movable


def _refuse(
    stack: Stack,
    error: Vector,
    t: float,
    level: str,
    clash: tuple[int, ...] = (),
    *,
    fixed: bool = False,
) -> NoReturn:
    worst = first_largest(np.abs(np.nan_to_num(error, nan=np.inf)))
    unit = stack.units[worst] if level == "position" else f"{stack.units[worst] or '1'}/s"
    # the usual cause; rows of two blocks that pull against each other are named instead
    advice = "Start closer, or check that the path is within reach."
    if len({stack.blocks[i] for i in clash}) > 1 and len(clash) <= MAX_NAMED:
        named = quoted([stack.names[i] for i in clash])
        advice = f"Rows {named} contradict each other there: drop one, or let them agree."
        if level == "position":
            advice = f"Rows {named} cannot be met together from here: start closer, or drop one."
    elif fixed:
        advice = (
            "No motion of the robot changes that, as across the plane of a mechanism: correct what "
            'is asked there, or leave that direction out (type = "planar_point" of a closure, axes '
            "of a path)."
        )
    raise StartError(
        f"no {level} near the start meets all constraints at t = {t:g} s; worst row "
        f"'{stack.names[worst]}' is off by {f'{abs(error[worst]):.1e} {unit}'.strip()}. {advice}"
    )


def _conflicting_rows(A: Matrix, error: Vector) -> tuple[int, ...]:
    r"""Return which rows stand against each other; none where the errors could still shrink.

    Where they cannot, $A^\top e = 0$: the errors are the weights with which rows contradict each
    other, and a row with none of them has no part in it.
    """
    if not (np.isfinite(error).all() and np.isfinite(A).all()):
        return ()
    weight = np.abs(error)
    # stationary beside the largest gradient that these errors could have: a conflict, not slow
    # convergence
    movable = STATIONARITY_RTOL * float(weight @ np.linalg.norm(A, axis=1))
    if float(np.abs(error @ A).max(initial=0.0)) > movable:
        return ()
    return tuple(np.flatnonzero(weight >= CONFLICT_RTOL * weight.max(initial=0.0)).tolist())


def _least_squares_residual(A: Matrix, error: Vector, rank: RankPolicy) -> Vector:
    """Return what is left of errors after the best correction, least squares."""
    if not (np.isfinite(error).all() and np.isfinite(A).all()):
        return error
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    # what the rows can reach of the error is no conflict
    U = U[:, sigma > rank.passive * sigma.max(initial=0.0)]
    residual: Vector = error - U @ (error @ U)
    return residual
