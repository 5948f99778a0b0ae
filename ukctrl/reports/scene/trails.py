"""Where frames of a run went, and where they should: trails and references."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Indices
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.stage import Actor, Curve
from ukctrl.simulation.result.result import Result

SPECK = 0.05
"""What is smaller than this part of its way leaves a trail, where no frame does."""
MOST_WAYS = 12
"""Unless there are more of them."""


def trails(result: Result, at: Indices, name: str, color: str, *, first: bool) -> list[Curve]:
    """Return the trails of the recorded frames, and their references for the first of runs."""
    if not np.isfinite(result["frame_position"]).any():
        return []
    position = _visible(result["frame_position"][at])
    wanted = result["frame_reference"][at] if "frame_reference" in result.samples else None
    found = []
    for k, frame in enumerate(result.labels.frames):
        own = color or style.PALETTE[k % len(style.PALETTE)]
        if first and wanted is not None:
            # A frame that is held along some axes only is shown where it went along the others.
            reference = np.where(np.isnan(wanted[:, k]), position[:, k], wanted[:, k])
            reference[np.isnan(wanted[:, k]).all(axis=1)] = np.nan
            if np.isfinite(_visible(reference)).all(axis=1).any():
                shade = style.MUTED if color else own
                found.append(
                    Curve(
                        name=frame,
                        points=_visible(reference),
                        kind="reference",
                        color=shade,
                        group="reference",
                    )
                )
        found.append(
            Curve(name=frame, points=position[:, k], kind="trail", color=own, group=name or "robot")
        )
    return found


def ways(actor: Actor) -> list[Curve]:
    """Return the trails of what is small beside its own way, such as particles."""
    position = _visible(actor.poses.position)
    own: dict[int, float] = {}
    for part in actor.look.parts:
        size = float(np.ptp(part.mesh.vertices, axis=0).max(initial=0.0))
        own[part.carrier] = max(own.get(part.carrier, 0.0), size)
    way = np.nan_to_num(np.ptp(position, axis=0).max(axis=-1))
    still = np.ptp(actor.poses.stretch, axis=0) == 0.0  # what is stretched is a rope or a rod
    least = SPECK * way.max(initial=0.0)
    moving = [c for c, size in own.items() if still[c] and size < least and way[c] > 0.0]
    small = list({position[:, c].tobytes(): c for c in moving[::-1]}.values())[::-1]  # each once
    if len(small) > MOST_WAYS:
        return []
    return [
        Curve(
            name=actor.look.carriers[c],
            points=position[:, c],
            kind="trail",
            color=actor.color or style.PALETTE[k % len(style.PALETTE)],
            group=actor.group,
        )
        for k, c in enumerate(small)
    ]


def _visible(points: Array) -> Array:
    """Return points with NaN for those that are nowhere."""
    near = (np.abs(points) < extent.FARTHEST).all(axis=-1, keepdims=True)
    return np.where(near, points, np.nan)
