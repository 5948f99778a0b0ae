"""The search for a motion: from one way or several, and until it keeps what it must all along."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl_optimal.initial_guesses import random_guesses
from ukctrl_optimal.interior_point import (
    EVALUATION_ERRORS,
    OptimisationFailed,
    solve_program,
)
from ukctrl_optimal.nonlinear_program import NonlinearProgram
from ukctrl_optimal.path_constraint_grid import ConstraintViolation
from ukctrl_optimal.path_inequalities import FEASIBILITY_TOLERANCE, TrajectoryPoint

MAX_REFINEMENTS = 12
"""So often more points of the grid are taken where a motion crosses something."""
STALL_RATIO = 0.8
"""Where twice more points leave more than this part of a crossing, others would not help."""
REPORT_TOLERANCE, MAX_VIOLATION = 1e-6, 1e-3
"""Crossings between the points of the grid that are told, and the largest that is let pass [unit].
"""
DEFAULT_GUESSES = 4
"""Without other wishes so many bent ways are tried where the straight one crosses something and
leads to no motion that keeps it."""
MAX_NAMED = 3
"""Of what is not kept the worst are named."""


class LocalOptimum(NamedTuple):
    """A local optimum."""

    program: NonlinearProgram
    """Its program."""
    z: Vector
    """The unknowns."""
    iterations: int
    """Of the solver, from all ways."""
    violations: tuple[ConstraintViolation, ...]
    """What it crosses between the points of its program, the worst first."""
    guess: int = 0
    """With which way the search began; the first is straight."""

    @property
    def cost(self) -> float:
        """What is to be least."""
        return self.program.cost(self.z)


def best_optimum(
    program: NonlinearProgram, straight: Vector, starts: int | None, seed: int
) -> LocalOptimum:
    """Return the best of the local optima that are found from some ways.

    Args:
        program: The program.
        straight: The straight way.
        starts: From how many ways is searched; None: from the straight one, and from others where
            that leads to none that keeps everything.
        seed: By which the others are drawn.

    Raises:
        InputError: None was found; the message says why none is from the straight way.
    """
    _require_feasible_ends(program, straight)
    # bent ways cost a solve each: only where the straight one runs into something
    max_guesses = starts or 1 + (
        DEFAULT_GUESSES if _straight_guess_violates(program, straight) else 0
    )
    bent = random_guesses(program, np.random.default_rng(seed))
    best, iterations, fault = None, 0, None
    for index, guess in enumerate(itertools.islice(itertools.chain([straight], bent), max_guesses)):
        try:
            optimum = _refined_optimum(program, guess)
        except OptimisationFailed as error:
            iterations += error.iterations
            # of the first way, the straight one, whose reason a user understands
            fault = fault or _infeasibility_error(error)
            continue
        iterations += optimum.iterations
        if best is None or optimum.cost < best.cost:
            best = optimum._replace(guess=index)
        # then further ways are for where the first ones fail
        if starts is None:
            break
    if best is None:
        assert fault is not None
        raise fault
    return best._replace(iterations=iterations)


def _refined_optimum(program: NonlinearProgram, guess: Vector) -> LocalOptimum:
    """Return the local optimum near a way, looked at where it crosses something until it does not.

    The points at which it is are points of a grid, so that this ends.

    Raises:
        OptimisationFailed: There is none.
    """
    # a way has loops on branches of its own: nothing of the last one
    program.reset_continuation()
    z, iterations = solve_program(program, guess)
    last, stalls = np.inf, 0
    for _ in range(MAX_REFINEMENTS):
        slack = program.grid_slack(z)
        closer, worst = (
            program.path_constraints.refinement(slack),
            -float(slack.cubic_minima.min(initial=0.0)),
        )
        last, stalls = worst, stalls + (worst > STALL_RATIO * last)
        # one refinement may lose ground to win it back; two in a row go nowhere
        if closer is None or stalls == 2:
            break
        more, z_start = program.with_grid(z, closer)
        try:
            z, steps = solve_program(more, z_start, close=True)
        except OptimisationFailed as error:
            iterations += error.iterations
            break
        program, iterations = more, iterations + steps
    slack = program.grid_slack(z)
    crossings = program.path_constraints.violations(
        slack.cubic_minima, slack.times[:, :-1], REPORT_TOLERANCE
    )
    if crossings and crossings[0].excess > MAX_VIOLATION:
        raise OptimisationFailed("Kept_Only_At_Points", program, z, iterations)
    return LocalOptimum(program, z, iterations, crossings)


def _straight_guess_violates(program: NonlinearProgram, straight: Vector) -> bool:
    """Return whether the straight way crosses something that goes by the position."""
    try:
        h = program.grid_slack(straight).h
    except EVALUATION_ERRORS:
        return True
    return bool(
        (~(h >= -FEASIBILITY_TOLERANCE) & (program.path_constraints.rows.degree == 2)).any()
    )


def _require_feasible_ends(program: NonlinearProgram, straight: Vector) -> None:
    """Refuse a motion whose ends, which are given, are beyond what it is to keep.

    Raises:
        InputError: One is; what is crossed there is named.
    """
    inequalities, problem = program.path_constraints.rows, program.wanted
    near, still = program.freedoms.start, np.zeros(program.freedoms.n)
    ends = [
        (
            "begin",
            TrajectoryPoint(problem.t, near.y, problem.rate, still),
            near,
            inequalities.degree > 0,
        )
    ]
    if np.isfinite(problem.goal).all():
        chart_point, t = (
            program.point_dynamics(straight)[-1].place,
            problem.t + program.h * program.steps,
        )
        # of least time the end is not known yet, nor what changes with it
        mask = (inequalities.degree > 0) & ~(inequalities.is_time_varying & problem.minimises_time)
        ends.append(("end", TrajectoryPoint(t, problem.goal, still, still), chart_point, mask))
    for verb, at, near, mask in ends if len(inequalities) else ():
        slack = np.where(mask, inequalities.slack(near, at)[0], np.inf)
        for i in np.flatnonzero(~(slack >= -FEASIBILITY_TOLERANCE))[:1].tolist():
            raise InputError(
                f"must {verb} within what is kept; '{inequalities.names[i]}' is crossed there by "
                f"{-slack[i]:.3g} {inequalities.units[i]}".rstrip()
                + ", its margin included."
            )


def _infeasibility_error(error: OptimisationFailed) -> InputError:
    """Return why there is no motion, with what it cannot keep."""
    try:
        slack = error.program.grid_slack(error.z)
        crossings = error.program.path_constraints.violations(
            slack.cubic_minima, slack.times[:, :-1], REPORT_TOLERANCE
        )
    except EVALUATION_ERRORS:
        crossings = ()
    if not crossings:
        return error
    return InputError(
        f"must be a motion that keeps {quoted([one.name for one in crossings[:MAX_NAMED]])}; the "
        f"solver finds none from here, and the nearest crosses {crossings[0]}. Move what is kept "
        "or the pose, give it more duration, or more starts."
    )
