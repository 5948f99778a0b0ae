r"""The internal dynamics of a task near a state, and its ends at rest: leaving one, and arriving.

About a state the robot is $\dot x = A x + B\, \delta u$ and the rows are $C x$. The states from
which some input keeps $C x = 0$ for ever are the largest subspace $V$ of the kernel of $C$ with

$$ A V = V \Lambda - B\, U, $$

and $\Lambda$ is how they move then; its eigenvalues are the invariant zeros. $V$ is found by
narrowing down, with a rank decision at each step, because the eigenvalues of the whole pencil at
infinity (five of them in one chain for a crane) do not stand rounding.

References:
    Wonham, "Linear Multivariable Control: a Geometric Approach", 1985, section 4.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.feedforward.inversion.servo_dae_equations import ServoDaeEquations
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.linearise import Linearization, Linearizer, output_matrix

RANK_RTOL = 1e-8
"""A smaller singular value counts as zero, in a system scaled to about 1."""


class ZeroDynamics(NamedTuple):
    """The internal dynamics of a task about a state."""

    V: Matrix
    """Orthonormal basis of the states that can keep the rows, shape ``(n, k)``."""
    A: Matrix
    """How they move, ``z_dot = rate z`` with ``x = V z``, shape ``(k, k)``."""

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Return the eigenvalues [1/s], shape ``(k,)``."""
        return np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128)

    def invariant_subspace(self, unstable: bool) -> Matrix:
        """Return a basis of the states that belong to eigenvalues on one side, shape ``(n, j)``."""
        from scipy.linalg import schur

        if not len(self.A):
            return self.V
        side = "rhp" if unstable else "lhp"
        _, Z, count = schur(self.A, output="real", sort=side)
        basis: Matrix = self.V @ Z[:, :count]
        return basis


def zero_dynamics(A: Matrix, B: Matrix, C: Matrix) -> ZeroDynamics:
    """Return the internal dynamics of a linear system with the outputs ``C x`` kept at zero.

    Args:
        A: Of the system, shape ``(n, n)``; all three are scaled to entries of about 1.
        B: Shape ``(n, m)``.
        C: Shape ``(m, n)``.

    Raises:
        InputError: Some input moves nothing that the rows see, ever.
    """
    V = _null_space(C)
    while V.shape[1]:
        reach = np.hstack([V, B])
        annihilator = _null_space(reach.T)  # what neither the subspace nor the inputs reach
        narrower = V @ _null_space(annihilator.T @ A @ V) if annihilator.shape[1] else V
        # the sequence of subspaces stops with the first that does not shrink
        if narrower.shape[1] == V.shape[1]:
            break
        V = narrower
    whole = np.hstack([V, -B])
    # an input that the rows never see is undetermined, and so is the motion that it drives
    if np.linalg.matrix_rank(whole, rtol=RANK_RTOL) < whole.shape[1]:
        raise InputError(
            "the task must determine every input; to first order some combination of inputs moves "
            "nothing that its rows ever see. Hold what that input drives by a row of its own."
        )
    rate = np.linalg.lstsq(whole, A @ V, rcond=None)[0][: V.shape[1]]
    return ZeroDynamics(V, np.asarray(rate, dtype=np.float64))


def _null_space(A: Matrix) -> Matrix:
    """Return an orthonormal basis of ``A x = 0``, by columns."""
    if not A.shape[0]:
        return np.eye(A.shape[1])
    _, sigma, Vt = np.linalg.svd(A)
    rank = int(np.count_nonzero(sigma > RANK_RTOL * max(1.0, max_abs(sigma))))
    return np.ascontiguousarray(Vt[rank:].T)


class ScaledLinearization(NamedTuple):
    """A task near a state, as a linear system with outputs, in scaled time."""

    linear: Linearization
    """The robot."""
    A: Matrix
    B: Matrix
    C: Matrix
    time_scale: float
    """Unit of time in which velocities and ``A`` are written [s]."""
    state_scale: Vector
    """The robot's states are so many times these, shape ``(n,)``."""


