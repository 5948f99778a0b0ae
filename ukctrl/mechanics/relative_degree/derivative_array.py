r"""The derivative array: rows and their derivatives as functions of states and inputs.

$$ Y_K(x, u, \dot u, \dots) = (\phi, \dot\phi, \dots, \phi^{(K)}) $$

together with the passive rows, which are zero on every motion. With $U = (u, \dot u, \dots)$,
the outputs fix

$$ \operatorname{rank} \partial Y_K - \operatorname{rank} \partial Y_K / \partial U $$

directions of the state, however the inputs enter, and without choosing which of them to extend by
integrators. The number grows with K until, at once, it stops.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.factorisation import zero_rounding_lengths
from ukctrl.core.algebra.finite_differences import SECOND_ORDER_WEIGHTS, jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.derivatives import Jets, SampledJets
from ukctrl.mechanics.dynamics import Dynamics

STEP, WIDE_STEP = 1e-4, 3e-3
"""Steps of the differences, in scaled unknowns: where rows are exact, where they are measured."""
RANK_TOLERANCE, MAX_RANK_TOLERANCE = 1e-6, 1e-2
"""Singular values that count as zero, beside the largest: usually, and where noise is large."""
MIN_TIME_SCALE, MAX_TIME_SCALE = 1e-3, 1.0
"""Between these the time scale of a robot is taken [s]."""


class ArrayRanks(NamedTuple):
    """What an array of some order fixes."""

    passive: int
    """States that the passive rows fix by themselves."""
    states: int
    """States that are fixed, by the passive rows too."""
    with_inputs: int
    """States and inputs that are fixed."""


@final
class DerivativeArray:
    """Rows, their derivatives and the passive rows near a state, in scaled unknowns.

    The unknowns are ``(dq, dv, U_0, U_1, ...)``, of which there is one derivative of the input for
    every derivative of the rows in which it can appear.

    Args:
        jets: The rows' derivatives.
        dynamics: The robot; it is moved about.
        t: Time [s].
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.

    Attributes:
        holding_input: The input that holds the robot most nearly still, shape ``(nu,)``.
        time_scale: Time scale [s].
        input_scale: Scale of each input, shape ``(nu,)``.
    """

    def __init__(self, jets: Jets, dynamics: Dynamics, t: float, q: Vector, v: Vector) -> None:
        self.jets, self._dynamics = jets, dynamics
        self.robot = jets.robot
        dynamics.move(t, q, v)
        G = dynamics.G.copy()
        self.holding_input: Vector = dynamics.least_input(np.zeros(len(G)))
        self.time_scale = self._time_scale(t, q, v)
        pushed = np.abs(G).max(axis=0, initial=0.0)
        self.input_scale: Vector = 1.0 / (self.time_scale**2 * np.where(pushed > 0.0, pushed, 1.0))
        self._lead = int(jets.first.min(initial=2))
        self._noise: Vector = np.zeros(0)

    def _time_scale(self, t: float, q: Vector, v: Vector) -> float:
        """Return the time in which the robot's own forces change its motion."""
        robot, steepest = self.robot, 1.0
        for i in range(robot.nv):
            step = np.zeros(robot.nv)
            step[i] = STEP
            sides = []
            for sign in (-1.0, 1.0):
                self._dynamics.move(t, robot.integrate(q, sign * step), v)
                sides.append(self._dynamics.acceleration(self.holding_input))
            slope = float(np.abs(sides[1] - sides[0]).max()) / (2.0 * STEP)
            # the time in which the steepest acceleration takes the robot one unit away from where
            # it holds
            steepest = max(steepest, slope)
        # clamped, for a robot without stiffness would have an endless one
        return float(min(max(steepest**-0.5, MIN_TIME_SCALE), MAX_TIME_SCALE))

    def n_input_derivatives(self, order: int) -> int:
        """Return how many of the input's derivatives can appear, the input itself among them."""
        return max(0, order - self._lead + 1)

    def values(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Vector:
        """Return the array, scaled: ``(order + 1) m`` rows and, after them, the passive ones."""
        powers = self.time_scale ** np.arange(order + 1)
        rows = self.jets.derivatives(t, q, v, U, order) * powers[:, None]
        # closures are part of the array: states that break them are none
        passive = self._dynamics.look(t, q, v)
        phi = passive.phi[~np.isnan(passive.phi)]
        return np.concatenate([rows.ravel(), phi, self.time_scale * passive.beta])

    def jacobian(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        """Return the derivative of the array in the scaled unknowns."""
        self._noise = np.zeros(order + 1)

        def heard(z: Vector) -> Vector:
            return self._values_and_noise(t, *self.retract(q, v, U, z), order)

        # sampled jets are noisy: a wider step has less of it
        step = STEP if self.jets.exact else WIDE_STEP
        return jacobian(heard, 2 * self.robot.nv + U.size, step, SECOND_ORDER_WEIGHTS)

    def _values_and_noise(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Vector:
        """Return the values, and keep the largest noise that any of them has."""
        derivatives = self.values(t, q, v, U, order)
        if isinstance(self.jets, SampledJets):
            self._noise = np.maximum(self._noise, self.jets.uncertainty)
        return derivatives

    def retract(self, q: Vector, v: Vector, U: Matrix, z: Vector) -> tuple[Vector, Vector, Matrix]:
        """Return state and inputs moved by scaled unknowns."""
        n = self.robot.nv
        # inputs in units of what moves the robot by one within the time scale, as states are
        scale = self.input_scale / self.time_scale ** np.arange(len(U))[:, None]
        return (
            self.robot.integrate(q, z[:n]),
            v + z[n : 2 * n] / self.time_scale,
            U + z[2 * n :].reshape(U.shape) * scale,
        )

    def ranks(self, J: Matrix, order: int, orders: Vector | None = None) -> ArrayRanks:
        """Return what is fixed, by all rows or by each up to its own order.

        Args:
            J: The `jacobian`.
            order: Its order.
            orders: Highest derivative of each row that counts, shape ``(m,)``.
        """
        n, nu, m = self.robot.nv, self.robot.nu, len(self.jets.stack)
        keep = np.ones(len(J), dtype=bool)
        if orders is not None:
            keep[: (order + 1) * m] = (np.arange(order + 1)[:, None] <= orders).ravel()
        passive = J[(order + 1) * m :]
        tolerance = self._tolerance(J[keep], order)
        size = np.linalg.norm(J[: (order + 1) * m].reshape(order + 1, m, -1), axis=2).max(axis=0)
        # a row of rounding stays one
        zero_rounding_lengths(size)
        size[size == 0.0] = 1.0
        unit = np.full(len(J), np.linalg.norm(passive, axis=1).max(initial=0.0) or 1.0)
        unit[: (order + 1) * m] = np.tile(size, order + 1)
        J = (J / unit[:, None])[keep]  # each servo row in a unit of its own
        whole, states, inputs = (
            _rank(block, tolerance) for block in (J, J[:, 2 * n :], J[:, 2 * n + nu :])
        )
        return ArrayRanks(_rank(passive, tolerance), whole - states, whole - inputs)

    def _tolerance(self, J: Matrix, order: int) -> float:
        if not isinstance(self.jets, SampledJets):
            return RANK_TOLERANCE
        noise = self._noise * self.time_scale ** np.arange(order + 1)
        size = float(np.linalg.norm(J, 2)) or 1.0
        # thirty roundings of the noise over the difference's step; never looser than what tells
        # ranks at all
        return min(
            max(RANK_TOLERANCE, 30.0 * float(noise.max()) / WIDE_STEP / size), MAX_RANK_TOLERANCE
        )


def _rank(J: Matrix, tolerance: float) -> int:
    """Return the rank of rows and columns of comparable size."""
    if not J.size:
        return 0
    lengths = np.linalg.norm(J, axis=1)
    largest = float(lengths.max())
    if largest == 0.0:
        return 0
    # rows below the tolerance count as zero, before unit lengths would raise them
    rows = J[lengths > tolerance * largest]
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    sigma = np.linalg.svd(unit, compute_uv=False)
    return int((sigma > tolerance * sigma[0]).sum())
