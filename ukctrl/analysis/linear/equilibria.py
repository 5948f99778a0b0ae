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
from ukctrl.core.algebra.finite_differences import limited_step
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import first_largest, max_abs, tie_ranks
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains, passive_constraints
from ukctrl.mechanics.linearise import Linearizer, output_matrix
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.assemble.start_state import start_state
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario

GUESSES = 24
"""From how many configurations a search for all equilibria begins."""
STEPS = 60
"""Steps of one search."""
MAX_STEP = 0.5
"""The longest of them [rad or m]."""
HALVINGS = 14
"""How often a step that does not help is halved before the search ends."""
RESIDUAL_TOLERANCE = 1e-10
"""What no motor carries, as a fraction of what it adds up from, and rows, at a solution."""
STALLED_TOLERANCE = 1e-8
"""The same, where no step brings it nearer any more."""
RANK_RTOL = 1e-7
"""A direction in which nothing changes by more than this fraction is one of a family."""
SAME_TOLERANCE = 1e-5
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
    scenario: AnyScenario,
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
        scenario: The scenario, its name, or the path of its file; its controller plays no part.
        hold: Freedoms that stay as they are at the start.
        on_task: Whether the servo rows must be met, at the time of the start.
        guesses: From how many configurations to search; 1: from the start alone.
        seed: Of the other guesses.

    Raises:
        InputError: There is none within reach of the guesses, or a name is no freedom's.
    """
    search = _EquilibriumSearch(as_scenario(scenario), hold, on_task)
    rests: list[Equilibrium] = []
    best: _FailedSearch | None = None
    for guess in search.guesses(guesses, seed):
        answer = search.solve(guess)
        if isinstance(answer, _FailedSearch):
            best = answer if best is None or answer.residual < best.residual else best
        elif not any(search.is_same(answer, peer) for peer in rests):
            rests.append(answer)
            # It rests anywhere: further guesses find the same.
            if answer.family == search.freedoms:
                break
    if not rests:
        raise InputError(search.refusal(best, guesses))
    order = np.argsort(tie_ranks(equilibrium.distance for equilibrium in rests), kind="stable")
    return tuple(rests[k] for k in order)


def angle_difference(robot: Robot, q: Vector, q_ref: Vector) -> Vector:
    """Return how far one configuration is from another, whole turns of joints left out."""
    off = robot.difference(q, q_ref)
    turns = np.array(robot.dof_units) == "rad/s"
    return np.where(turns, off - math.tau * np.round(off / math.tau), off)


class _FailedSearch(NamedTuple):
    """Where a search ended that found nothing."""

    residual: float
    text: str


class _Evaluation(NamedTuple):
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
    directions: Matrix
    """Directions that are allowed and not held, shape ``(nv, k)``."""

    @property
    def residual(self) -> float:
        return max_abs(self.F)


def _newton_step(evaluation: _Evaluation) -> Vector:
    """Return the smallest step of all freedoms that Newton's method asks for."""
    Q, R = np.linalg.qr(evaluation.directions)
    if not R.size:
        return np.zeros(len(evaluation.directions))
    y = np.linalg.lstsq(
        np.linalg.solve(R.T, evaluation.J.T).T, -evaluation.F / evaluation.unit, rcond=RANK_RTOL
    )[0]
    return limited_step(Q @ y, MAX_STEP)


