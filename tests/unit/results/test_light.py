"""Light of a triangle beside the formulas of Lambert, Blinn and Phong in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.reports.scene import light_kernels as kernels
from ukctrl.reports.scene.light_kernels import EARTH, FILL, GLOSS, SKY, SUN


def unit(x):
    return x / np.linalg.norm(x)


def rotation(rng):
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return Q * np.linalg.det(Q)


def light_of(bodies, lens, lamp, inverse):
    """Return the light of a picture of one point, which shows the only triangle."""
    floor = kernels.Floor(False, 0.0, 1.0, np.zeros(3), 1.0, np.zeros(3))
    depth, seen = np.full((1, 1), inverse, np.float32), np.zeros((1, 1), np.int32)
    out = np.zeros((1, 1, 3), np.float32)
    kernels.write_light(depth, seen, 1, bodies, lens, lamp, floor, out.copy(), out)
    return out[0, 0]


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_triangle_has_the_light_of_sun_sky_ground_and_eye_and_shines(seed, shadow):
    rng = np.random.default_rng(seed)
    corners, normals = rng.standard_normal((3, 3)), rng.standard_normal((3, 3)).astype(np.float32)
    share = rng.dirichlet((1.0, 1.0, 1.0))
    place, carrier, stretch = share @ corners, rotation(rng), rng.uniform(0.5, 2.0)
    toward = unit(rng.standard_normal(3))
    right = unit(np.cross(rng.standard_normal(3), toward))
    eye = place + 3.0 * toward + rng.uniform(-1.0, 1.0, 3)
    axes = np.vstack([eye, right, np.cross(toward, right), toward])
    along = axes[1:] @ (place - eye)
    middle = np.array([0.5 + 40.0 * along[0] / along[2], 0.5 - 40.0 * along[1] / along[2]])
    lens = kernels.Lens(axes, 40.0, middle)
    sun, sky = unit(rng.standard_normal(3)), unit(rng.standard_normal(3))
    across = unit(np.cross(rng.standard_normal(3), sun))
    lamp = kernels.Lamp(
        np.vstack([place, across, np.cross(sun, across), sun]), 2.0,
        np.full((16, 16), 9.0 if shadow else -9.0, np.float32), np.array([0.0, 16.0, 0.0, 16.0]),
        1e-3, sky,
    )  # fmt: skip
    color = rng.uniform(0.2, 1.0, 3)
    one = np.zeros(1, np.int64)
    bodies = kernels.Bodies(
        corners, np.array([[0, 1, 2]]), one, one, normals[None], carrier[None].copy(),
        np.array([stretch]), color[None],
    )  # fmt: skip
    found = light_of(bodies, lens, lamp, -1.0 / along[2])

    normal = unit(carrier @ ((share @ normals) / [1.0, 1.0, stretch]))
    way = unit(place - eye)
    normal *= -np.sign(normal @ way)  # of its side that is seen
    direct = 0.0 if shadow else max(normal @ sun, 0.0)
    high = 0.5 + 0.5 * normal @ sky
    light = SKY * high + EARTH * (1.0 - high) - FILL * normal @ way + SUN * direct
    shine = GLOSS * (normal @ unit(sun - way)) ** 32 if direct > 0.0 else 0.0
    np.testing.assert_allclose(found, color * light + shine, rtol=1e-5)
