"""What robots with many freedoms use gives what the compiled loops give."""

import numpy as np
import pytest

from ukctrl.core.algebra import kernels, kernels_large, least_input

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
SIZE = 60
WEAK = {"weak": 1e-7, "weak, alike": 1e-12}
"""How far apart two rows are whose only common motor has a hundred-thousandth of its grip."""


def answers(module, M, nle, B):
    n, nu = B.shape
    L, a_free, G = np.zeros((n, n)), np.zeros(n), np.zeros((n, nu))
    return module.plain_answer(M, nle, np.ones(n), B, L, a_free, G), L, a_free, G


def mass(rng, separate):
    S = rng.standard_normal((SIZE, SIZE))
    return np.diag(rng.uniform(1.0, 3.0, SIZE)) if separate else S @ S.T + SIZE * np.eye(SIZE)


@pytest.mark.parametrize("separate", [True, False])
def test_the_answer_without_passive_rows_is_the_same(separate):
    rng = np.random.default_rng(0)
    given = mass(rng, separate), rng.standard_normal(SIZE), rng.standard_normal((SIZE, 20))
    for ours, theirs in zip(answers(kernels_large, *given), answers(kernels, *given), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_a_mass_matrix_that_is_not_positive_definite_is_found():
    M = np.eye(SIZE)
    M[3, 3] = -1.0
    given = M, np.zeros(SIZE), np.eye(SIZE)
    assert answers(kernels_large, *given)[0] == answers(kernels, *given)[0] == -4
    M[3, 3], M[3, 4], M[4, 3] = 1.0, 2.0, 2.0
    assert answers(kernels_large, *given)[0] == answers(kernels, *given)[0] == -5


def inputs(module, A, b, G, R, u0):
    u, miss = np.empty(G.shape[1]), np.empty(len(b))
    a_free = np.linspace(-1.0, 1.0, A.shape[1])
    L = np.eye(A.shape[1])
    return module.servo_input(A, b, a_free, G, L, G, R, u0, 1e-9, u, miss), u, miss


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("rows", ["dense", "identity", "dependent", "without grip", *WEAK])
def test_the_servo_input_is_the_same(rows, metric):
    rng = np.random.default_rng(1)
    m = SIZE // 2
    A = np.eye(m, SIZE) if rows == "identity" else rng.standard_normal((m, SIZE))
    b = rng.standard_normal(m)
    G = np.diag(rng.uniform(0.5, 2.0, SIZE))
    if rows == "dependent":
        A[-1], b[-1] = A[0], b[0]
    if rows == "without grip":
        A[:, -1], A[-1] = 0.0, 0.0
        A[-1, -1], G[-1, -1] = 1.0, 0.0
    if rows in WEAK:
        A[:, -1], A[-1], G[-1, -1] = 0.0, 0.0, 1e-5
        A[-1, -1] = A[0, -1] = 1.0
        A[0, :-1] *= WEAK[rows]
    S = rng.standard_normal((SIZE, SIZE))
    R = S @ S.T + SIZE * np.eye(SIZE) if metric else np.zeros((0, 0))
    given = A, b, G, R, rng.standard_normal(SIZE)
    expected, found = inputs(least_input, *given), inputs(kernels_large, *given)
    assert found[0] == expected[0] == m - (rows in ("dependent", "without grip", "weak, alike"))
    np.testing.assert_allclose(found[1], expected[1], **CLOSE)
    np.testing.assert_allclose(found[2], expected[2], **CLOSE)


def test_a_metric_that_is_not_positive_definite_is_refused():
    given = np.eye(SIZE), np.zeros(SIZE), np.eye(SIZE), -np.eye(SIZE), np.zeros(SIZE)
    assert inputs(kernels_large, *given)[0] == inputs(least_input, *given)[0] == -1


def constrained(module, M, nle, B, A_p, b_p):
    n, nu = B.shape
    L, a_free, G = np.zeros((n, n)), np.zeros(n), np.zeros((n, nu))
    a_0, margins = np.zeros(n), np.zeros(2)
    rank = module.passive_answer(M, nle, np.ones(n), B, A_p, b_p, 1e-4, L, a_free, G, a_0, margins)
    return rank, L, a_free, G, a_0, margins


@pytest.mark.parametrize("rows", ["independent", "redundant", "almost dependent", "none", "zero"])
@pytest.mark.parametrize("separate", [True, False])
def test_the_answer_under_passive_rows_is_the_same(separate, rows, monkeypatch):
    monkeypatch.setattr(kernels_large, "VALUES_SIZE", SIZE)
    rng = np.random.default_rng(2)
    M = mass(rng, separate)
    A_p = rng.standard_normal((0 if rows == "none" else 40, SIZE))
    b_p = rng.standard_normal((2, len(A_p)))
    if rows == "redundant":
        A_p[-1], b_p[:, -1] = A_p[0] + A_p[1], b_p[:, 0] + b_p[:, 1]
    elif rows == "almost dependent":
        A_p[-1] = A_p[0] + 3e-4 * rng.standard_normal(SIZE)
    elif rows == "zero":
        A_p[-1], b_p[:, -1] = 0.0, 0.0
    B = rng.standard_normal((SIZE, 3))
    B[:, 0] = A_p.T @ rng.standard_normal(len(A_p))  # the rows take up all that it does
    given = M, rng.standard_normal(SIZE), B, A_p, b_p
    expected, found = constrained(kernels, *given), constrained(kernels_large, *given)
    assert found[0] == expected[0]
    for _, _, _, G, *_ in (expected, found):
        moves = [rows == "almost dependent", True, True]  # where rows are not told apart in full
        np.testing.assert_array_equal(np.abs(G).max(axis=0) > 0.0, moves)
    for ours, theirs in zip(found[1:-1], expected[1:-1], strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_the_smallest_singular_value_is_that_of_the_unit_rows():
    rng = np.random.default_rng(3)
    A_p = rng.standard_normal((40, SIZE))
    A_p[-1] = A_p[0] + 0.1 * rng.standard_normal(SIZE)
    given = np.eye(SIZE), np.zeros(SIZE), np.zeros((SIZE, 0)), A_p, np.zeros((2, 40))
    unit = A_p / np.linalg.norm(A_p, axis=1)[:, None]
    smallest = np.linalg.svd(unit, compute_uv=False)[-1]
    np.testing.assert_allclose(constrained(kernels_large, *given)[-1], [smallest, 0.0], rtol=0.01)
