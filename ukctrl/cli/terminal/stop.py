"""How a run at the terminal is stopped without losing anything."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import ParamSpec, final

P = ParamSpec("P")

CALLED_BACK = ("of_machine_code", "help_with")
"""What machine code calls (`ukctrl.core.program`): nothing is caught before it has begun."""
INSIST_SECONDS = 1.0
"""A second Ctrl-C this much later stops even what the first one could not."""


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
        if frame is not None and frame.f_code.co_name in CALLED_BACK and not insists:
            return  # as below
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
