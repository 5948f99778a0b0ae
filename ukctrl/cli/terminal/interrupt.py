"""How a run at the terminal is stopped without losing anything."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Final, ParamSpec, final

P = ParamSpec("P")

RETRY_SIGNAL: Final = signal.SIGALRM if sys.platform != "win32" else None
"""By what a signal is looked at again; without it, at the next sample."""

CALLBACK_NAMES = ("of_machine_code", "help_with", "__del__")
"""What machine code (`ukctrl.core.program`) and Python's clearing up call: an interrupt raised
there is printed and forgotten."""
UNSAFE_MODULES = {"importlib", "pydantic", "numba", "llvmlite", "weakref", "_weakrefset"}
"""What makes another error of an interrupt, or of itself a half: imports and builders of code, and
what Python calls where an object has gone."""
INSIST_SECONDS = 1.0
"""A second Ctrl-C this much later stops even what the first one could not."""
RETRY_SECONDS = 0.02
"""A signal that came at a bad moment inside the loop is looked at again so much later,"""
MAX_DEFER_SECONDS = 2.0
"""and raised after so long at any moment."""


def swallows_interrupt(frame: FrameType, end: FrameType) -> bool:
    """Tell whether an interrupt raised in a frame might not reach a frame outside of it."""
    if frame.f_code.co_name in CALLBACK_NAMES:
        return True
    inner: FrameType | None = frame
    while inner is not None and inner is not end:
        name = str(inner.f_globals.get("__name__"))
        if name.partition(".")[0] in UNSAFE_MODULES or inner.f_code.co_name == "__del__":
            return True
        inner = inner.f_back
    return False


@final
class InterruptHandler:
    """Ctrl-C, SIGTERM and SIGHUP, turned into an end of the loop that loses nothing.

    The first signal raises `KeyboardInterrupt` where the loop can catch it and keep its samples:
    inside the loop's function, as soon as nothing in between would lose it, or else at its next
    sample. While results are written, signals are held back.
    """

    def __init__(self, loop: CodeType) -> None:
        self._loop = loop
        self._asked_at = math.inf
        self._writing = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal, or look at one again."""
        if self._writing:
            return
        timestamp = time.monotonic()
        late = timestamp - self._asked_at
        if late > (MAX_DEFER_SECONDS if number == RETRY_SIGNAL else INSIST_SECONDS):
            raise KeyboardInterrupt
        self._asked_at = min(self._asked_at, timestamp)
        loop = frame
        while loop is not None and loop.f_code is not self._loop:
            loop = loop.f_back
        if frame is None or loop is None:
            return
        if not swallows_interrupt(frame, loop):
            raise KeyboardInterrupt
        if RETRY_SIGNAL is not None and signal.getsignal(RETRY_SIGNAL) is self:
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    def checked(self, progress: Callable[P, None]) -> Callable[P, None]:
        """Return the callback, with a check whether the user has asked to stop."""

        def watched(*reached: P.args, **named: P.kwargs) -> None:
            if self._asked_at < math.inf:
                raise KeyboardInterrupt
            progress(*reached, **named)

        return watched

    def block(self) -> None:
        """Let nothing interrupt from here on."""
        self._writing = True


@contextlib.contextmanager
def interruptible(loop: CodeType | None = None) -> Iterator[InterruptHandler]:
    """Handle the signals that end a run.

    Args:
        loop: The code of the function that catches the interrupt; absent: that of a simulation.
    """
    if loop is None:
        from ukctrl.simulation.step.simulation_run import SimulationRun

        loop = SimulationRun.run.__code__
    stop = InterruptHandler(loop)
    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32":
        numbers.append(signal.SIGHUP)
    # What the parent ignores, as `nohup` does, stays ignored.
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if RETRY_SIGNAL is not None:
        heard.append(RETRY_SIGNAL)
    handlers = {number: signal.signal(number, stop) for number in heard}
    try:
        yield stop
    finally:
        if RETRY_SIGNAL is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
