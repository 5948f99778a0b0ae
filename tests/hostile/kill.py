"""Kills, rivals, small disks and cold caches: nothing may be lost, repeated or mixed.

    python tests/hostile/kill.py                           # all of it, an hour
    python tests/hostile/kill.py --only sweep --share 0.1
    python tests/hostile/kill.py --again 1:tune:17         # one trial, with what was printed

A trial starts a command, kills something of it at a moment drawn from the seed, goes on as a user
would, and compares what then stands there with an undisturbed run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil

from ukctrl import Result
from ukctrl.core.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "tests" / "conformance" / "bad" / "base"
PATIENCE = 300.0
"""A command that takes longer hangs [s]."""
VANISH = 30.0
"""So long the processes of a command that was killed may outlive it [s]."""
NOISE = "effect=[{kind='noise', std=1e-4}]"
WORK: dict[str, tuple[str, ...]] = {
    "run": ("task", "--set", "timing.duration=1"),
    "sweep": ("task", "--vary", "controller.feedback.alpha=5:40:60", "--no-report", "--jobs", "2"),
    "tune": ("task", "--budget", "40", "--ensemble", "2", "--jobs", "2"),
    "compare": ("task", "-c", "card", "-c", "computed-torque", "--repeats", "8", "--jobs", "2",
                "--set", NOISE, "--set", "timing.control=0.005"),
}  # fmt: skip
"""What is killed."""
TRIALS = {"run": 60, "sweep": 40, "tune": 40, "compare": 40, "cluster": 10, "cold": 20, "disk": 6}
"""How often each, when the share is 1."""
VICTIMS = {"run": ("parent", "group", "rival")}
"""What is killed of a command; a rival kills nothing, but writes to the same folder."""
DISKS = ("size=8k", "size=32k", "size=64k", "size=256k", "size=1024k", "ro")
"""Disks too small for a table, for a result, for its page, large enough for some, and one that
nobody may write to."""
CLOCKED = "mean_tick_us"
KEPT = {"sweep": "study.csv", "tune": "history.csv"}
"""The file of a study that has the same bytes however it came about."""
JOURNALS = {"sweep": "journal.jsonl", "tune": "journal.jsonl", "compare": "runs.jsonl"}
"""Where each writes down what is done."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    complaint: str

    @property
    def fault(self) -> str:
        """What no command may do, whatever is killed."""
        bad = self.code == 3 or "Traceback" in self.complaint or "(hangs)" in self.complaint
        return f"exit {self.code}: {self.complaint[-300:]}" if bad else ""


class Place:
    """Where trials are made, and the undisturbed results beside them."""

    def __init__(self, base: Path, seed: int, names: tuple[str, ...]) -> None:
        self.base, self.seed = base, seed
        self.workspace = base / "workspace"
        shutil.copytree(GOOD, self.workspace)
        self.seconds: dict[str, float] = {}
        for name in names:
            for _ in range(2):  # the first may compile
                shutil.rmtree(self.reference(name), ignore_errors=True)
                began = time.monotonic()
                done = ended(self.start(name, self.reference(name)))
                self.seconds[name] = time.monotonic() - began
            if done.code:
                raise SystemExit(f"{name} fails undisturbed: {done.complaint}")

    def reference(self, name: str) -> Path:
        """Return the folder of an undisturbed command."""
        return self.base / "undisturbed" / name

    def start(self, name: str, out: Path, *more: str, **env: str) -> subprocess.Popen[str]:
        """Start a command in a group of its own, with a folder of its own for temporary files."""
        scratch = self.base / "scratch" / out.name
        scratch.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            command(name, out, *more), cwd=self.workspace, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(scratch), **env},
        )  # fmt: skip


def command(name: str, out: Path, *more: str) -> list[str]:
    """Return a command line."""
    words = [word for word in WORK[name] if "--cluster" not in more or word not in ("--jobs", "2")]
    return [
        sys.executable,
        "-P",
        "-m",
        "ukctrl.cli",
        name,
        *words,
        *more,
        "--quiet",
        "--out",
        str(out),
    ]


def ended(process: subprocess.Popen[str]) -> Ended:
    """Wait for the end of a command."""
    try:
        _, complaint = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, complaint = process.communicate()
        complaint += " (hangs)"
    return Ended(process.returncode, complaint)


def strike(process: subprocess.Popen[str], whom: str, chance: Random) -> None:
    """Kill a command, its group or one of its workers."""
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if whom == "group":
            os.killpg(process.pid, signal.SIGKILL)
        elif whom == "parent":
            process.kill()
        elif workers := [
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if not any("resource_tracker" in word for word in child.cmdline())
        ]:  # Python's own process that watches over semaphores complains aloud, and harms nothing
            chance.choice(workers).kill()


