"""Programs within bounds: what they share, far targets, and the factors beneath."""

import numpy as np
import pytest

from ukctrl.core.algebra.active_set_qp import add_active_row, remove_active_row
from ukctrl.core.algebra.bounded_rows import NOT_TRANSFORMED, BoundedRows
from ukctrl.core.algebra.decompositions import inverse, orthogonal_complement
from ukctrl.core.algebra.lexicographic_qp import (
    _factor_by_levels,
    _factor_jointly,
    factor_lexicographic,
    solve_lexicographic,
)

ROUNDING = {"rtol": 0.0, "atol": 1e-9}  # of rows and inputs of order one


def program(rng, nu, sizes, C):
    """Return a program of random levels."""
    m = sum(sizes)
    H, d, u0 = rng.standard_normal((m, nu)), rng.standard_normal(m), rng.standard_normal(nu)
    return factor_lexicographic(H, d, np.cumsum(sizes), np.ones(m), np.eye(nu), u0, C, 1e-9)


def answer(lex, low, high):
    u = np.empty(len(lex.u0))
    return solve_lexicographic(lex, low, high, u), u


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("sizes", [(3,), (2, 2), (2, 3, 2), (6,), (1, 9)])
def test_what_was_solved_before_changes_no_answer(seed, sizes):
    """Bounds that free the first levels, that bind them, and that leave nothing, in any order."""
    C, u = np.vstack([np.eye(6), np.random.default_rng(seed).standard_normal((4, 6))]), np.zeros(6)
    made = [program(np.random.default_rng(seed), 6, sizes, C) for _ in range(2)]
    rng = np.random.default_rng(seed)
    for _ in range(8):
        middle = C @ rng.uniform(-1.0, 1.0, 6)
        room = rng.uniform(0.01, 3.0, len(C)) * 10.0 ** rng.uniform(-2.0, 1.0)
        bounds = middle - room, middle + room
        found, u = answer(made[0], *bounds)
        alone, other = answer(program(np.random.default_rng(seed), 6, sizes, C), *bounds)
        assert found
        assert alone
        np.testing.assert_allclose(u, other, **ROUNDING)
        assert (np.abs(C @ u - middle) <= room + 1e-9).all()
    none = answer(made[1], np.full(len(C), 1.0), np.full(len(C), -1.0))[0]
    assert not none


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sizes", [(2, 2), (2, 1, 3), (3, 0, 3), (1, 5), (1, 1, 1), (2, 5)])
def test_levels_at_once_and_one_after_the_other_have_one_answer(seed, sizes):
    """Also where rows with bounds are spanned by those of a level."""
    rng, ends = np.random.default_rng(seed), np.cumsum(sizes)
    H = rng.standard_normal((sum(sizes), 6))
    C = np.vstack([np.eye(6), rng.standard_normal((2, 6)), rng.standard_normal((2, 2)) @ H[:2]])
    d, u0, S = rng.standard_normal(len(H)), rng.standard_normal(6), np.diag(rng.uniform(0.5, 2, 6))
    made = []
    for factor in (_factor_jointly, _factor_by_levels):
        lex = factor_lexicographic(H, d, ends, np.ones(len(H)), S, u0, C, 1e-9)
        assert factor(lex, ends, 1e-9) in (None, sum(sizes) <= 6)
        made.append(lex)
    for _ in range(5):
        middle = C @ rng.uniform(-1.0, 1.0, 6)
        room = rng.uniform(0.01, 2.0, len(C))
        answers = [answer(lex, middle - room, middle + room) for lex in made]
        assert answers[0][0]
        assert answers[1][0]
        np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_a_target_far_away_costs_no_digits_but_its_own(far):
    rng = np.random.default_rng(0)
    C = np.vstack([np.eye(5), rng.standard_normal((5, 5))])
    low, high = np.full(10, -1.0), np.full(10, 1.0)
    u0 = far * rng.standard_normal(5)
    lex = factor_lexicographic(
        np.zeros((0, 5)), u0[:0], np.zeros(0, np.int64), u0[:0], np.eye(5), u0, C, 1e-9
    )
    found, u = answer(lex, low, high)
    assert found
    at = C @ u
    room = 1e-11 + 2e-15 * far  # u is u0 and a way back
    assert (np.abs(at) <= 1.0 + room).all()
    binding = np.abs(at) > 1.0 - room
    pushes = np.linalg.lstsq((np.sign(at)[:, None] * C)[binding].T, (u0 - u) / far, rcond=None)
    assert binding.sum() >= 5  # a corner
    assert (pushes[0] > 0.0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 27])
