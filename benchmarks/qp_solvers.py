"""Time solvers on the quadratic programs of bounded motors; print a table.

Programs are random: limits on 4 to 36 motors, over all inputs or over a null space of them, with
a definite cost (the least input) or a semidefinite one (rows that cannot all be met). Every solver
is called as a control tick would call it, with its set-up. Those that are not installed are left
out; only daqp comes with ukctrl. Accuracy is the residual of the optimality conditions.

    python benchmarks/qp_solvers.py [--programs N]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csc_matrix

from ukctrl.core.algebra.active_set_qp import PROXIMAL, PROXIMAL_RTOL
from ukctrl.core.algebra.bounded_rows import FEASIBILITY_TOL
from ukctrl.core.arrays import Matrix, Vector

SIZES = ((4, 1), (7, 3), (12, 6), (18, 6), (36, 12))
"""Motors, and the dimension of the null space or the number of rows."""
NEAR = 1e-6
"""A bound nearer than this counts as active when optimality is judged."""


class Program(NamedTuple):
    """``min x'Px/2 + q'x`` with ``low <= C x <= high``."""

    P: Matrix
    q: Vector
    C: Matrix
    low: Vector
    high: Vector


def programs(nu: int, k: int, definite: bool, count: int) -> Iterator[Program]:
    """Yield feasible random programs."""
    rng = np.random.default_rng(nu)
    for _ in range(count):
        at = 1.2 * rng.standard_normal(nu)
        if definite:
            C = np.linalg.qr(rng.standard_normal((nu, k)))[0]
            inside, room = C @ (2.0 * rng.standard_normal(k)), 0.1 * rng.random((2, nu))
            low, high = (
                np.minimum(-1.0 - at, inside - room[0]),
                np.maximum(1.0 - at, inside + room[1]),
            )
            yield Program(np.eye(k), np.zeros(k), C, low, high)
        else:
            X, r = rng.standard_normal((k, nu)), 4.0 * rng.standard_normal(k)
            yield Program(X.T @ X, -X.T @ r, np.eye(nu), -1.0 - at, 1.0 - at)


def daqp(p: Program) -> Vector:
    """Solve by DAQP, with the settings of ukctrl."""
    import daqp

    sense = np.zeros(len(p.low), dtype=np.intc)
    proximal = 0.0 if len(p.q) < len(p.low) else PROXIMAL
    x, _, flag, _ = daqp.solve(
        p.P, p.q, p.C, p.high, p.low, sense,
        primal_tol=FEASIBILITY_TOL, eps_prox=proximal, eta_prox=PROXIMAL_RTOL,
    )  # fmt: skip
    return np.asarray(x) if flag > 0 else np.full(len(p.q), np.nan)


def quadprog(p: Program) -> Vector:
    """Solve by quadprog, which needs a definite cost."""
    import quadprog

    sides = np.ascontiguousarray(np.vstack([p.C, -p.C]).T)
    return np.asarray(quadprog.solve_qp(p.P, -p.q, sides, np.append(p.low, -p.high))[0])


def piqp(p: Program) -> Vector:
    """Solve by PIQP to 1e-11."""
    import piqp

    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel = 1e-11, 0.0
    none = np.zeros((0, len(p.q))), np.zeros(0)
    solver.setup(p.P, p.q, *none, p.C, p.low, p.high, None, None)
    solver.solve()
    return np.asarray(solver.result.x)


def clarabel(p: Program) -> Vector:
    """Solve by Clarabel to 1e-11."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    sides, right = csc_matrix(np.vstack([p.C, -p.C])), np.append(p.high, -p.low)
    cone = [clarabel.NonnegativeConeT(len(right))]
    solver = clarabel.DefaultSolver(csc_matrix(np.triu(p.P)), p.q, sides, right, cone, settings)
    return np.array(solver.solve().x)


SOLVERS: dict[str, Callable[[Program], Vector]] = {
    "daqp": daqp, "quadprog": quadprog, "piqp": piqp, "clarabel": clarabel,
}  # fmt: skip


def residual(p: Program, x: Vector) -> float:
    """Return how far ``x`` is from feasible and optimal."""
    inside = p.C @ x
    low, high = inside < p.low + NEAR, inside > p.high - NEAR
    active = np.vstack([p.C[low], -p.C[high]])
    gradient = p.P @ x + p.q
    rest = nnls(active.T, gradient)[1] if len(active) else np.linalg.norm(gradient)
    return float(max(rest, (p.low - inside).max(), (inside - p.high).max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=40)
    count = parser.parse_args().programs
    for definite in (True, False):
        for nu, k in SIZES:
            made = list(programs(nu, k, definite, count))
            for name, solve in SOLVERS.items():
                if importlib.util.find_spec(name) is None or (name == "quadprog" and not definite):
                    continue
                solve(made[0])
                times, worst = [], 0.0
                for p in made:
                    began = time.perf_counter()
                    x = solve(p)
                    times.append(time.perf_counter() - began)
                    worst = max(worst, residual(p, x))
                kind = "definite" if definite else "semidefinite"
                took = 1e6 * statistics.median(times)
                print(f"{nu:3d} motors  {kind:12s}  {name:9s} {took:8.1f} us  residual {worst:.0e}")


if __name__ == "__main__":
    main()
