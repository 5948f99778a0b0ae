"""How far a run, a sweep or other long work is, while it goes on."""

from __future__ import annotations

import contextlib
import itertools
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, final

from ukctrl.cli.terminal.lines import console, is_plain, sanitise, width

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from ukctrl.studies.sweep import SweepProgress

Progress = Callable[[float, float], None]
"""Called with how much is done and how much there is to do: seconds of a run, or runs."""
Draw = Callable[[float, float, Callable[[float], str]], None]
"""Called with the same, and with what to tell beside the bar at a time."""

DELAY_SECONDS = 1.0
"""Work shorter than this shows no progress."""
REFRESH_SECONDS = 0.1
TITLE_WIDTH, SWEEP_TITLE_WIDTH = 32, 28
"""Width of a title beside its progress bar, of a run and of a sweep."""
LINE_SECONDS = 30.0
"""Interval of the lines that stand in for a bar where there is no terminal [s]."""
MIN_STEPS = 8
"""As many steps are looked at, however long ago they were."""
WINDOW_SECONDS = 20.0
"""The speed shown is that of the last so many seconds [s]."""


@contextlib.contextmanager
def progress_bar(title: str, hidden: bool, unit: str = "runs") -> Iterator[Progress]:
    """Yield a callback that draws a progress bar once the work has lasted a second.

    Args:
        title: What is worked on.
        hidden: Whether to draw nothing.
        unit: What the callback counts.
    """
    with _delayed_bar(title, hidden) as draw:
        yield _counted(draw, 0, unit)


@contextlib.contextmanager
def run_progress(title: str, hidden: bool) -> Iterator[tuple[Progress, Progress]]:
    """Yield two callbacks for the seconds of a run: simulated, and planned before it."""
    with _delayed_bar(title, hidden) as draw:
        yield _counted(draw, 1, "s"), _counted(draw, 1, "s", "planned")


def _counted(draw: Draw, digits: int, unit: str, phase: str = "") -> Progress:
    """Return what draws a count and how long the rest takes, at a speed of its own."""
    speed = _Throughput()

    def progress(done: float, total: float) -> None:
        def status(timestamp: float) -> str:
            remaining = speed.remaining_text(timestamp, done, total)
            count = f"{done:.1f} of {total:.{digits}f} {unit}"
            return " ".join(filter(None, (count, phase, remaining)))

        draw(done, total, status)

    return progress


@contextlib.contextmanager
def sweep_progress(title: str, hidden: bool) -> Iterator[Callable[[SweepProgress], None]]:
    """Yield a callback that shows how far a sweep is.

    In a terminal it draws a bar; elsewhere it writes a line now and then, for a log.
    """
    speed = _Throughput()
    if not hidden and sys.stderr is not None and not sys.stderr.isatty():
        yield _log_lines(speed)
        return
    with _delayed_bar(title, hidden, SWEEP_TITLE_WIDTH, wide=True) as draw:
        yield lambda tally: draw(tally.done, tally.total, lambda now: speed.status_text(now, tally))


@contextlib.contextmanager
def _delayed_bar(
    title: str, hidden: bool, size: int = TITLE_WIDTH, *, wide: bool = False
) -> Iterator[Draw]:
    """Yield what draws a bar now and then, once the work has lasted a while; in a terminal alone.

    It takes how much is done, of how much, and what to tell beside it at a time.
    """
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total, tell: None
        return
    short = textwrap.shorten(sanitise(title), size, placeholder=" ...")
    began, drawn = time.perf_counter(), 0.0
    with _plain_line(short) if is_plain() else _bar(short, wide) as show:

        def draw(done: float, total: float, tell: Callable[[float], str]) -> None:
            nonlocal drawn
            timestamp = time.perf_counter()
            if timestamp - drawn < REFRESH_SECONDS:
                return
            drawn, status = timestamp, tell(timestamp)
            if timestamp - began >= DELAY_SECONDS:
                show(done, total, status)

        yield draw


def _text_column(template: str, style: str = "none") -> ProgressColumn:
    """Return a column that shows words as they are: in a title, [red] is no colour."""
    from rich.progress import TextColumn

    return TextColumn(template, style=style, markup=False)