def killed(place: Place, name: str, number: int) -> str:
    """Kill a command, go on, compare; return what is wrong."""
    out, chance = place.base / f"{name}{number}", Random(f"{place.seed}:{name}:{number}")
    whom = VICTIMS.get(name, ("parent", "group", "worker"))[number % 3]
    if name == "run" and chance.random() < 0.5:  # an older run is there
        shutil.copytree(place.reference("run"), out)
    process, began = place.start(name, out), time.monotonic()
    if whom == "rival":
        rival = place.start(name, out)
        if fault := ended(rival).fault:
            return fault
    elif chance.random() < 0.5:  # while it writes
        while not list(out.glob("*")) and process.poll() is None:
            time.sleep(0.005)
        left = place.seconds[name] - (time.monotonic() - began)
        time.sleep(chance.uniform(0.0, max(0.5, left)))
    else:
        time.sleep(chance.uniform(0.0, 1.1 * place.seconds[name]))
    if whom != "rival":
        strike(process, whom, chance)
    done = ended(process)
    if done.fault or (whom == "worker" and done.code):
        return done.fault or f"only a worker died, but exit {done.code}: {done.complaint}"
    if staying := outliving(process.pid):
        return f"outlived by {staying}"
    return (mixed(out) if name == "run" else "") or went_on(place, name, out, done, whom == "rival")


def went_on(place: Place, name: str, out: Path, done: Ended, anew: bool = False) -> str:
    """Let a command be finished where it is not, and compare; return what is wrong."""
    if done.code or anew:
        resumes = name in KEPT and (out / "journal.jsonl").exists()
        done = ended(place.start(name, out, *(["--resume"] if resumes else [])))
        if done.code:
            return f"going on: exit {done.code}: {done.complaint[-300:]}"
    return repeated(name, out) or differs(name, out, place.reference(name))


def outliving(group: int) -> str:
    """Return the processes that stay behind when their command is gone."""
    deadline = time.monotonic() + VANISH
    while True:
        names = []
        for process in psutil.process_iter(["status", "name"]):
            with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                if os.getpgid(process.pid) == group and process.info["status"] != "zombie":
                    names.append(process.info["name"])
        if not names or time.monotonic() > deadline:
            return ", ".join(names)
        time.sleep(0.2)


def mixed(out: Path) -> str:
    """Return whether a folder passes off the files of two runs as one."""
    if not (out / "result.nc").exists():
        return ""
    try:
        loaded = Result.load(out)
    except InputError as error:
        return "" if "the files of one run" in str(error) else f"damaged: {error}"
    for name in ("summary.json", "scenario.toml"):
        file = out / name
        if file.exists() and loaded.provenance["run_id"] not in file.read_text(encoding="utf-8"):
            return f"{name} is of another run"
    return ""


def repeated(name: str, out: Path) -> str:
    """Return whether something stands twice in a journal."""
    journal, key = out / "journal.jsonl", {"sweep": "sample", "tune": "run"}.get(name)
    if key is None or not journal.exists():
        return ""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    done = [line[key] for line in lines if key in line]
    return "" if len(done) == len(set(done)) else f"a {key} stands twice in the journal"


def differs(name: str, out: Path, reference: Path) -> str:
    """Return in what a folder differs from the undisturbed one."""
    ours, theirs = names_in(out), names_in(reference)
    if ours != theirs:
        return f"other files: {sorted(ours ^ theirs)}"
    if name == "run":
        return "" if Result.load(out).identical(Result.load(reference)) else "another motion"
    if name in KEPT:
        file = KEPT[name]
        same = (out / file).read_bytes() == (reference / file).read_bytes()
        return "" if same else f"another {file}"
    told = [json.loads((at / "compare.json").read_text("utf-8")) for at in (out, reference)]
    return "" if untimed(told[0]) == untimed(told[1]) else "another comparison"


def names_in(folder: Path) -> set[str]:
    """Return the names of all files below a folder, a journal that has served aside."""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return names - {"runs.jsonl"}


