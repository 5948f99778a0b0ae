"""Which factors separate failed from successful samples, and where."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.studies.sweep_analysis.failure_factors import failure_factors
from ukctrl.studies.sweep_analysis.study_arrays import Axis, bin_factor


@pytest.fixture(name="rng")
def _rng():
    return np.random.default_rng(8)


def test_a_factor_that_decides_is_found_with_its_border(rng):
    x = rng.random((500, 3))
    found = failure_factors(tuple(Axis(f"x{i}", x[:, i]) for i in range(3)), x[:, 1] < 0.7)
    first = found[0]
    assert first.path == "x1"
    assert first.clear
    np.testing.assert_allclose(first.split.threshold, 0.7, rtol=0.0, atol=0.01)
    assert (first.split.below.share.value, first.split.above.share.value) == (1.0, 0.0)
    assert not found[1].clear
    assert found[1].score < 0.05


def test_a_border_over_decades_lies_in_the_middle_of_decades():
    x = np.array([1e-4, 1e-3, 1e-2, 1e-1])
    axis = Axis("period", np.repeat(x, 10), log=True)
    split = failure_factors((axis,), axis.values < 5e-3)[0].split
    np.testing.assert_allclose(split.threshold, np.sqrt(1e-3 * 1e-2), rtol=1e-12)


def test_names_are_told_apart_and_have_no_border():
    place = np.array([0.0, 1.0, 2.0]).repeat(20)
    found = failure_factors((Axis("card", place, ("pid", "exact", "lqr")),), place != 1.0)[0]
    assert [rate.label for rate in found.rates] == ["pid", "exact", "lqr"]
    assert [rate.succeeded for rate in found.rates] == [20, 0, 20]
    assert found.clear
    assert found.split is None


def test_chance_is_called_clear_in_few_of_many_studies(rng):
    count = 0
    for _ in range(200):
        x = rng.random((200, 4))
        found = failure_factors(
            tuple(Axis(f"x{i}", x[:, i]) for i in range(4)), rng.random(200) < 0.5
        )
        count += found[0].clear
    assert count / 200 < 0.05


@pytest.mark.parametrize("good", [True, False], ids=["all succeed", "all fail"])
def test_nothing_separates_where_all_end_alike(good):
    assert failure_factors((Axis("x", np.arange(30.0)),), np.full(30, good)) == ()


def test_ranges_hold_about_as_many_samples_each_and_follow_ties(rng):
    x = rng.lognormal(size=1000)
    bins = bin_factor(Axis("x", x), 8)
    assert bins.size == len(bins.edges) - 1 == 8
    np.testing.assert_array_equal(np.bincount(bins.bin_index), 125)
    inside = (bins.edges[bins.bin_index] <= x) & (x <= bins.edges[bins.bin_index + 1])
    assert inside.all()
    tied = np.concatenate([np.zeros(500), np.linspace(1.0, 2.0, 20)])
    cut = bin_factor(Axis("x", tied), 8)
    assert np.bincount(cut.bin_index, minlength=cut.size).min() > 0
    assert bin_factor(Axis("x", np.array([3.0, 1.0, 3.0])), 8).labels == ("1", "3")
