"""A run at the terminal: its progress bar, and how it is stopped without losing anything."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import ParamSpec, final

from ukctrl.cli.terminal.lines import clean

P = ParamSpec("P")

Progress = Callable[[float, float], None]
"""Called with how much is done and how much there is to do: seconds of a run, or runs."""

QUIET_SECONDS = 1.0
"""A run shorter than this shows no progress bar."""
REFRESH_SECONDS = 0.1
INSIST_SECONDS = 1.0
"""A second Ctrl-C this much later stops even what the first one could not."""
TITLE_WIDTH = 32
"""Width of a run's title beside its progress bar."""


@final
class Stop:
    """Ctrl-C, SIGTERM and SIGHUP, turned into an end of the loop that loses nothing.

    The first signal raises `KeyboardInterrupt` where the loop can catch it and keep its samples:
    inside the loop's function, or else at its next sample. While results are written, signals
    are held back.
    """

    def __init__(self, loop: CodeType) -> None:
        self._loop = loop
        self._asked_at = math.inf
        self._writing = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._writing:
            return
        insists = time.monotonic() - self._asked_at > INSIST_SECONDS
        self._asked_at = min(self._asked_at, time.monotonic())
        inside = False
        while frame is not None and not inside:
            if frame.f_code.co_name == "__del__" and not insists:
                return  # Python would print the interrupt and go on; the next sample raises it
            inside = frame.f_code is self._loop
            frame = frame.f_back
        if inside or insists:
            raise KeyboardInterrupt

    def watch(self, progress: Callable[P, None]) -> Callable[P, None]:
        """Return the callback, with a check whether the user has asked to stop."""

        def watched(*reached: P.args, **named: P.kwargs) -> None:
            if self._asked_at < math.inf:
                raise KeyboardInterrupt
            progress(*reached, **named)

        return watched

    def hold(self) -> None:
        """Let nothing interrupt from here on."""
        self._writing = True


@contextlib.contextmanager
def stoppable(loop: CodeType) -> Iterator[Stop]:
    """Handle the signals that end a run; ``loop`` is the function that catches the interrupt."""
    stop = Stop(loop)
    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32":
        numbers.append(signal.SIGHUP)
    # What the parent ignores, as `nohup` does, stays ignored.
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def progress(title: str, hidden: bool, unit: str = "s") -> Iterator[Progress]:
    """Yield a callback that draws a progress bar once the work has lasted a second.

    Args:
        title: What is worked on.
        hidden: Whether to draw nothing.
        unit: What the callback counts: ``s`` of a run, or ``runs``.
    """
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda reached, duration: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:.1f}} of {{task.total:.{1 if unit == 's' else 0}f}} {unit}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    began, drawn = time.perf_counter(), 0.0
    task = bar.add_task(textwrap.shorten(clean(title), TITLE_WIDTH, placeholder=" ..."), total=1.0)

    def show(reached: float, duration: float) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - began < QUIET_SECONDS or now - drawn < REFRESH_SECONDS:
            return
        drawn = now
        bar.update(task, completed=reached, total=duration)
        if not bar.live.is_started:
            bar.start()

    try:
        yield show
    finally:
        bar.stop()


@contextlib.contextmanager
def working(hidden: bool) -> Iterator[Callable[[str], None]]:
    """Yield a callback that shows on one line what is being computed, and for how long."""
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    line = Progress(
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    )
    task = line.add_task("", total=None)

    def show(words: str) -> None:
        room = max(10, console.width - 16)
        line.update(task, description=textwrap.shorten(clean(words), room, placeholder=" ..."))

    with line:
        yield show
