"""Meshes for renderers that shade smoothly across every vertex."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ukctrl.robot.look.meshes import CREASE, Mesh


def creased(mesh: Mesh) -> Mesh:
    """Return a mesh whose faces share a vertex only where the surface is smooth there."""
    _, place = np.unique(mesh.vertices.round(9), axis=0, return_inverse=True)
    faces = place.reshape(-1)[mesh.faces]
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    kept = size > 0.0
    faces, corners = faces[kept], corners[kept]
    normals = normals[kept] / size[kept, None]
    # Each edge of each face, with its ends in one order, beside the next of the same edge.
    start, end = np.arange(faces.size), np.arange(faces.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    ends = faces.ravel()[np.stack([start, end], axis=1)]
    turned = ends[:, 0] > ends[:, 1]
    first, second = np.where(turned, end, start), np.where(turned, start, end)
    ends = np.sort(ends, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    one, other = order[:-1], order[1:]
    alike = (ends[one] == ends[other]).all(axis=1)
    flat = (normals[one // 3] * normals[other // 3]).sum(axis=1) > np.cos(CREASE)
    one, other = one[alike & flat], other[alike & flat]
    rows = np.concatenate([first[one], second[one]])
    columns = np.concatenate([first[other], second[other]])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(faces.size, faces.size))
    count, label = connected_components(graph, directed=False)
    vertices = np.zeros((count, 3))
    vertices[label] = corners.reshape(-1, 3)
    return Mesh(vertices, label.reshape(-1, 3))
