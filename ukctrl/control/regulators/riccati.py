r"""Gains that are optimal for a linear system and a quadratic cost.

$$ J = \int_0^\infty x^\top Q\, x + \delta u^\top R\, \delta u \;\mathrm dt, \qquad
   \delta u = -K x . $$
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.algebra.balance import balancing_units
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError, InputError, quoted
from ukctrl.core.fields import NumberRows, PerElement, Quantity
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot.values_by_name import values_by_name


def _require_square(value: object) -> object:
    if not isinstance(value, list | tuple) or not any(
        isinstance(row, list | tuple) for row in value
    ):
        return value
    for index, row in enumerate(value):
        length = len(row) if isinstance(row, list | tuple) else None
        if length != len(value):
            came = "a single entry" if length is None else f"{length} numbers"
            raise InputError(
                "must be a number, a table by name, a list of the diagonal, or a matrix of as many "
                f"rows as columns, [[...], [...]]; of {len(value)} rows, row {index} has {came}."
            )
    return value


Weight = Annotated[
    Annotated[float | tuple[float, ...] | dict[str, float], PerElement(Quantity(minimum=0.0))]
    | NumberRows,
    BeforeValidator(_require_square),
]
"""One number for all, a list of the diagonal, a table by name (0 where not named), or a matrix."""

InputWeight = Weight | Literal["acceleration"]
"""A weight of inputs by themselves, or by the accelerations that they give."""
IDLE_INPUT_RTOL = 1e-9
"""Inputs that accelerate by less than this fraction of the most weigh like those that do most."""

UNDECAYING_RTOL = 1e-7
"""A mode that decays slower than this fraction of the quickest one counts as not decaying."""
UNCONTROLLABLE_RTOL = 1e-9
"""A mode is beyond the inputs when its part of ``[A - s I, B]`` is this small a fraction."""
NAMED_STATE_SHARE = 0.3
"""States that make up less than this fraction of a mode are not named with it."""


class RegulatorGains(NamedTuple):
    """Optimal gains, and what comes of them."""

    K: Matrix
    """Gains, ``du = -K x``, shape ``(nu, n)``."""
    S: Matrix
    """The cost that is left from ``x`` on is ``x' S x``, shape ``(n, n)``."""
    poles: NDArray[np.complex128]
    """Of the closed loop, shape ``(n,)``: ``s`` [1/s], or ``z`` where the input is held."""


