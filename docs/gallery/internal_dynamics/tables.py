"""The tables of the page: every scenario of the catalogue, and closed forms beside both routes."""

from __future__ import annotations

import functools

import numpy as np
from markdown_text import below, minus, table
from numpy.typing import NDArray

from ukctrl import InternalDynamics, Robot, Scenario, catalog, internal_dynamics

SLOW = True
MOST_POLES = 4
LARGEST = 60
"""Robots with more velocities are only counted by `internal_dynamics`."""
ROUTES = 1e-8
"""What the theory page promises of poles by two routes, part of the quickest; rounding of matrices
of condition 1e3 leaves a thousandth of it."""
CART = """
title = "The cart follows a wave, its pole nearly upright"
robot = "cart_pole"
start = { q = { pole = "179*deg" }, solve = true }
controller = { use = "servo-baumgarte" }
timing = { duration = 3.0 }

[[servo]]
kind = "joint_follows"
joints = ["cart"]
path = { kind = "expression", components = ["0.1*sin(2*t)"] }
"""
WORDS = {
    "none": "nothing moves by itself",
    "settles": "settles",
    "stays": "stays where it is pushed",
    "swings": "swings on",
    "drifts": "drifts",
    "runs_away": "runs away",
    None: "",
}


@functools.cache
def found(name: str) -> InternalDynamics | None:
    """Return what a scenario leaves; None where there are no rows, or too many freedoms."""
    scenario = Scenario.load(name)
    given = {"use": scenario.robot} if isinstance(scenario.robot, str) else dict(scenario.robot)
    robot = Robot.load(given.pop("use"), override=given)
    if not scenario.servo or robot.nv > LARGEST:
        return None
    return internal_dynamics(scenario)


def catalogue() -> str:
    """Return a row for every scenario that leaves something."""
    rows = []
    for name in catalog.names("scenarios"):
        left = found(name)
        if left is None or not left.dimension:
            continue
        near = left.rests[0] if left.rests else None
        rows.append(
            [
                f"`{name}`",
                str(left.states),
                str(left.reached),
                str(left.dimension),
                str(left.free),
                ", ".join(f"`{one}`" for one in left.coordinates[:4])
                + (", ..." if len(left.coordinates) > 4 else ""),
                "no state of rest" if near is None else written(near.modes.poles),
                WORDS[left.kind],
            ]
        )
    heads = ["scenario", "states", "reached", "left", "free", "coordinates", "poles [rad/s]", ""]
    return table(heads, rows)


@functools.cache
def falling() -> InternalDynamics:
    """Return what is left where a cart follows a wave, with its pole nearly upright."""
    return internal_dynamics(Scenario.from_toml(CART), duration=3.0)


def verdict() -> str:
    """Return what is said of it."""
    return falling().verdict


def written(poles: NDArray[np.complex128]) -> str:
    """Return poles in words, pairs once."""
    said: list[str] = []
    for pole in poles[poles.imag >= 0.0].tolist():
        real = minus(f"{pole.real:.3g}") if abs(pole.real) > 1e-6 * abs(pole) else ""
        text = f"{real} ± {pole.imag:.3g}j".strip() if pole.imag > 1e-6 * abs(pole) else real or "0"
        said.append(text)
    counted = [
        f"{text} ({said.count(text)} times)" if said.count(text) > 1 else text
        for text in dict.fromkeys(said)
    ]
    more = f", and {len(counted) - MOST_POLES} more" if len(counted) > MOST_POLES else ""
    return (", ".join(counted[:MOST_POLES]) or "none that no input moves") + more


def determined() -> str:
    """Return the scenarios whose task leaves nothing."""
    whole = [
        name for name in catalog.names("scenarios") if (left := found(name)) and not left.dimension
    ]
    return ", ".join(f"`{name}`" for name in whole)


def routes() -> str:
    """Return the largest difference of the two routes over the whole catalogue."""
    apart = [
        near.routes
        for name in catalog.names("scenarios")
        if (left := found(name))
        for near in left.rests
        if near.routes is not None and len(near.modes.poles)
    ]
    return below(float(np.max(apart)), ROUTES)


TABLES = {"catalogue": catalogue}
FACTS = {"determined": determined, "routes": routes, "verdict": verdict}
