"""Time what starting takes: the processor time of short commands, whose machine code is kept.

    python benchmarks/start.py [--json FILE] [--rounds N] [--beside FOLDER]

Each command runs once untimed, so that all it compiles and derives is on the disk, and then in
turn with the others, round by round. A time is the median of the user and system time of its
process [s]. With another checkout of ukctrl beside it, each command runs there in the same rounds,
and a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
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


def seconds(arguments: tuple[str, ...], sources: Path, folder: str) -> float:
    """Return the processor time of one command in a folder [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(sources), "MPLBACKEND": "Agg"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measured(places: list[Path], rounds: int) -> dict[str, list[list[float]]]:
    """Return the times of every command, in each place a list over the rounds."""
    times: dict[str, list[list[float]]] = {name: [[] for _ in places] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for k in range(rounds + 1):
            for name, arguments in COMMANDS.items():
                for place, of_place in zip(places, times[name], strict=True):
                    spent = seconds(arguments, place, folder)
                    if k:  # the first round compiles
                        of_place.append(spent)
    return times


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", type=Path, help="another checkout")
    given = parser.parse_args()
    places = [ROOT, *([given.beside.resolve()] if given.beside else [])]
    times = measured(places, given.rounds)
    rows = {name: {"s": statistics.median(here)} for name, (here, *_) in times.items()}
    print(f"{'command':40s}{'s':>8s}" + (f"{'beside':>8s}{'ratio':>8s}" if given.beside else ""))
    for name, row in rows.items():
        line = f"{name:40s}{row['s']:8.2f}"
        if given.beside:
            here, there = times[name]
            ratios = [a / b for a, b in zip(here, there, strict=True)]
            row |= {"beside": statistics.median(there), "ratio": statistics.median(ratios)}
            line += f"{row['beside']:8.2f}{row['ratio']:8.2f}"
        print(line)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
