"""A scene as data for a page: whole numbers of 16 bits, equal meshes once, packed and compressed.

The page's script reads it back. One text tells what there is; all numbers lie in one block, which
is compressed and written in base64.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.scene import Actor, Scene
from ukctrl.reports.visual.pose_kernels import make_continuous
from ukctrl.reports.visual.visual_model import HEX_COLOR, Poses, VisualPart
from ukctrl.robot.geometry.primitive_meshes import Mesh, box

MOTION_BYTES = 600_000
"""So many bytes of poses, curves and arrows a page takes before they are compressed."""
MESH_BYTES = 3_000_000
"""And so many of meshes; of more, the largest are drawn as boxes."""
FEWEST = 40
"""A motion is never told by fewer moments."""
LEVELS = 65_534
"""A column of numbers has so many steps between its smallest and its largest; one more is NaN."""


class PageData(NamedTuple):
    """What a page needs to show a scene."""

    head: dict[str, Any]
    """Names, colours, and where in the block which numbers are."""
    block: str
    """Base64 of the compressed numbers."""
    still: str = ""
    """An ``<svg>`` of its end."""


def page_data(scene: Scene) -> PageData:
    """Return a scene as data, with fewer moments where it would be too large for a page."""
    scene, notes = _thin_moments(scene)
    pool = _NumberBlock()
    boxed = _meshes_to_box(scene)
    if boxed:
        count = len(boxed)
        notes.append(
            f"{count} {'mesh is' if count == 1 else 'meshes are'} too large for a page and drawn "
            f"as {'a box' if count == 1 else 'boxes'}."
        )
    head = {
        "title": scene.title,
        "time": pool.columns(scene.time[:, None]),
        "span": [float(scene.time[0]), float(scene.time[-1])],
        "view": extent.view_axes(scene.low, scene.high, scene.up)[2].tolist(),
        "low": scene.low.tolist(),
        "high": scene.high.tolist(),
        "ground": scene.ground,
        "up": list(scene.up),
        "notes": [*scene.notes, *notes],
        "actors": [_actor(actor, pool, boxed) for actor in scene.actors],
        "curves": [
            {"name": item.name, "kind": item.kind, "color": color_of(item.color),
             "group": item.group, "points": pool.columns(item.points)}
            for item in scene.curves
        ],
        "arrows": [
            {"name": item.name, "unit": item.unit, "group": item.group,
             "tail": pool.columns(item.tail), "vector": pool.columns(item.vector)}
            for item in scene.arrows
        ],
        "joints": [joint._asdict() for joint in scene.joints],
    }  # fmt: skip
    head["meshes"] = pool.meshes
    head["size"] = pool.size
    return PageData(head, pool.block())


class _NumberBlock:
    """The block of numbers, and the meshes that are in it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.meshes: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}

    def columns(self, values: Array) -> list[int]:
        """Add columns of numbers over time; return their count, their number, and where they are.

        Each is told by its smallest value and a step; one that does not move by its value alone.
        """
        finite = np.isfinite(values)
        lower = np.where(finite, values, np.inf).min(axis=0, initial=np.inf)
        upper = np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf)
        somewhere = finite.any(axis=0)
        moving = np.flatnonzero(somewhere & ((upper > lower) | ~finite.all(axis=0)))
        low = np.where(somewhere, lower, np.nan).astype(np.float32)
        step = np.zeros_like(low)
        across = np.maximum(upper[moving] - low[moving].astype(float), 0.0)
        # Rounded up: counted from the rounded low, the largest value is still within the steps.
        step[moving] = np.nextafter((across / LEVELS).astype(np.float32), np.float32(np.inf))
        chosen = values[:, moving]
        levels = (chosen - low[moving].astype(float)) / step[moving].astype(float)
        levels = np.where(np.isfinite(levels), np.clip(np.round(levels), 0, LEVELS), LEVELS + 1)
        whole = levels.T.astype(np.uint16)
        deltas = np.diff(whole, axis=1, prepend=np.uint16(0))  # they compress; sums wrap around
        entry = [*values.shape, self.size]
        self._add(low.astype("<f4"), step.astype("<f4"), deltas.astype("<u2"))
        return entry

    def mesh(self, mesh: Mesh) -> int:
        """Add a mesh, unless it is there; return its number."""
        key: Any = id(mesh)
        if key not in self._known:
            entry, arrays = _packed(mesh)
            content = (mesh.vertices.tobytes(), mesh.faces.tobytes())
            if content not in self._known:
                self._known[content] = len(self.meshes)
                self.meshes.append(entry | {"at": self.size})
                self._add(*arrays)
            self._known[key] = self._known[content]
        return self._known[key]

    def _add(self, *arrays: NDArray[Any]) -> None:
        data = b"".join(array.tobytes() for array in arrays)
        data += bytes(-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)

    def block(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self.parts), 6)).decode()


