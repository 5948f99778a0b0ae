r"""How well a frame can be moved, by rows $X$ of its Jacobian: the product of their singular
values, or what the smallest of them is no less than.

With $S = X X^\top$ and $T = S^{-1}$ that is $w = \sqrt{\det S}$, or $w = 1/\sqrt{\operatorname{tr}
T}$, where $w \le \sigma_\min \le \sqrt m\, w$ of $m$ rows: smooth, where $\sigma_\min$ has a kink
wherever two of them meet. Derivatives are exact. A column $i$ of the Jacobian, $(v_i, \omega_i)$,
turns with the joints before it and moves with those behind it,

$$ \dot\omega_i = \Omega_i \times \omega_i, \quad
   \dot v_i = \Omega_i \times v_i + \omega_i \times V_i, \quad
   \Omega_i = \sum_{j \le i} \dot q_j \omega_j, \quad V_i = \sum_{j > i} \dot q_j v_j, $$

and once more so. With $\ell = \ln w$ and $Q = T$, or $Q = T^2 / \operatorname{tr} T$,

$$ \dot\ell = \tfrac12 \operatorname{tr} Q \dot S, \qquad
   \ddot\ell = \tfrac12 \operatorname{tr} Q \ddot S - \tfrac12 \operatorname{tr} (T \dot S)^2, \quad
   \text{or} \quad \tfrac12 \operatorname{tr} Q \ddot S - \operatorname{tr} Q \dot S T \dot S
   + 2 \dot\ell^2 . $$

References:
    Yoshikawa, "Manipulability of robotic mechanisms", Int. J. Robotics Research 4(2), 1985.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import cholesky, matvec, solve_lower, solve_upper
from ukctrl.core.algebra.factorisation import dot as inner
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import NonNegative, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, FrameProbe, Rows
from ukctrl.robot.snapshot import FrameMotion
from ukctrl.robot.spatial_kernels import dot, row3, write_row3
from ukctrl.robot.twist_kernels import add_scaled, cross

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

ZERO3 = 0.0, 0.0, 0.0


@spec
class Manipulability(Constraint):
    """The manipulability of a frame, or its smallest singular value, beyond a bound."""

    frame: str
    """Frame that is moved."""
    axes: tuple[int, ...]
    """Rows of its Jacobian, in world axes: 0 to 2 move it, 3 to 5 turn it."""
    bound: NonNegative
    """Where it is zero."""
    smallest_singular_value: bool = False
    """Whether the smallest singular value is measured, and not the product."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Manipulability(self, robot)


class JacobianColumns(NamedTuple):
    """Columns of a Jacobian and their derivatives along the motion, joint by joint."""

    v: Matrix
    """What moves, shape ``(k, 3)``."""
    w: Matrix
    """What turns, shape ``(k, 3)``."""
    v_dot: Matrix
    w_dot: Matrix
    v_ddot: Matrix
    w_ddot: Matrix
    y: Matrix
    """Of every column ``Q X_i``, at the places of the rows, shape ``(k, 6)``."""


class GramMatrices(NamedTuple):
    """``S = X X'``, its derivatives, its factor, its inverse, ``(T S_dot)'`` and ``Q``, each of
    shape ``(m, m)``.
    """

    S: Matrix
    S_dot: Matrix
    S_ddot: Matrix
    L: Matrix
    T: Matrix
    W: Matrix
    Q: Matrix


class _Manipulability(BoundConstraint):
    def __init__(self, spec: Manipulability, robot: Robot) -> None:
        self.name_rows(spec.name or spec.frame, {"manipulability": ""})
        self._probe, self._columns = FrameProbe(robot, spec.frame), robot.site(spec.frame).columns
        for c in self._columns:
            dof = robot.dofs[c]
            # derivatives of columns below are those of joints with one freedom
            if dof not in robot.coordinates and f"{dof}_cos" not in robot.coordinates:
                raise InputError(
                    f"joints that move '{spec.frame}' must have one freedom each for its "
                    f"manipulability; '{dof}' is one of a larger joint."
                )
        m, k = len(spec.axes), len(self._columns)
        if m > k:
            raise InputError(
                f"axes must be no more than the {k} joints that move '{spec.frame}'; got {m}, and "
                "the manipulability is always zero."
            )
        self._axes, self._bound = np.array(spec.axes, dtype=np.int64), float(spec.bound)
        self._least = spec.smallest_singular_value
        a, b, c, d, e, f = np.zeros((6, k, 3))
        self._each = JacobianColumns(a, b, c, d, e, f, np.zeros((k, 6)))
        self._square = GramMatrices(*np.zeros((7, m, m)))

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        args = self._columns, self._axes, s.v, self._bound, self._least
        buffers = self._each, self._square
        row = BoundKernel(manipulability_row, self._probe.motion, *args, *buffers, rows)
        return self._probe.step(s), row


