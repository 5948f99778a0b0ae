r"""What sections 3 and 4 state as equations, evaluated on a drawn system."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import null_space

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_papers import motion
from ukctrl_papers.claim import Claim, bounded_claim
from ukctrl_papers.motion import Hierarchy, Level
from ukctrl_papers.recursive.kalman_recursion import (
    COORDINATES,
    KalmanEstimate,
    RandomSystem,
    kalman_gain,
    measurement_update,
    random_system,
    single_stage,
)

ROUNDING_BOUND = 1e-11
"""Rounding on matrices of this size and condition."""
SYSTEM_NOTE = "Twelve coordinates, levels of 3, 4 and 2 rows, drawn."
INITIAL_COVARIANCE = np.eye(COORDINATES)


def projection_claims() -> Iterator[Claim]:
    """Section 3: which operators project the constraint forces away, and how they recur."""
    drawn = random_system()
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
        yield _equality_claim(
            f"prop. 3.1 {name}",
            "(3.4) with this operator, difference from the Lagrange equations",
            stacked_a - exact,
            SYSTEM_NOTE,
        )
    for redundant in (False, True):
        yield from _recurrences(random_system(redundant), redundant)


def _recurrences(drawn: RandomSystem, redundant: bool) -> Iterator[Claim]:
    suffix = ", with a redundant row" if redundant else ""
    S = np.eye(COORDINATES) - np.linalg.pinv(drawn.A[0]) @ drawn.A[0]
    G = kalman_gain(S, drawn.A[1])
    A = np.vstack(drawn.A[:2])
    projector = np.eye(COORDINATES) - G @ drawn.A[1]
    both = np.eye(COORDINATES) - np.linalg.pinv(A, rcond=1e-10) @ A
    miss = max(np.abs(projector @ S - both).max(), np.abs(projector @ S @ projector.T - both).max())
    yield _equality_claim("(3.10)", f"both recurrences of the projector{suffix}", miss)
    inverse = np.hstack([projector @ np.linalg.pinv(drawn.A[0]), G])
    first = np.abs(A @ inverse @ A - A).max()
    fourth = np.abs(inverse @ A - (inverse @ A).T).max()
    yield _equality_claim(
        "(3.13)", f"properties P1 and P4 of the inverse{suffix}", max(first, fourth)
    )
    third = float(np.abs(A @ inverse - (A @ inverse).T).max())
    if redundant:
        yield Claim(
            where="after (3.14)",
            what="asymmetry of A A^g where a row is redundant: (3.13) is no longer Moore-Penrose's",
            ours=third,
            holds=third > 1e-3,
        )


def recursion_claims() -> Iterator[Claim]:
    """Section 4: the Udwadia-Kalaba equation level by level, and the Kalman filter."""
    drawn = random_system()
    root, H, a_0 = drawn.mass_weighted()
    whole = single_stage(np.vstack(H), np.concatenate(drawn.b), a_0)
    A, b = np.vstack(drawn.A), np.concatenate(drawn.b)
    exact = motion.acceleration(drawn.M, drawn.Q, A, b, form="null_space")
    yield _equality_claim(
        "(4.9)",
        "Udwadia-Kalaba equation, difference from independent coordinates",
        root @ whole - exact,
        SYSTEM_NOTE,
    )
    yield _equality_claim(
        "(4.10)-(4.14)",
        "level by level and at one stroke",
        _stepwise_estimate(H, drawn.b, a_0).a - whole,
    )
    P = _stepwise_estimate(H[:2], drawn.b[:2], a_0).P
    K = kalman_gain(P, H[2], pseudo=False)
    projector = np.eye(COORDINATES) - K @ H[2]
    yield _equality_claim(
        "(4.15)", "the two expressions for P", projector @ P - projector @ P @ projector.T
    )
    yield _equality_claim(
        "(4.15)",
        "the second one without the star, no clearance",
        projector @ P @ projector - projector @ P,
    )
    next_P = projector @ P
    yield _equality_claim(
        "after (4.15)", "P symmetric and idempotent", np.stack([next_P @ next_P, next_P.T]) - next_P
    )
    yield _equality_claim("(4.16)", "gain by the inverse and by (H P)+", K - kalman_gain(P, H[2]))
    yield from _order_claims(drawn, H, a_0, whole)
    yield from _redundant()


def _order_claims(
    drawn: RandomSystem, H: Sequence[Matrix], a_0: Vector, whole: Vector
) -> Iterator[Claim]:
    orders = list(itertools.permutations(range(3)))
    spread = [
        _stepwise_estimate([H[i] for i in order], [drawn.b[i] for i in order], a_0).a - whole
        for order in orders
    ]
    yield _equality_claim("section 4", "the six orders of the levels", np.stack(spread))
    rows, right = np.vstack(H), np.concatenate(drawn.b)
    single = _stepwise_estimate(
        [row[None, :] for row in rows], [right[i : i + 1] for i in range(9)], a_0
    )
    yield _equality_claim("section 4", "one row a level", single.a - whole)


def _redundant() -> Iterator[Claim]:
    drawn = random_system(redundant=True)
    root, H, a_0 = drawn.mass_weighted()
    P = _stepwise_estimate(H[:2], drawn.b[:2], a_0).P
    inner = H[2] @ P @ H[2].T
    size = float(np.abs(inner).max() / np.abs(H[2] @ H[2].T).max())
    yield bounded_claim(
        "(4.16)",
        "nothing is left to invert where lower levels imply the rows, relative to H H*",
        size,
        ROUNDING_BOUND,
        note="So (4.16) needs new rows, as the paper says; K = (H P)+ does not.",
    )
    A, b = np.vstack(drawn.A), np.concatenate(drawn.b)
    exact = motion.acceleration(drawn.M, drawn.Q, A, b, form="null_space")
    redundant_a = root @ _stepwise_estimate(H, drawn.b, a_0).a
    yield _equality_claim("(4.14)", "with K = (H P)+ where rows are redundant", redundant_a - exact)
    hierarchy = Hierarchy.module(drawn.M, drawn.Q)
    for k, (rows, right) in enumerate(zip(drawn.A, drawn.b, strict=True), start=1):
        hierarchy = hierarchy.enforce(Level(f"level {k}", rows, right))
    yield _equality_claim("(4.14)", "ukctrl's hierarchy of these levels", hierarchy.a - exact)
    found_redundant = [len(finding.redundant) for finding in hierarchy.findings]
    yield Claim(
        where="section 3",
        what="rows of the three levels that follow from others",
        ours=", ".join(map(str, found_redundant)),
        holds=found_redundant == [0, 1, 2],
        note="As many were built in.",
    )


def _stepwise_estimate(H: Sequence[Matrix], b: Sequence[Vector], a_0: Vector) -> KalmanEstimate:
    estimate = KalmanEstimate(a_0, INITIAL_COVARIANCE)
    for rows, right in zip(H, b, strict=True):
        estimate = measurement_update(estimate, rows, right)
    return estimate


def _equality_claim(
    where: str, quantity: str, miss: Matrix | Vector | float, note: str = ""
) -> Claim:
    return bounded_claim(where, quantity, miss, ROUNDING_BOUND, note=note)
