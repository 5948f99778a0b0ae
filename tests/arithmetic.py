"""The kinds of arithmetic that a processor can be made to use, and the stated numbers under each.

    python tests/arithmetic.py                     # the quick tests marked `portable`, every kind
    python tests/arithmetic.py --slow              # also the slow ones
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
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

MEASURE = """
import json, numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
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


def main() -> int:
    """Run the tests under every kind that takes effect; fail if one fails, or too few do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this one; repeatable")
    parser.add_argument("--slow", action="store_true", help="the slow tests too")
    parser.add_argument("--list", action="store_true", help="only say what takes effect here")
    parser.add_argument("--jobs", default="2", help="processes at a time")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    options = parser.parse_args()
    marked = "portable" if options.slow else "portable and not slow"
    tests = ["-m", "pytest", "--quiet", "--numprocesses", options.jobs, "--dist", "worksteal"]
    outcomes = {}
    for kind in options.kind or KINDS:
        try:
            how = environment(kind)
        except Unavailable as error:
            outcomes[kind] = f"not here: {error}"
            continue
        outcomes[kind] = "takes effect"
        if not options.list:
            print(f"== {kind}", flush=True)
            done = subprocess.run(
                [sys.executable, *tests, "-m", marked, *options.pytest], cwd=ROOT, env=how
            )
            outcomes[kind] = "passed" if done.returncode == 0 else "FAILED"
    for kind, outcome in outcomes.items():
        print(f"{kind:12s} {outcome}")
    ran = [outcome for outcome in outcomes.values() if not outcome.startswith("not here")]
    return int("FAILED" in ran or not ran)


if __name__ == "__main__":
    sys.exit(main())
