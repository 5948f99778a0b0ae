"""Example 1 and section 8.1: a particle, free and on a logarithmic spiral."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl import uk
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot import Robot
from ukctrl.simulation.result.result import Result
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.review.runs import run

G = 9.81
ROUTE_TOLERANCE = 1e-8
"""Two routes to the same motion may differ by this [m, rad, N]."""
LINEAR_TOLERANCE = 1e-11
"""The same of one integration to a relative 1e-12, of an angle of 30 rad [rad, m]."""
OFF_START = (("start.v", ("-0.1*exp(3) + 0.02", "-1 + 0.001")), ("timing.duration", 20.0))
"""A start that is off the spiral at velocity level."""


def polar_to_cartesian(q: Matrix) -> Matrix:
    """Return (3)."""
    r, theta = q.T
    return np.column_stack((r * np.cos(theta), r * np.sin(theta)))


def spiral_run(t: Vector) -> Matrix:
    """Return r and theta of the closed form: theta = 30 - t, r = exp(0.1 theta)."""
    return np.column_stack((np.exp(0.1 * (30.0 - t)), 30.0 - t))


def error_norms(result: Result) -> tuple[Vector, Vector]:
    """Return (58) and (59) of a run in polar coordinates."""
    return np.linalg.norm(result["phi"], axis=1), np.linalg.norm(result["beta"], axis=1)


def constraint_forces(t: Vector) -> Matrix:
    """Return the closed form of the constraint force of (56), with the paper's M = I."""
    r, theta = spiral_run(t).T
    return np.column_stack((-0.99 * r + G * np.sin(theta), 0.2 + G * np.cos(theta) / r))


def projectile_claims() -> Iterator[Claim]:
    """Example 1: the projectile, Cartesian and polar."""
    robot, rng = catalogue_runs.catalogue_robot("particle_polar"), np.random.default_rng(2)
    miss = 0.0
    for _ in range(10):
        (r, theta), v = rng.uniform(0.5, 2.0, 2), rng.uniform(-2.0, 2.0, 2)
        snapshot = robot.snapshot([r, theta], v)
        ours = np.linalg.solve(snapshot.M, -snapshot.nle)
        printed = [
            r * v[1] ** 2 - G * np.sin(theta),
            (-2.0 * v[0] * v[1] - G * np.cos(theta)) / r,
        ]
        miss = max(miss, float(np.abs(ours - printed).max()))
    yield zero_claim(
        "eqs (7), (8)",
        "difference of the accelerations from Lagrange's",
        miss,
        1e-12,
        note="ten random states",
    )
    M = robot.snapshot([2.0, 0.4]).M
    yield Claim(
        where="eq (9)",
        what="M_22 / m at r = 2",
        printed=1.0,
        ours=float(M[1, 1]),
        otherwise="differs: misprint",
        unit="m^2",
        note="generalised forces need diag(m, m r^2); (9) is right as an equation, its second row "
        "divided by r^2",
    )
    yield from _single_constraint(robot)
    flight, polar = run("projectile"), run("projectile-polar")
    t = flight.time[:, None]
    parabola = flight["q"][0] + t * flight["v"][0] - 0.5 * G * t**2 * np.array([0.0, 1.0])
    for where, q in (("eq (2)", flight["q"]), ("eq (9)", polar_to_cartesian(polar["q"]))):
        yield bounded_claim(
            where,
            "largest distance from the parabola in 2 s",
            q - parabola,
            ROUTE_TOLERANCE,
            unit="m",
            note="closed form; no numbers are printed",
        )


