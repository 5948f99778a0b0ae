"""Random truth: what ukctrl computes of random systems, beside fifty digits.

    python tests/truth/truth.py                        # 2,000 systems, two processes
    python tests/truth/truth.py --count 200 --seed 7
    python tests/truth/truth.py --again 7:123          # one of them, number by number

Every system is a robot built from text: a tree, a floating base, a linkage, with closures, doubled
ones, motors of any number. Compared are the acceleration under some input, the reaction, the
multipliers, and the least-norm input of some rows, of the objects that a run uses and of
`ukctrl.uk`. A decision about rank is the library's own and never repeated here: it is read from the
answer, and judged by singular values of fifty digits. Errors are counted in what the rounding of
the arrays explains, so that one bound serves all.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import mpmath as mp
import numpy as np
from exact import DIGITS, ROUNDING, Exact, Matrix, Vector
from systems import KINDS, System, draw

from ukctrl import Task, uk
from ukctrl.control import LeastNorm
from ukctrl.core.algebra.row_space import BLEND_FACTOR
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.mechanics.constraints import Rows

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
EXPLAINED = {"acceleration": 10.0, "reaction": 10.0, "least norm": 1e3, "multipliers": 1e4}
"""An error may be so many times what one rounding of the data makes of the answer. Multipliers come
from normal equations, which square how alike the rows are once more."""
CLEAR = 10.0
"""A decision within this factor of where it turns is listed."""
BLIND = 1e-14
"""A grip below this is rounding of the arrays themselves, whatever the library takes it for."""
FIRM = 1e-6
"""A grip above this must be served."""


class Passive(NamedTuple):
    """Passive rows ``A a = b``."""

    A: Matrix
    b: Vector


class Verdict(NamedTuple):
    """What came of one system."""

    number: int
    kind: str
    errors: dict[str, float]
    """What was compared, each error in what rounding explains."""
    decisions: tuple[str, ...] = ()
    """Decisions about rank that were close, or that could have fallen otherwise."""
    faults: tuple[str, ...] = ()
    """Disagreements."""


def judge(number: int, seed: int) -> Verdict:
    """Compare one system with its exact counterpart."""
    system = draw(number, seed)
    with mp.workdps(DIGITS):
        return _Judge(number, system).verdict()


class _Judge:
    def __init__(self, number: int, system: System) -> None:
        self.number, self.system, self.dynamics = number, system, system.dynamics
        s, passive = self.dynamics.snapshot, self.dynamics.passive.rows
        self.M, self.Q, self.B = s.M.copy(), s.f - s.nle, s.B.copy()
        self.passive = Passive(passive.A.copy(), passive.b.copy())
        self.exact = Exact(self.M, self.Q, self.B, self.passive, self.dynamics.passive_rank)
        self.L = np.linalg.cholesky(self.M)
        size = np.sqrt(self.M.diagonal())
        self.stiff = float(np.linalg.cond(self.M / np.outer(size, size)))
        self.errors: dict[str, float] = {}
        self.decisions = [f"a state with {each:.1e} is refused" for each in system.refused]
        self.faults: list[str] = []
        if max(system.refused, default=0.0) > BLEND_FACTOR * self.dynamics.rank.passive:
            self.faults.append(f"true rows are called contradictory: {self.decisions}")

    def verdict(self) -> Verdict:
        try:
            if self._passive_rank_is_clear():
                self._compare_motion()
                self._compare_input()
        except UkctrlError as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        for what, error in self.errors.items():
            if not error <= EXPLAINED[what.removesuffix(" (uk)")]:
                self.faults.append(f"{what} is off by {error:.1e} times what rounding explains")
        return Verdict(
            self.number, self.system.kind, self.errors, tuple(self.decisions), tuple(self.faults)
        )

    def _passive_rank_is_clear(self) -> bool:
        """Return whether directions count fully or not at all; note those that hardly do."""
        sigma, rank = self.exact.rows.sigma, self.dynamics.passive_rank
        begins = self.dynamics.rank.passive
        kept, left = sigma[:rank], sigma[rank:]
        self.weakest = float(kept.min(initial=1.0))
        self.alike = not (left > ROUNDING).any() and self.weakest > BLEND_FACTOR * uk.RANK.passive
        if (left > BLEND_FACTOR * begins).any() or (kept < begins / BLEND_FACTOR).any():
            self.faults.append(f"rank of the passive rows is {rank}, of singular values {sigma}")
        for value in sigma[(sigma > ROUNDING) & (sigma < CLEAR * BLEND_FACTOR * begins)].tolist():
            how = "left out" if value in left else "counted"
            partly = begins < value < BLEND_FACTOR * begins
            told = "counted in part" if partly else how
            self.decisions.append(f"passive rows, singular value {value:.1e}: {told}")
        return not ((sigma > begins / CLEAR) & (sigma < BLEND_FACTOR * begins)).any()

    def _compare_motion(self) -> None:
        u, dynamics = self.system.u, self.dynamics
        a, reaction, lam = self.exact.motion(u)
        pushed = np.linalg.solve(self.L, self.Q + self.B @ u)
        size = np.linalg.norm(pushed) + np.linalg.norm(self.L.T @ a) + self._asked()
        self.unit = unit = EPS * self.stiff * size / self.weakest
        found = dynamics.acceleration(u)
        self.errors["acceleration"] = _norm(self.L.T @ (found - a)) / unit
        if self.alike:
            arrays = uk.affine_acceleration(self.M, self.Q, self.B, *self.passive)
            error = self.L.T @ (arrays.a_free + arrays.G @ u - a)
            self.errors["acceleration (uk)"] = _norm(error) / unit
        if not len(self.passive.A):
            return
        force = dynamics.passive_force(found, u)
        self.errors["reaction"] = _norm(np.linalg.solve(self.L, force - reaction)) / unit
        if self.alike:
            other = uk.reaction(self.M, self.Q + self.B @ u, *self.passive).force
            self.errors["reaction (uk)"] = _norm(np.linalg.solve(self.L, other - reaction)) / unit
        # A multiplier acts by its row's length; how unlike the rows are, multiplies its error.
        length, heard = self._lengths()
        unlike = length[heard].max() / length[heard].min()
        error = ((dynamics.reactions(force) - lam) * length)[heard]
        self.errors["multipliers"] = _norm(error) / (unit * unlike / self.weakest)

    def _lengths(self) -> tuple[Vector, Vector]:
        """Return the mass-weighted lengths of the passive rows, and which are not rounding."""
        length = np.linalg.norm(np.linalg.solve(self.L, self.passive.A.T), axis=0)
        return length, length > ROUNDING * length.max(initial=0.0)

    def _asked(self) -> float:
        """Return how large the passive rows' right-hand side is, as a mass-weighted length."""
        length, heard = self._lengths()
        return _norm(self.passive.b[heard] / length[heard])

    def _compare_input(self) -> None:
        A, b, u0, weights = self.system.A, self.system.b, self.system.u0, self.system.weights
        self.exact.respond()
        H = self.exact.grip(A)
        rows = np.linalg.solve(self.L, A.T)
        length = np.linalg.norm(rows, axis=0)
        alone = np.linalg.norm(np.linalg.solve(self.L, self.B), axis=0)
        answer = self._answer()
        pushed = H / np.outer(length, np.maximum(alone, TINY))
        if not self._grip_allows(rows / length, pushed, answer is not None):
            return
        u = self.exact.least_input(A, b, weights, u0)
        terms = np.abs(b) + length * (alone @ np.abs(u) + self.unit / EPS)
        spread = np.sqrt(weights.max() / weights.min()) * self.stiff / self.weakest
        unit = EPS * (spread * _norm(np.abs(np.linalg.pinv(H, rcond=0.0)) @ terms) + _norm(u))
        self.errors["least norm"] = _norm(answer - u) / unit
        if not self.alike:
            return
        arrays = uk.affine_acceleration(self.M, self.Q, self.B, *self.passive)
        with contextlib.suppress(InfeasibleConstraint):
            other = uk.servo_input(A, b, *arrays, R=np.diag(weights), u0=u0, M=self.M, B=self.B)
            self.errors["least norm (uk)"] = _norm(other - u) / unit

    def _answer(self) -> Vector | None:
        """Return the input that a law's allocation gives; None where it refuses the rows."""
        A, dynamics, u0 = self.system.A, self.dynamics, self.system.u0
        names = tuple(f"row {i}" for i in range(len(A)))
        q, v = dynamics.snapshot.q, dynamics.snapshot.v
        metric = tuple(map(tuple, np.diag(self.system.weights).tolist()))
        task = Task(robot=dynamics.robot, servo=(), q=q, v=v)
        allocator = LeastNorm(metric=metric).attach(task, names)
        demand = self.system.b - A @ (dynamics.G @ u0)  # of what is added to u0
        still = np.zeros(len(A))
        try:
            return u0 + allocator.input(Rows(A, demand, still, still), demand, dynamics)
        except InfeasibleConstraint:
            return None

    def _grip_allows(self, rows: Matrix, pushed: Matrix, served: bool) -> bool:
        """Note which way a decision about grip fell, a fault where it was clear.

        The grip is the least that motors do along a direction which the rows span, as a fraction
        of what they would were the robot free, in lengths measured by the mass matrix. Returns
        whether the rows are served and can be compared.

        Args:
            rows: Mass-weighted rows of unit length as columns, shape ``(nv, m)``.
            pushed: What unit pushes of the motors do to them, shape ``(m, nu)``.
            served: Whether an input was given.
        """
        _, sigma, Vt = np.linalg.svd(rows, full_matrices=False)
        grip = 0.0
        if sigma[-1] > BLIND and len(pushed) <= min(len(rows), self.B.shape[1]):
            along = (Vt @ pushed) / sigma[:, None]
            grip = float(np.linalg.svd(along, compute_uv=False)[-1])
        if BLIND < grip < FIRM:
            self.decisions.append(f"grip {grip:.1e} {'served' if served else 'refused'}")
        if served and grip < BLIND:
            self.faults.append(f"rows whose grip is {grip:.1e}, rounding, are served")
        if not served and grip > FIRM:
            self.faults.append(f"rows are refused whose grip is {grip:.1e}")
        return served and grip > BLIND


