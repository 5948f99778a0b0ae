"""How a contestant talks to the driver: a case comes in, torques and times go out.

A contestant is a script beside this file that ends with ``serve(prepare)``. It runs in an
environment of its own and needs nothing but NumPy and its library:

    python benchmarks/peers/with_NAME.py CASE.json

Its standard input asks, line by line: ``torques`` gives those of all states, ``time S`` takes the
microseconds of a tick, the mean over S seconds, ``split S`` those of the parts of a tick where it
has any. Answers are one line of JSON each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tick = Callable[[int], Any]
"""From the number of a state to its torques, in the order of the case's joints."""


class Case:
    """A case file; its items are in ``export.py``."""

    def __init__(self, file: Path) -> None:
        self.items: dict[str, Any] = json.loads(file.read_text())
        self.urdf = str(file.parent / self.items["urdf"])
        self.count = len(self.items["t"])

    def __getitem__(self, name: str) -> Any:
        return self.items[name]


def microseconds(call: Tick, count: int, seconds: float) -> float:
    """Return the time of one call [us], over all states in turn for at least so many seconds."""
    calls, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        for k in range(count):
            call(k)
        calls += count
    return 1e6 * spent / calls


def serve(
    prepare: Callable[[Case], Tick],
    versions: Callable[[], str],
    split: Callable[[Case], dict[str, Tick]] | None = None,
) -> None:
    """Answer the driver until it hangs up."""
    case = Case(Path(sys.argv[1]))
    tick, parts = prepare(case), split(case) if split else {}
    answer({"ready": versions()})
    for line in sys.stdin:
        asked, *rest = line.split()
        if asked == "torques":
            answer([[float(x) for x in tick(k)] for k in range(case.count)])
        elif asked == "time":
            answer(microseconds(tick, case.count, float(rest[0])))
        else:
            seconds = float(rest[0])
            answer({name: microseconds(part, case.count, seconds) for name, part in parts.items()})


def answer(what: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()
