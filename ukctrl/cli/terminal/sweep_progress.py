"""How far a sweep is, while it runs."""

from __future__ import annotations

import contextlib
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, final

from ukctrl.cli.terminal.lines import clean

if TYPE_CHECKING:
    from ukctrl.studies.sweep import Tally

TITLE_WIDTH = 28
"""Width of the title beside the progress bar."""
QUIET_SECONDS = 1.0
"""A sweep shorter than this shows no progress."""
REFRESH_SECONDS = 0.2
LINE_SECONDS = 30.0
"""Interval of the lines that stand in for a bar where there is no terminal [s]."""
SPAN_SECONDS = 20.0
"""The speed shown is that of the last so many seconds [s]."""


@final
class _Speed:
    """How many samples a second, lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def see(self, now: float, done: float) -> None:
        """Note how many were done at a time."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > SPAN_SECONDS:
            self._seen.popleft()

    def text(self, total: int) -> str:
        """Return the speed and how long the rest takes."""
        (began, before), (now, done) = self._seen[0], self._seen[-1]
        if now - began < QUIET_SECONDS or done <= before:
            return ""
        speed = (done - before) / (now - began)
        left = _duration((total - done) / speed)
        return f"{speed:.3g}/s, {left} left"


@contextlib.contextmanager
def sweep_progress(title: str, hidden: bool) -> Iterator[Callable[[Tally], None]]:
    """Yield a callback that shows how far a sweep is.

    In a terminal it draws a bar; elsewhere it writes a line now and then, for a log.
    """
    if hidden or sys.stderr is None:
        yield lambda tally: None
        return
    speed = _Speed()
    if not sys.stderr.isatty():
        yield _in_lines(speed)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[told]}", markup=False),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
    short = textwrap.shorten(clean(title), TITLE_WIDTH, placeholder=" ...")
    task = bar.add_task(short, total=1.0, told="")
    began, drawn = time.perf_counter(), 0.0

    def draw(tally: Tally) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - drawn < REFRESH_SECONDS:
            return
        drawn = now
        speed.see(now, tally.done)
        if now - began < QUIET_SECONDS:
            return
        progress = ", ".join(part for part in (_counted(tally), speed.text(tally.total)) if part)
        bar.update(task, completed=tally.done, total=tally.total, told=progress)
        if not bar.live.is_started:
            bar.start()

    try:
        yield draw
    finally:
        bar.stop()


def _in_lines(speed: _Speed) -> Callable[[Tally], None]:
    last = time.perf_counter()

    def write_line(tally: Tally) -> None:
        nonlocal last
        now = time.perf_counter()
        speed.see(now, tally.done)
        if now - last >= LINE_SECONDS:
            last = now
            progress = ", ".join(
                part for part in (_counted(tally), speed.text(tally.total)) if part
            )
            print(f"ukctrl: {progress}", file=sys.stderr, flush=True)

    return write_line


def _counted(tally: Tally) -> str:
    failed = f", {tally.failed} failed" if tally.failed else ""
    return f"{tally.finished} of {tally.total}{failed}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
