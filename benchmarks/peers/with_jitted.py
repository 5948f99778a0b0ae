"""The script, its algebra compiled by numba: Cholesky factors and linear systems, no ``pinv``.

With ``M = L L'``, what the paper writes with the root of M is the same with L.
"""

from __future__ import annotations

import numba
import numpy as np
from protocol import Case, Contestant, serve
from with_script import Script, contestant
from with_script import versions as script_versions

jitted = numba.njit(cache=True, error_model="numpy")
NONE = np.zeros((0, 0)), np.zeros(0)


@jitted
def least(X, r):
    """Return the least ``x`` of ``X x = r``, rows independent."""
    return X.T @ np.linalg.solve(X @ X.T, r)


@jitted
def resolved(M, nle, A, b, wish):
    a = wish + least(A, b - A @ wish)
    return M @ a + nle, a


@jitted
def gauss(M, nle, A, b, u):
    L = np.linalg.cholesky(M)
    X = np.ascontiguousarray(np.linalg.solve(L, A.T).T)  # A L^-T
    a = np.linalg.solve(L, u - nle)
    return u + L @ least(X, b - X @ a)


@jitted
def effort(M, nle, B, A, b, A_p, b_p):
    n, m = B.shape
    right = np.empty((n, 1 + m + len(A_p)))
    right[:, 0], right[:, 1 : 1 + m] = -nle, B
    if len(A_p):
        right[:, 1 + m :] = A_p.T
    answer = np.linalg.solve(M, right)
    a, G = answer[:, 0].copy(), np.ascontiguousarray(answer[:, 1 : 1 + m])
    if len(A_p):
        back = np.ascontiguousarray(answer[:, 1 + m :])
        inertia = A_p @ back
        a += back @ np.linalg.solve(inertia, b_p - A_p @ a)
        G -= back @ np.linalg.solve(inertia, A_p @ G)
    u = least(A @ G, b - A @ a)
    return u, a + G @ u


class Jitted(Script):
    """The controller of a case."""

    def resolved(self, M, nle, A, b, wish):
        return resolved(tidy(M), nle, tidy(A), b, wish)

    def gauss(self, M, nle, A, b, u):
        return gauss(tidy(M), nle, tidy(A), b, u), None

    def effort(self, M, nle, A, b, A_p, b_p):
        A_p, b_p = NONE if A_p is None else (tidy(A_p), b_p)
        return effort(tidy(M), nle, self.B, tidy(A), b, A_p, b_p)


def tidy(X):
    """Return a matrix row by row in memory."""
    return np.ascontiguousarray(X)


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    return contestant(case, Jitted(case))


def versions() -> str:
    """Return what ran."""
    return f"{script_versions()}, numba {numba.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
