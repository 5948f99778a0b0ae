"""Faults put into the library one at a time, and whether the tests notice.

    python -m tests.mutants.mutants                        # 200 faults, some hours
    python -m tests.mutants.mutants --count 40 --seed 7 --package reports
    python -m tests.mutants.mutants --again 7:reports:3    # one of them, with what the tests say

It first runs the fast tests once and keeps which of them reach which line (`out/mutants`). A fault
is then tried on the tests that reach its line, the quickest first, in a copy of the project. It is
found where one fails, ends in a crash, or takes far longer than it should; and stands otherwise.
What came of it is kept beside the lines until these are recorded anew: the same command goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants.faults import Fault, draw
from tests.mutants.reached import Reached, record
from ukctrl.core.cache_folder import makes_machine_code

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "out" / "mutants"
OUTCOMES = KEPT / "outcomes.txt"
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", re.MULTILINE)
ROUNDS = (5.0, 40.0, 200.0)
"""Seconds of tests that are tried together: few find most, so the quickest go first."""
SLOWER, START, COMPILING = 8.0, 30.0, 240.0
"""Tests that take so many times what they took, and so much beside [s], hang; the last where what
is compiled has to be compiled anew."""
MEMORY = 8 * 2**30
"""A fault may ask for no more [bytes]."""


class Outcome(NamedTuple):
    """What came of a fault."""

    fault: Fault
    told: str
    """The change, in one line."""
    by: str
    """The test that found it; empty where none did."""
    tried: int
    """How many tests were tried."""
    reaching: int
    """How many reach its line."""


def main() -> int:
    """Try the faults that were asked for; return 1 where too few are found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", help="faults of this one alone")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time")
    parser.add_argument("--record", action="store_true", help="which tests reach what, anew")
    parser.add_argument("--again", metavar="SEED:PACKAGE:NUMBER", help="one fault")
    given = parser.parse_args()
    if given.record or not (KEPT / "lines").exists():
        shutil.rmtree(KEPT, ignore_errors=True)
        record(ROOT, KEPT, given.jobs, [])
    reached = Reached(ROOT, KEPT)
    if given.again:
        seed, package, number = given.again.split(":")
        of_it = [fault for fault in draw(ROOT, given.count, int(seed)) if fault.package == package]
        chosen = [of_it[int(number)]]
    else:
        drawn = draw(ROOT, given.count, given.seed)
        chosen = [fault for fault in drawn if given.package in (None, fault.package)]
    before = {outcome.fault: outcome for outcome in kept()}
    outcomes = [before[fault] for fault in chosen if fault in before and not given.again]
    chosen = [fault for fault in chosen if fault not in before or given.again]
    with contextlib.ExitStack() as stack:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        jobs = max(1, min(given.jobs, len(chosen)))
        for _ in range(jobs):
            copies.put(stack.enter_context(copy_of_the_project()))

        def one(fault: Fault) -> Outcome:
            copy = copies.get()
            try:
                return tried(fault, copy, reached)
            finally:
                copies.put(copy)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for outcome in pool.map(one, chosen):
            outcomes.append(outcome)
            keep(outcome)
            print(f"{len(outcomes):4d} {told(outcome)}", flush=True)
    return report(outcomes)


def kept() -> list[Outcome]:
    """Return what came of faults since the lines were recorded."""
    if not OUTCOMES.exists():
        return []
    rows = map(json.loads, OUTCOMES.read_text(encoding="utf-8").splitlines())
    return [Outcome(Fault(*fault), *rest) for fault, *rest in rows]


def keep(outcome: Outcome) -> None:
    """Keep what came of a fault."""
    with OUTCOMES.open("a", encoding="utf-8") as file:
        file.write(json.dumps(outcome) + "\n")


def tried(fault: Fault, copy: Path, reached: Reached) -> Outcome:
    """Put a fault into a copy, try the tests that reach it, and take it out again."""
    path = copy / fault.file
    source, state = path.read_bytes(), path.stat()
    tests = reached.by(fault.file, fault.line)
    compiles = makes_machine_code(fault.file.removeprefix("ukctrl/"), source)
    count, start = 0, COMPILING if compiles else START
    path.write_bytes(fault.put_into(source))
    try:
        for batch in batches(tests, reached):
            count += len(batch)
            seconds = start + SLOWER * sum(reached.seconds[test] for test in batch)
            by = failing(batch, copy, seconds)
            if by is not None:
                return Outcome(fault, fault.told(source), by, count, len(tests))
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # what is compiled is kept
    return Outcome(fault, fault.told(source), "", count, len(tests))


def batches(tests: Sequence[str], reached: Reached) -> Iterator[list[str]]:
    """Yield tests, the quickest first, in rounds that take longer and longer."""
    rest = list(tests)
    for seconds in ROUNDS:
        batch: list[str] = []
        while rest and seconds > 0.0:
            batch.append(rest.pop(0))
            seconds -= reached.seconds[batch[-1]]
        if batch:
            yield batch


def failing(tests: Sequence[str], copy: Path, seconds: float) -> str | None:
    """Return the first of some tests that fails in a copy, in so many seconds; None: all pass."""
    listed = copy / "chosen.txt"
    listed.write_text("\n".join(tests), encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [*words, f"@{listed}"], cwd=copy, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(copy), "MPLBACKEND": "Agg"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "(they hang)"
    if process.returncode == 0:
        return None
    named = FAILED.search(printed)
    return named[1] if named else f"(pytest ends with {process.returncode})"


@contextlib.contextmanager
def copy_of_the_project() -> Iterator[Path]:
    """Make a copy of what belongs to the project, with what is compiled already."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        for name in listed.stdout.splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        yield copy


def told(outcome: Outcome) -> str:
    """Return what came of a fault, in one line."""
    if outcome.by:
        return f"found     {outcome.told}   [{outcome.by}]"
    if not outcome.reaching:
        return f"STANDS    {outcome.told}   [no fast test reaches it]"
    return f"STANDS    {outcome.told}   [{outcome.tried} of {outcome.reaching} tests pass]"


def report(outcomes: Sequence[Outcome]) -> int:
    """Print what was found by package; return 1 where it is too little."""
    print("\npackage       faults  found")
    enough = True
    of = {outcome.fault.package: [0, 0] for outcome in outcomes}
    for outcome in outcomes:
        of[outcome.fault.package][0] += 1
        of[outcome.fault.package][1] += bool(outcome.by)
    for name, (count, found) in sorted(of.items()):
        print(f"{name:12s} {count:7d} {found:6d}  {100.0 * found / count:5.1f} %")
        enough &= found >= 0.8 * count
    count, found = len(outcomes), sum(bool(outcome.by) for outcome in outcomes)
    print(f"{'all':12s} {count:7d} {found:6d}  {100.0 * found / count:5.1f} %")
    return 0 if enough and found >= 0.9 * count else 1


if __name__ == "__main__":
    sys.exit(main())
