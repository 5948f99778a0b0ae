"""How light falls on what a picture shows, compiled: a sun with soft shadows, a sky, and a floor.

Colours are amounts of light, not the numbers of a screen: these follow at the end (`write_screen`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, inlined
from ukctrl_film.raster_kernels import Depths, Numbers

Rgb = tuple[float, float, float]
Light = NDArray[np.float32]
SUN, SKY, EARTH, FILL, GLOSS = 0.66, 0.40, 0.17, 0.10, 0.16
"""Light of the sun, from above, from below, from the eye; and how much a surface shines."""
DARK = 0.30
"""Of the floor's light the sun's shadow takes this."""


class ShadedTriangles(NamedTuple):
    """What there is, at one moment."""

    world: Matrix
    """Vertices in the world, shape ``(k, 3)`` [m]."""
    faces: Indices
    """Shape ``(m, 3)``."""
    owners: Indices
    """What carries each triangle, shape ``(m,)``."""
    paints: Indices
    """The colour of each triangle, shape ``(m,)``."""
    normals: NDArray[np.float32]
    """Of the triangles' corners, in the carriers' axes, shape ``(m, 3, 3)``."""
    turns: NDArray[np.float64]
    """Rotations of the carriers, shape ``(c, 3, 3)``."""
    stretch: Vector
    """Their factors along z, shape ``(c,)``."""
    colors: Matrix
    """Light that a colour gives back, shape ``(p, 3)``."""


class SunLight(NamedTuple):
    """The sun."""

    axes: Matrix
    """What it looks at, right, above, and towards the sun, shape ``(4, 3)``."""
    scale: float
    """Points of its picture a metre."""
    shadow_depth: Depths
    """What is nearest to it, shape ``(n, n)``."""
    edges: Vector
    """Left, right, bottom and top of what it may fall on first, in points, shape ``(4,)``."""
    bias: float
    """A surface is only in the shadow of what is nearer to the sun by this [m]."""
    sky: Vector
    """Unit vector upwards, shape ``(3,)``."""


class Pinhole(NamedTuple):
    """The eye."""

    axes: Matrix
    """Eye, right, above and toward, shape ``(4, 3)``."""
    focal: float
    """Points of the picture for the tangent 1."""
    middle: Vector
    """Of the picture, shape ``(2,)``."""


class FloorGrid(NamedTuple):
    """The ground."""

    exists: bool
    height: float
    cell: float
    """Edge of a square [m]."""
    middle: Vector
    """Of what is seen, shape ``(3,)``."""
    reach: float
    """It fades out this far from the middle [m]."""
    line: Vector
    """Colour of its lines, shape ``(3,)``."""


@inlined
def sunlight(x: float, y: float, z: float, lamp: SunLight, wide: float) -> float:
    """Return how much of the sun is seen from a place, from 0 to 1, over nine places around it."""
    axes, nearest = lamp.axes, lamp.shadow_depth
    x, y, z = x - axes[0, 0], y - axes[0, 1], z - axes[0, 2]
    half = 0.5 * nearest.shape[0]
    u = half + lamp.scale * (x * axes[1, 0] + y * axes[1, 1] + z * axes[1, 2])
    v = half + lamp.scale * (x * axes[2, 0] + y * axes[2, 1] + z * axes[2, 2])
    lit = 1.0
    e, border = lamp.edges, 1.5 + wide
    if e[0] - border < u < e[1] + border and e[2] - border < v < e[3] + border:
        mine = x * axes[3, 0] + y * axes[3, 1] + z * axes[3, 2] + lamp.bias
        dark = 0.0
        upper = nearest.shape[0] - 2.0
        for j in range(-1, 2):
            b = min(max(v + j * wide - 0.5, 0.0), upper)
            row = int(b)
            fb = b - row
            for i in range(-1, 2):
                a = min(max(u + i * wide - 0.5, 0.0), upper)
                column = int(a)
                fa = a - column
                dark += (1.0 - fb) * (
                    (1.0 - fa) * (nearest[row, column] > mine)
                    + fa * (nearest[row, column + 1] > mine)
                ) + fb * (
                    (1.0 - fa) * (nearest[row + 1, column] > mine)
                    + fa * (nearest[row + 1, column + 1] > mine)
                )
        lit = 1.0 - dark / 9.0
    return lit


@inlined
def ray(x: float, y: float, lens: Pinhole) -> Rgb:
    """Return the way from the eye through a point of the picture, 1 along the eye's axis."""
    a, b = (x - lens.middle[0]) / lens.focal, (lens.middle[1] - y) / lens.focal
    axes = lens.axes
    return (
        a * axes[1, 0] + b * axes[2, 0] - axes[3, 0],
        a * axes[1, 1] + b * axes[2, 1] - axes[3, 1],
        a * axes[1, 2] + b * axes[2, 2] - axes[3, 2],
    )


