"""Time what starting takes: the processor time of short commands, and their peak memory.

    python benchmarks/start.py [--json FILE] [--rounds N] [--beside FOLDER]

Each runs once with an empty store of machine code of its own, and what it takes then is told. So
all that it compiles and derives is on the disk, and it runs in turn with the others, round by
round. A time is the median of the user and system time of its process [s]. With another checkout of
ukctrl beside it, each command runs there in the same rounds, and a ratio is the median of the
rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLI = ("-m", "ukctrl.cli")
COMMANDS = {
    "ukctrl --help": (*CLI, "--help"),
    "from ukctrl import Scenario, simulate": ("-c", "from ukctrl import Scenario, simulate"),
    "ukctrl check scara-helix": (*CLI, "check", "scara-helix"),
    "ukctrl run scara-helix": (*CLI, "run", "scara-helix", "--out", "run"),
    "ukctrl run panda-pose": (*CLI, "run", "panda-pose", "--out", "run"),
}


def own(sources: Path, store: Path) -> dict[str, str]:
    """Return what the environment of a process says of a checkout and its machine code."""
    told = {"PYTHONPATH": str(sources), "MPLBACKEND": "Agg", "NUMBA_CACHE_DIR": str(store)}
    return {**told, "PYTHONDONTWRITEBYTECODE": ""}  # users keep it


def taken(arguments: tuple[str, ...], sources: Path, store: Path) -> tuple[float, float]:
    """Return the processor time of one command [s], and its peak memory [MB]."""
    store.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **own(sources, store)},
        cwd=store,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}; what it said is above.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0


def measured(places: list[Path], rounds: int) -> dict[str, list[list[tuple[float, float]]]]:
    """Return what every command took, in each place a list over the rounds, the first included."""
    found: dict[str, list[list[tuple[float, float]]]] = {
        name: [[] for _ in places] for name in COMMANDS
    }
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            for number, (name, arguments) in enumerate(COMMANDS.items()):
                for place, of_place in zip(places, found[name], strict=True):
                    store = Path(folder) / place.name / str(number)
                    of_place.append(taken(arguments, place, store))
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", type=Path, help="another checkout")
    given = parser.parse_args()
    places = [ROOT, *([given.beside.resolve()] if given.beside else [])]
    found = measured(places, given.rounds)
    times = {name: [[s for s, _ in place[1:]] for place in both] for name, both in found.items()}
    rows = {
        name: {
            "s": statistics.median(here),
            "first": found[name][0][0][0],
            "MB": max(peak for _, peak in found[name][0]),
        }
        for name, (here, *_) in times.items()
    }
    print(
        f"{'command':40s}{'s':>8s}{'first':>8s}{'MB':>8s}"
        + (f"{'beside':>8s}{'first':>8s}{'ratio':>8s}" if given.beside else "")
    )
    for name, row in rows.items():
        line = f"{name:40s}{row['s']:8.2f}{row['first']:8.2f}{row['MB']:8.0f}"
        if given.beside:
            here, there = times[name]
            ratios = [a / b for a, b in zip(here, there, strict=True)]
            row |= {"beside": statistics.median(there), "ratio": statistics.median(ratios)}
            row["beside first"] = found[name][1][0][0]
            line += f"{row['beside']:8.2f}{row['beside first']:8.2f}{row['ratio']:8.2f}"
        print(line)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
