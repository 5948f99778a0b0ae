"""The kinds of arithmetic that a processor can be made to use, and the tests under each.

    python tests/arithmetic.py                     # the fast tests, every kind
    python tests/arithmetic.py --slow              # the slow ones
    python tests/arithmetic.py --pages             # what the documentation shows
    python tests/arithmetic.py --kind skylakex -- -k pseudoinverses
    python tests/arithmetic.py --list              # what this processor can do

Two processors round differently because libraries choose their code by the processor: OpenBLAS its
kernels, NumPy its loops, Numba its instructions, the C library its functions. Each can be told to
choose as on another processor. A kind counts only where it takes effect, which is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]

MEASURE = """
import json, numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
# OpenBLAS takes the kernels that it is asked for, whether this processor has their instructions
square = numpy.arange(4096.0).reshape(64, 64) + numpy.eye(64)
numpy.linalg.svd(square @ square[:, :1])
scipy.linalg.solve(square, square @ square)
print(json.dumps({
    "BLAS": sorted({blas["architecture"] for blas in threadpoolctl.threadpool_info()
                    if blas["user_api"] == "blas"}),
    "NumPy": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "Numba": cpu_target.target_context.codegen().magic_tuple()[1],
}))
"""
"""Tells what the libraries of a process compute with."""


class Arithmetic(NamedTuple):
    """One kind: what asks for it, and how it shows."""

    core: str
    """The processor whose kernels OpenBLAS is to use."""
    shows_as: tuple[str, ...]
    """What OpenBLAS then calls itself; it knows processors by the first that had their kernels."""
    plain: bool = False
    """Also NumPy without its own vector loops, Numba for any processor, and a C library without
    fused multiplications."""


KINDS: Mapping[str, Arithmetic] = {
    "plain": Arithmetic("Prescott", ("Prescott", "Katmai"), plain=True),
    "sandybridge": Arithmetic("Sandybridge", ("Sandybridge",)),
    "haswell": Arithmetic("Haswell", ("Haswell",)),
    "skylakex": Arithmetic("SkylakeX", ("SkylakeX",)),
    "zen": Arithmetic("Zen", ("Zen",)),
}


class Unavailable(Exception):
    """This processor, or its libraries, have no such arithmetic."""


def measured(environment: Mapping[str, str]) -> dict[str, list[str] | str]:
    """Return what the libraries of a new process compute with."""
    return _measured(tuple(environment.items()))


@functools.cache
def _measured(environment: tuple[tuple[str, str], ...]) -> dict[str, list[str] | str]:
    words = [sys.executable, "-c", MEASURE]
    done = subprocess.run(words, env=dict(environment), capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"its process ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    found: dict[str, list[str] | str] = json.loads(done.stdout)
    return found


def environment(kind: str, *, compiles: bool = True) -> dict[str, str]:
    """Return the environment of a process that computes in a certain way.

    Args:
        kind: One of `KINDS`.
        compiles: Whether Numba compiles for it too, which takes a minute the first time.

    Raises:
        Unavailable: It does not take effect here; the message says why.
    """
    how, own = KINDS[kind], dict(os.environ)
    asked = own | {"OPENBLAS_CORETYPE": how.core}
    if how.plain:
        # A feature that the processor lacks must not be named.
        asked["NPY_DISABLE_CPU_FEATURES"] = " ".join(measured(own)["NumPy"])
        asked["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
        if compiles:
            asked["NUMBA_CPU_NAME"] = "generic"
    found = measured(asked)
    if not set(found["BLAS"]) <= set(how.shows_as):
        raise Unavailable(f"asked for {how.core}, OpenBLAS computes as {', '.join(found['BLAS'])}")
    if how.plain and (found["NumPy"] or (compiles and found["Numba"] != "generic")):
        raise Unavailable(f"NumPy still uses {found['NumPy']}, Numba {found['Numba']}")
    return asked


def another() -> dict[str, str]:
    """Return the environment of a process whose linear algebra is not this processor's own.

    Raises:
        Unavailable: There is none.
    """
    own = measured(os.environ)["BLAS"]
    for kind in reversed(KINDS):
        with contextlib.suppress(Unavailable):
            asked = environment(kind, compiles=False)
            if measured(asked)["BLAS"] != own:
                return asked
    raise Unavailable(f"this processor computes as {own} and in no other way")


class Tried(NamedTuple):
    """What came of the tests under one kind."""

    outcomes: Mapping[str, str]
    """``passed``, ``skipped`` or ``failed`` by test."""
    code: int
    """That pytest ended with."""
    minutes: float

    def count(self, outcome: str) -> int:
        """Return of how many tests this came."""
        return list(self.outcomes.values()).count(outcome)


def tried(how: Mapping[str, str], words: Sequence[str]) -> Tried:
    """Run tests in a certain way; pytest tells its progress."""
    with tempfile.TemporaryDirectory() as folder:
        report, began = Path(folder, "junit.xml"), time.monotonic()
        command = [sys.executable, "-m", "pytest", "--quiet", f"--junitxml={report}", *words]
        done = subprocess.run(command, cwd=ROOT, env=dict(how))
        minutes = (time.monotonic() - began) / 60.0
        cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
        outcomes = {
            f"{case.get('classname')}::{case.get('name')}": _outcome(case) for case in cases
        }
    return Tried(outcomes, done.returncode, minutes)


def _outcome(case: ElementTree.Element) -> str:
    of = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    return next((of[part.tag] for part in case if part.tag in of), "passed")


def differing(kinds: Mapping[str, Tried]) -> list[str]:
    """Return a line for every test that does not end alike under all kinds."""
    names = sorted({name for kind in kinds.values() for name in kind.outcomes})
    lines = []
    for name in names:
        ends = {kind: what.outcomes.get(name, "absent") for kind, what in kinds.items()}
        if len(set(ends.values())) > 1:
            lines.append(f"{name}: " + ", ".join(f"{kind} {end}" for kind, end in ends.items()))
    return lines


def main() -> int:
    """Run the tests under every kind that takes effect; fail if one fails, or none does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this one; repeatable")
    parser.add_argument("--slow", action="store_true", help="the slow tests")
    parser.add_argument("--pages", action="store_true", help="the documentation's pages")
    parser.add_argument("--list", action="store_true", help="only say what takes effect here")
    parser.add_argument("--jobs", default="2", help="processes at a time")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    options = parser.parse_args()
    marks = f"{'' if options.slow else 'not '}slow and {'' if options.pages else 'not '}pages"
    words = ["--numprocesses", options.jobs, "--dist", "worksteal", "-m", marks, *options.pytest]
    kinds, missing = {}, {}
    for kind in options.kind or KINDS:
        try:
            how = environment(kind)
        except Unavailable as error:
            missing[kind] = str(error)
            continue
        print(f"== {kind}", flush=True)
        kinds[kind] = Tried({}, 0, 0.0) if options.list else tried(how, words)
    differences = differing(kinds)
    print(*differences, f"{'kind':12s} passed failed skipped minutes", sep="\n")
    for kind, what in kinds.items():
        counts = [what.count(outcome) for outcome in ("passed", "failed", "skipped")]
        print("{:12s} {:6d} {:6d} {:7d} {:7.1f}".format(kind, *counts, what.minutes))
    for kind, why in missing.items():
        print(f"{kind:12s} not here: {why}")
    print(f"{len(differences)} tests differ")
    return int(not kinds or bool(differences) or any(what.code for what in kinds.values()))


if __name__ == "__main__":
    sys.exit(main())