@inlined
def surface(
    x: float,
    y: float,
    inverse: float,
    number: int,
    bodies: ShadedTriangles,
    lens: Pinhole,
    lamp: SunLight,
) -> Rgb:
    """Return the light of a triangle in a point of the picture."""
    dx, dy, dz = ray(x, y, lens)
    far = 1.0 / inverse
    eye = lens.axes
    px, py, pz = eye[0, 0] + far * dx, eye[0, 1] + far * dy, eye[0, 2] + far * dz
    world = bodies.world
    a, b, c = bodies.faces[number, 0], bodies.faces[number, 1], bodies.faces[number, 2]
    # How near the place is to each corner.
    ux, uy, uz = world[b, 0] - world[a, 0], world[b, 1] - world[a, 1], world[b, 2] - world[a, 2]
    vx, vy, vz = world[c, 0] - world[a, 0], world[c, 1] - world[a, 1], world[c, 2] - world[a, 2]
    wx, wy, wz = px - world[a, 0], py - world[a, 1], pz - world[a, 2]
    uu, uv, vv = (
        ux * ux + uy * uy + uz * uz,
        ux * vx + uy * vy + uz * vz,
        vx * vx + vy * vy + vz * vz,
    )
    wu, wv = wx * ux + wy * uy + wz * uz, wx * vx + wy * vy + wz * vz
    square = uu * vv - uv * uv
    s = (vv * wu - uv * wv) / square if square > 0.0 else 0.0
    t = (uu * wv - uv * wu) / square if square > 0.0 else 0.0
    s, t = min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0)
    r, n, owner = 1.0 - s - t, bodies.normals, bodies.owners[number]
    lx = r * n[number, 0, 0] + s * n[number, 1, 0] + t * n[number, 2, 0]
    ly = r * n[number, 0, 1] + s * n[number, 1, 1] + t * n[number, 2, 1]
    lz = r * n[number, 0, 2] + s * n[number, 1, 2] + t * n[number, 2, 2]
    lz /= bodies.stretch[owner] if bodies.stretch[owner] != 0.0 else 1.0
    R = bodies.turns
    nx = R[owner, 0, 0] * lx + R[owner, 0, 1] * ly + R[owner, 0, 2] * lz
    ny = R[owner, 1, 0] * lx + R[owner, 1, 1] * ly + R[owner, 1, 2] * lz
    nz = R[owner, 2, 0] * lx + R[owner, 2, 1] * ly + R[owner, 2, 2] * lz
    away = np.sqrt(dx * dx + dy * dy + dz * dz)
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    scale = 1.0 / norm if norm > 0.0 else 0.0
    facing = -(nx * dx + ny * dy + nz * dz) * scale / away
    if facing < 0.0:  # seen from its back
        scale, facing = -scale, -facing
    nx, ny, nz = nx * scale, ny * scale, nz * scale
    sun, sky = lamp.axes[3], lamp.sky
    toward = nx * sun[0] + ny * sun[1] + nz * sun[2]
    shine, lit = 0.0, 0.0
    if toward > 0.0:
        out = lamp.bias
        lit = sunlight(px + out * nx, py + out * ny, pz + out * nz, lamp, 1.0)
        hx, hy, hz = sun[0] - dx / away, sun[1] - dy / away, sun[2] - dz / away
        half = (nx * hx + ny * hy + nz * hz) / np.sqrt(hx * hx + hy * hy + hz * hz)
        half *= half
        half *= half
        half *= half
        half *= half
        shine = GLOSS * half * half * lit
    high = 0.5 + 0.5 * (nx * sky[0] + ny * sky[1] + nz * sky[2])
    light = SKY * high + EARTH * (1.0 - high) + FILL * facing + SUN * max(toward, 0.0) * lit
    colors, paint = bodies.colors, bodies.paints[number]
    return (
        colors[paint, 0] * light + shine,
        colors[paint, 1] * light + shine,
        colors[paint, 2] * light + shine,
    )


