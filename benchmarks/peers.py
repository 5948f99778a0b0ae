"""Time ticks and closed loops of ukctrl beside TSID, Drake, MuJoCo, C++, CasADi and a script.

    python benchmarks/peers.py [--install] [--page] [--json FILE] [--rounds N] [--cases a1 ...]

Every contestant gets the same URDF, states and demands, in a process and an environment of its
own; one whose environment is missing is skipped. Before anything is timed, all must give the
torques of a dense reference, and end their loops where the script's end. Then they take turns, on
one core: a time is that of the fastest round, a ratio the median of the rounds' ratios with its
quartiles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from page import write_tables

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CASES = ("scara", "panda", "arms", "two_arms", "a1", "humanoid")
PACKAGES = {
    "tsid": ("tsid==1.7.1", "pin==3.4.0", "cmeel-urdfdom==4.0.1", "cmeel-tinyxml2==10.0.0"),
    "mujoco": ("mujoco==4.0.0",),
    "drake": ("drake==1.51.1",),
    "cpp": ("pin==4.1.0", "cmeel-eigen==3.4.1", "numpy==2.4.6", "scipy==1.17.1"),
    "casadi": ("adam-robotics==0.5.0", "casadi==3.8.2", "liecasadi==0.0.7", "numpy==2.4.6"),
}
"""What goes into the environment of each peer; newer releases of TSID's wheels do not start."""
TITLES = {
    "ukctrl": "ukctrl",
    "script": "script: sqrtm, pinv",
    "jitted": "script, algebra in numba",
    "tsid": "TSID",
    "mujoco": "MuJoCo",
    "drake": "Drake",
    "cpp": "C++ on Pinocchio",
    "casadi": "CasADi's C",
    "c": "ukctrl's C library",
    "c_fast": "the same, `--fast`",
}
ABSENT = {
    "tsid": ("arms",),
    "cpp": ("two_arms", "a1", "humanoid"),
    "casadi": ("arms", "two_arms", "a1", "humanoid"),
}
"""Cases that a contestant does not know: TSID has one motor a joint."""
SCRIPTS = {"c_fast": "with_c"}
"""Where a contestant's script is not called after it."""
WORKS = {
    "tick": ("µs", 1e6),
    "rk45": ("ms/s", 1e3),
    "dop853": ("ms/s", 1e3),
    "rk4": ("ms/s", 1e3),
    "sampled": ("ms/s", 1e3),
    "rollouts": ("/s", 1.0),
}
"""What is told of each work, and how many of it are in a second."""
SAME = {"mujoco": 1e-8, "drake": 1e-8, "tsid": 1e-6}
"""Differences that count as none where not 1e-10, of the largest torque or state, or of one if that
is less; TSID adds 1e-8 to its Hessian."""
SAME_MOTION = 1e-5
"""The same for what the task demands [rad/s^2, m/s^2], where motors share the load in another
way, and for where the tool is [m]."""
OTHER_ERROR = 1e-5
"""The same for ukctrl's rollouts, whose tools are off: of the error of an orientation it follows
an exact definition, the others one that differs in third order."""
SHARE = 0.2
"""Time that one measurement takes at least [s]."""
ONE_CORE = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "NUMBA")}
Told = dict[str, dict[str, Any]]
"""What is told of a work by each contestant."""
Measured = dict[str, dict[str, Told]]
"""By case and work."""


class Contestant:
    """A process that answers as `peers/protocol.py` has it."""

    def __init__(self, name: str, python: str, case: Path, script: str = "") -> None:
        self.name, script = name, script or SCRIPTS.get(name, f"with_{name}")
        self._process = subprocess.Popen(
            [python, str(HERE / "peers" / f"{script}.py"), str(case), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_CORE},
        )
        ready = self._answer()
        self.versions: str = ready["ready"]
        self.works: list[str] = ["tick", *ready["loops"]]

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


def interpreters(
    folder: Path,
    install: bool,
    own: Sequence[str] = ("ukctrl", "script", "jitted", "c", "c_fast"),
    others: Mapping[str, Sequence[str]] = PACKAGES,
) -> dict[str, str]:
    """Return the Python of every contestant that is there; tell how to get the others."""
    found = dict.fromkeys(own, sys.executable)
    for name, packages in others.items():
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
            print(f"skipping {name}: get it by  python {sys.argv[0]} --install")
    return found


def reference(case: Path) -> Any:
    """Return the dense model of a case."""
    sys.path.insert(0, str(HERE / "peers"))
    from dense import Model

    return Model(case)


def other_problem(model: Any, name: str) -> bool:
    """Return whether a contestant cannot state what shall be least; then motions are compared."""
    return name == "tsid" and model.case["rule"]["kind"] in ("effort", "gauss")


