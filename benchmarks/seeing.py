"""Time what it takes until there is something to see, and weigh what is written.

    python benchmarks/seeing.py

A page of a run and of a comparison, films and a picture, one after the other in a folder: first
with an empty store of machine code, then once more. Times are user and system time of the process
[s], as those of `start.py`; a film's are those of all its threads.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from start import ROOT, taken

CLI = ("-m", "ukctrl.cli")
LAWS = ("-c", "servo-baumgarte", "-c", "computed-torque", "-c", "pd-gravity")
COMMANDS = {
    "page of `scara-helix`": (("run", "scara-helix", "--out", "a"), "a/report.html"),
    "page of `panda-pose`": (("run", "panda-pose", "--out", "b"), "b/report.html"),
    "page of three laws on `scara-helix`": (
        ("compare", "scara-helix", *LAWS, "--out", "c"),
        "c/report.html",
    ),
    "film of `panda-pose`, 6 s, 1280 x 720": (("view", "b", "--record", "b.mp4"), "b.mp4"),
    "film of `panda-pose`, 6 s, 480 x 270": (
        ("view", "b", "--record", "b.webp", "--size", "480x270", "--fps", "15"),
        "b.webp",
    ),
    "picture of six poses": (("view", "b", "--record", "b.png", "--strip", "6"), "b.png"),
}
"""What is done, in a folder for all, and what it leaves."""


def main() -> None:
    """Measure, and print the table."""
    lines = ["| | first time | again | size |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        times = [
            [taken((*CLI, *words, "-q"), ROOT, home)[0] for words, _ in COMMANDS.values()]
            for _ in range(2)
        ]
        sizes = [f"{(home / left).stat().st_size / 1e6:.2f} MB" for _, left in COMMANDS.values()]
    for what, first, again, size in zip(COMMANDS, *times, sizes, strict=True):
        lines.append(f"| {what} | {first:.1f} s | {again:.1f} s | {size} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
