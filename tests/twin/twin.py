"""Machine code beside Python: the same kernels, run by both, must make the same motion.

    python tests/twin/twin.py                       # the catalogue and 500 random scenarios
    python tests/twin/twin.py --count 40 --seed 7
    python tests/twin/twin.py --again 7:123         # one of them, as TOML and array by array
    python tests/twin/twin.py --again five-bar

Every scenario runs for a few milliseconds in two processes, as users run it and with
``NUMBA_DISABLE_JIT=1``. Status, message, verdicts and the parts that Python was asked for must be
the same, and so must every bit of every array, unless a kernel left something to a library that is
another one for Python (`runs`); then every array must agree to `CLOSE` of what it measures, but for
efforts that move nothing, of which `PRESSED` is required.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from parts import draw
from runs import Array, Outcome, Task

HERE = Path(__file__).resolve().parent
CLOSE = 1e-12
"""Of the largest value in an array, or of one unit (m, rad, s, N, J) where that is more."""
PRESSED = 1e-11
"""The same of efforts by which motors press a closed chain against itself, where a metric weighs
that 10,000 times less than what moves (`definite_metric`), and rounding so many times more."""
EFFORTS = ("u", "passive_force", "reaction")
SAMPLES = 5
MOTION = 5e-3
"""How long a scenario runs [s], where its law has no ticks."""
SMALLER = {"swarm-many": {"robot.particles.count": 30}}
"""What would take Python minutes a step; above 48 freedoms kernels are those of large robots."""
BATCH = 8
"""Scenarios in a pair of processes."""
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")


class Verdict(NamedTuple):
    """How machine code and Python compare."""

    name: str
    status: str
    libraries: tuple[str, ...]
    """What kernels left to libraries."""
    apart: dict[str, float]
    """Arrays whose bits differ, and by how much of what they measure."""
    faults: tuple[str, ...]


def of_the_catalogue(name: str) -> Task:
    """Return the first moments of a scenario of the catalogue."""
    from ukctrl import Scenario

    period = Scenario.load(name).timing.control
    duration = MOTION if period is None else SAMPLES * period
    changes = {"timing.duration": duration, "timing.sample": duration / SAMPLES}
    return {"name": name, "scenario": name, "changes": changes | SMALLER.get(name, {})}


def drawn(seed: int, number: int) -> Task:
    """Return a random scenario."""
    return {"name": f"{seed}:{number}", **draw(seed, number)}


def judge(tasks: Sequence[Task]) -> list[Verdict]:
    """Run tasks by machine code and by Python, and compare."""
    pairs = zip(tasks, outcomes(tasks), outcomes(tasks, NUMBA_DISABLE_JIT="1"), strict=True)
    return [compare(task["name"], *pair) for task, *pair in pairs]


def outcomes(tasks: Sequence[Task], **environment: str) -> list[Outcome]:
    """Run tasks in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given, told = Path(folder) / "tasks.json", Path(folder) / "outcomes.pickle"
        given.write_text(json.dumps(tasks))
        subprocess.run(
            [sys.executable, str(HERE / "runs.py"), str(given), str(told)], check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        )  # fmt: skip
        return [Outcome(**one) for one in pickle.loads(told.read_bytes())]


def compare(name: str, compiled: Outcome, python: Outcome) -> Verdict:
    """Return how two outcomes differ."""
    faults = []
    for what in ("status", "message", "verdicts", "loop"):
        ours, theirs = getattr(compiled, what), getattr(python, what)
        if what == "message" and python.libraries:  # numbers in it are as close as the arrays
            ours, theirs = NUMBER.sub("#", ours), NUMBER.sub("#", theirs)
        if ours != theirs:
            faults.append(f"{what}: {ours!r}, by Python {theirs!r}")
    shapes = [{name: each.shape for name, each in one.arrays.items()} for one in (compiled, python)]
    if shapes[0] != shapes[1]:
        faults.append(f"shapes: {shapes[0]}, by Python {shapes[1]}")
        return Verdict(name, compiled.status, python.libraries, {}, tuple(faults))
    apart = dict(_apart(compiled, python))
    if apart and not python.libraries:
        faults.append("bits differ though no kernel used a library")
    loose = EFFORTS if "definite_metric: svd" in python.libraries else ()
    bounds = {name: PRESSED if name in loose else CLOSE for name in apart}
    far = {name: error for name, error in apart.items() if not error <= bounds[name]}
    if far:
        faults.append(f"too far apart: {far}")
    return Verdict(name, compiled.status, python.libraries, apart, tuple(faults))


