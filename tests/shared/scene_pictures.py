"""Pictures of a scene without words, at one moment or at several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.reports.scene.scene import Scene
from ukctrl_film.camera import Camera
from ukctrl_film.film import _spread
from ukctrl_film.scene_renderer import Picture, SceneRenderer


def picture(
    scene: Scene,
    time: float | None = None,
    *,
    size: tuple[int, int] = (1280, 720),
    camera: Camera | None = None,
) -> Picture:
    """Return what a scene looks like, without words.

    Args:
        scene: The scene.
        time: At which time [s]; absent: at its end.
        size: Width and height, in points.
        camera: From where; absent: as the page does.

    Raises:
        InputError: A picture cannot have that size.
    """
    painter = SceneRenderer(scene, size, camera)
    return painter.draw([scene.time[-1] if time is None else time])


def strip(
    scene: Scene,
    times: Sequence[float] | int,
    *,
    size: tuple[int, int] = (1280, 720),
    camera: Camera | None = None,
) -> Picture:
    """Return a picture of several moments of a scene; the earlier, the paler.

    Args:
        scene: The scene.
        times: The moments, ascending [s], or how many, evenly over the scene.
        size: Width and height, in points.
        camera: From where; absent: as the page does.
    """
    chosen = _spread(scene, times) if isinstance(times, int) else np.asarray(times, dtype=float)
    return SceneRenderer(scene, size, camera).draw(chosen.tolist())
