"""The runs of the page in numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ukctrl import Result, Robot, Scenario, simulate

HERE = Path(__file__).resolve().parent


class Shown(NamedTuple):
    """One kind of limit."""

    what: str
    scenario: str | Path
    block: str
    unit: str
    beyond: Callable[[Result], float]
    """How far the run without it goes beyond, in the unit."""


def _tool(result: Result) -> np.ndarray:
    return np.asarray(result["frame_position"][:, result.labels.frames.index("tool")])


def _robot(result: Result) -> Robot:
    named = result.scenario["robot"]
    return Robot.load(HERE / named if (HERE / named).exists() else named)


def _elbow(result: Result) -> float:
    """Return how far joint 4 of a Panda is beyond its range, of which kept runs know the end."""
    kept, joint = run("ends"), result.labels.coordinates.index("joint4")
    row = kept.labels.keep_rows.index("ends.joint4.upper")
    upper = kept["keep"][0, row] + kept["q"][0, joint]
    return float(result["q"][:, joint].max() - upper)


def _ball(result: Result) -> float:
    away = np.linalg.norm(_tool(result) - [-0.5, -0.05, 0.24], axis=1)
    return 0.12 - float(away.min())


def _arms(result: Result) -> float:
    """Return how much nearer than 20 mm forearms come, from points along their axes."""
    snapshot, along, nearest = _robot(result).snapshot(result["q"][0]), np.linspace(0, 1, 200), 9.0
    for q in result["q"][::5]:
        snapshot.move(q, np.zeros(len(snapshot.v)))
        ends = [
            (frame.position, frame.position + frame.rotation @ [-0.36, 0.0, 0.0])
            for frame in (snapshot.frame(f"{side}_forearm") for side in ("left", "right"))
        ]
        a, b = (start + along[:, None] * (end - start) for start, end in ends)
        nearest = min(nearest, float(np.linalg.norm(a[:, None] - b, axis=2).min()))
    return 0.1 + 0.02 - nearest


def _lean(result: Result) -> float:
    """Return how far the centre of mass is beyond the line between the front feet."""
    snapshot = _robot(result).snapshot(result["q"][0])
    front = min(snapshot.frame(f"F{side}_foot").position[0] for side in "LR")
    snapshot.move(result["q"][-1], np.zeros(len(snapshot.v)))
    return float(snapshot.com().position[0] - front)


def _cup(result: Result) -> float:
    robot = _robot(result)
    down = [-robot.snapshot(q).frame("tool").rotation[2, 2] for q in result["q"][::25]]
    return float(np.arccos(min(down)) - np.radians(25.0))


KINDS = {
    "ends": Shown("ranges of joints", HERE / "ends.toml", "ends", "mrad", _elbow),
    "wall": Shown(
        "a half-space", HERE / "wall.toml", "wall", "mm",
        lambda result: -0.6 - float(_tool(result)[:, 0].min()),
    ),
    "ball": Shown("a sphere", HERE / "ball.toml", "ball", "mm", _ball),
    "arms": Shown("clearance of two arms", HERE / "arms.toml", "forearms", "mm", _arms),
    "lean": Shown("support", "a1-lean", "support", "mm", _lean),
    "cup": Shown("tilt", HERE / "cup.toml", "cup", "mrad", _cup),
    "reach": Shown("manipulability", HERE / "reach.toml", "grasp", "", lambda result: np.inf),
}  # fmt: skip
"""Every kind, by the name of its films."""


@functools.cache
def run(name: str, kept: bool = True) -> Result:
    """Return a run of the page, with what it keeps or without."""
    return simulate(Scenario.load(KINDS[name].scenario, {} if kept else {"keep": []}))


def _number(value: float, unit: str) -> str:
    if unit:
        return f"{round(1e3 * value) + 0:d} {unit}"
    return f"{round(value, 3) + 0.0:.3f} m²"


def _row(name: str) -> str:
    shown, result, free = KINDS[name], run(name), run(name, kept=False)
    block = shown.block
    left = _number(result.metric(f"worst_margin.{block}"), shown.unit)
    crossed = int(result.metric(f"limits_crossed.{block}"))
    long = result.metric(f"time_at_limits.{block}")
    without = "ends early" if free.status != "completed" else None
    without = without or f"{_number(shown.beyond(free), shown.unit)} beyond"
    return f"| {shown.what} | {crossed} | {left} | {long:.1f} s | {without} |"


def kinds() -> str:
    """Return a line for every kind."""
    head = "| what is kept | quantities crossed | least left | at the limit for | without it |"
    return "\n".join([head, "|---|---|---|---|---|", *map(_row, KINDS)])


def fastest() -> str:
    """Return how long the way takes that three-rrr-fastest has timed anew."""
    result = simulate(Scenario.load("three-rrr-fastest"))
    speed = np.abs(result["v"]).max(axis=1)
    return f"{result.time[np.flatnonzero(speed > 1e-3)[-1]]:.1f} s"


TABLES = {"kinds": kinds}
FACTS = {"fastest": fastest}
SLOW = True