def linearise_task(task: Task, t: float, q: Vector, v: Vector, u: Vector) -> ScaledLinearization:
    """Return a task as a linear system about a state.

    Velocities are in units of the robot's own time scale, so that ranks do not depend on units.
    """
    robot = task.robot
    linear = Linearizer(robot, task.rank).at(t, q, v, u)
    stack = Stack(task.servo, robot)
    C = output_matrix(stack, linear, t) @ linear.full
    clock = 1.0 / max(1.0, max_abs(linear.poles()))
    count = len(linear.positions)
    scale = np.ones(len(linear.A))
    scale[count:] = 1.0 / clock
    A = clock * linear.A * scale / scale[:, None]
    B = clock * linear.B / scale[:, None]
    B = B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    C = C * scale
    C = C / np.maximum(np.linalg.norm(C, axis=1), 1e-300)[:, None]
    return ScaledLinearization(linear, A, B, C, clock, scale)


RESIDUAL_MOTION = 1e-4
"""Part of the motion that is left at the ends of the horizon. The conditions there are exact to
first order, so that what they miss is of the order of its square."""
IMAGINARY_AXIS_RTOL = 1e-5
"""An eigenvalue this close to the imaginary axis, beside its size, lies on it."""
REST_TOLERANCE = 1e-9
"""A path that moves less stands still [unit of the row, and per second]."""
N_REST_CHECKS = 20
"""Times at which a path is looked at beyond its ends."""
MAX_ITERATIONS = 50
EQUILIBRIUM_TOLERANCE = 1e-9
"""What is less than this counts as nothing, beside 1 [rad, m, and their rates]."""


def equilibrium_on_path(
    equations: ServoDaeEquations, q: Vector, t: float, u: Vector | None = None
) -> tuple[Vector, Vector]:
    """Return the configuration near a guess, and the input, that hold the rows at rest.

    The path is taken as standing still at its place at a time.

    Raises:
        InputError: There is none; the worst row, or velocity, is named.
    """
    robot, dynamics, n, m = equations.robot, equations.dynamics, equations.n, equations.m
    still, xi = np.zeros(n), np.zeros(n)
    if u is None:
        dynamics.move(t, q, still)
        u = dynamics.least_input(still)
    off: Vector = np.full(n + m, np.inf)
    for _ in range(MAX_ITERATIONS):
        terms, by = equations.derivative(t, q, xi, still, u)
        phi = np.where(equations.stack.holonomic, terms.c, 0.0)
        off = np.concatenate([terms.a, phi])
        if not np.isfinite(off).all():
            break
        if max_abs(off) <= EQUILIBRIUM_TOLERANCE * (1.0 + max_abs(u) * max_abs(dynamics.G)):
            return q, u
        whole = np.vstack([by[n : 2 * n], by[2 * n + m :]])[
            :, [*range(n), *range(2 * n, 2 * n + m)]
        ]
        step = np.asarray(-np.linalg.lstsq(whole, off, rcond=1e-12)[0], dtype=np.float64)
        step /= max(1.0, max_abs(step[:n]))
        q, u = robot.integrate(q, step[:n]), u + step[n:]
    worst = first_largest(np.abs(np.nan_to_num(off, nan=np.inf)))
    names = (*(f"the acceleration of '{dof}'" for dof in robot.dofs), *equations.stack.names)
    raise InputError(
        f"the robot must be able to rest on the path at t = {t:.4g} s; {names[worst]} is left at "
        f"{off[worst]:.2g}. Let the path begin and end where the forces balance."
    )