@compiled
def write_backdrop(lens: Pinhole, floor: FloorGrid, high: Vector, low: Vector, out: Light) -> None:
    """Write what is behind everything: light from above to below, and the lines of the floor.

    Args:
        lens: The eye, in the points of ``out``.
        floor: The ground.
        high: Colour at the upper edge, shape ``(3,)``.
        low: Colour at the lower edge.
        out: Shape ``(height, width, 3)``.
    """
    height, width = out.shape[0], out.shape[1]
    eye = lens.axes
    for y in range(height):
        s = (y + 0.5) / height
        for x in range(width):
            ink = 0.0
            dx, dy, dz = ray(x + 0.5, y + 0.5, lens)
            far = (floor.height - eye[0, 2]) / dz if floor.exists and dz != 0.0 else -1.0
            if far > 0.0:
                px, py = eye[0, 0] + far * dx, eye[0, 1] + far * dy
                ox, oy = px - floor.middle[0], py - floor.middle[1]
                near = 1.0 - (np.sqrt(ox * ox + oy * oy) / floor.reach - 0.25) / 0.75
                if near > 0.0:
                    near = min(near, 1.0)
                    near = near * near * (3.0 - 2.0 * near)
                    # How far a neighbouring point of the picture is, across the lines.
                    ex, ey, ez = ray(x + 1.5, y + 0.5, lens)
                    gx, gy, gz = ray(x + 0.5, y + 1.5, lens)
                    more = floor.height - eye[0, 2]
                    wide = abs(more / ez * ex - far * dx) + abs(more / gz * gx - far * dx)
                    deep = abs(more / ez * ey - far * dy) + abs(more / gz * gy - far * dy)
                    for k in range(2):
                        cell = floor.cell * (1.0 + 4.0 * k)
                        a = abs(px / cell - np.round(px / cell)) * cell / wide
                        b = abs(py / cell - np.round(py / cell)) * cell / deep
                        line = max(0.0, 1.1 - min(a, b))
                        crowd = 1.0 - min(1.6 * max(wide, deep) / cell, 1.0)
                        ink = max(ink, (0.45 + 0.4 * k) * min(line, 1.0) * crowd * near)
            for k in range(3):
                plain = high[k] * (1.0 - s) + low[k] * s
                out[y, x, k] = plain * (1.0 - ink) + floor.line[k] * ink


