r"""The internal dynamics near one state, by two independent routes.

Where the motors have grip on the rows, differences of the motion on the states that keep them.
Else, and of any relative degree, what the outputs of the linear plant leave unseen: for
$\dot x = A x + B u$, $y = C x$, the states from which some input keeps $y = 0$ for ever form a
subspace $V^*$, the largest with $A V^* \subseteq V^* + \operatorname{im} B$ in $\ker C$. Inside it,
$R^*$ is what inputs that leave $y$ alone can reach. The motion along $R^*$ is any that one likes;
on $V^* / R^*$ it is that of the invariant zeros, whatever the input.

Modes say what a linear system without input does: settle, swing, stay, drift or run away.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.internal_dynamics.exact_tracking import ExactTracking
from ukctrl.analysis.linear import invariant_zeros
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import (
    first_largest,
    first_smallest,
    max_abs,
    tie_breaking_weights,
    tie_ranks,
)
from ukctrl.mechanics.linearise import Linearization, output_matrix

Poles = NDArray[np.complex128]
Kind = Literal["none", "settles", "stays", "swings", "drifts", "runs_away"]
"""From the best to the worst; ``none`` where there is nothing that could move."""

ZERO_RTOL = 1e-7
"""A singular value below this fraction of the system's norm counts as zero."""
MIN_RATE = 1.0
"""A system slower than this is measured by it [rad/s]: what changes within months is rounding."""
DAMPING_RTOL = 1e-5
"""A pole whose real part is smaller than this fraction of the quickest pole, or of its own size,
neither decays nor grows."""


class Modes(NamedTuple):
    """The eigenvalues of a system, and the mode that decides what becomes of it."""

    kind: Kind
    """What a small push leads to."""
    poles: Poles
    """Eigenvalues, shape ``(n,)`` [rad/s], from the right of the plane to the left; those at 0
    are exactly that."""
    at_zero: int
    """How many poles are at 0."""
    chain: int
    """The longest chain of poles at 0: 1 stays where it is pushed, 2 goes on at constant speed,
    more of them ever faster."""
    pole: complex
    """The pole that decides; of a pair, the one with positive imaginary part; NaN without any."""
    mode: Poles
    """How the states move in its mode, complex amplitudes, shape ``(n, k)``; in all ``k`` of them
    where several have the same pole, since then no single one is determined."""


def state_scale(A: Matrix, positions: int) -> Vector:
    r"""Return the sizes of states that are alike: positions 1, rates $w$.

    $w = \max(1, \lVert A_{vq}\rVert^{1/2}, \lVert A_{vv}\rVert)$ is about the quickest
    pole, so that tolerances are fractions of it whatever the unit of time.

    Args:
        A: Shape ``(n, n)``, positions first.
        positions: How many of the states are positions.
    """
    size: Vector = np.ones(len(A))
    if 0 < positions < len(A):
        by_q, by_v = A[positions:, :positions], A[positions:, positions:]
        w = max(1.0, float(np.linalg.norm(by_q, 2)) ** 0.5, float(np.linalg.norm(by_v, 2)))
        size[positions:] = w
    return size