def _norm(x: Vector) -> float:
    return float(np.linalg.norm(x))


def report(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the whole in lines: errors by kind, decisions, faults."""
    lines = [f"{len(verdicts)} systems; errors in what rounding explains, at most:"]
    names = list(dict.fromkeys(name for one in verdicts for name in one.errors))
    for kind in KINDS:
        mine = [one for one in verdicts if one.kind == kind]
        worst = {
            name: max((one.errors[name] for one in mine if name in one.errors), default=np.nan)
            for name in names
        }
        told = ", ".join(f"{name} {value:.2g}" for name, value in worst.items() if value == value)
        lines.append(f"{kind:18} {len(mine):5}   {told}")
    close = [(one.number, text) for one in verdicts for text in one.decisions]
    lines.append(f"{len(close)} decisions near a threshold:")
    lines += [f"  {number}: {text}" for number, text in close]
    wrong = [(one.number, text) for one in verdicts for text in one.faults]
    lines.append(f"{len(wrong)} disagreements:")
    lines += [f"  {number}: {text}" for number, text in wrong]
    return lines


def main() -> int:
    """Judge the systems that were asked for; return 1 where something disagrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", help="SEED:NUMBER of one system")
    chosen = parser.parse_args()
    if chosen.again:
        seed, number = map(int, chosen.again.split(":"))
        print("\n".join(report([judge(number, seed)])))
        return 0
    start = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool:
        numbers = range(chosen.count)
        verdicts = list(pool.map(judge, numbers, [chosen.seed] * chosen.count, chunksize=10))
    print("\n".join(report(verdicts)))
    print(f"{time.monotonic() - start:.0f} s")
    return int(any(one.faults for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
