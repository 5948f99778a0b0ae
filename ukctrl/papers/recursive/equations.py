r"""What sections 3 and 4 state as equations, evaluated on a drawn system."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import null_space

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics import motion
from ukctrl.mechanics.motion import Hierarchy, Level
from ukctrl.papers.claim import Claim, below
from ukctrl.papers.recursive.filter import (
    COORDINATES,
    Drawn,
    Estimate,
    gain,
    one_shot,
    step,
    system,
)

EXACT = 1e-11
"""Rounding on matrices of this size and condition."""
DRAWN = "Twelve coordinates, levels of 3, 4 and 2 rows, drawn."
START = np.eye(COORDINATES)


def projections() -> Iterator[Claim]:
    """Section 3: which operators project the constraint forces away, and how they recur."""
    drawn = system()
    A, b = np.vstack(drawn.A), np.concatenate(drawn.b)
    exact = motion.acceleration(drawn.M, drawn.Q, A, b, form="kkt")
    A_1 = np.linalg.pinv(A) + null_space(A) @ np.ones((COORDINATES - len(A), len(A)))
    rows = np.linalg.qr(A.T)[0].T
    operators = {
        "(i), orthogonal complement": null_space(A),
        "(ii), I - A^g A with a {1}-inverse": np.eye(COORDINATES) - A_1 @ A,
        "(iii), I - A^g A with a {1,4}-inverse": np.eye(COORDINATES) - np.linalg.pinv(A) @ A,
        "(iv), orthonormalised rows": np.eye(COORDINATES) - rows.T @ rows,
    }
    for name, S in operators.items():
        stacked = np.vstack([S.T @ drawn.M, A])
        stacked_a = np.linalg.lstsq(stacked, np.append(S.T @ drawn.Q, b), rcond=1e-10)[0]
        yield _same(
            f"prop. 3.1 {name}",
            "(3.4) with this operator, difference from the Lagrange equations",
            stacked_a - exact,
            DRAWN,
        )
    for redundant in (False, True):
        yield from _recurrences(system(redundant), redundant)


def _recurrences(drawn: Drawn, redundant: bool) -> Iterator[Claim]:
    what = ", with a redundant row" if redundant else ""
    S = np.eye(COORDINATES) - np.linalg.pinv(drawn.A[0]) @ drawn.A[0]
    G = gain(S, drawn.A[1])
    A = np.vstack(drawn.A[:2])
    left = np.eye(COORDINATES) - G @ drawn.A[1]
    both = np.eye(COORDINATES) - np.linalg.pinv(A, rcond=1e-10) @ A
    miss = max(np.abs(left @ S - both).max(), np.abs(left @ S @ left.T - both).max())
    yield _same("(3.10)", f"both recurrences of the projector{what}", miss)
    inverse = np.hstack([left @ np.linalg.pinv(drawn.A[0]), G])
    first = np.abs(A @ inverse @ A - A).max()
    fourth = np.abs(inverse @ A - (inverse @ A).T).max()
    yield _same("(3.13)", f"properties P1 and P4 of the inverse{what}", max(first, fourth))
    third = float(np.abs(A @ inverse - (A @ inverse).T).max())
    if redundant:
        yield Claim(
            where="after (3.14)",
            what="asymmetry of A A^g where a row is redundant: (3.13) is no longer Moore-Penrose's",
            ours=third,
            holds=third > 1e-3,
        )


def recursion() -> Iterator[Claim]:
    """Section 4: the Udwadia-Kalaba equation level by level, and the Kalman filter."""
    drawn = system()
    root, H, a_0 = drawn.mass_weighted()
    whole = one_shot(np.vstack(H), np.concatenate(drawn.b), a_0)
    A, b = np.vstack(drawn.A), np.concatenate(drawn.b)
    exact = motion.acceleration(drawn.M, drawn.Q, A, b, form="null_space")
    yield _same(
        "(4.9)",
        "Udwadia-Kalaba equation, difference from independent coordinates",
        root @ whole - exact,
        DRAWN,
    )
    yield _same(
        "(4.10)-(4.14)", "level by level and at one stroke", _levels(H, drawn.b, a_0).a - whole
    )
    P = _levels(H[:2], drawn.b[:2], a_0).P
    K = gain(P, H[2], pseudo=False)
    left = np.eye(COORDINATES) - K @ H[2]
    yield _same("(4.15)", "the two expressions for P", left @ P - left @ P @ left.T)
    yield _same(
        "(4.15)", "the second one without the star, no clearance", left @ P @ left - left @ P
    )
    next_P = left @ P
    yield _same(
        "after (4.15)", "P symmetric and idempotent", np.stack([next_P @ next_P, next_P.T]) - next_P
    )
    yield _same("(4.16)", "gain by the inverse and by (H P)+", K - gain(P, H[2]))
    yield from _orders(drawn, H, a_0, whole)
    yield from _redundant()


def _orders(drawn: Drawn, H: Sequence[Matrix], a_0: Vector, whole: Vector) -> Iterator[Claim]:
    orders = list(itertools.permutations(range(3)))
    spread = [
        _levels([H[i] for i in order], [drawn.b[i] for i in order], a_0).a - whole
        for order in orders
    ]
    yield _same("section 4", "the six orders of the levels", np.stack(spread))
    rows, right = np.vstack(H), np.concatenate(drawn.b)
    single = _levels([row[None, :] for row in rows], [right[i : i + 1] for i in range(9)], a_0)
    yield _same("section 4", "one row a level", single.a - whole)


def _redundant() -> Iterator[Claim]:
    drawn = system(redundant=True)
    root, H, a_0 = drawn.mass_weighted()
    P = _levels(H[:2], drawn.b[:2], a_0).P
    inner = H[2] @ P @ H[2].T
    size = float(np.abs(inner).max() / np.abs(H[2] @ H[2].T).max())
    yield below(
        "(4.16)",
        "nothing is left to invert where lower levels imply the rows, relative to H H*",
        size,
        EXACT,
        note="So (4.16) needs new rows, as the paper says; K = (H P)+ does not.",
    )
    A, b = np.vstack(drawn.A), np.concatenate(drawn.b)
    exact = motion.acceleration(drawn.M, drawn.Q, A, b, form="null_space")
    redundant_a = root @ _levels(H, drawn.b, a_0).a
    yield _same("(4.14)", "with K = (H P)+ where rows are redundant", redundant_a - exact)
    hierarchy = Hierarchy.module(drawn.M, drawn.Q)
    for k, (rows, right) in enumerate(zip(drawn.A, drawn.b, strict=True), start=1):
        hierarchy = hierarchy.enforce(Level(f"level {k}", rows, right))
    yield _same("(4.14)", "ukctrl's hierarchy of these levels", hierarchy.a - exact)
    found_redundant = [len(finding.redundant) for finding in hierarchy.findings]
    yield Claim(
        where="section 3",
        what="rows of the three levels that follow from others",
        ours=", ".join(map(str, found_redundant)),
        holds=found_redundant == [0, 1, 2],
        note="As many were built in.",
    )


def _levels(H: Sequence[Matrix], b: Sequence[Vector], a_0: Vector) -> Estimate:
    estimate = Estimate(a_0, START)
    for rows, right in zip(H, b, strict=True):
        estimate = step(estimate, rows, right)
    return estimate


def _same(where: str, what: str, miss: Matrix | Vector | float, note: str = "") -> Claim:
    return below(where, what, miss, EXACT, note=note)
