r"""Motions of robots with passive constraints, and the equations without their reactions.

With ``A`` the passive rows, reactions are $A^\top \lambda$. A basis ``N`` of the velocities that
they allow eliminates them, since $A N = 0$: from $Y\pi = \tau + A^\top\lambda$ there remains
$N^\top Y \pi = N^\top \tau$. Here ``N`` has the identity at independent velocities, motors first,
so that each equation is that of one joint, in its unit, and has its sensor's noise alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.random import Generator
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError, StartError
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.robot import Robot
from ukctrl_identification.measured_motion import NO_FILTER, Motion

RANK_RTOL = 1e-9
"""Singular values of passive rows of unit length below this count as zero."""
STRIDE = 0.3
"""Of a random walk on passive constraints, the fastest joint's [rad or m]."""
MAX_LEVER = 1e3
"""Dependent velocities beyond so many of the independent ones: the sample is left out."""


class FreeMotion(NamedTuple):
    """A motion, and the equations of it that no reaction or unmeasured effort enters."""

    motion: Motion
    rows: tuple[int, ...]
    """The velocity that each equation is called after."""
    basis: NDArray[np.float64] | None
    """``N`` at each instant, shape ``(n, nv, k)``, NaN where it is to be left out; None where each
    equation is one row of ``Y``."""
    right: Matrix
    """Measured efforts and known forces on each velocity, shape ``(n, nv)``; NaN where a
    measurement is missing."""
    current: Matrix | None = None
    """Currents of motors whose constants are asked for, and zeros, shape ``(n, nv)`` [A]."""

    def part(self, where: slice) -> FreeMotion:
        """Return some of the instants."""
        basis, current = (None if x is None else x[where] for x in (self.basis, self.current))
        return FreeMotion(self.motion.part(where), self.rows, basis, self.right[where], current)

    def unfiltered(self) -> FreeMotion:
        """Return the same without its filter."""
        return self._replace(motion=self.motion._replace(low_pass=NO_FILTER))

    def right_side(self) -> Matrix:
        """Return the measured efforts and known forces of each equation, shape ``(n, k)``."""
        if self.basis is None:
            return self.right[:, self.rows]
        return np.asarray(np.einsum("nik,ni->nk", self.basis, self.right))


def whitened(basis: NDArray[np.float64], noise: Vector) -> NDArray[np.float64]:
    r"""Return a basis whose equations have independent noise of deviation 1: $N L^{-\top}$.

    More motors than freedoms mix the noise of several efforts into each equation, with the
    covariance $N^\top S N = L L^\top$.

    Args:
        basis: ``N``, shape ``(n, nv, k)``.
        noise: Deviation of each velocity's effort, shape ``(nv,)``; zero where none acts. Where an
            equation has none, NumPy raises.
    """
    L = np.linalg.cholesky(np.einsum("nik,i,nij->nkj", basis, noise**2, basis))
    return np.asarray(np.linalg.solve(L, basis.swapaxes(1, 2)).swapaxes(1, 2))


def passive_stack(robot: Robot) -> Stack | None:
    """Return the passive constraints of a robot; None where it has none.

    Raises:
        InputError: Some of them only push: their reactions come and go.
    """
    constraints = passive_constraints(robot)
    if not constraints:
        return None
    stack = Stack(constraints, robot, key=f"robot '{robot.name}': passive")
    if any(block.touch is not None for block in stack.attached):
        raise InputError(
            f"robot '{robot.name}' has contacts that only push, whose modes no log tells; identify "
            "it without them, on a stand."
        )
    return stack


def driven(robot: Robot) -> NDArray[np.bool_]:
    """Return which velocities motors push on, shape ``(nv,)``."""
    return np.array([bool(row.any()) for row in robot.actuation.acts_on])


def independent_velocities(A: Matrix, preferred: Sequence[int]) -> tuple[Indices, Indices]:
    """Return velocities that determine all others under ``A v = 0``, and those others.

    Args:
        A: Passive rows, shape ``(m, nv)``.
        preferred: Velocities in the order in which they should be independent.
    """
    order = np.array([*preferred, *(i for i in range(A.shape[1]) if i not in set(preferred))])
    lengths = np.linalg.norm(A, axis=1)
    unit = A[lengths > 0.0] / lengths[lengths > 0.0, None]
    # dependent ones are taken from the back: a QR that heeds the order, column by column
    chosen = list[int]()
    rank = int(np.linalg.matrix_rank(unit, tol=RANK_RTOL)) if unit.size else 0
    Q = np.zeros((len(unit), 0))
    for i in order[::-1]:
        if len(chosen) == rank:
            break
        remainder = unit[:, i] - Q @ (Q.T @ unit[:, i])
        remainder -= Q @ (Q.T @ remainder)
        size = float(np.linalg.norm(remainder))
        if size > 1e-6:
            Q = np.column_stack([Q, remainder / size])
            chosen.append(int(i))
    dependent = np.array(sorted(chosen), dtype=np.int64)
    independent = np.array([i for i in order if i not in set(chosen)], dtype=np.int64)
    return independent, dependent