def difference(model: Any, name: str, work: str, wanted: Any, found: Any) -> float:
    """Return by how much a contestant differs from what is wanted; exit where it should not.

    Torques of all states, or the end of a loop and its torques; of another problem, the task's
    accelerations and the tool's place at the end.
    """
    if other_problem(model, name):
        limit = SAME_MOTION
        if work == "tick":
            off = max(model.missed(k, np.array(u)) for k, u in enumerate(found[0]))
        else:
            ends = [model.tool(np.array(y[: len(model.motors)])) for y in (wanted[0], found[0])]
            off = np.abs(ends[0] - ends[1]).max()
    else:
        limit = OTHER_ERROR if (name, work) == ("ukctrl", "rollouts") else SAME.get(name, 1e-10)
        pairs = [(np.array(a), np.array(b)) for a, b in zip(wanted, found, strict=True)]
        off = max(np.abs(a - b).max() / max(1.0, np.abs(a).max()) for a, b in pairs)
    if not off <= limit:
        sys.exit(f"{model.case['name']}, {work}: {name} differs by {off:.1e}; nothing to compare.")
    return float(off)


def measure(case: Path, pythons: dict[str, str], rounds: int) -> dict[str, Told]:
    """Return what is told of every work of a case."""
    model = reference(case)
    names = [name for name in pythons if case.stem not in ABSENT.get(name, ())]
    contestants = [Contestant(name, pythons[name], case) for name in names]
    script = next(c for c in contestants if c.name == "script")
    told: dict[str, Told] = {work: {} for work in script.works}
    for work, by_name in told.items():
        wanted = [model.case["u"]] if work == "tick" else script.ask(f"run {work}")
        for contestant in (c for c in contestants if work in c.works):
            name = contestant.name
            by_name[name] = {
                "versions": contestant.versions,
                "star": other_problem(model, name),
                "off": difference(model, name, work, wanted, contestant.ask(f"run {work}")),
                "times": [],
            }
    for _ in range(rounds):
        for work, by_name in told.items():
            for contestant in (c for c in contestants if c.name in by_name):
                seconds = contestant.ask(f"time {work} {SHARE}")
                by_name[contestant.name]["times"].append(seconds / length(model.case, work))
    for contestant in contestants:
        contestant.close()
    for by_name in told.values():
        for entry in by_name.values():
            entry["to_ukctrl"] = spread(entry["times"], by_name["ukctrl"]["times"])
            entry["faster"] = spread(by_name["script"]["times"], entry["times"])
    return told


def length(case: dict[str, Any], work: str) -> float:
    """Return how many of what is told of are in one call: ticks, seconds or rollouts."""
    if work == "tick":
        return 1.0
    loops = case["loops"]
    return float(len(loops["mass_scale"]) if work == "rollouts" else loops["seconds"][work])


def spread(times: list[float], others: list[float]) -> list[float]:
    """Return the median of the rounds' ratios and its quartiles."""
    ratios = [a / b for a, b in zip(times, others, strict=True)]
    return [float(x) for x in np.percentile(ratios, [50, 25, 75])]


def ratio(entry: list[float]) -> str:
    """Return a ratio with its quartiles."""
    middle, low, high = (spoken(x) for x in entry)
    return f"{middle} ({low} to {high})"


def spoken(x: float) -> str:
    """Return a number with two digits, or as a whole one."""
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def table(measured: Measured, cell: Callable[[str, str, Told], str], names: list[str]) -> str:
    """Return a table of all works, a column a contestant."""
    lines = [f"| work | {' | '.join(TITLES[name] for name in names)} |"]
    lines.append("|" + " --- |" * (len(names) + 1))
    for case, works in measured.items():
        for work, told in works.items():
            cells = [cell(name, work, told) if name in told else "" for name in names]
            lines.append(f"| `{case}`, {work} | {' | '.join(cells)} |")
    return "\n".join(lines)


def times(name: str, work: str, told: Told) -> str:
    """Return the fastest round, and the ratio to ukctrl."""
    entry, (unit, count) = told[name], WORKS[work]
    fastest = min(entry["times"])
    text = f"{1.0 / fastest if unit == '/s' else count * fastest:.3g} {unit}"
    text += "" if name == "ukctrl" else f", {ratio(entry['to_ukctrl'])}"
    return text + (" *" if entry["star"] else "")


def faster(name: str, work: str, told: Told) -> str:
    """Return how many times faster than the script, and for ukctrl with quartiles."""
    entry = told[name]["faster"]
    return f"**{ratio(entry)}**" if name == "ukctrl" else spoken(entry[0])


def agreement(name: str, work: str, told: Told) -> str:
    """Return the largest difference from the reference."""
    entry = told[name]
    return f"{entry['off']:.0e}" + (" *" if entry["star"] else "")


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
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        export = [sys.executable, str(HERE / "peers" / "export.py"), scratch, *options.cases]
        subprocess.run(export, check=True)
        measured: Measured = {
            name: measure(Path(scratch) / f"{name}.json", pythons, options.rounds)
            for name in options.cases
        }
    versions = {
        name: entry["versions"]
        for works in measured.values()
        for told in works.values()
        for name, entry in told.items()
    }
    names = [name for name in TITLES if name in versions]
    facts = f"{machine()}; Python {platform.python_version()}; " + "; ".join(versions.values())
    rivals = [name for name in names if name != "script"]
    texts = {
        "peers": table(measured, times, names),
        "peers_script": table(measured, faster, rivals),
        "peers_agree": table(measured, agreement, names),
        "peers_machine": facts + ".",
    }
    print("\n\n".join(texts.values()))
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "cases": measured}, indent=2) + "\n")
    if options.page:
        write_tables(texts)


if __name__ == "__main__":
    main()
