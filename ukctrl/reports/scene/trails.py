"""Where frames of a run went, and where they should: trails and references."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Indices
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.scene import Actor, SceneCurve
from ukctrl.simulation.result.result import Result

PARTICLE_SHARE = 0.05
"""What is smaller than this part of its way leaves a trail, where no frame does."""
MAX_PARTICLE_TRAILS = 12
"""Unless there are more of them."""


def frame_trails(
    result: Result, at: Indices, name: str, color: str, *, first: bool
) -> list[SceneCurve]:
    """Return the trails of the recorded frames, and their references for the first of runs."""
    if not np.isfinite(result["frame_position"]).any():
        return []
    position = _visible(result["frame_position"][at])
    references = result["frame_reference"][at] if "frame_reference" in result.samples else None
    curves = []
    for k, frame in enumerate(result.labels.frames):
        frame_color = color or style.PALETTE[k % len(style.PALETTE)]
        if first and references is not None:
            # A frame that is held along some axes only is shown where it went along the others.
            reference = np.where(np.isnan(references[:, k]), position[:, k], references[:, k])
            reference[np.isnan(references[:, k]).all(axis=1)] = np.nan
            if np.isfinite(_visible(reference)).all(axis=1).any():
                shade = style.MUTED if color else frame_color
                curves.append(
                    SceneCurve(
                        name=frame,
                        points=_visible(reference),
                        kind="reference",
                        color=shade,
                        group="reference",
                    )
                )
        curves.append(
            SceneCurve(
                name=frame,
                points=position[:, k],
                kind="trail",
                color=frame_color,
                group=name or "robot",
            )
        )
    return curves


def particle_trails(actor: Actor) -> list[SceneCurve]:
    """Return the trails of what is small beside its own way, such as particles."""
    position = _visible(actor.poses.position)
    sizes: dict[int, float] = {}
    for visual in actor.visuals.parts:
        size = float(np.ptp(visual.mesh.vertices, axis=0).max(initial=0.0))
        sizes[visual.frame] = max(sizes.get(visual.frame, 0.0), size)
    travel = np.nan_to_num(np.ptp(position, axis=0).max(axis=-1))
    still = np.ptp(actor.poses.stretch, axis=0) == 0.0  # what is stretched is a rope or a rod
    threshold = PARTICLE_SHARE * travel.max(initial=0.0)
    moving = [c for c, size in sizes.items() if still[c] and size < threshold and travel[c] > 0.0]
    small = list({position[:, c].tobytes(): c for c in moving[::-1]}.values())[::-1]  # each once
    if len(small) > MAX_PARTICLE_TRAILS:
        return []
    return [
        SceneCurve(
            name=actor.visuals.frame_names[c],
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