@final
class _EquilibriumSearch:
    """The searches from several guesses on one scenario."""

    def __init__(self, scenario: Scenario, hold: Sequence[str], on_task: bool) -> None:
        t = scenario.start.t
        self.t, self.robot = t, plant_at(scenario, t)
        self._held = [dof_index(self.robot, name) for name in hold]
        passive = passive_constraints(self.robot)
        self._passive = Stack(passive, self.robot)
        servo = servo_constraints(scenario)
        self._servo = Stack(servo if on_task else (), self.robot)
        constraints = (*passive, *servo)
        self.start, _, _ = start_state(
            scenario.start, self.robot, constraints, scenario.seed, scenario.rank
        )
        self._dynamics = Dynamics(self.robot, scenario.rank, StabilisationGains(0.0, 0.0))
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

    def is_same(self, one: Equilibrium, peer: Equilibrium) -> bool:
        """Return whether two configurations are one, up to whole turns."""
        off = angle_difference(self.robot, peer.point.q, one.point.q)
        off = off - peer.directions @ (peer.directions.T @ off)
        return bool(max_abs(off) < SAME_TOLERANCE)

    def solve(self, q: Vector) -> Equilibrium | _FailedSearch:
        """Search from a guess."""
        try:
            evaluation = self._evaluate(self._project(q))
            for _ in range(STEPS):
                if evaluation.residual <= RESIDUAL_TOLERANCE:
                    break
                nearer = self._line_search(evaluation)
                if nearer is None:
                    break
                evaluation = nearer
            if evaluation.residual <= STALLED_TOLERANCE:
                return self._solution(evaluation)
            return self._failure(evaluation.F)
        except (UkctrlError, ArithmeticError) as error:
            return _FailedSearch(math.inf, str(error))

    def _line_search(self, evaluation: _Evaluation) -> _Evaluation | None:
        """Return a better place a step further, of half the length until it is one."""
        step = _newton_step(evaluation)
        for halvings in range(HALVINGS):
            trial = self.robot.integrate(evaluation.q, 0.5**halvings * step)
            candidate = self._evaluate(self._project(trial))
            if np.linalg.norm(candidate.F) < np.linalg.norm(evaluation.F):
                return candidate
        return None

    def _project(self, q: Vector) -> Vector:
        if not len(self._passive):
            return q
        return consistent_configuration(
            self._passive, self._dynamics.snapshot, q, self.t, self._held
        )

    def _evaluate(self, q: Vector) -> _Evaluation:
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
        inside = null_space(N[self._held], rcond=RANK_RTOL) if self._held else np.eye(k)
        # Less the motors' part; in lengths of its own, no light row hides a heavy one.
        by_motors, alone = np.vstack([carried / usual, 0.0 * rows]), np.vstack([free / usual, rows])
        unit = np.maximum(1.0, np.linalg.norm(alone, axis=1))
        return _Evaluation(
            q=q,
            u=u,
            F=np.concatenate([a[linear.velocities] / usual, phi]),
            J=(alone - by_motors) / unit[:, None] @ inside,
            unit=unit,
            directions=N @ inside,
        )

    def _solution(self, evaluation: _Evaluation) -> Equilibrium:
        _, sigma, Vt = np.linalg.svd(evaluation.J)
        rank = int(np.count_nonzero(sigma > RANK_RTOL * max(1.0, max_abs(sigma))))
        directions, _ = np.linalg.qr(evaluation.directions @ Vt[rank:].T)
        self.freedoms = evaluation.J.shape[1]
        still, q = np.zeros(self.robot.nv), evaluation.q
        return Equilibrium(
            point=OperatingPoint(t=self.t, q=q, v=still, u=evaluation.u, source="an equilibrium"),
            directions=directions,
            distance=float(np.linalg.norm(self.robot.difference(self.start, q))),
        )

    def _failure(self, F: Vector) -> _FailedSearch:
        m = len(self._servo)
        balance, phi = F[: len(F) - m], F[len(F) - m :]
        worst = max_abs(F)
        if m and max_abs(phi) >= max_abs(balance):
            row = first_largest(np.abs(phi))
            unit = self._servo.units[row]
            text = f"row '{self._servo.names[row]}' is off by {abs(phi[row]):.3g} {unit}".rstrip()
            return _FailedSearch(worst, text)
        return _FailedSearch(
            worst, f"no input balances {max_abs(balance):.1%} of the accelerations"
        )

    def refusal(self, best: _FailedSearch | None, guesses: int) -> str:
        """Return why there is no equilibrium, in words."""
        count = "the start" if guesses == 1 else f"the start and {guesses - 1} guesses around it"
        nearest = f"; at the nearest {best.text.rstrip('.')}" if best is not None else ""
        rows = ", the servo rows met" if len(self._servo) else ""
        locked_dofs = [self.robot.dofs[k] for k in self._held]
        advice = f"Release {', '.join(locked_dofs)}" if locked_dofs else "Start nearer"
        task = " or leave the servo rows out of it" if len(self._servo) else ""
        return (
            f"robot '{self.robot.name}' must rest somewhere{rows}; from {count} no equilibrium is "
            f"found{nearest}. {advice}{task}."
        )
