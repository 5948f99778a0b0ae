"""Time the simulation of every scenario of the catalogue, here and in another checkout.

    python benchmarks/catalogue.py [--beside FOLDER] [--json FILE]

Each runs twice in a process of its own, whose machine code is on the disk or made in the first run.
The second is told: the processor time of ``simulate`` [s], from a scenario to its result. It runs
in a thread of its own, which finds no loop that could run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE = """
import sys, threading, time
from ukctrl import Scenario, simulate
simulate(Scenario.load(sys.argv[1]))
began = time.process_time()
again = threading.Thread(target=lambda: simulate(Scenario.load(sys.argv[1])))
again.start()
again.join()
print(time.process_time() - began)
"""
NARROW = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "NUMBA")}


def seconds(name: str, place: Path) -> float:
    """Return how long a scenario takes in a checkout [s]."""
    run = subprocess.run(
        [sys.executable, "-c", ONE, name],
        env={**os.environ, **NARROW, "PYTHONPATH": str(place)},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def main() -> None:
    """Measure, and print a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--beside", type=Path, help="another checkout of ukctrl")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    places = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    found = {}
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        found[path.stem] = [seconds(path.stem, place) for place in places]
        print(path.stem, *(f"{time:.3f}" for time in found[path.stem]), flush=True)
    sums = [sum(times) for times in zip(*found.values(), strict=True)]
    print(f"{len(found)} scenarios:", *(f"{total:.2f} s" for total in sums))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
