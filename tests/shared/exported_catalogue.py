"""Which controllers of the catalogue go to C, and what they take there.

    python tests/shared/exported_catalogue.py [SCENARIO ...] [--ticks 200] [--aarch64]

exports each scenario, builds a program that steps through the ticks of its run, and prints the
sizes of code, memory and stack, the time of a tick, and how many inputs have other bits; with
``--aarch64`` how far the inputs of that processor are off, under QEMU (packages qemu-user and
gcc-aarch64-linux-gnu). It exits 1 where a library that was made has other bits than the run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from ukctrl import Scenario, simulate
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.simulation.export.export_controller import export_c_library

STACK_BYTES = 1 << 20
"""Stack of the thread that steps, painted before."""
PAINTED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define main check_main
#include "check.c"
#undef main
static @name@_t stepped;
static double row_of[1 + @NAME@_Q + @NAME@_V + @NAME@_CONTACTS + @NAME@_U], u_of[@NAME@_U];
static void *some(void *file)
{
    @name@_init(&stepped);
    while (file && fread(row_of, sizeof row_of, 1, file) == 1)
        @name@_step(&stepped, row_of[0], row_of + 1, row_of + 1 + @NAME@_Q, u_of);
    return NULL;
}
static size_t used(FILE *file)
{
    enum { SIZE = @stack@ };
    unsigned char *stack = aligned_alloc(4096, SIZE);
    pthread_attr_t how;
    pthread_t thread;
    size_t k = 0;
    memset(stack, 0xA5, SIZE);
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, stack, SIZE);
    pthread_create(&thread, &how, some, file);
    pthread_join(thread, NULL);
    while (k < SIZE && stack[k] == 0xA5) k++;
    return SIZE - k;
}
int main(int argc, char **argv)
{
    char nothing[4096];
    FILE *none = fopen("/dev/null", "rb"), *file = fopen("check.bin", "rb");
    size_t idle = fread(nothing, 1, 1, none), least, most;
    used(file); /* the linker resolves its symbols on the first thread's stack */
    rewind(file);
    least = used(none);
    most = used(file);
    printf("stack %zu; ", idle + most - least);
    fflush(stdout);
    return check_main(argc, argv);
}
"""
"""A thread that reads no ticks tells what reading and the thread itself take."""


class Row(NamedTuple):
    """What came of a scenario."""

    scenario: str
    reason: str
    """Why there is no library, or none that has the bits of the run; empty where there is."""
    code: int = 0
    """Size of the object code [kB]."""
    memory: int = 0
    """Size of a controller [kB], with what kernels may ask for."""
    stack: int = 0
    """What a step needs of the stack [bytes]."""
    least: float = float("nan")
    """Time of a step, the shortest [us]."""
    slow: float = float("nan")
    """And of all but one in 1000 [us]."""
    aarch64: float = float("nan")
    """Worst difference on that processor, in parts of the largest input."""


def row_of(name: str, ticks: int, other: bool) -> Row:
    """Return what came of a scenario of the catalogue."""
    scenario = Scenario.load(name)
    period = scenario.timing.control or 0.001
    timing = {"control": period, "sample": period, "duration": ticks * period}
    scenario = scenario.replace({f"timing.{key}": value for key, value in timing.items()})
    try:
        result = simulate(scenario)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            done = export_c_library(scenario, result, folder)
            refused = " ".join(note for note in done.notes if "refused" in note)
            header = next(folder.glob("*.h"))
            code = header.with_suffix(".o").stat().st_size
            text = header.read_text()
            words = int(text.partition("double memory[")[2].partition("]")[0])
            told = _measured(folder, header.stem, "cc", ())
            match = re.search(
                r"stack (\d+); (\d+) ticks: (\d+) with other bits, (\d+) refused.*least ([\d.]+),"
                r" .*99.9 % ([\d.]+)", told)  # fmt: skip
            if match is None:
                return Row(name, told)
            stack, _, differ, lost = map(int, match.groups()[:4])
            if lost or differ:
                refused = refused or f"{differ} inputs with other bits, {lost} refused"
            apart = _apart(scenario, result) if other else float("nan")
            least, slow = map(float, match.groups()[4:])
            return Row(name, refused, code // 1000, 8 * words // 1000, stack, least, slow, apart)
    except UkctrlError as error:
        return Row(name, str(error))


def _measured(folder: Path, name: str, compiler: str, run: tuple[str, ...]) -> str:
    """Build the program beside a library; return what it prints, or why it was not built."""
    source = PAINTED.replace("@name@", name).replace("@NAME@", name.upper())
    (folder / "painted.c").write_text(source.replace("@stack@", str(STACK_BYTES)))
    build = [compiler, "-O2", "painted.c", f"{name}.o", "-lm", "-pthread", "-o", "painted"]
    built = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode:
        return built.stderr
    told = subprocess.run([*run, "./painted"], cwd=folder, capture_output=True, text=True,
                          check=False)  # fmt: skip
    return told.stdout or f"ended with {told.returncode}"


def _apart(scenario: Scenario, result) -> float:
    """Return how far the inputs of another processor are off, in parts of the largest."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        export_c_library(scenario, result, folder, target="aarch64")
        name = next(folder.glob("*.h")).stem
        emulator = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
        told = _measured(folder, name, "aarch64-linux-gnu-gcc", emulator)
        match = re.search(r"worst difference (\S+) of (\S+);", told)
        if match is None:
            return float("inf")
        worst, largest = map(float, match.groups())
        return worst / largest if largest else worst


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--aarch64", action="store_true")
    given = parser.parse_args()
    if given.aarch64 and not shutil.which("qemu-aarch64"):
        parser.error("--aarch64 needs qemu-aarch64")
    print("scenario                          kB memory  stack  least  99.9%  aarch64")
    rows = []
    for name in given.scenarios or catalog.names("scenarios"):
        row = row_of(name, given.ticks, given.aarch64)
        rows.append(row)
        numbers = (f"{row.code:5d} {row.memory:6d} {row.stack:6d} {row.least:6.2f} {row.slow:6.2f} "
                   f"{row.aarch64:8.1e}") if row.code else ""  # fmt: skip
        print(f"{name:30} {numbers} {row.reason[:150]}", flush=True)
    exact = [row for row in rows if row.code and not row.reason]
    code, stack, apart = (max((getattr(row, key) for row in exact), default=0)
                          for key in ("code", "stack", "aarch64"))  # fmt: skip
    print(f"{len(exact)} of {len(rows)} have the bits of the run; of these at most {code} kB of "
          f"code, {stack} bytes of stack, aarch64 {apart:.1e} of the largest input")  # fmt: skip
    return int(any(row.code and row.reason for row in rows))


if __name__ == "__main__":
    sys.exit(main())