def modes(A: Matrix, positions: int) -> Modes:
    r"""Return what $\dot x = A x$ does after a small push.

    Rounding scatters a $k$-fold pole at 0 by the $k$-th root of its size. Such poles are therefore
    counted by ranks: what $A$ takes to zero is taken out, then what the rest takes there, and so
    on; the number of rounds is the length of the longest chain.

    Args:
        A: Shape ``(n, n)``, positions first.
        positions: How many of the states are positions; the others are rates.
    """
    n = len(A)
    if not n:
        return Modes("none", np.zeros(0, complex), 0, 0, complex(np.nan), np.zeros((0, 1), complex))
    size = state_scale(A, positions)
    scaled: Matrix = A * size / size[:, None]
    remainder, basis, lengths = scaled, np.eye(n), []
    last = np.zeros((n, 0))
    small = ZERO_RTOL * max(float(np.linalg.norm(scaled, 2)), MIN_RATE)
    while len(remainder):
        _, sigma, Vt = np.linalg.svd(remainder)
        rank = int(np.count_nonzero(sigma > small))
        if rank == len(remainder):
            break
        last = basis @ Vt[rank:].T
        lengths.append(len(remainder) - rank)
        remainder, basis = Vt[:rank] @ remainder @ Vt[:rank].T, basis @ Vt[:rank].T
    at_zero, chain = sum(lengths), len(lengths)
    moving = np.linalg.eigvals(remainder).astype(np.complex128)
    poles = np.concatenate([moving, np.zeros(at_zero)])
    order = np.lexsort((-poles.imag, tie_ranks(-poles.real, ZERO_RTOL * max_abs(poles))))
    margin = DAMPING_RTOL * np.maximum(np.abs(moving), 1e-3 * max_abs(moving))
    growing, lasting = moving.real > margin, np.abs(moving.real) <= margin
    pole: complex = 0.0
    # The worst names the behaviour: growth, a chain at zero, an undamped pair, a zero.
    if growing.any():
        kind: Kind = "runs_away"
        decides = first_largest(moving.real)
    elif chain > 1:
        kind, decides = "drifts", -1
    elif lasting.any():
        kind, decides = "swings", first_smallest(np.where(lasting, np.abs(moving), np.inf))
    elif chain:
        kind, decides = "stays", -1
    else:
        kind, decides = "settles", first_largest(moving.real)
    if decides >= 0:
        pole = complex(moving[decides].real, abs(moving[decides].imag))
        _, sigma, Vh = np.linalg.svd(scaled - moving[decides] * np.eye(n))
        mode = size[:, None] * Vh[min(n - 1, int(np.sum(sigma > small))) :].conj().T
    else:
        # The last of a chain is what must be pushed; what then moves is where it leads.
        pushed = last
        for _ in range(chain - 1):
            pushed = scaled @ pushed
        mode = np.asarray(size[:, None] * pushed, dtype=np.complex128)
    return Modes(kind, poles[order], at_zero, chain, pole, mode)


def time_constant(pole: complex) -> float:
    """Return how long a mode takes to grow or shrink by ``e``; infinite on the axis [s]."""
    return float(np.inf) if pole.real == 0.0 else 1.0 / abs(pole.real)


