"""The tables of the page: loops in a row beside their pendulum, and the settings that carry."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from markdown_text import below, table
from numpy.typing import NDArray

from ukctrl import Result, Scenario, papers, simulate

SLOW = True
LOOPS = (1, 2, 3, 5)
GRAVITY = 9.81
STEPS = {"integrator": {"method": "RK4", "step": 0.001}}
ADAPTIVE = {"integrator": {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12}}
SETTINGS: dict[str, tuple[str, Mapping[str, object], tuple[float, float, float]]] = {
    "RK4, 1 ms": ("projection", STEPS, (1e-4, 1e-8, 1e-8)),
    "RK4, 1 ms ": ("baumgarte", STEPS, (1e-3, 1e-5, 1e-5)),
    "DOP853, 10⁻¹⁰": ("projection", ADAPTIVE, (1e-5, 1e-6, 1e-6)),
    "DOP853, 10⁻¹⁰ ": ("baumgarte", ADAPTIVE, (1e-4, 1e-5, 1e-5)),
}
"""How the closures are held, the integrator, and bounds of the error for each threshold [rad]: near
an aligned position a direction counts as free only in part, and what that costs depends on where
the steps fall."""
THRESHOLDS = (1e-4, 1e-5, 1e-6)
ANGLE, ENERGY, CLOSURES = 1e-8, 1e-8, 1e-12
"""Steps of 1 ms leave as much of the angle [rad] and of some J, and projection of closures of 1 m
what double precision does."""


@functools.cache
def run(loops: int = 2) -> Result:
    """Run the scenario of the catalogue with a number of loops."""
    return simulate(Scenario.load("n-four-bar", {"robot.linkage.repeat.loop.count": loops}))


def exact(time: NDArray[np.float64], loops: int) -> NDArray[np.float64]:
    """Return the angle of the rods in closed form [rad]."""
    rods = loops + 1
    square = GRAVITY * (rods / 2 + loops) / (rods / 3 + loops)
    return papers.parallelogram.pendulum_motion(time, square, np.pi / 2, -1.0)[0]


def error(result: Result, loops: int = 2) -> float:
    """Return how far the first rod is from the closed form at worst [rad]."""
    return float(np.abs(result["q"][:, 2] - exact(result.time, loops)).max())


def loops() -> str:
    """Return the runs with several numbers of loops."""
    rows = []
    for count in LOOPS:
        result = run(count)
        assert result.status == "completed", result.message
        crossings = np.count_nonzero(np.diff(np.sign(np.sin(exact(result.time, count)))))
        rows.append(
            [
                str(count),
                str(result["q"].shape[1]),
                str(result["passive_phi"].shape[1]),
                str(crossings),
                below(error(result, count), ANGLE),
                below(result.metric("energy_drift"), ENERGY),
                below(result.metric("peak_passive_phi"), CLOSURES),
            ]
        )
    head = ["loops N", "coordinates", "rows", "aligned positions passed",
            "θ to the closed form [rad]", "energy drift [J]", "closures [m]"]  # fmt: skip
    return table(head, rows)


def settings() -> str:
    """Return the error of the angle for every choice of integrator, help and threshold."""
    rows = []
    for name, (kind, integrator, bounds) in SETTINGS.items():
        cells = []
        for threshold, bound in zip(THRESHOLDS, bounds, strict=True):
            changes = {**integrator, "stabilisation": {"kind": kind}, "rank.passive": threshold}
            result = simulate(Scenario.load("n-four-bar", changes))
            done = result.status == "completed"
            cells.append(
                below(error(result), bound) if done else f"stops at {result.time[-1]:.0f} s"
            )
        rows.append([name.strip(), kind, *cells])
    return table(["integrator", "stabilisation", "threshold 10⁻⁴", "10⁻⁵", "10⁻⁶"], rows)


TABLES = {"loops": loops, "settings": settings}
FACTS: dict[str, object] = {}
