"""Words on a picture: its title, the clock, names and colours, and what parts have written on them.

They are drawn onto a finished picture in the font of the figures.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.reports.plot import style
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.scene import Scene
from ukctrl_film.pose_interpolation import bracket, interpolate_poses

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

    from ukctrl_film.scene_renderer import Picture, SceneRenderer

SMALL = 11
"""Letters are never smaller than this, in points."""
NO_TITLE = 360
"""A picture that is less wide has no title and no legend."""
MOST_NAMES = 8


class Caption(NamedTuple):
    """A text at a place."""

    text: str
    right: float
    """In points of the picture."""
    down: float
    size: float
    color: str
    anchor: str
    """As Pillow has it: ``l``, ``m``, ``r`` and then ``a`` (top), ``m``, ``s`` (base line)."""


def captions(painter: SceneRenderer, time: float, clock: str) -> list[Caption]:
    """Return what is written on the picture of a moment.

    Args:
        painter: What draws it.
        time: The moment [s].
        clock: What the clock shows; empty: there is none.
    """
    scene, width, height = painter.scene, painter.width, painter.height
    size = max(float(SMALL), min(width, height) / 32.0)
    edge = 0.9 * size
    labels = _part_captions(painter, time, 0.9 * size)
    if clock:
        labels.append(Caption(clock, edge, height - edge, size, style.MUTED, "ls"))
    if width < NO_TITLE:
        return labels
    title = _fit_text(scene.title, size, width - 2.0 * edge)
    labels.append(Caption(title, edge, edge, size, style.INK, "la"))
    named = {actor.name: actor.color for actor in scene.actors if actor.color}
    named |= {group: arrow_shapes.COLORS[group] for group in painter.arrow_groups}
    pushing = [arrow for arrow in scene.arrows if arrow.group in painter.arrow_groups]
    up = 0.0
    for group, is_said in (("inputs", "at its limit"), ("reactions", "slides")):
        arrows = [arrow for arrow in pushing if arrow.group == group]
        bound = [arrow.name for arrow in arrows if arrow.is_limited(time, scene.time)]
        if bound:
            text = _fit_text(f"{is_said}: {', '.join(bound)}", size, 0.6 * width)
            labels.append(Caption(text, width - edge, height - edge - up, size, style.ALERT, "rs"))
            up += 1.35 * size
    for row, (name, color) in enumerate(list(named.items())[:MOST_NAMES]):
        at = edge + (row + 1.6) * 1.35 * size
        text = _fit_text(f"● {name}", 0.9 * size, 0.5 * width)
        labels.append(Caption(text, edge, at, 0.9 * size, color, "la"))
    return labels


def draw_captions(picture: Picture, texts: list[Caption]) -> Picture:
    """Return a picture with words on it."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for word in texts:
        draw.text(
            (word.right, word.down),
            word.text,
            fill=word.color,
            font=font(round(word.size)),
            anchor=word.anchor,
        )
    return np.asarray(image)


def clock_text(scene: Scene, time: float, speed: float) -> str:
    """Return what the clock shows; nothing where no time passes."""
    if len(scene.time) < 2:
        return ""
    span = float(scene.time[-1] - scene.time[0])
    digits = int(np.clip(2 - np.floor(np.log10(span if span > 0.0 else 1.0)), 1, 6))
    pace = "" if speed == 1.0 else f"    {speed:.3g} x"
    return f"{time:.{digits}f} s{pace}"


@functools.cache
def font(size: int) -> FreeTypeFont:
    """Return the figures' font, which comes with Matplotlib."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)


def _fit_text(text: str, size: float, width: float) -> str:
    """Return text on one line that is no wider than there is room."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text[:400]).split())
    letters = font(round(size))
    if letters.getlength(text) <= width:
        return text
    while text and letters.getlength(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"


def _part_captions(painter: SceneRenderer, time: float, size: float) -> list[Caption]:
    """Return what parts have written on them, where they are."""
    lower, share = bracket(painter.scene.time, np.array([time]))
    labels = []
    for actor in painter.scene.actors:
        labelled = [visual for visual in actor.visuals.parts if visual.text]
        if not labelled:
            continue
        positions = interpolate_poses(actor.poses, lower, share).position[0]
        at = painter.points(positions[[visual.frame for visual in labelled]])
        for visual, (right, down, inverse) in zip(labelled, at.tolist(), strict=True):
            if inverse > 0.0 and abs(right) < 1e5 and abs(down) < 1e5:
                text = _fit_text(visual.text, size, painter.width)
                labels.append(Caption(text, right, down, size, style.INK, "mm"))
    return labels