POSITION_WEIGHT = 1e3
"""How much rather a position stands for a state than a rate."""
POLE_RTOL = 1e-4
"""Poles nearer to each other than this fraction of the quickest are taken for one."""


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class LocalDynamics:
    """The internal dynamics near a state, as a linear system ``x_dot = A x``."""

    t: float
    """Time of the path [s]."""
    q: Vector
    """Configuration, shape ``(nq,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    u: Vector
    """Input there, shape ``(nu,)``."""
    A: Matrix
    """Shape ``(k, k)`` [1/s]: of the states named, where the motors have grip on all rows; else of
    those among them, in coordinates of their own, that no input moves while the rows hold."""
    modes: Modes
    """What it does after a small push."""
    moving: str
    """The coordinate that moves most in the mode that decides; empty without any."""
    states: tuple[str, ...] = ()
    """Names of the internal coordinates, those that determine the others best."""
    zeros: Poles = dc.field(default_factory=lambda: np.zeros(0, dtype=np.complex128))
    """The poles that no choice of the input changes: invariant zeros of the linear plant."""
    free: int = 0
    """States that inputs move without moving the rows."""
    routes: float | None = None
    """How far the invariant zeros are from the poles found otherwise, as a fraction of the
    quickest; None where there are none to compare with."""

    @property
    def settled(self) -> bool:
        """Whether ``moving`` has somewhere to come back to."""
        return self.modes.kind in ("none", "settles")

    @property
    def fixed(self) -> bool:
        """Whether the pole that decides is one that no choice of the input changes."""
        if not self.free:
            return True
        scale = max(max_abs(self.modes.poles), 1e-300)
        away = np.abs(self.zeros - self.modes.pole)
        return bool(away.min(initial=np.inf) <= POLE_RTOL * scale)


def about_equilibrium(tracking: ExactTracking, grip: bool, q: Vector, u: Vector) -> LocalDynamics:
    """Return the internal dynamics near a state of rest.

    Invariant zeros of the linear plant stand beside the poles that are found otherwise.
    """
    t, still = tracking.path_time or 0.0, np.zeros(tracking.robot.nv)
    linear = tracking.linearizer.at(t, q, still, u)
    C = output_matrix(tracking.servo, linear, t) @ linear.full
    hidden = output_nulling_space(linear.A, linear.B, C, len(linear.positions))
    zeros = invariant_zeros(linear.A, linear.B, C, np.zeros((len(C), tracking.robot.nu)))
    at = t, q, still, u
    # Without authority only V*/R* is defined.
    if not grip:
        null_modes = modes(hidden.A, 0)  # its coordinates are mixed, and scaled already
        near = _local_dynamics(
            tracking, at, hidden.A, null_modes, linear.full @ hidden.V[:, hidden.free :]
        )
        states = _pivot_states(linear, hidden)
    else:
        x = tracking.coordinates(t, q, still)
        A = tracking.system_matrix(t, q, still, x)
        near = _local_dynamics(tracking, at, A, modes(A, len(x.positions)), x.full)
        states = x.names(tracking.robot)
    routes = zero_mismatch(zeros, near.modes.poles)
    return dc.replace(
        near, states=states, zeros=clean_zeros(zeros), free=hidden.free, routes=routes
    )


def at_frozen_time(tracking: ExactTracking, t: float, q: Vector, v: Vector) -> LocalDynamics:
    """Return the internal dynamics near a state of the motion, with time standing still."""
    x = tracking.coordinates(t, q, v)
    A = tracking.system_matrix(t, q, v, x)
    at = t, q, v, tracking.input(t, q, v)
    near = _local_dynamics(tracking, at, A, modes(A, len(x.positions)), x.full)
    return dc.replace(near, states=x.names(tracking.robot))


def _local_dynamics(
    tracking: ExactTracking,
    at: tuple[float, Vector, Vector, Vector],
    A: Matrix,
    motion: Modes,
    full: Matrix,
) -> LocalDynamics:
    """Return what ``x_dot = A x`` does, with ``full`` all deviations that follow from ``x``."""
    t, q, v, u = at
    moving = _dominant_coordinate(tracking, q, full @ motion.mode)
    return LocalDynamics(t=t, q=q, v=v, u=u, A=A, modes=motion, moving=moving)


def _pivot_states(linear: Linearization, null_space: OutputNullingSpace) -> tuple[str, ...]:
    """Return which states of the plant tell best of those that its outputs leave unseen."""
    from scipy.linalg import qr

    is_position = np.arange(len(null_space.V)) < len(linear.positions)
    weights = np.where(is_position, POSITION_WEIGHT, 1.0) * tie_breaking_weights(len(is_position))
    _, _, order = qr((weights[:, None] * null_space.V).T, mode="economic", pivoting=True)
    return tuple(linear.states[i] for i in np.sort(order[: null_space.V.shape[1]]))


def _dominant_coordinate(
    tracking: ExactTracking, q: Vector, deviation: NDArray[np.complex128]
) -> str:
    """Return the coordinate with most mass times motion in modes; of a rate, where no other."""
    robot, n = tracking.robot, tracking.robot.nv
    if not deviation.size or not max_abs(deviation):
        return ""
    s = robot.snapshot(q)
    size = np.sqrt(np.diag(s.M))
    moved, rate = (
        np.linalg.norm(amplitude, axis=1) * size for amplitude in (deviation[:n], deviation[n:])
    )
    amplitude = moved if moved.max() > 1e-9 * rate.max() else rate
    return robot.dofs[first_largest(amplitude)]


def zero_mismatch(zeros: Poles, poles: Poles) -> float:
    """Return how far the zero that is farthest from any pole is, as a fraction of the quickest."""
    if not len(zeros):
        return 0.0
    if not len(poles):
        return float("inf")
    scale = max(1.0, max_abs(poles))
    near = [float(np.abs(poles - zero).min()) for zero in clean_zeros(zeros)]
    return max(near) / scale


def clean_zeros(zeros: Poles) -> Poles:
    """Return zeros from the right of the plane to the left, without what rounding scatters at 0."""
    small = DAMPING_RTOL * max(max_abs(zeros), 1e-3)
    z = np.where(np.abs(zeros) <= small, 0.0, zeros)
    ordered: Poles = z[np.lexsort((-z.imag, -z.real))]
    return ordered


RANK_RTOL = 1e-8
"""A singular value below this fraction of the system's counts as zero."""


