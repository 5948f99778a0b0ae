"""What arrows look like, whoever draws them: straight for a force, an arc about its axis for a
torque, as long as their size is beside the largest of their kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Vector
from ukctrl.reports.plot import style
from ukctrl.reports.scene.scene import Arrow

COLORS: Mapping[str, str] = {"inputs": style.PALETTE[1], "reactions": style.PALETTE[3]}
"""By what is shown or hidden at once."""
AT_LIMIT = style.ALERT
"""Colour of an input that is at its limit."""
LONGEST, RADIUS, FULL_TURN, MIN_ARROW_SHARE = 0.24, 0.075, 5.0, 0.004
"""Of the scene's size: the largest force, and the radius of a torque's arc; the largest torque's
angle [rad]; the share of the largest below which nothing is drawn."""
THICK, HEAD = 0.0055, 0.033
"""Of the scene's size: half the width of a shaft, and the length of a head."""
ARC = 40
"""Pieces of a whole arc."""


class ArrowShape(NamedTuple):
    """An arrow at a moment."""

    shaft: Array
    """Its points, from its tail to where its head begins, shape ``(k, 3)`` [m]."""
    ahead: Vector
    """Where its head points, of unit length, shape ``(3,)``."""
    share: float
    """How large it is beside the largest of its kind, to 1."""


def largest_by_kind(arrows: Iterable[Arrow]) -> dict[tuple[str, str], float]:
    """Return the largest size over time of arrows, by group and unit."""
    sizes: dict[tuple[str, str], float] = {}
    for arrow in arrows:
        size = float(np.nan_to_num(np.linalg.norm(arrow.vector, axis=1)).max(initial=0.0))
        kind = arrow.group, arrow.unit
        sizes[kind] = max(sizes.get(kind, 0.0), size)
    return sizes


def arrow_shape(
    tail: Vector, vector: Vector, unit: str, largest: float, size: float
) -> ArrowShape | None:
    """Return what an arrow looks like; None where there is nothing to see.

    Args:
        tail: Where it acts, shape ``(3,)`` [m].
        vector: Its value, shape ``(3,)`` [N or N m].
        unit: Of its value; that of a torque gives an arc.
        largest: The largest of its kind.
        size: Of the scene [m].
    """
    length = float(np.linalg.norm(vector))
    share = min(length / (largest or 1.0), 1.0)  # in this order NaN stays NaN
    if not share > MIN_ARROW_SHARE or not np.isfinite(tail).all():
        return None
    along = vector / length
    if unit == "N":
        return ArrowShape(np.stack([tail, tail + LONGEST * size * share * along]), along, share)
    arc = _arc(tail, along, RADIUS * size, FULL_TURN * share)
    direction = arc[-1] - arc[-2]
    return ArrowShape(arc, direction / max(float(np.linalg.norm(direction)), 1e-12), share)


def arrow_tips(arrows: Sequence[Arrow], size: float) -> Array:
    """Return where heads of forces end, over time, shape ``(k, 3)`` [m].

    Args:
        arrows: All of a scene.
        size: Of the scene [m].
    """
    largest = largest_by_kind(arrows)
    ends = [
        arrow.tail
        + (
            LONGEST / largest[arrow.group, arrow.unit]
            + HEAD / np.linalg.norm(arrow.vector, axis=1, keepdims=True).clip(1e-300)
        )
        * size
        * arrow.vector
        for arrow in arrows
        if arrow.unit == "N"
    ]
    tips = np.concatenate([np.empty((0, 3)), *ends])
    finite_tips: Array = tips[np.isfinite(tips).all(axis=1)]
    return finite_tips


def _arc(middle: Vector, axis: Vector, radius: float, angle: float) -> Array:
    """Return points of an arc about an axis, anticlockwise as seen from its end."""
    aside = np.cross(axis, np.eye(3)[int(np.abs(axis).argmin())])
    aside /= np.linalg.norm(aside)
    turns = np.linspace(0.0, angle, max(3, int(ARC * angle / FULL_TURN)))[:, None]
    around = np.cos(turns) * aside + np.sin(turns) * np.cross(axis, aside)
    points: Array = middle + radius * around
    return points
