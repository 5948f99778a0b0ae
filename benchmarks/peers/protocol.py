"""How a contestant talks to the driver: a case comes in, torques, motions and times go out.

A contestant is a script beside this file that ends with ``serve(prepare, versions)``. It runs in
an environment of its own and needs nothing but NumPy and its library:

    python benchmarks/peers/with_NAME.py CASE.json

What it prepares is a `Contestant`: a tick, and the closed loops that it can run. Its standard input
asks, line by line: ``run tick`` gives the torques of all states, ``run LOOP`` what a loop ends
with, ``time WORK S`` the seconds of one tick or loop, the mean over at least S seconds. Answers are
one line of JSON each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Loop = Callable[[], tuple[Any, Any]]
"""Runs a motion; returns what it ends with, and what is told of it every 10 ms."""


@dataclass
class Contestant:
    """What a contestant can do."""

    tick: Callable[[int], Any]
    """From the number of a state to its torques, in the order of the case's motors."""
    loops: Mapping[str, Loop] = field(default_factory=dict)
    block: Callable[[], object] | None = None
    """Makes many ticks in one call, where calls from Python are not what is timed."""
    block_size: int = 1


class Case:
    """A case file; its items are in ``export.py``."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.items: dict[str, Any] = json.loads(file.read_text())
        self.urdf = str(file.parent / self.items["urdf"])
        self.count = len(self.items["t"])

    def __getitem__(self, name: str) -> Any:
        return self.items[name]

    def references(self) -> list[dict[str, Any]]:
        """Return the references of the frame tasks as arrays, one row a state."""
        return [references(task) for task in self["tasks"]]

    def sampled(self) -> list[dict[str, Any]]:
        """Return those of the sampled loop, one row a tick."""
        table = np.load(self.file.with_suffix(".npz"))
        return [{name: table[name] for name in table.files} | {"turning": True}]

    def spread(self) -> Any:
        """Return which motors act along which joints, shape (joints, motors)."""
        return np.array(self["spread"])


def references(task: Any) -> dict[str, Any]:
    """Return the references of a task as arrays."""
    made: dict[str, Any] = {"turning": False}
    made |= {name: np.array(task[name]) for name in ("position", "velocity", "acceleration")}
    if "rotation" in task:
        made["rotation"] = np.array(task["rotation"]).reshape(-1, 3, 3)
    return made


def mean(work: Callable[[], object], seconds: float) -> float:
    """Return the processor time of one call [s], over at least so many seconds.

    Work of others on the same machine counts less in it than by the clock.
    """
    calls, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds or not calls:
        work()
        calls += 1
    return spent / calls


def serve(prepare: Callable[[Case], Contestant], versions: Callable[[], str]) -> None:
    """Answer the driver until it hangs up."""
    case = Case(Path(sys.argv[1]))
    does = prepare(case)

    def ticks() -> None:
        for k in range(case.count):
            does.tick(k)

    block, size = (does.block, does.block_size) if does.block else (ticks, case.count)
    answer({"ready": versions(), "loops": list(does.loops)})
    for line in sys.stdin:
        asked, work, *seconds = line.split()
        if asked == "run":
            every = range(case.count)
            ends = does.loops[work]() if work != "tick" else [[does.tick(k) for k in every]]
            answer([np.asarray(part).tolist() for part in ends])
        elif work == "tick":
            answer(mean(block, float(seconds[0])) / size)
        else:
            answer(mean(does.loops[work], float(seconds[0])))


def answer(what: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()
