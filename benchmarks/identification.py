"""Time and judge identification by ukctrl beside a script, FIGAROH and mujoco.sysid; print tables.

    python benchmarks/identification.py [--install] [--page] [--samples N] [--rounds N] [--log PATH]

First, samples of a simulated Panda: a script that stacks Pinocchio's regressor of every sample in
one matrix, ukctrl's factorisation of the same rows, and all of `identify` from positions and
torques on, filters and judgement included. Base parameters of the first two must agree before
anything is timed. Each runs in a process of its own, on one core, and they take turns; told are the
medians of the rounds: processor time, and how much less it is than the script's, and the peak of
memory, samples included.

Then, with ``--log``, a real Panda: the error of the torques on the last third of the log, which
nobody has fitted, of the model as it was and as each identifies it, and of the numbers that Gaz et
al. print, who fitted all of the log. Errors are rms, measured minus predicted along the same
motion, both filtered by a Butterworth filter of order 4 and 10 Hz, forwards and backwards. The log
is a CSV table as `identification/samples.py` says; that of Gaz et al. (2019) is published with
their FrankaEmikaPandaDynModel. Peers run in environments of their own; one that is missing is
skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from page import write_tables
from peers import HERE, ONE_CORE, ROOT, interpreters, machine
from scipy import signal

PACKAGES = {
    "figaroh": ("figaroh==1.0.2", "pin==4.1.0", "numpy==2.4.6"),
    "mujoco": ("mujoco[sysid]==4.0.0", "numpy==2.4.6"),
}
TITLES = {
    ("script", "fit"): "script: one matrix, lstsq",
    ("ukctrl", "fit"): "ukctrl, the same rows",
    ("ukctrl", "identify"): "ukctrl, all of `identify`",
}
NAMES = {"ukctrl": "ukctrl", "gaz": "Gaz et al., as printed", "figaroh": "FIGAROH",
         "mujoco": "mujoco.sysid"}  # fmt: skip
FEW = 20_000
"""Samples with which contestants are compared before they are timed."""
SAME = 1e-8
"""Base parameters differ by no more, of themselves or of their median."""
LIMIT = 600.0
"""A peer that takes longer is given up [s]."""
ORDER, CUTOFF, MARGIN = 4, 10.0, 0.5
"""Of the filter of what is judged [Hz], and what is left out at its ends [s]."""

VERSIONS: dict[str, str] = {}
"""What ran, by contestant."""


class Answer(NamedTuple):
    """What a contestant has told."""

    told: dict[str, Any]
    arrays: dict[str, np.ndarray]


def samples(scratch: Path, *arguments: str) -> Path:
    """Return the file of the samples."""
    file = scratch / f"samples{len(list(scratch.iterdir()))}.npz"
    script = HERE / "identification" / "samples.py"
    subprocess.run([sys.executable, str(script), str(file), *arguments], check=True)
    return file


def asked(name: str, python: str, file: Path, work: str) -> Answer | str:
    """Return a contestant's answer, or why there is none."""
    script, out = HERE / "identification" / f"with_{name}.py", file.with_suffix(".out.npz")
    try:
        process = subprocess.run(
            [python, str(script), str(file), work, str(out)],
            capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **ONE_CORE},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT:.0f} s"
    if process.returncode:
        return (process.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    with np.load(out) as arrays:
        told = json.loads(process.stdout.splitlines()[-1])
        VERSIONS[name] = told["versions"]
        return Answer(told, {name: arrays[name] for name in arrays.files})


def answered(name: str, python: str, file: Path, work: str) -> Answer:
    """Return a contestant's answer; exit where there is none."""
    found = asked(name, python, file, work)
    if isinstance(found, str):
        sys.exit(f"{name}, {work}: {found}")
    return found


def difference(one: Answer, two: Answer) -> float:
    """Return by how much base parameters differ; exit where they should not."""
    same = np.array_equal(one.arrays["independent"], two.arrays["independent"])
    a, b = one.arrays["values"], two.arrays["values"]
    off = np.abs(a - b) / np.maximum(np.abs(a), np.median(np.abs(a))) if same else np.inf
    if not np.max(off) <= SAME:
        sys.exit(f"base parameters differ by {np.max(off):.1e}; nothing to compare.")
    return float(np.max(off))


def timed(scratch: Path, pythons: dict[str, str], count: int, rounds: int) -> str:
    """Return a table of times and memory."""
    few = samples(scratch, "--simulate", str(min(count, FEW)))
    difference(*(answered(name, pythons[name], few, "fit") for name in ("script", "ukctrl")))
    file = samples(scratch, "--simulate", str(count))
    told: dict[tuple[str, str], list[Answer]] = {contestant: [] for contestant in TITLES}
    for _ in range(rounds):
        for (name, work), answers in told.items():
            answers.append(answered(name, pythons[name], file, work))
    off = difference(told["script", "fit"][0], told["ukctrl", "fit"][0])
    script = [one.told["seconds"] for one in told["script", "fit"]]
    lines = [
        f"{count} samples, {rounds} rounds; base parameters differ by {off:.0e}.", "",
        "| | s | µs a sample | times faster | peak MB | of which |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]  # fmt: skip
    for contestant, title in TITLES.items():
        answers = told[contestant]
        seconds = [one.told["seconds"] for one in answers]
        parts = {
            part: statistics.median(one.told["parts"][part] for one in answers)
            for part in answers[0].told["parts"]
        }
        faster = statistics.median(a / b for a, b in zip(script, seconds, strict=True))
        middle, peak = statistics.median(seconds), max(one.told["peak"] for one in answers)
        longest = ", ".join(f"{part} {s:.2g} s" for part, s in parts.items() if s > 0.05 * middle)
        lines.append(
            f"| {title} | {middle:.3g} | {1e6 * middle / count:.2f} | {faster:.1f} | {peak:.0f} "
            f"| {longest} |"
        )
    return "\n".join(lines)


def judged(scratch: Path, pythons: dict[str, str], log: Path) -> str:
    """Return a table of errors on what was held out of a log."""
    file = samples(scratch, "--log", str(log))
    with np.load(file) as stored:
        split, t = int(stored["split"]), stored["t"]
        measured = stored["tau"][split:]
    period = float(t[1] - t[0])
    sections = signal.butter(ORDER, CUTOFF, fs=1.0 / period, output="sos")
    edge = round(MARGIN / period)
    lines = [
        f"{split} samples to fit, {len(measured)} to judge by; rms of joints 1 to 7 [N m].", "",
        "| | " + " | ".join(map(str, range(1, 8))) + " | s | peak MB |", "| --- |" + " ---: |" * 9,
    ]  # fmt: skip
    titles = {"before": "the model as it was", "base": "base parameters", "bodies": "bodies"}
    for name in ("ukctrl", "gaz", *PACKAGES):
        if name not in pythons:
            continue
        found = asked(name, pythons[name], file, "log")
        if isinstance(found, str):
            lines.append(f"| {name}: {found} |" + " |" * 9)
            continue
        for which, predicted in found.arrays.items():
            left = signal.sosfiltfilt(sections, measured - predicted, axis=0)[edge:-edge]
            rms = " | ".join(f"{x:.3f}" for x in np.sqrt((left**2).mean(axis=0)))
            what = titles[which] if which == "before" else f"{NAMES[name]}, {titles[which]}"
            cost = f"{found.told['seconds']:.1f} | {found.told['peak']:.0f}"
            lines.append(f"| {what} | {rms} | {' | ' if which == 'before' else cost} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="make the peers' environments")
    parser.add_argument("--environments", type=Path, default=ROOT / "out" / "identification")
    parser.add_argument("--page", action="store_true", help="also write into docs/reference")
    parser.add_argument("--samples", type=int, default=1_000_000, help="0: none are simulated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", type=Path, help="a CSV table of a real Panda")
    options = parser.parse_args()
    own = ("ukctrl", "script", "gaz")
    pythons = interpreters(options.environments, options.install, own, PACKAGES)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    texts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.samples:
            texts["identification"] = timed(Path(folder), pythons, options.samples, options.rounds)
        if options.log:
            texts["identification_log"] = judged(Path(folder), pythons, options.log)
    facts = f"{machine()}; Python {platform.python_version()}; " + "; ".join(VERSIONS.values())
    texts["identification_machine"] = facts + "."
    print("\n\n".join(texts.values()))
    if options.page:
        write_tables(texts)


if __name__ == "__main__":
    main()