@compiled
def differentiate_columns(
    rate: Vector, columns: Indices, derivatives: tuple[Matrix, ...], k: int
) -> None:
    r"""Write the derivative of every column from those of one order less, as products have it.

    Args:
        rate: Velocities of the robot.
        columns: Which of them move the frame.
        derivatives: $v, \omega$ and their derivatives one by one.
        k: Order of the derivative, 1 or 2.
    """
    v, w, v_dot, w_dot, v_ddot, w_ddot = derivatives
    turn = turn_dot = ZERO3
    for i in range(len(columns)):
        q = rate[columns[i]]
        turn, turn_dot = add_scaled(turn, q, row3(w, i)), add_scaled(turn_dot, q, row3(w_dot, i))
        move = move_dot = ZERO3
        # a joint moves the columns of those before it in the chain by its own motion
        for j in range(i + 1, len(columns)):
            move = add_scaled(move, rate[columns[j]], row3(v, j))
            move_dot = add_scaled(move_dot, rate[columns[j]], row3(v_dot, j))
        own_v, own_w = row3(v, i), row3(w, i)
        if k == 1:
            write_row3(cross(turn, own_w), w_dot, i)
            first = add_scaled(cross(turn, own_v), 1.0, cross(own_w, move))
            write_row3(first, v_dot, i)
            continue
        then_v, then_w = row3(v_dot, i), row3(w_dot, i)
        write_row3(add_scaled(cross(turn_dot, own_w), 1.0, cross(turn, then_w)), w_ddot, i)
        second = add_scaled(cross(turn_dot, own_v), 1.0, cross(turn, then_v))
        second = add_scaled(second, 1.0, cross(then_w, move))
        write_row3(add_scaled(second, 1.0, cross(own_w, move_dot)), v_ddot, i)


@compiled
def column_entry(v: Matrix, w: Matrix, i: int, axis: int) -> float:
    """Return an entry of a column."""
    return float(v[i, axis] if axis < 3 else w[i, axis - 3])


@compiled
def manipulability_row(
    frame: FrameMotion,
    columns: Indices,
    axes: Indices,
    rate: Vector,
    bound: float,
    is_singular_value: bool,
    jacobian: JacobianColumns,
    square: GramMatrices,
    rows: Rows,
) -> None:
    """Write the row; of a singular frame it has no direction."""
    k, m = len(columns), len(axes)
    v, w, v_dot, w_dot, v_ddot, w_ddot, y = jacobian
    S, S_dot, S_ddot, L, T, W, Q = square
    for i in range(k):
        for r in range(3):
            v[i, r], w[i, r] = frame.J[r, columns[i]], frame.J[3 + r, columns[i]]
    derivatives = v, w, v_dot, w_dot, v_ddot, w_ddot
    # the second derivative needs the first one of all columns
    differentiate_columns(rate, columns, derivatives, 1)
    differentiate_columns(rate, columns, derivatives, 2)
    for r in range(m):
        for c in range(m):
            S[r, c] = S_dot[r, c] = S_ddot[r, c] = 0.0
            for i in range(k):
                x, z = column_entry(v, w, i, axes[r]), column_entry(v, w, i, axes[c])
                x_dot, z_dot = (
                    column_entry(v_dot, w_dot, i, axes[r]),
                    column_entry(v_dot, w_dot, i, axes[c]),
                )
                x_ddot = column_entry(v_ddot, w_ddot, i, axes[r])
                S[r, c] += x * z
                S_dot[r, c] += x_dot * z + x * z_dot
                S_ddot[r, c] += x_ddot * z + x_dot * z_dot
                S_ddot[r, c] += x * column_entry(v_ddot, w_ddot, i, axes[c]) + x_dot * z_dot
    rows.phi[0], rows.beta[0], rows.b[0] = -bound, 0.0, 0.0
    for c in range(rows.A.shape[1]):
        rows.A[0, c] = 0.0
    # ln w has no gradient at a singularity: no direction is asked for, and the bound is missed
    if cholesky(S, L) != 0:
        return
    level, trace = 1.0, 0.0
    for r in range(m):
        level *= L[r, r]
        for c in range(m):
            T[r, c] = 1.0 if r == c else 0.0
        # the inverse of the Gram matrix is needed whole: its trace is the singular value's bound
        # from below (decision 0152)
        solve_lower(L, T[r])
        solve_upper(L, T[r])
        trace += T[r, r]
    if is_singular_value:
        level = 1.0 / np.sqrt(trace)
    slope = bend = lost = 0.0
    for r in range(m):
        matvec(T, S_dot[r], W[r])
        matvec(T, T[r], Q[r])
        for c in range(m):
            Q[r, c] = Q[r, c] / trace if is_singular_value else T[r, c]
            slope += 0.5 * Q[r, c] * S_dot[c, r]
            bend += 0.5 * Q[r, c] * S_ddot[c, r]
    for r in range(m):
        for c in range(m):
            if is_singular_value:
                lost += inner(Q[r], S_dot[c]) * W[r, c]
            else:
                lost += 0.5 * W[r, c] * W[c, r]
    # second derivatives of ln of the level, by that of the inverse or of the determinant
    bend += 2.0 * slope * slope - lost if is_singular_value else -lost
    rows.phi[0], rows.beta[0] = level - bound, level * slope
    rows.b[0] = -level * (bend + slope * slope)
    for i in range(k):
        for r in range(6):
            y[i, r] = 0.0
        for r in range(m):
            for c in range(m):
                y[i, axes[r]] += Q[r, c] * column_entry(v, w, i, axes[c])
    manipulability_gradient(level, columns, jacobian, rows)


@compiled
def manipulability_gradient(
    level: float, columns: Indices, jacobian: JacobianColumns, rows: Rows
) -> None:
    """Write how what is measured changes with every joint."""
    v, w, _, _, _, _, y = jacobian
    for j in range(len(columns)):
        turned = moved = ZERO3
        for i in range(len(columns)):
            of_v, of_w = (y[i, 0], y[i, 1], y[i, 2]), (y[i, 3], y[i, 4], y[i, 5])
            if i >= j:
                turned = add_scaled(turned, 1.0, cross(row3(v, i), of_v))
                turned = add_scaled(turned, 1.0, cross(row3(w, i), of_w))
            else:
                moved = add_scaled(moved, 1.0, cross(of_v, row3(w, i)))
        slope = dot(row3(w, j), turned) + dot(row3(v, j), moved)
        rows.A[0, columns[j]] = level * slope
