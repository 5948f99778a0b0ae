"""How much of a picture's points a line covers, against distances from its segments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ukctrl_film.raster_kernels import line_coverage

H, W = 24, 30


def covered(places, radius, least=0.0, finer=1, depth=None):
    out = np.zeros((H, W), np.float32)
    depth = np.zeros((finer * H, finer * W), np.float32) if depth is None else depth
    line_coverage(np.array(places, float), radius, least, finer, depth.astype(np.float32), out)
    return out


def distances(a, b):
    """Return how far the middle of each point is from a segment."""
    p = np.stack(np.meshgrid(np.arange(W) + 0.5, np.arange(H) + 0.5), axis=-1)
    a, d = np.array(a[:2]), np.array(b[:2]) - np.array(a[:2])
    along = np.clip((p - a) @ d / max(d @ d, 1e-300), 0.0, 1.0)
    return np.linalg.norm(p - a - along[..., None] * d, axis=-1)


@pytest.mark.parametrize("seed", range(6))
def test_each_point_is_covered_by_what_is_nearest(seed):
    rng = np.random.default_rng(seed)
    places = np.column_stack([rng.uniform(-4.0, [W + 4.0, H + 4.0], (4, 2)), np.ones(4)])
    thick = rng.uniform(0.3, 4.0)
    near = np.min([distances(a, b) for a, b in itertools.pairwise(places)], axis=0)
    wanted = np.clip(thick + 0.5 - near, 0.0, 1.0)
    np.testing.assert_allclose(covered(places, thick), wanted, atol=1e-5)
    np.testing.assert_allclose(covered(places, 0.0, least=thick), wanted, atol=1e-5)


def test_a_lone_point_is_a_dot_and_what_is_nearer_is_thicker():
    dot = covered([[10.2, 7.7, 1.0]], 3.0)
    np.testing.assert_allclose(
        dot, np.clip(3.5 - distances((10.2, 7.7), (10.2, 7.7)), 0, 1), atol=1e-5
    )
    near = covered([[10.2, 7.7, 2.0]], 3.0)
    np.testing.assert_allclose(
        near, np.clip(6.5 - distances((10.2, 7.7), (10.2, 7.7)), 0, 1), atol=1e-5
    )


def test_a_gap_ends_a_line():
    places = [
        [2.0, 5.0, 1.0],
        [9.0, 5.0, 1.0],
        [15.0, 5.0, 0.0],
        [20.0, 5.0, 1.0],
        [26.0, 5.0, 1.0],
    ]
    wanted = np.minimum(distances(*places[:2]), distances(*places[3:]))
    np.testing.assert_allclose(covered(places, 1.0), np.clip(1.5 - wanted, 0.0, 1.0), atol=1e-5)


def test_what_is_in_front_hides_it_by_its_part_of_a_point():
    """Of four points to one, two are nearer than the line, and some are just where it is."""
    depth = np.zeros((2 * H, 2 * W))
    depth[::2, :W] = 5.0
    depth[:, W:] = 1.001  # a surface on which it lies: half of it stands out
    places = [[0.0, 12.0, 1.0], [float(W), 12.0, 1.0]]
    whole = covered(places, 2.0)
    seen = covered(places, 2.0, finer=2, depth=depth)
    np.testing.assert_allclose(seen[:, : W // 2], 0.5 * whole[:, : W // 2], atol=1e-5)
    np.testing.assert_allclose(seen[:, W // 2 :], whole[:, W // 2 :], atol=1e-5)
    assert not covered(places, 2.0, finer=2, depth=np.full((2 * H, 2 * W), 1.01)).any()
