"""Time many rollouts of a 7-joint arm at 1 kHz beside the script that a user would write.

    python benchmarks/rollouts.py [--json FILE] [--samples N] [--rounds N] [--memory] [--page]

Both run 2 s of scenarios/panda-pose-sampled.toml with masses that are off by up to 10 %, on 1, 2
and all cores, in turn, round by round; before that both must give the same motion. The script is
that of `peers`. A rate is that of the fastest round, a ratio the median of the rounds' ratios. The
processes of both are started before their time is taken, and have run, a sweep's for 20 s, so that
its tables are linked (decision 0117).
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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from page import write_tables

from ukctrl import Scenario, simulate
from ukctrl.studies.batch.task import RetryPolicy
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.sweep import SamplingPlan
from ukctrl.studies.sweep.sample_task import SampleTasks, SweepInput

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
from export import ROLLOUT, export
from loops import pinocchio_plant, sampled
from protocol import Case
from with_script import Script

NAME = "panda-pose-sampled"
SAME = 1e-8
"""Largest difference of states that count as the same [rad, rad/s]."""
SCRIPT: Any = None
"""Case, law and references of the script, one a process."""
COUNTS = (100, 1000, 10_000)
WARM_UP = 20.0
"""A sweep runs so long before its time is told: what has run for five seconds is compiled as a
whole, by another process [s]."""
SHARE = 8
"""Samples of each core in the round that warms up."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def start_script(file: str) -> None:
    """Make the script's law, in a process of its own."""
    global SCRIPT
    case = Case(Path(file))
    SCRIPT = case, Script(case).torque, case.sampled()


def rollout(seed: int | None) -> list[float]:
    """Return the last state of a sample of the script; no seed: with the masses of the file."""
    case, law, tasks = SCRIPT
    scale = np.ones(7)
    if seed is not None:
        scale = np.random.default_rng(seed).uniform(0.9, 1.1, 7)
    y, _ = sampled(law, pinocchio_plant(case, scale), case, tasks, ROLLOUT)
    return [float(x) for x in y]


def agree(scenario: Scenario, file: str) -> float:
    """Return the largest difference of the last states, with the masses of the file."""
    ours = simulate(scenario.replace({"effect": []}))
    start_script(file)
    return float(np.abs(np.concatenate([ours["q"][-1], ours["v"][-1]]) - rollout(None)).max())


def timed(work: Callable[[int], object], count: int) -> float:
    """Return how many samples a second the work makes."""
    began = time.perf_counter()
    work(count)
    return count / (time.perf_counter() - began)


def with_sweep(scenario: Scenario, jobs: int) -> tuple[TaskRunner, Callable[[int], object]]:
    """Return what makes so many samples as `ukctrl sweep` does."""
    base = SweepInput(scenario=scenario, plan=SamplingPlan.of([], repeats=1_000_000, seed=0))
    crew = TaskRunner(jobs, care=RetryPolicy(thread_safe=True, chunk_seconds=1.0))

    def work(count: int) -> None:
        done: list[int] = []
        crew.run(SampleTasks(base, range(count)), lambda k, value: done.append(k))
        assert len(done) == count

    return crew, work


def measure(
    scenario: Scenario, file: str, jobs: int, samples: int, rounds: int
) -> dict[str, float]:
    """Time both on so many cores."""
    crew, ours = with_sweep(scenario, jobs)
    with crew, get_context("spawn").Pool(jobs, start_script, (file,)) as pool:

        def theirs(count: int) -> None:
            for _ in pool.imap_unordered(rollout, range(count), chunksize=4):
                pass

        theirs(SHARE * jobs)
        began = time.perf_counter()
        while time.perf_counter() - began < WARM_UP:
            ours(SHARE * jobs)
        found = []
        for _ in range(rounds):
            share = max(4 * jobs, samples // 4)
            found.append((timed(ours, samples), timed(theirs, share)))
    return {
        "ukctrl": max(a for a, _ in found),
        "script": max(b for _, b in found),
        "ratio": statistics.median(a / b for a, b in found),
    }


PEAK = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
wall = time.perf_counter() - began
print(wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def memory(count: int) -> dict[str, float]:
    """Sweep so many short samples from the command line; return wall time and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "ukctrl.cli", "sweep", NAME, "--repeats", str(count)]
        line += ["--set", "timing.duration=0.01", "--out", folder, "--quiet", "--no-report"]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *line], stdout=subprocess.PIPE, text=True, check=True
        )
    wall, peak = (float(part) for part in done.stdout.split())
    return {"samples": count, "seconds": wall, "peak_mb": peak / 1024.0}


def rates(found: dict[int, dict[str, float]]) -> str:
    """Return the rates as a table."""
    lines = ["| cores | ukctrl | script | ratio |", "|---|---|---|---|"]
    for jobs, row in found.items():
        lines.append(
            f"| {jobs} | {row['ukctrl']:.1f} /s | {row['script']:.1f} /s | {row['ratio']:.2f} |"
        )
    return "\n".join(lines)


def peaks(found: list[dict[str, float]]) -> str:
    """Return the peaks of memory as a table."""
    lines = ["| samples | time | peak memory |", "|---|---|---|"]
    for row in found:
        lines.append(f"| {row['samples']} | {row['seconds']:.0f} s | {row['peak_mb']:.0f} MB |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="also measure the peak memory")
    parser.add_argument("--page", action="store_true", help="write the tables of the benchmarks")
    given = parser.parse_args()
    for library in ("OPENBLAS", "MKL", "OMP"):  # one thread for each of the processes to come
        os.environ[f"{library}_NUM_THREADS"] = "1"
    scenario = Scenario.load(NAME)
    with tempfile.TemporaryDirectory() as folder:
        file = str(export("panda", Path(folder)))
        off = agree(scenario, file)
        if not off < SAME:
            sys.exit(f"the motions differ by {off:.1e}; there is nothing to compare.")
        print(f"largest difference of the motions: {off:.1e}; load {os.getloadavg()[0]:.1f}")
        found = {
            jobs: measure(scenario, file, jobs, given.samples, given.rounds)
            for jobs in sorted({1, 2, cores()})
        }
    tables = {"rollouts": rates(found)}
    kept = [memory(count) for count in COUNTS] if given.memory else []
    if kept:
        tables["rollouts_memory"] = peaks(kept)
    print("\n\n".join(tables.values()))
    if given.json:
        told = {"difference": off, "cores": found, "memory": kept}
        given.json.write_text(json.dumps(told, indent=2) + "\n")
    if given.page:
        write_tables(tables)


if __name__ == "__main__":
    main()
