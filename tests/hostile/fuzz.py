"""Thousands of strange inputs: none may run code, show a secret, crash, hang or end in a traceback.

    python tests/hostile/fuzz.py                         # 20,000 inputs, two processes
    python tests/hostile/fuzz.py --count 400 --seed 7
    python tests/hostile/fuzz.py --again 7:123           # one of them, and what it prints

An input that takes long is interrupted, as by Ctrl-C, which is no fault; one that does not end then
is. Times are those of the processor, so that other work on the machine is no fault of ours, and
lines of progress, which go by the clock on the wall, are no messages. What an input may read is not
judged but by the secret; what it writes must lie in its folder.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from strange import FLAG, SECRET, Source, make

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "tests" / "conformance" / "bad" / "base"
PATIENCE = 30
"""After so much time of the processor an input is interrupted [s]."""
GRACE = 20
"""So much it may then take to end [s]."""
ASLEEP = 300
"""So long it may wait for something that is no processor [s]."""
PROGRESS = re.compile(r"ukctrl: \d+ of \d+(, .* left)?$")
"""What a sweep prints now and then where there is no terminal."""
MEMORY = 2500
"""So much memory a process may have [MB]; without strange input it has less than 500."""
DEVICES = ("/dev/null", "/dev/shm/", "/dev/tty")
"""Where libraries write that keep nothing: a terminal, memory that processes share."""
HELPERS = ("uname", "fc-list")
"""What Python asks for the processor, and Matplotlib for fonts; no input reaches them."""
LONGEST_LINE = 2000
"""A message is for people: names that strangers give are cut in it."""
FOLDERS = {
    "run": ("run", "task", "--set", "timing.duration=0.05"),
    "compare": ("compare", "task", "-c", "card", "-c", "computed-torque", "--jobs", "1"),
    "sweep": ("sweep", "task", "--vary", "controller.feedback.alpha=10,20", "--jobs", "1"),
    "tune": ("tune", "task", "--budget", "6", "--jobs", "1"),
}
"""What makes the results and studies whose files are then changed."""


def source(base: Path) -> Source:
    """Make the good files that all inputs are changed from."""
    workspace, folders = base / "good", base / "folders"
    shutil.copytree(GOOD, workspace)
    for name, words in FOLDERS.items():
        subprocess.run(
            [sys.executable, "-P", "-m", "ukctrl.cli", *words, "--out", str(folders / name)],
            cwd=workspace, check=True, capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return Source(workspace, folders)


class Watch:
    """What this process must not do while an input is tried: seen by Python's audit hooks."""

    def __init__(self) -> None:
        self.inside: tuple[str, ...] = ()
        """Where files may be written; nothing is watched while it is empty."""
        self.faults: list[str] = []
        sys.addaudithook(self.see)

    def see(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.inside:
            return
        if event == "open" and isinstance(given[0], str | bytes | os.PathLike):
            path, flags = os.path.realpath(os.fsdecode(given[0])), given[2] or 0
            if flags & (os.O_WRONLY | os.O_RDWR) and not path.startswith(self.inside):
                self.faults.append(f"writes {path}")
        elif event in ("os.system", "os.exec", "socket.connect"):
            self.faults.append(f"{event} {given}"[:200])
        elif event == "subprocess.Popen" and given[0] not in (sys.executable, *HELPERS):
            self.faults.append(f"starts {given[0]}")


def faults_of(code: object, printed: str, complaint: str, folder: Path) -> Iterator[str]:
    """Yield what is wrong with how a command ended and with what it left."""
    lines = [line for line in complaint.splitlines() if not PROGRESS.match(line)]
    if code not in (0, 1, 2):
        yield f"exit {code}: {complaint[-200:]}"
    if code == 2 and (len(lines) != 1 or not lines[0].startswith("ukctrl: ")):
        yield f"exit 2 with {len(lines)} lines"
    if any(len(line) > LONGEST_LINE for line in lines):
        yield f"a line of {max(map(len, lines))} characters"
    if "Traceback" in printed + complaint:
        yield "a traceback"
    if SECRET in printed + complaint:
        yield "shows a secret"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", printed + complaint):
        yield "control characters"
    if any(folder.parent.rglob(FLAG)):
        yield "runs code"
    for path in folder.rglob("*"):
        if not path.is_file() or path.is_symlink() or path.name == "secret.txt":
            continue
        data = path.read_bytes()
        if SECRET.encode() in data:
            yield f"writes a secret to {path.name}"
        if path.suffix == ".html" and re.search(rb"<(script|img src=x)[^>]*>?alert\(1\)", data):
            yield f"a script in {path.name}"


class Times(NamedTuple):
    """What a process has done until now [s]; it does not sleep while others have the processor."""

    computed: float
    asleep: float

    @staticmethod
    def of(process: int) -> Times:
        queued, known = 0, psutil.Process(process)
        for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                queued += int(thread.read_text().split()[1])
        computed = sum(known.cpu_times()[:2])
        return Times(computed, time.time() - known.create_time() - computed - 1e-9 * queued)

    def since(self, earlier: Times) -> Times:
        return Times(self.computed - earlier.computed, self.asleep - earlier.asleep)


def watch_over(began: Times) -> None:
    """Interrupt this process once it has slept too long."""
    if Times.of(os.getpid()).since(began).asleep > ASLEEP:
        os.kill(os.getpid(), signal.SIGINT)
    else:
        signal.alarm(PATIENCE)


def tried(good: Source, seed: int, number: int, base: Path, watch: Watch) -> dict[str, Any]:
    """Give one strange input to `ukctrl`, in this process; return what came of it."""
    from ukctrl.cli import main

    place = base / f"{number}"
    folder = place / "folder"
    strange = make(good, seed, number, folder)
    os.chdir(folder)
    watch.faults.clear()
    began = Times.of(os.getpid())
    signal.signal(signal.SIGALRM, lambda *_: watch_over(began))
    with caught(place) as said:
        watch.inside = (str(base.resolve()), os.environ["NUMBA_CACHE_DIR"], *DEVICES)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        signal.alarm(PATIENCE)
        try:
            main(list(strange.argv))
        except SystemExit as ended:
            code: object = ended.code or 0
        except BaseException as error:  # nothing but an exit may leave the command line
            code = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            watch.inside = ()
    faults = [*dict.fromkeys(watch.faults), *faults_of(code, *said, folder)]
    os.chdir(base)
    shutil.rmtree(place, ignore_errors=True)
    seconds = Times.of(os.getpid()).since(began).computed
    words = [word[:200] for word in strange.argv]
    return {"kind": strange.kind, "argv": words, "code": code, "faults": faults,
            "seconds": seconds, "said": said}  # fmt: skip


@contextlib.contextmanager
def caught(place: Path) -> Iterator[list[str]]:
    """Catch what is printed, also by libraries below Python."""
    said: list[str] = []
    paths = [place / "printed", place / "complaint"]
    kept = [os.dup(number) for number in (1, 2)]
    for number, path in zip((1, 2), paths, strict=True):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(handle, number)
        os.close(handle)
    try:
        yield said
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, handle in zip((1, 2), kept, strict=True):
            os.dup2(handle, number)
            os.close(handle)
        said += [path.read_text(encoding="utf-8", errors="backslashreplace") for path in paths]


def work(good: Source, seed: int, numbers: Sequence[int], base: Path) -> None:
    """Try inputs one after the other, and say so on the standard output."""
    say = os.fdopen(os.dup(1), "w", buffering=1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell began it by &
    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    watch = Watch()
    for number in numbers:
        print(json.dumps({"begins": number}), file=say)
        print(json.dumps({"number": number} | tried(good, seed, number, base, watch)), file=say)


class Tester:
    """One process that tries inputs, and what its owner knows of it."""

    def __init__(self, good: Source, seed: int, numbers: list[int], base: Path) -> None:
        self.left, self.place = numbers, base
        self._start = [str(good.workspace), str(good.folders), str(seed), str(base)]
        self.begin()

    def begin(self) -> None:
        """Start the process, which goes on with what is left."""
        self.at, self.began, self.rest = -1, Times(0.0, 0.0), b""
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", *self._start],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env=environment(self.place),
        )  # fmt: skip
        assert self.process.stdin
        self.process.stdin.write(json.dumps(self.left).encode())
        self.process.stdin.close()

    def lines(self) -> list[bytes] | None:
        """Return what lines have come; None where no more will."""
        assert self.process.stdout
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        *whole, self.rest = (self.rest + data).split(b"\n")
        return whole if data else None

    def heard(self, line: bytes) -> dict[str, Any] | None:
        """Take a line that the process printed; return the result, where it is one."""
        said: dict[str, Any] = json.loads(line)
        with contextlib.suppress(psutil.NoSuchProcess):
            self.began = Times.of(self.process.pid)
        if "begins" in said:
            self.at = said["begins"]
            return None
        self.left.remove(said["number"])
        return said

    def failing(self) -> str:
        """Return why the process must be ended: an empty text where it need not."""
        with contextlib.suppress(OSError, IndexError, psutil.NoSuchProcess):
            taken = Times.of(self.process.pid).since(self.began)
            too_long = taken.computed > PATIENCE + GRACE or taken.asleep > 2 * ASLEEP
            if self.at >= 0 and too_long:
                return "hangs"
            text = Path(f"/proc/{self.process.pid}/status").read_text()
            if int(text.split("VmRSS:")[1].split()[0]) > 1000 * MEMORY:
                return "takes too much memory"
        return ""

    def over(self, why: str) -> dict[str, Any]:
        """End the process; return what is to be said of the input that it was at."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        number = self.at
        if number < 0:
            raise SystemExit(f"a process that is to try inputs does not start ({status})")
        if number in self.left:
            self.left.remove(number)
        return {"number": number, "kind": "", "argv": [], "code": status, "seconds": 0.0,
                "faults": [why or f"the process dies ({status})"]}  # fmt: skip


def environment(place: Path) -> dict[str, str]:
    """Return an environment in which all that libraries keep lies in one folder."""
    place.mkdir(parents=True, exist_ok=True)
    kept = {name: str(place) for name in ("TMPDIR", "HOME", "MPLCONFIGDIR", "XDG_CACHE_HOME")}
    own = os.environ.get("NUMBA_CACHE_DIR") or str(place.parent / "compiled")
    more = {"NUMBA_CACHE_DIR": own, "MPLBACKEND": "Agg", "COLUMNS": "100", "NO_COLOR": "1"}
    return {**os.environ, **kept, **more}


def results(testers: Sequence[Tester]) -> Iterator[dict[str, Any]]:
    """Yield what comes of every input, in the order in which they end."""
    running = {tester.process.stdout: tester for tester in testers if tester.left}
    while running:
        ready, _, _ = select.select(list(running), [], [], 0.2)
        for stream in ready:
            tester = running[stream]
            lines = tester.lines()
            for line in lines or []:
                said = tester.heard(line)
                if said:
                    yield said
            if lines is None:
                del running[stream]
                if tester.left:
                    yield tester.over("")
                    if tester.left:
                        tester.begin()
                        running[tester.process.stdout] = tester
        for stream, tester in list(running.items()):
            why = tester.failing()
            if why:
                del running[stream]
                yield tester.over(why)
                if tester.left:
                    tester.begin()
                    running[tester.process.stdout] = tester


def fuzz(count: int, seed: int, jobs: int, base: Path) -> list[dict[str, Any]]:
    """Try so many inputs over some processes; return the results, and print the faults."""
    good = source(base)
    testers = [
        Tester(good, seed, list(range(k, count, jobs)), base / f"tester{k}") for k in range(jobs)
    ]
    found = []
    for result in results(testers):
        found.append(result)
        for fault in result["faults"]:
            print(f"{seed}:{result['number']}  {result['kind']}  {fault}", flush=True)
        if len(found) % 500 == 0:
            print(f"{len(found)} of {count}", file=sys.stderr, flush=True)
    return found


def summary(found: Sequence[dict[str, Any]]) -> str:
    """Return how the inputs ended, by kind."""
    lines = [f"{'kind':14} inputs  exit 0  exit 1  exit 2  other  faults  longest s"]
    for kind in sorted({result["kind"] for result in found}):
        own = [result for result in found if result["kind"] == kind]
        codes = collections.Counter(str(result["code"]) for result in own)
        usual = [codes.pop(code, 0) for code in ("0", "1", "2")]
        faults = sum(bool(result["faults"]) for result in own)
        longest = max(result["seconds"] for result in own)
        columns = "".join(f"{number:8}" for number in usual)
        lines.append(
            f"{kind or '(lost)':14}{len(own):7}{columns}{sum(codes.values()):7}{faults:8}"
            f"{longest:11.1f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", metavar="SEED:NUMBER", help="try one input, and print all")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        workspace, folders, seed, base = given.work
        numbers = json.loads(sys.stdin.read())
        work(Source(Path(workspace), Path(folders)), int(seed), numbers, Path(base))
        return
    with tempfile.TemporaryDirectory(prefix="ukctrl-fuzz-") as base:
        if given.again:
            seed, number = map(int, given.again.split(":"))
            tester = Tester(source(Path(base)), seed, [number], Path(base) / "tester")
            print(json.dumps(list(results([tester])), indent=2))
            return
        found = fuzz(given.count, given.seed, given.jobs, Path(base))
    print(summary(found))
    sys.exit(any(result["faults"] for result in found))


if __name__ == "__main__":
    main()