class OutputNullingSpace(NamedTuple):
    """The states that the outputs do not see, under a suitable input."""

    V: Matrix
    """Basis of the unseen states, shape ``(n, k)``, those that inputs reach first."""
    free: int
    """How many of them inputs reach without being seen: the dimension of ``R*``."""
    A: Matrix
    """Motion along the others, whatever the input, shape ``(k - free, k - free)``."""


def output_nulling_space(A: Matrix, B: Matrix, C: Matrix, positions: int) -> OutputNullingSpace:
    r"""Return the unseen states of a system.

    $V_0 = \ker C$, $V_{k+1} = V_k \cap A^{-1}(V_k + \operatorname{im} B)$ ends at $V^*$ after at
    most $n$ steps; rates are scaled first, so that the unit of time decides nothing.

    Args:
        A: Shape ``(n, n)``, positions first.
        B: Shape ``(n, m)``.
        C: Shape ``(p, n)``.
        positions: How many of the states are positions.

    References:
        Wonham, "Linear Multivariable Control", 3rd ed., 1985, sections 4.3 and 5.5.
    """
    from scipy.linalg import orth

    size = state_scale(A, positions)
    scaled = A * size / size[:, None]
    small = RANK_RTOL * max(float(np.linalg.norm(scaled, 2)) if len(A) else 0.0, 1e-300)
    inputs = orth(_normalise_rows((B / size[:, None]).T).T, rcond=RANK_RTOL)
    V = _kernel(_normalise_rows(C * size), RANK_RTOL)
    while V.shape[1]:
        allowed = orth(np.hstack([V, inputs]), rcond=RANK_RTOL)
        moved = scaled @ V
        invariant = _kernel(moved - allowed @ (allowed.T @ moved), small)
        if invariant.shape[1] == V.shape[1]:
            break
        V = V @ invariant
    moved, leaving = scaled @ V, inputs - V @ (V.T @ inputs)
    u = -np.linalg.lstsq(leaving, moved - V @ (V.T @ moved), rcond=RANK_RTOL)[0]
    inside = V.T @ (moved + inputs @ u)
    reached = _reachable(inside, V.T @ inputs @ _kernel(leaving, RANK_RTOL), small)
    complement = _kernel(reached.T, RANK_RTOL)
    basis = size[:, None] * (V @ np.hstack([reached, complement]))
    return OutputNullingSpace(basis, reached.shape[1], complement.T @ inside @ complement)


def _normalise_rows(rows: Matrix) -> Matrix:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    longest = max_abs(length)
    return np.where(length > RANK_RTOL * longest, rows / np.where(length > 0.0, length, 1.0), 0.0)


def _kernel(rows: Matrix, small: float) -> Matrix:
    """Return an orthonormal basis of what rows take to less than ``small``."""
    if not rows.size:
        return np.eye(rows.shape[1])
    _, sigma, Vt = np.linalg.svd(rows)
    kernel: Matrix = Vt[int(np.count_nonzero(sigma > small)) :].T
    return kernel


def _reachable(A: Matrix, B: Matrix, small: float) -> Matrix:
    """Return an orthonormal basis of the states that inputs reach."""
    U, sigma, _ = np.linalg.svd(B, full_matrices=False)
    space = U[:, sigma > RANK_RTOL]  # the inputs are of unit length
    while True:
        moved = A @ space
        U, sigma, _ = np.linalg.svd(moved - space @ (space.T @ moved), full_matrices=False)
        more = U[:, sigma > small]
        if not more.shape[1]:
            return space
        space = np.hstack([space, more])
