"""Time the SCARA helix against the script that a user would write; print a table and JSON.

Both run in this process, in turn, round by round; the ratio is the median of the rounds'
ratios, so a noisy machine disturbs both alike. Before anything is timed, both must give the
same torques.

    python benchmarks/scara_helix.py [--json FILE] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from naive_scara import NaiveScara

from ukctrl import Robot, Scenario, Task, simulate

SAME = 1e-9
"""Largest difference of two torques that count as the same [N m, N]."""
TICKS = 2000
LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
wall = time.perf_counter() - began
print(wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def seconds(work: Callable[[], object], repeat: int) -> float:
    """Return the seconds of one call, the mean of ``repeat``."""
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - began) / repeat


def side_by_side(
    ours: Callable[[], object], theirs: Callable[[], object], repeat: int, rounds: int
) -> dict[str, float]:
    """Time two functions in turn; return the medians and the median ratio."""
    ours(), theirs()
    pairs = [(seconds(ours, repeat), seconds(theirs, repeat)) for _ in range(rounds)]
    return {
        "ukctrl": statistics.median(a for a, _ in pairs),
        "script": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
    }


def process(command: list[str], cache: str) -> dict[str, float]:
    """Run a command; return its wall time [s] and peak memory [MB].

    A process inherits the peak of the one that starts it, so a small one stands between.
    """
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *command],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wall, peak = done.stdout.split()
    return {"seconds": float(wall), "peak_mb": float(peak) / 1024.0}


def loops(rounds: int) -> dict[str, dict[str, float]]:
    """Time one tick and one simulated second."""
    scenario = Scenario.load("scara-helix")
    span = scenario.timing.duration
    robot = Robot.load("scara")
    gains = scenario.controller.feedback
    naive = NaiveScara(str(robot.path.parent / "scara.urdf"), gains.alpha, gains.beta)

    result = simulate(scenario)
    q0, v0 = result["q"][0], result["v"][0]
    _, _, u = naive.simulate(q0, v0, result.time, rtol=1e-9, atol=1e-11)
    worst = float(np.abs(u - result["u"]).max())
    if worst > SAME:
        raise SystemExit(f"the torques differ by {worst:.1e}; nothing to compare.")

    law = scenario.controller.start(Task(robot=robot, servo=scenario.servo, q=q0, v=v0))
    tick = side_by_side(
        lambda: law.command(0.3, q0, v0), lambda: naive.torque(0.3, q0, v0), TICKS, rounds
    )
    second = side_by_side(
        lambda: simulate(scenario),
        lambda: naive.simulate(q0, v0, result.time, rtol=1e-9, atol=1e-11),
        1,
        max(3, rounds // 3),
    )
    second.update({key: second[key] / span for key in ("ukctrl", "script")})
    return {
        "controller tick [us]": {k: s * (1e6 if k != "ratio" else 1.0) for k, s in tick.items()},
        "simulated second [ms]": {k: s * (1e3 if k != "ratio" else 1.0) for k, s in second.items()},
        "largest torque difference": {"ukctrl": worst},
    }


def processes() -> dict[str, dict[str, float]]:
    """Time whole commands, the first run with an empty compilation cache."""
    ukctrl = [sys.executable, "-m", "ukctrl.cli"]
    with tempfile.TemporaryDirectory() as scratch:
        run = [*ukctrl, "run", "scara-helix", "--out", str(Path(scratch) / "out")]
        cache = str(Path(scratch) / "cache")
        return {
            "ukctrl --help": process([*ukctrl, "--help"], cache),
            "ukctrl run scara-helix, first": process(run, cache),
            "ukctrl run scara-helix, again": process(run, cache),
        }


def main() -> None:
    """Measure, print, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    measured = {"in one process": loops(options.rounds), "whole processes": processes()}
    for title, table in measured.items():
        print(title)
        for name, row in table.items():
            cells = "  ".join(f"{key} {value:9.3g}" for key, value in row.items())
            print(f"  {name:32s} {cells}")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
