r"""Configurations at which inputs hold a robot at rest, with every constraint met.

Sought is a $q$ with $\varphi_p(q) = 0$, $\varphi(q, t) = 0$ and an input $u$ with $a(q, 0, u) = 0$.
The acceleration is affine in the input, so that $u$ is eliminated: what no motor carries,
$\rho(q) = (I - G G^+)\, a_\mathrm{free}(q)$, must vanish together with the servo rows. Gauss-Newton
on the freedoms that the passive constraints leave, with the derivatives of the linearised robot and
steps of least length, leads to the solution nearest to where it begins.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint, plant_at
from ukctrl.core.algebra.differences import shortened
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.extremes import first_largest, max_abs, places
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import Dynamics, Gains, passive_constraints
from ukctrl.mechanics.linearise import Linearizer, output_matrix
from ukctrl.mechanics.start import solve_positions
from ukctrl.robot import Robot
from ukctrl.simulation.loop.start_state import start_state
from ukctrl.simulation.loop.timed_rows import timed_servo
from ukctrl.simulation.scenario import Scenario

GUESSES = 24
"""From how many configurations a search for all equilibria begins."""
STEPS = 60
"""Steps of one search."""
STRIDE = 0.5
"""The longest of them [rad or m]."""
HALVINGS = 14
"""How often a step that does not help is halved before the search ends."""
BALANCED = 1e-10
"""What no motor carries, as a fraction of what it adds up from, and rows, at a solution."""
ROUNDING = 1e-8
"""The same, where no step brings it nearer any more."""
LOOSE = 1e-7
"""A direction in which nothing changes by more than this fraction is one of a family."""
DISTINCT = 1e-5
"""Equilibria nearer than this are one [rad or m]."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class Equilibrium:
    """A configuration at rest, and the least input that holds it."""

    point: OperatingPoint
    """Configuration and least input, with the time at which the servo rows are met."""
    directions: Matrix
    """Orthonormal velocities along which more equilibria follow, shape ``(nv, family)``."""
    distance: float
    """How far the freedoms are from the start, in norm [rad, m]."""

    @property
    def family(self) -> int:
        """In how many directions equilibria go on; 0: it stands alone."""
        return int(self.directions.shape[1])


def equilibria(
    scenario: Scenario,
    *,
    hold: Sequence[str] = (),
    on_task: bool = True,
    guesses: int = GUESSES,
    seed: int = 0,
) -> tuple[Equilibrium, ...]:
    """Return the equilibria of a scenario's plant that are found, the nearest to its start first.

    The first search begins at the start itself. Of a family, such as the places along a rail, one
    is returned, though of a curved one several may be; where motors hold the robot anywhere, the
    nearest alone.

    Args:
        scenario: The scenario; its controller plays no part.
        hold: Freedoms that stay as they are at the start.
        on_task: Whether the servo rows must be met, at the time of the start.
        guesses: From how many configurations to search; 1: from the start alone.
        seed: Of the other guesses.

    Raises:
        InputError: There is none within reach of the guesses, or a name is no freedom's.
    """
    search = _Search(scenario, hold, on_task)
    rests: list[Equilibrium] = []
    best: _Miss | None = None
    for guess in search.guesses(guesses, seed):
        answer = search.run(guess)
        if isinstance(answer, _Miss):
            best = answer if best is None or answer.left < best.left else best
        elif not any(search.same(answer, other) for other in rests):
            rests.append(answer)
            if answer.family == search.freedoms:
                break
    if not rests:
        raise InputError(search.refusal(best, guesses))
    order = np.argsort(places(each.distance for each in rests), kind="stable")
    return tuple(rests[k] for k in order)


def within_a_turn(robot: Robot, q: Vector, other: Vector) -> Vector:
    """Return how far one configuration is from another, whole turns of joints left out."""
    off = robot.difference(q, other)
    turns = np.array(robot.dof_units) == "rad/s"
    return np.where(turns, off - math.tau * np.round(off / math.tau), off)


class _Miss(NamedTuple):
    """Where a search ended that found nothing."""

    left: float
    what: str


class _Look(NamedTuple):
    """What is found at one configuration."""

    q: Vector
    u: Vector
    """The least input of those that leave least acceleration."""
    F: Vector
    """What must vanish: what no motor carries, as a fraction of the usual, and the rows."""
    J: Matrix
    """How that changes along the directions below, in the units of its rows."""
    unit: Vector
    """Of each row, how it changes were no motor there: a light body hides no heavy one."""
    along: Matrix
    """Directions that are allowed and not held, shape ``(nv, k)``."""

    @property
    def left(self) -> float:
        return max_abs(self.F)


def _step(here: _Look) -> Vector:
    """Return the smallest step of all freedoms that Newton's method asks for."""
    Q, R = np.linalg.qr(here.along)
    if not R.size:
        return np.zeros(len(here.along))
    y = np.linalg.lstsq(np.linalg.solve(R.T, here.J.T).T, -here.F / here.unit, rcond=LOOSE)[0]
    return shortened(Q @ y, STRIDE)


