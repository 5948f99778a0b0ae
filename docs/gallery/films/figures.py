"""The films of the page, by the commands that it names, and a picture of each."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import av
from tables import FILMS, commands

POSTER = (960, 540)


def draw(folder: Path, *names: str) -> None:
    """Run the commands, and take a picture out of each film."""
    with tempfile.TemporaryDirectory() as home:
        for name in names or FILMS:
            for command in commands(name):
                words = [sys.executable, "-m", "ukctrl.cli", *shlex.split(command)[1:], "-q"]
                subprocess.run(words, cwd=home, check=True)
            film = shutil.copy(Path(home, f"films-{name}.mp4"), folder)
            _poster(Path(film), FILMS[name].poster)


def _poster(film: Path, share: float) -> None:
    with av.open(str(film)) as container:
        count = container.streams.video[0].frames
        for k, frame in enumerate(container.decode(video=0)):
            if k == round(share * (count - 1)):
                image = frame.to_image().resize(POSTER)
                image.save(film.with_suffix(".webp"), quality=80, method=6)
