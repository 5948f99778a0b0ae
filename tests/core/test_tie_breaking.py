"""Who is named where several share an extreme does not depend on rounding."""

import numpy as np
import pytest
from scipy.linalg import qr

from ukctrl.core.tie_breaking import (
    TIE_RTOL,
    first_largest,
    first_smallest,
    max_abs,
    tie_breaking_weights,
    tie_ranks,
)
from ukctrl.uk import rank_report

ROUNDING = 1e-12


@pytest.fixture(params=range(20))
def noise(request):
    """Twenty ways to round the samples of a run."""
    return 1.0 + ROUNDING * np.random.default_rng(request.param).standard_normal(400)


def test_of_the_maxima_of_a_periodic_motion_the_first_is_named(noise):
    t = 0.05 * np.arange(400)
    assert first_largest(noise * np.sin(np.pi * t) ** 2) == 10
    assert first_smallest(noise * (2.0 + np.cos(np.pi * t))) == 20


def test_of_equal_motors_the_first_is_named(noise):
    thrusts = np.array([1.0, 3.0, 2.0, 3.0]) * noise[:4]
    assert first_largest(thrusts) == 1
    assert first_smallest(-thrusts) == 1


def test_what_is_larger_by_more_than_the_tolerance_is_named():
    assert first_largest([1.0, 1.0 + 3.0 * TIE_RTOL]) == 1
    assert first_smallest([1.0, 1.0 - 3.0 * TIE_RTOL]) == 1


def test_zeros_made_of_rounding_are_equal_below_the_floor(noise):
    assert first_smallest(ROUNDING * np.abs(noise), floor=1e-9) == 0
    assert first_smallest([1e-3, 3e-15, 1e-17], floor=1e-9) == 1


def test_what_is_no_number_is_never_named():
    assert first_largest([np.nan, 1.0, np.inf, np.inf]) == 2
    assert first_smallest([np.nan, -np.inf, 1.0]) == 1


@pytest.mark.parametrize(
    ("values", "largest"),
    [([], 0.0), (np.zeros((0, 3)), 0.0), ([0.2, -0.5], 0.5), ([[3.0, 1.0], [2.0, -4.0]], 4.0),
     ([3.0 + 4.0j, 4.5], 5.0), ([-1.0, np.nan, 2.0], np.nan), ([1.0, -np.inf], np.inf)],
)  # fmt: skip
def test_the_largest_absolute_value_is_zero_of_none_and_nan_beside_nan(values, largest):
    np.testing.assert_equal(max_abs(values), largest)
    assert type(max_abs(values)) is float


def test_a_place_in_a_matrix_is_that_in_its_flattened_array():
    assert first_largest([[0.0, 1.0], [2.0, 2.0]]) == 2


def test_equal_values_share_a_rank_and_keep_their_order(noise):
    margins = np.array([0.7, 0.3, 0.7, 0.5, 0.3]) * noise[:5]
    assert tie_ranks(margins).tolist() == [2, 0, 2, 1, 0]
    assert np.argsort(tie_ranks(margins), kind="stable").tolist() == [1, 4, 3, 0, 2]
    assert tie_ranks([1e-17, 1.0, -1e-16], floor=1e-9).tolist() == [0, 1, 0]
    assert tie_ranks([]).tolist() == []


def test_pivoting_takes_the_first_of_equal_rows(noise):
    rows = np.tile(np.eye(3), (2, 1)) * noise[:6, None]
    assert rank_report(rows, list("abcdef")).independent == ("a", "b", "c")
    order = qr((rows * tie_breaking_weights(6)[:, None]).T, mode="economic", pivoting=True)[2]
    assert sorted(order[:3]) == [0, 1, 2]