@contextlib.contextmanager
def _bar(title: str, wide: bool) -> Iterator[Callable[[float, float, str], None]]:
    """Yield what draws a bar of rich between a title and what is told."""
    from rich.progress import BarColumn
    from rich.progress import Progress as Bar

    columns = _text_column("{task.description}", "bold"), BarColumn(bar_width=None if wide else 40)
    told_column = _text_column("{task.fields[told]}")
    bar = Bar(*columns, told_column, console=console(stderr=True), transient=True, expand=wide)
    task = bar.add_task(title)

    def show(done: float, total: float, status: str) -> None:
        bar.update(task, completed=done, total=total, told=status)
        if not bar.live.is_started:
            bar.start()

    try:
        yield show
    finally:
        bar.stop()


@contextlib.contextmanager
def _plain_line(title: str) -> Iterator[Callable[[float, float, str], None]]:
    """Yield what writes a line over itself by carriage returns, without any escape code."""
    widest = 0

    def write_over(text: str) -> None:
        nonlocal widest
        text_width = max(10, width() - 1)
        line = textwrap.shorten(text, text_width, placeholder=" ...")
        print(f"\r{line:<{widest}}", end="", file=sys.stderr, flush=True)
        widest = len(line)

    try:
        yield lambda done, total, told: write_over(f"{title} {told}")
    finally:
        if widest:
            write_over("")
            print("\r", end="", file=sys.stderr, flush=True)


def _log_lines(speed: _Throughput) -> Callable[[SweepProgress], None]:
    last = time.perf_counter()

    def write_line(tally: SweepProgress) -> None:
        nonlocal last
        timestamp = time.perf_counter()
        status = speed.status_text(timestamp, tally)
        if timestamp - last >= LINE_SECONDS:
            last = timestamp
            print(f"ukctrl: {status}", file=sys.stderr, flush=True)

    return write_line


@final
class _Throughput:
    """How fast work goes on lately, but for its longest pause."""

    def __init__(self) -> None:
        self._history: deque[tuple[float, float]] = deque()

    def rate(self, timestamp: float, done: float) -> float | None:
        """Return how much is done in a second; None where that cannot be told yet."""
        if not self._history or done > self._history[-1][1]:
            self._history.append((timestamp, done))
        while len(self._history) > MIN_STEPS and timestamp - self._history[0][0] > WINDOW_SECONDS:
            self._history.popleft()
        steps = [(t - s, d - c) for (s, c), (t, d) in itertools.pairwise(self._history)]
        if len(steps) < 2:
            return None
        steps.remove(max(steps))  # the longest pause: workers start, or code is compiled
        waiting = timestamp - self._history[-1][0]
        return sum(d for _, d in steps) / max(sum(t for t, _ in steps) + waiting, 1e-9)

    def remaining_text(self, timestamp: float, done: float, total: float) -> str:
        """Return how long the rest takes, in words; empty where that cannot be told yet."""
        speed = self.rate(timestamp, done)
        return "" if speed is None else f"{_duration((total - done) / speed)} left"

    def status_text(self, timestamp: float, tally: SweepProgress) -> str:
        """Return how many are done at a time, how fast, and how long the rest takes."""
        failed = f", {tally.failed} failed" if tally.failed else ""
        counted = f"{tally.finished} of {tally.total}{failed}"
        speed = self.rate(timestamp, tally.done)
        if speed is None:
            return counted
        remaining = self.remaining_text(timestamp, tally.done, tally.total)
        return f"{counted}, {speed:.3g}/s, {remaining}"


def _duration(seconds: float) -> str:
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {remainder:02d} s" if minutes else f"{remainder} s"


@contextlib.contextmanager
def spinner(hidden: bool) -> Iterator[Callable[[str], None]]:
    """Yield a callback that shows on one line what is being computed, and for how long."""
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda words: None
        return
    if is_plain():
        with _plain_line("") as write_over:
            yield lambda words: write_over(0.0, 0.0, sanitise(words))
        return
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    printer = console(stderr=True)
    columns = SpinnerColumn(), TimeElapsedColumn(), _text_column("{task.description}")
    line = Progress(*columns, console=printer, transient=True)
    task = line.add_task("", total=None)

    def show(words: str) -> None:
        text_width = max(10, printer.width - 16)
        line.update(
            task, description=textwrap.shorten(sanitise(words), text_width, placeholder=" ...")
        )

    with line:
        yield show
