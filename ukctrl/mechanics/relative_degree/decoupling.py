"""How inputs reach the last derivatives of servo rows at a state, each row by its own."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

import numpy as np

from ukctrl.core.algebra.solution_checks import unit_rank
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import Jets
from ukctrl.mechanics.dynamics import Dynamics

DECOUPLING_RTOL = 1e-6
"""Singular values of a decoupling matrix of unit rows below this count as zero."""


@dc.dataclass(frozen=True)
class Decoupling:
    """The rows' derivatives without input, and what the inputs add to the last."""

    drift: Matrix
    r"""$L_f^k h_i$, shape ``(order + 1, m)``."""
    last: Vector
    r"""$L_f^{r_i} h_i$, shape ``(m,)``."""
    E: Matrix
    """Decoupling matrix, shape ``(m, nu)``."""
    push: Vector
    """Inputs of a usual size, which accelerate the robot as its own forces do, shape ``(nu,)``."""

    @property
    def rank(self) -> int:
        """How many rows inputs of a usual size reach independently."""
        return decoupling_rank(self.E * self.push)


def decoupling(
    jets: Jets, dynamics: Dynamics, t: float, q: Vector, v: Vector, degrees: Sequence[int]
) -> Decoupling:
    """Return the rows' derivatives up to their relative degrees, and the decoupling matrix.

    Args:
        jets: The rows' derivatives.
        dynamics: The robot; it is moved to the state.
        t: Time [s].
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        degrees: Relative degree of each row.
    """
    dynamics.move(t, q, v)
    push = _input_scale(dynamics)
    drift, E = jets.with_inputs(t, q, v, degrees, push)
    last = drift[list(degrees), np.arange(len(degrees))]
    return Decoupling(drift, last, E, push)


def direct_decoupling(servo: Stack, dynamics: Dynamics) -> Decoupling:
    """Return the same, at the robot's state, of rows that the inputs accelerate at once."""
    rows = servo.write(dynamics.snapshot)
    last = rows.A @ dynamics.a_free - rows.b
    by_position = np.array([rows.phi, rows.beta, last])
    drift = np.where(servo.holonomic, by_position, [rows.beta, last, np.zeros_like(last)])
    return Decoupling(drift, last, rows.A @ dynamics.G, _input_scale(dynamics))


def decoupling_rank(E: Matrix) -> int:
    """Return how many rows inputs reach independently; its columns are for usual inputs."""
    return unit_rank(E, DECOUPLING_RTOL)


def _input_scale(dynamics: Dynamics) -> Vector:
    usual = max(1.0, float(np.abs(dynamics.a_free).max(initial=0.0)))
    pushed = np.abs(dynamics.G).max(axis=0, initial=0.0)
    return usual / np.where(pushed > 0.0, pushed, 1.0)