def _packed(mesh: Mesh) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return what a page knows of a mesh, and its vertices and faces as whole numbers."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = np.where(high > low, (high - low) / LEVELS, 1.0)
    levels = np.round((mesh.vertices - low) / step).astype("<u2")
    wide = len(levels) > LEVELS
    entry = {
        "low": [float(f"{value:.7g}") for value in low],
        "step": [float(f"{value:.7g}") for value in step],
        "vertices": len(levels),
        "faces": len(mesh.faces),
        "wide": wide,
    }
    # First all faces: they stay aligned, and lie close to those of the next mesh.
    return entry, [mesh.faces.astype("<u4" if wide else "<u2"), levels]


def _actor(actor: Actor, pool: _NumberBlock, boxed: dict[int, Mesh]) -> dict[str, Any]:
    poses, quaternion = actor.poses, actor.poses.quaternion.copy()
    make_continuous(quaternion)
    n, c = poses.stretch.shape
    visuals, texts = [], []
    for visual in actor.visuals.parts:
        if visual.text:
            texts.append([visual.text, visual.frame])
        if is_drawable(visual):
            mesh = boxed.get(id(visual.mesh), visual.mesh)
            color = color_of(actor.color) or color_of(visual.color)
            visuals.append([pool.mesh(mesh), visual.frame, color, visual.opacity * actor.opacity])
    return {
        "name": actor.name,
        "group": actor.group,
        "carriers": list(actor.visuals.frame_names),
        "parts": visuals,
        "texts": texts,
        "position": pool.columns(poses.position.reshape(n, 3 * c)),
        "quaternion": pool.columns(quaternion.reshape(n, 4 * c)),
        "stretch": pool.columns(poses.stretch),
    }


def is_drawable(visual: VisualPart) -> bool:
    """Whether a part has a mesh that can be drawn."""
    mesh = visual.mesh
    return len(mesh.faces) > 0 and bool(np.isfinite(mesh.vertices).all())


def color_of(text: str) -> str:
    """Return a colour as a page has it: its own series by name; empty for one that is none."""
    if text in style.PALETTE:
        return f"--series-{style.PALETTE.index(text)}"
    if text == style.MUTED:
        return "--muted"
    return text if HEX_COLOR.fullmatch(text) else ""


def _box_of(mesh: Mesh) -> Mesh:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    return box(*(high - low)).moved(np.eye(3), 0.5 * (low + high))


def _size(mesh: Mesh) -> int:
    return 6 * len(mesh.vertices) + (12 if len(mesh.vertices) > LEVELS else 6) * len(mesh.faces)


def _meshes_to_box(scene: Scene) -> dict[int, Mesh]:
    """Return boxes, by `id` of the meshes that they replace, for a page to stay small."""
    meshes = {id(p.mesh): p.mesh for a in scene.actors for p in a.visuals.parts if is_drawable(p)}
    sizes = sorted((_size(mesh), key) for key, mesh in meshes.items())
    total, boxed = sum(size for size, _ in sizes), {}
    while total > MESH_BYTES:
        size, key = sizes.pop()
        total -= size
        boxed[key] = _box_of(meshes[key])
    return boxed


def _thin_moments(scene: Scene) -> tuple[Scene, list[str]]:
    """Return a scene with as many moments as a page has room for, and what is to be said of it."""
    arrays = [array for actor in scene.actors for array in actor.poses]
    arrays += [curve.points for curve in scene.curves]
    arrays += [array for arrow in scene.arrows for array in (arrow.tail, arrow.vector)]
    moving = sum(int((array != array[:1]).any(axis=0).sum()) for array in arrays)
    count = len(scene.time)
    capacity = max(FEWEST, MOTION_BYTES // (2 * moving + 2))
    if count <= capacity:
        return scene, []
    indices = np.unique(np.linspace(0, count - 1, capacity).round().astype(int))
    thin = dc.replace(
        scene,
        time=scene.time[indices],
        actors=tuple(
            dc.replace(item, poses=Poses(*(array[indices] for array in item.poses)))
            for item in scene.actors
        ),
        curves=tuple(dc.replace(item, points=item.points[indices]) for item in scene.curves),
        arrows=tuple(
            dc.replace(
                item,
                tail=item.tail[indices],
                vector=item.vector[indices],
                limited=item.limited[np.minimum(indices, len(item.limited) - 1)],
            )
            for item in scene.arrows
        ),
    )
    return thin, [f"The 3-D view shows {len(indices)} of {count} time steps; the figures show all."]
