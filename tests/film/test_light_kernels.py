"""Light of a triangle beside the formulas of Lambert, Blinn and Phong in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from ukctrl_film import light_kernels as kernels
from ukctrl_film.light_kernels import EARTH, FILL, GLOSS, SKY, SUN


def unit(x):
    return x / np.linalg.norm(x)


def rotation(rng):
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return Q * np.linalg.det(Q)


def drawn(bodies, lens, lamp, depth, seen, finer, floor=None, backdrop=0.0):
    """Return the light of a picture, of which `finer` points along each axis are one."""
    floor = floor or kernels.FloorGrid(False, 0.0, 1.0, np.zeros(3), 1.0, np.zeros(3))
    out = np.zeros((len(seen) // finer, len(seen[0]) // finer, 3), np.float32)
    behind = np.full_like(out, backdrop)
    depth, seen = np.array(depth, np.float32), np.array(seen, np.int32)
    kernels.write_light(depth, seen, finer, bodies, lens, lamp, floor, behind, out)
    return out


def light_of(bodies, lens, lamp, inverse):
    """Return the light of a picture of one point, which shows the only triangle."""
    return drawn(bodies, lens, lamp, [[inverse]], [[0]], 1)[0, 0]


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_triangle_has_the_light_of_sun_sky_ground_and_eye_and_shines(seed, shadow):
    bodies, lens, lamp, inverse = lit_triangle(seed, shadow)
    found = light_of(bodies, lens, lamp, inverse)
    np.testing.assert_allclose(
        found, formula(bodies, lens, lamp, 0.5, 0.5, inverse, shadow), rtol=1e-5
    )


def lit_triangle(seed, shadow):
    """Return a triangle, an eye that sees it in the middle of the first point, and a sun."""
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
    lens = kernels.Pinhole(axes, 40.0, middle)
    sun, sky = unit(rng.standard_normal(3)), unit(rng.standard_normal(3))
    across = unit(np.cross(rng.standard_normal(3), sun))
    lamp = kernels.SunLight(
        np.vstack([place, across, np.cross(sun, across), sun]), 2.0,
        np.full((16, 16), 9.0 if shadow else -9.0, np.float32), np.array([0.0, 16.0, 0.0, 16.0]),
        1e-3, sky,
    )  # fmt: skip
    color = rng.uniform(0.2, 1.0, 3)
    one = np.zeros(1, np.int64)
    bodies = kernels.ShadedTriangles(
        corners, np.array([[0, 1, 2]]), one, one, normals[None], carrier[None].copy(),
        np.array([stretch]), color[None],
    )  # fmt: skip
    return bodies, lens, lamp, -1.0 / along[2]


def formula(bodies, lens, lamp, right, down, inverse, shadow=False):
    """Return the light of what is seen in a point of the picture, at an inverse distance."""
    eye = lens.axes
    across, up = right - lens.middle[0], lens.middle[1] - down
    ray = across / lens.focal * eye[1] + up / lens.focal * eye[2] - eye[3]
    place, way = eye[0] + ray / inverse, unit(ray)
    first, second, third = bodies.world
    edges = np.stack([second - first, third - first], axis=1)
    s, t = np.clip(np.linalg.lstsq(edges, place - first)[0], 0.0, 1.0)
    share = np.array([1.0 - s - t, s, t])
    stretched = (share @ bodies.normals[0]) / [1.0, 1.0, bodies.stretch[0]]
    normal, sun, sky = unit(bodies.turns[0] @ stretched), lamp.axes[3], lamp.sky
    normal *= -np.sign(normal @ way)  # of its side that is seen
    direct = 0.0 if shadow else max(normal @ sun, 0.0)
    high = 0.5 + 0.5 * normal @ sky
    light = SKY * high + EARTH * (1.0 - high) - FILL * normal @ way + SUN * direct
    shine = GLOSS * (normal @ unit(sun - way)) ** 32 if direct > 0.0 else 0.0
    return bodies.colors[0] * light + shine


@pytest.mark.parametrize("seed", range(5))
def test_a_point_that_shows_one_triangle_has_the_light_of_its_middle(seed):
    bodies, lens, lamp, inverse = lit_triangle(seed, shadow=False)
    depth = inverse * (1.0 + 0.01 * np.arange(16.0).reshape(4, 4))
    found = drawn(bodies, lens, lamp, depth, np.zeros((4, 4)), 2)
    for y, x in np.ndindex(2, 2):
        mean = depth[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].mean()
        wanted = formula(bodies, lens, lamp, 2 * x + 1.0, 2 * y + 1.0, mean)
        np.testing.assert_allclose(found[y, x], wanted, rtol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_point_at_an_edge_has_the_light_of_its_parts_and_of_what_is_behind(seed):
    bodies, lens, lamp, inverse = lit_triangle(seed, shadow=False)
    depth = inverse * (1.0 + 0.01 * np.arange(8.0).reshape(2, 4))
    seen = np.array([[0, 0, -1, 0], [-1, 0, -1, -1]])
    found = drawn(bodies, lens, lamp, depth, seen, 2, backdrop=0.5)
    for x, parts in enumerate(([(0, 0), (0, 1), (1, 1)], [(0, 3)])):
        lights = [formula(bodies, lens, lamp, b + 0.5, a + 0.5, depth[a, b]) for a, b in parts]
        wanted = np.sum(lights, axis=0) / 4.0 + 0.5 * (4 - len(parts)) / 4.0
        np.testing.assert_allclose(found[0, x], wanted, rtol=2e-5)
    bare = drawn(bodies, lens, lamp, np.zeros((2, 2)), np.full((2, 2), -1), 2, backdrop=0.5)
    np.testing.assert_allclose(bare[0, 0], 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_a_triangle_without_size_has_the_light_of_its_first_corner(seed):
    bodies, lens, lamp, inverse = lit_triangle(seed, shadow=False)
    place = lens.axes[0] - lens.axes[3] / inverse
    point = bodies._replace(world=np.tile(place, (3, 1)))
    flat = bodies._replace(normals=np.repeat(bodies.normals[:, :1], 3, axis=1))
    found = light_of(point, lens, lamp, inverse)
    np.testing.assert_allclose(found, formula(flat, lens, lamp, 0.5, 0.5, inverse), rtol=1e-5)


@pytest.mark.parametrize(("dark", "there"), [(True, True), (False, True), (True, False)])
def test_the_floor_has_a_shadow_where_the_sun_does_not_reach_it(dark, there):
    bodies, lens, lamp, _ = lit_triangle(0, shadow=dark)
    toward = np.array([0.0, -0.6, 0.8])  # the eye looks down
    axes = np.vstack([[1.0, 2.0, 5.0], [1.0, 0.0, 0.0], np.cross(toward, [1.0, 0.0, 0.0]), toward])
    lens = kernels.Pinhole(axes, 40.0, np.array([0.5, 0.5]))
    floor = kernels.FloorGrid(there, 1.0, 1.0, np.zeros(3), 1.0, np.zeros(3))
    found = drawn(bodies, lens, lamp, [[0.0]], [[-1]], 1, floor, backdrop=0.5)
    lit = 1.0 - kernels.DARK if dark and there else 1.0
    np.testing.assert_allclose(found[0, 0], 0.5 * lit, rtol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_shadow_is_soft_over_nine_places_around(seed):
    """Each place is interpolated between four points of the sun's picture."""
    bodies, lens, lamp, _ = lit_triangle(seed, shadow=False)
    rng = np.random.default_rng(seed)
    nearest = np.where(rng.uniform(size=(16, 16)) < 0.5, 9.0, -9.0).astype(np.float32)
    lamp = lamp._replace(shadow_depth=nearest, scale=3.0)
    toward = np.array([0.0, -0.6, 0.8])
    axes = np.vstack([[0.0, 0.0, 5.0], [1.0, 0.0, 0.0], np.cross(toward, [1.0, 0.0, 0.0]), toward])
    axes[0] += lamp.axes[0] + rng.uniform(-0.5, 0.5, 3)
    lens = kernels.Pinhole(axes, 40.0, np.array([0.5, 0.5]))
    height = lamp.axes[0, 2]
    floor = kernels.FloorGrid(True, height, 1.0, np.zeros(3), 1.0, np.zeros(3))
    found = drawn(bodies, lens, lamp, [[0.0]], [[-1]], 1, floor, backdrop=1.0)
    place = axes[0] - toward * (axes[0, 2] - height) / toward[2]
    u, v = 8.0 + 3.0 * lamp.axes[1:3] @ (place - lamp.axes[0])
    down, right = np.meshgrid(2.5 * np.arange(-1, 2), 2.5 * np.arange(-1, 2), indexing="ij")
    at = np.clip([v - 0.5 + down, u - 0.5 + right], 0.0, 14.0)
    dark = map_coordinates((nearest > 0.0).astype(float), at.reshape(2, -1), order=1).mean()
    outside = not (-4.0 < u < 20.0 and -4.0 < v < 20.0)
    wanted = 1.0 - kernels.DARK * (0.0 if outside else dark)
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-6)


