"""Time a tick of the laws that drive links through springs, along one motion; print a table.

The states are those of a run under ``elastic-linearisation``. The laws take turns round by round;
the ratio to it is the median of the rounds' ratios, of processor time.

    python benchmarks/elastic_ticks.py [--json FILE] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

from ukctrl import Law, Robot, Scenario, Task, simulate

BASE = "elastic-linearisation"
LAWS = (BASE, "io-linearisation")
TWO_LINKS = """
title = "two links behind springs"
robot = "flexible_joint_arm"
start = { q = {}, springs = "loaded" }
controller.use = "elastic-linearisation"
timing = { duration = 0.2, sample = 0.01 }
[[servo]]
kind = "joint_follows"
joints = ["q2", "q4"]
path = { kind = "rest_to_rest", points = [[0.0, 0.0], [0.4, -0.2]], duration = 0.4, still = 5 }
"""


def milliseconds(law: Law, states: list[tuple]) -> float:
    """Return the processor time of one command [ms]."""
    began = time.process_time()
    for state in states:
        law.command(*state)
    return 1e3 * (time.process_time() - began) / len(states)


def measured(robot: str, scenario: Scenario, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the fastest tick of every law [ms] and its ratio to the first."""
    under = {name: scenario.replace({"controller": {"use": name}}) for name in LAWS}
    run = simulate(under[BASE].replace({"timing.duration": 0.2}))
    states = [(float(t), *x) for t, *x in zip(run["time"], run["q"], run["v"], strict=True)]
    q, v = (run[name][0] for name in "qv")
    task = Task(robot=Robot.load(robot), servo=scenario.servo, q=q, v=v)
    laws = {name: one.controller.start(task) for name, one in under.items()}
    for law in laws.values():
        law.command(*states[0])
    times = {name: list[float]() for name in laws}
    for _ in range(rounds):
        for name, law in laws.items():
            times[name].append(milliseconds(law, states))
    return {
        name: (min(own), statistics.median(a / b for a, b in zip(own, times[BASE], strict=True)))
        for name, own in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        two_links = Path(folder) / "two-links.toml"
        two_links.write_text(TWO_LINKS, encoding="utf-8")
        arms = {
            "panda_elastic": Scenario.load("panda-elastic"),
            "flexible_joint_arm": Scenario.load(two_links),
        }
        table = {name: measured(name, one, given.rounds) for name, one in arms.items()}
    print("| robot | law | ms a tick | ratio |\n|---|---|---|---|")
    for name, laws in table.items():
        for law, (tick, ratio) in laws.items():
            print(f"| `{name}` | `{law}` | {tick:.2f} | {ratio:.1f} |")
    if given.json:
        given.json.write_text(json.dumps(table, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
