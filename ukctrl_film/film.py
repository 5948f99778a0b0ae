"""A scene as a film, a picture, or a strip of poses in one picture, in a file.

    record(result, "run.mp4")                              # a film
    record(result, "run.png", strip=6)                     # six poses in one picture, for a paper
    record(result, "run.gif", size=(480, 270), fps=15, speed=2.0)

Films for video players are written by PyAV (extra ``film``), everything else by Pillow and
Matplotlib. The same scene gives the same pictures.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.files import AnyPath
from ukctrl.core.message_text import one_line
from ukctrl.reports.scene.run_scene import run_scene
from ukctrl.reports.scene.scene import Scene
from ukctrl.simulation.result.atomic_files import atomic_replace, output_folder
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import AnyScenario, as_scenario
from ukctrl.simulation.simulate import simulate
from ukctrl_film.camera import Camera
from ukctrl_film.captions import captions, clock_text, draw_captions
from ukctrl_film.scene_renderer import MOST_POINTS, Picture, SceneRenderer, checked_size
from ukctrl_film.strokes import RenderBuffers

if TYPE_CHECKING:
    from PIL.Image import Image

FILMS = (".mp4", ".gif", ".webp")
PICTURES = (".png", ".pdf", ".svg")
MOST_FRAMES = 20_000
"""A film is never longer."""
MOST_IN_ALL = 4e9
"""Nor have all its pictures together more points; those of a GIF or WebP, which are put together in
memory, a twentieth."""
MOST_POSES = 50
"""Of a strip."""
FASTEST_GIF = 50.0
"""Viewers slow down a GIF with more pictures a second than this."""
COLORS, SAMPLES = 255, 4
"""Of a GIF, and of how many of its pictures these are."""
DPI = 200
"""Points of a picture to the inch, in a PDF or SVG."""


@explain_argument_errors
def record(
    shown: Scene | Result | AnyScenario,
    path: AnyPath,
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    camera: Camera | None = None,
    speed: float = 1.0,
    strip: int = 0,
    show: Collection[str] = (),
    progress: Callable[[float], None] = lambda share: None,
) -> Path:
    """Write a film or a picture of a run, or of another scene, and return its path.

    Args:
        shown: The run, or the scene; or a scenario, its name, or the path of its file, which is
            run.
        path: Where to; its ending says what: a film (``.mp4``, ``.gif``, ``.webp``), or a picture
            (``.png``, ``.pdf``, ``.svg``) of the scene's end.
        fps: Pictures a second of a film.
        size: Width and height, in points.
        camera: From where; absent: as the page does.
        speed: So many seconds of the scene are one of the film.
        strip: So many poses, evenly over time, in one picture; the earlier, the paler.
        show: What is not seen otherwise: ``inputs`` and ``reactions``, as arrows; an input that is
            at its limit is red, and named.
        progress: Is told from 0 to 1 how much is done.

    Raises:
        InputError: The ending, a number, the size or an arrow is none that there is; nothing is
            there to see; what writes ``.mp4`` is not installed; the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (*FILMS, *PICTURES) or "\0" in str(path):
        raise InputError(
            f"a film or picture ends in {quoted((*FILMS, *PICTURES))}; got "
            f"'{one_line(path.name, 60)}'."
        )
    if not isinstance(shown, Scene | Result):
        shown = simulate(as_scenario(shown, name="what is recorded"))
    scene = run_scene(shown) if isinstance(shown, Result) else shown
    if scene is None:
        raise InputError("this run ended as it began: there is nothing to see.")
    size = checked_size(size)
    if strip and (ending in FILMS or not 1 <= strip <= MOST_POSES):
        raise InputError(
            f"a strip is a picture ({', '.join(PICTURES)}) of 1 to {MOST_POSES} poses; "
            f"got {strip} poses for '{ending}'."
        )
    if ending in PICTURES:
        times = _spread(scene, strip) if strip else scene.time[-1:]
        return _picture(path, times, SceneRenderer(scene, size, camera, show=show), progress)
    times = film_times(scene, fps, speed)
    points = float(size[0] * size[1]) * len(times)
    point_limit = MOST_IN_ALL if ending == ".mp4" else 0.05 * MOST_IN_ALL
    if len(times) > MOST_FRAMES or points > point_limit:
        raise InputError(
            f"a film of {len(times)} pictures of {size[0]} x {size[1]} points is too long for "
            f"'{ending}'; ask for fewer pictures a second, a higher speed or a smaller size."
        )
    if ending == ".gif" and fps > FASTEST_GIF:
        raise InputError(f"a GIF has at most {FASTEST_GIF:g} pictures a second; got {fps:g}.")
    if ending == ".mp4":
        size = (size[0] + size[0] % 2, size[1] + size[1] % 2)  # it takes whole blocks of two
    painter = SceneRenderer(scene, size, camera, show=show)
    frames = _frames(painter, times, speed, progress)
    with output_folder("the film", path.parent), atomic_replace(path) as unfinished:
        if ending == ".mp4":
            # its index moves to the front at the end: FFmpeg opens it once more, by a name
            with tempfile.NamedTemporaryFile(suffix=ending) as scratch:
                _mp4(Path(scratch.name), frames, fps)
                shutil.copyfileobj(scratch, unfinished)
        else:
            early = [painter.draw([time]) for time in _spread(scene, SAMPLES)]
            _moving(unfinished, ending, frames, fps, early)
    return path


