"""The motion of least effort or least time from a state to a pose, by direct collocation."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import final

import numpy as np

from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePolynomial
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.gauss_legendre import evaluation_matrices, evaluation_rows, gauss_legendre
from ukctrl_optimal.independent_coordinates import IndependentCoordinates
from ukctrl_optimal.initial_guesses import straight_guess
from ukctrl_optimal.multistart_search import LocalOptimum, best_optimum
from ukctrl_optimal.nonlinear_program import MIN_TIME_SCALE, NonlinearProgram
from ukctrl_optimal.path_constraint_grid import ConstraintViolation
from ukctrl_optimal.path_inequalities import InequalityTable, empty_inequalities

LIMIT_TOLERANCE, SAMPLES_PER_STEP = 1e-3, 10
"""What exceeds a limit by less, in parts of it, at these parts of every step, is not told."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class OptimalMotion:
    """A motion of least effort or time, a polynomial of each coordinate on each step."""

    joints: tuple[str, ...]
    """The coordinates: joints that determine all others."""
    pieces: PiecewisePolynomial
    """Them over the time, from the start on."""
    times: Vector
    """The points at which the motion obeys the robot's dynamics, shape ``(k,)`` [s]."""
    inputs: Matrix
    """Inputs there, shape ``(k, nu)``."""
    effort: float
    r"""$\int u^\top u\, dt$."""
    residual: float
    """By how much the motion misses the robot's acceleration where steps meet, under the inputs
    continued to there: in parts of the largest acceleration."""
    iterations: int
    """Of the solver, from all ways."""
    violations: tuple[ConstraintViolation, ...] = ()
    """What it crosses of what it is to keep by more than a millionth of its unit, on or between
    points of a grid ten times as dense as that of its program; the worst first."""
    limit_excess: tuple[tuple[str, float], ...] = ()
    """What speeds and motors use beyond what they may between the points at which they are bounded,
    by more than `LIMIT_TOLERANCE`, in parts of it; the worst first. The motors follow the motion
    exactly, with the inputs nearest to those of its program."""
    limit_share: float = 1.0
    """Which part of their limits they may use."""
    guess: int = 0
    """With which way the search began that found it; the first is straight."""
    starts: int | None = None
    """From how many ways was searched, as was asked for."""

    @property
    def duration(self) -> float:
        """From end to end [s]."""
        return float(self.pieces.times[-1] - self.pieces.times[0])

    def select(self, joints: Sequence[str]) -> PiecewisePolynomial:
        """Return the motion of some of its coordinates."""
        indices = [self.joints.index(joint) for joint in joints]
        return self.pieces._replace(coefficients=self.pieces.coefficients[:, :, indices])

    def sentence(self) -> str:
        """Return it in words."""
        from_ways = f", way {self.guess + 1} of {self.starts}" if self.starts else ""
        if self.starts is None and self.guess:
            from_ways = f", bent way {self.guess}"
        crossed = f"; crosses {self.violations[0]}" if self.violations else ""
        between = ""
        if self.limit_excess:
            name, excess = self.limit_excess[0]
            others = len(self.limit_excess) - 1
            less = f", {others} others by less" if others else ""
            share = "" if self.limit_share == 1.0 else f"{100.0 * self.limit_share:.4g} % of "
            between = f" between points {name} exceeds {share}its limit by {100.0 * excess:.2g} %"
            between += f"{less};"
        return (
            f"{self.duration:.4g} s, effort {self.effort:.4g}; misses {self.residual:.0e} of the "
            f"dynamics where pieces meet;{between} {self.iterations} iterations{from_ways}{crossed}"
        )


def optimal_motion(
    freedoms: IndependentCoordinates,
    problem: MotionProblem,
    steps: int,
    stages: int,
    inequalities: InequalityTable | None = None,
    starts: int | None = None,
    seed: int = 0,
) -> OptimalMotion:
    """Return the motion: the best local optimum near the straight way in the coordinates, or near
    some ways.

    Args:
        freedoms: The robot in its coordinates, and where it starts.
        problem: What the motion is to do.
        steps: Number of steps of the collocation.
        stages: Points of each.
        inequalities: What it keeps at or above zero.
        starts: From how many ways is searched; absent: from the straight one, and from others where
            that leads to none that keeps everything.
        seed: By which the others are drawn.

    Raises:
        InputError: No optimum was found; the message says why.
    """
    with one_blas_thread():
        table = empty_inequalities(freedoms) if inequalities is None else inequalities
        program, straight = straight_guess(freedoms, gauss_legendre(stages), steps, problem, table)
        optimum = best_optimum(program, straight, starts, seed)
        if problem.minimises_time and optimum.program.split(optimum.z).sigma < 2.0 * MIN_TIME_SCALE:
            raise InputError(
                "must be bounded by limits where its time is least; without one on some motor any "
                "time is too long. Limit it, or the speeds of the joints."
            )
        return _motion(optimum, starts)