def unmeasured_motors(robot: Robot, motions: Sequence[Motion]) -> NDArray[np.bool_]:
    """Return which velocities motors push on that no motion has a sample of, shape ``(nv,)``."""
    pushed = driven(robot)
    return np.asarray(pushed & np.all([~one.measured() for one in motions], axis=0))


def free_motion(
    robot: Robot, motion: Motion, force: Matrix, unmeasured: NDArray[np.bool_] | None = None
) -> FreeMotion:
    """Return the equations of a motion that hold whatever is not measured.

    Where motors have no measured effort, their joints' rows are left out, or, in closed chains,
    eliminated as reactions are.

    Args:
        robot: The robot.
        motion: Its motion, on the passive constraints.
        force: What is known of the right-hand side beside efforts, shape ``(n, nv)``.
        unmeasured: As `unmeasured_motors` returns them of all stretches that are fitted together;
            absent: of this one.

    Raises:
        InputError: No equation is left.
    """
    stack, pushed = passive_stack(robot), driven(robot)
    unmeasured = unmeasured_motors(robot, [motion]) if unmeasured is None else unmeasured
    # of these nothing is missing: there is no effort, it drops out, or the current stands for it
    blank = ~pushed | unmeasured
    current = motion.current
    if current is not None:
        by_current = ~np.isnan(current).all(axis=0)
        blank = blank | by_current
        current = np.where(by_current, current, 0.0)
    right = motion.effort + force
    for i in np.flatnonzero(blank):
        missing = np.isnan(motion.effort[:, i])
        right[missing, i] = force[missing, i]
    unknown = np.flatnonzero(unmeasured)
    if stack is None:
        rows = tuple(i for i in range(robot.nv) if not unmeasured[i])
        if not rows:
            raise InputError("no joint's equation is left: every effort is unmeasured.")
        return FreeMotion(motion, rows, None, right, current)
    eye = np.eye(robot.nv)[unknown]
    snapshot = robot.snapshot(motion.q[0], motion.v[0])
    A = np.vstack([stack.write(snapshot).A, eye])
    # measured motors, then those that nothing drives, then the rest
    rank = np.where(pushed & ~unmeasured, 0, np.where(~pushed, 1, 2))
    preferred = np.argsort(rank, kind="stable").tolist()
    independent, dependent = independent_velocities(A, preferred)
    if not len(independent):
        raise InputError("no equation is left: reactions and unmeasured efforts may be anything.")
    basis = np.zeros((len(motion.q), robot.nv, len(independent)))
    basis[:, independent, np.arange(len(independent))] = 1.0
    for n, (q, v) in enumerate(zip(motion.q, motion.v, strict=True)):
        snapshot.move(q, v)
        A = np.vstack([stack.write(snapshot).A, eye])
        lever = -_solve(A[:, dependent], A[:, independent])
        near = np.abs(lever).max(initial=0.0) < MAX_LEVER
        basis[n, dependent] = lever if near else np.nan
    return FreeMotion(motion, tuple(map(int, independent)), basis, right, current)


