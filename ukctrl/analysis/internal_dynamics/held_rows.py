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
from ukctrl.core.algebra.differences import WEIGHTS, jacobian
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import FreeDirections, Linearizer
from ukctrl.mechanics.start import Start, solve_start
from ukctrl.robot import Robot
from ukctrl.simulation.loop.plants_over_time import passive_gains
from ukctrl.simulation.loop.start_state import start_state
from ukctrl.simulation.loop.timed_rows import timed_servo
from ukctrl.simulation.scenario import Scenario

RATE = 20.0
"""How fast errors of the rows decay that rounding leaves [1/s]; it moves no state on them."""
ALONG = 1e-3
"""How far the motion is followed to see how the rows turn with it [rad or m]."""


class Coordinates(NamedTuple):
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


class Grip(NamedTuple):
    """How the motors hold the servo rows at a state."""

    independent: int
    """Servo rows that neither the passive ones nor each other imply."""
    held: int
    """How many of them the motors accelerate independently, the rank of ``H``."""
    idle: int
    """Motions that the motors still command while the rows hold: rank of ``G`` less that of H."""


@final
class Held:
    """The robot of a scenario with its servo rows held.

    Args:
        scenario: The scenario; what its controller believes is left out, and all effects but
            those on the plant itself.

    Attributes:
        frozen: Time at which the path is stopped [s]; None: it goes on.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.frozen: float | None = None
        self.robot = robot = plant_at(scenario, scenario.start.t)
        gains = passive_gains(scenario.stabilisation, scenario.integrator)
        self.dynamics = Dynamics(robot, scenario.rank, gains)
        servo = timed_servo(scenario)
        self.servo = Stack(servo, robot)
        passive = self.dynamics.passive
        self.whole = Stack((*passive.constraints, *servo), robot)
        self.linearizer = Linearizer(robot, scenario.rank)
        passive_kept = np.isin(np.arange(len(passive)), self.linearizer.positional)
        self.positional = np.concatenate([passive_kept, self.servo.holonomic])
        self._ahead, self._near = Stack(servo, robot), robot.snapshot(robot.neutral)
        t = scenario.start.t
        q, v, _ = start_state(
            scenario.start, robot, self.whole.constraints, scenario.seed, scenario.rank
        )
        self.given = (q, v)
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
        self._allocator = allocation(scenario).attach(task, self.servo.names)

    def stopped(self, t: float) -> Held:
        """Return the same with its path held where it is at a time [s]; they share their memory."""
        stopped = copy.copy(self)
        stopped.frozen = t
        return stopped

    def start(self) -> tuple[Vector, Vector]:
        """Return the start, moved onto all rows by the smallest change.

        Raises:
            StartError: No state near it keeps them.
        """
        start = self.nearest(*self.given, self.scenario.start.t)
        return start.q, start.v

    def input(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the input that holds the rows at a state, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: None does.
        """
        self.dynamics.move(t if self.frozen is None else self.frozen, q, v)
        rows = self._rows(v)
        error = np.where(self.servo.holonomic, rows.phi, 0.0)
        fade = np.where(self.servo.holonomic, 2.0 * RATE, RATE) * rows.beta + RATE**2 * error
        return self._allocator.input(rows, rows.b - fade, self.dynamics)

    def acceleration(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the acceleration while the rows hold, shape ``(nv,)``; errors as `input`."""
        return self.dynamics.acceleration(self.input(t, q, v))

    def asked(self, q: Vector, times: Vector) -> Matrix:
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
        if self.frozen is None:
            return rows
        b, speed = np.zeros(len(rows.b)), max_abs(v)
        if speed > 0.0:
            q, s = self.dynamics.snapshot.q, ALONG / speed
            for times, weight in enumerate(WEIGHTS, start=1):
                ahead, behind = (self._slip(q, v, sign * times * s) for sign in (1.0, -1.0))
                b -= weight / s * (ahead - behind)
        return rows._replace(b=b, beta=self._at_rest(rows, v))

    def _slip(self, q: Vector, v: Vector, s: float) -> Vector:
        self._near.move(self.robot.integrate(q, s * v), v, self.frozen or 0.0)
        return self._at_rest(self._ahead.write(self._near), v)

    def _at_rest(self, rows: Rows, v: Vector) -> Vector:
        slip: Vector = np.where(self.servo.holonomic, rows.A @ v, rows.beta)
        return slip

    def nearest(self, q: Vector, v: Vector, t: float) -> Start:
        """Return the state near one that keeps all rows."""
        return solve_start(self.whole, q, v, t, rank=self.scenario.rank)

    def coordinates(self, t: float, q: Vector, v: Vector) -> Coordinates:
        """Return coordinates of the states that keep all rows, about one of them."""
        dynamics, robot = self.dynamics, self.robot
        t = t if self.frozen is None else self.frozen
        dynamics.move(t, q, v)
        A = np.vstack([dynamics.passive.rows.A, self.servo.write(dynamics.snapshot).A])
        rtol = dynamics.rank.passive
        every = FreeDirections(dynamics.L, A, rtol)
        positions = FreeDirections(dynamics.L, A[self.positional], rtol)
        i, j = positions.chosen, every.chosen
        N_q, N_v = positions.tangent(i), every.tangent(j)

        def slips(x: Vector) -> Vector:
            passive = dynamics.look(t, robot.integrate(q, N_q @ x), v).beta
            rows = self.servo.write(dynamics.snapshot)
            servo = rows.beta if self.frozen is None else self._at_rest(rows, v)
            return np.concatenate([passive, servo])

        S = np.zeros((robot.nv, len(i)))
        if len(i) and (v.any() or not self.whole.holonomic.all()):
            S = -every.least(jacobian(slips, len(i)))
            S -= N_v @ S[j]
        return Coordinates(i, j, np.block([[N_q, np.zeros((robot.nv, len(j)))], [S, N_v]]))

    def states(self, t: float, q: Vector, v: Vector) -> int:
        """Return how many states the passive rows leave: positions, and velocities."""
        dynamics = self.dynamics
        dynamics.move(t, q, v)
        A, rtol = dynamics.passive.rows.A, dynamics.rank.passive
        positions = FreeDirections(dynamics.L, A[self.positional[: len(A)]], rtol)
        return len(positions.chosen) + len(FreeDirections(dynamics.L, A, rtol).chosen)

    def linear(self, t: float, q: Vector, v: Vector, x: Coordinates) -> Matrix:
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

    def grip(self, t: float, q: Vector, v: Vector) -> Grip:
        """Return how the motors hold the rows at a state."""
        dynamics = self.dynamics
        t = t if self.frozen is None else self.frozen
        dynamics.move(t, q, v)
        A = self.servo.write(dynamics.snapshot).A
        A_p = dynamics.passive.rows.A
        rtol = dynamics.rank.passive
        before = len(FreeDirections(dynamics.L, A_p, rtol).chosen)
        after = len(FreeDirections(dynamics.L, np.vstack([A_p, A]), rtol).chosen)
        held = dynamics.servo_report(A, self.servo.names).rank
        motors = dynamics.reached().shape[1]
        return Grip(before - after, held, motors - held)


def allocation(scenario: Scenario) -> Allocation:
    """Return the allocation that keeps a scenario's rows exactly: its own, without its limits.

    That of a law which is no servo law is the least effort.
    """
    own = scenario.controller.row_allocation
    return LeastNorm() if own is None else own.exact()
