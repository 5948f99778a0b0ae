"""The runs of the page in numbers."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from ukctrl import Result, Scenario, simulate

HERE = Path(__file__).resolve().parent
SLIPS = "A quadruped is pushed from the side, and slips"
RUNS = {
    "pushed, inside the cones": ("a1-push", {}),
    "pushed, without": ("a1-push", {"keep": [], "timing.duration": 1.0, "title": SLIPS}),
    "squat on ice, inside the cones": ("a1-ice", {}),
    "squat on ice, without": ("a1-ice", {"keep": [], "timing.duration": 0.25}),
    "one foot lifted": (HERE / "a1-lift.toml", {}),
    "trot in place": (HERE / "a1-trot.toml", {}),
}
"""Scenario and changes of every run."""


@functools.cache
def run(name: str) -> Result:
    """Return a run of the page."""
    scenario, changes = RUNS[name]
    return simulate(Scenario.load(scenario, changes))


def _ground(result: Result) -> float:
    return float(result.scenario["robot"]["passive"][0]["mu"])


def _row(name: str) -> str:
    result = run(name)
    slid, contacts = result.metric("sliding_time"), result.provenance["contacts"]
    opened = 1.0 - result["passive_holds"][:, ::3].mean()
    if slid > 0.01:  # what follows a slip differs between processors
        return f"| {name} | {_ground(result):g} | slips | - | - |"
    needed, lost = result.metric("needed_friction"), contacts["impact_loss"]
    ground = f"{_ground(result):g} | {needed:.2f}"
    return f"| {name} | {ground} | {100.0 * opened:.0f} % | {lost:.1f} |"


def runs() -> str:
    """Return a line for every run."""
    head = "| run | $\\mu$ of the ground | needed | feet in the air | impacts took [J] |"
    return "\n".join([head, "|---|---|---|---|---|", *map(_row, RUNS)])


def _of(name: str, block: str) -> np.ndarray:
    result = run(name)
    return result["phi"][:, [i for i, of in enumerate(result.labels.row_blocks) if of == block]]


def place() -> str:
    """Return how far the trunk of the trot strays."""
    most = 1e3 * float(np.linalg.norm(_of("trot in place", "place"), axis=1).max())
    return f"{most:.1f} mm"


def tilt() -> str:
    """Return how far it tilts."""
    return f"{float(np.linalg.norm(_of('trot in place', 'tilt'), axis=1).max()) * 1e3:.1f} mrad"


def free_friction() -> str:
    """Return what a squat by the least torques asks of the ground."""
    bound = simulate(Scenario.load("a1-squat", {"timing.duration": 0.5}))
    return f"{bound.metric('needed_friction'):.2f}"


@functools.cache
def block() -> Result:
    """Return the run of a hand that pushes a block."""
    return simulate(Scenario.load(HERE / "push-block.toml"))


def slid() -> str:
    """Return how far the block slides on once the hand has left it."""
    result = block()
    left = max(t for t, contact, what in result.provenance["contacts"]["first"]
               if (contact, what) == ("hand", "opens"))  # fmt: skip
    x = result["q"][:, result.labels.coordinates.index("block_x")]
    return f"{1e3 * (x[-1] - np.interp(left, result.time, x)):.0f} mm"


TABLES = {"runs": runs}
FACTS = {"place": place, "tilt": tilt, "free-friction": free_friction, "slid": slid}
SLOW = True
