"""Time one control tick of ukctrl beside TSID, Drake, MuJoCo and the script a user would write.

    python benchmarks/peers.py [--install] [--page] [--json FILE] [--rounds N] [--cases a1 ...]

Every contestant gets the same URDF, states and demands, in a process and an environment of its
own; one whose environment is missing is skipped. All must give the torques of a dense reference
before anything is timed; then they take turns. A time is that of the fastest round, a ratio to
ukctrl is the median of the rounds' ratios with its quartiles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
CASES = ("scara", "panda", "two_arms", "a1", "humanoid")
PACKAGES = {
    "tsid": ("tsid==1.7.1", "pin==3.4.0", "cmeel-urdfdom==4.0.1", "cmeel-tinyxml2==10.0.0"),
    "mujoco": ("mujoco==4.0.0",),
    "drake": ("drake==1.51.1",),
}
"""What goes into the environment of each peer; newer releases of TSID's wheels do not start."""
TITLES = {
    "ukctrl": "ukctrl",
    "script": "script: sqrtm, pinv",
    "tsid": "TSID",
    "mujoco": "MuJoCo, operational space",
    "drake": "Drake, inverse dynamics",
}
SAME = 1e-6
"""Largest difference of torques that count as the same [N m]; TSID regularises by 1e-8."""
SAME_MOTION = 1e-5
"""The same for accelerations [rad/s^2, m/s^2], where motors share the load in another way."""
SHARE = 0.2
"""Time that one measurement takes [s]."""
ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "NUMBA")}
PARTS = ("Pinocchio", "contact rows", "kernel", "servo rows", "feedback, allocation")


