"""Section 8.2: the swarm, its velocity error, and where it comes to rest."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints import Aggregation
from ukctrl.simulation.result.result import Result
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim
from ukctrl_papers.review.runs import run

ROUTE_TOLERANCE = 1e-8
"""Two routes to the same motion may differ by this [m]."""
KAPPA = 3.0
PENTAGON_RADIUS = 0.1 / np.tan(np.radians(18.0))
"""Circumradius at which five robots on a regular pentagon are at rest [m]."""
SMALL_ERROR = 0.01
"""What the paper calls very small [m/s]."""
REST_START = (("start.v", (0.0,) * 10), ("timing.duration", 5.0))


def gradient_velocities(q: Vector) -> Vector:
    """Return the velocities that (61) asks for."""
    x = q.reshape(-1, 2)
    away = x[:, None] - x[None]
    distance = np.linalg.norm(away, axis=-1) + np.eye(len(x))
    velocities = -((1.0 - 0.5 / distance)[:, :, None] * away).sum(axis=1)
    return np.asarray(velocities.ravel(), dtype=np.float64)


def first_order(result: Result, kappa: float) -> Matrix:
    """Return the motion of (61) with the velocity error beta(0) exp(-kappa t) added."""
    beta = result["beta"][0]
    solved = solve_ivp(
        lambda t, q: gradient_velocities(q) + beta * np.exp(-kappa * t),
        (0.0, float(result.time[-1])),
        result["q"][0],
        "DOP853",
        result.time,
        rtol=1e-12,
        atol=1e-13,
    )
    return np.asarray(solved.y.T, dtype=np.float64)


@functools.cache
def equilibrium_from(seed: int) -> Vector:
    """Return where five robots come to rest under (61) from random places: (61), then Newton."""
    start = np.random.default_rng(seed).uniform(-1.0, 1.0, 10)
    moved = solve_ivp(
        lambda _, q: gradient_velocities(q), (0.0, 150.0), start, "LSODA", rtol=1e-9, atol=1e-11
    )
    equilibrium = root(gradient_velocities, moved.y[:, -1], method="lm", tol=1e-15)
    return np.asarray(equilibrium.x, dtype=np.float64)


def centre_distances(q: Vector) -> Vector:
    """Return the distances from the centre, sorted."""
    x = q.reshape(-1, 2)
    return np.sort(np.linalg.norm(x - x.mean(axis=0), axis=1))


@functools.cache
def equilibrium_shapes() -> tuple[Vector, Vector]:
    """Return a pentagon and a square with one robot in the middle."""
    pentagon: Vector | None = None
    square: Vector | None = None
    for seed in range(40):
        q = equilibrium_from(seed)
        if np.ptp(centre_distances(q)) < 1e-6:
            pentagon = q if pentagon is None else pentagon
        elif centre_distances(q)[0] < 1e-6:
            square = q if square is None else square
        if pentagon is not None and square is not None:
            return pentagon, square
    raise ArithmeticError("no start among 40 led to both shapes")


def slowest_rate(q: Vector) -> float:
    """Return the slowest rate of return to a place at rest, apart from translation and rotation."""
    h = 1e-6
    steps = h * np.eye(len(q))
    J = np.column_stack(
        [
            (gradient_velocities(q + step) - gradient_velocities(q - step)) / (2 * h)
            for step in steps
        ]
    )
    rates = -np.sort(-np.linalg.eigvalsh((J + J.T) / 2.0))
    return float(-rates[3])  # the first three are zero: two translations, one rotation


def distances(q: Matrix) -> Matrix:
    """Return the distances of all pairs, shape (samples, pairs)."""
    x = q.reshape(len(q), -1, 2)
    i, j = np.triu_indices(x.shape[1], 1)
    return np.asarray(np.linalg.norm(x[:, i] - x[:, j], axis=-1), dtype=np.float64)


def claims() -> Iterator[Claim]:
    """The equations, the velocity error and the collisions of the swarm."""
    yield _second_order()
    plain, decaying = run("swarm"), run("swarm-decay")
    size = np.linalg.norm(plain["beta"], axis=1)
    yield Claim(
        where="eqs (63), (64)",
        what="change of |beta| in 10 s, relative",
        ours=float(np.ptp(size) / size[0]),
        holds=bool(np.ptp(size) < 1e-9 * size[0]),
        note="(63) and (64) say d beta/dt = 0 exactly",
    )
    yield Claim(
        where="Figure 8",
        what="|beta| falls rapidly to less than 0.01",
        printed="less than 0.01",
        ours=f"{size[-1]:.2f} m/s after 10 s, as at the start",
        unit="m/s",
        holds=bool(size[-1] < SMALL_ERROR),
        otherwise="differs: claim does not hold",
        note="it cannot come from (64): some term -kappa beta must have been added",
    )
    falls = np.linalg.norm(decaying["beta"], axis=1)
    settled = float(decaying.time[np.argmax(falls < SMALL_ERROR)])
    yield Claim(
        where="Figure 8, with decay",
        what="time until |beta| is below 0.01 with kappa = 3",
        ours=settled,
        unit="s",
        holds=abs(settled - np.log(size[0] / SMALL_ERROR) / KAPPA) <= 0.01,
        note="closed form: log(|beta(0)|/0.01)/kappa, to the recording interval",
    )
    for name, kappa in (("swarm", 0.0), ("swarm-decay", KAPPA)):
        result = run(name)
        yield bounded_claim(
            "Figure 7",
            f"distance from the first-order motion, {name}",
            result["q"] - first_order(result, kappa),
            ROUTE_TOLERANCE,
            unit="m",
            note="independent route: (61) with beta(0) exp(-kappa t) added, integrated by itself",
        )
    nearest = float(distances(decaying["q"]).min())
    yield Claim(
        where="Figure 7",
        what="the robots never collide",
        printed="never",
        ours=f"nearest distance {nearest:.3f} m",
        holds=nearest > 0.0,
        note="with decay; two robots that nearly touch separate at about 1 m/s",
    )
    still = run("swarm", *REST_START)
    yield bounded_claim(
        "eq (64)",
        "largest displacement from rest in 5 s",
        still["q"] - still["q"][0],
        ROUTE_TOLERANCE,
        unit="m",
        note="phi_i is linear in the velocities: the printed law moves no robot from rest",
    )
    yield Claim(
        where="Table 1",
        what="initial conditions",
        printed="Table 1",
        ours="our own",
        otherwise="not reproducible",
        note="the table is missing; the catalogue's start is used",
    )


def _second_order() -> Claim:
    robot, rng = catalogue_runs.catalogue_robot("swarm"), np.random.default_rng(3)
    miss, h = 0.0, 1e-6
    for _ in range(5):
        q, v = rng.uniform(-2.0, 2.0, (2, 10))
        slope = (gradient_velocities(q + h * v) - gradient_velocities(q - h * v)) / (2.0 * h)
        rows = Aggregation().rows(robot.snapshot(q, v))
        miss = max(miss, float(np.abs(rows.b - slope).max()))
        miss = max(miss, float(np.abs(rows.beta - v + gradient_velocities(q)).max()))
    return zero_claim(
        "eqs (61)-(63)",
        "difference of (63) from the derivative of (61)",
        miss,
        1e-6,
        note="(63) lacks a closing brace after its last factor; central differences, five states",
    )


def rest_claims() -> Iterator[Claim]:
    """Where the swarm comes to rest."""
    start = run("swarm")["q"][0]
    moved = solve_ivp(
        lambda _, q: gradient_velocities(q), (0.0, 10.0), start, "DOP853", rtol=1e-12, atol=1e-13
    )
    centre = np.ptp(moved.y.reshape(5, 2, -1).mean(axis=0), axis=1)
    yield bounded_claim(
        "eq (61)",
        "motion of the centre under (61)",
        float(centre.max()),
        ROUTE_TOLERANCE,
        unit="m",
        note="the forces between two robots cancel",
    )
    pentagon, square = equilibrium_shapes()
    radius = float(centre_distances(pentagon).mean())
    yield Claim(
        where="Figure 7",
        what="circumradius of the pentagon at rest",
        ours=radius,
        unit="m",
        holds=abs(radius - PENTAGON_RADIUS) < ROUTE_TOLERANCE,
        note="closed form 0.1 cot 18 degrees",
    )
    side = float(distances(pentagon[None]).min())
    yield Claim(
        where="Figure 7",
        what="side of the pentagon at rest",
        ours=side,
        unit="m",
        holds=abs(side - 2.0 * PENTAGON_RADIUS * np.sin(np.radians(36.0))) < ROUTE_TOLERANCE,
        note="closed form 0.2 cot 18 sin 36 degrees",
    )
    corner = float(centre_distances(square)[1:].mean())
    # one corner: 5 R = k_r (1 + 2/sqrt(2) + 1) with k_r = 0.5
    yield Claim(
        where="Figure 7",
        what="centre distance of a square with one robot in its middle",
        ours=corner,
        unit="m",
        holds=abs(corner - 0.1 * (2.0 + np.sqrt(2.0))) < ROUTE_TOLERANCE,
        note="closed form 0.1 (2 + sqrt 2): from other starts the swarm rests so",
    )
    rate = slowest_rate(square)
    yield Claim(
        where="Figure 7",
        what="slowest rate of return to that square",
        ours=rate,
        unit="1/s",
        holds=rate > 0.0,
        note="stable, but slow; eigenvalues of the linearised (61)",
    )