class EndDynamics(NamedTuple):
    """The internal dynamics at an end of the path."""

    eigenvalues: NDArray[np.complex128]
    """[1/s]."""
    unstable: Matrix
    """Deviations ``(dq, dv)`` that belong to those on the right, shape ``(2 n, k)``."""
    unstable_projection: Matrix
    """What of deviations belongs to them, shape ``(k, 2 n)``: zero for states that come to rest."""

    def unstable_count(self) -> str:
        """Return how many of them are unstable."""
        return f"{self.unstable.shape[1]} of {len(self.eigenvalues)}"

    def slowest_unstable(self) -> float:
        """Return the smallest rate of growth [1/s]."""
        return float(self.eigenvalues.real[self.eigenvalues.real > 0.0].min())

    def preactuation_time(self) -> float:
        """Return how long before the path the motion begins [s]."""
        growing = self.eigenvalues.real[self.eigenvalues.real > 0.0]
        return math.log(1.0 / RESIDUAL_MOTION) / float(growing.min()) if growing.size else 0.0

    def postactuation_time(self) -> float:
        """Return how long after the path it ends [s]."""
        decaying = -self.eigenvalues.real[self.eigenvalues.real < 0.0]
        return math.log(1.0 / RESIDUAL_MOTION) / float(decaying.min()) if decaying.size else 0.0

    def unstable_manifold_condition(self) -> Matrix:
        """Return what is zero for states that leave the rest for growing time, ``2 n`` columns."""
        count = self.unstable.shape[1]
        if not count:
            return np.eye(len(self.unstable))
        return np.ascontiguousarray(np.linalg.svd(self.unstable)[0][:, count:].T)


def end_dynamics(task: Task, t: float, q: Vector, u: Vector, where: str) -> EndDynamics:
    """Return the internal dynamics at an end, where the robot rests.

    Raises:
        InputError: An eigenvalue lies on the imaginary axis.
    """
    n = task.robot.nv
    system = linearise_task(task, t, q, np.zeros(n), u)
    dynamics = zero_dynamics(system.A, system.B, system.C)
    scaled = dynamics.eigenvalues
    # beside its size: a fast pair has a larger rounding than a slow one
    near = np.abs(scaled.real) <= IMAGINARY_AXIS_RTOL * np.maximum(
        np.abs(scaled), IMAGINARY_AXIS_RTOL
    )
    values = scaled / system.time_scale
    if near.any():
        s = values[int(np.argmax(near))]
        written = f"+-{abs(s.imag):.4g}j" if abs(s.imag) > IMAGINARY_AXIS_RTOL else "0"
        raise InputError(
            "stable_inversion needs internal dynamics without eigenvalues on the imaginary axis; "
            f"at the {where} of the path there is one at {written} 1/s, whose motion neither grows "
            "nor decays. Add damping there, move the point that the rows hold, or use kind = "
            '"servo_dae", which goes on from the given start.'
        )
    unstable = system.linear.full @ (
        system.state_scale[:, None] * dynamics.invariant_subspace(unstable=True)
    )
    dual = zero_dynamics(system.A.T, system.C.T, system.B.T).invariant_subspace(unstable=True)
    watched = np.zeros((dual.shape[1], 2 * n))
    chosen = np.concatenate([system.linear.positions, n + system.linear.velocities])
    watched[:, chosen] = dual.T / system.state_scale
    return EndDynamics(values, unstable, watched)


def require_rest(
    equations: ServoDaeEquations, q: Vector, t: float, span: float, where: str
) -> None:
    """Refuse a path that moves beyond an end.

    Raises:
        InputError: It does; the row is named.
    """
    n, stack = equations.n, equations.stack
    for at in np.linspace(t, t + span, N_REST_CHECKS).tolist():
        equations.dynamics.move(at, q, np.zeros(n))
        rows = stack.write(equations.dynamics.snapshot)
        off = np.maximum(np.abs(np.nan_to_num(rows.phi)), np.abs(rows.beta))
        if off.max() > REST_TOLERANCE * (1.0 + max_abs(q)):
            row = stack.names[first_largest(off)]
            raise InputError(
                f"the path must stand still at the {where} of the run and beyond it; row "
                f"'{row}' moves at t = {at:.4g} s. Let it come to rest, and say with "
                "controller.along.until when it has."
            )
