"""Time of one acceleration of N four-bar loops beside a script; run with ``--page`` to publish.

Both compute the acceleration of the same state from nothing: rows, mass matrix, ranks. They must
agree before anything is timed. Then they take turns in one process, on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from naive_n_four_bar import NaiveFourBars
from page import write_tables

from ukctrl import Robot, Scenario, simulate
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains

LOOPS = (1, 2, 5, 10, 20, 40)
ANGLE, OMEGA = np.deg2rad(60.0), -1.0
"""State that is timed: the rods' angle [rad] and rate [rad/s]."""
AGREE = 1e-7
"""Accelerations that differ by more are not the same [m/s^2, rad/s^2]."""
SHORT = 0.5
"""Length of the simulation whose closure error is told [s]."""
SHARE = 0.2
"""Time that one measurement takes at least [s]."""


def timed(call: Callable[[], object]) -> float:
    """Return the time of one call [s], from as many as fill a share."""
    began, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < SHARE:
        call()
        count += 1
    return spent / count


def measure(loops: int, rounds: int) -> dict[str, float]:
    """Return what is told of one number of loops."""
    override = {"linkage": {"repeat": {"loop": {"count": loops}}}}
    robot = Robot.load("n_four_bar", override=override)
    naive = NaiveFourBars(loops)
    q, v = naive.state(ANGLE, OMEGA)
    ours = Dynamics(robot, RankPolicy(passive=1e-5), StabilisationGains())
    ours.move(0.0, q, v)
    difference = float(np.abs(ours.a_free - naive.acceleration(q, v)).max())
    if not difference < AGREE:
        sys.exit(f"N = {loops}: the accelerations differ by {difference:.1e}.")
    pairs = []
    for _ in range(rounds):
        mine = timed(lambda: ours.move(0.0, q, v))
        pairs.append((mine, timed(lambda: naive.acceleration(q, v))))
    changes = {"robot.linkage.repeat.loop.count": loops, "timing.duration": SHORT}
    run = simulate(Scenario.load("n-four-bar", {**changes, "integrator.step": 0.005}))
    if run.status != "completed":
        sys.exit(f"N = {loops}: {run.message}")
    return {
        "coordinates": robot.nv,
        "rows": len(ours.passive),
        "ukctrl": statistics.median(mine for mine, _ in pairs),
        "script": statistics.median(theirs for _, theirs in pairs),
        "ratio": statistics.median(mine / theirs for mine, theirs in pairs),
        "closure": run.metric("peak_passive_phi"),
    }


def growth(measured: dict[int, dict[str, float]], who: str) -> float:
    """Return the exponent p of ``time ~ n^p`` over the three largest."""
    last = [measured[loops] for loops in sorted(measured)[-3:]]
    n = [entry["coordinates"] for entry in last]
    return float(np.polyfit(np.log(n), np.log([entry[who] for entry in last]), 1)[0])


def markdown(measured: dict[int, dict[str, float]]) -> str:
    """Return the table of the page."""
    lines = [
        "| loops N | coordinates | rows | ukctrl | script | ratio | closures open by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for loops, entry in measured.items():
        lines.append(
            f"| {loops} | {entry['coordinates']:.0f} | {entry['rows']:.0f} "
            f"| {spoken(entry['ukctrl'])} | {spoken(entry['script'])} | {entry['ratio']:.2f} "
            f"| {entry['closure']:.0e} m |"
        )
    mine, theirs = growth(measured, "ukctrl"), growth(measured, "script")
    lines.append(f"| grows as | | | $n^{{{mine:.1f}}}$ | $n^{{{theirs:.1f}}}$ | | |")
    return "\n".join(lines)


def spoken(seconds: float) -> str:
    """Return a time with three digits."""
    factor, unit = (1e6, "µs") if seconds < 1e-3 else (1e3, "ms")
    return f"{seconds * factor:.3g} {unit}"


def on_one_core() -> None:
    """Start over with linear algebra on one core, which it must know before it is loaded."""
    one = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    if any(os.environ.get(name) != value for name, value in one.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **one})


def main() -> None:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", action="store_true", help="also write into docs/reference")
    options = parser.parse_args()
    on_one_core()
    measured: dict[int, dict[str, Any]] = {n: measure(n, options.rounds) for n in LOOPS}
    text = markdown(measured)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n")
    if options.page:
        write_tables({"n_four_bar": text})


if __name__ == "__main__":
    main()
