r"""How the rows together reach the inputs.

Rows of relative degrees $r_i$ have the decoupling matrix

$$ E_{ij} = L_{g_j} L_f^{r_i - 1} h_i . $$

Where it has full row rank, $(r_1, \dots, r_m)$ is their vector relative degree, and an input gives
each row its own $y_i^{(r_i)}$. Where it has not, several rows share one channel: no static feedback
decouples them, and the inputs appear only as the rows are differentiated further. Then the
derivative array tells how often, and how many states the rows fix.

References:
    Isidori, "Nonlinear Control Systems", 1995, sections 5.1 and 5.4; Campbell, "Linearization of
    DAEs along trajectories", ZAMP 46, 1995.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import jets_of
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree.advice import recommend_law
from ukctrl.mechanics.relative_degree.decoupling import (
    decoupling,
    decoupling_rank,
    direct_decoupling,
)
from ukctrl.mechanics.relative_degree.derivative_array import ArrayRanks, DerivativeArray

MAX_ORDER = 12
"""Rows are not differentiated more often than this."""
MAX_VELOCITIES = 24
"""Robots with more velocities than this are not looked at, which would take minutes."""
PERTURBATION = 0.03
"""How far a state nearby is, in scaled unknowns."""
INPUT_RTOL, TINY = 1e-6, 1e-300
"""What an input adds to a row, beside all that moves it, so that it counts."""


@dc.dataclass(frozen=True, kw_only=True)
class VectorRelativeDegree:
    """How servo rows reach the inputs together, at one state."""

    names: tuple[str, ...]
    """The rows."""
    channels: int
    """How many of them the inputs accelerate independently, at their own relative degrees."""
    orders: tuple[int, ...] | None
    """How often each row is differentiated until all inputs have come out: the vector relative
    degree, where ``channels`` is the number of rows; None where they never do."""
    fixed: int
    """States that the rows fix."""
    states: int
    """States of the robot, twice its mobility."""
    inputs: int
    """Inputs of the robot."""
    determined: bool
    """Whether state and input are functions of the rows and their derivatives alone."""

    @property
    def extended(self) -> bool:
        """Whether rows share channels, so that the inputs need a dynamic extension."""
        return self.channels < len(self.names)

    @property
    def internal(self) -> int:
        """Dimension of the internal dynamics that the rows leave."""
        return self.states - self.fixed

    @property
    def flat(self) -> bool:
        """Whether the rows are a flat output: nothing is left to be integrated."""
        return self.internal == 0 and self.determined

    @property
    def sentence(self) -> str:
        """What a user should know of it."""
        fixed = f"{self.fixed} of {self.states} states are fixed by the rows"
        if self.internal:
            remain = "remains" if self.internal == 1 else "remain"
            fixed += f"; {self.internal} {remain} as internal dynamics"
        fixed += "."
        if not self.extended:
            return fixed
        share = (
            f"rows {quoted(self.names)} reach the inputs through {self.channels} of "
            f"{len(self.names)} channels"
        )
        if self.orders is None:
            return f"{share}, and further derivatives do not tell the inputs apart: {fixed}"
        degrees = ", ".join(map(str, self.orders))
        return (
            f"{share}: together their relative degree is {degrees}, after dynamic extension; "
            f"{fixed}"
        )

    @property
    def advice(self) -> str:
        """What serves the rows."""
        highest = None if self.orders is None else max(self.orders)
        return recommend_law(self.internal, self.extended, highest, len(self.names), self.inputs)


def vector_relative_degree(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector, degrees: Sequence[int | None]
) -> VectorRelativeDegree:
    """Return how the rows together reach the inputs.

    ``degrees`` are the rows' relative degrees alone, None where one is not certain; the other
    arguments are those of `relative_degrees`.

    Raises:
        UkctrlError: The rows cannot be differentiated here.
    """
    q, v, robot = np.array(q), np.array(v), dynamics.robot
    try:
        if robot.nv > MAX_VELOCITIES:
            raise UkctrlError(
                f"robots with more than {MAX_VELOCITIES} velocities are not looked at."
            )
        row_degrees = [degree for degree in degrees if degree is not None]
        highest = max([*row_degrees, 2])
        channels = 0
        if len(row_degrees) == len(servo) and highest <= MAX_ORDER:
            # rows that accelerate with the input show it in A G, without jets
            if (np.array(row_degrees) > np.where(servo.holonomic, 2, 1)).any():
                jets = jets_of(servo, highest, dynamics.rank)
                channels = decoupling(jets, dynamics, t, q, v, row_degrees).rank
            else:
                dynamics.move(t, q, v)
                channels = direct_decoupling(servo, dynamics).rank
        # the rows reach the inputs through as many channels: no dynamic extension
        if channels == len(servo):
            return _by_static_feedback(dynamics, servo, t, q, v, row_degrees)
        return _by_dynamic_extension(dynamics, servo, t, q, v)
    finally:
        dynamics.move(t, q, v)
        servo.write(dynamics.snapshot)


def _by_static_feedback(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector, degrees: list[int]
) -> VectorRelativeDegree:
    dynamics.move(t, q, v)
    states = 2 * dynamics.robot.nv
    # the states are those that the closures leave
    if len(dynamics.passive):
        array = DerivativeArray(jets_of(servo, 0, dynamics.rank), dynamics, t, q, v)
        J = array.jacobian(t, q, v, np.zeros((0, dynamics.robot.nu)), 0)
        states -= array.ranks(J, 0).passive
    # A row without position level does not count the state that it would have there.
    return VectorRelativeDegree(
        names=servo.names,
        channels=len(servo),
        orders=tuple(degrees),
        fixed=sum(degrees),
        states=states,
        inputs=dynamics.robot.nu,
        determined=dynamics.robot.nu == len(servo),
    )


def _by_dynamic_extension(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector
) -> VectorRelativeDegree:
    """Differentiate until nothing more is fixed, at a state nearby that is not special."""
    search = _search_extension(dynamics, servo, t, q, v)
    ranks = search.ranks
    return VectorRelativeDegree(
        names=servo.names,
        channels=search.channels,
        orders=search.orders,
        fixed=ranks.states - ranks.passive,
        states=2 * dynamics.robot.nv - ranks.passive,
        inputs=dynamics.robot.nu,
        determined=search.orders is not None,
    )


class _DynamicExtension(NamedTuple):
    ranks: ArrayRanks
    channels: int
    orders: tuple[int, ...] | None


def _search_extension(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector
) -> _DynamicExtension:
    robot = dynamics.robot
    last: ArrayRanks | None = None
    channels = 0
    for order in range(2, MAX_ORDER + 1):
        array = DerivativeArray(jets_of(servo, order, dynamics.rank), dynamics, t, q, v)
        # ranks are generic: at the state itself, often at rest and upright, entries vanish by
        # chance
        near = _generic_state(array, dynamics, t, q, v, order)
        J = array.jacobian(t, *near, order)
        ranks, channels = array.ranks(J, order), decoupling_rank(_first_input_rows(array, J, order))
        # state and input are determined: no higher derivative adds anything
        if ranks.with_inputs == 2 * robot.nv + robot.nu:
            return _DynamicExtension(ranks, channels, _least_orders(array, J, order, ranks))
        # The states stop growing at once; the inputs may still come out, one order later each.
        if (
            last is not None
            and ranks.states == last.states
            and (ranks.states < 2 * robot.nv or ranks.with_inputs == last.with_inputs)
        ):
            return _DynamicExtension(ranks, channels, None)
        last = ranks
    assert last is not None  # the loop has run
    return _DynamicExtension(last, channels, None)


def _generic_state(
    array: DerivativeArray, dynamics: Dynamics, t: float, q: Vector, v: Vector, order: int
) -> tuple[Vector, Vector, Matrix]:
    """Return a state that is not special, and inputs that nearly hold it."""
    robot, rng = dynamics.robot, np.random.default_rng(0)
    U = np.zeros((array.n_input_derivatives(order), robot.nu))
    # about an input that holds the robot, so that it stays near
    U[0] = array.holding_input
    z = PERTURBATION * rng.uniform(-1.0, 1.0, 2 * robot.nv + U.size)
    q, v, U = array.retract(q, v, U, z)
    if len(dynamics.passive):
        solved = consistent_state(dynamics.passive, q, v, t, rank=dynamics.rank)
        q, v = solved.q, solved.v
    return q, v, U


def _first_input_rows(array: DerivativeArray, J: Matrix, order: int) -> Matrix:
    """Return what the inputs add to the first derivative of each row that has any, ``(m, nu)``."""
    n, nu, m = array.robot.nv, array.robot.nu, len(array.jets.stack)
    blocks = J[: (order + 1) * m].reshape(order + 1, m, -1)
    E = np.zeros((m, nu))
    for i in range(m):
        sizes = np.abs(blocks[:, i, 2 * n : 2 * n + nu]).max(axis=1)
        # the first derivative in which an input shows, of a row in its own size
        orders = np.flatnonzero(sizes > INPUT_RTOL * (np.abs(blocks[:, i]).max() + TINY))
        if orders.size:
            E[i] = blocks[orders[0], i, 2 * n : 2 * n + nu]
    return E


def _least_orders(
    array: DerivativeArray, J: Matrix, order: int, full_ranks: ArrayRanks
) -> tuple[int, ...]:
    """Return the fewest derivatives of each row that still fix everything."""
    orders = np.full(len(array.jets.stack), order)
    for i in range(len(orders)):
        # the last order that is needed for the rank, row by row from above
        while orders[i] > 0:
            orders[i] -= 1
            if array.ranks(J, order, orders).with_inputs < full_ranks.with_inputs:
                orders[i] += 1
                break
    return tuple(orders.tolist())
