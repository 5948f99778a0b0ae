"""A scene as data for a page: whole numbers of 16 bits, equal meshes once, packed and compressed.

The page's script reads it back. One text tells what there is; all numbers lie in one block, which
is compressed and written in base64. `decoded` does what the script does.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import re
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.stage import Actor, Scene
from ukctrl.robot.look.meshes import Mesh, box
from ukctrl.robot.look.parts import Part, Poses

MOTION_BYTES = 600_000
"""So many bytes of poses, curves and arrows a page takes before they are compressed."""
MESH_BYTES = 3_000_000
"""And so many of meshes; of more, the largest are drawn as boxes."""
FEWEST = 40
"""A motion is never told by fewer moments."""
LEVELS = 65_534
"""A column of numbers has so many steps between its smallest and its largest; one more is NaN."""
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


class PageData(NamedTuple):
    """What a page needs to show a scene."""

    head: dict[str, Any]
    """Names, colours, and where in the block which numbers are."""
    block: str
    """Base64 of the compressed numbers."""


def page_data(scene: Scene) -> PageData:
    """Return a scene as data, with fewer moments where it would be too large for a page."""
    scene, notes = _thinned(scene)
    pool = _Pool()
    boxed = _too_large(scene)
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
        "view": extent.view(scene.low, scene.high, scene.up)[2].tolist(),
        "low": scene.low.tolist(),
        "high": scene.high.tolist(),
        "ground": scene.ground,
        "up": list(scene.up),
        "notes": [*scene.notes, *notes],
        "actors": [_actor(actor, pool, boxed) for actor in scene.actors],
        "curves": [
            {"name": each.name, "kind": each.kind, "color": color_of(each.color),
             "group": each.group, "points": pool.columns(each.points)}
            for each in scene.curves
        ],
        "arrows": [
            {"name": each.name, "unit": each.unit, "group": each.group,
             "tail": pool.columns(each.tail), "vector": pool.columns(each.vector)}
            for each in scene.arrows
        ],
    }  # fmt: skip
    head["meshes"] = pool.meshes
    head["size"] = pool.size
    return PageData(head, pool.block())


def decoded(data: PageData, entry: list[int]) -> Array:
    """Return the numbers of an entry such as ``head["time"]``, shape ``(n, k)``."""
    block = zlib.decompress(base64.b64decode(data.block))
    count, columns, start = entry
    ends = np.frombuffer(block, np.float32, 2 * columns, start).astype(float)
    low, step = ends[:columns], ends[columns:]
    values = np.repeat(low[None], count, axis=0)
    moving = np.flatnonzero(step)
    deltas = np.frombuffer(block, np.uint16, len(moving) * count, start + 8 * columns)
    levels = np.cumsum(deltas.reshape(len(moving), count), axis=1, dtype=np.uint16)
    values[:, moving] += np.where(levels > LEVELS, np.nan, levels).T * step[moving]
    return values


class _Pool:
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
        known = np.isfinite(values)
        least = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
        most = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
        somewhere = known.any(axis=0)
        moving = np.flatnonzero(somewhere & ((most > least) | ~known.all(axis=0)))
        low = np.where(somewhere, least, np.nan).astype(np.float32)
        step = np.zeros_like(low)
        across = np.maximum(most[moving] - low[moving].astype(float), 0.0)
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


def _actor(actor: Actor, pool: _Pool, boxed: set[int]) -> dict[str, Any]:
    poses = actor.poses
    n, c = poses.stretch.shape
    parts, texts = [], []
    for part in actor.look.parts:
        if part.text:
            texts.append([part.text, part.carrier])
        if usable(part):
            mesh = _box_of(part.mesh) if id(part.mesh) in boxed else part.mesh
            color = color_of(actor.color) or color_of(part.color)
            parts.append([pool.mesh(mesh), part.carrier, color, part.opacity * actor.opacity])
    return {
        "name": actor.name,
        "group": actor.group,
        "carriers": list(actor.look.carriers),
        "parts": parts,
        "texts": texts,
        "position": pool.columns(poses.position.reshape(n, 3 * c)),
        "quaternion": pool.columns(_continuous(poses.quaternion).reshape(n, 4 * c)),
        "stretch": pool.columns(poses.stretch),
    }


def usable(part: Part) -> bool:
    """Whether a part has a mesh that can be drawn."""
    mesh = part.mesh
    return len(mesh.faces) > 0 and bool(np.isfinite(mesh.vertices).all())


def color_of(text: str) -> str:
    """Return a colour as a page has it: its own series by name; empty for one that is none."""
    if text in style.PALETTE:
        return f"--series-{style.PALETTE.index(text)}"
    if text == style.MUTED:
        return "--muted"
    return text if _COLOR.fullmatch(text) else ""


def _continuous(quaternion: Array) -> Array:
    """Return quaternions that never jump to their negatives."""
    turns = (quaternion[1:] * quaternion[:-1]).sum(axis=-1) < 0.0
    signs = np.where(np.cumsum(turns, axis=0) % 2 == 1, -1.0, 1.0)
    smooth = quaternion.copy()
    smooth[1:] *= signs[..., None]
    return smooth


def _box_of(mesh: Mesh) -> Mesh:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    return box(*(high - low)).moved(np.eye(3), 0.5 * (low + high))


def _size(mesh: Mesh) -> int:
    return 6 * len(mesh.vertices) + (12 if len(mesh.vertices) > LEVELS else 6) * len(mesh.faces)


def _too_large(scene: Scene) -> set[int]:
    """Return which meshes, the largest first, must give way for a page to stay small."""
    every = {id(p.mesh): p.mesh for a in scene.actors for p in a.look.parts if usable(p)}
    sizes = sorted((_size(mesh), key) for key, mesh in every.items())
    total, boxed = sum(size for size, _ in sizes), set()
    while total > MESH_BYTES:
        size, key = sizes.pop()
        total -= size
        boxed.add(key)
    return boxed


def _thinned(scene: Scene) -> tuple[Scene, list[str]]:
    """Return a scene with as many moments as a page has room for, and what is to be said of it."""
    every = [array for actor in scene.actors for array in actor.poses]
    every += [curve.points for curve in scene.curves]
    every += [array for arrow in scene.arrows for array in (arrow.tail, arrow.vector)]
    moving = sum(int((array != array[:1]).any(axis=0).sum()) for array in every)
    count = len(scene.time)
    most = max(FEWEST, MOTION_BYTES // (2 * moving + 2))
    if count <= most:
        return scene, []
    kept = np.unique(np.linspace(0, count - 1, most).round().astype(int))
    thin = dc.replace(
        scene,
        time=scene.time[kept],
        actors=tuple(
            dc.replace(each, poses=Poses(*(array[kept] for array in each.poses)))
            for each in scene.actors
        ),
        curves=tuple(dc.replace(each, points=each.points[kept]) for each in scene.curves),
        arrows=tuple(
            dc.replace(
                each,
                tail=each.tail[kept],
                vector=each.vector[kept],
                limited=each.limited[np.minimum(kept, len(each.limited) - 1)],
            )
            for each in scene.arrows
        ),
    )
    return thin, [f"Of {count} moments the picture holds {len(kept)}; figures hold them all."]