def on_floor(lens, height, right, down):
    """Return where points of the picture show the floor from the eye, and whether before it."""
    across, up = (right - lens.middle[0]) / lens.focal, (lens.middle[1] - down) / lens.focal
    ray = across[..., None] * lens.axes[1] + up[..., None] * lens.axes[2] - lens.axes[3]
    far = (height - lens.axes[0, 2]) / ray[..., 2]
    return lens.axes[0, :2] + far[..., None] * ray[..., :2], far > 0.0


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("cell", [0.5, 2.0])
def test_behind_everything_is_light_from_above_to_below_with_the_lines_of_the_floor(there, cell):
    """Each fifth line is darker; lines fade where they crowd and far from the middle."""
    toward = np.array([0.0, -np.cos(0.5), np.sin(0.5)])
    right = np.array([1.0, 0.0, 0.0])
    axes = np.vstack([[0.3, -6.0, 3.0], right, np.cross(toward, right), toward])
    lens = kernels.Pinhole(axes, 40.0, np.array([24.0, 16.0]))
    high, low, line = np.array([[0.9, 0.8, 0.7], [0.5, 0.6, 0.4], [0.1, 0.2, 0.0]])
    floor = kernels.FloorGrid(there, -0.2, cell, np.array([0.5, 0.5, 0.0]), 12.0, line)
    out = np.zeros((32, 48, 3), np.float32)
    kernels.write_backdrop(lens, floor, high, low, out)

    down, across = np.mgrid[0.5:32.0, 0.5:48.0]
    place, before = on_floor(lens, -0.2, across, down)
    beside, below = (
        np.abs(on_floor(lens, -0.2, across + x, down + y)[0] - place) for x, y in ((1, 0), (0, 1))
    )
    width = beside + below
    away = np.linalg.norm(place - floor.middle[:2], axis=-1) / floor.reach
    near = np.clip((1.0 - away) / 0.75, 0.0, 1.0)
    near = near**2 * (3.0 - 2.0 * near)
    ink = np.zeros_like(near)
    for size, dark in ((cell, 0.45), (5.0 * cell, 0.85)):
        from_line = np.abs(place - size * np.round(place / size)) / width
        drawn = np.clip(1.1 - from_line.min(axis=-1), 0.0, 1.0)
        crowd = 1.0 - np.minimum(1.6 * width.max(axis=-1) / size, 1.0)
        ink = np.maximum(ink, dark * drawn * crowd * near)
    ink = np.where(before & there, ink, 0.0)[..., None]
    share = (down / 32.0)[..., None]
    wanted = ((1.0 - share) * high + share * low) * (1.0 - ink) + ink * line
    np.testing.assert_allclose(out, wanted, atol=1e-5)
    assert bool(ink.max() > 0.2) is there