def completed_motion(robot: Robot, motion: Motion, known: Sequence[int], home: Vector) -> Motion:
    """Return a motion whose dependent coordinates follow from those that were measured.

    Positions are moved onto the passive constraints, from each instant to the next; velocities and
    accelerations of the other joints are those that the constraints demand.

    Args:
        robot: The robot; every joint of the constraints has one coordinate a velocity.
        motion: Its motion; of velocities that are not ``known`` anything.
        known: Velocities that stay as they were measured.
        home: A configuration on the constraints to begin from, shape ``(nq,)``.

    Raises:
        InputError: What is known does not determine the rest.
        StartError: The constraints cannot be met at some instant.
    """
    stack = passive_stack(robot)
    if stack is None:
        return motion
    q, v, a = motion.q.copy(), motion.v.copy(), motion.a.copy()
    snapshot = robot.snapshot(home, np.zeros(robot.nv))
    independent, dependent = independent_velocities(stack.write(snapshot).A, list(known))
    extra = sorted(set(independent.tolist()) - set(known))
    if extra:
        raise InputError(
            "the measured positions do not determine the robot: the position of "
            f"'{robot.dofs[extra[0]]}' must be logged, too."
        )
    held, previous = list(map(int, independent)), home
    for n in range(len(q)):
        guess, start = _merged(robot, previous, q[n], known), None if n else home
        q[n] = consistent_state(stack, guess, np.zeros(robot.nv), held=held, home=start).q
        previous = q[n]
        snapshot.move(q[n], v[n])
        rows = stack.write(snapshot)
        # psi is A v - c, so that c = A v - psi at any v
        c = rows.A @ v[n] - rows.beta
        A_d, A_i = rows.A[:, dependent], rows.A[:, independent]
        v[n, dependent] = _solve(A_d, c - A_i @ v[n, independent])
        snapshot.move(q[n], v[n])
        b = stack.write(snapshot).b
        a[n, dependent] = _solve(A_d, b - A_i @ a[n, independent])
    return motion._replace(q=q, v=v, a=a)


def random_free_motion(
    robot: Robot, start: Vector, count: int, unmeasured: NDArray[np.bool_], rng: Generator
) -> FreeMotion:
    """Return states all over the passive constraints, with no effort, and their equations.

    Positions are a random walk. Bases are orthonormal: near singular positions, which it may come
    to, those of `free_motion` grow without bound.

    Args:
        robot: The robot.
        start: A configuration near the constraints, shape ``(nq,)``.
        count: How many states.
        unmeasured: Motors whose efforts are eliminated, shape ``(nv,)``.
        rng: Random numbers.
    """
    stack, nv = passive_stack(robot), robot.nv
    assert stack is not None
    still, eye = np.zeros(nv), np.eye(nv)[unmeasured]
    q = consistent_state(stack, start, still).q
    snapshot = robot.snapshot(q, still)
    states, bases = np.zeros((3, count, nv)), list[Matrix]()
    positions = np.zeros((count, robot.nq))
    for n in range(count):
        snapshot.move(q, still)
        free = _null_space(stack.write(snapshot).A)
        step = free @ rng.normal(size=free.shape[1])
        guess = robot.integrate(q, STRIDE * step / np.abs(step).max())
        # where the chain would have to open, another way is tried next
        with contextlib.suppress(StartError):
            q = consistent_state(stack, guess, still).q
        snapshot.move(q, still)
        A = stack.write(snapshot).A
        free = _null_space(A)
        y, z = rng.normal(size=(2, free.shape[1]))
        snapshot.move(q, free @ y)
        a = _solve(A, stack.write(snapshot).b) + free @ z
        positions[n], states[1, n], states[2, n] = q, free @ y, a
        bases.append(_null_space(np.vstack([A, eye])))
    k = min(basis.shape[1] for basis in bases)
    # more freedoms than elsewhere are those of a singular position
    basis = np.array([one if one.shape[1] == k else np.full((nv, k), np.nan) for one in bases])
    nothing, v, a = states
    motion = Motion(np.arange(count, dtype=np.float64), positions, v, a, nothing)
    return FreeMotion(motion, tuple(range(k)), basis, nothing)


def _null_space(A: Matrix) -> Matrix:
    """Return an orthonormal basis of the velocities that rows allow, shape ``(nv, k)``."""
    lengths = np.linalg.norm(A, axis=1)
    unit = A[lengths > 0.0] / lengths[lengths > 0.0, None]
    return np.asarray(scipy.linalg.null_space(unit, rcond=RANK_RTOL))


def _merged(robot: Robot, base: Vector, measured: Vector, held: Sequence[int]) -> Vector:
    """Return a configuration with the measured coordinates of the joints of some velocities."""
    result = base.copy()
    for block in robot.blocks:
        if set(range(block.iv, block.iv + len(block.dofs))) & set(held):
            where = slice(block.iq, block.iq + len(block.coordinates))
            result[where] = measured[where]
    return result


def _solve(A: Matrix, B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the solution of least error, which is exact where rows are redundant."""
    return np.asarray(scipy.linalg.lstsq(A, B, cond=RANK_RTOL, lapack_driver="gelsy")[0])
