"""Time the equations of motion and the pseudoinverses; print tables, write JSON and a figure.

Everything runs in this process on one core, in turn, round by round; a ratio is the median of the
rounds' ratios. Before anything is timed, all must give the same accelerations.

    python benchmarks/formulations.py [--json FILE] [--rounds N] [--page]

`--page` also writes the tables and the figure into docs/reference.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from page import DOCS, write_tables
from scipy.linalg import pinv, sqrtm

from ukctrl.core.algebra import dynamics_kernels
from ukctrl.core.algebra.gram_factor import gram_factor_buffers
from ukctrl.core.arrays import Array
from ukctrl_papers import motion, parallelogram
from ukctrl_papers.motion.equation_forms import inverse_by
from ukctrl_papers.pseudoinverse import METHODS

Work = Callable[[], Array]
SIZES = (5, 10, 20, 50, 100, 200, 400)
ASYMPTOTIC = 100
"""The growth exponent is fitted from this size on."""
LOOPS = (1, 2, 5, 10, 20, 40)
RTOL = 1e-7
SAME = 1e-7
"""Largest relative difference of two answers that count as the same."""
LONG_ENOUGH = 0.01
"""Shortest time that is measured at once [s]."""
TOO_LONG = 1.0
"""A single call beyond this is measured once [s]."""
MARKS = (1, 10, 100, 1_000, 10_000, 100_000)
"""Marks of the time axis [us]."""
KERNEL = "compiled kernel"
CHECKED, SCRIPT = "solve(), with its checks", "script: sqrtm, pinv"


class System(NamedTuple):
    """Arrays as a form wants them: unit masses on the diagonal, rows of unit length."""

    M: Array
    Q: Array
    A: Array
    b: Array


def scaled(M: Array, Q: Array, A: Array, b: Array) -> System:
    s = 1.0 / np.sqrt(M.diagonal())
    length = np.linalg.norm(A * s, axis=1)
    rows = np.ascontiguousarray(A * s / length[:, None])
    return System(M * s * s[:, None], s * Q, rows, b / length)


def drawn(n: int, redundant: bool = True) -> System:
    """Return a full system: half as many independent rows as coordinates, and a fifth more."""
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n))
    Q, A = rng.standard_normal(n), rng.standard_normal((n // 2, n))
    if redundant:
        A = np.vstack([A, rng.standard_normal((max(1, n // 10), n // 2)) @ A])
    return scaled(root @ root.T + n * np.eye(n), Q, A, A @ np.ones(n))


def linkage(loops: int, redundant: bool = True) -> System:
    """Return parallelograms side by side, with or without the row that each link has too many."""
    M, Q, A, b = parallelogram.linkage_arrays(-0.8, 1.0, loops)
    too_many = [] if redundant else [2 * (loops + 1 + i) + 1 for i in range(2, loops + 1)]
    keep = np.setdiff1d(np.arange(len(b)), too_many)
    return scaled(M, Q, A[keep], b[keep])


def equation(form: motion.Form, system: System, method: str = "svd") -> Work:
    call, inverse = motion.FORMS[form].equation, inverse_by(method)
    return lambda: call(*system, inverse, RTOL)


def kernel(system: System) -> Work:
    n = len(system.Q)
    a, b = np.empty(n), np.vstack([system.b, np.zeros(len(system.b))])
    pushed = dynamics_kernels.EquationOfMotion(system.M, np.zeros(n), system.Q, np.zeros((n, 0)))
    passive = dynamics_kernels.PassiveRows(system.A, b, RTOL, np.empty(n), np.empty(2))
    answer = dynamics_kernels.AccelerationMap(np.empty((n, n)), a, np.empty((n, 0)), np.empty(0))
    none = np.empty((0, n)), np.empty(0), gram_factor_buffers(n, len(system.b))

    def work() -> Array:
        dynamics_kernels.constrained_acceleration(pushed, passive, answer, *none)
        return a

    return work


def script(system: System) -> Work:
    def work() -> Array:
        M, Q, A, b = system
        root = np.linalg.inv(sqrtm(M).real)
        free = np.linalg.inv(M) @ Q
        return free + root @ pinv(A @ root, rtol=RTOL) @ (b - A @ free)

    return work


def forms(system: System, independent: System) -> dict[str, Work]:
    """Return what is compared: every form, the kernel, the checked call, a user's script."""
    works = {KERNEL: kernel(system)}
    for form, card in motion.FORMS.items():
        works[form] = equation(form, independent if card.independent else system)
    works[CHECKED] = lambda: motion.acceleration(*system, form="kkt")
    works[SCRIPT] = script(system)
    return works


def seconds(work: Work) -> float:
    """Return the seconds of one call."""
    began = time.perf_counter()
    work()
    once = time.perf_counter() - began
    repeat = max(1, round(LONG_ENOUGH / max(once, 1e-7)))
    if once > TOO_LONG or repeat == 1:
        return once
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - began) / repeat