def _motion(optimum: LocalOptimum, starts: int | None) -> OptimalMotion:
    program, z = optimum.program, optimum.z
    variables, scheme, steps = program.split(z), program.scheme, program.steps
    stages, sigma = len(scheme.nodes), float(variables.sigma[0, 0])
    by_powers = np.einsum("pj,kjn->kpn", scheme.powers, variables.a.reshape(steps, stages, -1))
    k = np.arange(stages)[:, None]
    tail = by_powers * program.h**2 / ((k + 1) * (k + 2))  # in times of a step
    whole = np.concatenate(
        [variables.y[:-1, None], program.h * variables.w[:-1, None], tail], axis=1
    )
    h, robot = sigma * program.h, program.freedoms.robot
    times = np.asarray(program.wanted.t + h * np.arange(steps + 1), dtype=np.float64)
    return OptimalMotion(
        joints=tuple(robot.dofs[i] for i in program.freedoms.dofs.tolist()),
        pieces=PiecewisePolynomial(times, whole / h ** np.arange(stages + 2)[:, None]),
        times=program.times(sigma),
        inputs=variables.u.copy(),
        effort=sigma * program.effort(z),
        residual=_dynamics_residual(program, z),
        limit_excess=_limit_excess(program, z),
        limit_share=program.wanted.limit_share,
        iterations=optimum.iterations,
        violations=optimum.violations,
        guess=optimum.guess,
        starts=starts,
    )


def _limit_excess(program: NonlinearProgram, z: Vector) -> tuple[tuple[str, float], ...]:
    """Return what is beyond the limits of speeds and motors within steps; see `OptimalMotion`."""
    variables, scheme, free = program.split(z), program.scheme, program.freedoms
    sigma, robot, stages = float(variables.sigma[0, 0]), free.robot, len(program.scheme.nodes)
    fractions = np.linspace(0.0, 1.0, SAMPLES_PER_STEP + 1)
    onto = evaluation_rows(scheme, fractions, program.steps, free.n, program.h)
    y, w, a = (onto @ program.motion(z)).reshape(3, -1, free.n)
    by_stage = evaluation_matrices(scheme.powers, fractions).acceleration
    u = (by_stage @ variables.u.reshape(program.steps, stages, -1)).reshape(-1, robot.nu)
    times = program.h * sigma * (np.arange(program.steps)[:, None] + fractions).ravel()
    near, share = free.start, program.wanted.limit_share
    used: Matrix = np.zeros((len(times), robot.nv + robot.nu))
    for k, t in enumerate((program.wanted.t + times).tolist()):
        rate, wanted = w[k] / sigma, a[k] / sigma**2
        at = free.forward_dynamics(t, near, y[k], rate, u[k])
        near = free.full_state(t, near, y[k], rate, wanted).place
        # the nearest input that follows the motion: it changes what accelerates it otherwise
        change = np.linalg.lstsq(free.dynamics.G[free.dofs], wanted - at.a, rcond=None)[0]
        motor = u[k] + change
        low, high = robot.input_bounds(at.v @ robot.snapshot(at.place.q).B)
        size = np.where(np.isfinite([low, high]), np.abs([low, high]), 0.0).max(axis=0)
        beyond = np.maximum(motor - share * high, share * low - motor)
        used[k, : robot.nv] = np.abs(at.v) / (share * robot.velocity_limit) - 1.0
        used[k, robot.nv :] = beyond / np.maximum(share * size, np.finfo(float).tiny)
    names = [f"speed of '{dof}'" for dof in robot.dofs]
    names += [f"motor '{motor}'" for motor in robot.actuators]
    excess = used.max(axis=0)
    return tuple(
        (names[i], float(excess[i])) for i in np.argsort(-excess) if excess[i] > LIMIT_TOLERANCE
    )


def _dynamics_residual(program: NonlinearProgram, z: Vector) -> float:
    """Return by how much accelerations are missed where steps meet; see `OptimalMotion`."""
    variables, stages = program.split(z), len(program.scheme.nodes)
    sigma, worst = float(variables.sigma[0, 0]), 0.0
    chart_points = [answer.place for answer in program.point_dynamics(z)]
    for step in range(program.steps + 1):
        k = min(step, program.steps - 1)
        points = slice(stages * k, stages * (k + 1))
        # at the step's beginning, and of the last step at its end: powers of 0 or 1
        onto = float(step - k) ** np.arange(stages) @ program.scheme.powers
        t = program.wanted.t + sigma * program.h * step
        state = variables.y[step], variables.w[step] / sigma, onto @ variables.u[points]
        a = program.freedoms.forward_dynamics(t, chart_points[stages * k], *state).a
        worst = max(worst, max_abs(sigma**2 * a - onto @ variables.a[points]))
    # a motion that rests has no acceleration to measure by
    return worst / max(max_abs(variables.a), np.finfo(float).tiny)
