r"""The ticks ahead of a linear-quadratic law: systems, gains and limits, about a state or along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.feedforward.nominal_motion import NominalMotion
from ukctrl.control.regulators.riccati import DiscreteGain, DiscreteLq
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import GainError
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot import Robot
from ukctrl_laws.predictive.horizon_kernels import HorizonTables, write_input_sensitivities

MAX_PROGRAM_ENTRIES = 4_000_000
"""Entries of a program's matrix beyond which it is no program for a tick."""


def block_ends(ticks: int, moves: int) -> Indices:
    """Return at which ticks the blocks of a horizon end: one tick each, or longer and longer.

    Args:
        ticks: In the horizon.
        moves: Blocks at most, above 1 where there is more than one tick.
    """
    if ticks <= moves:
        return np.arange(1, ticks + 1)
    if moves == 1:
        return np.array([ticks])
    # blocks grow with the distance: what comes late needs less detail
    growing = np.rint(np.geomspace(1.0, ticks, moves)).astype(np.int64)
    return np.maximum(np.arange(1, moves + 1), growing)


class HorizonLimits(NamedTuple):
    """Positions and speeds with limits, and the limits of inputs."""

    dofs: Indices
    """Velocities along which positions are limited."""
    coordinates: Indices
    """The coordinates that they move."""
    speeds: Indices
    """Velocities that are limited."""
    u_low: Vector
    """Shape ``(nu,)``."""
    u_high: Vector
    """Shape ``(nu,)``."""

    @classmethod
    def from_robot(
        cls, robot: Robot, kinds: Sequence[str], u_low: Vector, u_high: Vector
    ) -> HorizonLimits:
        """Return the limits of some kinds that a robot has.

        Args:
            robot: The robot.
            kinds: Some of ``inputs``, ``positions``, ``speeds``.
            u_low: Lowest inputs, shape ``(nu,)``.
            u_high: Highest inputs.
        """
        lines = [b for b in robot.blocks if b.shape == "line"]
        dofs = np.array([b.iv + i for b in lines for i in range(b.nv)], dtype=np.intp)
        coordinates = np.array([b.iq + i for b in lines for i in range(b.nv)], dtype=np.intp)
        finite = np.isfinite(robot.q_lower) | np.isfinite(robot.q_upper)
        has = finite[coordinates] & ("positions" in kinds)
        speeds = np.flatnonzero(np.isfinite(robot.velocity_limit) & ("speeds" in kinds))
        if "inputs" not in kinds:
            u_low, u_high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        return cls(dofs[has], coordinates[has], speeds, u_low, u_high)

    @property
    def has_input_limits(self) -> bool:
        """Whether some input is limited."""
        return bool((np.isfinite(self.u_low) | np.isfinite(self.u_high)).any())

    def limit_matrix(self, at: Linearization) -> Matrix:
        """Return how positions and speeds with limits follow from deviations, shape ``(r, n)``."""
        rows: Matrix = at.full[np.concatenate([self.dofs, at.robot.nv + self.speeds])]
        return rows

    def limit_distances(self, robot: Robot, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return how far they may go down and up from a state, each ``(r,)``."""
        fastest, at = robot.velocity_limit[self.speeds], self.coordinates
        low = np.concatenate([robot.q_lower[at] - q[at], -fastest - v[self.speeds]])
        return low, np.concatenate([robot.q_upper[at] - q[at], fastest - v[self.speeds]])


def horizon_at_equilibrium(
    linear: Linearization,
    limited: HorizonLimits,
    tick: DiscreteLq,
    gains: Sequence[DiscreteGain],
    ends: Indices,
    period: float,
) -> PredictionHorizon:
    """Return what lies ahead near an equilibrium.

    Args:
        linear: The system there.
        limited: The limits.
        tick: System and cost over a tick.
        gains: Of the next ticks, of which the last are those of all later ones.
        ends: Ticks at which blocks end.
        period: [s].
    """
    A, B, *_ = tick
    low, high = limited.limit_distances(linear.robot, linear.q, linear.v)
    p = len(gains)
    horizon = _horizon_tables(
        [(A, B)] * p, gains, [limited.limit_matrix(linear)] * p,
        [(limited.u_low - linear.u, limited.u_high - linear.u)] * p, [(low, high)],
        ends, 0.0, period, moving=False,
    )  # fmt: skip
    return PredictionHorizon(horizon, gains)


def horizon_along_motion(
    nominal: NominalMotion,
    middles: Sequence[Linearization],
    limited: HorizonLimits,
    ticks: Sequence[DiscreteLq],
    gains: Sequence[DiscreteGain],
    times: Vector,
    ends: Indices,
) -> PredictionHorizon:
    """Return what lies ahead along a motion.

    Args:
        nominal: The motion.
        middles: The systems in the middle of every tick.
        limited: The limits.
        ticks: System and cost over every tick.
        gains: Of every tick.
        times: When ticks begin, and the end of the last, shape ``(k + 1,)`` [s].
        ends: Ticks at which blocks end.
    """
    robot, period = nominal.robot, float(times[1] - times[0])
    inputs = [nominal.input(t + 0.5 * period) for t in times[:-1].tolist()]
    horizon = _horizon_tables(
        [(A, B) for A, B, *_ in ticks], gains, [limited.limit_matrix(at) for at in middles],
        [(limited.u_low - u, limited.u_high - u) for u in inputs],
        [limited.limit_distances(robot, *nominal.state(t)) for t in times.tolist()],
        ends, float(times[0]), period, moving=True,
    )  # fmt: skip
    return PredictionHorizon(horizon, gains)


def _horizon_tables(
    systems: Sequence[tuple[Matrix, Matrix]],
    gains: Sequence[DiscreteGain],
    rows: Sequence[Matrix],
    inputs: Sequence[tuple[Vector, Vector]],
    states: Sequence[tuple[Vector, Vector]],
    ends: Indices,
    start: float,
    period: float,
    *,
    moving: bool,
) -> HorizonTables:
    B = np.array([B for _, B in systems])
    K = np.array([gain.K for gain in gains])
    F = np.array([A for A, _ in systems]) - B @ K
    bounds = (np.array([pair[k] for pair in pairs]) for pairs in (inputs, states) for k in (0, 1))
    u_low, u_high, x_low, x_high = bounds
    return HorizonTables(
        F=F, B=B, K=K, E=np.array(rows), u_low=u_low, u_high=u_high, x_low=x_low, x_high=x_high,
        ends=ends.astype(np.int64), start=start, period=period, moving=moving,
    )  # fmt: skip


@final
class PredictionHorizon:
    """What lies ahead, and the changes of the inputs that are looked for.

    Attributes:
        tables: Discrete systems and limits of the horizon.
        gains: Of its ticks.
        n: Unknowns of the program.
        m: Its rows: block by block the inputs, then the positions, then the speeds.
        block_lengths: Ticks of each block.
    """

    def __init__(self, horizon: HorizonTables, gains: Sequence[DiscreteGain]) -> None:
        self.tables, self.gains = horizon, gains
        self._M = np.array([gain.input_hessian for gain in gains])
        blocks, (_, n, nu), r = len(horizon.ends), horizon.B.shape, horizon.E.shape[1]
        self.n, self.m = blocks * nu, blocks * (nu + r)
        if self.n * self.m > MAX_PROGRAM_ENTRIES:
            raise GainError(
                f"moves must leave a program that a tick can solve; {blocks} of them make one of "
                f"{self.n} unknowns and {self.m} limits. Take fewer: later ones become longer."
            )
        self.block_lengths = np.diff(horizon.ends, prepend=0)
        self.W = np.zeros((blocks, nu, nu))
        self.C = np.zeros((self.m, self.n))
        self._X, self._Y = np.zeros((2, n, self.n))
        self._last_tick = -1

    def update(self, first: int) -> bool:
        """Write ``C`` and ``W`` for a tick; return whether they are others than before.

        $c = W z$ in a block, so that what leaving the gains costs is $|z|^2$.
        """
        if first == self._last_tick:
            return False
        of = np.minimum(first + np.arange(self.tables.ends[-1]), len(self._M) - 1)
        M = np.add.reduceat(self._M[of], self.tables.ends - self.block_lengths)
        # W' M W = 1, for which a triangle will do
        self.W[:] = np.linalg.inv(np.linalg.cholesky(M)).transpose(0, 2, 1)
        write_input_sensitivities(self.tables, first, self.W, self._X, self._Y, self.C)
        self._last_tick = first
        return True

    def shift_active(self, active: Vector) -> Vector:
        """Return which limits will be active one tick later, should all go as predicted."""
        if self.block_lengths[-1] > 1 or len(self.block_lengths) == 1:
            return active  # the blocks of one tick are not those of the next
        by_block = active.reshape(len(self.block_lengths), -1)
        return np.concatenate([by_block[1:], by_block[-1:]]).ravel()