def _single_constraint(robot: Robot) -> Iterator[Claim]:
    """With one constraint the missing r^2 changes the motion."""
    snapshot = robot.snapshot([2.0, 0.4], [1.5, 0.8])
    A, b, Q = np.array([[1.0, 1.0]]), np.zeros(1), -snapshot.nle
    free = np.linalg.solve(snapshot.M, Q)
    ours = free + np.linalg.solve(snapshot.M, uk.constraint_force(snapshot.M, Q, A, b))
    paper = free + uk.constraint_force(np.eye(2), free, A, b)
    gap = float(np.abs(paper - ours).max())
    yield Claim(
        where="eqs (9), (36)",
        what="difference that M = diag(m, m) makes under one constraint",
        printed=0.0,
        ours=gap,
        otherwise="differs: misprint",
        unit="m/s^2",
        note="r'' + theta'' = 0 at r = 2, theta = 0.4; with two constraints, as in 8.1, A is "
        "invertible and nothing changes",
    )


def spiral_claims() -> Iterator[Claim]:
    """Section 8.1: the particle on the logarithmic spiral."""
    polar, plane = run("log-spiral-particle-polar"), run("log-spiral-particle")
    t = polar.time
    r, theta = polar["q"].T
    for where, name, q in (
        ("eq (57), polar", "log-spiral-particle-polar", polar_to_cartesian(polar["q"])),
        ("eq (57), Cartesian", "log-spiral-particle", plane["q"]),
    ):
        yield bounded_claim(
            where,
            "largest distance from the closed form in 30 s",
            q - polar_to_cartesian(spiral_run(t)),
            ROUTE_TOLERANCE,
            unit="m",
            note=f"r = exp(theta/10), theta = 30 - t; {name}",
        )
    yield Claim(
        where="Figure 3",
        what="theta is linear in t",
        printed="theta = 30 - t",
        ours="theta = 30 - t to "
        f"{bound_text(float(np.abs(theta - 30.0 + t).max()), LINEAR_TOLERANCE)} rad",
        holds=bool(np.abs(theta - 30.0 + t).max() < LINEAR_TOLERANCE),
    )
    yield Claim(
        where="Figure 3",
        what="r settles to a very small magnitude after t >= 20",
        printed="very small",
        ours=f"{r[t >= 20.0][0]:.3f} m at 20 s, {r[-1]:.3f} m at 30 s",
        holds=bool(r[t >= 20.0].max() < 0.01 * r[0]),
        otherwise="differs: claim does not hold",
        note=f"true only beside r(0) = {r[0]:.2f} m; r falls by a factor e in every 10 s and "
        "settles nowhere",
    )
    for number, level, error in zip(
        (58, 59), ("position", "velocity"), error_norms(polar), strict=True
    ):
        yield bounded_claim(
            f"Figure 5, eq ({number})",
            f"largest {level} error",
            float(error.max()),
            LINEAR_TOLERANCE,
            unit="1",
            note="the start is consistent, so the error is that of the integrator; no scale of the "
            "figure is printed",
        )
    ours = polar["u"] / np.column_stack((np.ones_like(r), r**2))
    yield bounded_claim(
        "eq (56)",
        "difference of the force from its closed form",
        ours - constraint_forces(t),
        ROUTE_TOLERANCE,
        unit="N",
        note="with the paper's M = I: F_r = -0.99 r + g sin(theta), F_theta = 0.2 + g cos(theta)/r",
    )
    u = plane["u"]
    across = -u[:, 0] * np.sin(theta) + u[:, 1] * np.cos(theta)
    radial = u[:, 0] * np.cos(theta) + u[:, 1] * np.sin(theta)
    yield bounded_claim(
        "eq (56), Cartesian",
        "difference of the force from its closed form",
        np.column_stack((radial, across / r)) - constraint_forces(t),
        ROUTE_TOLERANCE,
        unit="N",
        note="the same force, found in Cartesian coordinates and turned",
    )
    yield _linear_drift()


def _linear_drift() -> Claim:
    result = run("log-spiral-particle-polar", *OFF_START)
    line = result["phi"][0] + np.outer(result.time, result["beta"][0])
    return bounded_claim(
        "eqs (57)-(59)",
        "difference of the errors from a straight line, start off",
        result["phi"] - line,
        ROUTE_TOLERANCE,
        unit="m, rad",
        note="phi'' = 0: without stabilisation an error at the start grows linearly",
    )
