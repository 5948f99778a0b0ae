"""Ways with which the search for a motion begins: the straight one, and some that are bent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.gauss_legendre import GaussLegendre
from ukctrl_optimal.independent_coordinates import IndependentCoordinates
from ukctrl_optimal.nonlinear_program import NonlinearProgram
from ukctrl_optimal.path_inequalities import InequalityTable

MAX_GUESSES, TIME_RTOL = 12, 0.05
"""Times that are tried until the straight way uses the limits up, and how nearly it shall."""
MAX_TIME_FACTOR = 4.0
"""One is followed by one of at most so many times it, or this part of it."""
HALF_WAVES, DETOUR_RATIO = 2, 0.5
"""Half waves by which a way is bent, and how far in parts of its length, on the average."""


def straight_guess(
    freedoms: IndependentCoordinates,
    scheme: GaussLegendre,
    steps: int,
    problem: MotionProblem,
    inequalities: InequalityTable,
) -> tuple[NonlinearProgram, Vector]:
    """Return the program, and the straight way from which its solver begins.

    Raises:
        InputError: The straight way leads to where the passive rows cannot be kept.
    """
    duration = problem.duration or 1.0
    try:
        for _ in range(MAX_GUESSES):
            program = NonlinearProgram(freedoms, scheme, steps, problem, duration, inequalities)
            guess = _rest_to_rest_guess(program, np.zeros((HALF_WAVES, freedoms.n)))
            used = 1.0 if problem.duration is not None else program.time_scale_guess(guess)
            if abs(used - 1.0) < TIME_RTOL:
                break
            # a quotient far from one comes of a guess far off: approached in steps
            duration *= min(max(used, 1.0 / MAX_TIME_FACTOR), MAX_TIME_FACTOR)
    except StartError as error:
        raise InputError(
            f"must be able to begin with the straight way of its joints; on it, {error}"
        ) from None
    return program, _within_limits(program, guess)


def random_guesses(program: NonlinearProgram, rng: np.random.Generator) -> Iterator[Vector]:
    """Yield ways that are bent aside, the passive rows kept all along them."""
    displacement = np.abs(_displacement(program))
    units = np.array(program.freedoms.robot.dof_units)[program.freedoms.dofs]
    for unit in dict.fromkeys(units.tolist()):
        mask = units == unit
        # a joint that need not move may still have to make room
        displacement[mask] = np.maximum(displacement[mask], DETOUR_RATIO * displacement[mask].max())
    displacement[displacement == 0.0] = DETOUR_RATIO * displacement.max()
    while True:
        aside = DETOUR_RATIO * rng.standard_normal((HALF_WAVES, len(displacement))) * displacement
        # the first half wave counts most: the longer, the gentler
        aside[0] *= HALF_WAVES
        for _ in range(MAX_GUESSES):
            program.reset_continuation()
            try:
                guess = _rest_to_rest_guess(program, aside)
            except StartError:
                # closures do not let the bent way: half as bent
                aside *= 0.5
                continue
            yield _within_limits(program, guess)
            break


def _displacement(program: NonlinearProgram) -> Vector:
    """Return how far the straight way goes in every coordinate."""
    goal, begin = program.wanted.goal, program.freedoms.start.y
    gone: Vector = np.where(np.isfinite(goal), goal - begin, 0.0)
    return gone


def _rest_to_rest_guess(program: NonlinearProgram, aside: Matrix) -> Vector:
    """Return a way in the coordinates, from rest to rest with least jerk.

    Args:
        program: The program.
        aside: How far it is bent by half waves, one, two, ... of them, shape ``(waves, n)``.

    Raises:
        StartError: The passive rows cannot be kept on it.
    """
    free, problem, T = program.freedoms, program.wanted, program.h * program.steps
    z: Vector = np.zeros(program.count)
    variables, gone = program.split(z), _displacement(program)
    variables.sigma[:] = 1.0
    # from rest to rest with accelerations of zero at the ends
    least_jerk = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    waves = np.pi * np.arange(1, len(aside) + 1)

    def at(tau: Vector) -> tuple[Matrix, Matrix, Matrix]:
        s, rate, bend = (of(tau)[:, None] for of in (least_jerk, least_jerk.deriv(),
                                                     least_jerk.deriv(2)))  # fmt: skip
        y = free.start.y + s * gone + np.sin(s * waves) @ aside
        by_s = gone + (waves * np.cos(s * waves)) @ aside
        by_s_twice = -(waves**2 * np.sin(s * waves)) @ aside
        return y, rate * by_s / T, (bend * by_s + rate**2 * by_s_twice) / T**2

    variables.y[:], variables.w[:], _ = at(np.linspace(0.0, 1.0, program.steps + 1))
    variables.y_points[:], variables.rate[:], variables.a[:] = at(
        (program.times(1.0) - problem.t) / T
    )
    for k, (answer, t) in enumerate(
        zip(program.point_dynamics(z), program.times(1.0), strict=True)
    ):
        variables.u[k] = free.input_for(answer, t, variables.a[k])
    variables.path_states[:] = np.array(at(program.path_constraints.times / T))
    return z


def _within_limits(program: NonlinearProgram, guess: Vector) -> Vector:
    """Return a way with its inputs within their limits."""
    u, (low, high) = program.split(guess).u, (program.split(b).u for b in program.bounds())
    u[:] = np.clip(u, low, high)
    return guess
