"""Every pseudoinverse satisfies the Penrose conditions, or says why it cannot."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ukctrl.core.errors import InputError, ShapeError, UnknownName
from ukctrl_papers.pseudoinverse import METHODS, penrose_residuals, pinv
from ukctrl_papers.pseudoinverse.lapack_methods import MAX_PASSES, UnresolvedRank

EPS = np.finfo(float).eps
SHAPES = [(1, 1), (1, 7), (7, 1), (5, 12), (12, 5), (9, 9), (12, 9), (9, 12), (30, 50)]
SQUARED = ("cholesky", "greville", "proximal")
"""Methods whose Penrose residual grows with the square of the condition number."""

every_method = pytest.mark.parametrize("method", METHODS)


def draw(rng, shape, rank, condition):
    """A matrix with given singular values, and its pseudoinverse from the same factors."""
    U = np.linalg.qr(rng.standard_normal((shape[0], shape[0])))[0][:, :rank]
    V = np.linalg.qr(rng.standard_normal((shape[1], shape[1])))[0][:, :rank]
    sigma = np.geomspace(1.0, 1.0 / condition, rank)
    return (U * sigma) @ V.T, (V / sigma) @ U.T


def growth(method, condition):
    return EPS * condition ** (2 if method in SQUARED else 1)


@every_method
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("lacking", [0, 1, 4])
def test_the_four_penrose_conditions_hold_for_every_shape_and_rank(method, shape, lacking):
    rank = max(1, min(shape) - lacking)
    A, expected = draw(np.random.default_rng(lacking), shape, rank, condition=10.0)
    found = pinv(A, method)
    assert found.rank == rank
    assert penrose_residuals(A, found.matrix).worst < 1e-8
    np.testing.assert_allclose(found.matrix, expected, rtol=0.0, atol=1e-9)


IN_SIGHT = [
    (method, condition)
    for method in METHODS
    for condition in (1e2, 1e4, 1e6, 1e8, 1e10)
    if METHODS[method].default_rtol((12, 12)) < 0.1 / condition
]
"""Methods, and conditions that are documented to be within their reach."""


@pytest.mark.parametrize(("method", "condition"), IN_SIGHT)
@pytest.mark.parametrize("shape", [(8, 12), (12, 8), (12, 12)], ids=str)
def test_the_error_grows_no_faster_than_documented(method, condition, shape):
    A, expected = draw(np.random.default_rng(1), shape, 7, condition)
    found = pinv(A, method)
    error = np.linalg.norm(found.matrix - expected) / np.linalg.norm(expected)
    assert found.rank == 7
    assert penrose_residuals(A, found.matrix).worst < 300.0 * growth(method, condition) + 1e-10
    assert error < 300.0 * growth(method, condition) + 1e-11


@every_method
def test_the_gap_is_reported_on_both_sides(method):
    A, _ = draw(np.random.default_rng(2), (10, 12), 6, condition=50.0)
    found = pinv(A, method)
    assert 0.1 / 50.0 < found.smallest_kept < 10.0 / 50.0
    if method != "proximal":  # which does not learn it
        assert found.largest_dropped <= found.rtol
    assert found.rtol < found.smallest_kept


@every_method
def test_the_gap_is_one_of_ratios(method):
    """Where the dropped part is seen at all, it is so in units of the largest."""
    rng = np.random.default_rng(4)
    strong, _ = draw(rng, (9, 12), 4, condition=10.0)
    weak, _ = draw(rng, (9, 12), 9, condition=10.0)
    A = strong + (1e-9 if method == "proximal" else 1e-6) * weak
    one, other = (pinv(scale * A, method, rtol=1e-3) for scale in (1.0, 1e3))
    np.testing.assert_allclose(other.smallest_kept, one.smallest_kept, rtol=1e-6)
    np.testing.assert_allclose(other.largest_dropped, one.largest_dropped, rtol=1e-2)


@every_method
def test_one_threshold_in_a_wide_gap_means_the_same_rank_to_all(method):
    rng = np.random.default_rng(3)
    strong, expected = draw(rng, (9, 12), 4, condition=10.0)
    weak, _ = draw(rng, (9, 12), 9, condition=10.0)
    found = pinv(strong + 1e-10 * weak, method, rtol=1e-2)
    assert found.rank == 4
    np.testing.assert_allclose(found.matrix, expected, rtol=0.0, atol=1e-4)


@every_method
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)], ids=str)
def test_zero_and_empty_matrices_have_a_zero_pseudoinverse_of_rank_zero(method, shape):
    found = pinv(np.zeros(shape), method)
    assert found.matrix.shape == shape[::-1]
    assert not found.matrix.any()
    assert (found.rank, found.smallest_kept, found.largest_dropped) == (0, 0.0, 0.0)
    assert penrose_residuals(np.zeros(shape), found.matrix).worst == 0.0


@every_method
def test_the_inverse_of_a_regular_matrix_comes_out(method):
    A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, 2.0, 2.0]])
    np.testing.assert_allclose(pinv(A, method).matrix, np.linalg.inv(A), rtol=0.0, atol=1e-12)


@every_method
@pytest.mark.parametrize("scale", [1e-250, 1e-12, 1e12, 1e250])
def test_the_unit_of_length_does_not_matter(method, scale):
    A, expected = draw(np.random.default_rng(4), (6, 8), 5, condition=10.0)
    found = pinv(scale * A, method)
    assert found.rank == 5
    assert penrose_residuals(scale * A, found.matrix).worst < 1e-8
    np.testing.assert_allclose(scale * found.matrix, expected, rtol=0.0, atol=1e-9)


@every_method
def test_repeated_rows_and_zero_columns_are_normal(method):
    A = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, -1.0, 0.0]])
    found = pinv(A, method)
    assert found.rank == 2
    assert penrose_residuals(A, found.matrix).worst < 1e-9
    np.testing.assert_allclose(found.matrix, np.linalg.pinv(A), rtol=0.0, atol=1e-9)


@every_method
@settings(max_examples=25, deadline=None, derandomize=True)
@given(entries=st.lists(st.integers(-3, 3), min_size=1, max_size=30), columns=st.integers(1, 6))
def test_small_whole_matrices_of_any_rank_pass_the_certificate(method, entries, columns):
    rows = -(-len(entries) // columns)
    A = np.resize(np.array(entries, dtype=float), (rows, columns))
    found = pinv(A, method)
    assert found.rank == np.linalg.matrix_rank(A)
    assert penrose_residuals(A, found.matrix).worst < 1e-6


@every_method
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 5))
def test_the_pseudoinverse_of_the_transpose_and_of_itself(method, seed, rank):
    A, X = draw(np.random.default_rng(seed), (5, 7), rank, condition=5.0)
    np.testing.assert_allclose(pinv(A.T, method).matrix, X.T, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(pinv(X, method).matrix, A, rtol=0.0, atol=1e-9)


def test_the_argument_is_not_changed():
    A = np.random.default_rng(5).standard_normal((4, 6))
    before = A.copy()
    for method in METHODS:
        pinv(A, method)
        pinv(np.asfortranarray(A), method)
    np.testing.assert_array_equal(A, before)


def test_the_certificate_sees_each_broken_condition():
    A, X = draw(np.random.default_rng(6), (4, 5), 3, condition=3.0)
    free = np.linalg.svd(A)[2][-1]
    idle = np.linalg.svd(A)[0][:, -1]
    row, column = X.T[0] / np.linalg.norm(X.T[0]), X[:, 0] / np.linalg.norm(X[:, 0])
    assert penrose_residuals(A, 2.0 * X).reproduces == pytest.approx(1.0)
    assert penrose_residuals(A, X + np.outer(free, idle)).reflexive > 0.1
    assert penrose_residuals(A, X + np.outer(column, idle)).left > 0.1
    assert penrose_residuals(A, X + np.outer(free, A @ row)).right > 0.1
    assert penrose_residuals(A, X).worst < 1e-13


@pytest.mark.parametrize(
    ("power", "step"), [(10.0, 1.0 / 101.0), (1.0, 0.5)], ids=["ten times", "at the threshold"]
)
def test_the_proximal_iteration_converges_as_documented(power, step):
    rtol = 1e-3
    A = np.diag([1.0, power * rtol])
    expected_passes = np.log(1e-10) / np.log(step)
    assert abs(pinv(A, "proximal", rtol).iterations - expected_passes) < 0.2 * expected_passes + 1


def test_the_proximal_iteration_refuses_what_lies_near_its_threshold():
    with pytest.raises(UnresolvedRank) as caught:
        pinv(np.diag([1.0, 0.2e-3]), "proximal", rtol=1e-3)
    assert str(caught.value) == (
        f"the proximal iteration must settle in {MAX_PASSES} steps; it did not, because a singular "
        "value lies near rtol = 1.0e-03. Choose rtol well inside a gap of the singular values, or "
        "method = 'svd'."
    )


def test_grevilles_recursion_refuses_a_remainder_that_is_only_rounding():
    A, _ = draw(np.random.default_rng(7), (40, 60), 30, condition=1e10)
    with pytest.raises(UnresolvedRank) as caught:
        pinv(A, "greville", rtol=1e-13)
    assert re.fullmatch(
        r"what Greville's recursion leaves of a direction must be below rtol or above rounding; of "
        r"direction \d+, \d\.\de-\d\d is left, rtol = 1\.0e-13, rounding \d\.\de-\d\d\. Raise "
        r"rtol, or choose method = 'svd'\.",
        str(caught.value),
    )


@pytest.mark.parametrize("method", ["cholesky", "proximal"])
def test_a_threshold_below_the_sight_of_a_method_is_refused(method):
    with pytest.raises(InputError) as caught:
        pinv(np.eye(3), method, rtol=1e-12)
    assert str(caught.value) == (
        f"rtol of '{method}' must be at least {METHODS[method].least_rtol((3, 3)):.1e} for a "
        "matrix of shape (3, 3), and below 1; got 1e-12. A smaller one drowns in rounding; 'svd' "
        "can tell more."
    )


@pytest.mark.parametrize("rtol", [-1e-3, 0.0, 1e-18, 1.0, np.nan, np.inf])
def test_a_threshold_that_makes_no_sense_is_refused(rtol):
    with pytest.raises(InputError) as caught:
        pinv(np.eye(3), rtol=rtol)
    assert str(caught.value) == (
        f"rtol of 'svd' must be at least {METHODS['svd'].least_rtol((3, 3)):.1e} for a matrix of "
        f"shape (3, 3), and below 1; got {rtol}. A smaller one drowns in rounding."
    )


@every_method
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_refused(method, bad):
    with pytest.raises(InputError, match="A must be finite; it has 1 that are not"):
        pinv(np.array([[1.0, bad]]), method)


def test_what_is_no_matrix_or_no_method_is_refused():
    with pytest.raises(ShapeError, match="A must be a matrix"):
        pinv(np.zeros(3))
    with pytest.raises(UnknownName, match="did you mean 'cholesky'"):
        pinv(np.eye(2), "cholesy")
    with pytest.raises(ShapeError, match="X must have shape"):
        penrose_residuals(np.zeros((2, 3)), np.zeros((2, 3)))


def test_a_matrix_whose_pseudoinverse_overflows_is_refused():
    with pytest.raises(InputError) as caught:
        pinv(np.array([[1e-320]]))
    assert str(caught.value) == (
        "A must have a finite pseudoinverse; its largest entry is 1.0e-320. Scale it up."
    )


POWERS = {
    "svd": (1.0, 1.0), "varga": (1.0, 1.0), "greville": (0.5, 1.0),
    "least_squares_householder": (1.0, 1.0), "least_squares_gram_schmidt": (1.0, 1.0),
    "complete_orthogonal": (1.0, 1.0), "cholesky": (0.5, 0.5), "proximal": (1.0 / 3.0, 1.0 / 3.0),
}  # fmt: skip


@pytest.mark.parametrize("method", POWERS)
def test_each_method_has_the_threshold_that_its_errors_leave_it(method):
    """Of rounding over the longer side: itself, its square root or its cube root."""
    assert set(METHODS) == set(POWERS)
    rounding, (default, least) = 4.0 * 5 * np.finfo(np.float64).eps, POWERS[method]
    assert METHODS[method].default_rtol((3, 5)) == pytest.approx(
        rounding**default, rel=1e-12, abs=0.0
    )
    assert METHODS[method].least_rtol((5, 2)) == pytest.approx(rounding**least, rel=1e-12, abs=0.0)
