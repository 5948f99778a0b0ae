"""A robot in coordinates that its passive rows leave independent, and its answer in them."""

from __future__ import annotations

import dataclasses as dc
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.consistent_state import consistent_configuration, least_norm_change
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains, passive_constraints
from ukctrl.mechanics.linearise import ConstraintNullSpace, Linearizer
from ukctrl.robot import Robot


class ChartPoint(NamedTuple):
    """A configuration, and how it changes with the coordinates."""

    y: Vector
    """The coordinates, shape ``(n,)``."""
    q: Vector
    """Shape ``(nq,)``."""
    tangent: Matrix
    """From rates of the coordinates to velocities, shape ``(nv, n)``."""


class FullState(NamedTuple):
    """All of a robot that moves as its coordinates do."""

    place: ChartPoint
    v: Vector
    """Velocity, shape ``(nv,)``."""
    a: Vector
    """Acceleration, shape ``(nv,)``."""


class PointDynamics(NamedTuple):
    """What a robot does at a place, a rate and an input."""

    place: ChartPoint
    rate: Vector
    """Rates of the coordinates, shape ``(n,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    a: Vector
    """Acceleration of the coordinates, shape ``(n,)``."""
    a_jacobian: Matrix
    """How that changes with coordinates, rates and inputs, shape ``(n, 2 n + nu)``; empty where
    it was not asked for."""
    v_jacobian: Matrix
    """How the velocity changes with coordinates and rates, shape ``(nv, 2 n)``, or empty."""


@final
class IndependentCoordinates:
    """A robot in independent coordinates: some of its joints, of one freedom each.

    Args:
        robot: The robot.
        rank: When passive rows count as dependent.
        t: Time [s].
        q: A configuration on the passive rows, shape ``(nq,)``.
        first: Velocities whose joints shall be among the coordinates.

    Attributes:
        dofs: The velocities whose joints are the coordinates, shape ``(n,)``.
        start: The configuration.

    Raises:
        InputError: The robot has other joints, or rows on velocities alone, or some of the joints
            depend on the others.
    """

    def __init__(self, robot: Robot, rank: RankPolicy, t: float, q: Vector, first: Indices) -> None:
        odd = [block.name for block in robot.blocks if block.shape not in ("line", "circle")]
        if odd:
            raise InputError(
                f"robot '{robot.name}' must have joints of one freedom only for an optimised "
                f"path; {quoted(odd)} {'is' if len(odd) == 1 else 'are'} not."
            )
        self.robot, self._rank = robot, rank
        # places are put onto the rows: stabilisation would only bend the answer
        self.dynamics = Dynamics(robot, rank, StabilisationGains(0.0, 0.0))
        self._stack = Stack(passive_constraints(robot), robot)
        if not self._stack.holonomic.all():
            row = self._stack.names[int(np.flatnonzero(~self._stack.holonomic)[0])]
            raise InputError(
                f"passive row '{row}' must have a position level for an optimised path; it is "
                "nonholonomic."
            )
        self._snapshot, self._linearizer = robot.snapshot(q), Linearizer(robot, rank, rough=True)
        at_rest = np.zeros(robot.nv)
        self.dynamics.move(t, q, at_rest)
        free = ConstraintNullSpace(self.dynamics.L, self.dynamics.passive.rows.A, rank.passive)
        self.dofs = free.independent_velocities_with(first)
        if lost := [robot.dofs[i] for i in first.tolist() if i not in self.dofs]:
            raise InputError(
                f"joints of an optimised path must be independent of each other; {quoted(lost)} "
                f"of robot '{robot.name}' follow from the others. Name fewer."
            )
        like = self._linearizer.at(t, q, at_rest, np.zeros(robot.nu))
        self._like = dc.replace(like, positions=self.dofs, velocities=self.dofs)
        angles = np.hstack([block.angles(q[None]) for block in robot.blocks])[0]
        self.start = ChartPoint(angles[self.dofs], q, free.tangent(self.dofs))

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.dofs)

    def forward_dynamics(
        self,
        t: float,
        near: ChartPoint,
        y: Vector,
        rate: Vector,
        u: Vector,
        *,
        slopes: bool = False,
    ) -> PointDynamics:
        """Return the answer at a state near a place.

        Args:
            t: Time [s].
            near: From where the other joints are followed.
            y: Coordinates, shape ``(n,)``.
            rate: Their rates, shape ``(n,)``.
            u: Input, shape ``(nu,)``.
            slopes: Whether derivatives are asked for.

        Raises:
            StartError: The passive rows cannot be kept there.
        """
        n, tangent = self.n, near.tangent
        q, v = self._moved(t, near, y, rate)
        if not slopes:
            self.dynamics.move(t, q, v)
            a = self.dynamics.acceleration(u)[self.dofs]
            none = np.zeros((0, 0))
            return PointDynamics(ChartPoint(y, q, tangent), rate, v, a, none, none)
        linear = self._linearizer.at(t, q, v, u, self._like)
        nv = self.robot.nv
        chart_point = ChartPoint(y, q, linear.full[:nv, :n])
        by = np.hstack([linear.A[n:], linear.B[n:]])
        return PointDynamics(chart_point, rate, v, linear.a[self.dofs], by, linear.full[nv:])

    def full_state(
        self, t: float, near: ChartPoint, y: Vector, rate: Vector, a: Vector
    ) -> FullState:
        """Return all of the robot near a place, whatever moves it so.

        Args:
            t: Time [s].
            near: From where the other joints are followed.
            y: Coordinates, shape ``(n,)``.
            rate: Their rates, shape ``(n,)``.
            a: Their accelerations, shape ``(n,)``.

        Raises:
            StartError: The passive rows cannot be kept there.
        """
        q, v = self._moved(t, near, y, rate)
        tangent, whole = near.tangent, near.tangent @ a
        if len(self._stack):
            self._snapshot.move(q, v, t)
            A, b = self._stack.write(self._snapshot)[:2]
            tangent = np.eye(self.robot.nv)[:, self.dofs]
            # the tangent at the new place, not near's: coordinates by one, the others as the rows
            # ask
            tangent -= np.column_stack(
                [self._dependent_change(A, A @ column) for column in tangent.T]
            )
            whole = tangent @ a
            whole -= self._dependent_change(A, A @ whole - b)
        return FullState(ChartPoint(y, q, tangent), v, whole)

    def _moved(self, t: float, near: ChartPoint, y: Vector, rate: Vector) -> tuple[Vector, Vector]:
        """Return the configuration and the velocity, on the passive rows."""
        # from near, so that loops stay on its branch
        q: Vector = self.robot.integrate(near.q, near.tangent @ (y - near.y))
        v: Vector = near.tangent @ rate
        if len(self._stack):
            locked = self.dofs.tolist()
            q = consistent_configuration(self._stack, self._snapshot, q, t, locked, self._rank)
            self._snapshot.move(q, v, t)
            rows = self._stack.write(self._snapshot)
            v = v - self._dependent_change(rows.A, rows.beta)
        return q, v

    def _dependent_change(self, A: Matrix, miss: Vector) -> Vector:
        """Return the least change of the joints that follow, by which rows gain so much."""
        return least_norm_change(A, miss, self._rank, self.dofs.tolist())

    def input_for(self, answer: PointDynamics, t: float, a: Vector) -> Vector:
        """Return the smallest input that comes nearest to an acceleration of the coordinates."""
        self.dynamics.move(t, answer.place.q, answer.v)
        G, free = self.dynamics.G[self.dofs], self.dynamics.a_free[self.dofs]
        return np.asarray(np.linalg.lstsq(G, a - free, rcond=None)[0], dtype=np.float64)
