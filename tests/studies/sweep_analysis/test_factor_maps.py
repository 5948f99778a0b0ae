"""Maps over two factors: what stands in a cell is what came of the samples in it."""

from __future__ import annotations

import numpy as np

from ukctrl.studies.sweep_analysis.factor_maps import factor_map
from ukctrl.studies.sweep_analysis.study_arrays import Axis


def test_a_grid_has_a_cell_for_every_pair_of_values():
    x, y = (side.ravel() for side in np.meshgrid([1.0, 2.0, 4.0], [10.0, 20.0]))
    merit = np.where(x > 3.0, np.inf, x * y)
    found = factor_map(Axis("x", x), Axis("y", y), merit, np.isfinite(merit), grid=True)
    np.testing.assert_array_equal(found.middle, [[10.0, 20.0, np.inf], [20.0, 40.0, np.inf]])
    np.testing.assert_array_equal(found.share, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    assert (found.samples == 1).all()
    assert found.x.labels == ("1", "2", "4")


def test_a_third_factor_of_a_grid_is_passed_over_by_its_median():
    x = np.zeros(5)
    merit = np.array([3.0, 1.0, np.inf, 2.0, np.inf])
    found = factor_map(Axis("x", x), Axis("y", x), merit, np.isfinite(merit), grid=True)
    assert found.middle == 3.0
    assert found.share == 0.6
    half = factor_map(Axis("x", x[:4]), Axis("y", x[:4]), merit[:4], merit[:4] < 9.0, grid=True)
    assert half.middle == 3.0  # the upper of 2 and 3, never a mean with a failure


def test_random_samples_are_counted_in_ranges_and_an_empty_cell_stays_empty():
    rng = np.random.default_rng(0)
    x = rng.random(800)
    y = np.clip(x + 0.05 * rng.normal(size=800), 0.0, 1.0)  # two factors that go together
    merit = x + y
    found = factor_map(Axis("x", x), Axis("y", y), merit, merit < 1.0, grid=False)
    assert found.samples.sum() == 800
    empty = found.samples == 0
    assert empty.any()
    assert np.isnan(found.middle[empty]).all()
    assert np.isnan(found.share[empty]).all()
    for i, j in zip(*np.nonzero(~empty), strict=True):
        inside = (x >= found.x.edges[j]) & (x <= found.x.edges[j + 1])
        inside &= (y >= found.y.edges[i]) & (y <= found.y.edges[i + 1])
        assert inside.sum() == found.samples[i, j]
        ordered = np.sort(merit[inside])
        assert found.middle[i, j] == ordered[len(ordered) // 2]
