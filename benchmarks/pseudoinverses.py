"""Time every pseudoinverse over the sizes of multibody Jacobians; print a table and JSON.

Each matrix has n columns (coordinates) and 4n/5 rows (constraints), a tenth of which are redundant,
which is the shape of the paper's Tables 6 to 12. One BLAS thread, as a control loop would use.
Before anything is timed, each answer must pass the Penrose conditions.

    python benchmarks/pseudoinverses.py [--json FILE] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np

from ukctrl import Matrix, papers, pseudoinverse

printed = papers.pseudoinverses.printed_tables

SIZES = (5, 10, 20, 50, 100, 200)
LARGE = 50
"""Sizes from here on give the growth exponent."""
SAME = 1e-6
"""Largest Penrose residual of an answer that counts."""
BATCH = 0.02
"""Shortest time that is measured at once [s]."""


def jacobian(n: int) -> Matrix:
    """Return a well-conditioned matrix of the shape of a Jacobian with redundant rows."""
    rng = np.random.default_rng(n)
    m = 4 * n // 5
    rank = m - max(1, m // 10)
    left = np.linalg.qr(rng.standard_normal((m, m)))[0][:, :rank]
    right = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :rank]
    A: Matrix = (left * np.geomspace(1.0, 0.1, rank)) @ right.T
    return A


def microseconds(A: Matrix, method: pseudoinverse.MethodName, rounds: int) -> float:
    """Return the time of one pseudoinverse: the best of some rounds."""
    found = pseudoinverse.pinv(A, method)
    worst = pseudoinverse.penrose_residuals(A, found.matrix).worst
    if worst > SAME:
        raise SystemExit(
            f"'{method}' misses the Penrose conditions by {worst:.1e} at n = {len(A.T)}."
        )
    best, repeat = np.inf, 1
    for _ in range(rounds):
        while True:
            began = time.perf_counter()
            for _ in range(repeat):
                pseudoinverse.pinv(A, method)
            passed = time.perf_counter() - began
            if passed >= BATCH:
                break
            repeat *= 2
        best = min(best, passed / repeat)
    return 1e6 * best


def exponent(times: dict[int, float], begin: int) -> float:
    """Return ``p`` of a growth like ``n**p`` over the sizes from ``begin`` on."""
    sizes = [n for n in times if n >= begin]
    slope = np.polyfit(np.log(sizes), np.log([times[n] for n in sizes]), 1)[0]
    return float(slope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    matrices = {n: jacobian(n) for n in SIZES}
    measured = {}
    print(f"{'microseconds at n =':28s}" + "".join(f"{n:10d}" for n in SIZES) + "  exponent")
    for method in pseudoinverse.METHODS:
        times = {n: microseconds(A, method, options.rounds) for n, A in matrices.items()}
        growth = exponent(times, LARGE)
        measured[method] = {"microseconds": times, "exponent": growth}
        print(f"{method:28s}" + "".join(f"{t:10.1f}" for t in times.values()) + f"{growth:10.2f}")
    counted = {n: float(printed.svd(n, 4 * n // 5)) for n in SIZES}  # of the transpose: m <= n
    growth = exponent(counted, LARGE)
    kflops = "".join(f"{1e-3 * flops:10.1f}" for flops in counted.values())
    print(f"{'kflops of an SVD, counted':28s}{kflops}{growth:10.2f}")
    if options.json:
        measured["counted"] = {"flops": counted, "exponent": growth}
        options.json.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
