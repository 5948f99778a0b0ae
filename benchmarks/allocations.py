"""Time every allocation beside the least norm, on the SCARA and a 7-joint arm; print a table.

All get the same rows, demands and states, and take turns round by round; the ratio to the least
norm is the median of the rounds' ratios. Before anything is timed, those that need not give way
must give the same input. ``bounded`` is timed with limits that do not bind and with limits that do.

    python benchmarks/allocations.py [--json FILE] [--rounds N]
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

from ukctrl import Allocation, Dynamics, Robot, Stack, Task, constraints, control, reference

SAME = 1e-9
"""Largest difference of two inputs that count as the same [N m, N]."""
TICKS = 400
STATES = 20


class Bench:
    """A robot with a task, at some states."""

    def __init__(self, robot: Robot, task: Task) -> None:
        rng = np.random.default_rng(0)
        self.task, self.stack = task, Stack(task.servo, robot)
        self.places = []
        for _ in range(STATES):
            dynamics = Dynamics(robot)
            v = 0.3 * rng.standard_normal(robot.nv)
            dynamics.move(0.0, task.q + 0.05 * rng.standard_normal(robot.nq), v)
            rows = Stack(task.servo, robot).write(dynamics.snapshot)
            self.places.append((rows, 0.5 * rng.standard_normal(len(self.stack)), dynamics))

    def microseconds(self, allocation: Allocation) -> float:
        """Return the time of one input, from rows and dynamics that are there already."""
        allocator = allocation.attach(self.task, self.stack.names)
        for place in self.places:
            allocator.input(*place)
        began = time.perf_counter()
        for k in range(TICKS):
            allocator.input(*self.places[k % STATES])
        return 1e6 * (time.perf_counter() - began) / TICKS

    def inputs(self, allocation: Allocation) -> np.ndarray:
        """Return the inputs at all states."""
        allocator = allocation.attach(self.task, self.stack.names)
        return np.array([allocator.input(*place).copy() for place in self.places])


def scara() -> Bench:
    """Return the SCARA whose tool follows a point, with its orientation held."""
    robot = Robot.load("scara")
    tool = constraints.PointFollows(frame="tool", path=reference.Constant(value=(0.0, 0.35, 0.1)))
    wrist = constraints.JointFollows(
        joints=("q3",), path=reference.Constant(value=(0.1,)), name="wrist"
    )
    task = Task(robot=robot, servo=(tool, wrist), q=np.array([-0.5, 0.9, -0.4, 0.1]), v=np.zeros(4))
    return Bench(robot, task)


def panda() -> Bench:
    """Return the Panda whose tool follows a pose, with one freedom left."""
    robot = Robot.load("panda")
    q = robot.neutral if robot.home is None else robot.home
    frame = next(name for name in robot.frames[::-1] if "tool" in name or "hand" in name)
    point = robot.snapshot(q).frame(frame).position
    joints = (robot.dofs[0], robot.dofs[2])
    servo = (
        constraints.PointFollows(frame=frame, path=reference.Constant(value=tuple(point.tolist()))),
        constraints.JointFollows(
            joints=joints, path=reference.Constant(value=(0.0, 0.0)), name="turn"
        ),
    )
    return Bench(robot, Task(robot=robot, servo=servo, q=q, v=np.zeros(robot.nv)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, bench in (("scara", scara()), ("panda", panda())):
        plain = bench.inputs(control.LeastNorm())
        wide, tight = 1.01 * np.abs(plain).max(axis=0), 0.7 * np.abs(plain).max(axis=0)
        names = bench.task.robot.actuators
        limits = [
            dict(zip(names, np.maximum(each, 0.1).tolist(), strict=True)) for each in (wide, tight)
        ]
        kinds: dict[str, Allocation] = {
            "least_norm": control.LeastNorm(),
            "least_norm, weighted": control.LeastNorm(metric=dict.fromkeys(names, 2.0)),
            "damped": control.Damped(near=1e-3),
            "prioritized": control.Prioritized(),
            "bounded, no limit binds": control.Bounded(limit=limits[0]),
            "bounded, scaled": control.Bounded(limit=limits[1]),
            "bounded, relaxed": control.Bounded(limit=limits[1], on_limit="relax"),
        }
        for kind in ("damped", "prioritized", "bounded, no limit binds"):
            off = float(np.abs(bench.inputs(kinds[kind]) - plain).max())
            if off > SAME * max(1.0, float(np.abs(plain).max())):
                raise SystemExit(f"'{kind}' differs from the least norm by {off:.1e} on '{name}'.")
        rounds = [
            {kind: bench.microseconds(made) for kind, made in kinds.items()}
            for _ in range(options.rounds)
        ]
        found[name] = {}
        print(f"{name}: {len(bench.stack)} rows, {bench.task.robot.nu} motors")
        for kind in kinds:
            took = statistics.median(each[kind] for each in rounds)
            ratio = statistics.median(each[kind] / each["least_norm"] for each in rounds)
            found[name][kind] = {"microseconds": took, "ratio": ratio}
            print(f"  {kind:26s} {took:7.1f} us   {ratio:6.1f} x least_norm")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