class Contestant:
    """A process that answers as `peers/protocol.py` has it."""

    def __init__(self, name: str, python: str, case: Path) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, str(HERE / "peers" / f"with_{name}.py"), str(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_CORE},
        )
        self.versions = str(self._answer()["ready"])

    def ask(self, question: str) -> Any:
        """Return the answer to a question."""
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended without an answer; what it said is above.")
        return json.loads(line)

    def close(self) -> None:
        """Hang up."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def interpreters(folder: Path, install: bool) -> dict[str, str]:
    """Return the Python of every contestant that is there; tell how to get the others."""
    found = {"ukctrl": sys.executable, "script": sys.executable}
    for name, packages in PACKAGES.items():
        python = folder / name / "bin" / "python"
        if install and not python.exists():
            print(f"installing {', '.join(packages)}", flush=True)
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
            pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
            if subprocess.run([*pip, *packages], check=False).returncode:
                sys.exit(f"{name} cannot be installed; remove {folder / name} to try again.")
        if python.exists():
            found[name] = str(python)
        else:
            print(f"skipping {name}: get it by  python benchmarks/peers.py --install")
    return found


def difference(case: Path, contestant: Contestant) -> dict[str, Any]:
    """Return by how much torques and accelerations differ from the reference's.

    Exits where they should not: torques everywhere but for TSID with redundant motors, which
    shares the load among them by another rule. There the motion must be the same.
    """
    sys.path.insert(0, str(HERE / "peers"))
    from dense import Model, acceleration

    wanted, model = json.loads(case.read_text()), Model(case)
    u = np.array(contestant.ask("torques"))
    a = np.array([acceleration(model, k, each) for k, each in enumerate(u)])
    torque = float(np.abs(u - wanted["u"]).max())
    motion = float(np.abs(a - wanted["a"]).max())
    same = contestant.name != "tsid" or wanted["rule"]["kind"] != "effort"
    if motion > SAME_MOTION or (same and torque > SAME):
        sys.exit(
            f"{case.stem}: {contestant.name} differs by {torque:.1e} N m and "
            f"{motion:.1e} rad/s^2; nothing to compare."
        )
    return {"torque": torque, "motion": motion, "same_torques": same}


def measure(case: Path, pythons: dict[str, str], rounds: int) -> dict[str, Any]:
    """Return what is told of one case."""
    contestants = [Contestant(name, python, case) for name, python in pythons.items()]
    told: dict[str, Any] = {c.name: {"versions": c.versions} for c in contestants}
    for contestant in contestants:
        told[contestant.name] |= difference(case, contestant)
    times: dict[str, list[float]] = {c.name: [] for c in contestants}
    parts = []
    for _ in range(rounds):
        for contestant in contestants:
            times[contestant.name].append(contestant.ask(f"time {SHARE}"))
        parts.append(contestants[0].ask(f"split {SHARE / 4}"))
    for contestant in contestants:
        contestant.close()
    for name, measured in times.items():
        ratios = [t / own for t, own in zip(measured, times["ukctrl"], strict=True)]
        low, high = np.percentile(ratios, [25, 75]).tolist()
        told[name] |= {"us": min(measured)}
        told[name] |= {"ratio": statistics.median(ratios), "quartiles": [low, high]}
    whole = {name: min(part[name] for part in parts) for name in parts[0]}
    rows = whole["contact rows"] if json.loads(case.read_text())["contacts"] else 0.0
    kernel = whole["move"] - whole["Pinocchio"] - rows
    rest = whole["law"] - whole["servo rows"]
    shares = (whole["Pinocchio"], rows, kernel, whole["servo rows"], rest)
    told["ukctrl"]["parts"] = dict(zip(PARTS, shares, strict=True))
    return told


def table(measured: dict[str, Any], freedoms: dict[str, int]) -> str:
    """Return microseconds, and ratios to ukctrl with their quartiles."""
    names = [name for name in TITLES if any(name in told for told in measured.values())]
    lines = [f"| case | freedoms | {' | '.join(TITLES[name] for name in names)} |"]
    lines.append("|" + " --- |" * (len(names) + 2))
    for case, told in measured.items():
        cells = []
        for name in names:
            entry = told[name]
            low, high = entry["quartiles"]
            cell = f"{entry['us']:.3g} µs"
            if name != "ukctrl":
                cell += f", {entry['ratio']:.2g} ({low:.2g} to {high:.2g})"
            cells.append(cell + ("" if entry["same_torques"] else " *"))
        lines.append(f"| `{case}` | {freedoms[case]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def agreement(measured: dict[str, Any]) -> str:
    """Return the largest differences from the reference."""
    names = [name for name in TITLES if any(name in told for told in measured.values())]
    lines = [f"| case | {' | '.join(TITLES[name] for name in names)} |"]
    lines.append("|" + " --- |" * (len(names) + 1))
    for case, told in measured.items():
        cells = [
            f"{told[name]['torque']:.0e} N m"
            if told[name]["same_torques"]
            else f"motion {told[name]['motion']:.0e} *"
            for name in names
        ]
        lines.append(f"| `{case}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def split(measured: dict[str, Any]) -> str:
    """Return where a tick of ukctrl goes."""
    lines = [f"| case | {' | '.join(PARTS)} |", "|" + " --- |" * (len(PARTS) + 1)]
    for case, told in measured.items():
        cells = [f"{told['ukctrl']['parts'][part]:.3g} µs" for part in PARTS]
        lines.append(f"| `{case}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def machine() -> str:
    """Return the processor's model."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.*)", info.read_text()) if info.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def main() -> None:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="make the peers' environments")
    parser.add_argument("--environments", type=Path, default=ROOT / "out" / "peers")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--page", action="store_true", help="also write into docs/reference")
    options = parser.parse_args()
    pythons = interpreters(options.environments, options.install)
    with tempfile.TemporaryDirectory() as scratch:
        export = [sys.executable, str(HERE / "peers" / "export.py"), scratch, *options.cases]
        subprocess.run(export, check=True)
        files = {name: Path(scratch) / f"{name}.json" for name in options.cases}
        freedoms = {name: json.loads(file.read_text())["dofs"] for name, file in files.items()}
        measured = {name: measure(file, pythons, options.rounds) for name, file in files.items()}
    versions = {name: told["versions"] for name, told in next(iter(measured.values())).items()}
    facts = f"{machine()}; Python {platform.python_version()}; " + "; ".join(versions.values())
    texts = {
        "peers": table(measured, freedoms),
        "peers_agree": agreement(measured),
        "peers_split": split(measured),
        "peers_machine": facts + ".",
    }
    print("\n\n".join(texts.values()))
    if options.json:
        told = {"machine": facts, "cases": measured}
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    if options.page:
        page = PAGE.read_text("utf-8")
        for name, text in texts.items():
            place = re.compile(rf"<!-- measured: {name} -->[^<]*<!-- end -->")
            filled = f"<!-- measured: {name} -->\n\n{text}\n\n<!-- end -->"
            page = place.sub(lambda _, filled=filled: filled, page)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