@final
class _Search:
    """The searches from several guesses on one scenario."""

    def __init__(self, scenario: Scenario, hold: Sequence[str], on_task: bool) -> None:
        t = scenario.start.t
        self.t, self.robot = t, plant_at(scenario, t)
        self._held = [dof_index(self.robot, name) for name in hold]
        passive = passive_constraints(self.robot)
        self._passive = Stack(passive, self.robot)
        servo = timed_servo(scenario)
        self._servo = Stack(servo if on_task else (), self.robot)
        every = (*passive, *servo)
        self.start, _, _ = start_state(
            scenario.start, self.robot, every, scenario.seed, scenario.rank
        )
        self._dynamics = Dynamics(self.robot, scenario.rank, Gains(0.0, 0.0))
        self._linearizer = Linearizer(self.robot, scenario.rank)
        self.freedoms = self.robot.nv
        """Directions that the passive constraints and what is held leave."""

    def guesses(self, count: int, seed: int) -> Iterator[Vector]:
        """Yield the start, then configurations around it within the joints' limits."""
        yield self.start
        rng = np.random.default_rng(seed)
        for _ in range(count - 1):
            step = self.robot.difference(self.start, self.robot.random(rng))
            step[self._held] = 0.0
            yield self.robot.integrate(self.start, step)

    def same(self, one: Equilibrium, other: Equilibrium) -> bool:
        """Return whether two configurations are one, up to whole turns."""
        off = within_a_turn(self.robot, other.point.q, one.point.q)
        off = off - other.directions @ (other.directions.T @ off)
        return bool(max_abs(off) < DISTINCT)

    def run(self, q: Vector) -> Equilibrium | _Miss:
        """Search from a guess."""
        try:
            here = self._look(self._onto_passive(q))
            for _ in range(STEPS):
                if here.left <= BALANCED:
                    break
                nearer = self._nearer(here)
                if nearer is None:
                    break
                here = nearer
            if here.left <= ROUNDING:
                return self._solution(here)
            return self._miss(here.F)
        except (UkctrlError, ArithmeticError) as error:
            return _Miss(math.inf, str(error))

    def _nearer(self, here: _Look) -> _Look | None:
        """Return a better place a step further, of half the length until it is one."""
        step = _step(here)
        for halvings in range(HALVINGS):
            trial = self.robot.integrate(here.q, 0.5**halvings * step)
            there = self._look(self._onto_passive(trial))
            if np.linalg.norm(there.F) < np.linalg.norm(here.F):
                return there
        return None

    def _onto_passive(self, q: Vector) -> Vector:
        if not len(self._passive):
            return q
        return solve_positions(self._passive, self._dynamics.snapshot, q, self.t, self._held)

    def _look(self, q: Vector) -> _Look:
        """Evaluate at a configuration on the passive constraints."""
        from scipy.linalg import null_space

        dynamics, n = self._dynamics, self.robot.nv
        dynamics.move(self.t, q, np.zeros(n))
        s = dynamics.snapshot
        u = dynamics.least_input(np.zeros(n))
        usual = 1.0 + max_abs(np.linalg.solve(s.M, s.nle - s.f))
        a = dynamics.acceleration(u)
        phi = np.nan_to_num(self._servo.write(s).phi)
        linear = self._linearizer.at(self.t, q, np.zeros(n), u)
        k, N = len(linear.positions), linear.full[:n, : len(linear.positions)]
        free = linear.A[k:, :k]
        carried = linear.B[k:] @ dynamics.least_push(s.M @ linear.full[n:, k:] @ free)
        rows = (output_matrix(self._servo, linear, self.t) @ linear.full)[:, :k]
        rows[~self._servo.holonomic] = 0.0
        inside = null_space(N[self._held], rcond=LOOSE) if self._held else np.eye(k)
        by_motors, alone = np.vstack([carried / usual, 0.0 * rows]), np.vstack([free / usual, rows])
        unit = np.maximum(1.0, np.linalg.norm(alone, axis=1))
        return _Look(
            q=q,
            u=u,
            F=np.concatenate([a[linear.velocities] / usual, phi]),
            J=(alone - by_motors) / unit[:, None] @ inside,
            unit=unit,
            along=N @ inside,
        )

    def _solution(self, here: _Look) -> Equilibrium:
        _, sigma, Vt = np.linalg.svd(here.J)
        rank = int(np.count_nonzero(sigma > LOOSE * max(1.0, max_abs(sigma))))
        directions, _ = np.linalg.qr(here.along @ Vt[rank:].T)
        self.freedoms = here.J.shape[1]
        still, q = np.zeros(self.robot.nv), here.q
        return Equilibrium(
            point=OperatingPoint(t=self.t, q=q, v=still, u=here.u, source="an equilibrium"),
            directions=directions,
            distance=float(np.linalg.norm(self.robot.difference(self.start, q))),
        )

    def _miss(self, F: Vector) -> _Miss:
        m = len(self._servo)
        balance, phi = F[: len(F) - m], F[len(F) - m :]
        worst = max_abs(F)
        if m and max_abs(phi) >= max_abs(balance):
            row = first_largest(np.abs(phi))
            unit = self._servo.units[row]
            text = f"row '{self._servo.names[row]}' is off by {abs(phi[row]):.3g} {unit}".rstrip()
            return _Miss(worst, text)
        return _Miss(worst, f"no input balances {max_abs(balance):.1%} of the accelerations")

    def refusal(self, best: _Miss | None, guesses: int) -> str:
        """Return why there is no equilibrium, in words."""
        count = "the start" if guesses == 1 else f"the start and {guesses - 1} guesses around it"
        nearest = f"; at the nearest {best.what.rstrip('.')}" if best is not None else ""
        rows = ", the servo rows met" if len(self._servo) else ""
        held = [self.robot.dofs[k] for k in self._held]
        advice = f"Release {', '.join(held)}" if held else "Start nearer"
        task = " or leave the servo rows out of it" if len(self._servo) else ""
        return (
            f"robot '{self.robot.name}' must rest somewhere{rows}; from {count} no equilibrium is "
            f"found{nearest}. {advice}{task}."
        )