def side_by_side(works: dict[str, Work], rounds: int) -> dict[str, dict[str, float]]:
    """Time all in turn; return median seconds, and the median ratio to the first."""
    answers = {name: work().copy() for name, work in works.items()}
    first = next(iter(works))
    for name, a in answers.items():
        worst = float(np.abs(a - answers[first]).max() / np.abs(answers[first]).max())
        if not worst <= SAME:
            raise SystemExit(f"'{name}' differs from '{first}' by {worst:.1e}; nothing to compare.")
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {
        name: {
            "seconds": statistics.median(own),
            "ratio": statistics.median(a / b for a, b in zip(own, times[first], strict=True)),
        }
        for name, own in times.items()
    }


def growth(sizes: list[int], times: list[float]) -> float:
    """Return p of time ~ n^p, fitted over the larger sizes."""
    large = [(np.log(n), np.log(t)) for n, t in zip(sizes, times, strict=True) if n >= ASYMPTOTIC]
    return float(np.polyfit(*np.transpose(large), 1)[0])


Table = dict[str, dict[str, dict[str, float]]]


def measure(rounds: int) -> dict[str, Table]:
    """Return seconds and ratios, by table, size or form, and name."""
    few = max(3, rounds // 2)
    inverting = [form for form, card in motion.FORMS.items() if card.inverts]
    return {
        "forms": {
            str(n): side_by_side(forms(drawn(n), drawn(n, redundant=False)), rounds) for n in SIZES
        },
        "linkage": {
            str(3 * loops + 6): side_by_side(
                forms(linkage(loops), linkage(loops, redundant=False)), few
            )
            for loops in LOOPS
        },
        "pseudoinverses": {
            str(n): side_by_side({m: equation("udwadia_kalaba", drawn(n), m) for m in METHODS}, few)
            for n in SIZES
        },
        "both": {
            form: side_by_side({m: equation(form, drawn(20), m) for m in METHODS}, few)
            for form in inverting
        },
    }


def per_second(seconds: float) -> str:
    """Return ``1 / seconds`` with three digits, thousands apart."""
    rate = 1.0 / seconds
    return f"{float(f'{rate:.3g}'):,.0f}".replace(",", " ")


def markdown(table: Table, exponents: bool) -> str:
    """Return accelerations per second, one name a line, one size a column."""
    sizes, names = list(table), list(next(iter(table.values())))
    head = ["", *sizes, *(["grows as"] if exponents else [])]
    lines = [head, ["---"] * len(head)]
    for name in names:
        times = [table[size][name]["seconds"] for size in sizes]
        cells = [per_second(t) for t in times]
        if exponents:
            cells.append(f"$n^{{{growth([int(size) for size in sizes], times):.1f}}}$")
        lines.append([name if " " in name or ":" in name else f"`{name}`", *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratios(table: Table) -> str:
    """Return the times relative to the first name, in the same rounds."""
    names = list(next(iter(table.values())))
    lines = [["n", *table], ["---"] * (len(table) + 1)]
    for name in names[1:]:
        label = name if " " in name or ":" in name else f"`{name}`"
        lines.append([label, *(f"{table[size][name]['ratio']:.2g}" for size in table)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def draw(measured: dict[str, Table], target: Path) -> None:
    """Draw time over size, of the forms and of the pseudoinverses."""
    from matplotlib.figure import Figure

    from ukctrl.reports.plot import style

    with style.report_style():
        figure = Figure(figsize=(9.6, 4.4), dpi=110, facecolor="white", layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for ax, key in zip(axes, ("forms", "pseudoinverses"), strict=True):
            table = measured[key]
            n = np.array([int(size) for size in table])
            for k, name in enumerate(next(iter(table.values()))):
                times = np.array([table[size][name]["seconds"] for size in table])
                color = style.INK if name == KERNEL else style.PALETTE[k % len(style.PALETTE)]
                dash = style.DASHES[k // len(style.PALETTE)]
                ax.loglog(n, 1e6 * times, dash, color=color, marker=".", label=name)
            ax.loglog(n[-3:], 2e-5 * n[-3:] ** 3.0, ":", color=style.MUTED, label="slope 3")
            ax.set_xlabel("coordinates")
            ax.set_xticks(n, [str(size) for size in n])
            ax.set_yticks(MARKS, [f"{mark:,}".replace(",", " ") for mark in MARKS])
            ax.minorticks_off()
            ax.legend(fontsize=7)
        axes[0].set_ylabel("time of one acceleration [µs]")
        axes[0].set_title("equations of motion")
        axes[1].set_title("pseudoinverses, in (31)")
        target.parent.mkdir(exist_ok=True)
        figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})


def on_one_core() -> None:
    """Start over with linear algebra on one core, which it must know before it is loaded."""
    one = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    if any(os.environ.get(name) != value for name, value in one.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **one})


def main() -> None:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", action="store_true", help="also write into docs/reference")
    options = parser.parse_args()
    on_one_core()
    measured = measure(options.rounds)
    texts = {
        "forms": markdown(measured["forms"], exponents=True),
        "ratios": ratios(measured["forms"]),
        "linkage": markdown(measured["linkage"], exponents=False),
        "pseudoinverses": markdown(measured["pseudoinverses"], exponents=True),
        "both": markdown(measured["both"], exponents=False),
    }
    for name, text in texts.items():
        print(f"{name}\n\n{text}\n")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n")
    if options.page:
        write_tables(texts)
        draw(measured, DOCS / "figures" / "formulations.png")


if __name__ == "__main__":
    main()
