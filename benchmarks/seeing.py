"""Time what a user waits for before there is something to see, and weigh what is written.

    python benchmarks/seeing.py

A page of a run, a comparison's, films, and the first view in the browser; each first with an empty
store of machine code of its own, then once more. Times are those of a clock [s], so the machine
should do nothing else. Where Chromium is installed, pages are opened as well, until they are drawn.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UKCTRL = (sys.executable, "-m", "ukctrl.cli")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
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
FIRST_VIEW = "first view of `panda` in the browser"
LONGEST = 300.0
"""A view that says nothing for longer has failed [s]."""


def environment(store: Path) -> dict[str, str]:
    """Return that of a user with a store of machine code."""
    own = {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(store), "PYTHONDONTWRITEBYTECODE": ""}
    return {**os.environ, **own}


def waited(words: tuple[str, ...], home: Path, store: Path) -> float:
    """Return how long a command takes [s]."""
    start = time.perf_counter()
    subprocess.run(
        [*UKCTRL, *words, "-q"], cwd=home, env=environment(store), check=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def viewed(home: Path, store: Path) -> float:
    """Return how long it takes until a view tells its address [s]."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*UKCTRL, "view", "panda", "--no-open", "--port", "0"], cwd=home, env=environment(store),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        for line in process.stdout or ():
            if re.search(r"http://", line):
                return time.perf_counter() - start
            if time.perf_counter() - start > LONGEST:
                break
    finally:
        process.terminate()
        process.wait()
    sys.exit("the view ended without an address.")


def opened(page: Path) -> float:
    """Return how long a browser takes to start and draw a page [s]."""
    looks = ("--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader")
    start = time.perf_counter()
    subprocess.run(
        [str(BROWSER), *looks, "--enable-unsafe-swiftshader", "--screenshot", page.as_uri()],
        cwd=page.parent, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.parse_args()
    lines = ["| | first time | again | opened by a browser | size |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for number, (what, (words, left)) in enumerate(COMMANDS.items()):
            cold, warm = (waited(words, home, home / f"store-{number}") for _ in range(2))
            page = BROWSER is not None and left.endswith(".html")
            drawn = f"{opened(home / left):.1f} s" if page else ""
            size = (home / left).stat().st_size / 1e6
            lines.append(f"| {what} | {cold:.1f} s | {warm:.1f} s | {drawn} | {size:.2f} MB |")
        cold, warm = (viewed(home, home / "store-view") for _ in range(2))
        lines.append(f"| {FIRST_VIEW} | {cold:.1f} s | {warm:.1f} s | | |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
