"""What every robot must satisfy, from its geometry and its energy alone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np

from ukctrl.analysis.conformance.clauses import Suite, require, require_close
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import quoted
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot

ROBOT = Suite[Robot]("robot")
"""The clauses for robots."""
STATES = 4
STEP = 1e-5
"""Step of central differences [s]; their error is of its square."""
DIFFERENCE_RTOL = 1e-6
"""What differences leave, relatively."""
ROUNDING = 1e-9


def _states(robot: Robot) -> Iterator[tuple[Vector, Vector]]:
    """Yield configurations about the home, and velocities."""
    rng = np.random.default_rng(4)
    home = robot.neutral if robot.home is None else robot.home
    for _ in range(STATES):
        q = robot.integrate(home, rng.uniform(-0.3, 0.3, robot.nv))
        yield np.ascontiguousarray(q), rng.uniform(-1.0, 1.0, robot.nv)


@ROBOT.clause
def names(robot: Robot) -> None:
    """Coordinates, velocities and motors have names of their own, each with a unit."""
    for label, identifiers, units in (
        ("coordinates", robot.coordinates, robot.coordinate_units),
        ("velocities", robot.dofs, robot.dof_units),
        ("motors", robot.actuators, robot.actuator_units),
    ):
        double = sorted({name for name in identifiers if identifiers.count(name) > 1})
        require(not double, f"{label} must have names of their own; {quoted(double)} repeat.")
        require(len(units) == len(identifiers), f"{label} must have a unit each; got {units}.")


@ROBOT.clause
def mass_matrix(robot: Robot) -> None:
    """The mass matrix is symmetric and positive definite."""
    for s in (robot.snapshot(q, v) for q, v in _states(robot)):
        require_close("the mass matrix and its transpose", s.M, s.M.T, ROUNDING)
        lowest = float(np.linalg.eigvalsh(s.M)[0])
        require(lowest > 0.0, f"the mass matrix must be positive definite; got {lowest:.1e}.")


@ROBOT.clause
def configurations(robot: Robot) -> None:
    """Differences and integration undo each other, and neutral is a configuration."""
    rng = np.random.default_rng(5)
    require_close(
        "neutral and its normal form", robot.neutral, robot.normalize(robot.neutral), ROUNDING
    )
    for q, _ in _states(robot):
        dv = rng.uniform(-0.5, 0.5, robot.nv)
        back = robot.difference(q, robot.integrate(q, dv))
        require_close("a step and the difference that it makes", back, dv, ROUNDING)


@ROBOT.clause
def energy_balance(robot: Robot) -> None:
    """Along its own equation of motion the energy changes by the power that is fed."""
    dynamics = Dynamics(robot)
    rng = np.random.default_rng(6)
    for q, v in _states(robot):
        if len(dynamics.passive):
            v = np.zeros(robot.nv)  # a velocity that the closures allow
        u = rng.uniform(-1.0, 1.0, robot.nu)
        dynamics.move(0.0, q, v)
        a = dynamics.acceleration(u)
        power = dynamics.power(a, u)
        coarse, fine = (
            (_energy(robot, q, v, a, h) - _energy(robot, q, v, a, -h)) / (2.0 * h)
            for h in (STEP, 0.5 * STEP)
        )
        rate = (4.0 * fine - coarse) / 3.0  # Richardson's: stiff springs ask for it
        size = 1.0 + float(np.abs(a) @ np.abs(dynamics.snapshot.M) @ np.abs(v))
        # Large energies round, and the step divides what they lose.
        tolerance = DIFFERENCE_RTOL * size + 1e-15 * abs(_energy(robot, q, v, a, 0.0)) / STEP
        off = abs(rate - power)
        require(off <= tolerance, f"energy must change by the power; it is off by {off:.1e} W.")


def _energy(robot: Robot, q: Vector, v: Vector, a: Vector, h: float) -> float:
    moved = robot.snapshot(robot.integrate(q, h * v + 0.5 * h * h * a), v + h * a, h)
    return 0.5 * float(moved.v @ moved.M @ moved.v) + moved.potential_energy()


@ROBOT.clause
def frames_move_as_their_jacobians_say(robot: Robot) -> None:
    """The velocity of every frame is what its position does in time."""
    for q, v in _states(robot):
        snapshot = robot.snapshot(q, v)
        forward, behind = (robot.snapshot(robot.integrate(q, h * v), v) for h in (STEP, -STEP))
        for name in robot.frames:
            rate = (forward.frame(name).position - behind.frame(name).position) / (2.0 * STEP)
            velocity = snapshot.frame(name).velocity[:3]
            require_close(f"the velocity of frame '{name}'", velocity, rate, DIFFERENCE_RTOL)


@ROBOT.clause
def pickles(robot: Robot) -> None:
    """It pickles, so that runs can be spread over processes, and moves the same after it."""
    again: Robot = pickle.loads(pickle.dumps(robot))
    for q, v in _states(robot):
        first, second = robot.snapshot(q, v), again.snapshot(q, v)
        require_close("M after pickling", second.M, first.M, 0.0)
        require_close("nle after pickling", second.nle, first.nle, 0.0)
