"""What every constraint must satisfy: its rows are the derivatives of its own errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import Suite, require, require_array, require_close
from ukctrl.core.arrays import Vector
from ukctrl.mechanics.constraints import Constraint, Rows, Stack
from ukctrl.robot import Robot

STATES = 4
STEP = 1e-5
"""Step of central differences [s]; their error is of its square."""
DIFFERENCE_RTOL = 5e-6
"""What differences leave, relatively."""


class ConstraintCase(NamedTuple):
    """A constraint and the robot that it is tried on."""

    constraint: Constraint
    robot: Robot


CONSTRAINT = Suite[ConstraintCase]("constraint")
"""The clauses for constraints."""
CONSTRAINT.record("A constraint", lambda placed: placed.constraint)


class _ProbeMotion(NamedTuple):
    """A motion through a state, and the rows along it."""

    t: float
    q: Vector
    v: Vector
    a: Vector


def _probe_motions(robot: Robot) -> list[_ProbeMotion]:
    rng = np.random.default_rng(7)
    home = robot.neutral if robot.home is None else robot.home
    states = []
    for _ in range(STATES):
        q = np.ascontiguousarray(robot.integrate(home, rng.uniform(-0.4, 0.4, robot.nv)))
        v, a = rng.uniform(-1.0, 1.0, (2, robot.nv))
        states.append(_ProbeMotion(float(rng.uniform(0.0, 1.0)), q, v, a))
    return states


def _rows(stack: Stack, motion: _ProbeMotion, h: float = 0.0) -> Rows:
    t, q, v, a = motion
    robot = stack.robot
    snapshot = robot.snapshot(robot.integrate(q, h * v + 0.5 * h * h * a), v + h * a, t + h)
    rows = stack.write(snapshot)
    return Rows(*(array.copy() for array in rows))


@CONSTRAINT.clause
def shapes(placed: ConstraintCase) -> None:
    """Rows are finite; phi is NaN exactly where a row has no position level."""
    stack = Stack((placed.constraint,), placed.robot)
    for motion in _probe_motions(placed.robot):
        rows = _rows(stack, motion)
        require_array("A, row by row,", rows.A.ravel(), len(stack) * placed.robot.nv)
        require_array("b", rows.b, len(stack))
        require_array("beta", rows.beta, len(stack))
        nan = np.isnan(rows.phi)
        require(
            bool((nan == ~stack.holonomic).all()),
            "phi must be NaN where a row is nonholonomic and nowhere else.",
        )


@CONSTRAINT.clause
def beta_is_the_rate_of_phi(placed: ConstraintCase) -> None:
    """Along any motion, the position error changes by the velocity error."""
    stack = Stack((placed.constraint,), placed.robot)
    at = stack.holonomic
    for motion in _probe_motions(placed.robot):
        forward, behind = _rows(stack, motion, STEP), _rows(stack, motion, -STEP)
        rate = (forward.phi - behind.phi)[at] / (2.0 * STEP)
        require_close(
            "beta and the rate of phi", _rows(stack, motion).beta[at], rate, DIFFERENCE_RTOL
        )


@CONSTRAINT.clause
def rows_are_the_rate_of_beta(placed: ConstraintCase) -> None:
    """Along any motion, the velocity error changes by A a - b."""
    stack = Stack((placed.constraint,), placed.robot)
    for motion in _probe_motions(placed.robot):
        rows = _rows(stack, motion)
        forward, behind = _rows(stack, motion, STEP), _rows(stack, motion, -STEP)
        rate = (forward.beta - behind.beta) / (2.0 * STEP)
        require_close(
            "A a - b and the rate of beta", rows.A @ motion.a - rows.b, rate, DIFFERENCE_RTOL
        )
