"""The tables of the page: loops in a row beside their pendulum, and the settings that carry."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ukctrl import Result, Scenario, simulate
from ukctrl.papers import parallelogram
from ukctrl.papers.markdown import bound, table

SLOW = True
LOOPS = (1, 2, 3, 5)
GRAVITY = 9.81
STEPS = {"integrator": {"method": "RK4", "step": 0.001}}
ADAPTIVE = {"integrator": {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12}}
SETTINGS: dict[str, tuple[str, Mapping[str, object]]] = {
    "RK4, 1 ms": ("projection", STEPS),
    "RK4, 1 ms ": ("baumgarte", STEPS),
    "DOP853, 10⁻¹⁰": ("projection", ADAPTIVE),
    "DOP853, 10⁻¹⁰ ": ("baumgarte", ADAPTIVE),
}
THRESHOLDS = (1e-4, 1e-5, 1e-6)


@functools.cache
def run(loops: int = 2) -> Result:
    """Run the scenario of the catalogue with a number of loops."""
    return simulate(Scenario.load("n-four-bar", {"robot.linkage.repeat.loop.count": loops}))


def exact(time: NDArray[np.float64], loops: int) -> NDArray[np.float64]:
    """Return the angle of the rods in closed form [rad]."""
    rods = loops + 1
    square = GRAVITY * (rods / 2 + loops) / (rods / 3 + loops)
    return parallelogram.swing(time, square, np.pi / 2, -1.0)[0]


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
                bound(error(result, count)),
                bound(result.metric("energy_drift")),
                bound(result.metric("peak_passive_phi")),
            ]
        )
    head = ["loops N", "coordinates", "rows", "aligned positions passed",
            "θ to the closed form [rad]", "energy drift [J]", "closures [m]"]  # fmt: skip
    return table(head, rows)


def settings() -> str:
    """Return the error of the angle for every choice of integrator, help and threshold."""
    rows = []
    for name, (kind, integrator) in SETTINGS.items():
        cells = []
        for threshold in THRESHOLDS:
            changes = {**integrator, "stabilisation": {"kind": kind}, "rank.passive": threshold}
            result = simulate(Scenario.load("n-four-bar", changes))
            done = result.status == "completed"
            cells.append(bound(error(result)) if done else f"stops at {result.time[-1]:.0f} s")
        rows.append([name.strip(), kind, *cells])
    return table(["integrator", "stabilisation", "threshold 10⁻⁴", "10⁻⁵", "10⁻⁶"], rows)


TABLES = {"loops": loops, "settings": settings}
FACTS: dict[str, object] = {}