def film_times(scene: Scene, fps: float, speed: float) -> Vector:
    """Return the times of a film's pictures in the scene, the last at or just before its end [s].

    Raises:
        InputError: A number is none that there is, or nothing moves.
    """
    if not 0.1 <= fps <= 240.0:
        raise InputError(f"a film has 0.1 to 240 pictures a second; got {fps:g}.")
    if not 1e-6 <= speed <= 1e6:
        raise InputError(f"the speed of a film must lie between 1e-06 and 1e+06; got {speed:g}.")
    span = float(scene.time[-1] - scene.time[0])
    if not span > 0.0:
        raise InputError("nothing moves in this scene; ask for a picture, such as '.png'.")
    # Rounding must not take the last picture away.
    count = np.floor(span * fps / speed * (1.0 + 1e-9)) + 1.0
    if count > 1e7:
        raise InputError(f"a film of {count:.0f} pictures is too long; ask for a higher speed.")
    times: Vector = scene.time[0] + np.arange(int(count)) * (speed / fps)
    times = np.minimum(times, scene.time[-1])
    return times


def _spread(scene: Scene, count: int) -> Vector:
    if count == 1:
        return scene.time[-1:]
    return np.linspace(scene.time[0], scene.time[-1], count)


def _frames(
    painter: SceneRenderer, times: Vector, speed: float, progress: Callable[[float], None]
) -> Iterator[Picture]:
    """Yield the pictures of a film in order, drawn by as many threads as there are processors."""
    scene = painter.scene
    free: SimpleQueue[RenderBuffers] = SimpleQueue()

    def frame(time: float) -> Picture:
        canvas = free.get()
        try:
            bare = painter.draw([time], canvas)
        finally:
            free.put(canvas)
        return draw_captions(bare, captions(painter, time, clock_text(scene, time, speed)))

    capacity = MOST_POINTS // (painter.width * painter.height)
    threads = min(os.cpu_count() or 1, 4, capacity, len(times))
    for _ in range(threads):
        free.put(painter.canvas())
    yield frame(float(times[0]))  # machine code is made once, by one thread
    waiting: deque[Future[Picture]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for done, time in enumerate(times[1:].tolist()):
                waiting.append(pool.submit(frame, time))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
                progress(done / len(times))
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
    progress(1.0)


def _mp4(path: Path, frames: Iterator[Picture], fps: float) -> None:
    from fractions import Fraction

    try:
        import av
    except ImportError:
        raise InputError(
            "an .mp4 needs PyAV, which is not installed; install it with "
            "pip install 'ukctrl[film]', or ask for a .gif or .webp."
        ) from None
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = None
        for picture in frames:
            if stream is None:
                stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"  # which every player knows
                stream.options = {"crf": "20", "preset": "veryfast"}
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def _moving(
    file: BinaryIO, ending: str, frames: Iterator[Picture], fps: float, samples: Sequence[Picture]
) -> None:
    """Write a GIF or WebP that repeats; the colours of a GIF are those of some of its pictures."""
    import PIL.Image

    if ending == ".gif":
        palette, plain = _palette(np.concatenate(samples)), PIL.Image.Dither.NONE
        more: dict[str, Any] = {"optimize": False, "disposal": 1}
        images = [
            PIL.Image.fromarray(frame).quantize(palette=palette, dither=plain) for frame in frames
        ]
    else:
        more = {"method": 4, "quality": 75}
        images = [PIL.Image.fromarray(frame) for frame in frames]
    # A GIF counts hundredths of a second: rounded, so that the whole is as long as it should be.
    ends = np.round(np.arange(len(images) + 1) * 100.0 / fps) * 10.0
    images[0].save(
        file, format=ending[1:].upper(), save_all=True, append_images=images[1:], loop=0,
        duration=np.diff(ends).astype(int).tolist(), **more,
    )  # fmt: skip


def _palette(picture: Picture) -> Image:
    """Return an image with the colours of a picture; white stays white."""
    import PIL.Image

    method, plain = PIL.Image.Quantize.MEDIANCUT, PIL.Image.Dither.NONE
    image = PIL.Image.fromarray(picture).quantize(COLORS, method=method, dither=plain)
    colors = np.array(image.getpalette()).reshape(-1, 3)
    colors[colors.sum(axis=1).argmax()] = 255
    image.putpalette(colors.reshape(-1).tolist())
    return image


def _picture(
    path: Path, times: Vector, painter: SceneRenderer, progress: Callable[[float], None]
) -> Path:
    scene = painter.scene
    bare = painter.draw(times.tolist())
    end = float(times[-1])
    clock = clock_text(scene, end, 1.0)
    if len(times) > 1:
        clock = f"{len(times)} moments from {clock_text(scene, float(times[0]), 1.0)} to {clock}"
    texts = captions(painter, end, clock)
    with output_folder("the picture", path.parent), atomic_replace(path) as unfinished:
        if path.suffix.lower() == ".png":
            from PIL import Image

            Image.fromarray(draw_captions(bare, texts)).save(
                unfinished, format="PNG", optimize=True
            )
        else:
            _page(bare, texts, unfinished, path.suffix.lower()[1:])
    progress(1.0)
    return path


def _page(picture: Picture, texts: Sequence[Any], file: BinaryIO, kind: str) -> None:
    """Write a picture into a PDF or SVG, with its words as text."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ukctrl.reports.plot import style

    height, width = picture.shape[:2]
    settings: Any = {**style.RC, "pdf.fonttype": 42}
    with rc_context(settings):
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        figure.figimage(picture)
        vertical = {"a": "top", "m": "center", "s": "baseline"}
        horizontal = {"l": "left", "m": "center", "r": "right"}
        for word in texts:
            figure.text(
                word.right / width, 1.0 - word.down / height, word.text, color=word.color,
                fontsize=word.size * 72.0 / DPI, ha=horizontal[word.anchor[0]],
                va=vertical[word.anchor[1]],
            )  # fmt: skip
        figure.savefig(file, format=kind, dpi=DPI)