def test_an_inverse_is_one(n):
    X = np.random.default_rng(n).standard_normal((n, n))
    X[0, 0] = 0.0 if n > 1 else 2.0
    np.testing.assert_allclose(inverse(X) @ X, np.eye(n), atol=1e-10)


@pytest.mark.parametrize("X", [np.zeros((3, 3)), np.ones((2, 2)), np.diag([1.0, 0.0, 1.0])])
def test_a_singular_matrix_has_no_inverse_that_is_small(X):
    with np.errstate(all="ignore"):
        assert not np.sum(inverse(X) ** 2) < 1e20


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 1), (1, 4), (3, 7), (6, 7), (27, 30)])
def test_what_rows_do_not_span_is_orthonormal_and_all_of_it(m, n):
    Q = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0][:m].copy()
    rest = orthogonal_complement(Q)
    assert rest.shape == (n, n - m)
    np.testing.assert_allclose(rest.T @ rest, np.eye(n - m), atol=1e-13)
    np.testing.assert_allclose(Q @ rest, 0.0, atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_a_row_that_a_level_spans_leaves_what_the_level_does_not_feel_where_it_is(seed):
    """But for rounding, of which a hundred proximal steps could not make the row's way."""
    rng = np.random.default_rng(seed)
    H, u0 = rng.standard_normal((3, 6)), rng.standard_normal(6)
    across = rng.standard_normal(3)
    C = (across @ H * (1.0 + 1e-15 * rng.standard_normal(6)))[None]
    lex = factor_lexicographic(H, H @ u0, np.array([3]), np.ones(3), np.eye(6), u0, C, 1e-9)
    low = C @ u0 + rng.uniform(0.1, 1.0)
    found, u = answer(lex, low, np.full(1, np.inf))
    assert found
    assert not lex.bounded_rows.rows[0, 0, 3:].any()
    np.testing.assert_allclose(C @ u, low, **ROUNDING)
    free = orthogonal_complement(np.linalg.qr(H.T)[0].T.copy())
    np.testing.assert_allclose(free.T @ (u - u0), 0.0, atol=1e-12)


@pytest.mark.slow(only=["0", "12"])
@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_active_stay_factored_whichever_leave(seed):
    rng, n, r = np.random.default_rng(seed), 9, 8
    lex = factor_lexicographic(
        np.zeros((0, n)), np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.eye(n), np.zeros(n),
        rng.standard_normal((r, n)), 1e-9,
    )  # fmt: skip
    room = BoundedRows(n, n, *lex.bounded_rows[2:])
    active = type(lex.active)(*(part[0] for part in lex.active))
    room.side[:] = rng.choice([-1.0, 1.0], r)
    rows = lex.bounded_rows.Ct.T / np.linalg.norm(lex.bounded_rows.Ct, axis=0)[:, None]
    room.rows[0], room.lengths[0] = rows, NOT_TRANSFORMED + 1.0
    room = room._replace(rows=room.rows[0], lengths=room.lengths[0])
    assert not any(add_active_row(room, active, row) for row in rng.permutation(r))
    while active.total[0]:
        assert not remove_active_row(room, active, int(rng.integers(active.total[0])))
        m = active.total[0]
        L, Q = np.tril(active.L[:m, :m]), active.Q[:m]
        np.testing.assert_allclose(Q @ Q.T, np.eye(m), atol=1e-13)
        np.testing.assert_allclose(L @ Q, active.sign[:m, None] * rows[active.row[:m]], atol=1e-13)
