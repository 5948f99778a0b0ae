"""Work of ``ukctrl view --record``, which imports this module by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.cli.terminal.lines import print_lines
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.core.errors import InputError
from ukctrl.reports.scene.scene import Scene
from ukctrl_film.camera import Camera
from ukctrl_film.film import record


def film_options(
    fps: int, size: str, camera: str | None, speed: float, strip: int, show: str | None
) -> dict[str, Any]:
    """Return the arguments of `record` that options give.

    Raises:
        InputError: A size or a camera is none.
    """
    wide, _, high = size.partition("x")
    if not (wide.isdecimal() and high.isdecimal() and int(wide) and int(high)):
        raise InputError(f"--size must be WIDTHxHEIGHT, such as 1280x720; got '{size}'.")
    return {
        "fps": fps,
        "size": (int(wide), int(high)),
        "speed": speed,
        "strip": strip,
        **({} if camera is None else {"camera": Camera.parse(camera)}),
        "show": [] if show is None else [arrow.strip() for arrow in show.split(",")],
    }


def record_scene(scene: Scene, path: Path, options: Mapping[str, Any], quiet: bool) -> None:
    """Write a film or a picture, with its progress and its path on the terminal."""
    with progress_bar("film", quiet, "%") as progress:
        record(scene, path, **options, progress=lambda done: progress(100.0 * done, 100.0))
    if not quiet:
        print_lines([["film    ", str(path)]])
