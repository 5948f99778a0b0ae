"""Which triangle is seen in which point of a picture, and how much of it a line covers; compiled.

The eye looks along negative ``toward``. A point of the picture keeps the inverse of its distance
along that, which is linear over a triangle, and the number of the triangle that is nearest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled

Depths = NDArray[np.float32]
Numbers = NDArray[np.int32]
MOST_AROUND = 256
"""A vertex with more triangles than this is not smoothed."""


@compiled
def write_normals(
    corners: Indices, starts: Indices, sides: Matrix, crease: float, out: NDArray[np.float32]
) -> None:
    """Write the normal of each corner of each triangle: the mean over the smooth surface around it.

    Args:
        corners: Corners, ``3 * triangle + k``, vertex by vertex, shape ``(3 m,)``.
        starts: Where the corners of each vertex begin, shape ``(k + 1,)``.
        sides: Normals of the triangles, as long as twice their area, shape ``(m, 3)``.
        crease: Cosine of the angle above which two triangles meet in an edge.
        out: Receives unit vectors, shape ``(m, 3, 3)``.
    """
    for v in range(len(starts) - 1):
        for i in range(starts[v], starts[v + 1]):
            face, corner = corners[i] // 3, corners[i] % 3
            ax, ay, az = sides[face, 0], sides[face, 1], sides[face, 2]
            length = np.sqrt(ax * ax + ay * ay + az * az)
            x, y, z = ax, ay, az
            for j in range(starts[v], min(starts[v + 1], starts[v] + MOST_AROUND)):
                neighbour = corners[j] // 3
                bx, by, bz = sides[neighbour, 0], sides[neighbour, 1], sides[neighbour, 2]
                size = np.sqrt(bx * bx + by * by + bz * bz)
                if neighbour != face and ax * bx + ay * by + az * bz > crease * length * size:
                    x, y, z = x + bx, y + by, z + bz
            norm = np.sqrt(x * x + y * y + z * z)
            scale = 1.0 / norm if norm > 0.0 else 0.0
            out[face, corner, 0] = x * scale
            out[face, corner, 1] = y * scale
            out[face, corner, 2] = z * scale


@compiled
def vertices_to_world(
    local: Matrix, owners: Indices, turns: NDArray[np.float64], position: Matrix,
    stretch: Vector, world: Matrix,
) -> None:  # fmt: skip
    """Write where vertices are in the world.

    Args:
        local: Vertices in the axes of what carries them, shape ``(k, 3)`` [m].
        owners: What carries each, shape ``(k,)``.
        turns: Rotations of the carriers, shape ``(c, 3, 3)``.
        position: Their places, shape ``(c, 3)`` [m].
        stretch: Their factors along z, shape ``(c,)``.
        world: Receives the places, shape ``(k, 3)``.
    """
    for i in range(len(local)):
        c = owners[i]
        x, y, z = local[i, 0], local[i, 1], local[i, 2] * stretch[c]
        for k in range(3):
            world[i, k] = (
                position[c, k] + turns[c, k, 0] * x + turns[c, k, 1] * y + turns[c, k, 2] * z
            )


@compiled
def project(
    world: Matrix, axes: Matrix, focal: float, middle: Vector, near: float, out: Matrix
) -> None:
    """Write where points of the world are in a picture, and their inverse distances.

    Args:
        world: Shape ``(k, 3)`` [m].
        axes: Eye, right, above and toward, shape ``(4, 3)``.
        focal: Points of the picture for the tangent 1.
        middle: Of the picture, shape ``(2,)``.
        near: What is closer is behind the eye, with the inverse distance -1 [m].
        out: Receives right, down and inverse distance, shape ``(k, 3)``.
    """
    for i in range(len(world)):
        x, y, w = 0.0, 0.0, 0.0
        for k in range(3):
            along = world[i, k] - axes[0, k]
            x += along * axes[1, k]
            y += along * axes[2, k]
            w -= along * axes[3, k]
        if w > near:
            out[i, 0] = middle[0] + focal * x / w
            out[i, 1] = middle[1] - focal * y / w
            out[i, 2] = 1.0 / w
        else:
            out[i, 2] = -1.0


@compiled
def project_parallel(world: Matrix, axes: Matrix, scale: float, middle: float, out: Matrix) -> None:
    """Write where points are in a picture without perspective, and how near they are.

    Args:
        world: Shape ``(k, 3)`` [m].
        axes: What is in the middle, right, above and toward, shape ``(4, 3)``.
        scale: Points of the picture a metre.
        middle: Of the picture.
        out: Receives right, up and distance towards the eye, shape ``(k, 3)``.
    """
    for i in range(len(world)):
        x, y, w = 0.0, 0.0, 0.0
        for k in range(3):
            along = world[i, k] - axes[0, k]
            x += along * axes[1, k]
            y += along * axes[2, k]
            w += along * axes[3, k]
        out[i, 0], out[i, 1], out[i, 2] = middle + scale * x, middle + scale * y, w


@compiled
def fill(
    x0: float, y0: float, z0: float, x1: float, y1: float, z1: float,
    x2: float, y2: float, z2: float, number: int, depth: Depths, ids: Numbers,
) -> None:  # fmt: skip
    """Write a triangle into the points of a picture where it is the nearest."""
    height, width = depth.shape
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if not abs(area) > 1e-12:  # nor where it is no number
        return
    left = int(np.ceil(max(min(x0, x1, x2), 0.0) - 0.5))
    right = int(np.floor(min(max(x0, x1, x2), float(width)) - 0.5))
    top = int(np.ceil(max(min(y0, y1, y2), 0.0) - 0.5))
    bottom = int(np.floor(min(max(y0, y1, y2), float(height)) - 0.5))
    inverse = 1.0 / area
    step0, step1 = (y1 - y2) * inverse, (y2 - y0) * inverse
    for y in range(max(top, 0), min(bottom, height - 1) + 1):
        py, px = y + 0.5, left + 0.5
        w0 = ((x1 - px) * (y2 - py) - (x2 - px) * (y1 - py)) * inverse
        w1 = ((x2 - px) * (y0 - py) - (x0 - px) * (y2 - py)) * inverse
        for x in range(left, right + 1):
            w2 = 1.0 - w0 - w1
            if w0 >= 0.0 and w1 >= 0.0 and w2 >= 0.0:
                z = np.float32(w0 * z0 + w1 * z1 + w2 * z2)
                if z > depth[y, x]:
                    depth[y, x] = z
                    ids[y, x] = number
            w0 += step0
            w1 += step1


@compiled
def fill_all(
    points: Matrix, faces: Indices, first: int, last: int, depth: Depths, ids: Numbers
) -> None:
    """Write all triangles of a range that lie in front of the eye.

    Args:
        points: Of the vertices in the picture, shape ``(k, 3)``; see `project`.
        faces: Shape ``(m, 3)``.
        first: The first triangle of the range.
        last: The one behind it.
        depth: The nearest so far, shape ``(height, width)``.
        ids: The number of its triangle, of the same shape.
    """
    for i in range(first, last):
        a, b, c = faces[i, 0], faces[i, 1], faces[i, 2]
        fill(
            points[a, 0], points[a, 1], points[a, 2], points[b, 0], points[b, 1], points[b, 2],
            points[c, 0], points[c, 1], points[c, 2], i, depth, ids,
        )  # fmt: skip


@compiled
def fill_clipped(
    points: Matrix, world: Matrix, faces: Indices, first: int, last: int, axes: Matrix,
    focal: float, middle: Vector, near: float, depth: Depths, ids: Numbers,
) -> None:  # fmt: skip
    """Do what `fill_all` does, and cut triangles that reach behind the eye at the near plane."""
    for i in range(first, last):
        behind = 0
        for k in range(3):
            behind += points[faces[i, k], 2] < 0.0
        if behind == 0:
            fill_all(points, faces, i, i + 1, depth, ids)
        if behind == 0 or behind == 3:
            continue
        turn = 0  # so that the corner which is alone on its side comes first
        for k in range(3):
            alone = points[faces[i, k], 2] < 0.0
            if (behind == 1) == alone:
                turn = k
        a, b, c = faces[i, turn], faces[i, (turn + 1) % 3], faces[i, (turn + 2) % 3]
        xb, yb, zb = clip_edge(world, a, b, axes, focal, middle, near)
        xc, yc, zc = clip_edge(world, a, c, axes, focal, middle, near)
        if behind == 2:
            fill(
                points[a, 0], points[a, 1], points[a, 2], xb, yb, zb, xc, yc, zc, i, depth, ids
            )  # fmt: skip
        else:
            fill(
                xb, yb, zb, points[b, 0], points[b, 1], points[b, 2],
                points[c, 0], points[c, 1], points[c, 2], i, depth, ids,
            )  # fmt: skip
            fill(
                xb, yb, zb, points[c, 0], points[c, 1], points[c, 2], xc, yc, zc, i, depth, ids
            )  # fmt: skip


@compiled
def clip_edge(
    world: Matrix, a: int, b: int, axes: Matrix, focal: float, middle: Vector, near: float
) -> tuple[float, float, float]:
    """Return where the edge between two vertices crosses the near plane, in the picture."""
    xa, ya, wa, xb, yb, wb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        from_a, from_b = world[a, k] - axes[0, k], world[b, k] - axes[0, k]
        xa, ya, wa = xa + from_a * axes[1, k], ya + from_a * axes[2, k], wa - from_a * axes[3, k]
        xb, yb, wb = xb + from_b * axes[1, k], yb + from_b * axes[2, k], wb - from_b * axes[3, k]
    s = (near - wa) / (wb - wa)
    x, y = xa + s * (xb - xa), ya + s * (yb - ya)
    return middle[0] + focal * x / near, middle[1] - focal * y / near, 1.0 / near


@compiled
def line_coverage(
    points: Matrix, radius: float, min_radius: float, finer: int, depth: Depths, out: Depths
) -> None:
    """Write how much of each point of a picture a line with round ends covers, from 0 to 1.

    Where it is behind something it does not. Gaps are places that are not in front of the eye.

    Args:
        points: Of the line's points in the picture, shape ``(n, 3)``; one point gives a dot.
        radius: Half its width, times focal length [m].
        min_radius: Half its width is never less than this, in points.
        finer: So many points of ``depth`` stand for one of ``out``, along each axis.
        depth: Inverse distances of what is there, shape ``(finer height, finer width)``.
        out: Shape ``(height, width)``.
    """
    height, width = out.shape
    for i in range(max(len(points) - 1, 1)):
        j = min(i + 1, len(points) - 1)
        ax, ay, az, bx, by, bz = (
            points[i, 0], points[i, 1], points[i, 2], points[j, 0], points[j, 1], points[j, 2],
        )  # fmt: skip
        if not (az > 0.0 and bz > 0.0):
            continue
        thick = max(radius * max(az, bz), min_radius)
        dx, dy = bx - ax, by - ay
        square = dx * dx + dy * dy
        if not square < 1e12:
            continue
        left = int(max(min(ax, bx) - thick - 1.0, 0.0))
        right = int(min(max(ax, bx) + thick + 1.0, width - 1.0))
        top = int(max(min(ay, by) - thick - 1.0, 0.0))
        bottom = int(min(max(ay, by) + thick + 1.0, height - 1.0))
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                px, py = x + 0.5 - ax, y + 0.5 - ay
                s = (px * dx + py * dy) / square if square > 0.0 else 0.0
                s = min(max(s, 0.0), 1.0)
                ox, oy = px - s * dx, py - s * dy
                share = thick + 0.5 - np.sqrt(ox * ox + oy * oy)
                if share <= out[y, x]:
                    continue
                z = (az + s * (bz - az)) * 1.002  # half of it stands out of a surface that it is on
                free = 0
                for v in range(finer):
                    for u in range(finer):
                        free += depth[y * finer + v, x * finer + u] < z
                share = min(share, 1.0) * free / (finer * finer)
                if share > out[y, x]:
                    out[y, x] = share
