"""Singular values, complements and inverses beside exact ones; which kernels call LAPACK."""

import ast
from pathlib import Path

import numpy as np
import pytest
import sympy

import ukctrl
from ukctrl.core.algebra.decompositions import (
    SVD,
    determinant,
    inverse,
    orthogonal_complement,
    svd,
)

KERNELS = {"compiled", "allocating", "deferred", "inlined", "with_python_entry",
           "python_entry_only"}  # fmt: skip
LAPACK = ("np.linalg.", "np.dot", "np.vdot", "np.convolve", "np.correlate")
"""What Numba hands over to BLAS and LAPACK."""


def random_matrix(seed):
    """Return a matrix whose rows and columns may be of very different lengths, or dependent."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(0 if seed % 7 == 0 else 1, 14, 2)
    if seed % 3 == 0:
        rank = rng.integers(0, min(m, n) + 1)
        return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    rows, columns = rng.integers(-8, 9, (m, 1)), rng.integers(-2, 3, (1, n))
    return rng.standard_normal((m, n)) * 10.0**rows * 10.0**columns


@pytest.mark.parametrize("seeds", [range(k, k + 100) for k in range(0, 400, 100)])
def test_singular_values_are_those_of_lapack_and_the_bases_are_whole(seeds):
    for seed in seeds:
        X = random_matrix(seed)
        U, sigma, Vt = svd(X)
        k = len(sigma)
        expected = np.linalg.svd(X, compute_uv=False) if X.size else np.zeros(k)
        exact = {"rtol": 0.0, "atol": 1e-14 * expected.max(initial=1e-300)}
        np.testing.assert_allclose(sigma, expected, **exact, err_msg=str(seed))
        np.testing.assert_allclose(U[:, :k] * sigma @ Vt[:k], X, **exact, err_msg=str(seed))
        np.testing.assert_allclose(U.T @ U, np.eye(len(X)), atol=1e-14, err_msg=str(seed))
        np.testing.assert_allclose(Vt @ Vt.T, np.eye(X.shape[1]), atol=1e-14, err_msg=str(seed))
        assert (np.diff(sigma) <= 0.0).all(), seed


def test_rows_that_change_places_are_looked_at_once_more():
    """The second row is across both others, which are not across each other."""
    X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
    U, sigma, Vt = svd(X)
    np.testing.assert_allclose(sigma, np.linalg.svd(X, compute_uv=False), rtol=1e-14)
    np.testing.assert_allclose(U * sigma @ Vt, X, atol=1e-14)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(3), atol=1e-14)


def test_small_singular_values_of_rows_of_unlike_lengths_keep_their_digits():
    """Of rows a and 1e-12 b the product of both is exact by Gram's determinant, in rationals."""
    a, b = sympy.Matrix([[3, 1, 2]]), sympy.Matrix([[1, -2, 4]])
    X = sympy.Matrix.vstack(a, b / 10**12)
    area = sympy.sqrt((X * X.T).det())
    largest = sympy.sqrt(max((X * X.T).eigenvals(), key=lambda value: sympy.N(value, 60)))
    smallest = float(sympy.N(area / largest, 40))
    ours = svd(np.array(X.tolist(), dtype=float)).sigma[1]
    assert abs(ours - smallest) <= 4e-16 * smallest


@pytest.mark.parametrize(
    "X", [np.full((2, 3), 1e307), np.full((3, 2), 1e-310), np.diag([1e200, 1e-200]),
          np.array([[1.0, 1e-170], [0.0, 1e-250]])])  # fmt: skip
def test_sizes_at_the_borders_of_numbers_neither_overflow_nor_vanish(X):
    U, sigma, Vt = svd(X)
    assert np.isfinite(sigma).all()
    np.testing.assert_allclose(sigma[0], np.linalg.svd(X, compute_uv=False)[0], rtol=1e-14)
    np.testing.assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-15)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(len(Vt)), atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_of_what_is_not_finite_all_is_no_number(bad):
    X = np.eye(3)
    X[1, 2] = bad
    answer = svd(X)
    assert isinstance(answer, SVD)
    assert all(np.isnan(part).all() for part in answer)


@pytest.mark.parametrize("seed", range(20))
def test_inverses_determinants_and_complements_are_what_they_are_called(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    X = rng.standard_normal((n, n))
    exact = sympy.Matrix(n, n, [sympy.Rational(x) for x in X.ravel().tolist()])
    size = np.linalg.cond(X)
    by_hand = np.array(exact.inv().tolist(), dtype=float)
    error = np.abs(inverse(X) - by_hand).max()
    assert error <= 1e-14 * size * np.abs(by_hand).max()
    assert abs(determinant(X) - float(exact.det())) <= 1e-14 * size * abs(float(exact.det()))
    Q = np.linalg.qr(rng.standard_normal((n + 2, n)))[0].T
    both = np.vstack([Q, orthogonal_complement(np.ascontiguousarray(Q)).T])
    np.testing.assert_allclose(both @ both.T, np.eye(n + 2), atol=1e-14)


def test_the_determinant_of_a_singular_matrix_is_nought():
    assert determinant(np.array([[1.0, 2.0], [2.0, 4.0]])) == 0.0


def lapack_calls(text):
    """Yield the kernels of a module that call BLAS or LAPACK."""
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        if KERNELS.isdisjoint(getattr(one, "id", "") for one in function.decorator_list):
            continue
        for node in ast.walk(function):
            is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if is_product or called.startswith(LAPACK):
                yield f"{function.name}: {ast.unparse(node)}"


def test_no_kernel_calls_lapack_which_no_exported_controller_has():
    root = Path(ukctrl.__file__).parents[1]
    texts = {
        path.relative_to(root): path.read_text()
        for package in root.glob("ukctrl*")
        for path in package.rglob("*.py")
    }
    found = {path: calls for path, text in texts.items() if (calls := list(lapack_calls(text)))}
    assert not found
    example = "@compiled\ndef f(x):\n    return np.linalg.norm(x) + x @ x\n"
    assert len(list(lapack_calls(example))) == 2
