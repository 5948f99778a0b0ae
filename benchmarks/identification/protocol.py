"""How a contestant is asked: once, in a process of its own, so that its peak of memory is told.

    python benchmarks/identification/with_NAME.py SAMPLES.npz WORK OUT.npz

It reads the samples, does the work once with few of them where something must be compiled or
loaded first, then with all, and prints one line of JSON: seconds of the processor, by part and in
all, peak memory [MB], and what ran. Arrays that it finds go to OUT.npz.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

WARM_UP = 4000
"""Samples of the first, untimed call."""
Samples = Mapping[str, Any]


class Clock:
    """Processor time by part; work of others on the same machine counts less than by the clock."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._last = time.process_time()

    def lap(self, part: str) -> None:
        """Add what has passed since the last lap to a part [s]."""
        now = time.process_time()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


Work = Callable[[Samples, Clock], dict[str, Any]]


def answer(works: Mapping[str, Work], versions: str, *, warm: bool = True) -> None:
    """Do what is asked for."""
    file, work, out = sys.argv[1:]
    samples: Samples = np.load(file)  # an array is read when it is asked for
    if warm and "split" not in samples:
        few = {
            name: x[:WARM_UP].copy() if np.ndim(x) else x
            for name, x in ((name, samples[name]) for name in samples)
        }
        works[work](few, Clock())
    clock = Clock()
    found = works[work](samples, clock)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    np.savez(out, **found)
    told = {"parts": clock.parts, "seconds": sum(clock.parts.values()), "peak": peak}
    print(json.dumps(told | {"versions": versions}))
