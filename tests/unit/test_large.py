"""What robots with many freedoms use gives what the compiled loops give."""

import numpy as np
import pytest

from ukctrl import kernels, large

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
SIZE = 60


def answers(module, M, nle, B):
    n, nu = B.shape
    L, a_free, G = np.zeros((n, n)), np.zeros(n), np.zeros((n, nu))
    found = module.plain_answer(M, nle, np.ones(n), B, L, a_free, G)
    return found, L, a_free, G


@pytest.mark.parametrize("separate", [True, False])
def test_the_affine_answer_is_the_same(separate):
    rng = np.random.default_rng(0)
    S = rng.standard_normal((SIZE, SIZE))
    M = np.diag(rng.uniform(1.0, 3.0, SIZE)) if separate else S @ S.T + SIZE * np.eye(SIZE)
    given = M, rng.standard_normal(SIZE), rng.standard_normal((SIZE, 20))
    expected, found = answers(kernels, *given), answers(large, *given)
    assert found[0] == expected[0] == 0
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_a_mass_matrix_that_is_not_positive_definite_is_found():
    M = np.eye(SIZE)
    M[3, 3] = -1.0
    given = M, np.zeros(SIZE), np.eye(SIZE)
    assert answers(large, *given)[0] == answers(kernels, *given)[0] == -4
    M[3, 3], M[3, 4], M[4, 3] = 1.0, 2.0, 2.0
    assert answers(large, *given)[0] == answers(kernels, *given)[0] == -5


def inputs(module, A, b, G, R, u0):
    u, miss = np.empty(G.shape[1]), np.empty(len(b))
    a_free = np.linspace(-1.0, 1.0, A.shape[1])
    return module.servo_input(A, b, a_free, G, R, u0, 1e-9, u, miss), u, miss


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("rows", ["dense", "identity", "dependent", "without grip"])
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
    S = rng.standard_normal((SIZE, SIZE))
    R = S @ S.T + SIZE * np.eye(SIZE) if metric else np.zeros((0, 0))
    given = A, b, G, R, rng.standard_normal(SIZE)
    expected, found = inputs(kernels, *given), inputs(large, *given)
    assert found[0] == expected[0] == m - (rows in ("dependent", "without grip"))
    np.testing.assert_allclose(found[1], expected[1], **CLOSE)
    np.testing.assert_allclose(found[2], expected[2], **CLOSE)


def test_a_metric_that_is_not_positive_definite_is_refused():
    given = np.eye(SIZE), np.zeros(SIZE), np.eye(SIZE), -np.eye(SIZE), np.zeros(SIZE)
    assert inputs(large, *given)[0] == inputs(kernels, *given)[0] == -1
