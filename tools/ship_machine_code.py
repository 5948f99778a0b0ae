"""Compile the catalogue for a generic processor, for a wheel of this Python and platform.

    python tools/ship_machine_code.py build/machine_code.zip          # what `make wheel` runs
    python tools/ship_machine_code.py --count                         # how many functions compile

Runs every command on every scenario of the catalogue, and on the workspace of `ukctrl init`, with
what they compile stored in an empty folder; then packs the folder. With `--count` the installed
ukctrl runs the same commands with what it finds, and the number of functions that were compiled
nevertheless is printed by command: 0 from a wheel that has the machine code.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SHORT = ("--set", "timing.duration=0.05")
CARDS = ("scara-helix", "panda-pose", "two-mass-spring", "coordinated-arms", "cart-pole-swing-up")
"""Scenarios that every card of the catalogue is tried on."""
TIMEOUT = 1800
JOBS = 2


def commands(scenario: str) -> Iterator[list[str]]:
    """Return what a user may do with a scenario; no folder is called as it is."""
    made = f"made/{Path(scenario).stem}"
    yield ["run", scenario, "--out", f"{made}/run"]
    yield ["check", scenario]
    yield ["analyze", scenario]
    two = "-c", "servo-baumgarte", "-c", "computed-torque"
    yield ["compare", scenario, *two, *SHORT, "--out", f"{made}/compare"]
    varied = ("believed.mass_scale=0.9:1.1", "-n", "2"), ("timing.control=0.001,0.002",)
    for number, vary in enumerate(varied):
        out = "--out", f"{made}/sweep-{number}"
        yield ["sweep", scenario, "--vary", *vary, "--jobs", "1", *SHORT, *out]
    yield ["tune", scenario, "--budget", "3", "--jobs", "1", *SHORT, "--out", f"{made}/tune"]
    yield ["export", scenario, *SHORT, "--period", "0.002", "--out", f"{made}/export"]
    yield ["view", scenario, *SHORT, "--record", f"{made}/still.png", "--size", "320x240"]


def work(only: list[str]) -> list[list[str]]:
    """Return all commands: first whole scenarios, then every card on a few, then a workspace."""
    from ukctrl.core.files import catalog

    scenarios, cards = (list(catalog.names(kind)) for kind in ("scenarios", "controllers"))
    scenarios = [name for name in scenarios if name in only or not only]
    every = [command for scenario in scenarios for command in commands(scenario)]
    every += [
        ["run", scenario, "-c", card, *SHORT, "--out", f"made/{scenario}/{card}"]
        for scenario in CARDS
        if scenario in scenarios
        for card in cards
    ]
    every += [["init", "work"], *commands("work/scenarios/my-scenario.toml")]
    return every


def told(command: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and the last line that it said."""
    from ukctrl.cli import main

    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(command)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, (said.getvalue().strip().splitlines() or [""])[-1]


def run(share: int, jobs: int, only: list[str]) -> None:
    """Run a share of the commands; print how many functions each compiled, as JSON lines."""
    from ukctrl.core.jit import kernel
    from ukctrl.core.jit.machine_code_store import CompileNotice

    kernel.SECONDS_BEFORE_COMPILING = (
        -1.0
    )  # else what takes Python no time would not be compiled, nor shipped
    for number, command in enumerate(work(only)):
        if command[1].startswith("work"):
            mine = share == 0  # one process makes the workspace and uses it
        else:
            mine = number // len(list(commands(""))) % jobs == share
        if not mine:
            continue
        before = CompileNotice.functions
        code, said = told(command)
        kernel.resolve_bindings()
        compiled = CompileNotice.functions - before
        print(json.dumps([" ".join(command), code, compiled, said if code else ""]), flush=True)


def shares(folder: Path, only: list[str], **environment: str) -> list[list[object]]:
    """Run all commands in processes of their own; return what each command compiled."""
    named = [word for name in only for word in ("--only", name)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).resolve()), "--share", str(share), *named],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg", **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in range(JOBS)
    ]
    outputs = [process.communicate(timeout=TIMEOUT)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("a process that compiles the catalogue failed; see above.")
    return [json.loads(line) for output in outputs for line in output.splitlines()]


def pack(store: Path, target: Path) -> None:
    """Pack a folder of stored files, with a note of what they are of."""
    from ukctrl.core import cache_folder
    from ukctrl.core.jit.machine_code_store import MADE_WITH

    folder = store / cache_folder.folder_name()
    manifest = {"folder": cache_folder.folder_name(), "made_with": MADE_WITH}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(cache_folder.MANIFEST, json.dumps(manifest))
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".code", ".json"):
                archive.write(file, file.relative_to(folder).as_posix())


def main() -> int:
    """Build the archive, or count what compiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", type=Path, nargs="?", help="the archive to write")
    parser.add_argument("--count", action="store_true", help="only count what compiles")
    parser.add_argument(
        "--only", action="append", default=[], help="only this scenario; repeatable"
    )
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share is not None:
        run(options.share, JOBS, options.only)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        if options.count:
            rows = shares(place, options.only)
            for command, _, compiled, _ in rows:
                if compiled:
                    print(compiled, command)
            total = sum(int(str(row[2])) for row in rows)
            print(f"{total} functions compiled by {len(rows)} commands")
            return int(total > 0)
        store = place / "store"
        rows = shares(place, options.only, NUMBA_CACHE_DIR=str(store), NUMBA_CPU_NAME="generic")
        pack(store, options.target.resolve())
        for command, code, _, said in rows:
            if code not in (0, 1):
                print(f"{command}: {said}")
        print(f"{sum(int(str(row[2])) for row in rows)} functions of {len(rows)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
