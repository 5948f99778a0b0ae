"""A sample of the tests with the oldest packages that pyproject.toml allows, and with the newest.

    python tests/bounds.py                                  # both, by this Python
    python tests/bounds.py --python python3.12 --python python3.13
    python tests/bounds.py --only oldest --count 50

Each environment is made anew in out/bounds/. *Oldest* is of each package that pyproject.toml names
the lowest version within its bounds that has a wheel for the Python; *newest* the highest there
is. The sample has one quick test of every file before it has a second one of any, chosen by the
digests of their names: the same tests everywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "out" / "bounds"
EXTRAS = ("cluster", "descriptions", "film", "logs", "mujoco", "optimise", "tables", "xacro")
"""What a user may ask for besides; the zoo is 420 MB of models, and no code."""
TOOLS = ("hypothesis", "jsonschema", "psutil", "pytest", "pytest-xdist")
"""What runs the tests, of any version."""
PACKAGES = (
    "core", "robot", "mechanics", "control", "simulation", "reports", "analysis", "studies",
    "cli", "film", "laws", "optimal", "papers",
)  # fmt: skip
FOLDERS = (*PACKAGES, "closed_loop", "conformance", "hostile", "truth", "twin")
"""Tests of the library; those of the project need its developers' tools."""
COUNT = 400
"""Tests of the sample: at least one of every file."""
SIZE = "UKCTRL_BOUNDS_SAMPLE"
"""Tells the processes of the tests how many of them to run."""


class Need(NamedTuple):
    """A package that pyproject.toml names, and within which bounds."""

    name: str
    bounds: str

    @property
    def floor(self) -> str:
        """The lowest version that is allowed; empty where any is."""
        found = re.search(r">=\s*([\w.]+)", self.bounds)
        return found[1] if found else ""


def needs(project: Mapping[str, Any]) -> list[Need]:
    """Return what the project needs, with its extras, each package once."""
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    found = (re.fullmatch(r"([\w.-]+)\s*(.*)", line) for line in lines)
    return [Need(match[1].lower(), match[2]) for match in found if match is not None]


def sample(names: Iterable[str], count: int) -> set[str]:
    """Return some of the tests: of every file one, then of every file a second one, and so on."""
    files: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(set(names)):
        digest = hashlib.sha256(name.encode()).hexdigest()
        files.setdefault(name.partition("::")[0], []).append((digest, name))
    turns = ((turn, *each) for tests in files.values() for turn, each in enumerate(sorted(tests)))
    return {name for _, _, name in sorted(turns)[:count]}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave the sample of what is to run; pytest asks each of its processes."""
    quick = [one for one in items if not {"slow", "pages"} & {m.name for m in one.iter_markers()}]
    chosen = sample((one.nodeid for one in quick), int(os.environ[SIZE]))
    config.hook.pytest_deselected(items=[one for one in items if one.nodeid not in chosen])
    items[:] = [one for one in items if one.nodeid in chosen]


def main() -> int:
    """Make the environments, run the sample in each, and say what each held and how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", help="which Python; repeatable")
    parser.add_argument("--only", choices=("oldest", "newest"))
    parser.add_argument("--count", type=int, default=COUNT, help="tests of the sample")
    parser.add_argument("--jobs", default="2", help="processes at a time")
    options = parser.parse_args()
    told: dict[str, tuple[dict[str, str], str]] = {}
    for python in options.python or [sys.executable]:
        for which in [options.only] if options.only else ["oldest", "newest"]:
            number = said(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
            home = HOME / f"{which}-{number}"
            print(f"== {which} packages, Python {number}", flush=True)
            try:
                environment = built(python, home, which)
            except subprocess.CalledProcessError as error:
                lines = f"{error.stdout}{error.stderr}".strip().splitlines()
                told[home.name] = {}, f"NOT INSTALLED: {lines[-1] if lines else error}"
                continue
            told[home.name] = environment, outcome(home, options.count, options.jobs)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print(table(needs(project), told))
    return int(not all(re.match(r"[1-9]\d* passed", how) for _, how in told.values()))


def built(python: str, home: Path, which: str) -> dict[str, str]:
    """Make an environment; return the versions in it."""
    shutil.rmtree(home, ignore_errors=True)
    said(python, "-m", "venv", str(home))
    pip = (str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
    said(*pip, "install", "--quiet", "--upgrade", "pip")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = home / "pins.txt"
    oldest = [(need, lowest(pip, need)) for need in needs(project) if need.floor]
    lines = [f"{need.name}=={version}" for need, version in oldest if which == "oldest"]
    pins.write_text("\n".join([*lines, ""]), encoding="utf-8")
    wanted = f"{ROOT}[{','.join(EXTRAS)}]"
    wheels = ("--no-compile", "--only-binary", ":all:", "--constraint", str(pins))
    said(*pip, "install", "--quiet", *wheels, *TOOLS, "--editable", wanted)
    found = json.loads(said(*pip, "list", "--format", "json"))
    return {each["name"].lower().replace("_", "-"): each["version"] for each in found}


def lowest(pip: Sequence[str], need: Need) -> str:
    """Return the lowest version within the bounds that has a wheel for that Python."""
    wanted = ("index", "versions", need.name, "--only-binary", ":all:", "--json")
    versions = json.loads(said(*pip, *wanted))["versions"]
    return min((v for v in versions if places(v) >= places(need.floor)), key=places)


def places(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparing it with another."""
    return tuple(map(int, re.findall(r"\d+", version)))


def outcome(home: Path, count: int, jobs: str) -> str:
    """Run the sample in an environment; return how it went."""
    report = home / "tests.xml"
    words = [str(home / "bin" / "python"), "-m", "pytest", "-p", "tests.bounds", "--quiet"]
    words += ["--numprocesses", jobs, "--junit-xml", str(report)]
    # Machine code of its own, made by the packages in it; the package alone is what is tried.
    own = {SIZE: str(count), "NUMBA_CACHE_DIR": str(home / "machine-code"), "MPLBACKEND": "Agg"}
    words += [f"tests/{folder}" for folder in FOLDERS]
    report.unlink(missing_ok=True)
    code = subprocess.run(words, cwd=ROOT, env={**os.environ, **own}).returncode
    if not report.exists():
        return f"BROKE OFF: pytest ended with {code}"
    (suite,) = ElementTree.parse(report).getroot()
    ran, failed, erred, skipped = (
        int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
    )
    good = f"{ran - failed - erred - skipped} passed, {skipped} skipped"
    return f"FAILED: {failed + erred} of {ran}" if failed + erred else good


def table(wanted: Sequence[Need], told: Mapping[str, tuple[Mapping[str, str], str]]) -> str:
    """Return the versions of each environment side by side, and below them how it went."""
    heads = ["package", "bounds", *told]
    rows = [
        [need.name, need.bounds, *(found.get(need.name, "-") for found, _ in told.values())]
        for need in sorted(wanted)
    ]
    wide = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, wide, strict=True)).rstrip()
             for row in [heads, *rows]]  # fmt: skip
    return "\n".join([*lines, "", *(f"{name}: {how}" for name, (_, how) in told.items())])


def said(*words: str) -> str:
    """Return what a command prints.

    Raises:
        CalledProcessError: It fails.
    """
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
