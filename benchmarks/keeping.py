"""Time a tick of a law that keeps limits beside the same law without; print a table.

The states lie along one motion: near the middle of the ranges, where nothing binds, and at the ends
of some joints, where so many do. The laws take turns round by round; the ratio is the median of
the rounds' ratios, of processor time.

    python benchmarks/keeping.py [--json FILE] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np

from ukctrl import Robot, Runtime, Scenario

ROBOTS = ("scara", "ur5", "panda")
ENDS, SPEED, DECELERATION = 2.0, 2.0, 4.0
BINDING = (0, 1, 3)
"""So many joints are at their ends."""


def scenario(robot: Robot, keep: str, binding: int) -> Scenario:
    """Return a scenario that leads some joints beyond their ends, and holds the others."""
    target = [2.0 * ENDS] * binding + [0.0] * (robot.nv - binding)
    q = np.zeros(robot.nq).tolist()
    return Scenario.from_toml(f"""
title = "hold"
robot = "{robot.name}"
start.q = {q}
timing = {{ duration = 1.0, control = 0.004, sample = 0.004 }}
controller.use = "servo-baumgarte"
{keep}
[[servo]]
kind = "joint_follows"
joints = {list(robot.dofs)}
path = {{ kind = "constant", value = {target} }}
""")


def keeping(robot: Robot) -> str:
    """Return the table that keeps all joints within ranges and speeds."""
    wide = f"lower = -{ENDS}\nupper = {ENDS}\nspeed = {SPEED}\ndeceleration = {DECELERATION}"
    return f'[[keep]]\nkind = "joint_limits"\njoints = {list(robot.dofs)}\n{wide}\n'


def microseconds(runtime: Runtime, states: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the processor time of one tick [us]."""
    runtime.restart()
    began = time.process_time()
    for k, (q, v) in enumerate(states):
        runtime.step(1e-3 * k, q, v)
    return 1e6 * (time.process_time() - began) / len(states)


def measured(name: str, binding: int, rounds: int) -> dict[str, float]:
    """Return the fastest tick without and with limits [us], and the ratio."""
    robot, rng = Robot.load(name), np.random.default_rng(0)
    both = [Runtime(scenario(robot, keep, binding)) for keep in ("", keeping(robot))]
    at = np.zeros(robot.nq)
    at[:binding] = ENDS - 1e-6
    still = np.zeros(robot.nv)
    states = [(at - 1e-4 * rng.uniform(size=robot.nq), still) for _ in range(400)]
    for runtime in both:
        microseconds(runtime, states[:2])
    times = [[microseconds(runtime, states) for runtime in both] for _ in range(rounds)]
    without, beside = (min(own) for own in zip(*times, strict=True))
    return {"without": without, "with": beside, "ratio": statistics.median(b / a for a, b in times)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    found = {}
    print("robot   joints at ends   without [us]   with [us]   ratio")
    for name in ROBOTS:
        for binding in BINDING:
            row = measured(name, binding, given.rounds)
            found[f"{name}-{binding}"] = row
            print(
                f"{name:7s} {binding:14d} {row['without']:14.1f} {row['with']:11.1f} "
                f"{row['ratio']:7.2f}"
            )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
