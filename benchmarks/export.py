"""A controller in a 1 kHz loop: as a C library and as Python's class, side by side.

    python benchmarks/export.py [SCENARIO ...] [--seconds 10] [--ticks 10000000]

For each scenario the program of C steps through the ticks of its run as fast as it can, so many
times over, and tells by how much its memory has grown. Then both loops wake up every period under
SCHED_FIFO, where the system allows it, and take one step: told are the times of a step and how late
it has begun (half, 99 % and 99.9 % of them) [us].
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ukctrl import Runtime, Scenario, one_blas_thread, simulate
from ukctrl.simulation.export.export_controller import export_c_library, tick_rows

TICKS = 500
"""Ticks of the run."""
PRIORITY = 80
LOOP = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include "@name@.h"
enum { WIDTH = 1 + @NAME@_Q + @NAME@_V + @NAME@_CONTACTS + @NAME@_U };
static @name@_t stepped;
static double rows[100000 * WIDTH], u[@NAME@_U];
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}
static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void tell(const char *what, double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    printf("%s %.2f %.2f %.2f; ", what, x[n / 2], x[n * 99 / 100], x[n * 999 / 1000]);
}
static int step(size_t k, size_t ticks)
{
    const double *row = rows + WIDTH * (k % ticks);
    if (k % ticks == 0) @name@_init(&stepped);
    return @name@_step(&stepped, row[0], row + 1, row + 1 + @NAME@_Q, u);
}
int main(int argc, char **argv)
{
    const size_t many = strtoull(argv[1], NULL, 10), n = strtoull(argv[2], NULL, 10);
    FILE *file = fopen("check.bin", "rb");
    const size_t ticks = fread(rows, sizeof(double) * WIDTH, 100000, file);
    const struct sched_param priority = { .sched_priority = @priority@ };
    double *spent = calloc(n, sizeof *spent), *late = calloc(n, sizeof *late), next;
    struct rusage before, after;
    size_t k, refused = 0;
    (void)argc;
    for (k = 0; k < ticks; k++) refused += step(k, ticks) != 0;
    getrusage(RUSAGE_SELF, &before);
    for (k = 0; k < many; k++) refused += step(k, ticks) != 0;
    getrusage(RUSAGE_SELF, &after);
    printf("refused %zu; grown %ld kB; ", refused, after.ru_maxrss - before.ru_maxrss);
    printf("fifo %d; ", sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    next = now();
    for (k = 0; k < n; k++) {
        struct timespec until;
        double began;
        next += 1e6 * @NAME@_PERIOD;
        until.tv_sec = (time_t)(next / 1e6);
        until.tv_nsec = (long)(1e3 * (next - 1e6 * (double)until.tv_sec));
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        began = now();
        step(k, ticks);
        spent[k] = now() - began;
        late[k] = began - next;
    }
    tell("step", spent, n);
    tell("late", late, n);
    return 0;
}
"""


def in_c(folder: Path, name: str, many: int, n: int) -> str:
    """Return what the program of C tells."""
    source = LOOP.replace("@name@", name).replace("@NAME@", name.upper())
    (folder / "loop.c").write_text(source.replace("@priority@", str(PRIORITY)))
    build = ["cc", "-O2", "loop.c", f"{name}.o", "-lm", "-o", "loop"]
    subprocess.run(build, cwd=folder, check=True)
    return subprocess.run(["./loop", str(many), str(n)], cwd=folder, check=True,
                          capture_output=True, text=True).stdout  # fmt: skip


def in_python(scenario: Scenario, rows: np.ndarray, n: int) -> str:
    """Return the same of Python's class, whose loop freezes what the collector would look at."""
    runtime = Runtime(scenario)
    nq, nv = len(runtime.coordinates), len(runtime.dofs)
    ticks = [(float(row[0]), row[1 : 1 + nq].copy(), row[1 + nq : 1 + nq + nv].copy())
             for row in rows]  # fmt: skip
    period, spent, late = scenario.timing.control, np.zeros(n), np.zeros(n)
    for t, q, v in ticks:
        runtime.step(t, q, v)
    gc.collect()
    gc.freeze()
    gc.disable()
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    beginning = time.perf_counter()
    for k in range(n):
        t, q, v = ticks[k % len(ticks)]
        if k % len(ticks) == 0:
            runtime.restart()
        due = beginning + (k + 1) * period
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        runtime.step(t, q, v)
        spent[k], late[k] = time.perf_counter() - began, began - due
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    gc.enable()
    gc.unfreeze()
    return "; ".join(
        f"{what} " + " ".join(f"{1e6 * x:.2f}" for x in np.percentile(values, (50, 99, 99.9)))
        for what, values in (("step", spent), ("late", late))
    )


def main() -> int:
    """Print what both tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=["scara-helix", "panda-pose"])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--ticks", type=int, default=10_000_000)
    given = parser.parse_args()
    bad = False
    for name in given.scenarios:
        timing = {"control": 0.001, "sample": 0.001, "duration": TICKS * 0.001}
        scenario = Scenario.load(name, {f"timing.{key}": value for key, value in timing.items()})
        result, n = simulate(scenario), round(given.seconds / 0.001)
        with tempfile.TemporaryDirectory() as place, one_blas_thread():
            folder = Path(place)
            export_c_library(scenario, result, folder)
            (header,) = folder.glob("*.h")
            told = in_c(folder, header.stem, given.ticks, n)
            print(f"{name:24} C       {told}", flush=True)
            found = re.search(r"refused (\d+); grown (-?\d+)", told)
            bad = bad or found is None or found.groups() != ("0", "0")
            rows = tick_rows(result, Runtime(scenario))
            print(f"{name:24} Python  {in_python(scenario, rows, n)}", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
