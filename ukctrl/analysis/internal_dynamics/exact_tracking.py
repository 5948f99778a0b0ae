r"""A robot whose servo rows hold as if they were ideal: what is left is the internal dynamics.

The motors realise the rows exactly, $a = a_\mathrm{free} + G u$ with the $u$ of the allocation that
solves $H u = b - A a_\mathrm{free}$. On the states that keep all rows, with their derivatives,
as many coordinates as the rows leave stand for all: $x = (\delta q_i, \delta v_j)$ with

$$ \delta q = N_q\, \delta q_i, \qquad \delta v = N_v\, \delta v_j + S\, \delta q_i , $$

$N_q$ the null space of the rows that hold positions, $N_v$ of all of them, passive and servo.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.operating_point import plant_at
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.task import Task
from ukctrl.core.algebra.finite_differences import SIXTH_ORDER_WEIGHTS, jacobian
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.consistent_state import ConsistentState, consistent_state
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import ConstraintNullSpace, Linearizer
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.plant_sequence import stabilisation_gains
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import Scenario

ERROR_DECAY_RATE = 20.0
"""How fast errors of the rows decay that rounding leaves [1/s]; it moves no state on them."""
DIFFERENCE_STEP = 1e-3
"""How far the motion is followed to see how the rows turn with it [rad or m]."""


class InternalCoordinates(NamedTuple):
    """The states near one that keep the rows, to first order."""

    positions: Indices
    """The velocities along which the configuration's deviations are the first entries of x."""
    velocities: Indices
    """The velocities whose deviations are the other entries."""
    full: Matrix
    """All deviations from the chosen ones, ``(dq, dv) = full x``, shape ``(2 nv, n)``."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.positions) + len(self.velocities)

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return what the chosen coordinates are called, rates as ``v.<name>``."""
        dofs = robot.dofs
        return (*(dofs[i] for i in self.positions), *(f"v.{dofs[j]}" for j in self.velocities))


class RowAuthority(NamedTuple):
    """How the motors hold the servo rows at a state."""

    rank_A: int
    """Servo rows that neither the passive ones nor each other imply."""
    rank_H: int
    """How many of them the motors accelerate independently, the rank of ``H``."""
    null_inputs: int
    """Motions that the motors still command while the rows hold: rank of ``G`` less that of H."""


