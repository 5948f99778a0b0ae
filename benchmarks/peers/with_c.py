"""ukctrl's law as the C library that `ukctrl export` writes, called from C.

python with_c.py CASE.json c            the bits of a run
python with_c.py CASE.json c_fast       arithmetic that LLVM may reorder
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from protocol import Case, Contestant, serve
from with_ukctrl import states

from ukctrl import Runtime, Scenario
from ukctrl.simulation.export.c_library import CLibrary

BLOCK = 480
"""Ticks in one call."""
TICKS = r"""
#include <math.h>
#include <stddef.h>
#include "@name@.h"

/* All states in turn, as often as is asked for. A tick must be later than the one before: the last
   time, which the library has at @last_t@ bytes, is forgotten. */
int ticks(size_t calls, size_t states, const double *t, const double *q, const double *v, double *u)
{
    static @name@_t controller;
    double *last = (double *)((char *)&controller + @last_t@);
    int refused = 0;
    size_t k;
    @name@_init(&controller);
    for (k = 0; k < calls; k++) {
        const size_t i = k % states;
        *last = -INFINITY;
        refused |= @name@_step(&controller, t[i], q + @NAME@_Q * i, v + @NAME@_V * i,
                               u + @NAME@_U * i);
    }
    return refused;
}
"""


class Library:
    """The law of a case in a shared library."""

    def __init__(self, case: Case, *, fast: bool) -> None:
        at = states(case)
        start = np.array(case["rule"].get("q", at[0][1]))
        changes: dict[str, Any] = {
            "start.q": start.tolist(), "start.v": at[0][2].tolist(), "start.solve": False,
            "start.spread": 0.0, "timing.control": 1e-3, "timing.sample": 1e-3,
        }  # fmt: skip
        scenario = Scenario.load(case["scenario"]).replace(changes)
        library = CLibrary(scenario, Runtime(scenario).exported_step, fast=fast)
        with tempfile.TemporaryDirectory() as place:
            files = {
                f"{library.name}.h": library.header().encode(),
                f"{library.name}.o": library.code,
                "ticks.c": library.filled(TICKS, last_t=str(library.layout.last_t)).encode(),
            }
            for name, content in files.items():
                Path(place, name).write_bytes(content)
            command = ["cc", "-O2", "-shared", "-fPIC", "ticks.c", f"{library.name}.o", "-lm"]
            subprocess.run([*command, "-o", "ticks.so"], cwd=place, check=True)
            self._ticks = ctypes.CDLL(str(Path(place, "ticks.so"))).ticks
        self._tables = [np.ascontiguousarray(column) for column in zip(*at, strict=True)]
        self._u = np.zeros((case.count, library.sizes[1]))

    def ticks(self, calls: int) -> Any:
        """Return the torques of all states after so many ticks."""
        numbers = (ctypes.c_size_t(n) for n in (calls, len(self._u)))
        places = (ctypes.c_void_p(table.ctypes.data) for table in (*self._tables, self._u))
        assert self._ticks(*numbers, *places) == 0
        return self._u


def prepare(case: Case) -> Contestant:
    """Export the law, and load it."""
    made = Library(case, fast=sys.argv[2] == "c_fast")
    return Contestant(lambda k: made.ticks(case.count)[k], {}, lambda: made.ticks(BLOCK), BLOCK)


def versions() -> str:
    """Return what ran."""
    return f"C library of ukctrl {version('ukctrl')}, llvmlite {llvmlite.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
