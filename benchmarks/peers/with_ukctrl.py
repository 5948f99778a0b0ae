"""ukctrl: ``law.command(t, q, v)``, its reference included, and ``simulate(scenario)``."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numba
import numpy as np
import pinocchio as pin
from protocol import Case, Contestant, serve

from ukctrl import Law, Loop, Result, Scenario, Task, Vector, simulate

WARM_UP = 20.0
"""Every loop runs so long before its time is told: what has run for five seconds is compiled as a
whole, by another process [s]."""


def states(case: Case) -> list[tuple[float, Vector, Vector]]:
    """Return time, configuration and velocity of every state; the arms' are angles of links."""
    of = np.cumsum if case["name"] == "arms" else np.array
    return [(t, of(q), of(v)) for t, q, v in zip(case["t"], case["q"], case["v"], strict=True)]


def ends(run: Result) -> tuple[Vector, Vector]:
    """Return the last state, and the torques of all samples but that."""
    return np.concatenate([run["q"][-1], run["v"][-1]]), run["u"][:-1]


def loops(case: Case) -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return the closed loops of a case."""
    loop = case["loops"]
    seconds = loop.get("seconds", {})
    if case["name"] == "arms":
        arms = Scenario.load("coordinated-arms")
        adaptive = {"integrator.rtol": 1e-9, "integrator.atol": 1e-9}
        changes = {
            "rk45": {"integrator.method": "RK45", **adaptive},
            "dop853": adaptive,
            "rk4": {"integrator": {"method": "RK4", "step": 1e-3}, "stabilisation.rate": 20.0},
        }
        runs = {
            name: arms.replace({"timing.duration": seconds[name], **change})
            for name, change in changes.items()
        }
        return {name: lambda run=run: ends(simulate(run)) for name, run in runs.items()}
    if case["name"] != "panda":
        return {}
    panda = Scenario.load("panda-pose-sampled")
    nominal = panda.replace({"effect": [], "timing.duration": seconds["sampled"]})
    rollouts = [panda.replace({"seed": seed}) for seed in range(len(loop["mass_scale"]))]

    def roll() -> tuple[list[Vector], list[Vector]]:
        made = [ends(simulate(scenario)) for scenario in rollouts]
        return [y for y, _ in made], [u[-1] for _, u in made]

    return {"sampled": lambda: ends(simulate(nominal)), "rollouts": roll}


def prepare(case: Case) -> Contestant:
    """Start the law."""
    scenario, at = Scenario.load(case["scenario"]), states(case)
    q = np.array(case["rule"].get("q", at[0][1]))
    robot = Loop(scenario).robot
    task = Task(robot=robot, servo=scenario.servo, q=q, v=at[0][2], rank=scenario.rank)
    law: Law = scenario.controller.start(task)
    found = loops(case)
    for loop in found.values():
        began = time.perf_counter()
        while time.perf_counter() - began < WARM_UP:
            loop()
    return Contestant(lambda k: law.command(*at[k]).u, found)


def versions() -> str:
    """Return what ran."""
    parts = (version("ukctrl"), pin.__version__, numba.__version__, np.__version__)
    return "ukctrl {}, pin {}, numba {}, numpy {}".format(*parts)


if __name__ == "__main__":
    serve(prepare, versions)
