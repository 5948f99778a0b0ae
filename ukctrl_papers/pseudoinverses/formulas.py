"""The formulas of the paper, as printed and as they should be, put to the test."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg import qr

from ukctrl.core.arrays import Matrix
from ukctrl_papers import parallelogram
from ukctrl_papers.claim import Claim, bounded_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.motion import FORMS, Form, solve
from ukctrl_papers.pseudoinverse import METHODS, penrose_residuals, pinv

FORMULA_TOLERANCE = 1e-10
"""Largest residual of a formula that holds."""
EQUATIONS: dict[Form, str] = {
    "udwadia_kalaba": "31",
    "multiplier": "35",
    "partitioned": "41",
    "udwadia_phohomsiri": "43",
}
"""Our name of each equation of motion, and its number."""


def rank_deficient_matrix(m: int = 5, n: int = 4, rank: int = 2) -> Matrix:
    """Return a matrix of low rank whose first two columns are parallel."""
    rng = np.random.default_rng(1)
    A: Matrix = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    A[:, 1] = 2.0 * A[:, 0]
    return A


def claims() -> Iterator[Claim]:
    """Yield the pseudoinverse formulas, then the equations of motion on the linkage."""
    yield from _pseudoinverses()
    yield from _block_inverses()
    yield from _motion()
    yield from _linkage()


def _misprint(where: str, quantity: str, printed: float, corrected: float, note: str) -> Claim:
    return bounded_claim(
        where,
        quantity,
        printed,
        FORMULA_TOLERANCE,
        otherwise="differs: misprint",
        note=f"{note}: {bound_text(corrected, FORMULA_TOLERANCE)}",
    )


def _pseudoinverses() -> Iterator[Claim]:
    A = rank_deficient_matrix()
    (m, n), r = A.shape, 2
    Q, R, order = qr(A, pivoting=True)
    V, T = qr(R[:r].T)
    P = np.zeros((n, n))
    P[:, order] = V.T  # A = Q [L 0; 0 0] P with L = T'
    B = np.zeros((n, m))
    B[:r, :r] = np.linalg.inv(T[:r].T)
    yield _misprint(
        "eqs (12), (13)",
        "worst Penrose residual of P B+ Q'",
        penrose_residuals(A, P @ B @ Q.T).worst,
        penrose_residuals(A, P.T @ B @ Q.T).worst,
        "P in (12) has the rows P_1', P_2', so (13) needs P'; with it",
    )
    yield _misprint(
        "eqs (20), (21)",
        "worst Penrose residual of Varga's method without pivoting",
        penrose_residuals(A, _varga_as_printed(A, r)).worst,
        penrose_residuals(A, pinv(A, "varga").matrix).worst,
        "plain QR leaves no G_1 of full row rank when columns are dependent; with pivoting",
    )
    left_factor, right = pinv(A[:2]).matrix, pinv(A[2:3]).matrix  # shaped as the bracket and as b'
    yield Claim(
        where="Greville, step 3",
        what="the factors of [A+ - b' d] b' match",
        ours=f"{left_factor.shape} times {right.shape}",
        holds=left_factor.shape[1] == right.shape[0],
        otherwise="differs: misprint",
        note="the two parts are columns side by side; as such the worst residual is "
        f"{bound_text(penrose_residuals(A, pinv(A, 'greville').matrix).worst, FORMULA_TOLERANCE)}",
    )
    bordered = np.block([[np.eye(n), A.T], [A, np.zeros((m, m))]])
    sigma = np.linalg.svd(bordered, compute_uv=False)
    yield Claim(
        where="eq (18)",
        what="the bordered system has a solution for every unit vector",
        ours=f"smallest singular value below {bound_text(sigma[-1], FORMULA_TOLERANCE)}",
        holds=bool(sigma[-1] > FORMULA_TOLERANCE),
        otherwise="differs: claim does not hold",
        note="only for full row rank; minimum norm and least squares are needed together",
    )
    for method in METHODS:
        worst = penrose_residuals(A, pinv(A, method).matrix).worst
        yield bounded_claim(
            "eqs (1a) to (1d)",
            f"worst Penrose residual of our '{method}' at rank 2 of 4",
            worst,
            1e-8,
        )


def _varga_as_printed(A: Matrix, r: int) -> Matrix:
    U, G = qr(A)
    V, T = qr(G[:r].T)
    inner = np.zeros(A.T.shape)
    inner[:r, :r] = pinv(T[:r].T).matrix
    X: Matrix = V @ inner @ U.T
    return X


def _block_inverses() -> Iterator[Claim]:
    rng = np.random.default_rng(2)
    n, A = 6, rng.standard_normal((4, 2)) @ rng.standard_normal((2, 6))
    root = rng.standard_normal((n, n))
    M = root @ root.T
    K = np.block([[M, A.T], [A, np.zeros((4, 4))]])
    inverse = np.linalg.inv(M)
    S = pinv(A @ inverse @ A.T).matrix
    H = inverse @ A.T @ S
    formula_33 = np.block([[inverse - H @ A @ inverse, H], [H.T, -S]])
    residual = penrose_residuals(K, formula_33).worst
    yield bounded_claim(
        "eq (33)", "worst Penrose residual, A of rank 2 with 4 rows", residual, FORMULA_TOLERANCE
    )
    for words, mass in (("regular M", M), ("M of rank 4 of 6", root[:, :4] @ root[:, :4].T)):
        K = np.block([[mass, A.T], [A, np.zeros((4, 4))]])
        A_plus = pinv(A).matrix
        E = np.eye(n) - A_plus @ A
        Q = pinv(E @ mass @ E, rtol=1e-10).matrix
        R = mass @ A_plus
        first = np.block([[np.zeros((n, n)), A_plus], [A_plus.T, -A_plus.T @ R]])
        formula_40 = first + np.vstack([np.eye(n), -R.T]) @ Q @ np.hstack([np.eye(n), -R])
        residual = penrose_residuals(K, formula_40).worst
        yield bounded_claim(
            "eq (40)", f"worst Penrose residual, {words}", residual, FORMULA_TOLERANCE
        )


def _motion() -> Iterator[Claim]:
    theta, rate = math.radians(-45.0), 1.3
    system = parallelogram.linkage_arrays(theta, rate)
    exact = parallelogram.acceleration(theta, rate)
    for form, number in EQUATIONS.items():
        yield bounded_claim(
            f"eq ({number})",
            "largest error of the accelerations of the linkage, rank 11 of 12",
            solve(*system, form=form).a - exact,
            FORMULA_TOLERANCE,
            unit="m/s^2, rad/s^2",
            note=f"against the pendulum it is; {FORMS[form].source}",
        )
    M, F, A, gamma = system
    S, free = pinv(A @ np.linalg.solve(M, A.T), rtol=1e-12).matrix, np.linalg.solve(M, F)
    lam = S @ (gamma - A @ free)
    printed, opposite = (float(np.abs(M @ exact + s * A.T @ lam - F).max()) for s in (1.0, -1.0))
    yield _misprint(
        "eq (27)",
        "largest residual of (23) with this multiplier",
        printed,
        opposite,
        "the sign is opposite; with it",
    )


def _linkage() -> Iterator[Claim]:
    D = _mass_weighted_rows(math.radians(-45.0))
    ranks = {pinv(D, method).rank for method in METHODS}
    yield Claim(
        where="Simulation results",
        what="rank of the Jacobian by all eight methods",
        printed=11,
        ours=float(max(ranks)) if len(ranks) == 1 else str(sorted(ranks)),
    )
    yield Claim(
        where="Simulation results",
        what="rank where all links lie on one line",
        printed=11,
        ours=float(pinv(_mass_weighted_rows(0.0)).rank),
        otherwise="differs: claim does not hold",
        note="mobility 2 there; the eleventh singular value of the Jacobian goes to zero as "
        f"{eleventh_singular_value():.5f} |sin theta|",
    )


def eleventh_singular_value(theta: float = 1e-4) -> float:
    """Return the eleventh singular value of the Jacobian near alignment, over ``sin theta``."""
    A, _ = parallelogram.constraint_rows(*parallelogram.closed_configuration(theta))
    return float(np.linalg.svd(A, compute_uv=False)[10] / math.sin(theta))


def _mass_weighted_rows(theta: float) -> Matrix:
    A, _ = parallelogram.constraint_rows(*parallelogram.closed_configuration(theta))
    return A / np.sqrt(parallelogram.mass_diagonal())