@compiled
def write_light(
    depth: Depths, ids: Numbers, finer: int, bodies: ShadedTriangles, lens: Pinhole,
    lamp: SunLight,
    floor: FloorGrid, backdrop: Light, out: Light,
) -> None:  # fmt: skip
    """Write the light of everything that is not transparent.

    Args:
        depth: Inverse distances, shape ``(finer height, finer width)``.
        ids: Numbers of triangles, -1 for none.
        finer: So many points of these stand for one of the picture, along each axis.
        bodies: What there is.
        lens: The eye, in the points of ``depth``.
        lamp: The sun.
        floor: The ground.
        backdrop: See `write_backdrop`, shape ``(height, width, 3)``.
        out: Receives the light, of the same shape.
    """
    height, width = out.shape[0], out.shape[1]
    eye, share = lens.axes, 1.0 / (finer * finer)
    for y in range(height):
        for x in range(width):
            first, same = ids[y * finer, x * finer], True
            for v in range(finer):
                for u in range(finer):
                    same &= ids[y * finer + v, x * finer + u] == first
            red, green, blue, bare = 0.0, 0.0, 0.0, 0
            if same and first >= 0:
                a, b = (x + 0.5) * finer, (y + 0.5) * finer
                inverse = 0.0
                for v in range(finer):
                    for u in range(finer):
                        inverse += depth[y * finer + v, x * finer + u]
                red, green, blue = surface(a, b, inverse * share, first, bodies, lens, lamp)
            elif same:
                bare = finer * finer
            else:
                for v in range(finer):
                    for u in range(finer):
                        row, column = y * finer + v, x * finer + u
                        number = ids[row, column]
                        if number < 0:
                            bare += 1
                            continue
                        one = surface(
                            column + 0.5, row + 0.5, depth[row, column], number, bodies, lens, lamp
                        )
                        red, green, blue = red + one[0], green + one[1], blue + one[2]
                red, green, blue = red * share, green * share, blue * share
            if bare > 0:
                lit = 1.0
                dx, dy, dz = ray((x + 0.5) * finer, (y + 0.5) * finer, lens)
                far = (floor.height - eye[0, 2]) / dz if floor.exists and dz != 0.0 else -1.0
                if far > 0.0:
                    px, py = eye[0, 0] + far * dx, eye[0, 1] + far * dy
                    lit = 1.0 - DARK * (1.0 - sunlight(px, py, floor.height, lamp, 2.5))
                lit *= bare * share
                red += lit * backdrop[y, x, 0]
                green += lit * backdrop[y, x, 1]
                blue += lit * backdrop[y, x, 2]
            out[y, x, 0], out[y, x, 1], out[y, x, 2] = red, green, blue


@compiled
def blend_bodies(
    depth: Depths, ids: Numbers, finer: int, opacity: float, bodies: ShadedTriangles,
    lens: Pinhole,
    lamp: SunLight, out: Light,
) -> None:  # fmt: skip
    """Mix the light of what is transparent into a picture; its arrays are those of `write_light`.

    The numbers of its triangles are undone, for the next.
    """
    height, width = out.shape[0], out.shape[1]
    share = opacity / (finer * finer)
    for y in range(height):
        for x in range(width):
            red, green, blue, coverage = 0.0, 0.0, 0.0, 0.0
            for v in range(finer):
                for u in range(finer):
                    row, column = y * finer + v, x * finer + u
                    number = ids[row, column]
                    if number >= 0:
                        one = surface(
                            column + 0.5, row + 0.5, depth[row, column], number, bodies, lens, lamp
                        )
                        red, green, blue = red + one[0], green + one[1], blue + one[2]
                        coverage += share
                        ids[row, column] = -1
            if coverage > 0.0:
                out[y, x, 0] = out[y, x, 0] * (1.0 - coverage) + red * share
                out[y, x, 1] = out[y, x, 1] * (1.0 - coverage) + green * share
                out[y, x, 2] = out[y, x, 2] * (1.0 - coverage) + blue * share


@compiled
def blend_line(coverage: Depths, opacity: float, color: Vector, out: Light) -> None:
    """Mix a colour into a picture by the `raster_kernels.line_coverage`, which becomes zero."""
    height, width = coverage.shape
    for y in range(height):
        for x in range(width):
            if coverage[y, x] > 0.0:
                share = coverage[y, x] * opacity
                for k in range(3):
                    out[y, x, k] = out[y, x, k] * (1.0 - share) + color[k] * share
                coverage[y, x] = 0.0


@compiled
def write_screen(light: Light, levels: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Write the numbers of a screen, from a table of them for light from 0 to 1."""
    height, width = light.shape[0], light.shape[1]
    max_level = len(levels) - 1
    for y in range(height):
        for x in range(width):
            for k in range(3):
                share = min(max(light[y, x, k], 0.0), 1.0)
                out[y, x, k] = levels[int(share * max_level + 0.5)]