@final
class ExactTracking:
    """The robot of a scenario with its servo rows held.

    Args:
        scenario: The scenario; what its controller believes is left out, and all effects but
            those on the plant itself.

    Attributes:
        path_time: Time at which the path is stopped [s]; None: it goes on.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.path_time: float | None = None
        self.robot = robot = plant_at(scenario, scenario.start.t)
        gains = stabilisation_gains(scenario.stabilisation, scenario.integrator)
        self.dynamics = Dynamics(robot, scenario.rank, gains)
        servo = servo_constraints(scenario)
        self.servo = Stack(servo, robot)
        passive = self.dynamics.passive
        self.whole = Stack((*passive.constraints, *servo), robot)
        self.linearizer = Linearizer(robot, scenario.rank)
        passive_kept = np.isin(np.arange(len(passive)), self.linearizer.position_rows)
        self.positional = np.concatenate([passive_kept, self.servo.holonomic])
        self._ahead, self._near = Stack(servo, robot), robot.snapshot(robot.neutral)
        t = scenario.start.t
        q, v, _ = start_state(
            scenario.start, robot, self.whole.constraints, scenario.seed, scenario.rank
        )
        self.scenario_start = (q, v)
        """The start as the scenario has it."""
        task = Task(
            robot=robot,
            servo=servo,
            q=q,
            v=v,
            start=t,
            duration=scenario.timing.duration,
            rank=scenario.rank,
            gains=gains,
        )
        self._allocator = exact_allocation(scenario).attach(task, self.servo.names)

    def with_frozen_path(self, t: float) -> ExactTracking:
        """Return the same with its path held where it is at a time [s]; they share their memory."""
        stopped = copy.copy(self)
        stopped.path_time = t
        return stopped

    def start(self) -> tuple[Vector, Vector]:
        """Return the start, moved onto all rows by the smallest change.

        Raises:
            StartError: No state near it keeps them.
        """
        start = self.project(*self.scenario_start, self.scenario.start.t)
        return start.q, start.v

    def input(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the input that holds the rows at a state, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: None does.
        """
        self.dynamics.move(t if self.path_time is None else self.path_time, q, v)
        rows = self._rows(v)
        error = np.where(self.servo.holonomic, rows.phi, 0.0)
        fade = (
            np.where(self.servo.holonomic, 2.0 * ERROR_DECAY_RATE, ERROR_DECAY_RATE) * rows.beta
            + ERROR_DECAY_RATE**2 * error
        )
        return self._allocator.input(rows, rows.b - fade, self.dynamics)

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the acceleration while the rows hold, shape ``(nv,)``; errors as `input`."""
        return self.dynamics.acceleration(self.input(t, q, v))

    def row_demands(self, q: Vector, times: Vector) -> Matrix:
        """Return what the rows ask for at a configuration at rest, one time below another."""
        snapshot, still = self.robot.snapshot(q), np.zeros(self.robot.nv)
        demands = []
        for t in times.tolist():
            snapshot.move(q, still, t)
            rows = self.servo.write(snapshot)
            demands.append(np.concatenate([np.nan_to_num(rows.phi), rows.beta, rows.b]))
        return np.array(demands)

    def _rows(self, v: Vector) -> Rows:
        r"""Return the servo rows at the state of the dynamics; on a path at rest if it is frozen.

        $b = -\frac{d}{ds}\\beta(q \\oplus s v, v)$ along the motion, with time and speed standing
        still, is what is left of $b$ when the path stops.
        """
        rows = self.servo.write(self.dynamics.snapshot)
        if self.path_time is None:
            return rows
        b, speed = np.zeros(len(rows.b)), max_abs(v)
        if speed > 0.0:
            q, s = self.dynamics.snapshot.q, DIFFERENCE_STEP / speed
            for times, weight in enumerate(SIXTH_ORDER_WEIGHTS, start=1):
                forward, behind = (
                    self._velocity_error(q, v, sign * times * s) for sign in (1.0, -1.0)
                )
                b -= weight / s * (forward - behind)
        return rows._replace(b=b, beta=self._rest_beta(rows, v))

    def _velocity_error(self, q: Vector, v: Vector, s: float) -> Vector:
        self._near.move(self.robot.integrate(q, s * v), v, self.path_time or 0.0)
        return self._rest_beta(self._ahead.write(self._near), v)

    def _rest_beta(self, rows: Rows, v: Vector) -> Vector:
        slip: Vector = np.where(self.servo.holonomic, rows.A @ v, rows.beta)
        return slip

    def project(self, q: Vector, v: Vector, t: float) -> ConsistentState:
        """Return the state near one that keeps all rows."""
        return consistent_state(self.whole, q, v, t, rank=self.scenario.rank)

    def coordinates(self, t: float, q: Vector, v: Vector) -> InternalCoordinates:
        """Return coordinates of the states that keep all rows, about one of them."""
        dynamics, robot = self.dynamics, self.robot
        t = t if self.path_time is None else self.path_time
        dynamics.move(t, q, v)
        A = np.vstack([dynamics.passive.rows.A, self.servo.write(dynamics.snapshot).A])
        rtol = dynamics.rank.passive
        null_space = ConstraintNullSpace(dynamics.L, A, rtol)
        positions = ConstraintNullSpace(dynamics.L, A[self.positional], rtol)
        i, j = positions.independent_velocities, null_space.independent_velocities
        N_q, N_v = positions.tangent(i), null_space.tangent(j)

        def slips(x: Vector) -> Vector:
            passive = dynamics.look(t, robot.integrate(q, N_q @ x), v).beta
            rows = self.servo.write(dynamics.snapshot)
            servo = rows.beta if self.path_time is None else self._rest_beta(rows, v)
            return np.concatenate([passive, servo])

        S = np.zeros((robot.nv, len(i)))
        # At rest on holonomic rows no velocity follows from a displacement: S = 0.
        if len(i) and (v.any() or not self.whole.holonomic.all()):
            S = -null_space.least_norm_solution(jacobian(slips, len(i)))
            S -= N_v @ S[j]
        return InternalCoordinates(i, j, np.block([[N_q, np.zeros((robot.nv, len(j)))], [S, N_v]]))

    def state_count(self, t: float, q: Vector, v: Vector) -> int:
        """Return how many states the passive rows leave: positions, and velocities."""
        dynamics = self.dynamics
        dynamics.move(t, q, v)
        A, rtol = dynamics.passive.rows.A, dynamics.rank.passive
        positions = ConstraintNullSpace(dynamics.L, A[self.positional[: len(A)]], rtol)
        return len(positions.independent_velocities) + len(
            ConstraintNullSpace(dynamics.L, A, rtol).independent_velocities
        )

    def system_matrix(self, t: float, q: Vector, v: Vector, x: InternalCoordinates) -> Matrix:
        r"""Return how the internal coordinates' rates change with them, shape ``(n, n)`` [1/s].

        By central differences of $(v, a)$ along the tangent of the states that keep the rows.
        """
        robot, n = self.robot, self.robot.nv
        if not x.size:
            return np.zeros((0, 0))

        def rates(d: Vector) -> Vector:
            step = x.full @ d
            return self.acceleration(t, robot.integrate(q, step[:n]), v + step[n:])

        moves = x.full[n:] - robot.bracket(v) @ x.full[:n]
        changes: Matrix = np.vstack([moves[x.positions], jacobian(rates, x.size)[x.velocities]])
        return changes

    def authority(self, t: float, q: Vector, v: Vector) -> RowAuthority:
        """Return how the motors hold the rows at a state."""
        dynamics = self.dynamics
        t = t if self.path_time is None else self.path_time
        dynamics.move(t, q, v)
        A = self.servo.write(dynamics.snapshot).A
        A_p = dynamics.passive.rows.A
        rtol = dynamics.rank.passive
        mobility = len(ConstraintNullSpace(dynamics.L, A_p, rtol).independent_velocities)
        internal_dofs = len(
            ConstraintNullSpace(dynamics.L, np.vstack([A_p, A]), rtol).independent_velocities
        )
        grip_rank = dynamics.servo_report(A, self.servo.names).rank
        motors = dynamics.reached().shape[1]
        return RowAuthority(mobility - internal_dofs, grip_rank, motors - grip_rank)


def exact_allocation(scenario: Scenario) -> Allocation:
    """Return the allocation that keeps a scenario's rows exactly: its own, without its limits.

    That of a law which is no servo law is the least effort.
    """
    allocation = scenario.controller.row_allocation
    return LeastNorm() if allocation is None else allocation.exact()