def _apart(compiled: Outcome, python: Outcome) -> Iterator[tuple[str, float]]:
    for name, ours in compiled.arrays.items():
        theirs = python.arrays[name]
        if ours.tobytes() != theirs.tobytes():
            yield name, _distance(ours, theirs)


def _distance(ours: Array, theirs: Array) -> float:
    """Return by how much two arrays differ, of what they measure; infinite: not both are finite."""
    finite = np.isfinite(ours)
    if (finite != np.isfinite(theirs)).any():
        return float("inf")
    if (ours[~finite].astype(str) != theirs[~finite].astype(str)).any():
        return float("inf")
    size = max(1.0, float(np.abs(ours[finite]).max(initial=0.0)))
    return float(np.abs(ours[finite] - theirs[finite]).max(initial=0.0)) / size


def report(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the whole in lines: statuses, differences with their reasons, faults."""
    statuses = [one.status for one in verdicts]
    told = ", ".join(f"{statuses.count(each)} {each}" for each in sorted(set(statuses)))
    different = [one for one in verdicts if one.apart]
    lines = [f"{len(verdicts)} scenarios: {told}"]
    lines.append(f"{len(verdicts) - len(different)} identical to the last bit, others:")
    for one in different:
        worst = max(one.apart, key=lambda name: one.apart[name])
        reasons = ", ".join(one.libraries)
        lines.append(f"  {one.name}: {worst} by {one.apart[worst]:.1e}; {reasons}")
    wrong = [(one.name, text) for one in verdicts for text in one.faults]
    lines.append(f"{len(wrong)} disagreements:")
    return [*lines, *(f"  {name}: {text}" for name, text in wrong)]


def _told(batches: Iterable[list[Verdict]], count: int) -> Iterator[Verdict]:
    """Hand verdicts on; say how many there are, and at once where something disagrees."""
    done = 0
    for batch in batches:
        yield from batch
        done += len(batch)
        faults = [f"  {one.name}: {fault}" for one in batch for fault in one.faults]
        print("\n".join((f"{done} of {count}", *faults)), file=sys.stderr, flush=True)


def again(name: str) -> int:
    """Show one scenario with all that differs."""
    task = drawn(*map(int, name.split(":"))) if ":" in name else of_the_catalogue(name)
    print(task.get("toml", task.get("changes")))
    verdicts = judge([task])
    print("\n".join((*report(verdicts), *(f"{k}: {v:.1e}" for k, v in verdicts[0].apart.items()))))
    return int(bool(verdicts[0].faults))


def main() -> int:
    """Judge what was asked for; return 1 where something disagrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="random scenarios")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--catalogue", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--again", metavar="NAME", help="SEED:NUMBER, or a name in the catalogue")
    chosen = parser.parse_args()
    if chosen.again:
        return again(chosen.again)
    from ukctrl.core.files import catalog

    start = time.monotonic()
    tasks = [of_the_catalogue(name) for name in catalog.names("scenarios") if chosen.catalogue]
    tasks += [drawn(chosen.seed, number) for number in range(chosen.count)]
    batches = [tasks[k : k + BATCH] for k in range(0, len(tasks), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        verdicts = [*_told(pool.map(judge, batches), len(tasks))]
    print("\n".join(report(verdicts)))
    print(f"{time.monotonic() - start:.0f} s")
    return int(any(one.faults for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
