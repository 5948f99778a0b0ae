r"""A regulator by pole placement: $u = u_0 - K x$ with the poles that were asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.error_dynamics_spec import ErrorSpec, natural_frequency
from ukctrl.control.regulators.regulator import EquilibriumRegulator, RegulatorLaw
from ukctrl.control.regulators.riccati import (
    IDLE_INPUT_RTOL,
    RegulatorGains,
    balance_system,
    states_of_mode,
    uncontrollable_mode,
)
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Positive, Seconds, spec
from ukctrl.core.suppressed_warnings import suppress_warnings
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import zero_order_hold

POLE_GROUP_RATIO = 1.5
"""How much quicker each further group of poles is than the one before."""
DOUBLE_POLE_SPLIT = 0.05
"""Real poles that would fall together are placed this far to both sides."""
POLE_RTOL = 1e-3
"""Poles that lie further off than this fraction of their size are not where they should be."""


@final
@spec
class PolePlacement(EquilibriumRegulator):
    r"""Pole placement about an equilibrium: $u = u_0 - K x$, poles by settling time and damping.

    A pair of poles with the damping ratio $\zeta$ settles in the given time; there are as many
    of them as motors. Where there are more states, further groups are each 1.5 times as
    quick as the one before. $K$ is the one whose poles are least sensitive (Kautsky, Nichols & Van
    Dooren). Under a zero-order hold the poles are those of the sampled system, $e^{sT}$.

    References:
        Kautsky, Nichols & Van Dooren, "Robust pole assignment in linear state feedback", Int. J.
        Control 41(5), 1985.
    """

    kind: Literal["pole_placement"] = "pole_placement"
    settling: Seconds
    """Time in which the slowest pair settles, to 2 % [s]."""
    damping: Positive = 1.0
    r"""Damping ratio $\zeta$."""

    def start(self, task: Task) -> RegulatorLaw:
        return _PolePlacementLaw(self, task)

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        settling = natural_frequency(1.0, terms.damping) / terms.frequency()
        return {"settling": settling, "damping": terms.damping}


@final
class _PolePlacementLaw(RegulatorLaw):
    def __init__(self, spec: PolePlacement, task: Task) -> None:
        super().__init__(spec, task)
        A, B = self.linear
        if not B.shape[1]:
            raise GainError("a regulator needs a robot with inputs; this one has none.")
        # as many poles at one place as inputs are independent; the next ones faster
        poles = design_poles(len(A), self._input_rank(), spec.settling, spec.damping)
        if task.period is not None:
            A, B = zero_order_hold(A, B, task.period)
            poles = np.exp(poles * task.period)
        K = place_poles(A, B, poles, self.linear.states)
        self.regulator = RegulatorGains(
            K,
            _cost_to_go(A - B @ K, task.period),
            np.linalg.eigvals(A - B @ K).astype(np.complex128),
        )

    def _input_rank(self) -> int:
        """Return how many directions the motors push at the equilibrium."""
        task, linear = self.task, self.linear
        dynamics = Dynamics(linear.robot, task.rank)
        dynamics.move(task.start, linear.q, linear.v)
        return int(dynamics.reached().shape[1])


def _cost_to_go(closed: Matrix, period: float | None) -> Matrix:
    """Return ``S`` of what is left of the integral of ``x' x``, ``x' S x``."""
    from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

    # a cost of its own, for a law that weighs nothing: it says how far off the state is
    one = np.eye(len(closed))
    if period is None:
        return np.asarray(solve_continuous_lyapunov(closed.T, -one))
    return np.asarray(solve_discrete_lyapunov(closed.T, period * one))


def design_poles(n: int, motors: int, settling: float, damping: float) -> NDArray[np.complex128]:
    """Return ``n`` poles for a settling time and a damping ratio [1/s]; a pair for each motor."""
    w = natural_frequency(settling, damping)
    if damping < 1.0:
        turn = complex(-damping, math.sqrt(1.0 - damping**2))
        pair = (turn, turn.conjugate())
    else:
        spread = math.sqrt(damping**2 - 1.0)
        pair = (complex(-damping + spread), complex(-damping - spread))
        # SciPy places no pole more often than there are inputs: a double one is split a little
        if pair[0] - pair[1] == 0.0:
            pair = (complex(-1.0 + DOUBLE_POLE_SPLIT), complex(-1.0 - DOUBLE_POLE_SPLIT))
    spread_poles: list[complex] = []
    for k in range((n + 1) // 2):
        spread_poles += [w * POLE_GROUP_RATIO ** (k // motors) * pole for pole in pair]
    if n % 2:  # the last is alone, and real
        spread_poles = [*spread_poles[: n - 1], complex(-abs(spread_poles[-1]))]
    return np.array(spread_poles, dtype=np.complex128)


def place_poles(
    A: Matrix, B: Matrix, poles: NDArray[np.complex128], states: tuple[str, ...]
) -> Matrix:
    """Return gains that give ``A - B K`` its poles.

    Raises:
        GainError: The inputs do not reach every mode.
    """
    from scipy.signal import place_poles

    for pole in np.linalg.eigvals(A):
        mode = uncontrollable_mode(A, B, pole)
        if mode is not None:
            raise GainError(
                "pole placement needs inputs that move every mode; they have no grip on one in "
                f"{states_of_mode(mode, states)}. Add an actuator, hold those freedoms, or use "
                'kind = "lqr", which leaves alone what decays by itself.'
            )
    A_even, B_even, size, unit = balance_system(A, B)
    _, sizes, directions = np.linalg.svd(B_even)
    pushing = directions[: int(np.count_nonzero(sizes > IDLE_INPUT_RTOL * sizes[0]))]
    # with no idle direction the inputs stay as they are, and so do the bits
    if len(pushing) == B.shape[1]:
        pushing = np.eye(B.shape[1])
    with suppress_warnings(UserWarning):  # that the gains could be a little more robust
        gains = place_poles(A_even, B_even @ pushing.T, poles).gain_matrix
    K: Matrix = unit[:, None] * (pushing.T @ gains) / size
    # the method is iterative and says little of how it ended: its answer is tested
    placed_poles = np.linalg.eigvals(A - B @ K)
    off = max(float(np.abs(placed_poles - pole).min() / abs(pole)) for pole in poles)
    if not off < POLE_RTOL:
        raise GainError(
            f"no gains are found that place the poles; one is off by {off:.1%}. Ask for another "
            "settling time or damping."
        )
    return K