@pytest.mark.parametrize("seed", range(3))
def test_what_is_transparent_is_mixed_in_by_the_part_that_it_covers(seed):
    bodies, lens, lamp, inverse = lit_triangle(seed, shadow=False)
    depth = (inverse * (1.0 + 0.01 * np.arange(8.0).reshape(2, 4))).astype(np.float32)
    seen = np.array([[0, -1, -1, -1], [0, 0, -1, -1]], np.int32)
    out = np.full((1, 2, 3), 0.25, np.float32)
    kernels.blend_bodies(depth, seen, 2, 0.6, bodies, lens, lamp, out)
    parts = [(0, 0), (1, 0), (1, 1)]
    lights = [formula(bodies, lens, lamp, b + 0.5, a + 0.5, depth[a, b]) for a, b in parts]
    wanted = 0.25 * (1.0 - 0.6 * 0.75) + 0.6 * np.sum(lights, axis=0) / 4.0
    np.testing.assert_allclose(out[0, 0], wanted, rtol=2e-5)
    np.testing.assert_array_equal(out[0, 1], np.float32(0.25))
    assert (seen == -1).all()  # for the next


def test_a_line_is_mixed_in_where_it_covers_and_its_cover_is_undone():
    part = np.array([[0.0, 0.5], [1.0, 0.25]], np.float32)
    out = np.full((2, 2, 3), 0.5, np.float32)
    color = np.array([1.0, 0.0, 0.5])
    share = 0.8 * part.astype(float)[..., None]
    kernels.blend_line(part, 0.8, color, out)
    np.testing.assert_allclose(out, 0.5 * (1.0 - share) + color * share, rtol=1e-6)
    assert not part.any()


def test_light_becomes_the_nearest_number_of_the_table():
    levels = (2 * np.arange(101)).astype(np.uint8)
    light = np.array([-1.0, 0.0, 0.0049, 0.0051, 0.5, 0.504, 0.506, 1.0, 9.0, 0.999, 0.99, 0.3])
    out = np.zeros((2, 2, 3), np.uint8)
    kernels.write_screen(light.reshape(2, 2, 3).astype(np.float32), levels, out)
    assert out.tolist() == [[[0, 0, 0], [2, 100, 100]], [[102, 200, 200], [200, 198, 60]]]
