"""Time ticks of model predictive control, with warm and with cold programs; print a table.

A robot is put aside from where it should be, so that limits are in the way, and moves for some
ticks; so 20 times. Warm programs begin at the limits that were active one tick before, cold ones at
none. Only ticks that solve a program count, after the first; their time is that of the whole tick,
the robot's kinematics included.

    python benchmarks/model_predictive.py
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np

from ukctrl import Dynamics, Loop, Scenario, one_blas_thread

TICKS, TIMES, HORIZONS = 10, 20, (10, 20, 50)
TIGHT = {"Q": {"q": 1e4, "v": 100.0}}


class Case(NamedTuple):
    """A robot, what it is asked, and how far it is put aside [rad or m]."""

    name: str
    scenario: str
    changes: Mapping[str, Any]
    period: float
    law: Mapping[str, Any]
    aside: float


CASES = (
    Case(
        "cart-pole (1)", "cart-pole-swing-up", {"start.q": {"pole": "180*deg"}}, 0.01,
        {"Q": 10.0, "R": 0.1, "limit": 5.0}, 0.1,
    ),
    Case(
        "SCARA (4)", "scara-helix",
        {"robot": {"use": "scara", "limit": [{"joint": "q1", "velocity": 0.5}]}}, 0.005,
        {**TIGHT, "limit": 30.0}, 0.2,
    ),
    Case("Panda (7)", "panda-pose-sampled", {"effect": []}, 0.001, TIGHT, 0.3),
)  # fmt: skip


def tick_times(case: Case, horizon: int, follow: str) -> tuple[int, int, list[float], list[float]]:
    """Return unknowns and limits of the program, and the times of warm and cold ticks [us]."""
    scenario = Scenario.load(case.scenario).replace(
        {
            **case.changes,
            "timing": {"duration": (TICKS + horizon) * case.period, "sample": case.period,
                       "control": case.period},
            "controller": {"kind": "mpc", "follow": follow, "moves": horizon,
                           "horizon": horizon * case.period, **case.law},
        }
    )  # fmt: skip
    loop, rng = Loop(scenario), np.random.default_rng(0)
    law, start = loop.law, loop.state
    plant, warm, cold = Dynamics(loop.robot), list[float](), list[float]()
    for _ in range(TIMES):
        aside = case.aside * rng.uniform(-1.0, 1.0, loop.robot.nv)
        q, v, memory = loop.robot.integrate(start.q, aside), start.v, law.memory
        for k in range(TICKS):
            t = k * case.period
            for begin, times in ((law.memory, cold), (memory, warm)):
                began = time.thread_time()
                u, rate, *_ = law.command(t, q, v, begin)
                times.append(1e6 * (time.thread_time() - began))
            plant.move(t, q, v)
            if k == 0 or not law.signals(plant, memory)["iterations"].value:
                del warm[-1], cold[-1]
            memory = memory + case.period * rate
            v = v + case.period * plant.acceleration(u)
            q = loop.robot.integrate(q, case.period * v)
    return horizon * loop.robot.nu, len(law.memory), warm, cold


@one_blas_thread()
def main() -> None:
    """Print the table."""
    print("| robot (inputs) | follows | ticks | program | warm [us] | worst [us] | cold [us] |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        for follow in ("equilibrium", "task"):
            if follow == "task" and case.name.startswith("cart"):
                continue  # no motor drives its pole along one
            for horizon in HORIZONS:
                n, m, warm, cold = tick_times(case, horizon, follow)
                told = statistics.median(warm), max(warm), statistics.median(cold)
                cells = " | ".join(f"{float(f'{value:.2g}'):.0f}" for value in told)
                print(f"| {case.name} | {follow} | {horizon} | {n} x {m} | {cells} |")


if __name__ == "__main__":
    main()