def untimed(value: object) -> object:
    """Return data without what is measured by the clock, and without ids."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k not in (CLOCKED, "run_id")}
    if isinstance(value, list):
        return [
            untimed(entry)
            for entry in value
            if not (isinstance(entry, dict) and entry.get("subject") == CLOCKED)
        ]
    return value


def on_a_cluster(place: Place, number: int) -> str:
    """Kill a worker of a Dask cluster, or its scheduler, under a command; go on; compare."""
    name = tuple(JOURNALS)[number // 2 % len(JOURNALS)]
    out, chance = place.base / f"cluster{number}", Random(f"{place.seed}:cluster:{number}")
    with dask(place, number) as (address, processes):
        process = place.start(name, out, "--cluster", address)
        while not (out / JOURNALS[name]).exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.5 * place.seconds[name]))
        processes[number % 2].kill()
        done = ended(process)
    if done.fault or len(done.complaint.splitlines()) > 3:
        return done.fault or f"more than three lines: {done.complaint}"
    if number % 2 and done.code:
        return f"only a worker died, but exit {done.code}: {done.complaint}"
    return went_on(place, name, out, done)


@contextlib.contextmanager
def dask(place: Place, number: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers of one thread; yield its address and all three."""
    tool, file = [sys.executable, "-P", "-m", "dask"], place.base / f"scheduler{number}.json"
    lines = [["scheduler", "--interface", "lo", "--port", "0", "--no-dashboard"]]
    lines += [["worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"]] * 2
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for words in lines:
            given = [*tool, *words, "--scheduler-file", str(file)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            processes.append(subprocess.Popen(given, cwd=place.base, **quiet))
        deadline = time.monotonic() + VANISH
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield json.loads(file.read_text(encoding="utf-8"))["address"], processes
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def with_a_cold_cache(place: Place, count: int) -> Iterator[tuple[str, str]]:
    """Run for the first time on a machine, many times at once."""
    cold = str(place.base / "cold")
    outs = [place.base / f"cold{number}" for number in range(count)]
    runs = [place.start("run", out, NUMBA_CACHE_DIR=cold) for out in outs]
    for process, out in zip(runs, outs, strict=True):
        done = ended(process)
        fault = f"exit {done.code}: {done.complaint[-300:]}" if done.code else ""
        yield out.name, fault or differs("run", out, place.reference("run"))


def on_a_small_disk(place: Place, number: int) -> str:
    """Write to a disk that is too small, mounted for these commands alone; needs its rights."""
    kind, disk = DISKS[number % len(DISKS)], place.base / f"disk{number}"
    disk.mkdir()
    mount = f'mount -t tmpfs -o {kind} none {disk} && exec "$@"'
    for name in WORK:
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", mount, "sh", *command(name, disk / "out")],
            cwd=place.workspace, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode not in (0, 2) or len(done.stderr.splitlines()) > (done.returncode == 2):
            return f"{name} on {kind}: exit {done.returncode}: {done.stderr[-300:]}"
    return ""


def trials(place: Place, name: str, numbers: range, jobs: int) -> Iterator[tuple[str, str]]:
    """Yield the trials of a kind, each with what is wrong."""
    if name == "cold":
        yield from with_a_cold_cache(place, len(numbers))
        return
    kinds: dict[str, Callable[[int], str]] = {
        "cluster": lambda number: on_a_cluster(place, number),
        "disk": lambda number: on_a_small_disk(place, number),
    }
    one = kinds.get(name, lambda number: killed(place, name, number))
    with ThreadPoolExecutor(jobs) as pool:
        for number, fault in zip(numbers, pool.map(one, numbers), strict=True):
            yield f"{place.seed}:{name}:{number}", fault
            if not fault:
                shutil.rmtree(place.base / f"{name}{number}", ignore_errors=True)


def main() -> None:
    """Make the trials that were asked for, and say what was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the trials of each kind")
    parser.add_argument("--only", choices=tuple(TRIALS), action="append")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time")
    parser.add_argument("--again", metavar="SEED:KIND:NUMBER", help="one trial")
    given = parser.parse_args()
    chosen, again = tuple(given.only or TRIALS), (given.again or "").split(":")
    if given.again:
        chosen, given.seed = (again[1],), int(again[0])
    needed = {"cluster": tuple(JOURNALS), "cold": ("run",), "disk": ()}
    names = dict.fromkeys(entry for name in chosen for entry in needed.get(name, (name,)))
    faults = 0
    with tempfile.TemporaryDirectory(prefix="ukctrl-kill-") as base:
        place = Place(Path(base), given.seed, tuple(names))
        for name in chosen:
            count = max(1, round(given.share * TRIALS[name]))
            numbers = range(int(again[2]), int(again[2]) + 1) if given.again else range(count)
            found = list(trials(place, name, numbers, given.jobs))
            wrong = [f"  {which}: {fault}" for which, fault in found if fault]
            faults += len(wrong)
            print(
                f"{name:8} {len(found):3} trials, {len(wrong)} faults", *wrong, sep="\n", flush=True
            )
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