def weight_matrix(
    weight: Weight,
    names: Sequence[str],
    label: str,
    groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Matrix:
    """Return a weight as a matrix, symmetric and positive semidefinite.

    Args:
        weight: The weight, as a file has it.
        names: What is weighed.
        label: What messages call the weight.
        groups: Names by the word that stands for all of them in a table.

    Raises:
        GainError: It does not fit, or is negative in some direction.
        UnknownName: A table names what is not weighed.
    """
    n = len(names)
    if isinstance(weight, dict):
        return np.diag(values_by_name(weight, names, f"entry of '{label}'", 0.0, groups))
    if not isinstance(weight, tuple):
        return weight * np.eye(n)
    weights = np.array(weight, dtype=np.float64)
    if weights.shape == (n,):
        return np.diag(weights)
    if weights.shape != (n, n):
        raise GainError(
            f"{label} must be a number, a table, a list of {n} numbers or a matrix of {n} rows and "
            f"columns, for {', '.join(names)}; got shape {weights.shape}."
        )
    # a semidefinite matrix has eigenvalues of zero, which rounding makes negative
    rounding = 1e-12 * max_abs(weights)
    if not np.array_equal(weights, weights.T) or np.linalg.eigvalsh(weights)[0] < -rounding:
        raise GainError(f"{label} must be symmetric positive semidefinite; it is not.")
    return weights


def deviation_weight(weight: Weight, label: str, linear: Linearization) -> Matrix:
    """Return the weight of the deviations that the passive rows leave, shape ``(n, n)``.

    Raises:
        GainError: It does not fit all deviations, ``(dq, dv)``.
    """
    full, dofs = linear.full, linear.robot.dofs
    rates = tuple(f"v.{dof}" for dof in dofs)
    Q = weight_matrix(weight, (*dofs, *rates), label, {"q": dofs, "v": rates})
    reduced: Matrix = full.T @ Q @ full
    return 0.5 * (reduced + reduced.T)  # which rounding leaves less than symmetric


def input_weight(weight: InputWeight, linear: Linearization) -> Matrix:
    """Return the weight of the inputs, which must be positive in every direction.

    Raises:
        GainError: It is not.
    """
    names = linear.inputs
    if not names:
        raise GainError("a regulator needs a robot with inputs; this one has none.")
    if isinstance(weight, str):
        accelerations = (linear.full @ linear.B)[linear.robot.nv :]
        _, sizes, directions = np.linalg.svd(accelerations)
        sizes = np.pad(sizes, (0, len(names) - len(sizes)))
        # directions that accelerate nothing would cost nothing: they get the largest weight
        sizes[sizes <= IDLE_INPUT_RTOL * max_abs(sizes)] = max_abs(sizes) or 1.0
        root = sizes[:, None] * directions
        return np.asarray(root.T @ root)
    R = weight_matrix(weight, names, "R")
    if np.linalg.eigvalsh(R)[0] <= 0.0:
        raise GainError(
            "R must be positive definite, or inputs would cost nothing; give every one of "
            f"{', '.join(names)} a weight above zero."
        )
    return R


def second_order_weights(terms: ErrorSpec) -> dict[str, Any]:
    r"""Return weights by which a freedom that inputs move alone has its poles as asked.

    $\int \omega^4 q^2 + (4\zeta^2 - 2)\,\omega^2 \dot q^2 + \ddot q^2\,\mathrm dt$ is least with
    $\ddot q + 2\zeta\omega \dot q + \omega^2 q = 0$, by spectral factorisation; no regulator of
    positive weights has a damping below $1/\sqrt 2$, and none is asked for less.
    """
    w = terms.frequency()
    # below the damping of sqrt(1/2) no weight gives such poles: that is the least
    rate = max(4.0 * terms.damping**2 - 2.0, 0.0) * w * w
    return {"Q": {"q": w**4, "v": rate}, "R": "acceleration"}


def third_order_weights(terms: ErrorSpec) -> tuple[dict[str, float], float]:
    r"""Return the same with an integral: of position and rate, and of the integral.

    With $k = 1 + 2\zeta$: $(k^2 - 2k)\,\omega^4$, $(k^2 - 2k)\,\omega^2$, $\omega^6$;
    the least damping is 1/2.
    """
    w, k = terms.frequency(3), max(1.0 + 2.0 * terms.damping, 2.0)
    share = k * k - 2.0 * k
    return {"q": share * w**4, "v": share * w * w}, w**6


def lqr_gains(
    A: Matrix,
    B: Matrix,
    Q: Matrix,
    R: Matrix,
    states: Sequence[str],
    inputs: Sequence[str],
    period: float | None = None,
) -> RegulatorGains:
    r"""Return the gains of the linear-quadratic regulator.

    With a ``period`` the input is held between ticks. System and cost are then integrated over a
    tick, so that the gains are optimal for the same cost among all held inputs.

    Args:
        A: Shape ``(n, n)``.
        B: Shape ``(n, nu)``.
        Q: Weight of the states, shape ``(n, n)``.
        R: Weight of the inputs, shape ``(nu, nu)``.
        states: Names of the states, for messages.
        inputs: Names of the inputs, for messages.
        period: Of a zero-order hold [s]; None: continuous control.

    Raises:
        GainError: The inputs cannot make some mode decay, or the cost does not see one that
            neither grows nor decays; the mode is named.
    """
    import control

    _require_stabilisable(A, B, states, inputs)
    _require_detectable(A, Q, states)
    if period is None:
        K, S, poles = control.lqr(A, B, Q, R, method="scipy")
    else:
        Ad, Bd, Qd, Rd, Nd = discretise_lq(A, B, Q, R, period)
        with np.errstate(invalid="ignore"):  # SciPy balances, and drops what that leaves unsaid
            K, S, poles = control.dlqr(Ad, Bd, Qd, Rd, Nd, method="scipy")
    return RegulatorGains(np.asarray(K), np.asarray(S), np.asarray(poles))


def discretise_lq(
    A: Matrix, B: Matrix, Q: Matrix, R: Matrix, period: float
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Return system and cost over a tick with the input held: ``A, B, Q, R`` and the mixed ``N``.

    Raises:
        GainError: They are too large to be written as numbers.

    References:
        Van Loan, "Computing integrals involving the matrix exponential", IEEE Trans. Autom.
        Control 23(3), 1978.
    """
    from scipy.linalg import block_diag, expm

    n, size = len(A), len(A) + B.shape[1]
    F = np.zeros((size, size))
    F[:n, :n], F[:n, n:] = A, B
    # Van Loan: system and cost from one exponential
    whole = np.block([[-F.T, block_diag(Q, R)], [np.zeros((size, size)), F]])
    with np.errstate(over="ignore", invalid="ignore"):  # said below
        answer = expm(period * whole)
        step = answer[size:, size:]
        cost = step.T @ answer[:size, size:]
        cost = 0.5 * (cost + cost.T)
    if not (np.isfinite(cost).all() and np.isfinite(step).all()):
        raise GainError(
            f"the cost over a period of {period:g} s must be a finite number; with these weights "
            "it is not. Take smaller weights, or a shorter period."
        )
    return step[:n, :n], step[:n, n:], cost[:n, :n], cost[n:, n:], cost[:n, n:]


DiscreteLq = tuple[Matrix, Matrix, Matrix, Matrix, Matrix]
"""What `discretise_lq` returns."""


class DiscreteGain(NamedTuple):
    """Optimal gains of a tick of a hold, and what they are worth."""

    K: Matrix
    """Gains, ``du = -K x``, shape ``(nu, n)``."""
    input_hessian: Matrix
    """An input ``-K x + c`` costs ``c' M c`` more, shape ``(nu, nu)``."""
    S: Matrix
    """The cost that is left from this tick on is ``x' S x``, shape ``(n, n)``."""


def discrete_riccati_gains(ticks: Sequence[DiscreteLq], S: Matrix) -> list[DiscreteGain]:
    """Return the gains at every tick of a hold.

    Args:
        ticks: System and cost over each of ``k`` ticks.
        S: Cost at the end, shape ``(n, n)``.
    """
    backwards = []
    for A, B, Q, R, N in reversed(ticks):
        M = R + B.T @ S @ B
        K = np.asarray(np.linalg.solve(M, B.T @ S @ A + N.T), dtype=np.float64)
        S = Q + A.T @ S @ A - (A.T @ S @ B + N) @ K
        # rounding would let it drift from symmetry, tick by tick
        S = 0.5 * (S + S.T)
        backwards.append(DiscreteGain(K, M, S))
    return backwards[::-1]


def _require_stabilisable(
    A: Matrix, B: Matrix, states: Sequence[str], inputs: Sequence[str]
) -> None:
    """Refuse a mode that does not decay by itself and that no input moves (Hautus' test)."""
    for pole in _undecaying_poles(A):
        mode = uncontrollable_mode(A, B, pole)
        if mode is not None:
            raise GainError(
                f"the inputs {', '.join(inputs)} must be able to make every mode decay; they have "
                f"no grip on the one with s = {pole_text(pole)} 1/s, in "
                f"{states_of_mode(mode, states)}. Add an actuator, hold those freedoms, or "
                "linearise elsewhere."
            )


def _require_detectable(A: Matrix, Q: Matrix, states: Sequence[str]) -> None:
    """Refuse a mode on the imaginary axis that costs nothing: no gain is optimal then."""
    for pole in _undecaying_poles(A):
        # away from the imaginary axis a mode needs no cost
        if abs(pole.real) > UNDECAYING_RTOL * _spectral_radius(A):
            continue  # what grows is made to decay even where it costs nothing
        mode = uncontrollable_mode(A.T, Q, pole)
        if mode is not None:
            raise GainError(
                f"Q must weigh every mode that does not decay by itself; the one with s = "
                f"{pole_text(pole)} 1/s, in {states_of_mode(mode, states)}, costs nothing."
            )


def _undecaying_poles(A: Matrix) -> NDArray[np.complex128]:
    """Return the eigenvalues of the modes that do not decay; of conjugate pairs, one."""
    poles = np.linalg.eigvals(A).astype(np.complex128)
    lasting: NDArray[np.complex128] = poles[
        (poles.real > -_decay_tolerance(A)) & (poles.imag >= 0.0)
    ]
    # Rounding scatters the zeros of a free body, the square root of its size for pairs of them.
    lasting[np.abs(lasting) < _decay_tolerance(A)] = 0.0
    return lasting


def _decay_tolerance(A: Matrix) -> float:
    # the root: rounding scatters a double zero by so much
    return float(np.sqrt(np.finfo(float).eps)) * 10.0 * _spectral_radius(A)


def _spectral_radius(A: Matrix) -> float:
    return max(1.0, max_abs(np.linalg.eigvals(A)))


def uncontrollable_mode(A: Matrix, B: Matrix, pole: complex) -> Vector | None:
    """Return the direction of the states that ``[A - s I, B]`` does not reach, if there is one.

    In units of states that balance ``A``, and with columns of ``B`` of unit length beside it.
    """
    A, B, _, _ = balance_system(A, B)
    U, sigma, _ = np.linalg.svd(np.hstack([A - pole * np.eye(len(A)), B]))
    if sigma[-1] > UNCONTROLLABLE_RTOL * sigma[0]:
        return None
    mode: Vector = np.abs(U[:, -1])
    return mode


def balance_system(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix, Vector, Vector]:
    """Return a system in units that balance it, and the units of its states and inputs.

    ``x = size x'`` and ``u = unit u'`` make rows and columns of ``A'`` alike (Parlett & Reinsch),
    and the columns of ``B'`` as long as `_spectral_radius` of it; a column of zeros stays one.
    """
    # units of states and inputs must not decide what is controllable
    size = balancing_units(A)
    A, B = A * size / size[:, None], B / size[:, None]
    length = np.linalg.norm(B, axis=0)
    unit = _spectral_radius(A) / np.where(length > 0.0, length, 1.0)
    return A, B * unit, size, unit


def states_of_mode(mode: Vector, states: Sequence[str]) -> str:
    """Return the states that make up most of a mode, quoted, the largest first."""
    # a sentence names what a mode consists of mostly
    large = np.flatnonzero(mode >= NAMED_STATE_SHARE * mode.max())
    order = large[np.argsort(-mode[large])]
    return quoted([states[i] for i in order])


def pole_text(pole: complex) -> str:
    """Return a pole, or a conjugate pair, as messages have it."""
    if pole.imag == 0.0:
        return f"{pole.real:.4g}"
    return f"{pole.real:.4g} +- {abs(pole.imag):.4g}j"
